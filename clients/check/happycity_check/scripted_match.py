"""Matches by the real rules in which the bot on trial has one seat or several; the others move by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence

from happycity import Config, Ending, Event, Game
from happycity.match import seat_results
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import outcome_message
from happycity.wire.messages import config_message, decision_message

BOT = "bot"
"""The bot's name in its seats; the others are called by their seats."""


class ScriptedMatch:
    """One match, in the messages of a server.

    Args:
        match_id: the match.
        config: the kind of game.
        seed: the seed of the deal, of the other seats' moves, and of the bot's own randomness.
        seats: the bot's.
        others: the name of the bots in all other seats; "" for a name by seat.
        time_left: the seconds that each decision says that the bot has.
    """

    def __init__(
        self,
        match_id: int,
        config: Config,
        *,
        seed: int,
        seats: Sequence[int] = (0,),
        others: str = "",
        time_left: float = 10.0,
    ) -> None:
        self.match_id = match_id
        self.game = Game.deal(config, seed=seed)
        self.seats = seats
        """The bot's."""
        self.answers: list[int] = []
        """The positions that the bot chose."""
        self._seed = seed
        self._others = others
        self._time_left = time_left
        self._movers = random.Random(f"movers {seed}")
        self._decisions = 1
        self._events: dict[int, list[Event]] = {seat: [*self.game.events] for seat in seats}  # not yet sent
        self._play_others()

    @property
    def is_over(self) -> bool:
        """Whether the game has ended by the rules."""
        return self.game.outcome is not None

    def started(self) -> list[play.GameStarted]:
        """Write how the game begins, once for each of the bot's seats."""
        players = self.game.config.players
        return [
            play.GameStarted(
                match_id=self.match_id,
                config=config_message(self.game.config),
                seat=seat,
                bots=[
                    BOT if other in self.seats else self._others or f"other{other}"
                    for other in range(players)
                ],
                # By seat, but far from each other, so that no bot can take a seed for an id.
                seed=(self._seed + seat * 2**32) % 2**64,
            )
            for seat in self.seats
        ]

    def decision(self) -> play.Decision:
        """Write the decision that waits for the bot."""
        return decision_message(
            self.game,
            match_id=self.match_id,
            decision_id=self._decisions,
            events=self._events[self.game.seat],
            clock=play.Clock(time_left_us=round(self._time_left * 1_000_000)),
        )

    def answer(self, position: int) -> None:
        """Play what the bot chose, and the others' moves up to its next decision."""
        self.answers.append(position)
        self._events[self.game.seat] = []
        self._apply(position)
        self._play_others()

    def over(self) -> play.GameOver:
        """Write how the game ended. One that runs is played to its end without the bot, which forfeits it."""
        players = range(self.game.config.players)
        forfeited = () if self.is_over else self.seats
        while not self.is_over:
            self._apply(0)
        assert self.game.outcome is not None
        endings = [Ending.TIMEOUT if seat in forfeited else Ending.FINISHED for seat in players]
        reasons = ["no answer in time" if seat in forfeited else "" for seat in players]
        results = seat_results(self.game.outcome, endings, reasons)
        return play.GameOver(match_id=self.match_id, outcome=outcome_message(results))

    def voided(self, reason: match_pb2.VoidReason.ValueType) -> play.GameOver:
        """Write that the match was voided."""
        return play.GameOver(match_id=self.match_id, outcome=match_pb2.MatchOutcome(void_reason=reason))

    def _play_others(self) -> None:
        while not self.is_over and self.game.seat not in self.seats:
            self._apply(int(self._movers.random() * len(self.game.legal_moves)))

    def _apply(self, position: int) -> None:
        self.game.apply(self.game.legal_moves[position])
        self._decisions += 1
        for seat in self.seats:
            self._events[seat] += self.game.events
