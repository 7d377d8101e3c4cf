"""Measure engine, bots and wire in one run, so that their ratios hold on a noisy machine.

With `--compiled`, pure and compiled code by turns: the checkout must be pure, and `build/compiled` must have
the compiled code. Times of decisions are CPU microseconds, which a busy machine disturbs least.

With `--against CHECKOUT`, CPU time of whole tournaments against another checkout, pure and, where both have
`build/compiled`, compiled, in pairs by turns, with the 95% interval of the median ratio: the main job, which
is `make run`; light bots; planner and rollout by themselves; and what the server and the command take for a
decision that has a message of its own, start left out, as of remote bots with one game each.

With `--core GAMES`, CPU time of a decision without streams: lobby, matches and four light bots run in one
process, and messages pass between them as bytes. Few games at once fit into the processor's caches, many
don't: the difference is what waiting for memory costs. On a machine that is too busy to measure time,
Valgrind counts instructions: `valgrind --tool=callgrind .venv/bin/python -m tools speed --core 48`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import structlog

from happycity import Config, Deal, FailurePolicy, Game, Mode, TimeControl
from happycity.compiled import is_compiled
from happycity.records.random_games import play_random_game
from happycity.v1 import play_service_pb2 as pb
from happycity_bots import GreedyBot, PlannerBot, RandomBot, RolloutBot
from happycity_client import Bot, Decision, GameStarted
from happycity_client.player import Player, RequestOutbox
from happycity_server.play.clock import FairClock
from happycity_server.play.lobby import Lobby
from happycity_server.play.match import Match
from happycity_tournament.play.match_spec import MatchSpec
from tools import ROOT
from tools.benchmarks.echo import echo
from tools.benchmarks.harness import COMPILED, LIGHT_BOTS, additions, interval, parser, play_tournament

GAMES = 1000
BOT_GAMES = 12


def engine(config: Config) -> float:
    """Return microseconds of a decision of random play, dealing included."""
    rng, started = random.Random(1), time.process_time()
    decisions = sum(play_random_game(Game.deal(config, seed=seed), rng) for seed in range(GAMES))
    return (time.process_time() - started) / decisions * 1e6


def thinking(bot: type[Bot], mode: Mode) -> float:
    """Return microseconds that a bot in seat 0 needs for a decision, against greedy bots."""
    config, decisions, seconds = Config(mode=mode), 0, 0.0
    for seed in range(BOT_GAMES):
        game = Game.deal(config, seed=seed)
        bots = [
            kind(GameStarted(match_id=1, config=config, seat=seat, bots=("bot",) * 4, seed=seed))
            for seat, kind in enumerate((bot, GreedyBot, GreedyBot, GreedyBot))
        ]
        while game.outcome is None:
            decision, seat = Decision.of(game), game.seat
            started = time.process_time()
            move: Any = bots[seat].choose(decision)
            if seat == 0:
                seconds += time.process_time() - started
                decisions += 1
            game.apply(move)
    return seconds / decisions * 1e6


def tournament() -> float:
    """Return decisions a second of a whole tournament between light bots, as the command prints it."""
    return play_tournament("--bots", LIGHT_BOTS, "--rounds", 1000, path=os.environ.get("PYTHONPATH", "")).rate


def main_job(tree: Path, path: str, rounds: int) -> float:
    """Return the CPU seconds of `make run` in a checkout, with what it starts."""
    return play_tournament("--rounds", rounds, "--no-web", tree=tree, path=path).cpu


def light_bots(tree: Path, path: str, rounds: int) -> float:
    """Return the CPU seconds of the same between light bots."""
    return play_tournament("--rounds", rounds, "--no-web", "--bots", LIGHT_BOTS, tree=tree, path=path).cpu


def single_decisions(tree: Path, path: str, rounds: int) -> float:
    """Return the CPU microseconds of server and command for a decision that has a message of its own."""
    options = ("--no-web", "--bots", LIGHT_BOTS, "--concurrency", 1)
    short, whole = (
        play_tournament("--rounds", number, *options, tree=tree, path=path)
        for number in (1, 1 + rounds // 10)
    )
    seconds = whole.cpu - whole.bots_cpu - (short.cpu - short.bots_cpu)
    return seconds / (whole.decisions - short.decisions) * 1e6


def choices(bot: str, tree: Path, path: str, rounds: int) -> float:
    """Return the CPU microseconds of a bot's decision by itself, by the `thinking` of that checkout."""
    code = f"from tools.benchmarks.speed import *; print(thinking({bot}, Mode.FAMILY))"
    command = [str(tree / ".venv/bin/python"), "-c", code]
    environment = {**os.environ, "PYTHONPATH": path}
    return float(subprocess.check_output(command, cwd=tree, env=environment, text=True))


JOBS: dict[str, Callable[[Path, str, int], float]] = {
    "planner, family, CPU us a decision": partial(choices, "PlannerBot"),
    "rollout, family, CPU us a decision": partial(choices, "RolloutBot"),
    "main job, CPU s": main_job,
    "light bots, CPU s": light_bots,
    "server, a decision a message, CPU us": single_decisions,
}
"""What is compared with another checkout."""


def against(other: Path, *, pairs: int, rounds: int, only: str) -> None:
    """Measure this checkout and another one by turns, and print the medians and the ratios."""
    print(f"{'medians':54}{'here':>8}{'there':>8}  ratio, 95% interval")
    for code, folder in (("pure", ""), ("compiled", "build/compiled")):
        paths = {tree: str(tree / folder) if folder else "" for tree in (ROOT, other)}
        if folder and not all(Path(path).exists() for path in paths.values()):
            continue
        for job, measure in JOBS.items():
            name = f"{job}, {code}"
            if only not in name:
                continue
            found: dict[Path, list[float]] = {ROOT: [], other: []}
            for turn in range(pairs):
                for tree in (ROOT, other) if turn % 2 else (other, ROOT):
                    found[tree].append(measure(tree, paths[tree], rounds))
            ratios = [here / there for here, there in zip(found[ROOT], found[other], strict=True)]
            low, high = interval(ratios)
            columns = "".join(f"{median(found[tree]):8.2f}" for tree in (ROOT, other))
            print(f"{name:54}{columns}  {median(ratios):.2f} ({low:.2f} to {high:.2f})", flush=True)


FIGURES: dict[str, Callable[[], float]] = {
    "machine, plain Python loop, million additions/s": additions,
    **{
        f"engine, random play, {mode.value}, {players} players, us a decision": partial(
            engine, Config(players=players, mode=mode)
        )
        for mode in Mode
        for players in (2, 3, 4, 5)
    },
    **{
        f"{name}, {mode.value}, us a decision": partial(thinking, bot, mode)
        for name, bot in (("planner", PlannerBot), ("rollout", RolloutBot))
        for mode in Mode
    },
    "unary grpc.aio echo, 64 in flight, calls/s": lambda: echo().rate,
    "tournament, 4 light bots, 4 seats, decisions/s": tournament,
}


def measured(*, compiled: bool) -> dict[str, float]:
    """Measure all figures in a new process that runs pure or compiled code."""
    environment = {**os.environ, "PYTHONPATH": str(COMPILED) if compiled else ""}
    command = [sys.executable, "-m", "tools", "speed", "--once"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode:  # it has said why
        raise SystemExit(done.returncode)
    figures: dict[str, float] = json.loads(done.stdout)
    if figures.pop("compiled") != compiled:
        raise SystemExit(
            "error: this compares pure with compiled code: run `make pure`, then"
            " `python hatch_build.py compile --tree build/compiled`"
        )
    return figures


def once() -> dict[str, float]:
    """Measure all figures with the code that runs here."""
    figures = {name: run() for name, run in FIGURES.items()}
    wire, whole = list(figures.values())[-2:]
    return {**figures, "tournament / echo": whole / wire}


CORE_BOTS = {"random": RandomBot, "random2": RandomBot, "greedy": GreedyBot, "greedy2": GreedyBot}
FAR_FUTURE = 1e6
"""Seconds until the clock looks for delays; there are no sweeps here."""


class Core:
    """A lobby with four bots, and the CPU seconds of each step."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.decisions = 0
        self._clock = FairClock(time.monotonic, tick_seconds=FAR_FUTURE)
        self._lobby = Lobby(self._clock, time.time)
        self._bots = []
        for name, bot in CORE_BOTS.items():
            player = Player(bot, name)
            self._bots.append((*self._lobby.enter(pb.Hello(name=name)), player, player.outbox))

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.thread_time()
        yield
        self.seconds[step] += time.thread_time() - started

    async def play(self, games: int) -> None:
        """Play a number of games at once to their ends."""
        async with asyncio.TaskGroup() as tasks:
            with self._timed("server: matches set up"):
                for seed in range(games):
                    tasks.create_task(self._finish(self._lobby.create(_spec(seed))))
                await asyncio.sleep(0)  # they begin
            while self._lobby.matches:
                for session, connection, player, outbox in self._bots:
                    if not connection.waiting_bytes:
                        continue
                    batch = await connection.next_batch()
                    with self._timed("bots"):
                        answers = _answers(player, outbox, batch)
                    with self._timed("server: answers to decisions"):
                        request = pb.PlayRequest.FromString(answers)
                        session.receive(connection, request, self._clock())
                    self.decisions += len(request.answers)
                await asyncio.sleep(0)  # matches that are over go

    async def _finish(self, match: Match) -> None:
        async with self._lobby.played(match):
            with self._timed("server: records"):
                match.record()


def _spec(seed: int) -> MatchSpec:
    names = [*CORE_BOTS]
    return MatchSpec(
        deal=Deal.shuffle(Config(), seed=seed),
        bots=tuple(names[seed % 4 :] + names[: seed % 4]),
        bot_seeds=(1, 2, 3, 4),
        time=TimeControl(),
        policy=FailurePolicy(),
    )


def _answers(player: Player, outbox: RequestOutbox, batch: bytes) -> bytes:
    """Let a bot play a batch as the SDK does; return its answers as bytes."""
    response = pb.PlayResponse.FromString(batch)
    for started in response.games_started:
        player.start(started)
    for decision in response.decisions:
        player.decide(decision)
    for over in response.games_over:
        player.end(over)
    return outbox.take().SerializeToString()


async def core(games: int) -> None:
    """Play, and print the CPU microseconds of a decision."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    played = Core()
    gc.disable()
    await played.play(games)
    print(f"{games} games at once, {'compiled' if is_compiled() else 'pure'}, CPU us a decision:")
    for step, seconds in sorted(played.seconds.items()):
        print(f"  {step:32}{seconds / played.decisions * 1e6:7.2f}")


def main() -> None:
    """Measure by turns, and print the medians, and how many times as much they are in compiled code."""
    options = parser(__doc__)
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("--compiled", action="store_true", help="compare pure and compiled code")
    options.add_argument("--once", action="store_true", help="measure once and print JSON")
    options.add_argument(
        "--core", type=int, metavar="GAMES", help="no streams, with this number of games at once"
    )
    options.add_argument("--against", type=Path, help="another checkout with its .venv")
    options.add_argument("--pairs", type=int, default=9, help="how often each job is done by both")
    options.add_argument("--rounds", type=int, default=500, help="of each tournament")
    options.add_argument("--only", default="", help="part of the name of what is compared")
    given = options.parse_args()
    if given.against:
        against(given.against.resolve(), pairs=given.pairs, rounds=given.rounds, only=given.only)
    elif given.core:
        asyncio.run(core(given.core))
    elif given.once:
        print(json.dumps({"compiled": is_compiled(), **once()}))
    else:
        compare(given.turns, [False, True] if given.compiled else [is_compiled()])


def compare(count: int, kinds: list[bool]) -> None:
    """Measure pure or compiled code or both, by turns, and print the medians and the median ratio."""
    turns: dict[bool, list[dict[str, float]]] = {compiled: [] for compiled in kinds}
    for turn in range(count):
        print(f"turn {turn + 1} of {count} (Ctrl-C stops it)", file=sys.stderr)
        for compiled in kinds if turn % 2 == 0 else reversed(kinds):
            turns[compiled].append(measured(compiled=compiled) if len(kinds) > 1 else once())
    print(f"{'':58}" + "".join(f"{'compiled' if compiled else 'pure':>12}" for compiled in kinds))
    for name in turns[kinds[0]][0]:
        columns = [[figures[name] for figures in turns[compiled]] for compiled in kinds]
        ratios = [median(new / old for old, new in zip(columns[0], own, strict=True)) for own in columns[1:]]
        medians = "".join(f"{median(column):12,.2f}" for column in columns)
        print(f"{name:58}{medians}" + "".join(f"  x {ratio:.2f}" for ratio in ratios))
