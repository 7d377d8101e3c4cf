"""What the workers of the simulation service do, in this process."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from happycity import Config, Event, Game, Mode, Move
from happycity.policies import POLICIES, play_out
from happycity.v1 import game_pb2
from happycity.v1 import simulation_service_pb2 as pb
from happycity.wire import move_message, outcome_of, view_message, view_of
from happycity_server.simulations import (
    LineError,
    PlayoutJob,
    Share,
    Tally,
    explore,
    legal_moves,
    roll_out,
)


def started(seed: int = 1, *, players: int = 2, mode: Mode = Mode.FAMILY, moves: int = 0) -> Game:
    """Return a game after some random moves."""
    game, rng = Game.deal(Config(players=players, mode=mode), seed=seed), random.Random(seed)
    for _ in range(moves):
        if game.outcome is None:
            game.apply(rng.choice(game.legal_moves))
    return game


def line(game: Game, moves: Iterable[str] = (), seed: int = 0) -> pb.Line:
    """Return a line from a game's view."""
    played = [move_message(Move.parse(move)) for move in moves]
    return pb.Line(view=view_message(game.view()), moves=played, seed=seed)


def share(told: pb.Line, first: int = 0, worlds: int = 1, number: int = 0) -> Share:
    """Return a share of a line."""
    return Share(number, told.SerializeToString(deterministic=True), first, worlds)


def position(told: pb.Line) -> pb.Position:
    """Return the position that a line comes to."""
    return pb.Position.FromString(explore([share(told)])[0])


def tallies(*shares: Share, policy: str = "quick", each_move: bool = False) -> list[list[Tally]]:
    """Return the tallies of some playouts."""
    return roll_out(PlayoutJob(policy, each_move, shares))


def told(tally: Tally) -> pb.RollOut:
    """Return a tally as a message."""
    return tally.message(0, None)


# Exploring -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_position_is_what_the_rules_make_of_it(mode: Mode) -> None:
    """A line's position has the view, the moves and the events of the same moves in a game."""
    game = started(mode=mode, players=3, moves=9)
    line_of_play = []
    world = Game.from_view(game.view(), random.Random("happycity world 5 0"))
    events: list[Event] = []
    for _ in range(6):
        line_of_play.append(str(world.legal_moves[-1]))
        world.apply(world.legal_moves[-1])
        events += world.events
    reached = position(line(game, line_of_play, seed=5))
    assert view_of(reached.view) == world.view()
    assert len(reached.moves) == len(world.legal_moves)
    assert len(reached.events) == len(events)
    assert not reached.HasField("outcome")


def test_position_without_moves_is_the_view_itself() -> None:
    """A bot may ask what is legal where it stands; the moves have their prices."""
    game = started(moves=2)
    reached = position(line(game))
    assert reached.view == view_message(game.view())
    assert len(reached.moves) == len(game.legal_moves)
    assert all(
        move.build.price or move.dwell.price or move.coin.amount or move.WhichOneof("kind") == "draw"
        for move in reached.moves
    )


def test_end_of_a_game_has_its_outcome() -> None:
    """A line may go to the end, where nothing is legal any more."""
    game = started()
    while game.outcome is None:
        before = game.copy()
        game.apply(game.legal_moves[0])
    reached = position(line(before, [str(before.legal_moves[0])]))
    assert not reached.moves
    assert outcome_of(reached.outcome).points == game.outcome.points
    assert view_of(reached.view).phase.name == "OVER"


def test_equal_seeds_give_equal_worlds_and_others_differ() -> None:
    """What is drawn depends on the seed, and is any of the hidden cards."""
    game = started()
    assert position(line(game, ["draw 1"], seed=3)) == position(line(game, ["draw 1"], seed=3))
    drawn = {tuple(position(line(game, ["draw 1"], seed=seed)).view.centre) for seed in range(60)}
    assert len(drawn) > 7


# Hidden orders -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_hidden_orders_make_no_difference(mode: Mode) -> None:
    """Games that look alike but have other decks get the same bytes: answers follow from the view alone."""
    one = started(mode=mode, moves=3)
    other = Game.from_view(one.view(), random.Random(99))
    assert other.view() == one.view()
    ahead = [one.copy(), other.copy()]
    rng = [random.Random(4), random.Random(4)]
    ends = [play_out(game, POLICIES["random"], chance) for game, chance in zip(ahead, rng, strict=True)]
    assert ends[0] != ends[1]  # their decks are in another order indeed
    shares = [[share(line(game, seed=seed), worlds=5) for seed in range(5)] for game in (one, other)]
    assert explore(shares[0]) == explore(shares[1])
    answers = [
        [
            told(tally).SerializeToString(deterministic=True)
            for options in tallies(*half, each_move=True)
            for tally in options
        ]
        for half in shares
    ]
    assert answers[0] == answers[1]


def test_worlds_are_not_the_real_one() -> None:
    """The next card of the real deck is drawn in a few worlds by chance, not in all."""
    game = started()
    real = game.copy()
    real.apply(Move.parse("draw 1"))
    worlds = [view_of(position(line(game, ["draw 1"], seed=seed)).view).centre for seed in range(100)]
    assert 0 < sum(centre == real.view().centre for centre in worlds) < 30


# Playouts ------------------------------------------------------------------------------------------------


def test_tally_tells_means_and_standard_errors() -> None:
    """They are those of the sample, by seat."""
    game = started(players=3)
    number = 40
    ((tally,),) = tallies(share(line(game), worlds=number), policy="random")
    points = []
    for world in range(number):
        start = Game.from_view(game.view(), random.Random(f"happycity world 0 {world}"))
        points.append(
            play_out(start, POLICIES["random"], random.Random(f"happycity playout 0 {world}")).points
        )
    answer = told(tally)
    assert answer.playouts == number
    for seat, sample in enumerate(zip(*points, strict=True)):
        assert answer.points_mean[seat] == pytest.approx(mean(sample))
        assert answer.points_error[seat] == pytest.approx(stdev(sample) / number**0.5)
    assert sum(answer.firsts_share) >= 1
    assert all(1 <= place <= 3 for place in answer.place_mean)
    share_of_first = answer.firsts_share[0]
    assert answer.firsts_error[0] == pytest.approx((share_of_first * (1 - share_of_first) / 39) ** 0.5)


def test_one_playout_has_no_error_to_tell() -> None:
    """A single game says nothing of its spread."""
    ((tally,),) = tallies(share(line(started())))
    assert list(told(tally).points_error) == [0, 0]


def test_playouts_may_be_cut_anywhere() -> None:
    """How playouts are spread over jobs makes no difference to their sums."""
    asked = line(started(), seed=8)
    ((whole,),) = tallies(share(asked, worlds=20))
    (first,), (second,) = tallies(share(asked, worlds=7), share(asked, first=7, worlds=13))
    second.merge(first)
    assert told(second) == told(whole)


def test_each_move_is_played_out_as_if_asked_for() -> None:
    """With each_move there is a tally for each legal move, equal to that of the line with this move."""
    game = started(moves=2)
    (options,) = tallies(share(line(game, seed=2), worlds=6), each_move=True)
    (moves,) = legal_moves([share(line(game))])
    assert [game_pb2.Move.FromString(move).WhichOneof("kind") for move in moves] == [
        move.kind.name.lower() for move in game.legal_moves
    ]
    for move, tally in zip(game.legal_moves, options, strict=True):
        ((alone,),) = tallies(share(line(game, [str(move)], seed=2), worlds=6))
        assert told(tally) == told(alone)


# What makes no sense -------------------------------------------------------------------------------------


def problem(told: pb.Line) -> LineError:
    """Return what is wrong with a line, as it comes back from another process."""
    with pytest.raises(LineError) as caught:
        explore([share(told, number=4)])
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, LineError)
    assert (error.field, str(error), error.line) == (caught.value.field, str(caught.value), 4)
    return error


def test_impossible_view_is_named() -> None:
    """A view that no game can look like is told with what is wrong in it."""
    wrong = line(started())
    wrong.view.decks[0] += 1
    error = problem(wrong)
    assert error.field == "lines[4].view"
    assert "deck 1" in str(error)


@pytest.mark.parametrize("spoil", ["view", "phase", "card", "mode", "specials"])
def test_view_that_makes_no_sense_is_named(spoil: str) -> None:
    """Absent parts and unknown numbers are refused too."""
    wrong = line(started())
    match spoil:
        case "view":
            wrong.ClearField("view")
        case "phase":
            wrong.view.phase = 99  # type: ignore[assignment]  # no such phase
        case "card":
            wrong.view.seats[0].city.append(200)  # type: ignore[arg-type]  # no such card
        case "mode":
            wrong.view.config.ClearField("mode")
        case _:
            del wrong.view.specials[:]
            wrong.view.specials.extend(range(43, 50))  # type: ignore[arg-type]  # cards
    assert problem(wrong).field == "lines[4].view"


def test_illegal_move_is_named() -> None:
    """A move that can't be played is told with those that can."""
    game = started()
    error = problem(line(game, [str(game.legal_moves[0]), "copy box"]))
    assert error.field == "lines[4].moves[1]"
    assert "illegal move: copy box (legal: " in str(error)


def test_move_that_is_none_is_named() -> None:
    """A move without a kind, or about a card of another kind, is refused."""
    wrong = line(started())
    wrong.moves.add()
    assert problem(wrong).field == "lines[4].moves[0]"
    wrong.moves[0].build.card = 40  # type: ignore[assignment]  # a Happy Market is never built
    assert problem(wrong).field == "lines[4].moves[0]"


NUMBERS = st.sampled_from([0, 1, 2, 3, 5, 10, 30, 40, 61, 97, 2**31])


@st.composite
def spoilt_lines(draw: st.DrawFn) -> pb.Line:
    """Draw lines whose views were changed at random."""
    game = started(
        draw(st.integers(0, 50)),
        players=draw(st.integers(2, 5)),
        mode=draw(st.sampled_from(Mode)),
        moves=draw(st.integers(0, 60)),
    )
    spoilt = line(game, seed=draw(st.integers(0, 9)))
    view = spoilt.view
    for _ in range(draw(st.integers(1, 3))):
        lists = [view.centre, view.specials, view.dwellings, view.decks, view.discards]
        numbers: list[int] = draw(st.sampled_from([*lists, *(seat.city for seat in view.seats)]))
        seat = view.seats[draw(st.integers(0, len(view.seats) - 1))]
        match draw(st.integers(0, 6)):
            case 0:
                view.round = draw(st.integers(0, 31))
            case 1:
                view.seat = draw(st.integers(0, 5))
            case 2:
                view.phase = draw(st.integers(1, 7))  # type: ignore[assignment]
            case 3:
                seat.coins = draw(NUMBERS)
            case 4:
                seat.uses_left = draw(st.integers(0, 9))
            case 5 if numbers:
                numbers.pop()
            case _:
                numbers.append(draw(st.integers(0, 97)))
    return spoilt


@effort(deadline=None, max_examples=300)
@given(spoilt_lines())
def test_any_view_is_played_or_refused(spoilt: pb.Line) -> None:
    """Whatever a caller sends, it is either a line that can be played to its end, or a LineError."""
    try:
        explore([share(spoilt)])
        tallies(share(spoilt), each_move=True)
    except LineError:
        pass
