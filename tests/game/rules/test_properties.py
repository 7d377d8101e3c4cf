import random
from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few_examples
from tests.game.rules.ledger import Ledger

from happycity import CardKind, Config, Deal, Game, Mode, Move, Phase, Scoring
from happycity.records.random_games import movers_rng, play_random_game, record_random_game
from happycity.records.record import Json, dumps, loads, trace
from happycity.records.replay import replay
from happycity.rules.cards import BUILDINGS
from happycity.rules.deals import MAX_SEED
from happycity.rules.shuffling import shuffled

seeds = st.integers(0, MAX_SEED)
configs = st.builds(
    Config, players=st.integers(2, 5), mode=st.sampled_from(Mode), scoring=st.sampled_from(Scoring)
)
deals = st.builds(lambda config, seed: Deal.shuffle(config, seed=seed), configs, seeds)
family_deals = deals.filter(lambda deal: deal.config.mode is Mode.FAMILY)


@st.composite
def positions(draw: st.DrawFn) -> Game:
    """Draw a game somewhere between its first and its last decision."""
    game = Game(draw(deals))
    chance = movers_rng(draw(seeds))
    for _ in range(draw(st.integers(0, 120))):
        before = game.copy()
        game.apply(chance.choice(game.legal_moves))
        if game.outcome is not None:
            return before
    return game


def random_play(game: Game, *, seed: int) -> Iterator[tuple[Game, Move]]:
    chance = movers_rng(seed)
    while game.legal_moves:
        move = chance.choice(game.legal_moves)
        yield game, move
        game.apply(move)


def moves_to_the_end(game: Game, *, seed: int) -> list[Move]:
    return [move for _, move in random_play(game, seed=seed)]


def history(game: Game, moves: list[Move]) -> list[object]:
    """Play `moves` and return everything that can be seen on the way."""
    seen: list[object] = [game.view()]
    for move in moves:
        game.apply(move)
        seen += [game.view(), game.events, game.legal_moves, game.outcome, tuple(game.reshuffles)]
    return seen


@pytest.mark.level(1)
@given(deals, seeds)
def test_the_events_account_for_the_game(deal: Deal, seed: int) -> None:
    """The public state follows from the events; no building is ever lost or made.

    Coins change by what events report and by nothing else, decks are drawn in the deal's order, and
    reshuffles follow from the seed.
    """
    game, ledger = Game(deal), Ledger(deal)
    for position, _ in random_play(game, seed=seed):
        ledger.enter(position.events)
        ledger.check(position.view())
        assert ledger.buildings() == dict.fromkeys(BUILDINGS, 2)
    ledger.enter(game.events)
    ledger.check(game.view())


@given(deals, seeds)
def test_cities_keep_the_rules(deal: Deal, seed: int) -> None:
    """No coin is owed, and no city has a name twice, an eleventh card or a second special."""
    game = Game(deal)
    for position, move in random_play(game, seed=seed):
        view = position.view()
        assert min(view.coins) >= 0
        for city in view.cities:
            assert len(set(city)) == len(city) <= 10
            assert sum(card.kind is CardKind.SPECIAL for card in city) <= 1
            assert sum(card.kind is CardKind.MARKET for card in city) == (1 if city else 0)
        assert len(view.centre) <= 3
        assert move in position.legal_moves
    assert min(game.view().coins) >= 0
    assert max(map(len, game.view().cities)) == 10 or game.round == 30


@given(deals, seeds)
def test_a_decision_has_two_moves_or_more(deal: Deal, seed: int) -> None:
    """Legal moves are never a single one, never repeated, and all gone exactly when the game is over."""
    game = Game(deal)
    for position, _ in random_play(game, seed=seed):
        assert len(position.legal_moves) == len(set(position.legal_moves)) >= 2
        assert position.outcome is None
        assert position.neutral_move is position.legal_moves[0]
    assert game.legal_moves == ()
    assert game.outcome is not None


@pytest.mark.level(1)
@given(positions())
def test_every_legal_move_can_be_played(game: Game) -> None:
    for move in game.legal_moves:
        twin = game.copy()
        twin.apply(move)
        assert twin.view() != game.view()


@given(deals, seeds)
def test_turns_are_equal(deal: Deal, seed: int) -> None:
    """Every seat is asked to keep or discard in every round, and the game ends with a round."""
    game = Game(deal)
    turns = {
        (position.round, position.seat)
        for position, _ in random_play(game, seed=seed)
        if position.phase in {Phase.DISCARD, Phase.DRAW}
    }
    seats = range(deal.config.players)
    assert turns == {(round, seat) for round in range(1, game.round + 1) for seat in seats}


@pytest.mark.level(1)
@given(family_deals, seeds)
def test_outcomes_follow_from_the_cities(deal: Deal, seed: int) -> None:
    """In a family game, points, coins and ranks are those of the last view, by chapter 4."""
    game = Game(deal)
    play_random_game(game, movers_rng(seed))
    view, outcome = game.view(), game.outcome
    assert outcome is not None
    for seat, city in enumerate(view.cities):
        inhabitants = max(0, sum(card.inhabitants for card in city))
        hearts = max(0, sum(card.hearts for card in city))
        product = deal.config.scoring is Scoring.PRODUCT
        assert (outcome.inhabitants[seat], outcome.hearts[seat]) == (inhabitants, hearts)
        assert outcome.points[seat] == (inhabitants * hearts if product else inhabitants + hearts)
    assert outcome.coins == view.coins
    results = list(zip(outcome.points, outcome.coins, strict=True))
    best_first = sorted(results, reverse=True)
    assert outcome.ranks == tuple(best_first.index(result) + 1 for result in results)


@given(deals, seeds)
def test_hidden_orders_do_not_show(deal: Deal, seed: int) -> None:
    """Deals that differ only in cards that are never turned over, and in the box, give the same game.

    The first card of the box is left where it is, as a Sphinx may copy it.
    """
    game = Game(deal)
    moves = moves_to_the_end(game, seed=seed)
    left = game.view().decks
    decks = []
    for deck, pile in enumerate(deal.decks):
        drawn = (
            len(pile)
            if any(rebuilt == deck + 1 for rebuilt, _ in game.reshuffles)
            else len(pile) - left[deck]
        )
        decks.append((*pile[:drawn], *shuffled(pile[drawn:], random.Random(seed))))
    other = Deal(
        config=deal.config,
        seed=deal.seed,
        decks=(decks[0], decks[1], decks[2]),
        specials=deal.specials,
        box=(deal.box[0], *deal.box[:0:-1]),
    )
    assert history(Game(other), moves) == history(Game(deal), moves)


@pytest.mark.level(1)
@given(positions(), seeds)
def test_a_view_makes_a_game_that_looks_alike(game: Game, seed: int) -> None:
    """The sampled game shows the same view, and its decks have the same cards in an order of their own."""
    sampled = Game.from_view(game.view(), random.Random(seed))
    assert sampled.view() == game.view()
    for drawn, deck in zip(sampled._decks, game._decks, strict=True):
        assert sorted(drawn) == sorted(deck)
    assert sampled.legal_moves == game.legal_moves
    assert (sampled.round, sampled.seat, sampled.phase) == (game.round, game.seat, game.phase)
    play_random_game(sampled, movers_rng(seed))
    assert sampled.outcome is not None


@pytest.mark.level(1)
@given(positions(), seeds)
def test_worlds_are_drawn_one_after_another(game: Game, seed: int) -> None:
    """The worlds of a view are those that single draws from the same randomness give, and are independent."""
    view, single = game.view(), random.Random(seed)
    for world in islice(Game.worlds(view, random.Random(seed)), 3):
        twin = Game.from_view(view, single)
        moves = moves_to_the_end(twin.copy(), seed=seed)
        assert history(world, moves) == history(twin, moves)


@pytest.mark.level(1)
@given(positions(), seeds, seeds)
def test_imagined_games_differ_in_what_is_hidden_only(game: Game, one: int, other: int) -> None:
    twins = [Game.from_view(game.view(), random.Random(seed)) for seed in (one, other)]
    for move in moves_to_the_end(twins[0].copy(), seed=one):
        if move not in twins[1].legal_moves or twins[1].phase is Phase.DRAW:
            break
        for twin in twins:
            twin.apply(move)
        assert twins[0].view() == twins[1].view()


@pytest.mark.level(1)
@given(positions(), seeds)
def test_a_copy_is_independent(game: Game, seed: int) -> None:
    twin = game.copy()
    before = game.view(), game.events, game.legal_moves, tuple(game.reshuffles)
    moves = moves_to_the_end(twin, seed=seed)
    assert (game.view(), game.events, game.legal_moves, tuple(game.reshuffles)) == before
    ended = twin.view(), twin.outcome, tuple(twin.reshuffles)
    other = game.copy()
    assert history(game, moves)
    assert (game.view(), game.outcome, tuple(game.reshuffles)) == ended
    assert (other.view(), other.events, other.legal_moves, tuple(other.reshuffles)) == before


@pytest.mark.level(1)
@few_examples
@given(deals, seeds, st.sampled_from([None, trace]))
def test_records_replay(deal: Deal, seed: int, tracer: Callable[[Game], Json] | None) -> None:
    record = record_random_game(deal, movers_rng(seed), trace=tracer)
    game = replay(loads(dumps(record)))
    assert game.outcome is not None
    assert record["outcome"]["points"] == list(game.outcome.points)
    assert dumps(loads(dumps(record))) == dumps(record)
