"""`happycity show` in a pipe: which game it finds, and what it prints of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands.programs import happycity
from tests.game.records.test_playback import RECORD
from tests.terminal.conftest import BOTS
from tests.tournament.servers import Arena, arena

from happycity import Config, Move, TimeControl
from happycity.records.record import Json, dumps, loads
from happycity.runtime.transport import Access
from happycity_bots import BOTS as REFERENCE_BOTS
from happycity_client import Bot, Decision
from happycity_tournament.client.connection import connect
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.recorded_games import named_record
from happycity_tournament.storage import Store

THREE = ("ann", "bob", "cem")


def stored_record(store: Path, match_id: int) -> str:
    with Store.existing(f"sqlite:///{store}") as opened:
        game = opened.game(match_id)
        assert game is not None
        return named_record(game.bots, opened.record(match_id) or "")


def shown(*arguments: object) -> str:
    done = happycity("show", *arguments)
    assert (done.status, done.errors) == (0, "")
    return done.output


def record_file(record: Json, name: str = "game.jsonl") -> str:
    Path(name).write_text(dumps({"format": record["format"], "bots": list(THREE), **record}) + "\n")
    return name


def test_a_game_is_shown_from_wherever_it_is(run_folder: Path) -> None:
    """A run, by default the latest one, a store, a server and a record file show the same game."""
    store = run_folder / "games.sqlite"
    Path("game.jsonl").write_text(stored_record(store, 1) + "\n")
    text = shown(1)
    assert text.count("--- Game 1, decision ") == len(loads(stored_record(store, 1))["moves"])
    for arguments in (
        (run_folder, 1),
        (store, 1),
        (f"{store}#1", 1),
        ("game.jsonl",),
    ):
        assert shown(*arguments) == text, arguments
    with arena(run_folder, {}) as server:
        for address in (f"grpc://{server.address}", f"grpc://{server.address}#1"):
            assert shown(address, 1) == text, address


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "it has several games; name one by its id, which this lists: tournament games"),
        (("99",), "it has no game 99; this lists its games: tournament games"),
        (("first",), "first: there is no such file or folder"),
        (
            ("runs/20261122-080000", "x"),
            "GAME: 'x' is not the id of a game; this lists games: tournament games",
        ),
        (("1", "--bot", "gredy"), "--bot: no bot 'gredy' plays; did you mean greedy?"),
        (("1", "--bot", "7"), "--bot: no bot '7' plays; there are: "),
        (("1", "--from", "5000"), "--from: 5000: the game has "),
        (("1", "--follow"), "runs/20261122-080000 is not being played now"),
        (("1", "--follow", "--browser"), "--follow, --json: they have no effect on a page"),
    ],
)
@pytest.mark.usefixtures("run_folder")
def test_what_cannot_be_shown_is_named_in_one_line(arguments: tuple[str, ...], problem: str) -> None:
    assert problem in happycity("show", *arguments).error


def test_a_game_of_a_running_tournament_is_hidden(tmp_path: Path) -> None:
    """Its deal is still in play; the line says what can be done instead."""
    config = TournamentConfig(bots=BOTS, game=Config(players=2), format=RandomRounds(rounds=500), seed=3)
    with arena(tmp_path, {bot: bot for bot in BOTS}) as server:

        async def play_some() -> int:
            async with connect(server.address, Access()) as connection:
                created = await connection.create(config)
                async for snapshot in connection.watch(created.tournament_id):
                    if snapshot.games:
                        (newest,) = await connection.newest_games(created.tournament_id, count=1)
                        return newest
            raise AssertionError

        match_id = server.call(play_some())
        done = happycity("show", f"grpc://{server.address}", match_id)
    assert "which is still running; look at a running game with: happycity show --follow" in done.error


def test_each_decision_is_printed_with_all_that_is_known(tmp_path: Path) -> None:
    """Incidents, think time and the bot's numbers stand at their decisions, the result at the end."""
    text = shown(record_file(RECORD))
    parts = text.split("--- Game 1, ")[1:]
    assert len(parts) == len(RECORD["moves"]) + 1
    first, fourth, end = parts[0], parts[3], parts[-1]
    assert "chose: " in first
    assert ", 0.005 ms, depth 3\n" in first
    assert "! bob: it never connected" in first
    late = THREE[RECORD["moves"][3]["seat"]]
    assert f"no answer from {late}; played for it: " in fourth
    assert f"! {late}: no answer in 10 s" in fourth
    assert "crashed: ValueError" in end
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii()  # the test reads it in no encoding at all


def test_who_chose_is_said() -> None:
    """A move of the fallback isn't the bot's, and an incident of another seat changes nothing."""
    for kind, said in [
        ("timeout", "no answer from {}; played for it: "),
        ("forfeit", "no answer from {}; played for it: "),
        ("illegal_answer", "illegal answer from {}; played for it: "),
    ]:
        moves = RECORD["moves"]
        own = {"decision": 9, "seat": moves[8]["seat"], "kind": kind, "text": "it failed"}
        other = {**own, "seat": (moves[8]["seat"] + 1) % 3}
        ninth = [
            shown(record_file({**RECORD, "incidents": [incident]})).split("--- Game 1, ")[9]
            for incident in (own, other)
        ]
        assert said.format(THREE[own["seat"]]) in ninth[0]
        assert f"{THREE[own['seat']]} chose: " in ninth[1]


def test_decisions_are_selected_by_number_and_seat(tmp_path: Path) -> None:
    """The end is always shown; seats have names, and numbers from 1."""
    name = record_file(RECORD)
    seats = [line["seat"] for line in RECORD["moves"]]
    assert shown(name, "--from", 41).count("--- Game 1, decision ") == len(seats) - 40
    for seat in ("bob", "2"):
        text = shown(name, "--bot", seat)
        assert text.count("--- Game 1, decision ") == seats.count(1)
        assert "--- Game 1, the end after" in text


def test_a_game_as_json(tmp_path: Path) -> None:
    """A line for each decision, and one for the end; seats count from 0."""
    *steps, last, end = map(json.loads, shown(record_file(RECORD), "--json").splitlines())
    assert [step["move"] for step in steps] == [line["move"] for line in RECORD["moves"]]
    assert [step["seat"] for step in steps] == [line["seat"] for line in RECORD["moves"]]
    assert steps[0]["metrics"] == {"depth": 3}
    assert steps[0]["incidents"][0]["text"] == "it never connected"
    assert steps[3]["think_us"] == 5
    assert (last["legal"], last["move"], last["state"]["phase"]) == ([], None, "over")
    assert [seat["ending"] for seat in end["results"]] == RECORD["endings"]
    assert end["bots"] == list(THREE)


def test_texts_of_strangers_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """Control characters in incidents, reasons and names of numbers are left out."""
    evil = "\x1b]0;gotcha\x07\x1b[2J"
    incident = {"decision": 1, "seat": 0, "kind": "timeout", "text": f"late{evil}"}
    metrics = [{"decision": 2, "values": {f"depth{evil}": 1}}]
    text = shown(
        record_file({**RECORD, "incidents": [incident], "metrics": metrics, "reasons": [evil, evil, evil]})
    )
    assert {character for character in text if not character.isprintable()} == {"\n"}


class Patient(Bot):
    """Plays the first move, from its third decision on only when it is let through."""

    gate: asyncio.Event
    decisions = 0

    async def choose(self, decision: Decision) -> Move:
        self.decisions += 1
        if self.decisions == 3:
            await self.gate.wait()
        return decision.moves[0]


def start_patient_game(server: Arena) -> int:
    async def begin() -> int:
        Patient.gate = asyncio.Event()
        async with connect(server.address, Access()) as connection:
            time = TimeControl(no_clock=True)
            return await connection.create_match(Config(players=2), ["patient", "greedy"], seed=5, time=time)

    server.connect("patient", Patient)
    server.connect("greedy", REFERENCE_BOTS["greedy"])
    return server.call(begin())


async def open_gate() -> None:
    Patient.gate.set()


def test_a_running_game_is_followed_to_its_end(tmp_path: Path) -> None:
    """What was played is printed at once, the rest as it happens; then it is the game of the record."""
    with arena(tmp_path, {}) as server:
        match_id = start_patient_game(server)
        command = [
            *(sys.executable, "-m", "happycity", "show", "--follow", f"grpc://{server.address}", "--json"),
        ]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert program.stdout is not None
        lines = [program.stdout.readline() for _ in range(2)]
        assert [json.loads(line)["decision"] for line in lines] == [1, 2]
        server.call(open_gate())
        lines += program.stdout.readlines()
        assert program.wait() == 0
        program.stdout.close()
        *_, end = map(json.loads, lines)
        assert (end["game"], end["bots"]) == (match_id, ["patient", "greedy"])
        assert happycity("show", f"grpc://{server.address}", match_id, "--json").output == "".join(lines)
        done = happycity("show", "--follow", f"grpc://{server.address}")
    assert "no game is being played on " in done.error
