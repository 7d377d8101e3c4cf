"""What the tests of the SDK play with."""

from happycity import Config, Game
from happycity.v1 import play_service_pb2 as play
from happycity.wire.messages import config_message, decision_message
from happycity_client import BotFactory
from happycity_client.player import Player, RequestOutbox

GAME = Game.deal(Config(players=2), seed=1)


def player_of(bot: BotFactory) -> Player:
    """Return a player that has begun match 1 in the seat that decides first."""
    player = Player(bot, name="")
    start(player)
    return player


def start(player: Player) -> None:
    config, names = config_message(GAME.config), ("anna", "ben")
    player.start(play.GameStarted(match_id=1, config=config, seat=GAME.seat, bots=names, seed=7))


def ask(player: Player, decision_id: int = 1) -> None:
    player.decide(decision_message(GAME, match_id=1, decision_id=decision_id))


def reconnect(player: Player, *match_ids: int) -> None:
    """Let a new connection replace the one before; these matches go on."""
    player.outbox = RequestOutbox()
    player.keep(match_ids)
