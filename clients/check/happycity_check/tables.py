"""Games by the real rules in which one seat is the bot's; the others move by chance."""

from __future__ import annotations

import random

from happycity import Config, Event, Game
from happycity.records import places as places_of
from happycity.v1 import play_service_pb2 as play
from happycity.wire import config_message, event_message, move_message, result_message, view_message


class Table:
    """One game, as the bot is told of it."""

    def __init__(
        self, game_id: int, config: Config, *, seed: int, seat: int = 0, time_left: float = 10.0
    ) -> None:
        self.game_id = game_id
        self.game = Game.deal(config, seed=seed)
        self.answers: list[int] = []
        """The positions that the bot chose."""
        self._seed = seed
        self._seat = seat
        self._time_left = time_left
        self._movers = random.Random(f"movers {seed}")
        self._decisions = 1
        self._untold: list[Event] = [*self.game.events]
        self._play_others()

    @property
    def is_over(self) -> bool:
        """Whether the game has ended by the rules."""
        return self.game.outcome is not None

    def started(self) -> play.GameStarted:
        """Write how the game begins."""
        players = self.game.config.players
        return play.GameStarted(
            game_id=self.game_id,
            config=config_message(self.game.config),
            seat=self._seat,
            bots=["bot" if seat == self._seat else f"other{seat}" for seat in range(players)],
            seed=self._seed,
        )

    def decision(self) -> play.Decision:
        """Write the decision that waits for the bot."""
        game = self.game
        return play.Decision(
            game_id=self.game_id,
            decision_id=self._decisions,
            seat=self._seat,
            view=view_message(game.view()),
            moves=[
                move_message(move, game.price(self._seat, move.card) if move.card else 0)
                if move.kind.name in ("BUILD", "DWELL")
                else move_message(move)
                for move in game.legal_moves
            ],
            events=map(event_message, self._untold),
            clock=play.Clock(time_left_ms=round(self._time_left * 1000)),
        )

    def answer(self, position: int) -> None:
        """Play what the bot chose, and the others' moves up to its next decision."""
        self.answers.append(position)
        self._untold = []
        self._apply(position)
        self._play_others()

    def over(self) -> play.GameOver:
        """Write how the game ended. If it runs, it is played to its end without the bot, who forfeits it."""
        endings = ["finished"] * self.game.config.players
        if not self.is_over:
            endings[self._seat] = "forfeit:timeout"
            while not self.is_over:
                self._apply(0)
        outcome = self.game.outcome
        assert outcome is not None
        places = places_of(outcome, endings)
        return play.GameOver(
            game_id=self.game_id, result=result_message(outcome, places=places, endings=endings)
        )

    def voided(self, reason: play.VoidReason.ValueType = play.VOID_REASON_STOPPED) -> play.GameOver:
        """Write that the game was broken off."""
        return play.GameOver(game_id=self.game_id, void_reason=reason)

    def _play_others(self) -> None:
        while not self.is_over and self.game.seat != self._seat:
            self._apply(int(self._movers.random() * len(self.game.legal_moves)))

    def _apply(self, position: int) -> None:
        self.game.apply(self.game.legal_moves[position])
        self._untold += self.game.events
        self._decisions += 1
