"""What a match has besides its game: bots' names, clocks, how bots that fail are treated, and results.

All times are seconds.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from happycity.errors import ConfigError, FieldError, suggestion
from happycity.rules.scoring import Outcome, rank

if TYPE_CHECKING:
    from happycity.rules.game import Game
    from happycity.rules.moves import Move

MAX_REASON = 200
"""Characters that are kept of the reason of a forfeit, of an incident's text, and of a bot's description."""
MAX_LABEL = 80
"""Characters that are kept of what a bot says of itself otherwise, and of a tournament's title."""

REFERENCE_BOTS = ("random", "greedy", "careless", "planner", "rollout", "search", "learner", "champion")
"""The bots that `happycity bot` plays, weakest first."""
DEFAULT_LINEUP = ("random", "greedy", "planner", "rollout")
"""The bots of a tournament that names none: those that search think many times as long."""

_BOT_NAME = re.compile(r"[A-Za-z0-9._+-]{1,64}")
_OPTION_OR_HIDDEN = re.compile(r"[^A-Za-z0-9_].*|.*\.", re.DOTALL)
"""What programs take for an option, file systems hide, or Windows cuts."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
"""Files of these names are devices to Windows, with any ending."""
_ADDRESS = re.compile(r".*\.(json|html)", re.IGNORECASE)
"""The page of `a.json` would be the data of the page of `a`."""
_VALUE = re.compile(r"none|null|na|true|false", re.IGNORECASE)
"""Readers of logs and tables take these for no name, as they do numbers."""


def check_bot_spelling(name: str) -> str:
    """Return `name` if a bot of this or an older version can have it; ConfigError if not."""
    if not _BOT_NAME.fullmatch(name):
        raise ConfigError(f"bot name {name[:80]!r}: use 1-64 of a-z, A-Z, 0-9 and . _ - +")
    return name


def check_bot_name(name: str) -> str:
    """Return `name` if a bot may take it: no file system, URL, terminal or log takes it for anything else.

    Raises:
        ConfigError: it may not.
    """
    check_bot_spelling(name)
    problem = ""
    if _OPTION_OR_HIDDEN.fullmatch(name):
        problem = "begin with a letter or digit, and end with no full stop"
    elif _DEVICE.fullmatch(name):
        problem = "to Windows it is a device; choose another"
    elif _ADDRESS.fullmatch(name):
        problem = "it reads as the address of a page; choose another ending"
    elif _VALUE.fullmatch(name) or _is_number(name):
        problem = "it reads as a value; choose one that is a name alone"
    if problem:
        raise ConfigError(f"bot name {name[:80]!r}: {problem}")
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def name_key(name: str) -> str:
    """Return what two names share that differ by capital letters alone.

    Where bots compete they can't both be there: some file systems have one file for both, and people mix
    them up.
    """
    return name.casefold()


PERSON_MARK = "@"
"""What the names of people begin with, and no bot's can."""
MAX_PERSON = 24
"""Characters of a name that a person types."""


def check_person_name(typed: str) -> str:
    """Return the name under which a person plays, for the one that the person typed.

    Its letters are of one script, as those of several would make names that only look alike.

    Raises:
        ConfigError: the name can't be used.
    """
    name = " ".join(unicodedata.normalize("NFC", one_line(typed)).split()).removeprefix(PERSON_MARK)
    # Letters of any script with their marks, and digits.
    is_word = {character: unicodedata.category(character)[0] in "LMN" for character in name}
    if len(name) > MAX_PERSON or not any(is_word.values()):
        raise FieldError(
            "name", f"{name[:80]!r} must have 1-{MAX_PERSON} characters, among them a letter or digit"
        )
    for character, known in is_word.items():
        if not known and character not in " ._+'-":
            raise FieldError(
                "name", f"{character!r} can't be in it; use letters, digits, spaces or . _ - + '"
            )
    scripts = sorted({_script_of(character) for character in name if character.isalpha()})
    if len(scripts) > 1:
        raise FieldError("name", f"{name!r} has letters of {' and '.join(scripts)}; use those of one script")
    return f"{PERSON_MARK}{name}"


def _script_of(letter: str) -> str:
    """Return the script of a letter, by the first word of its name in Unicode."""
    script = unicodedata.name(letter, "unknown").partition(" ")[0].partition("-")[0].capitalize()
    return "Japanese or Chinese" if script in ("Cjk", "Hiragana", "Katakana") else script


def is_person(name: str) -> bool:
    """Return whether a seat's name is that of a person."""
    return name.startswith(PERSON_MARK)


def check_reference_bot(name: str) -> str:
    """Return `name` if there is such a reference bot; ConfigError if not."""
    if name not in REFERENCE_BOTS:
        name = name[:80]
        raise ConfigError(f"{name!r} is not a reference bot; {suggestion(name, REFERENCE_BOTS)}")
    return name


class Fallback(Enum):
    """What is played for a bot that doesn't choose."""

    NEUTRAL = "neutral"
    """The first legal move: keep, the lowest deck, coin, decline."""
    RANDOM = "random"
    """A random legal move, the same for the same deal and decision."""

    def move(self, game: Game, deal_seed: int, decision_id: int) -> Move:
        """Return what is played in a game's position, the decision with this number from 1."""
        if self is Fallback.NEUTRAL:
            return game.neutral_move
        # Nothing of Python's `random` but `random()` is promised to stay the same in every release.
        rng = random.Random(f"happycity fallback {deal_seed} {decision_id}")
        moves = game.legal_moves
        return moves[int(rng.random() * len(moves))]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeControl:
    """How long things may take, in seconds.

    Raises:
        ConfigError: a time is negative or not finite, or a limit is 0.
    """

    connect_seconds: float = 10.0
    """How long a match waits for its bots to connect."""
    decision_seconds: float = 10.0
    """The limit for each decision."""
    bank_seconds: float = 0.0
    """What each seat may think in a game on top of its increments; 0 means that there is no bank."""
    increment_seconds: float = 0.0
    """What is added to a seat's bank before each of its decisions."""
    margin_seconds: float = 0.02
    """The part of each think time that counts for nothing, for the jitter of network and machines."""
    no_clock: bool = False
    """Whether no clock runs at all, for debugging."""

    def __post_init__(self) -> None:
        """Refuse impossible times."""
        for name in ("connect_seconds", "bank_seconds", "increment_seconds", "margin_seconds"):
            _check_seconds(name, getattr(self, name))
        _check_seconds("decision_seconds", self.decision_seconds, positive=True)
        if self.increment_seconds and not self.bank_seconds:
            raise FieldError("increment_seconds", "an increment needs a bank; give one too")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePolicy:
    """What happens to a bot that fails.

    Raises:
        ConfigError: a number is out of its range.
    """

    max_strikes: int = 3
    """Late and illegal answers that a seat may give in a game; one more forfeits it."""
    grace_seconds: float = 10.0
    """How long a bot may be disconnected before its seats are forfeited; its clocks run on."""
    fallback: Fallback = Fallback.NEUTRAL
    disqualify_share: float = 1.0
    """In tournaments: a bot that forfeited at least this share of its games is disqualified, and so is a bot
    that never answered; 0 spares all."""
    disqualify_games: int = 20
    """In tournaments: games that a bot must have played before it can be disqualified."""

    def __post_init__(self) -> None:
        """Refuse impossible numbers."""
        check_range("max_strikes", self.max_strikes, 0, MOST)
        _check_seconds("grace_seconds", self.grace_seconds)
        check_range("disqualify_share", self.disqualify_share, 0, 1)
        check_range("disqualify_games", self.disqualify_games, 1, MOST)


LONGEST_SECONDS = 10 * 365 * 86400.0
"""No time of a match may be longer: ten years, which timers and time stamps can hold."""
MOST = 1_000_000_000
"""No count of a failure policy may be higher."""


def _check_seconds(name: str, seconds: float, *, positive: bool = False) -> None:
    if not 0 <= seconds <= LONGEST_SECONDS or (positive and not seconds):  # so nan is refused too
        least = "more than 0" if positive else "0 or more"
        raise FieldError(name, f"{seconds!r:.40} is not a time in seconds, {least} and at most ten years")


def check_range(name: str, number: float, least: float, most: float) -> None:
    """Refuse a number that is not between two others, both included, with a ConfigError."""
    if not least <= number <= most:
        raise FieldError(name, f"{number!r:.40} is not between {least} and {most}")


class Ending(Enum):
    """How a seat's game ended; the value is the one of records."""

    FINISHED = "finished"
    TIMEOUT = "forfeit:timeout"
    """The bot did not answer in time, more often than allowed."""
    ILLEGAL = "forfeit:illegal"
    """The bot answered with moves that were not legal, more often than allowed."""
    DISCONNECTED = "forfeit:disconnected"
    """The bot's connection was lost, or it said goodbye."""
    RESIGNED = "forfeit:resigned"
    CRASHED = "forfeit:crashed"
    """The bot failed in this game, and said so."""
    ABSENT = "forfeit:absent"
    """The bot was not connected when the game began."""
    DISQUALIFIED = "forfeit:disqualified"
    """The bot failed in too many games of the tournament."""
    SILENT = "forfeit:silent"
    """The bot was asked several times and has never answered in any game since it connected."""
    OTHER = "forfeit:other"
    """A forfeit of a kind that only a newer server knows; no server and no record has it."""

    @property
    def word(self) -> str:
        """The ending in one word, such as `timeout`."""
        return self.name.lower()


class VoidReason(Enum):
    """Why a match was voided: aborted, so that it counts for no bot. None of these is a bot's fault."""

    SHUTDOWN = "shutdown"
    SERVER_ERROR = "server_error"
    """The server failed in this match."""
    STOPPED = "stopped"
    """The organiser stopped the match or its tournament."""
    UNKNOWN = "unknown"
    """The server doesn't know the match any more."""


@dataclass(frozen=True, slots=True)
class SeatResult:
    """How a game ended for one seat."""

    points: int
    coins: int
    """Coins left, which break ties."""
    inhabitants: int
    hearts: int
    rank: int
    """The place by the rules alone, 1 is first; equal seats share it."""
    place: int
    """The place that counts: the rank, but forfeited seats share the last place."""
    ending: Ending = Ending.FINISHED
    reason: str = ""
    """Why the seat was forfeited, in one line of at most `MAX_REASON` characters; "" without a reason."""

    @property
    def forfeited(self) -> bool:
        """Whether the seat was forfeited."""
        return self.ending is not Ending.FINISHED


def seat_results(
    outcome: Outcome, endings: Sequence[Ending] = (), reasons: Sequence[str] = ()
) -> tuple[SeatResult, ...]:
    """Return how a game ended for each seat.

    `endings` are by seat, empty if all finished; `reasons` are those of forfeits, empty if there are none.
    """
    seats = range(len(outcome.points))
    endings = endings or [Ending.FINISHED for _ in seats]
    reasons = reasons or ["" for _ in seats]
    places = rank(
        [
            (1, points, coins) if ending is Ending.FINISHED else (0, 0, 0)
            for points, coins, ending in zip(outcome.points, outcome.coins, endings, strict=True)
        ]
    )
    numbers = (outcome.points, outcome.coins, outcome.inhabitants, outcome.hearts, outcome.ranks, places)
    return tuple(SeatResult(*of_seat) for of_seat in zip(*numbers, endings, reasons, strict=True))


class IncidentKind(Enum):
    """What went wrong for a seat; the value is the one of records."""

    TIMEOUT = "timeout"
    """No answer came in time; the fallback was played, and the seat has a strike."""
    ILLEGAL_ANSWER = "illegal_answer"
    """The answer was no legal move; the fallback was played, and the seat has a strike."""
    FORFEIT = "forfeit"
    """The seat was forfeited."""
    OTHER = "other"
    """An incident of a kind that only a newer server knows; no server and no record has it."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that went wrong for a seat in a match."""

    decision_id: int
    """The decision that was open, from 1; 0 if the game had not begun."""
    seat: int
    kind: IncidentKind
    text: str
    """One line for a person, of at most `MAX_REASON` characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotInfo:
    """What a bot says of itself; "" where it doesn't.

    Each text is made one line of at most `MAX_LABEL` characters, the description of `MAX_REASON`.
    """

    author: str = ""
    version: str = ""
    """The bot's own version, not that of its SDK."""
    language: str = ""
    """The programming language."""
    description: str = ""
    """A line about it."""

    def __post_init__(self) -> None:
        """Make each text one line that can be shown."""
        for name in ("author", "version", "language"):
            object.__setattr__(self, name, one_line(getattr(self, name))[:MAX_LABEL])
        object.__setattr__(self, "description", one_line(self.description))


def one_line(text: str) -> str:
    """Return a text in one line, without control characters, as the reason of a forfeit is kept."""
    printable = "".join(character if character.isprintable() else " " for character in text[: 4 * MAX_REASON])
    return " ".join(printable.split())[:MAX_REASON]
