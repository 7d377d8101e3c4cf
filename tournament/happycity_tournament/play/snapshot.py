"""A tournament at one moment: all that console, JSON and pages show of it, wherever it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from happycity import ConfigError
from happycity_tournament.config import Seed, SprtTest, TournamentConfig, TournamentState
from happycity_tournament.games import BotProfile
from happycity_tournament.play.progress import TournamentStatus, load_status, resting_state
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.ratings.sprt import SprtPoint, SprtState
from happycity_tournament.standings.standings import Standing
from happycity_tournament.storage.stored import Problems, Progress, StoredTournament
from happycity_tournament.visibility import Sight, Viewer, sight_of_tournament

if TYPE_CHECKING:  # a client of a server does without the store, and a reader of a store without messages
    from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
    from happycity_tournament.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A tournament at one moment."""

    tournament_id: int
    config: TournamentConfig | None
    """What it consists of; None if that can't be read."""
    seed: Seed | None
    """The seed; None as long as its deals are in play, when the one in `config` means nothing."""
    created_at: float
    """Unix time in seconds."""
    state: TournamentState
    games_total: int
    """Games in all; at most, if results may end it."""
    games: int = 0
    """Games finished and stored."""
    decisions: int = 0
    started_at: float | None = None
    """When the first of them began, Unix time in seconds; None without games."""
    games_running: int = 0
    """Games that are being played; 0 where no server was asked."""
    decisions_running: int = 0
    """Decisions so far in those."""
    seconds: float = 0.0
    """From the first game's start to the last one's end."""
    games_voided: int = 0
    games_unrated: int = 0
    """Finished games with a disqualified bot at the table."""
    missing_bots: tuple[str, ...] = ()
    """Bots that are not connected; empty where no server was asked."""
    disqualified: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the organiser should know, a line each."""
    standings: tuple[Standing, ...] = ()
    """Best first; empty in lists."""
    profiles: Mapping[str, BotProfile] = field(default_factory=dict)
    """What the bots said of themselves, by their names, of those that have connected since it began."""
    test: SprtState | None = None
    """Where the sequential test stands; None in other formats, and in lists."""
    test_history: tuple[SprtPoint, ...] = ()
    """How the sequential test got there; empty where only a server was asked."""
    final: Ratings | None = None
    """None unless they were asked for, and without any rated game."""
    activity: tuple[pb.BotActivity, ...] = ()
    """What its bots do; empty unless a server that plays it was asked."""
    incidents: tuple[pb.MatchIncident, ...] = ()
    """What went wrong since the snapshot before, if the tournament is watched."""

    @property
    def title(self) -> str:
        """What people call it; "" if it has no name."""
        return "" if self.config is None else self.config.title

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots; empty if the configuration can't be read."""
        return () if self.config is None else self.config.bots

    @property
    def sprt(self) -> SprtTest | None:
        """What is tested; None in other formats."""
        chosen = None if self.config is None else self.config.format
        return chosen if isinstance(chosen, SprtTest) else None

    @property
    def until_error(self) -> float | None:
        """The error of the ratings that ends it, in Elo; None if nothing but its last game does."""
        return None if self.config is None else getattr(self.config.format, "until_error", None)


def stored_snapshot(store: Store, tournament_id: int, *, claimed: bool | None = None) -> Snapshot:
    """Return a tournament without its standings; raise StoreError if it isn't there.

    If a server has `claimed` the store, it may be playing the tournament; None asks the store.
    """
    stored = store.require_tournament(tournament_id)
    claimed = store.is_claimed() if claimed is None else claimed
    return listed(stored, store.progress(stored.id), claimed=claimed)


def listed(stored: StoredTournament, progress: Progress, *, claimed: bool = False) -> Snapshot:
    """Return a tournament by its row in a store, without what only its games show; see `stored_snapshot`.

    It is for the eyes of an organiser, as who reads the store is one.
    """
    state, problems = stored.state if claimed else resting_state(stored.state), stored.problems
    try:
        config = TournamentConfig.of(stored.config)
    except ConfigError as error:
        config, state = None, TournamentState.UNREADABLE
        problems = replace(problems, remarks=(*problems.remarks, str(error)))
    return Snapshot(
        tournament_id=stored.id,
        config=config,
        seed=None if config is None else _seed(config, state),
        created_at=stored.created_at,
        state=state,
        games_total=stored.games_total,
        profiles=stored.profiles,
        **_progress_fields(progress, problems),
    )


def played(status: TournamentStatus, missing_bots: Iterable[str] = ()) -> Snapshot:
    """Return a tournament that is in memory, without its standings, for the eyes of an organiser."""
    return Snapshot(
        tournament_id=status.tournament_id,
        config=status.config,
        seed=_seed(status.config, status.state),
        created_at=status.created_at,
        state=status.state,
        games_total=status.games_total,
        missing_bots=tuple(missing_bots),
        profiles=status.profiles,
        test=status.test,
        **_progress_fields(status.progress, status.problems),
    )


def _seed(config: TournamentConfig, state: TournamentState) -> Seed | None:
    return config.seed if sight_of_tournament(Viewer.ORGANISER, state) is Sight.ALL else None


def _progress_fields(progress: Progress, problems: Problems) -> dict[str, Any]:
    """Return what a snapshot says of games."""
    return {
        "games": progress.games,
        "decisions": progress.decisions,
        "seconds": progress.seconds,
        "started_at": progress.started_at if math.isfinite(progress.started_at) else None,
        **asdict(problems),
    }


def load_snapshot(store: Store, tournament_id: int) -> Snapshot:
    """Return a tournament of a store with its standings and final ratings; it may take seconds.

    Raises:
        StoreError: there is no such tournament, or the store can't be read.
        ConfigError: its configuration can't be read.
    """
    stored = store.require_tournament(tournament_id)
    status = load_status(store, stored)
    return replace(
        played(status),
        state=stored.state if store.is_claimed() else status.state,
        standings=tuple(status.standings.lines()),
        test_history=status.test_history,
        final=final_ratings(status),
    )


def final_ratings(status: TournamentStatus) -> Ratings | None:
    """Return the final ratings by the games so far; it may take seconds. None without a game that counts."""
    # Imported here, as it imports numpy, for which the server and the bots of a run would wait.
    from happycity_tournament.standings.rated_games import rate_games  # noqa: PLC0415

    config, stats = status.config, status.standings.stats()
    if not len(stats):
        return None
    return rate_games(stats.estimate, anchor=config.anchor, anchor_elo=config.anchor_elo, test=status.test)
