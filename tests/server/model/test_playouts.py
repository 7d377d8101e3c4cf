"""What the workers of the simulation service do, in this process."""

import asyncio
import pickle
import random
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.model.lines import estimates, item, line, rolled_out, started
from tests.waiting import LIMIT

from happycity import Game, Mode, Move
from happycity.match import seat_results
from happycity.model.v1beta1 import model_service_pb2 as pb
from happycity.v1 import game_pb2
from happycity.wire.match import result_message
from happycity.wire.messages import event_message, move_messages, view_message, view_of
from happycity_evaluation.policies import POLICIES, play_to_end
from happycity_server.model.playouts import LineError, apply_moves, legal_moves
from happycity_server.model.pool import Turns


def position(line: pb.Line) -> pb.Position:
    return pb.Position.FromString(apply_moves([item(line)])[0])


def position_message(game: Game, **fields: object) -> pb.Position:
    return pb.Position(view=view_message(game.view()), moves=move_messages(game), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", Mode)
def test_position_is_what_the_rules_make_of_it(mode: Mode) -> None:
    """A line's position has the view, the moves with their coins and all events of the moves made."""
    game = started(mode=mode, players=3, moves=9)
    world = Game.from_view(game.view(), random.Random("happycity world 5 0"))
    moves: list[str] = []
    events: list[game_pb2.Event] = []
    for _ in range(6):
        moves.append(str(world.legal_moves[-1]))
        world.apply(world.legal_moves[-1])
        events += map(event_message, world.events)
    assert position(line(game, moves, seed=5)) == position_message(world, events=events)


def test_position_without_moves_is_the_view_itself() -> None:
    """A bot may ask what is legal in its own view."""
    game = started(moves=2)
    assert position(line(game)) == position_message(game)


def test_end_of_a_game_has_its_result() -> None:
    """A line may go to the end, where nothing is legal any more."""
    game = started()
    while game.outcome is None:
        before, move = game.copy(), game.legal_moves[0]
        game.apply(move)
    reached = position(line(before, [str(move)]))
    events = map(event_message, game.events)
    assert reached == position_message(game, events=events, result=result_message(seat_results(game.outcome)))
    assert (reached.view.phase, len(reached.moves)) == (game_pb2.PHASE_OVER, 0)


def test_equal_seeds_give_equal_worlds_and_others_differ() -> None:
    """What is drawn depends on the seed, and is any of the hidden cards."""
    game = started()
    assert position(line(game, ["draw 1"], seed=3)) == position(line(game, ["draw 1"], seed=3))
    drawn = {tuple(position(line(game, ["draw 1"], seed=seed)).view.centre) for seed in range(60)}
    assert len(drawn) > 7


@pytest.mark.parametrize("mode", Mode)
def test_hidden_orders_make_no_difference(mode: Mode) -> None:
    """Games that look alike but have other decks get the same bytes: responses follow from the view alone."""
    games = [started(mode=mode, moves=3)]
    games.append(Game.from_view(games[0].view(), random.Random(99)))
    ends = [play_to_end(game.copy(), POLICIES["random"], random.Random(4)) for game in games]
    assert ends[0] != ends[1]  # their decks are in another order indeed
    items = [[item(line(game, seed=seed), worlds=5) for seed in range(5)] for game in games]
    assert apply_moves(items[0]) == apply_moves(items[1])
    one, other = (
        [estimates(stats) for options in rolled_out(*half, each_move=True) for stats in options]
        for half in items
    )
    assert one == other


def test_worlds_are_not_the_real_one() -> None:
    """The next card of the real deck is drawn in a few worlds by chance, not in all."""
    game = started()
    real = game.copy()
    real.apply(Move.parse("draw 1"))
    worlds = [view_of(position(line(game, ["draw 1"], seed=seed)).view).centre for seed in range(100)]
    assert 0 < sum(centre == real.view().centre for centre in worlds) < 30


def test_estimates_are_means_with_standard_errors() -> None:
    """They are those of the sample, by seat; a single game says nothing of its spread."""
    count, policy = 40, POLICIES["random"]
    view = started(players=3).view()
    outcomes = [
        play_to_end(
            Game.from_view(view, random.Random(f"happycity world 0 {world}")),
            policy,
            random.Random(f"happycity playout 0 {world}"),
        )
        for world in range(count)
    ]
    ((stats,),) = rolled_out(item(line(started(players=3)), worlds=count), policy="random")
    message = stats.message(7, None)
    assert (message.line, message.playouts) == (7, count)
    for seat, shown in enumerate(estimates(stats)):
        for sample, average, error in (
            ([outcome.points[seat] for outcome in outcomes], shown.points_mean, shown.points_error),
            ([outcome.ranks[seat] for outcome in outcomes], shown.place_mean, shown.place_error),
            ([int(outcome.ranks[seat] == 1) for outcome in outcomes], shown.firsts_share, shown.firsts_error),
        ):
            assert average == pytest.approx(mean(sample))
            assert error == pytest.approx(stdev(sample) / count**0.5)
    ((alone,),) = rolled_out(item(line(started())))
    errors = {(seat.points_error, seat.place_error, seat.firsts_error) for seat in estimates(alone)}
    assert errors == {(0, 0, 0)}


def test_playouts_may_be_cut_anywhere() -> None:
    """How playouts are spread over jobs makes no difference to their sums."""
    request = line(started(), seed=8)
    ((whole,),) = rolled_out(item(request, worlds=20))
    (first,), (second,) = rolled_out(item(request, worlds=7), item(request, first=7, worlds=13))
    second.merge(first)
    assert second.message(0, None) == whole.message(0, None)


def test_each_move_is_played_out_like_a_line_with_this_move() -> None:
    """With each_move there is an estimate for each legal move, equal to that of the line with this move."""
    game = started(moves=2)
    (options,) = rolled_out(item(line(game, seed=2), worlds=6), each_move=True)
    (moves,) = legal_moves([item(line(game))])
    assert list(map(game_pb2.Move.FromString, moves)) == move_messages(game)
    for move, stats in zip(game.legal_moves, options, strict=True):
        ((alone,),) = rolled_out(item(line(game, [str(move)], seed=2), worlds=6))
        assert estimates(stats) == estimates(alone)


def refusal(line: pb.Line) -> LineError:
    """Return why a line can't be played, as it comes back from another process."""
    with pytest.raises(LineError) as caught:
        apply_moves([item(line, number=4)])
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, LineError)
    assert str(error) == str(caught.value)
    return error


@st.composite
def spoilt_lines(draw: st.DrawFn) -> pb.Line:
    """Draw lines whose views were changed at random, or not at all."""
    game = started(
        draw(st.integers(0, 50)),
        players=draw(st.integers(2, 5)),
        mode=draw(st.sampled_from(Mode)),
        moves=draw(st.integers(0, 60)),
    )
    spoilt = line(game, seed=draw(st.integers(0, 9)))
    view = spoilt.view
    for _ in range(draw(st.integers(0, 2))):
        seat = draw(st.sampled_from(view.seats))
        cards = draw(st.sampled_from([view.centre, view.specials, *(seat.city for seat in view.seats)]))
        message, name = draw(
            st.sampled_from(
                [
                    (view, "round"),
                    (view, "seat"),
                    (view, "phase"),
                    (seat, "coins"),
                    (seat, "uses_left"),
                    *((deck, name) for deck in view.decks for name in ("left", "discarded")),
                    *((stack, name) for stack in view.dwellings for name in ("card", "left")),
                ]
            )
        )
        match draw(st.integers(0, 2)):
            case 0:
                setattr(message, name, draw(st.sampled_from([0, 1, 2, 3, 5, 7, 30, 31, 61, 2**31 - 1])))
            case 1 if cards:
                cards.pop()
            case _:
                cards.append(draw(st.integers(0, 98)))  # type: ignore[arg-type]  # perhaps not a card
    return spoilt


@pytest.mark.level(2)
@given(spoilt_lines())
def test_any_view_is_played_or_refused(spoilt: pb.Line) -> None:
    """Whatever a caller sends, it is either a line that can be played to its end, or a LineError."""
    try:
        apply_moves([item(spoilt)])
        rolled_out(item(spoilt), each_move=True)
    except LineError:
        pass


SERVER = """
import os, sys
from happycity_server.model.pool import _new_pool

if __name__ == "__main__":
    print(_new_pool(1).submit(os.getpid).result(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.level(2)
def test_worker_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    """Nothing stays behind of a server that had no time to end its workers."""
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        assert int(server.stdout.readline()) != server.pid
        server.kill()
        server.communicate()  # to the end of the output, which the worker holds open too


async def test_callers_take_turns() -> None:
    """However many calls one of them makes, the other's next one comes after one of those."""
    turns, order = Turns(1), list[str]()

    async def call(caller: str) -> None:
        await turns.take(caller)
        order.append(caller)
        await asyncio.sleep(0)
        turns.give()

    await asyncio.gather(*map(call, ["ann", *["ann"] * 4, "ben", "ben", "cem"]))
    assert order == ["ann", "ann", "ben", "cem", "ann", "ben", "ann", "ann"]


async def test_a_call_that_is_cancelled_keeps_no_place() -> None:
    """Neither one that waits, nor one to which a place was given in the same moment."""
    turns = Turns(1)
    await turns.take("ann")
    waiting, granted, last = (asyncio.create_task(turns.take(caller)) for caller in ("ben", "cem", "dan"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    turns.give()
    granted.cancel()
    await asyncio.wait_for(last, LIMIT)
