"""The command `happycity`: what it prints, writes and exits with."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands.programs import Done, happycity
from tests.programs import run

from happycity import CARDS, CARDS_BY_ID

Json = dict[str, Any]

GAMES = 8


def assert_refused(done: Done, *, status: int, saying: str) -> None:
    """Assert that a command ended with one line on the standard error, and nothing else."""
    assert (done.status, done.output) == (status, "")
    assert done.errors.startswith("error: ")
    assert saying in done.errors
    assert len(done.errors.splitlines()) == 1


@pytest.fixture(scope="module")
def simulations(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Return a file of 20 traced games for each number of players, expert games among them."""
    folder = tmp_path_factory.mktemp("simulations")
    files = {players: folder / f"{players}.jsonl" for players in (2, 3, 4, 5)}
    for players, file in files.items():
        mode = "expert" if players > 3 else "family"
        arguments = ("--seats", players, "--games", GAMES, "--mode", mode, "--trace", "--out", file)
        result = happycity("simulate", *arguments)
        assert result.status == 0, result.errors
    return files


@pytest.fixture
def record(simulations: dict[int, Path]) -> Json:
    with simulations[2].open(encoding="utf-8") as file:
        return dict(json.loads(file.readline()))


def records_in(file: Path) -> Iterator[Json]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.mark.level(1)
def test_simulate_is_repeatable(simulations: dict[int, Path]) -> None:
    # The games of one run have deals of their own, counted up from the seed.
    records = list(records_in(simulations[2]))
    assert [record["deal"]["seed"] for record in records] == list(range(GAMES))
    assert len({str(record["deal"]["decks"]) for record in records}) == GAMES
    # The same command writes the same records.
    again = happycity("simulate", "--seats", "2", "--games", str(GAMES), "--trace")
    assert again.output == simulations[2].read_text(encoding="utf-8")


@pytest.mark.level(2)
def test_simulate_writes_records_to_the_standard_output() -> None:
    # Without a file the records are printed, and the summary goes to the standard error.
    result = run("simulate", "--seats", "3", "--games", "2", "--seed", "9", "--scoring", "sum")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["deal"]["seed"], second["deal"]["seed"]) == (9, 10)
    assert first["config"] == {"players": 3, "mode": "family", "scoring": "sum"}
    assert result.stderr.startswith("2 games, ")
    assert result.returncode == 0

    # Without records there is only the summary.
    played = happycity("simulate", "--games", "2", "--no-records")
    assert (played.status, played.output) == (0, "")
    assert played.errors.startswith("2 games, ")


@pytest.mark.level(2)
@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_simulate_ends_quietly_when_nobody_reads() -> None:
    """A reader that closes the pipe, as `head` does, ends the command without a word, with status 141."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = run("simulate", "--games", "20", stdout=writer, stderr=subprocess.PIPE, capture_output=False)
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (141, "")


@pytest.mark.level(2)
def test_replay_accepts_what_simulate_wrote(simulations: dict[int, Path]) -> None:
    result = happycity("simulate", *(text for path in simulations.values() for text in ("--check", path)))
    assert (result.status, result.errors) == (0, "")
    assert result.output == f"{4 * GAMES} records replayed, no difference\n"


@pytest.mark.level(2)
def test_replay_reads_the_standard_input(record: Json) -> None:
    result = run("simulate", "--check", "-", input=f"\n{json.dumps(record)}\n\n")
    assert (result.returncode, result.stdout) == (0, "1 record replayed, no difference\n")


def test_replay_rejects_a_tampered_record(record: Json, tmp_path: Path) -> None:
    """The first difference is named by file, line and move, and the exit status is 1."""
    file = tmp_path / "tampered.jsonl"
    honest = json.dumps(record)
    record["moves"][4]["state"]["coins"][0] += 1
    file.write_text(f"{honest}\n{json.dumps(record)}\n", encoding="utf-8")
    assert_refused(happycity("simulate", "--check", file), status=1, saying="tampered.jsonl:2: move 5: state")


def test_replay_refuses_a_malformed_file(tmp_path: Path, record: Json) -> None:
    # Whatever is wrong with a file, it is one line and status 2.
    for content, saying in [
        (b"", "no record"),
        (b"\n \n", "no record"),
        (b"nonsense\n", "not JSON"),
        (b"\xff\x00\n", "not UTF-8"),
        (b"SQLite format 3\x00\xff", "is a store; write its records to a file first: tournament export"),
        (b'{"format":"happycity-record/2"}\n', "happycity-record/2"),
        (b'{"format":"happycity-record/1"}\n', "deal"),
        (b'{"format":"happycity-record/1","deal":' + b"[" * 100_000, "broken.jsonl:1: malformed record"),
    ]:
        file = tmp_path / "broken.jsonl"
        file.write_bytes(content)
        assert_refused(happycity("simulate", "--check", file), status=2, saying=saying)

    # A move that isn't even text makes a malformed record, status 2, and no difference.
    file = tmp_path / "malformed.jsonl"
    record["moves"][0]["move"] = 1
    file.write_text(json.dumps(record), encoding="utf-8")
    assert_refused(
        happycity("simulate", "--check", file), status=2, saying="malformed.jsonl:1: malformed record: move 1"
    )


def test_catalogue_as_json_has_one_card_a_line() -> None:
    # Programs get every card in the order of its number, conditions and effects included.
    cards = [json.loads(line) for line in happycity("catalogue", "--json").output.splitlines()]
    assert [card["number"] for card in cards] == list(range(1, len(CARDS) + 1))
    castle = cards[CARDS_BY_ID["castle"].number - 1]
    assert castle["condition"] == {"green": 1, "purple": 1}
    assert castle["effect"].startswith("Gain 1 coin")
    assert all(card["effect"] for card in cards if card["special_set"] == "expert")
