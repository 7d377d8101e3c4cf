"""The standings of a tournament: the same after the same games, whatever the order in which they end."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from happycity.records import FORFEIT_REASONS, Json
from happycity.terms import FailurePolicy
from happycity_tournament.quarantine import Quarantine
from happycity_tournament.ratings import LiveElo, Rating
from happycity_tournament.results import Fixture, GameResult, Position

_RANK_DIGITS = 6  # ratings that differ by rounding errors only are equal


@dataclass(frozen=True, slots=True)
class Standing:
    """One bot's line; all of its columns tell of the same games."""

    rank: int
    """1 is best; equal ratings share a rank."""
    bot: str
    """The bot's name."""
    elo: float
    """The mean over the bots is 1500."""
    elo_low: float | None
    """Lower end of the 95% interval; None while the bot played too few deals."""
    elo_high: float | None
    """Upper end of the 95% interval; None while the bot played too few deals."""
    games: int
    """Games counted; those in quarantine are not among them."""
    points_mean: float
    """Points a game; 0 before the first."""
    firsts: int
    """Games won, shared first places included."""
    forfeits: int
    """Games that the bot forfeited."""
    forfeits_by_reason: dict[str, int]
    """The same by reason; reasons that did not occur are left out."""
    games_quarantined: int
    """Games with a disqualified bot at the table. They count apart: here, and in no other column."""

    def json(self) -> Json:
        """Return the line as a JSON object; an interval that isn't there is null."""
        return asdict(self)


@dataclass(slots=True)
class _Tally:
    games: int = 0
    points: int = 0
    firsts: int = 0
    forfeits: Counter[str] = field(default_factory=Counter)
    """By reason."""
    quarantined: int = 0


class Standings:
    """Counts results in the order of the schedule, which `expect` tells.

    A result that comes early is held back, with all of its columns, until those before it are there. So the
    standings after so many games don't depend on how many were played at once, and short games, which end
    first, don't count for more. For the same reason disqualification goes by the games that count.
    Games of a bot that is disqualified count apart, and are not rated.
    """

    def __init__(self, *, bots: Sequence[str], policy: FailurePolicy | None = None) -> None:
        """Begin without games.

        Args:
            bots: the names of all bots.
            policy: says when a bot is disqualified; by default never.
        """
        self._quarantine = Quarantine(policy or FailurePolicy())
        self._elo = LiveElo(bots)
        self._tallies = {bot: _Tally() for bot in bots}
        self._expected: deque[Position] = deque()
        """The games that are to count next."""
        self._passed: Position = (0, 0, 0)
        """The last of those that counted, or had nothing to count."""
        self._early: dict[Position, GameResult | None] = {}
        """What is known of the games after a gap: a result, or None if there is nothing left to count."""
        self._last_round: int | None = None
        self._games = 0
        self._games_quarantined = 0
        self._lines: list[Standing] | None = None

    @property
    def games(self) -> int:
        """How many games are counted, those in quarantine among them."""
        return self._games

    @property
    def games_quarantined(self) -> int:
        """How many games count apart because a bot at the table is disqualified."""
        return self._games_quarantined

    @property
    def held_back(self) -> int:
        """How many games wait for earlier ones."""
        return sum(result is not None for result in self._early.values())

    @property
    def disqualified(self) -> tuple[str, ...]:
        """The bots that failed too often, the first one first; nobody is forgiven by what it plays later."""
        return self._quarantine.disqualified

    def expect(self, fixture: Fixture) -> None:
        """Let a game count after all those that were expected before it; positions rise."""
        self._expected.append(fixture.position)
        self._advance()

    def close(self, last_round: int) -> None:
        """Let no game count that is of a later round than this one, as when a test has decided."""
        self._last_round = last_round

    def add(self, result: GameResult) -> None:
        """Take a result, in any order; it counts once it is expected and all games before it do.

        Raises:
            ValueError: the game was added or skipped before.
        """
        self._settle(result.fixture, result)

    def skip(self, fixture: Fixture) -> None:
        """Note that a game has no result and never will; the games after it don't wait for it.

        Raises:
            ValueError: the game was added or skipped before.
        """
        self._settle(fixture, None)

    def flush(self) -> None:
        """Count all that is held back, as when a tournament is stopped and the gaps won't be filled."""
        for position, result in sorted(self._early.items()):
            self._count(result)
            self._early[position] = None

    def lines(self) -> list[Standing]:
        """Return the standings after the games that count, best first, equal ratings by the bots' order."""
        if self._lines is None:
            best_first = sorted(self._elo.ratings(), key=_rank_key)
            keys = [_rank_key(rating) for rating in best_first]
            self._lines = [
                self._line(rating, rank=1 + keys.index(_rank_key(rating))) for rating in best_first
            ]
        return list(self._lines)

    def _settle(self, fixture: Fixture, result: GameResult | None) -> None:
        position = fixture.position
        if position <= self._passed or position in self._early:
            raise ValueError(f"{fixture.place} is settled already")
        self._early[position] = result
        self._advance()

    def _advance(self) -> None:
        while self._expected and self._expected[0] in self._early:
            self._passed = self._expected.popleft()
            self._count(self._early.pop(self._passed))

    def _count(self, result: GameResult | None) -> None:
        if result is None:
            return
        if self._last_round is not None and result.fixture.round > self._last_round:
            return
        self._games += 1
        self._lines = None
        if not self._quarantine.admits(result):
            self._games_quarantined += 1
            for bot in result.fixture.bots:
                self._tallies[bot].quarantined += 1
            return
        self._elo.add(result)
        for seat, bot in enumerate(result.fixture.bots):
            tally = self._tallies[bot]
            tally.games += 1
            tally.points += result.points[seat]
            tally.firsts += result.places[seat] == 1
            if reason := result.forfeit_reason(seat):
                tally.forfeits[reason] += 1

    def _line(self, rating: Rating, *, rank: int) -> Standing:
        tally = self._tallies[rating.bot]
        return Standing(
            rank=rank,
            bot=rating.bot,
            elo=rating.elo,
            elo_low=rating.low,
            elo_high=rating.high,
            games=tally.games,
            points_mean=tally.points / tally.games if tally.games else 0.0,
            firsts=tally.firsts,
            forfeits=tally.forfeits.total(),
            forfeits_by_reason={
                reason: tally.forfeits[reason] for reason in FORFEIT_REASONS if tally.forfeits[reason]
            },
            games_quarantined=tally.quarantined,
        )


def _rank_key(rating: Rating) -> float:
    return -round(rating.elo, _RANK_DIGITS)
