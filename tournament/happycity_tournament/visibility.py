"""Who may see what: pure functions of who asks, and of where a match, its deal and its tournament stand.

The one place for these rules. Services, pages, feeds and publications pass facts in and follow the answer. A
deal that is in play is a secret: its seed and the records of its games have the order of the cards, which the
bots that still play it must not know, and the results of its games tell how it goes.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from happycity_tournament.config import TournamentState


class Viewer(IntEnum):
    """Who asks; each sees at least what those before it see."""

    PUBLIC = 0
    """A caller without a token."""
    BOT = 1
    """A bot, its owner, or a person at a table."""
    OBSERVER = 2
    """Who may watch running games, and plays none."""
    ORGANISER = 3
    """Who sets games up, and so decides whether a tournament that was stopped continues."""


class Sight(IntEnum):
    """How much a viewer sees; each includes those before it."""

    NOTHING = 0
    """Not even that it exists."""
    EXISTS = 1
    """That it exists, with its bots and its state."""
    RESULT = 2
    """Its result or standings too."""
    ALL = 3
    """Its positions, records and seed too."""


class Play(Enum):
    """Whether games of a deal may still be played."""

    OPEN = "open"
    """Games of the deal are being played, or will be without anybody's doing."""
    REPEATED = "repeated"
    """Its own games are over, and a match that isn't over was set up with the same seed."""
    PAUSED = "paused"
    """Games of the deal are played again once an organiser wants it."""
    ENDED = "ended"
    """No game of the deal is to come."""


_NOBODY = len(Viewer)
_SEES_ALL = {
    Play.OPEN: _NOBODY,
    Play.REPEATED: Viewer.OBSERVER,
    Play.PAUSED: Viewer.ORGANISER,
    Play.ENDED: Viewer.PUBLIC,
}
"""From which viewer on the seed and records of a deal are seen."""


def play_of(state: TournamentState | None) -> Play:
    """Return whether games of a tournament's deals may still be played; None: the tournament is gone."""
    if state in (None, TournamentState.FINISHED, TournamentState.UNREADABLE):
        return Play.ENDED
    return Play.PAUSED if state is TournamentState.STOPPED else Play.OPEN


def sight_of_deal(viewer: Viewer, play: Play) -> Sight:
    """Return what is seen of a deal in a finished game of it, or of all deals of a tournament or ladder.

    Even organisers get neither seed nor record while it is open: a bot of theirs may be playing.
    """
    if viewer >= _SEES_ALL[play]:
        return Sight.ALL
    return Sight.NOTHING if play in (Play.OPEN, Play.REPEATED) and viewer is Viewer.PUBLIC else Sight.RESULT


def sight_of_tournament(viewer: Viewer, state: TournamentState) -> Sight:
    """Return what is seen of a tournament; `ALL` includes the seed from which all its deals follow."""
    return sight_of_deal(viewer, play_of(state))


def sight_of_open_match(viewer: Viewer, *, practice: bool, own: bool, shown: bool) -> Sight:
    """Return what is seen of a match that isn't over; its positions show no hidden card.

    `own`: a bot of the viewer sits in it. `shown`: the server shows running games to the public, and no other
    game has its deal. A bot would see in any other match how the deal goes that it plays itself.
    """
    if viewer >= Viewer.OBSERVER or shown or (practice and own):
        return Sight.ALL
    return Sight.NOTHING if practice and viewer is Viewer.PUBLIC else Sight.EXISTS


def sees_incidents(viewer: Viewer) -> bool:
    """Return whether strikes and forfeits of running games are seen: by those who may watch the games."""
    return sight_of_open_match(viewer, practice=False, own=False, shown=False) is Sight.ALL


def sight_of_finished_match(viewer: Viewer, play: Play, *, practice: bool, own: bool) -> Sight:
    """Return what is seen of a match that is over and stored, by whether its deal is in play elsewhere.

    `own`: a bot of the viewer sat in it. The record of a practice match shows how a bot plays in private.
    """
    sight = sight_of_deal(viewer, play)
    if not practice or own or viewer >= Viewer.OBSERVER:
        return sight
    return Sight.NOTHING if viewer is Viewer.PUBLIC else min(sight, Sight.RESULT)


def sees_people(viewer: Viewer) -> bool:
    """Return whether owners are seen, who may be persons, and how far away their programs are."""
    return viewer is not Viewer.PUBLIC
