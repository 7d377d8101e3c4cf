"""The documentation is true: its examples run, its links resolve, and nothing public is missing."""

import asyncio
import importlib
import inspect
import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from tests.commands.programs import tournament
from tests.waiting import LIMIT, PATIENT
from tools.__main__ import programs
from tools.docs.commands import all_commands, commands_page, options

import happycity_client
from happycity import Config, Deal, Event, Game
from happycity.access.v1beta1 import errors_pb2 as access_errors
from happycity.ladder.v1beta1 import errors_pb2 as ladder_errors
from happycity.match import seat_results
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import Json, loads, trace
from happycity.records.replay import replay
from happycity.tournament.v1beta1 import errors_pb2 as tournament_errors
from happycity.v1 import errors_pb2
from happycity_client import Bot, Decision, GameOver, GameStarted
from happycity_new_bot.languages import LANGUAGES
from happycity_server.config import ServerSettings
from happycity_server.errors import ApiError, Reason
from happycity_tournament.storage.store import Store

ROOT = Path(__file__).parents[2]
DOCS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("clients/*/README.md")),
)
PROGRAMS = ("happycity", "tournament")
ERRORS = [module.DESCRIPTOR for module in (errors_pb2, tournament_errors, ladder_errors, access_errors)]
"""The files of the contract that have the reasons of refusals."""


FOLDERS = "proto|game|evaluation|server|tournament|ladder|viewer|web|clients|tests|tools|deploy|docs"


def found(pattern: str, *, text_of_document: Callable[[str], str] = str) -> list[tuple[str, Any]]:
    """Return what a regular expression finds in all documents, each with the name of its document."""
    return [
        (str(path.relative_to(ROOT)), match)
        for path in DOCS
        for match in re.findall(pattern, text_of_document(path.read_text("utf-8")), re.DOTALL | re.MULTILINE)
    ]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """Return the text under each heading of the second level, by heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play a tournament with the README's bot, as a process like anybody's; return its folder."""
    folder = tmp_path_factory.mktemp("played")
    (example,) = re.findall(r"<!-- example bot -->\n```python\n(.*?)^```$", text_of("README.md"), re.S | re.M)
    (folder / "mybot.py").write_text(example, encoding="utf-8")
    (line,) = re.findall(r"^tournament (run .*mybot.py.*)$", text_of("README.md"), re.M)
    arguments = [word.replace("=python ", f"={sys.executable} ") for word in shlex.split(line)]
    done = subprocess.run(
        [sys.executable, "-m", "happycity_tournament", *arguments, "--json"],
        cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder / "result.json").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.mark.level(2)
def test_the_readme_bot_plays(played: Path) -> None:
    """In fifteen lines; it finishes every game of a tournament in which it is a process of its own."""
    (example,) = blocks(text_of("README.md"), "python")
    assert len(example.splitlines()) <= 15
    standings = json.loads((played / "result.json").read_text(encoding="utf-8"))["standings"]
    bots = ("greedy", "mine", "random")
    assert [(line["bot"], line["games"], line["forfeits"]) for line in standings] == [
        (bot, 60, 0) for bot in bots
    ]


@pytest.mark.level(2)
def test_the_readme_shows_one_of_the_worst_games(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands follow from each other: the seed makes the same games, also on the reader's machine."""
    monkeypatch.chdir(played)
    ((worst, shown),) = re.findall(
        r"^tournament (games .*)\nhappycity show (\d+)$", text_of("README.md"), re.MULTILINE
    )
    listed = json.loads(tournament(*worst.split(), "--json").output)
    assert shown in [str(game["game"]) for game in listed][:1]


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    return {
        name: {flag for one in options(command).values() for flag in (*one.opts, *one.secondary_opts)}
        for name, command in all_commands()
    }


@pytest.mark.level(1)
def test_the_page_of_commands_has_every_command(commands: dict[str, set[str]]) -> None:
    parts = re.split(r"^##+ `(.+)`$", commands_page(), flags=re.MULTILINE)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    rows = {name: re.findall(r"^\| (`--\w.*?) \|", text, re.M) for name, text in shown.items()}
    assert {name: {*re.findall("(?<=`)-[^`]+", " ".join(found))} for name, found in rows.items()} == commands
    assert {"happycity simulate", "happycity serve", "tournament run"} <= set(commands)


def test_commands_that_are_shown_exist(commands: dict[str, set[str]]) -> None:
    shown = 0
    for place, block in found(r"^```sh\n(.*?)^```$"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if not words or words[0] not in PROGRAMS:
                continue
            command = next((name for n in (3, 2) if (name := " ".join(words[:n])) in commands), None)
            assert command is not None, f"{place}: {line}"
            assert {word for word in words if word.startswith("--")} <= commands[command], f"{place}: {line}"
            shown += 1
    assert shown >= 30


def test_first_pages_say_where_their_commands_run() -> None:
    """Each reader of the README begins with a page that says it, as it may be the first that one opens."""
    table = sections(text_of("README.md"))["Where to read on"]
    first = re.findall(r"^\| an? [^|]+ \| \[[^]]+\]\((docs/[\w/-]+\.md)", table, re.MULTILINE)
    assert len(first) >= 5
    assert [page for page in first if "nside the environment" not in " ".join(text_of(page).split())] == []


def test_every_setting_of_a_server_is_documented(commands: dict[str, set[str]]) -> None:
    """Each key is a flag, which the page of commands explains."""
    flags = {f"--{key.replace('_', '-')}" for key in ServerSettings.model_fields}
    assert len(flags) >= 30
    assert flags <= commands["happycity serve"]


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def resolves(document: str, link: str) -> bool:
    """Return whether a link to a file finds it, and a link to a heading finds that."""
    name, _, fragment = link.partition("#")
    target = (ROOT / document).parent / name if name else ROOT / document
    if not fragment or not target.exists():
        return target.exists()
    headings = re.findall(r"^#+ (.+)$", prose(target.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return fragment in map(anchor, headings)


def is_value(_: str, constant: tuple[str, str, str]) -> bool:
    module, name, value = constant
    return str(getattr(importlib.import_module(module), name)) == value


@pytest.mark.level(2)  # constants' modules are imported
@pytest.mark.parametrize(
    ("pattern", "least", "holds"),
    [
        (r"\]\((?!\w+://)([^)\s]+)\)", 100, resolves),
        (r"`(happycity[\w.]*)\.([A-Z_]+) = ([^`]+)`", 10, is_value),
        (rf"`((?:{FOLDERS})/[\w./-]*)`", 20, lambda _, name: (ROOT / name).exists()),
    ],
    ids=["links", "constants", "files"],
)
def test_what_documents_name_is_there(pattern: str, least: int, holds: Callable[[str, Any], bool]) -> None:
    """Links lead somewhere, constants `module.NAME = value` have the value, files in code type exist."""
    named = found(pattern, text_of_document=prose)
    assert len(named) >= least
    assert [(document, what) for document, what in named if not holds(document, what)] == []


def test_commands_of_the_checkout_exist() -> None:
    """`make NAME` is a target of the Makefile; `python -m tools NAME` is a program."""
    made = [each for each in found(r"\bmake ([a-z][a-z-]*)`") if not each[0].startswith("clients/")]
    targets = re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE)
    assert len(made) >= 15
    assert [each for each in made if each[1] not in targets] == []
    run = found(r"python -m tools (?:--compiled )?([a-z][a-z-]*)")
    assert len(run) >= 15
    assert [each for each in run if each[1] not in programs()] == []


def test_the_environment_of_a_bot_is_complete() -> None:
    section = sections(text_of("docs/protocol.md"))["From any language"]
    rows = [line for line in section.splitlines() if line.startswith("| `HAPPYCITY_")]
    documented = {name for row in rows for name in re.findall(r"HAPPYCITY_[A-Z]+", row.partition(" | ")[0])}
    assert documented == set(re.findall(r"HAPPYCITY_[A-Z]+", inspect.getsource(happycity_client.Settings)))


def test_every_reason_is_explained_with_its_status() -> None:
    """The contract says with which status each reason comes, and whether it has a RetryInfo.

    A name stands in the enum of one package only, and the numbers of each have no gaps.
    """
    explained, listed = [], []
    for errors in ERRORS:
        lines = text_of(f"proto/{errors.name}").split("enum ErrorReason {")[1].replace("\n  //", "")
        explained += re.findall(r"Status: ([A-Z_]+)(, with a RetryInfo)?\.\s+ERROR_REASON_(\w+) =", lines)
        values = errors.enum_types_by_name["ErrorReason"].values
        assert [value.number for value in values] == list(range(len(values)))
        listed += [value.name.removeprefix("ERROR_REASON_") for value in values[1:]]
    retried = {True: "", False: ", with a RetryInfo"}
    assert explained == [
        (reason.status.name, retried[ApiError(reason, "").details.retry_seconds is None], reason.name)
        for reason in Reason
    ]
    assert listed == [reason.text for reason in Reason]
    assert len(set(listed)) == len(listed)


def test_every_package_of_the_contract_has_a_promise() -> None:
    """The protocol says what may change of it, and the contract with which later ones are compared has it."""
    files = (ROOT / "proto").rglob("*.proto")
    packages = {re.findall(r"^package (.+);$", path.read_text(), re.MULTILINE)[0] for path in files}
    promises = sections(text_of("docs/protocol.md"))["Compatibility"]
    rows = [line.split("|")[1] for line in promises.splitlines() if line.startswith("| `happycity.")]
    assert sorted(name for row in rows for name in re.findall(r"`(.+?)`", row)) == sorted(packages)
    baseline = FileDescriptorSet.FromString((ROOT / "proto/baseline.binpb").read_bytes())
    assert {file.package for file in baseline.file} >= packages


def test_every_file_of_reasons_is_known() -> None:
    files = (ROOT / "proto").rglob("errors.proto")
    assert {errors.name for errors in ERRORS} == {str(path.relative_to(ROOT / "proto")) for path in files}


ELLIPSIS = "..."


def agrees(shown: object, real: object) -> bool:
    """Return whether a shortened value is the real one; "..." stands for any number of left-out elements."""
    if isinstance(shown, dict) and isinstance(real, dict):
        return list(shown) == list(real) and all(agrees(shown[key], real[key]) for key in shown)
    if isinstance(shown, list) and isinstance(real, list):
        if ELLIPSIS not in shown:
            return len(shown) == len(real) and all(map(agrees, shown, real))
        gap = shown.index(ELLIPSIS)
        tail = len(shown) - gap - 1
        return (
            len(real) > len(shown) - 1
            and all(map(agrees, shown[:gap], real[:gap]))
            and all(map(agrees, shown[gap + 1 :], real[len(real) - tail :]))
        )
    return shown == real


def simulated(*, players: int, seed: int, traced: bool) -> Json:
    deal = Deal.shuffle(Config(players=players), seed=seed)
    return record_random_game(deal, movers_rng(seed), trace=trace if traced else None)


def test_the_record_shown_is_real() -> None:
    """The shortened record is what its command writes, and that replays."""
    text = sections(text_of("docs/protocol.md"))["Records"]
    assert "happycity simulate --seats 2 --seed 9\n" in text
    shown, shown_move = (json.loads(block) for block in blocks(text, "json"))
    record = simulated(players=2, seed=9, traced=False)
    replay(record)
    assert agrees(shown, record)
    traced = simulated(players=2, seed=9, traced=True)
    replay(traced)
    assert agrees(shown_move, traced["moves"][0])


def test_every_article_that_the_code_cites_is_in_the_rules() -> None:
    articles = set(re.findall(r"^- \*\*(\d\.\d+)\*\*", text_of("docs/rules.md"), flags=re.MULTILINE))
    for path in (ROOT / "game" / "happycity").rglob("*.py"):
        for cited in re.findall(r"articles? (\d\.\d+)(?:(?:, | and |-)(\d\.\d+))*", path.read_text("utf-8")):
            assert {article for article in cited if article} <= articles, path.name


NO_PROGRAMS = {"", "sh", "text", "json", "toml", "cmake", "xml", "diff"}
"""Fences of what is shown but isn't a bot's program."""

FIRST_BOTS = (
    "clients/*/examples/first.*",
    "clients/go/examples/first/main.go",
    "clients/java/examples/src/main/java/First.java",
    "clients/examples/*/first.sh",
    "clients/examples/c/bot.c",
)
"""The sources of the first bot in all languages."""


def without_saved(text: str) -> str:
    """Return a document without the programs that a transcript saves and runs."""
    return re.sub(r"^<!-- save \S+ -->\n```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_programs_are_those_of_the_examples() -> None:
    """A program in another language than Python is a piece of the example that is named before it."""
    blocks_ = found(r"^(?:<!-- (\S+) -->\n)?```(\w*)\n(.*?)^```$", text_of_document=without_saved)
    assert len(blocks_) >= 60
    for place, (name, language, program) in blocks_:
        if name:
            indents = (textwrap.indent(program, indent) for indent in ("", "\t", "  ", "    "))
            assert any(piece in text_of(name) for piece in indents), f"{place}: not in {name}:\n{program}"
        else:
            assert language in {*NO_PROGRAMS, "python"}, f"{place}: this is no example:\n{program}"


def test_the_first_bot_is_shown_in_every_language() -> None:
    """A page includes the program of each first bot, with the commands that make its project and play."""
    shown, projects = [], []
    for path in (ROOT / "docs" / "first-bot").glob("*.md"):
        text = path.read_text("utf-8")
        commands = "".join(blocks(text, "sh"))
        for name in re.findall(r"^<!-- include (\S+) -->$", text, flags=re.MULTILINE):
            assert f"](../../{name})" in text
            shown.append(name)
        made = r"^happycity new-bot first --language (\w+)\ncd first\nmake play$"
        projects += re.findall(made, commands, re.MULTILINE)
        (language,) = projects[-1:]
        assert f"<!-- include clients/{LANGUAGES[language].example} -->" in text
    first = [path for pattern in FIRST_BOTS for path in ROOT.glob(pattern)]
    assert sorted(shown) == sorted(str(path.relative_to(ROOT)) for path in first)
    assert sorted(projects) == sorted(LANGUAGES)


def play_locally(bot: type[Bot], **_: object) -> None:
    """Play one game between copies of a bot: what `run` is replaced by here."""
    config = Config(players=2)
    game = Game.deal(config, seed=1)
    bots = [
        bot(GameStarted(match_id=1, config=config, seat=seat, bots=("one", "two"), seed=seat))
        for seat in (0, 1)
    ]
    pending: list[list[Event]] = [[], []]
    with asyncio.Runner() as runner:
        while game.outcome is None:
            for events in pending:
                events.extend(game.events)
            events, pending[game.seat] = pending[game.seat], []
            decision = Decision.of(game, events)
            choice = bots[game.seat].choose(decision)
            chosen = runner.run(awaited(choice)) if inspect.isawaitable(choice) else choice
            game.apply(game.legal_moves[decision.position_of(chosen)])
    for one in bots:
        one.game_over(GameOver(1, seat_results(game.outcome)))


async def awaited(choice: Any) -> Any:
    return await choice


@pytest.mark.level(2)
def test_a_bot_with_a_pool_of_processes_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its processes are spawned, so they import the program: behind the guard they don't connect."""
    monkeypatch.chdir(tmp_path)
    (pooled,) = (text for text in blocks(text_of("docs/writing-a-bot.md"), "python") if "spawn" in text)
    loading = 'print("loaded")'  # as a model may be, before it connects
    guard = 'if __name__ == "__main__":\n'
    Path("pooled.py").write_text(pooled.replace(guard, f"{guard}    {loading}\n"), encoding="utf-8")
    bot = f"pooled={sys.executable} pooled.py"
    how = ("--rounds", "1", "--seats", "2", "--bots", "random", "--bot", bot, *PATIENT, "--json")
    result = json.loads(tournament("run", *how).output)
    assert [line["forfeits"] for line in result["standings"]] == [0, 0]
    (log,) = Path("runs").glob("*/bot-pooled.log")
    text = log.read_text(encoding="utf-8")
    assert (text.count("connected to"), text.count("loaded")) == (1, 1)


@pytest.mark.level(2)
def test_the_code_of_writing_a_bot_runs(
    played: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every Python block runs in a folder where mybot.py has played; a bot plays a whole local game."""
    monkeypatch.chdir(played)
    (export,) = re.findall(r"`tournament (export [^`]+)`", text_of("docs/writing-a-bot.md"))
    export = export.replace("--game 12", "--game 1")
    subprocess.run([sys.executable, "-m", "happycity_tournament", *export.split()], check=True)
    monkeypatch.syspath_prepend(played)
    monkeypatch.setattr(happycity_client, "run", play_locally)
    snippets = blocks(text_of("docs/writing-a-bot.md"), "python")
    assert len(snippets) > 5
    for number, snippet in enumerate(snippets, start=1):
        if "ProcessPoolExecutor" in snippet:
            continue  # its processes import it again, so it is a program of its own in the next test
        code = compile(snippet, f"docs/writing-a-bot.md block {number}", "exec")
        exec(code, {"__name__": "__main__"})
    printed = capsys.readouterr().out
    for claim in re.findall(r"it prints `([^`]+)`", text_of("docs/writing-a-bot.md")):
        assert claim in printed.splitlines()
    replay(loads((played / "game.jsonl").read_text(encoding="utf-8")))
    (path,) = played.glob("runs/*/games.sqlite")
    with Store.existing(f"sqlite:///{path}") as store:
        assert all(store.record(game.match_id) is not None for game in store.games(100))
