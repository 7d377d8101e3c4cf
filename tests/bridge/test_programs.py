"""Programs that play by the bridge, in this process: those that behave, and those that don't."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.bridge.decisions import decision_in
from tests.waiting import LIMIT

from happycity import Config, Game, Move, VoidReason
from happycity.match import seat_results
from happycity_bridge import program
from happycity_bridge.bot import BridgedBot
from happycity_bridge.errors import AnswerError, ProgramEndedError, ProgramError
from happycity_bridge.pool import ProgramPool
from happycity_client import GameOver, GameStarted

PLAYER = Path(__file__).parent / "programs" / "player.py"
CONFIG = Config(players=2)

Open = Callable[..., ProgramPool]


@pytest.fixture
async def open_pool() -> AsyncIterator[Open]:
    """Give a function that makes a pool of players with these arguments; all are closed in the end."""
    opened: list[ProgramPool] = []

    def start(*arguments: str, shared: bool = False, command: tuple[str, ...] = ()) -> ProgramPool:
        command = command or (sys.executable, str(PLAYER), *arguments)
        opened.append(ProgramPool(command, name="me", share=shared))
        return opened[-1]

    yield start
    for pool in opened:
        await pool.close()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs end by themselves, however busy this machine is."""
    monkeypatch.setattr(program, "CLOSE_SECONDS", LIMIT)


def join(pool: ProgramPool, match_id: int = 1, *, seat: int = 0) -> BridgedBot:
    start = GameStarted(match_id=match_id, config=CONFIG, seat=seat, bots=("me", "you"), seed=1)
    return BridgedBot(start, pool)


async def play(bot: BridgedBot) -> Game:
    game = Game.deal(CONFIG, seed=1)
    async with asyncio.timeout(LIMIT):
        while game.outcome is None:
            game.apply(await bot.choose(decision_in(game, match_id=bot.start.match_id)))
    bot.game_over(GameOver(bot.start.match_id, seat_results(game.outcome)))
    return game


@pytest.mark.usefixtures("unhurried")
async def test_a_program_plays_a_game_and_reads_all_of_it(open_pool: Open, tmp_path: Path) -> None:
    """It reads the start, each decision and the end; then its standard input ends."""
    mine = open_pool("diary", str(tmp_path / "diary"))
    await play(join(mine, 7))
    await mine.close()
    *lines, end = (tmp_path / "diary").read_text().splitlines()
    types = [json.loads(line)["type"] for line in lines]
    assert types == ["game_started", *["decision"] * (len(types) - 2), "game_over"]
    assert {json.loads(line)["match_id"] for line in lines} == {"7"}
    assert [json.loads(line)["id"] for line in lines[1:-1]] == [*range(1, len(types) - 1)]
    assert end == "the end"


async def test_numbers_of_a_program_go_with_their_choice(open_pool: Open) -> None:
    """JSON may escape halves of characters, which no message can hold; `self` is a name like any other."""
    cases: dict[str, list[dict[str, float]]] = {
        "noting": [{"asked": 1.0, "value": -0.5}, {"asked": 2.0, "value": -0.5}],
        "odd": [{"self": 1.0, "": 2.0, "?": 3.0}],
        "quiet": [{}],
    }
    for mode, numbers in cases.items():
        bot = join(open_pool(mode))
        for expected in numbers:
            decision = decision_in(Game.deal(CONFIG, seed=1))
            await bot.choose(decision)
            assert decision.notes == expected


@pytest.mark.usefixtures("engine")
async def test_a_program_searches_while_a_decision_waits(open_pool: Open) -> None:
    """It gets what it asks for, also of a decision that the clock has settled meanwhile."""
    bot, game = join(open_pool("searching")), Game.deal(CONFIG, seed=1)
    late = asyncio.create_task(bot.choose(decision_in(game)))
    await asyncio.sleep(0)
    late.cancel()
    decision = decision_in(game)
    chosen = await bot.choose(decision)
    worlds = [decision.position(seed=2 + number) for number in range(5)]
    values = [sum(world.playout(move.index) for world in worlds) / 5 for move in decision.moves]
    assert decision.notes == {"round": 1.0, "value": max(values)}
    assert chosen is decision.moves[values.index(max(values))]


@pytest.mark.usefixtures("unhurried")
async def test_a_voided_game_ends_its_program_too(open_pool: Open, tmp_path: Path) -> None:
    mine = open_pool("diary", str(tmp_path / "diary"))
    join(mine).game_voided(1, VoidReason.STOPPED)
    await mine.close()
    *_, over, end = (tmp_path / "diary").read_text().splitlines()
    voided = {"void_reason": "VOID_REASON_STOPPED"}
    assert json.loads(over) == {"type": "game_over", "match_id": "1", "outcome": voided}
    assert end == "the end"


@pytest.mark.usefixtures("unhurried")
async def test_a_shared_program_plays_all_games(open_pool: Open, tmp_path: Path) -> None:
    mine = open_pool("diary", str(tmp_path / "diary"), shared=True)
    await asyncio.gather(*(play(join(mine, match_id)) for match_id in (1, 2, 3)))
    await mine.close()
    *lines, end = (tmp_path / "diary").read_text().splitlines()
    assert {json.loads(line)["match_id"] for line in lines} == {"1", "2", "3"}
    assert end == "the end"  # only one process has written, and ended once


@pytest.mark.parametrize(
    ("mode", "kind", "message"),
    [
        ("crash", ProgramEndedError, "the program ended with status 3; its last line: out of ideas"),
        ("killed", ProgramEndedError, "the program ended with signal SIGKILL"),
        ("deaf", ProgramEndedError, "the program has closed its standard output"),
        ("endless", ProgramEndedError, "the program wrote more than 65,536 bytes without a new line"),
        ("garbage", AnswerError, """the program wrote '{"move":', which is not JSON"""),
        ("illegal", AnswerError, "the program wrote 'build castle', which is not a legal move"),
        ("talkative", AnswerError, "the program wrote 'let us begin', "),
    ],
)
@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
async def test_a_program_that_fails_is_reported_by_what_it_did(
    mode: str,
    kind: type[ProgramError],
    message: str,
    *,
    shared: bool,
    open_pool: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The choice raises, by which the SDK gives the game up with this reason."""
    monkeypatch.setattr(program, "DRAIN_SECONDS", 0.5 if mode == "deaf" else LIMIT)
    with pytest.raises(kind) as caught:
        await play(join(open_pool(mode, shared=shared)))
    assert str(caught.value).startswith(message)


async def test_a_line_that_nobody_asked_for_ends_the_program(open_pool: Open) -> None:
    """It would be taken for the answer to the next decision."""
    script = """head -n 2 > /dev/null; echo '{"id": 99, "move": 0}'; cat"""
    with pytest.raises(AnswerError, match="but no such decision is open"):
        await play(join(open_pool(command=("sh", "-c", script))))


async def test_a_program_that_does_not_read_is_given_up(
    open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves unread doesn't grow without bounds."""
    monkeypatch.setattr(program, "STALLED_BYTES", 100_000)
    mine = open_pool(command=("sh", "-c", "read line; read line; echo 0; tail -f /dev/null"), shared=True)
    await join(mine, 1).choose(decision_in(Game.deal(CONFIG, seed=1)))  # it runs, and its pipes are connected
    with pytest.raises(ProgramEndedError, match="left 100,000 bytes unread"):
        await neglect(join(mine, 2))


async def neglect(bot: BridgedBot) -> None:
    """Ask for moves, each of which the clock settles at once."""
    for _ in range(1000):
        choice = asyncio.ensure_future(bot.choose(decision_in(Game.deal(CONFIG, seed=1))))
        await asyncio.sleep(0)  # it has sent the line
        choice.cancel()
        await asyncio.wait((choice,))
        if not choice.cancelled():
            choice.result()


@pytest.mark.usefixtures("unhurried")
async def test_a_program_reads_why_its_game_is_given_up(open_pool: Open, tmp_path: Path) -> None:
    """An error line names the legal moves, before the standard input ends."""
    script = f"head -n 2 > /dev/null; echo build castle; cat > {tmp_path / 'read'}"
    mine = open_pool(command=("sh", "-c", script))
    with pytest.raises(AnswerError):
        await play(join(mine, 5))
    await mine.close()
    read = json.loads((tmp_path / "read").read_text())
    assert (read["type"], read["match_id"], read["seat"]) == ("error", "5", 0)
    assert read["legal"] == ["draw 1", "draw 2", "draw 3"]
    assert "'build castle', which is not a legal move" in read["message"]


async def test_a_shared_program_loses_only_the_game_of_its_mistake(open_pool: Open) -> None:
    """An illegal move in one game is no harm to the others."""
    mine = open_pool("illegal_in_game_1", shared=True)
    failed, finished = await asyncio.gather(play(join(mine, 1)), play(join(mine, 2)), return_exceptions=True)
    assert isinstance(failed, AnswerError)
    assert isinstance(finished, Game)


async def test_a_shared_program_that_crashed_is_started_anew(open_pool: Open) -> None:
    """Its games are lost, all of them; the next one finds a new process."""
    mine = open_pool("crash", shared=True)
    first, second = join(mine, 1), join(mine, 2)
    results = await asyncio.gather(play(first), play(second), return_exceptions=True)
    assert [type(result) for result in results] == [ProgramEndedError] * 2
    game = Game.deal(CONFIG, seed=1)
    assert await join(mine, 3).choose(decision_in(game, match_id=3)) is game.legal_moves[-1]


async def test_which_decision_is_answered(open_pool: Open) -> None:
    # Two lines of a shared program go to its decisions in their order.
    mine = open_pool("pairs", shared=True)
    game = Game.deal(CONFIG, seed=1)
    assert await both(join(mine, 1), join(mine, 2), game) == [game.legal_moves[0], game.legal_moves[1]]
    # A shared program that thinks about several games at once says which decision it means.
    mine = open_pool("backwards", shared=True)
    game = Game.deal(CONFIG, seed=1)
    assert await both(join(mine, 1), join(mine, 2), game) == [game.legal_moves[0], game.legal_moves[1]]

    # What the clock has settled is forgotten; the program catches up with the decision after it.
    bot = join(open_pool("pairs"))
    game = Game.deal(CONFIG, seed=1)
    late = asyncio.ensure_future(bot.choose(decision_in(game)))
    await asyncio.sleep(0)  # it has sent the line
    late.cancel()
    assert await bot.choose(decision_in(game)) is game.legal_moves[1]


async def both(one: BridgedBot, other: BridgedBot, game: Game) -> list[Move]:
    first, second = (decision_in(game, match_id=match_id) for match_id in (1, 2))
    return [*await asyncio.gather(one.choose(first), other.choose(second))]


@pytest.mark.parametrize(
    ("shared", "label"), [(False, "me: match 4, seat 0"), (True, "me")], ids=["own", "shared"]
)
async def test_the_standard_error_is_shown(
    open_pool: Open, caplog: pytest.LogCaptureFixture, *, shared: bool, label: str
) -> None:
    """Each line has the bot's name before it, and the game's if the program plays only that."""
    caplog.set_level(logging.INFO, logger="happycity_bridge")
    mine = open_pool("loud", shared=shared)
    await play(join(mine, 4))
    await mine.close()
    assert f"{label}: read a decision" in caplog.messages


async def test_a_program_that_is_not_there_costs_the_game(open_pool: Open) -> None:
    """It may have vanished since the bridge was started."""
    with pytest.raises(ProgramEndedError, match="'/no/such/program' can't be started: No such file"):
        join(open_pool(command=("/no/such/program",)))


@pytest.mark.parametrize("variable", ["HAPPYCITY_TOKEN", "HAPPYCITY_KEY", "PGPASSWORD"])
async def test_a_program_gets_no_secret(
    variable: str, open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "hc_secret")
    with pytest.raises(AnswerError, match="'there is none'"):
        await play(join(open_pool("variable", variable)))


async def test_a_program_plays_two_seats_of_one_match(open_pool: Open, tmp_path: Path) -> None:
    mine = open_pool("diary", str(tmp_path / "diary"), shared=True)
    bots = [join(mine, 5, seat=seat) for seat in (0, 1)]
    game = Game.deal(CONFIG, seed=1)
    while game.outcome is None:
        game.apply(await bots[game.seat].choose(decision_in(game, match_id=5)))
    for bot in bots:
        bot.game_over(GameOver(5, seat_results(game.outcome)))
    await mine.close()
    lines = [json.loads(line) for line in (tmp_path / "diary").read_text().splitlines()[:-1]]
    assert [line["seat"] for line in lines if line["type"] == "game_started"] == [0, 1]
    assert {line["view"]["seat"] for line in lines if line["type"] == "decision"} == {0, 1}
