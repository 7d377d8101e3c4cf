"""Who may see what: pure functions of who asks, and of where a match, its deal and its tournament stand.

The one place for these rules. Services, pages, feeds and publications pass facts in and follow the answer. A
deal that is in play is a secret: its seed and the records of its games have the order of the cards, which the
bots that still play it must not know, and the results of its games tell how it goes.
"""

from __future__ import annotations

from enum import IntEnum

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


class Play(IntEnum):
    """Whether games of a deal may still be played; of several answers the highest one holds."""

    ENDED = 0
    """No game of the deal is to come."""
    PAUSED = 1
    """Games of the deal are played again once an organiser wants it."""
    REPEATED = 2
    """Its own games are over, and others with the same seed are not."""
    OPEN = 3
    """Games of the deal are being played, or will be without anybody's doing."""


def play_of(state: TournamentState | None, elsewhere: Play = Play.ENDED) -> Play:
    """Return whether games of a tournament's deals may still be played; None: the tournament is gone.

    `elsewhere`: whether they may in other matches, and in tournaments with the same seed.
    """
    own = Play.OPEN
    if state in (None, TournamentState.FINISHED):
        own = Play.ENDED
    # One that this version can't read may go on with the version that can.
    elif state in (TournamentState.STOPPED, TournamentState.UNREADABLE):
        own = Play.PAUSED
    return max(own, min(elsewhere, Play.REPEATED))


def sight_of_deal(viewer: Viewer, play: Play) -> Sight:
    """Return what is seen of a deal in a finished game of it, or of all deals of a tournament or ladder.

    Even organisers get neither seed nor record while it is played: a bot of theirs may be playing.
    """
    if play is Play.ENDED or (play is Play.PAUSED and viewer is Viewer.ORGANISER):
        return Sight.ALL
    return Sight.NOTHING if play is Play.OPEN and viewer is Viewer.PUBLIC else Sight.RESULT


def sight_of_tournament(viewer: Viewer, state: TournamentState, elsewhere: Play = Play.ENDED) -> Sight:
    """Return what is seen of a tournament; `ALL` includes the seed from which all its deals follow."""
    return sight_of_deal(viewer, play_of(state, elsewhere))


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
    """Return what is seen of a match that is over and stored, by whether its deal is in play.

    `own`: a bot of the viewer sat in it. The record of a practice match shows how a bot plays in private.
    """
    sight = sight_of_deal(viewer, play)
    if not practice or own or viewer >= Viewer.OBSERVER:
        return sight
    return Sight.NOTHING if viewer is Viewer.PUBLIC else min(sight, Sight.RESULT)


def sees_people(viewer: Viewer) -> bool:
    """Return whether owners are seen, who may be persons, and how far away their programs are."""
    return viewer is not Viewer.PUBLIC
