"""What a ladder consists of over time: versions, seasons, deals, challenges. Times are Unix seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from statistics import NormalDist
from typing import NamedTuple

from happycity_tournament.games import BotProfile

UNANCHORED_GAP = 1e6
"""The gap of a version that wins and losses don't connect with the anchor."""
_Z = NormalDist().inv_cdf(0.975)


class DealKind(Enum):
    """What a deal is played for."""

    RATED = "rated"
    """For ratings; the ladder chose who plays."""
    CHALLENGE = "challenge"
    """An author asked for it; it is not rated."""
    COMPARISON = "comparison"
    """A newer version plays once more what an older one played against the house; it is not rated."""


class DealState(Enum):
    """Where a deal stands."""

    OPEN = "open"
    """It is being played, or waits for its bots after a stop of the server; its cards are secret."""
    DROPPED = "dropped"
    """It was given up."""
    FINISHED = "finished"
    VOIDED = "voided"
    """It was finished, and an organiser has voided it: it counts for nothing."""


class ChallengeState(Enum):
    """Where a challenge stands."""

    OPEN = "open"
    """A bot that is named has not answered yet."""
    PLAYING = "playing"
    """Its deals wait or are being played."""
    FINISHED = "finished"
    DECLINED = "declined"
    EXPIRED = "expired"
    """Nobody answered in time, or its bots didn't come."""
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One program under a bot's name, from one hello that names it to the next that names another."""

    id: int
    bot: str
    profile: BotProfile
    """What it said of itself, with the version's own name."""
    owner: str
    """Who owns the bot: the owner of its token, else the bot's name."""
    house: bool
    """Whether the server plays it itself."""
    first_at: float
    last_at: float
    """When it connected first and last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """A period of the ladder."""

    id: int
    started_at: float
    ended_at: float | None = None
    """None while it lasts."""
    deals: int = 0
    """Rated deals that were finished in it."""
    games: int = 0
    """Games of the deals that were finished in it, unrated ones too."""
    closed_after: int | None = None
    """The number of the last deal that was finished before it ended; None while it lasts."""
    first_deal: int = field(default=1, compare=False)
    """The id from which on deals began in it."""
    commitment: str = field(default="{}", compare=False)
    """What was committed to at its start, as canonical JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDeal:
    """A deal that is to begin."""

    board: str
    kind: DealKind
    versions: tuple[int, ...]
    """By seat of the first game."""
    bots: tuple[str, ...]
    """The names of their bots."""
    wanted_by: str | None = None
    """The bot whose owner asked for it, if it is rated and anybody did."""
    challenge_id: int | None = None
    deal_seed: int | None = None
    """The cards of an older deal for a comparison, else None: the store gives each deal cards of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderDeal:
    """Cards that the same versions play in all rotations of the seats."""

    id: int
    season_id: int
    """The season in which it was finished, before that the one in which it began."""
    board: str
    kind: DealKind
    versions: tuple[int, ...]
    """By seat of the first game; in rotation r, seat s belongs to versions[(s + r) % players]."""
    deal_seed: int
    challenge_id: int | None = None
    started_at: float
    finished: int | None = None
    """Its number among the finished deals, from 1; 0 if it was dropped, None while it is open."""
    finished_at: float | None = None
    """When it was finished or dropped; in the order of the finished deals it never decreases."""
    act_id: int | None = None
    """The action that voided it."""

    @property
    def state(self) -> DealState:
        """Where it stands."""
        if self.finished is None:
            return DealState.OPEN
        if self.act_id is not None:
            return DealState.VOIDED
        return DealState.FINISHED if self.finished else DealState.DROPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedDeal:
    """A finished deal as ratings see it."""

    finished: int
    """Its number among the finished deals: deals are rated in this order."""
    finished_at: float
    versions: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    """[rotation][i]: the place that counts of versions[i]; equal ones are shared."""
    id: int = 0
    """Of the deal; 0 if it isn't stored."""


class DealLuck(NamedTuple):
    """What the bots of a rated deal won by luck."""

    deal_id: int
    versions: tuple[int, ...]
    places: tuple[float, ...]
    """By version: the mean over the games of the deal; above 0 is good luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What an author has asked for."""

    id: int = 0
    """0 before it is stored."""
    bot: str
    """For which it was made."""
    board: str
    kind: DealKind
    opponents: tuple[str, ...] = ()
    """The other bots at the table; empty if the ladder chooses."""
    accepted: tuple[str, ...] = ()
    """Those that have accepted."""
    deals: int
    """Deals asked for."""
    old_version_id: int | None = None
    """For comparisons."""
    state: ChallengeState = ChallengeState.OPEN
    created_at: float = 0.0
    expires_at: float = 0.0


class ActionKind(Enum):
    """What an organiser may do to a ladder."""

    SUSPEND = "suspend"
    """A bot gets no more deals."""
    RESTORE = "restore"
    """A suspended bot gets deals again."""
    VOID = "void"
    """Finished deals count for nothing any longer."""
    RENAME = "rename"
    """A participant, who owns bots, gets another name."""
    DELETE = "delete"
    """Names and texts of a participant and of its bots are removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationAction:
    """What an organiser did."""

    id: int = 0
    """From 1, in the order of time; 0 before it is stored."""
    at: float
    organiser: str
    """The name of the organiser's token; "" without tokens."""
    kind: ActionKind
    bot: str | None = None
    owner: str | None = None
    """The bot and the participant under their present names; None for acts to deals by their ids."""
    text: str
    """Why, in one line."""
    deals: int = 0
    """Deals that it voided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What is known of a version's strength on a board at some time."""

    elo: float
    error: float
    """Standard error in Elo; 0 for the anchor."""
    deals: int
    """Rated deals of this version."""
    gap: float = 0.0
    """The widest gap in Elo without a bot on the way to the anchor; `UNANCHORED_GAP` before there is one."""

    @property
    def low(self) -> float:
        """The lower end of its 95% interval, by which bots are ranked."""
        return self.elo - _Z * self.error

    @property
    def high(self) -> float:
        """The upper end of its 95% interval."""
        return self.elo + _Z * self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPoint:
    """A rating in the history of a version."""

    board: str
    version_id: int
    at: float
    rating: Rating
