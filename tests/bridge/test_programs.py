"""Programs that play by the bridge, in this process: those that behave, and those that don't."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from happycity import Config, Game, Move
from happycity_bridge import AnswerError, BridgedBot, ProgramEndedError, ProgramError, Troupe, program
from happycity_client import Decision, GameOver, GameStart, VoidReason

PLAYER = Path(__file__).parent / "programs" / "player.py"
CONFIG = Config(players=2)
DEADLINE = 60.0

Open = Callable[..., Troupe]


@pytest.fixture
async def troupe() -> AsyncIterator[Open]:
    """Give a function that makes a troupe of a player with this argument; all are closed in the end."""
    opened: list[Troupe] = []

    def start(*arguments: str, shared: bool = False, command: tuple[str, ...] = ()) -> Troupe:
        command = command or (sys.executable, str(PLAYER), *arguments)
        opened.append(Troupe(command, name="me", shared=shared))
        return opened[-1]

    yield start
    for one in opened:
        await one.close()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs that are told to end do so by themselves, however busy this machine is."""
    monkeypatch.setattr(program, "CLOSE_SECONDS", DEADLINE)


def join(troupe: Troupe, game_id: int = 1) -> BridgedBot:
    start = GameStart(game_id=game_id, config=CONFIG, seat=0, bots=("me", "you"), seed=1)
    return BridgedBot(start, troupe)


def decision(game: Game, game_id: int = 1) -> Decision:
    view, events = game.view(), game.events
    return Decision(
        game_id=game_id, seat=game.seat, moves=game.legal_moves, view=lambda: view, events=lambda: events
    )


async def play(bot: BridgedBot) -> Game:
    """Play a game in which the bot has all seats."""
    game = Game.deal(CONFIG, seed=1)
    async with asyncio.timeout(DEADLINE):
        while game.outcome is None:
            game.apply(await bot.choose(decision(game, bot.start.game_id)))
    bot.game_over(GameOver(bot.start.game_id, game.outcome, game.outcome.ranks, ("finished", "finished")))
    return game


@pytest.mark.usefixtures("unhurried")
async def test_a_program_plays_a_game_and_is_told_of_all(troupe: Open, tmp_path: Path) -> None:
    """It reads the start, each decision and the end; then its standard input ends."""
    mine = troupe("diary", str(tmp_path / "diary"))
    await play(join(mine, 7))
    await mine.close()
    *told, end = (tmp_path / "diary").read_text().splitlines()
    types = [json.loads(line)["type"] for line in told]
    assert types == ["game_started", *["decision"] * (len(types) - 2), "game_over"]
    assert {json.loads(line)["game_id"] for line in told} == {"7"}
    assert [json.loads(line)["id"] for line in told[1:-1]] == [*range(1, len(types) - 1)]
    assert end == "the end"


@pytest.mark.usefixtures("unhurried")
async def test_a_voided_game_ends_its_program_too(troupe: Open, tmp_path: Path) -> None:
    """It reads a game_over without a result."""
    mine = troupe("diary", str(tmp_path / "diary"))
    join(mine).game_voided(1, VoidReason.STOPPED)
    await mine.close()
    *_, over, end = (tmp_path / "diary").read_text().splitlines()
    assert json.loads(over) == {"type": "game_over", "game_id": "1", "void_reason": "VOID_REASON_STOPPED"}
    assert end == "the end"


@pytest.mark.usefixtures("unhurried")
async def test_a_shared_program_plays_all_games(troupe: Open, tmp_path: Path) -> None:
    """One process reads the lines of many games at once."""
    mine = troupe("diary", str(tmp_path / "diary"), shared=True)
    await asyncio.gather(*(play(join(mine, game_id)) for game_id in (1, 2, 3)))
    await mine.close()
    *told, end = (tmp_path / "diary").read_text().splitlines()
    assert {json.loads(line)["game_id"] for line in told} == {"1", "2", "3"}
    assert end == "the end"  # only one process has written, and ended once


@pytest.mark.parametrize(
    ("mode", "kind", "told"),
    [
        ("crash", ProgramEndedError, "the program ended with status 3; it said last: out of ideas"),
        ("killed", ProgramEndedError, "the program ended with signal SIGKILL"),
        ("deaf", ProgramEndedError, "the program has closed its standard output"),
        ("endless", ProgramEndedError, "the program wrote more than 65,536 bytes without a new line"),
        ("garbage", AnswerError, """the program wrote '{"move":', which is not JSON"""),
        ("illegal", AnswerError, "the program wrote 'build castle', which is not a legal move; legal: "),
        ("talkative", AnswerError, "the program wrote 'let us begin', "),
    ],
)
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
async def test_a_program_that_fails_is_told_of_by_what_it_did(
    mode: str,
    kind: type[ProgramError],
    told: str,
    *,
    shared: bool,
    troupe: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The choice raises, by which the SDK resigns the game with this reason."""
    monkeypatch.setattr(program, "LAST_WORDS_SECONDS", 0.5 if mode == "deaf" else DEADLINE)
    with pytest.raises(kind) as caught:
        await play(join(troupe(mode, shared=shared)))
    assert str(caught.value).startswith(told)


async def test_a_line_that_nobody_asked_for_ends_the_program(troupe: Open) -> None:
    """It would be taken for the answer to the next decision."""
    script = """head -n 2 > /dev/null; echo '{"id": 99, "move": 0}'; cat"""
    with pytest.raises(AnswerError, match="but was not asked"):
        await play(join(troupe(command=("sh", "-c", script))))


async def test_a_program_that_does_not_read_is_given_up(
    troupe: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves unread doesn't grow without bounds."""
    monkeypatch.setattr(program, "STALLED_BYTES", 100_000)
    mine = troupe(command=("sh", "-c", "read line; read line; echo 0; sleep 1000"), shared=True)
    await join(mine, 1).choose(decision(Game.deal(CONFIG, seed=1)))  # it runs, and its pipes are connected
    with pytest.raises(ProgramEndedError, match="left 100,000 bytes unread"):
        await neglect(join(mine, 2))


async def neglect(bot: BridgedBot) -> None:
    """Ask for moves, each of which the clock settles at once."""
    for _ in range(1000):
        choice = asyncio.ensure_future(bot.choose(decision(Game.deal(CONFIG, seed=1))))
        await asyncio.sleep(0)  # it has asked
        choice.cancel()
        await asyncio.wait((choice,))
        if not choice.cancelled():
            choice.result()


@pytest.mark.usefixtures("unhurried")
async def test_a_program_hears_why_its_game_is_resigned(troupe: Open, tmp_path: Path) -> None:
    """An error line names the legal moves, before the standard input ends."""
    script = f"head -n 2 > /dev/null; echo build castle; cat > {tmp_path / 'heard'}"
    mine = troupe(command=("sh", "-c", script))
    with pytest.raises(AnswerError):
        await play(join(mine, 5))
    await mine.close()
    heard = json.loads((tmp_path / "heard").read_text())
    assert (heard["type"], heard["game_id"]) == ("error", "5")
    assert heard["legal"] == ["draw 1", "draw 2", "draw 3"]
    assert "'build castle', which is not a legal move" in heard["message"]


async def test_a_shared_program_loses_only_the_game_of_its_mistake(troupe: Open) -> None:
    """An illegal move in one game is no harm to the others."""
    mine = troupe("illegal_in_game_1", shared=True)
    failed, finished = await asyncio.gather(play(join(mine, 1)), play(join(mine, 2)), return_exceptions=True)
    assert isinstance(failed, AnswerError)
    assert isinstance(finished, Game)


async def test_a_shared_program_that_crashed_is_started_anew(troupe: Open) -> None:
    """Its games are lost, all of them; the next one finds a new process."""
    mine = troupe("crash", shared=True)
    first, second = join(mine, 1), join(mine, 2)
    results = await asyncio.gather(play(first), play(second), return_exceptions=True)
    assert [type(result) for result in results] == [ProgramEndedError] * 2
    game = Game.deal(CONFIG, seed=1)
    assert await join(mine, 3).choose(decision(game, 3)) is game.legal_moves[-1]


async def test_without_ids_the_oldest_decision_is_answered(troupe: Open) -> None:
    """Two lines of a shared program go to its decisions in the order in which they were asked."""
    mine = troupe("pairs", shared=True)
    game = Game.deal(CONFIG, seed=1)
    assert await both(join(mine, 1), join(mine, 2), game) == [game.legal_moves[0], game.legal_moves[1]]


async def test_with_ids_answers_come_in_any_order(troupe: Open) -> None:
    """A shared program that thinks about several games at once says which decision it means."""
    mine = troupe("backwards", shared=True)
    game = Game.deal(CONFIG, seed=1)
    assert await both(join(mine, 1), join(mine, 2), game) == [game.legal_moves[0], game.legal_moves[1]]


async def both(one: BridgedBot, other: BridgedBot, game: Game) -> list[Move]:
    async with asyncio.timeout(DEADLINE):
        return [*await asyncio.gather(one.choose(decision(game, 1)), other.choose(decision(game, 2)))]


async def test_a_late_answer_is_not_taken_for_the_next(troupe: Open) -> None:
    """What the clock has settled is forgotten; the program catches up with the decision after it."""
    bot = join(troupe("pairs"))
    game = Game.deal(CONFIG, seed=1)
    late = asyncio.ensure_future(bot.choose(decision(game)))
    await asyncio.sleep(0)  # it has asked
    late.cancel()
    async with asyncio.timeout(DEADLINE):
        assert await bot.choose(decision(game)) is game.legal_moves[1]


@pytest.mark.parametrize(("shared", "label"), [(False, "me: game 4"), (True, "me")], ids=["own", "shared"])
async def test_the_standard_error_is_shown(
    troupe: Open, caplog: pytest.LogCaptureFixture, *, shared: bool, label: str
) -> None:
    """Each line has the bot's name before it, and the game's if the program plays only that."""
    caplog.set_level(logging.INFO, logger="happycity_bridge")
    mine = troupe("loud", shared=shared)
    await play(join(mine, 4))
    await mine.close()
    assert f"{label}: heard decision" in caplog.messages


async def test_a_program_that_does_not_end_is_killed(
    troupe: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the end of its input nor SIGTERM end it; it goes with all that it has started."""
    monkeypatch.setattr(program, "CLOSE_SECONDS", 0.1)
    mine = troupe("stubborn", str(tmp_path / "pids"))
    await join(mine).choose(decision(Game.deal(CONFIG, seed=1)))
    ends = [os.pidfd_open(int(pid)) for pid in (tmp_path / "pids").read_text().split()]
    await mine.close()
    try:
        assert all(select.select([end], [], [], DEADLINE)[0] for end in ends)
    finally:
        for end in ends:
            os.close(end)


async def test_a_program_that_is_not_there_costs_the_game(troupe: Open) -> None:
    """It may have vanished since the bridge was started."""
    with pytest.raises(ProgramEndedError, match="'/no/such/program' can't be started: No such file"):
        join(troupe(command=("/no/such/program",)))


async def test_a_program_does_not_get_the_token(troupe: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """It speaks to the bridge alone."""
    monkeypatch.setenv("HAPPYCITY_TOKEN", "hc_secret")
    with pytest.raises(AnswerError, match="'there is none'"):
        await play(join(troupe("token")))
