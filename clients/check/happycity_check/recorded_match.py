"""A match that was played, from its record: the decisions of one seat in the messages of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from happycity import Ending, Event, Game, Move
from happycity.records.record import Json
from happycity.records.replay import deal_of, results_of
from happycity.v1 import play_service_pb2 as play
from happycity.wire.match import outcome_message
from happycity.wire.messages import config_message, decision_message


class RecordedMatch:
    """One match as the bot of a seat saw it, without its clock.

    Args:
        match_id: the match.
        record: its record, which replays.
        bots: the bots' names by seat.
        seat: the seat.
        bot_seed: the seed of the bot's own randomness.
    """

    def __init__(
        self, match_id: int, record: Json, *, bots: Sequence[str], seat: int, bot_seed: int = 0
    ) -> None:
        self.match_id = match_id
        self.seat = seat
        self._bots = bots
        self._bot_seed = bot_seed
        self._deal = deal_of(record)
        self._moves = [Move.parse(line["move"]) for line in record["moves"]]
        # The bot may have been fixed since: its seat doesn't end as it did then.
        self._results = [
            replace(result, ending=Ending.FINISHED, reason="") if index == seat else result
            for index, result in enumerate(results_of(record))
        ]

    def started(self) -> play.GameStarted:
        """Write how the game begins."""
        return play.GameStarted(
            match_id=self.match_id,
            config=config_message(self._deal.config),
            seat=self.seat,
            bots=self._bots,
            seed=self._bot_seed,
        )

    def decision(self, decision_id: int, *, after: int = 0) -> play.Decision:
        """Write a decision of the record, with what has happened since the decision `after`, 0 for all."""
        game = Game(self._deal)
        events: list[Event] = [] if after else [*game.events]
        for number, move in enumerate(self._moves[: decision_id - 1], start=1):
            game.apply(move)
            if number >= after:
                events += game.events
        return decision_message(game, match_id=self.match_id, decision_id=decision_id, events=events)

    def over(self) -> play.GameOver:
        """Write how the game ended."""
        return play.GameOver(match_id=self.match_id, outcome=outcome_message(self._results))
