"""`happycity show` in a pipe and as a page: which game it finds, and what it prints of it."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.commands.programs import happycity
from tests.game.records.test_playback import RECORD
from tests.terminal.conftest import BOTS
from tests.tournament.servers import Arena, arena

from happycity import Config, Move, TimeControl
from happycity.records.record import Json, dumps, loads
from happycity_bots import BOTS as REFERENCE_BOTS
from happycity_client import Bot, Decision
from happycity_runtime.transport import Access
from happycity_tournament.client.connection import connect
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.recorded_games import named_record
from happycity_tournament.storage.store import Store

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


def page_at(address: str) -> str:
    return Path(unquote(urlsplit(address.strip()).path)).read_text()


def moves_on_page(*arguments: object) -> list[str]:
    """Return what is played on the page of a game, which isn't a run's in a temporary file."""
    return re.findall(r'class="what">([^<]*)', page_at(shown(*arguments, "--browser")))


@pytest.mark.level(2)
def test_a_game_is_shown_from_wherever_it_is(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    store = run_folder / "games.sqlite"
    Path("game.jsonl").write_text(stored_record(store, 1) + "\n")
    text, moves = shown(1), moves_on_page(1)
    assert text.count("--- Game 1, decision ") == len(loads(stored_record(store, 1))["moves"])
    assert len(moves) > 50
    for arguments in ((run_folder, 1), (store, 1), (f"{store}#1", 1), ("game.jsonl",)):
        assert shown(*arguments) == text, arguments
        assert moves_on_page(*arguments) == moves, arguments
    with arena(run_folder, {}) as server:
        for address in (f"grpc://{server.address}", f"grpc://{server.address}#1"):
            assert shown(address, 1) == text, address
            assert moves_on_page(address, 1) == moves, address


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("1", "--bot", "gredy"), "--bot: no bot 'gredy' plays; did you mean greedy?"),
        (("1", "--bot", "7"), "--bot: no bot '7' plays; there are: "),
        (("1", "--from", "5000"), "--from: 5000: the game has "),
    ],
)
@pytest.mark.usefixtures("run_folder")
def test_what_cannot_be_shown_is_named_in_one_line(arguments: tuple[object, ...], problem: str) -> None:
    assert problem in happycity("show", *arguments).error


@pytest.mark.level(2)
def test_a_game_of_a_running_tournament_is_hidden(tmp_path: Path) -> None:
    """Its deal is still in play; the line says what can be done instead."""
    config = TournamentConfig(bots=BOTS, game=Config(players=2), format=RandomRounds(rounds=500), seed=3)
    with arena(tmp_path, {bot: bot for bot in BOTS}) as server:

        async def play_some() -> int:
            async with connect(server.address, Access()) as connection:
                created = await connection.create(config)
                async for snapshot in connection.watch(created.tournament_id):
                    if snapshot.games:
                        (newest,), _ = await connection.newest_games(created.tournament_id, count=1)
                        return newest.match_id
            raise AssertionError

        match_id = server.call(play_some())
        done = happycity("show", f"grpc://{server.address}", match_id)
    assert "not over, or may be resumed; look at a running game with: happycity show --follow" in done.error


def test_each_decision_is_printed_with_all_that_is_known(tmp_path: Path) -> None:
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


@pytest.mark.level(2)
def test_who_chose_is_said() -> None:
    """A move of the fallback isn't the bot's, and an incident of another seat changes nothing."""
    for kind, fault in [("timeout", "no"), ("forfeit", "no"), ("illegal_answer", "illegal")]:
        moves = RECORD["moves"]
        own = {"decision": 9, "seat": moves[8]["seat"], "kind": kind, "text": "it failed"}
        other = {**own, "seat": (moves[8]["seat"] + 1) % 3}
        ninth = [
            shown(record_file({**RECORD, "incidents": [incident]})).split("--- Game 1, ")[9]
            for incident in (own, other)
        ]
        assert f"{fault} answer from {THREE[own['seat']]}; played for it: " in ninth[0]
        assert f"{THREE[own['seat']]} chose: " in ninth[1]


def test_decisions_are_selected_by_number_and_seat(tmp_path: Path) -> None:
    name = record_file(RECORD)
    seats = [line["seat"] for line in RECORD["moves"]]
    assert shown(name, "--from", 41).count("--- Game 1, decision ") == len(seats) - 40
    for seat in ("bob", "2"):
        text = shown(name, "--bot", seat)
        assert text.count("--- Game 1, decision ") == seats.count(1)
        assert "--- Game 1, the end after" in text


def test_a_game_as_json(tmp_path: Path) -> None:
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


@pytest.mark.level(2)
def test_a_running_game_is_followed_to_its_end(tmp_path: Path) -> None:
    with arena(tmp_path, {}) as server:
        match_id = start_patient_game(server)
        command = [
            sys.executable,
            "-m",
            "happycity",
            "show",
            "--follow",
            f"grpc://{server.address}",
            "--json",
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


BROWSER = """\
import sys
from pathlib import Path

Path("opened").write_text(sys.argv[1])
"""


def start_of(page: str) -> tuple[str, str]:
    position, seat = re.search(r'id="board" data-ply="(\d+)"', page), re.search(r'data-look="(\d)"', page)
    assert position is not None
    assert seat is not None
    return position[1], seat[1]


def test_a_game_opens_in_the_browser(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("browser.py").write_text(BROWSER)
    monkeypatch.setenv("BROWSER", f"{sys.executable} browser.py %s")
    assert happycity("show", 1, "--browser").status == 0
    address = Path("opened").read_text()
    assert address == (run_folder.resolve() / "replays" / "game-0000001.html").as_uri()
    assert page_at(address).startswith("<!DOCTYPE html>")


@pytest.mark.usefixtures("run_folder")
def test_a_page_begins_where_it_is_asked_to() -> None:
    assert happycity("show", 1, "--out", "a.html").status == 0
    last, seat = start_of(Path("a.html").read_text())
    assert seat == "1"
    assert happycity("show", 1, "--from", 12, "--bot", 2, "--out", "b.html").status == 0
    assert start_of(Path("b.html").read_text()) == ("11", "2")
    assert happycity("show", 1, "--from", last, "--out", "c.html").status == 0
    assert start_of(Path("c.html").read_text()) == (str(int(last) - 1), "1")
