"""Games with what their seats won by chance, which is taken off wherever scores are computed.

A seat's luck is that of `happycity_evaluation.luck`. Its mean is 0 with any evaluator, so ratings and
differences without it estimate the same with smaller errors, which stay clustered by deal. The luck of a
sequential test's games is computed when they end, and stays in their records.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial

from numpy.linalg import LinAlgError

from happycity import Card, ConfigError, Game, HappyCityError, Move, RecordError
from happycity.compiled import required
from happycity.records.record import Json, dumps, loads
from happycity.records.replay import config_of, movers_of, positions_of
from happycity.rules.cards import CardKind
from happycity.rules.deals import MAX_PLAYERS
from happycity.wire.messages import view_message
from happycity_evaluation.evaluator import Evaluator, ExpectedPlaces
from happycity_evaluation.luck import draws_along, total_luck
from happycity_evaluation.turn_strengths import champions_network
from happycity_runtime.parallel import in_processes
from happycity_tournament.games import FinishedGame
from happycity_tournament.recorded_games import RecordedGame, luck_in, read_record, with_recorded_luck
from happycity_tournament.storage.packing import Record, pack, unpack
from happycity_tournament.storage.sources import Source, SourceError
from happycity_tournament.storage.stored import StoredTournament

_PROCESSES = min(4, os.cpu_count() or 1)
_CHUNK = 10  # games that a process gets at once
_ALONE = 50  # games that take less time than starting processes


class LuckAdjusted(Source):
    """A source whose games have their luck, which takes some 30 ms of computing for each.

    It is taken off the scores, with cards valued by `luck_evaluator(luck_games)`. Without `luck_games`, games
    have the luck of their records alone, for sequential tests.
    """

    def __init__(self, source: Source, *, luck_games: int | None) -> None:
        self._source, self._luck_games = source, luck_games
        self.name, self.files = source.name, source.files
        self.luck_evaluator = "" if luck_games is None else luck_evaluator(luck_games).digest

    def tournaments(self) -> list[StoredTournament]:
        """Return its tournaments, oldest first."""
        return self._source.tournaments()

    def bots(self) -> Iterator[str]:
        """Yield the names of all bots, some more than once."""
        return self._source.bots()

    def games(self, *, with_records: bool) -> Iterator[RecordedGame]:
        """Yield all games with their luck; SourceError if one has no sound record."""
        self.adjusted = 0
        games = self._source.games(with_records=True)
        adjust, computes = partial(_with_luck, luck_games=self._luck_games), self._luck_games is not None
        for found, record in in_processes(
            adjust, games, processes=_PROCESSES if computes else 1, chunk=_CHUNK, alone=_ALONE
        ):
            self.adjusted += computes
            yield self._sound(found), record if with_records else None

    def newest_games(self, *, bot: str | None = None) -> Iterator[FinishedGame]:
        """Yield all games, or those of a bot, the newest first, without their luck."""
        return self._source.newest_games(bot=bot)

    def game(self, match_id: int | None = None) -> RecordedGame:
        """Return one game with its record and its luck; errors as in `games`."""
        recorded = self._source.game(match_id)
        found, record = _with_luck(recorded, luck_games=self._luck_games)
        return self._sound(found), record

    def close(self) -> None:
        """Close the source."""
        self._source.close()

    def _sound(self, found: FinishedGame | str) -> FinishedGame:
        if isinstance(found, str):
            raise SourceError(self.name, found)
        return found


class PlayedCards:
    """Values a card by games of the native engine, in which all play as the planner.

    They go on to the seat's turn of the next round, where the network values the position. All cards of a
    draw meet the same random numbers.
    """

    def __init__(self, games: int) -> None:
        self._evaluator, self._games = Evaluator(), games
        self._worlds = required("Worlds")
        self._network = champions_network().native

    @property
    def digest(self) -> str:
        """See `Evaluator.digest`."""
        settings = f"{self._evaluator.digest} {self._games} games a card"
        return hashlib.sha256(settings.encode()).hexdigest()[:12]

    def after_cards(self, game: Game, cards: Sequence[Card]) -> list[ExpectedPlaces]:
        """See `Evaluator.after_cards`."""
        if cards[0].kind is CardKind.SPECIAL:
            return self._evaluator.after_cards(game, cards)
        known = {card: self._after_card(game, card) for card in dict.fromkeys(cards)}
        return [known[card] for card in cards]

    def _after_card(self, game: Game, card: Card) -> ExpectedPlaces:
        after = game.copy()
        after.reveal(card)
        if after.outcome is not None or after.awaited:
            return self._evaluator.places(after)
        position = self._worlds(view_message(after.view()).SerializeToString()).sample(seed=0)
        # The same for all cards, or their luck would depend on which one came.
        seed = game.round * MAX_PLAYERS + game.seat
        worths = self._network.round_later(position, games=self._games, seed=seed)
        last = len(worths)
        return tuple([(last + 1 - (last - 1) * worth) / 2 for worth in worths])


LuckEvaluator = Evaluator | PlayedCards


@cache
def luck_evaluator(luck_games: int = 0) -> LuckEvaluator:
    """Return what values cards: at once, or by a number of games played on for each.

    Raises:
        ConfigError: games are to be played, and the native engine isn't installed.
    """
    try:
        return PlayedCards(luck_games) if luck_games else Evaluator()
    except ImportError as error:
        raise ConfigError(f"--luck-games: {error}") from None


def _with_luck(recorded: RecordedGame, *, luck_games: int | None) -> tuple[FinishedGame | str, str | None]:
    """Return a game with its luck, or what is wrong with it, and its record."""
    game, line = recorded
    try:
        found = with_recorded_luck(game, line)
        if luck_games is None:
            return found, line
        if line is None:
            raise HappyCityError("it has no record to compute its luck from")
        return replace(found, luck=luck_of(read_record(line), luck_evaluator(luck_games))), line
    except HappyCityError as error:
        return f"game {game.match_id}: {error}", line


def luck_of(
    record: Json, evaluator: LuckEvaluator, positions: Iterator[Game] | None = None
) -> tuple[float, ...]:
    """Return the places that each seat won by chance, from a game's record.

    Errors are those of its `positions`, by default `positions_of`.
    """
    positions = positions or positions_of(record)
    movers_of(record)  # checks that there are moves, which are parsed as they are played
    moves = (Move.parse(move["move"]) for move in record["moves"])
    return total_luck(draws_along(positions, moves, evaluator.after_cards), config_of(record).players)


def recording_luck(game: FinishedGame, record: Record) -> tuple[FinishedGame, str]:
    """Return a game of a sequential test and its record with their luck."""
    content, evaluator = loads(unpack(pack(record))), Evaluator()
    luck = luck_of(content, evaluator)
    content["luck"] = {"evaluator": evaluator.digest, "places": luck}
    return replace(game, recorded_luck=luck), dumps(content)


def check_luck(record: Json, positions: Iterator[Game]) -> None:
    """Refuse a record, of a game with these positions, whose luck isn't what its evaluator says.

    Raises:
        RecordError: it is another one, malformed, or by an evaluator that this version doesn't have.
    """
    noted, evaluator = luck_in(record), Evaluator()
    if (named := record["luck"].get("evaluator")) != evaluator.digest:
        raise RecordError(
            f"luck: it is by evaluator {str(named)[:12]!a}, and this version has {evaluator.digest}: "
            "verify with the version that played it"
        )
    if noted != luck_of(record, evaluator, positions):
        raise RecordError("luck: it is not what the evaluator says")


@contextmanager
def refusing_large_luck() -> Iterator[None]:
    """Say in a ConfigError what is wrong where no ratings follow from scores without luck."""
    try:
        yield
    except (ArithmeticError, LinAlgError):
        raise ConfigError(
            "--luck-adjusted: a bot won or lost nearly all of these games, more than luck can be taken off; "
            "rate more games, or without it"
        ) from None
