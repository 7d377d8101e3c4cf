"""Observations say what a view shows, seen from one seat."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from tests.game.rules.test_properties import positions

from happycity import CARDS, DWELLINGS, Colour, Game, Mode, Phase, Scoring
from happycity.rules.cards import BUILDINGS, SPECIALS
from happycity_envs.selfplay import OBSERVATION_LAYOUT, Observations

GOLDEN = Path(__file__).with_name("golden")


def parts_of(game: Game, seat: int) -> dict[tuple[str, int | None], NDArray[Any]]:
    observations = Observations(game.config.players)
    row = observations.of(game, seat)
    return {(plane.name, whose): row[place] for plane, whose, place in observations.parts()}


def ones(plane: NDArray[Any]) -> list[int]:
    assert set(plane.tolist()) <= {0, 1}
    return [int(number) for number in np.flatnonzero(plane)]


def test_the_layout_is_that_of_its_version() -> None:
    """A place keeps its meaning; a change has to raise `OBSERVATION_LAYOUT` and keep a new file."""
    lines = []
    for players in range(2, 6):
        observations = Observations(players)
        for plane, seat, place in observations.parts():
            if seat is None or seat < 2:
                whose = "table" if seat is None else f"seat +{seat}"
                lines.append(f"{players} players, {whose}: {place.start}-{place.stop - 1} {plane.name}")
        lines.append(f"{players} players: {observations.size} numbers")
    kept = (GOLDEN / f"observations_{OBSERVATION_LAYOUT}.txt").read_text(encoding="utf-8")
    assert "\n".join(lines) + "\n" == kept


def test_a_row_begins_with_a_row_of_the_layout_before() -> None:
    """So a policy that was trained on version 1 plays on, by the first numbers of a row."""
    old = (GOLDEN / "observations_1.txt").read_text(encoding="utf-8").splitlines()
    new = (GOLDEN / f"observations_{OBSERVATION_LAYOUT}.txt").read_text(encoding="utf-8").splitlines()
    places = [line for line in old if "players," in line]
    assert [line for line in new if line in places] == places
    assert len(places) == len(new) - 8  # a plane and a size for each number of players


@pytest.mark.level(1)
@given(positions())
def test_the_table_is_in_the_observation(game: Game) -> None:
    view = game.view()
    for seat in range(view.config.players):
        parts = parts_of(game, seat)
        table = {name: plane for (name, whose), plane in parts.items() if whose is None}
        assert ones(table["phase"]) == [list(Phase).index(view.phase)]
        assert ones(table["expert"]) == ([0] if view.config.mode is Mode.EXPERT else [])
        assert ones(table["sum"]) == ([0] if view.config.scoring is Scoring.SUM else [])
        assert table["round"] == pytest.approx(view.round / 30)
        assert ones(table["seat"]) == [seat]
        assert ones(table["turn"]) == [(view.seat - seat) % view.config.players]
        assert (table["centre"] * 2).tolist() == [view.centre.count(card) for card in BUILDINGS]
        assert ones(table["specials"]) == sorted(SPECIALS.index(card) for card in view.specials)
        assert (table["dwellings"] * 4).tolist() == list(view.dwellings)
        assert len(view.dwellings) == len(DWELLINGS)
        assert table["decks"] * 28 == pytest.approx(view.decks)
        assert table["discards"] * 28 == pytest.approx(tuple(map(len, view.discards)))
        discarded = [card for pile in view.discards for card in pile]
        assert (table["discarded"] * 2).tolist() == [discarded.count(card) for card in BUILDINGS]


@pytest.mark.level(1)
@given(positions())
def test_each_city_is_in_the_observation_the_own_one_first(game: Game) -> None:
    view, cities = game.view(), game.cities
    for observer in range(view.config.players):
        parts = parts_of(game, observer)
        for whose in range(view.config.players):
            seat = (observer + whose) % view.config.players
            own = {name: plane for (name, each), plane in parts.items() if each == whose}
            city = view.cities[seat]
            assert own["coins"] * 20 == pytest.approx(view.coins[seat], abs=1e-4)
            assert own["income"] * 10 == pytest.approx(view.incomes[seat], abs=1e-4)
            assert (own["uses"] * 2).tolist() == [view.uses[seat]]
            assert [*own["inhabitants"] * 10, *own["hearts"] * 10] == pytest.approx(cities.symbols(seat))
            assert own["colours"] * 10 == pytest.approx([cities.count(seat, colour) for colour in Colour])
            assert own["size"] * 10 == pytest.approx(len(city))
            assert sorted(city, key=CARDS.index) == [CARDS[number] for number in ones(own["city"])]
            assert [round(float(own["positions"][CARDS.index(card)] * 10)) for card in city] == list(
                range(1, len(city) + 1)
            )


@pytest.mark.level(1)
@given(positions())
def test_observations_keep_to_their_bounds(game: Game) -> None:
    observations = Observations(game.config.players)
    low, high = observations.bounds()
    row = observations.of(game, game.seat)
    assert (low <= row).all()
    assert (row <= high).all()
