"""Who sees what of a match, a deal and a tournament; the tables are written by hand."""

import pytest

from happycity_tournament.config import TournamentState
from happycity_tournament.visibility import (
    Play,
    Sight,
    Viewer,
    sees_incidents,
    sees_people,
    sight_of_finished_match,
    sight_of_open_match,
    sight_of_tournament,
)

SIGHTS = {"-": Sight.NOTHING, "exists": Sight.EXISTS, "result": Sight.RESULT, "all": Sight.ALL}

TOURNAMENTS = """
              public  bot     observer  organiser
waiting       -       result  result    result
running       -       result  result    result
interrupted   -       result  result    result
stopped       result  result  result    all
finished      all     all     all       all
unreadable    result  result  result    all
"""
OPEN_MATCHES = """
              public  bot     observer  organiser
rated         exists  exists  all       all
shown         all     all     all       all
practice      -       exists  all       all
own practice  all     all     all       all
"""
FINISHED_MATCHES = """
                       public  bot     observer  organiser
open                   -       result  result    result
repeated               result  result  result    result
paused                 result  result  result    all
ended                  all     all     all       all
open practice          -       result  result    result
ended practice         -       result  all       all
open own practice      -       result  result    result
repeated own practice  result  result  result    result
ended own practice     all     all     all       all
"""


def rows(table: str) -> list[tuple[str, Viewer, Sight]]:
    """Return the cells of a table: row, viewer, and what is seen."""
    heading, *lines = table.strip("\n").splitlines()
    viewers = [Viewer[name.upper()] for name in heading.split()]
    cells = []
    for line in lines:
        *row, last = line.rsplit(None, len(viewers) - 1)
        name, first = row[0].rsplit(None, 1)
        cells += [
            (name.strip(), viewer, SIGHTS[word])
            for viewer, word in zip(viewers, (first, *row[1:], last), strict=True)
        ]
    return cells


def test_every_state_of_a_tournament_has_a_row() -> None:
    assert {row for row, _, _ in rows(TOURNAMENTS)} == {state.value for state in TournamentState}


@pytest.mark.parametrize(("state", "viewer", "sight"), rows(TOURNAMENTS))
def test_tournaments(state: str, viewer: Viewer, sight: Sight) -> None:
    """A tournament that can be resumed shows its seed to organisers alone."""
    assert sight_of_tournament(viewer, TournamentState(state)) is sight


@pytest.mark.parametrize(("kind", "viewer", "sight"), rows(OPEN_MATCHES))
def test_matches_that_are_not_over(kind: str, viewer: Viewer, sight: Sight) -> None:
    seen = sight_of_open_match(viewer, practice="practice" in kind, own="own" in kind, shown=kind == "shown")
    assert seen is sight


@pytest.mark.parametrize(("kind", "viewer", "sight"), rows(FINISHED_MATCHES))
def test_matches_that_are_over(kind: str, viewer: Viewer, sight: Sight) -> None:
    """A bot that plays an open deal, or may still play it, gets no record of it."""
    play = Play[kind.split(maxsplit=1)[0].upper()]
    seen = sight_of_finished_match(viewer, play, practice="practice" in kind, own="own" in kind)
    assert seen is sight


@pytest.mark.parametrize("play", Play)
def test_a_bot_sees_no_more_by_having_played(play: Play) -> None:
    for viewer in Viewer:
        played, other = (
            sight_of_finished_match(viewer, play, practice=False, own=own) for own in (True, False)
        )
        assert played is other


def test_incidents_and_people() -> None:
    assert [sees_incidents(viewer) for viewer in Viewer] == [False, False, True, True]
    assert [sees_people(viewer) for viewer in Viewer] == [False, True, True, True]
