"""The engine's objects on the wire: what is written is read back, and what is unknown is an error."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.game.wire.test_decisions import CONFIGS

from happycity import CARDS, Config, ConfigError, Event, EventKind, Game, Mode, Move, MoveKind
from happycity.rules.deals import EDITION
from happycity.rules.effects import effect_of
from happycity.rules.moves import COPY_BOX
from happycity.text.catalogue import catalogue_digest
from happycity.v1 import cards_pb2, game_pb2, play_service_pb2
from happycity.wire import messages


@pytest.mark.level(1)
@given(config=CONFIGS, seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_views_events_and_moves_are_read_back(config: Config, seed: int) -> None:
    rng = random.Random(seed)
    game = Game.deal(config, seed=seed)
    while game.legal_moves:
        assert messages.view_of(messages.view_message(game.view())) == game.view()
        assert tuple(messages.event_of(messages.event_message(event)) for event in game.events) == game.events
        decision = messages.decision_message(game, match_id=1, decision_id=1, events=game.events)
        assert tuple(map(messages.move_of, decision.moves)) == game.legal_moves
        assert messages.known_moves(decision) == game.legal_moves
        assert messages.known_events(decision) == game.events
        game.apply(rng.choice(game.legal_moves))


def test_the_fields_of_a_move() -> None:
    # All moves that the notation knows survive the wire, whatever they cost.
    for move in Move.all():
        assert messages.move_of(messages.move_message(move)) is move
        assert (
            messages.move_of(game_pb2.Move.FromString(messages.move_message(move, -4).SerializeToString()))
            is move
        )
    assert messages.move_message(Move.parse("build museum"), -4).coins == -4
    assert messages.move_message(Move.parse("coin"), 8).coins == 8

    expected = {
        MoveKind.DRAW: ["deck"],
        MoveKind.COPY: ["seat"],
        **{kind: ["card"] for kind in (MoveKind.DISCARD, MoveKind.BUILD, MoveKind.DWELL)},
        **{kind: ["card"] for kind in (MoveKind.TAKE, MoveKind.MARKET)},
    }
    for move in Move.all():
        fields = [field.name for field, _ in messages.move_message(move).ListFields()]
        assert fields == ["kind", *([] if move is COPY_BOX else expected.get(move.kind, []))], move
    assert not messages.move_message(COPY_BOX).HasField("seat")
    assert messages.move_message(Move.parse("copy 0")).HasField("seat")

    # The text of a move begins with its kind, so bots in any language can write it.
    assert {str(move).partition(" ")[0] for move in Move.all()} == {kind.name.lower() for kind in MoveKind}


def test_a_move_that_is_none_is_an_error() -> None:
    for message in [
        game_pb2.Move(),
        game_pb2.Move(card=cards_pb2.CARD_MUSEUM),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_BUILD),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_BUILD, card=cards_pb2.CARD_HOUSE),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_DWELL, card=cards_pb2.CARD_MUSEUM),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_TAKE, card=cards_pb2.CARD_MUSEUM),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_MARKET, card=cards_pb2.CARD_HAPPY_MARKET),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_DRAW),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_DRAW, deck=4),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_COPY, seat=5),
        game_pb2.Move(kind=game_pb2.MoveKind.ValueType(99)),
        game_pb2.Move(kind=game_pb2.MOVE_KIND_BUILD, card=cards_pb2.Card.ValueType(98)),
    ]:
        with pytest.raises(KeyError):
            messages.move_of(message)


def test_unknown_moves_and_events() -> None:
    # Its reader decides what to do about it; among those of a decision it is left out.
    for message in [
        game_pb2.Event(),
        game_pb2.Event(kind=game_pb2.EventKind.ValueType(16)),
        game_pb2.Event(kind=game_pb2.EVENT_KIND_DRAW, card=cards_pb2.Card.ValueType(98)),
        game_pb2.Event(kind=game_pb2.EVENT_KIND_DRAW, card=cards_pb2.Card.ValueType(-1)),
    ]:
        with pytest.raises(LookupError):
            messages.event_of(message)
        known = messages.event_message(Event(EventKind.KEEP, 1))
        assert messages.known_events(play_service_pb2.Decision(events=[message, known])) == (
            Event(EventKind.KEEP, 1),
        )

    # It keeps its position, as answers are positions.
    newer, draw = game_pb2.Move(kind=game_pb2.MoveKind.ValueType(99)), Move.parse("draw 2")
    assert messages.known_moves(play_service_pb2.Decision(moves=[newer, messages.move_message(draw)])) == (
        None,
        draw,
    )


def test_configs() -> None:
    # Nothing is assumed that was not said.
    for message in [
        game_pb2.GameConfig(),
        game_pb2.GameConfig(players=3, mode=cards_pb2.MODE_FAMILY),
        game_pb2.GameConfig(players=3, scoring=cards_pb2.SCORING_SUM),
        game_pb2.GameConfig(players=3, mode=cards_pb2.Mode.ValueType(9), scoring=cards_pb2.SCORING_SUM),
        game_pb2.GameConfig(players=7, mode=cards_pb2.MODE_FAMILY, scoring=cards_pb2.SCORING_SUM),
    ]:
        with pytest.raises(ConfigError):
            messages.config_of(message)

    # What is written names the edition that is played; what is read may leave it out.
    message = messages.config_message(Config(players=3))
    assert message.edition == EDITION == 1
    message.ClearField("edition")
    assert messages.config_of(message) == Config(players=3)

    # The error says which edition is played.
    for edition in [0, EDITION + 1, 2**32 - 1]:
        message = messages.config_message(Config(players=3))
        message.edition = edition
        with pytest.raises(ConfigError, match=rf"^edition: {edition} of the rules is not played here; 1 is$"):
            messages.config_of(message)


def test_a_view_with_unknown_parts_is_an_error() -> None:
    damages: list[Callable[[Any], object]] = [
        lambda view: view.ClearField("dwellings"),
        lambda view: view.dwellings.pop(),
        lambda view: view.dwellings.add(card=cards_pb2.CARD_HOUSE, left=1),
        lambda view: view.dwellings.reverse(),
        lambda view: setattr(view.dwellings[0], "card", cards_pb2.CARD_MUSEUM),
        lambda view: setattr(view, "phase", 99),
        lambda view: view.ClearField("phase"),
        lambda view: view.specials.append(98),
        lambda view: view.seats[0].city.append(0),
    ]
    for damage in damages:
        message = messages.view_message(Game.deal(Config(), seed=1).view())
        damage(message)
        with pytest.raises(LookupError):
            messages.view_of(message)


def test_the_catalogue_on_the_wire_is_that_of_the_tables() -> None:
    # Each card's message has its row, and what it does in words; what a card doesn't have is absent.
    for card in CARDS:
        message = messages.card_info_message(card)
        assert cards_pb2.Card.Name(message.card) == f"CARD_{card.id.upper()}"
        assert (message.id, message.name, message.copies) == (card.id, card.name, card.copies)
        values = (message.cost, message.income, message.inhabitants, message.hearts)
        assert values == (card.cost, card.income, card.inhabitants, card.hearts)
        assert {count.colour: count.count for count in message.condition} == {
            colour.value: count for colour, count in card.condition.items()
        }
        optional = {
            "deck": card.deck or None,
            "colour": card.colour.value if card.colour else None,
            "special_set": {Mode.FAMILY: 1, Mode.EXPERT: 2}[card.special_set] if card.special_set else None,
            "effect": card.effect_text or None,
            "uses": effect_of(card).uses or None,
        }
        sent = {field.name: value for field, value in message.ListFields()}
        assert {name: sent.get(name) for name in optional} == optional

    # In the order of the contract's enum.
    whole = messages.catalogue_message()
    assert [info.card for info in whole.cards] == cards_pb2.Card.values()[1:]
    assert list(whole.cards) == list(map(messages.card_info_message, CARDS))
    assert whole.digest == catalogue_digest()
