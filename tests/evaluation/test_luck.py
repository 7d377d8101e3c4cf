"""The luck of draws: its mean is 0 over everything that could have come, whatever the values of cards are."""

import random
from collections.abc import Iterator, Sequence
from itertools import count, islice, permutations, product

import numpy as np
import pytest
from tools.benchmarks.luck_checks import ClumsyBot, reliability, unbiased

from happycity import Card, Config, Game, Mode, Move, MoveKind
from happycity.records.random_games import random_move
from happycity.records.record import dumps, state_json
from happycity.rules.shuffling import reshuffle_rng, shuffled
from happycity.rules.views import EventKind
from happycity_bots import GreedyBot
from happycity_client import Bot
from happycity_evaluation.evaluator import Evaluator
from happycity_evaluation.luck import draws_of, total_luck
from happycity_evaluation.quick import quick_move

SIZES = (2, 3, 3)
"""Cards in the decks of a small position: 72 orders."""


def meaningless_values(game: Game, cards: Sequence[Card]) -> list[list[float]]:
    """Value cards without any sense, so that nothing but the mean can make their luck cancel."""
    where = dumps(state_json(game.view()))
    return [
        [random.Random(f"{where} {card.id} {seat}").random() for seat in range(game.config.players)]
        for card in cards
    ]


def public_move(game: Game) -> Move:
    """Choose at random, but always alike in what looks alike."""
    return random.Random(dumps(state_json(game.view()))).choice(game.legal_moves)


def late_game(config: Config, seed: int, sizes: Sequence[int]) -> Game:
    """Return a game near its end whose decks have these sizes; the other cards are discarded."""
    game, rng = Game.deal(config, seed=seed), random.Random(seed)
    waiting = [game.copy()]
    while game.outcome is None:
        if rng.random() < 0.9:
            game.apply(quick_move(game))
        else:
            game.apply(random_move(game, rng))
        waiting.append(game.copy())
    late = waiting[-8]
    # The cards come from the piles themselves, as the public set of each deck matters here.
    for pile, size in enumerate(sizes):
        hidden = late._decks[pile] + late._discards[pile]
        late._decks[pile], late._discards[pile] = hidden[:size], hidden[size:]
    late._box = late._box[:2]
    return late


def orders_of(game: Game) -> Iterator[Game]:
    """Yield the same position with each order of each deck, and of the box in the expert game."""
    boxes = list(permutations(game._box)) if game.config.mode is Mode.EXPERT else [game._box]
    for decks in product(*[list(permutations(deck)) for deck in game._decks]):
        for box in boxes:
            ordered = game.copy()
            ordered._decks, ordered._box = list(map(list, decks)), box
            yield ordered


def played(game: Game) -> list[Move]:
    """Return the moves to the end, or until a deck is empty, which everybody sees."""
    game, moves = game.copy(), []
    while game.outcome is None and all(game.deck_sizes):
        moves.append(public_move(game))
        game.apply(moves[-1])
    return moves


CASES = [(seed, mode, players) for mode in Mode for players in (2, 3, 4) for seed in range(2)]
BOX = (9, Mode.EXPERT, 2)
"""A game in which a special copies one of the box."""


@pytest.mark.parametrize(("seed", "mode", "players"), [*CASES, BOX])
def test_the_luck_of_all_orders_of_the_decks_cancels(seed: int, mode: Mode, players: int) -> None:
    """Each order is as likely; the moves follow from what is seen, as those of any bot do."""
    late = late_game(Config(players=players, mode=mode), seed, SIZES)
    totals = [0.0] * players
    for game in orders_of(late):
        luck = total_luck(draws_of(game, played(game), meaningless_values), players)
        totals = [total + own for total, own in zip(totals, luck, strict=True)]
    assert totals == pytest.approx([0.0] * players, abs=1e-9)


def test_the_luck_of_all_reshuffles_cancels() -> None:
    """Deck 1 is empty, and seeds are chosen that rebuild it in each of the orders of its three cards once."""
    late = next(
        game
        for seed in count()
        for game in [late_game(Config(players=2), seed, [0, 0, 0])]
        if game.legal_moves[0].kind is MoveKind.DRAW
    )
    for pile in range(3):
        del late._discards[pile][3 if pile == 0 else 0 :]
    late._rebuilt = [0, 0, 0]
    by_order = {tuple(shuffled(range(3), reshuffle_rng(seed, 1, 0))): seed for seed in range(200)}
    assert len(by_order) == 6
    totals, reshuffles = [0.0, 0.0], 0
    for seed in by_order.values():
        game = late.copy()
        game._seed = seed
        moves = played_without_discards(game)
        luck = total_luck(draws_of(game, moves, meaningless_values), 2)
        assert any(luck)
        totals = [total + own for total, own in zip(totals, luck, strict=True)]
        reshuffles += 1
    assert reshuffles == 6
    assert totals == pytest.approx([0.0, 0.0], abs=1e-9)


def played_without_discards(game: Game) -> list[Move]:
    """Return the moves of the rest of a game in which nothing is discarded or bought, so no pile grows."""
    game, moves = game.copy(), []
    while game.outcome is None:
        moves.append(game.neutral_move)
        game.apply(moves[-1])
    return moves


@pytest.mark.parametrize("mode", Mode)
def test_every_card_that_came_is_there_once(mode: Mode) -> None:
    game = Game.deal(Config(players=3, mode=mode), seed=8)
    moves, replayed = played(game), game.copy()
    came: list[tuple[int | None, Card | None]] = []
    for move in moves:
        replayed.apply(move)
        came += [(event.seat, event.card) for event in replayed.events if event.kind is EventKind.DRAW]
    draws = list(draws_of(game, moves, Evaluator().after_cards))
    assert [(draw.seat, draw.card) for draw in draws if draw.card.deck] == came
    assert all(sum(draw.luck) == pytest.approx(0) for draw in draws)  # places are won from each other


def test_the_values_do_not_depend_on_hidden_orders() -> None:
    """Games that look alike have the same values, with playouts too."""
    game = Game.deal(Config(players=2), seed=4)
    for move in islice(played(game), 30):
        game.apply(move)
    for evaluator in (Evaluator(), Evaluator(playouts=8)):
        other = game.opened().closed(random.Random(1))
        assert evaluator.moves(game) == evaluator.moves(other)
        assert evaluator.values(game) == evaluator.values(other)


SEED = 71 * 10**8


@pytest.mark.level(2)
@pytest.mark.parametrize("second", [GreedyBot, ClumsyBot])
def test_taking_luck_off_keeps_the_mean(second: type[Bot]) -> None:
    """The luck's mean is 0 within four errors, and scores without it vary less."""
    games = 24
    won, luck, _ = np.array(unbiased(second, Config(players=2), games=games, seed=SEED)).T
    assert abs(luck.mean()) < 4 * luck.std(ddof=1) / games**0.5
    assert (won - luck).std() < won.std()


@pytest.mark.level(2)
@pytest.mark.parametrize("games", [12, pytest.param(100, marks=pytest.mark.nightly)])
def test_predicted_places_are_those_that_follow(games: int) -> None:
    """Each tenth with some seats is within four errors and 10 points; all places together have one mean."""
    tenths = reliability(Mode.FAMILY, games=games, seed=SEED)
    assert all(abs(each.actual - each.predicted) < 4 * each.error + 0.1 for each in tenths)
    predicted = sum(each.seats * each.predicted for each in tenths)
    assert predicted == pytest.approx(sum(each.seats * each.actual for each in tenths))
