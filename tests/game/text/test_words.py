"""Moves, events and counts in words, and the digest of the catalogue."""

import hashlib
import json

import pytest
from tests.game.rules.positions import card

from happycity import Event, EventKind, Move
from happycity.text import catalogue
from happycity.text.catalogue import catalogue_digest, entries
from happycity.text.words import event_in_words, events_in_words, move_in_words, plural

BOTS = ("ann", "bob")


def test_every_move_has_words() -> None:
    """A move says what it does and what it costs; seats are people's numbers."""
    for move, coins, words in [
        ("keep", 0, "keep the centre"),
        ("discard grocery", 0, "discard Grocery"),
        ("draw 2", 0, "draw from deck 2"),
        ("build museum", -4, "build Museum for 4 coins"),
        ("build museum", 0, "build Museum for 0 coins"),
        ("dwell house", -1, "buy House for 1 coin"),
        ("coin", 1, "take 1 coin"),
        ("coin", 8, "take 8 coins"),
        ("take cat_cafe", 0, "take Cat Café"),
        ("decline", 0, "take no special"),
        ("market blue", 0, "choose blue Happy Market"),
        ("copy 1", 0, "copy the special of bob"),
        ("copy 3", 0, "copy the special of seat 4"),
        ("copy box", 0, "copy a special of the box"),
    ]:
        assert move_in_words(Move.parse(move), coins, BOTS) == words


def test_every_event_has_words() -> None:
    """The golden boards have those of most; these are of kinds and losses that they lack."""
    for event, words in [
        (Event(EventKind.EFFECT_PAID, 0, card("castle"), coins=1), "ann gained 1 coin by Castle"),
        (Event(EventKind.EFFECT_PAID, 0, card("palace"), coins=-2), "ann lost 2 coins by Palace"),
        (Event(EventKind.CARD_LOST, 0, card("house")), "ann lost House"),
        (Event(EventKind.INCOME_PAID, 2, coins=3), "seat 3 got 3 coins of income"),
        (Event(EventKind.DECK_REBUILT, 0, deck=2), "ann had deck 2 rebuilt from its discards"),
        (Event(EventKind.MARKET, 0, card("happy_market_blue")), "ann chose the blue Happy Market"),
        (Event(EventKind.COPY, 0, card("pyramid")), "ann copies Pyramid"),
    ]:
        assert event_in_words(event, BOTS) == words
    assert all(event_in_words(Event(kind, 0, card("zoo"), 1, 1, 1), BOTS) for kind in EventKind)


def test_events_of_a_seat_in_a_row_are_one_sentence() -> None:
    """A turn reads as a turn, and the incomes of a round are one list."""
    events = [
        Event(EventKind.KEEP, 0),
        Event(EventKind.COIN, 0, coins=1),
        Event(EventKind.KEEP, 1),
        Event(EventKind.ROUND_STARTED, round=2),
        Event(EventKind.INCOME_PAID, 0, coins=3),
        Event(EventKind.INCOME_PAID, 1, coins=-1),
        Event(EventKind.KEEP, 0),
    ]
    assert events_in_words(events, BOTS) == [
        "ann kept the centre, took 1 coin",
        "bob kept the centre",
        "round 2 began",
        "incomes: ann +3, bob -1",
        "ann kept the centre",
    ]


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 games"), (1, "1 game"), (-1, "-1 game"), (2, "2 games"), (2000, "2,000 games")]
)
def test_noun_agrees_with_its_count(count: int, text: str) -> None:
    assert plural(count, "game") == text


def test_the_digest_is_that_of_all_cards_as_json() -> None:
    text = json.dumps(entries(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert catalogue_digest() == hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert catalogue_digest() == catalogue_digest()


def test_any_change_of_a_card_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    # A value of the last card is enough, whichever it is.
    for name in list(entries()[0]):
        before, changed = catalogue_digest(), entries()
        changed[-1][name] = "changed"
        monkeypatch.setattr(catalogue, "entries", lambda changed=changed: changed)
        assert catalogue_digest.__wrapped__() != before

    # So does the order of the cards.
    digests = {catalogue_digest()}
    for changed in (entries()[:-1], [*entries(), entries()[0]], entries()[::-1]):
        monkeypatch.setattr(catalogue, "entries", lambda changed=changed: changed)
        digests.add(catalogue_digest.__wrapped__())
    assert len(digests) == 4
