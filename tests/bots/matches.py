"""Bots at local tables, without a server."""

from collections.abc import Iterator, Sequence

from happycity import Config, Deal, Game, Move
from happycity_client import Bot, Decision, GameStarted


def seat_bot(bot: type[Bot], game: Game, seat: int, *, seed: int = 7) -> Bot:
    config = game.config
    start = GameStarted(match_id=0, config=config, seat=seat, bots=("",) * config.players, seed=seed + seat)
    return bot(start)


def choose(bot: Bot, decision: Decision) -> Move:
    move = bot.choose(decision)
    assert isinstance(move, Move)
    return move


def play(game: Game, bots: Sequence[type[Bot]], *, seed: int = 7) -> Iterator[tuple[Decision, Move]]:
    seated = [seat_bot(bot, game, seat, seed=seed) for seat, bot in enumerate(bots)]
    while game.outcome is None:
        decision = Decision.of(game)
        move = choose(seated[decision.seat], decision)
        yield decision, move
        game.apply(move)


def ranks(deal: Deal, bots: Sequence[type[Bot]]) -> tuple[int, ...]:
    game = Game(deal)
    for _ in play(game, bots):
        pass
    assert game.outcome is not None
    return game.outcome.ranks


def mean_place_difference(stronger: type[Bot], weaker: type[Bot], *, deals: int, config: Config) -> float:
    """Return by how many places on average `stronger` ends before `weaker`, each seat played by each."""
    total = 0.0
    for seed in range(deals):
        deal = Deal.shuffle(config, seed=seed)
        for first in (stronger, weaker):
            second = weaker if first is stronger else stronger
            bots = [first if seat % 2 == 0 else second for seat in range(config.players)]
            for bot, place in zip(bots, ranks(deal, bots), strict=True):
                total += place if bot is weaker else -place
    return total / (deals * config.players)
