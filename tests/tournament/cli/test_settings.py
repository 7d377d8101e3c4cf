"""Settings of `tournament run` and `tournament sprt`: flags and keys of a file come from one model."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer
from tests.tournament.conftest import Run

from happycity import Mode
from happycity.match import DEFAULT_LINEUP, REFERENCE_BOTS
from happycity.runtime.settings import SettingsError, fields_of, load
from happycity_bots import BOTS
from happycity_tournament.cli.app import app
from happycity_tournament.cli.settings import FILE_ONLY, PlaySettings, RunSettings, SprtSettings, example
from happycity_tournament.config import RoundRobin, SeatOrders, Swiss, TournamentConfig
from happycity_tournament.lineup import BotEntry, bot_entries, bot_entry

BOT_FLAGS = {"bots", "bot", "join"}
"""The flags that are together the table `bots`."""


def flags(command: str) -> set[str]:
    """Return the flags of a command by the keys that they would have."""
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]  # a group
    options = [parameter for parameter in found.params if parameter.param_type_name == "option"]
    return {parameter.opts[0].removeprefix("--").replace("-", "_") for parameter in options} - {"help"}


def keys(model: type[PlaySettings]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def problems(model: type[PlaySettings], values: dict[str, object], file: Path | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(model, values, file=file)
    assert all("\n" not in problem for problem in caught.value.problems)
    return sorted(caught.value.problems)


def config_of(**values: object) -> TournamentConfig:
    return load(RunSettings, values).config()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "league.toml"


def test_every_flag_has_a_key() -> None:
    """The file can say what the flags can, and some things more; what a command prints is none of it."""
    assert flags("run") - BOT_FLAGS - {"json", "example", "quiet", "config"} | {"bots", *FILE_ONLY} == keys(
        RunSettings
    )
    assert (
        flags("sprt") - {"json", "quiet", "config"}
        <= keys(SprtSettings)
        == flags("sprt") - {"json", "quiet", "config"} | FILE_ONLY & keys(SprtSettings)
    )


def test_the_reference_bots_are_those_of_happycity_bot() -> None:
    """Any other name is taken for a command."""
    assert set(REFERENCE_BOTS) == set(BOTS)


# The file ------------------------------------------------------------------------------------------------


def test_the_example_is_the_default_tournament(file: Path) -> None:
    """As it is written, it is the tournament that is played without any file."""
    file.write_text(example(), encoding="utf-8")
    assert load(RunSettings, {}, file=file) == RunSettings()


def test_the_example_has_every_key_with_its_default(file: Path) -> None:
    """Each key stands there once, commented out; without the comment it is valid and the default."""
    shown = re.findall(r"^# (\w+) = (.*)$", example().partition("# The bots")[0], flags=re.MULTILINE)
    fields = fields_of(RunSettings)
    assert [key for key, _ in shown] == [key for key in fields if key != "bots"]
    format_of = {"cycles": "round-robin", "challengers": "gauntlet"}
    for key, value in shown:
        chosen = f'format = "{format_of[key]}"\n' if key in format_of else ""
        file.write_text(f"{chosen}{key} = {value}\n", encoding="utf-8")
        settings = load(RunSettings, {}, file=file)
        if fields[key].default not in (None, ()):
            assert getattr(settings, key) == fields[key].default, key


def test_the_example_explains_the_bots(file: Path) -> None:
    """The bots that are commented out are valid too."""
    text = example().partition("# The bots")[2]
    uncommented = re.sub(r"^# (\[\[bots|name|command|join = true$)", r"\1", text, flags=re.MULTILINE)
    file.write_text(f"#{uncommented}", encoding="utf-8")
    tables = tomllib.loads(file.read_text())["bots"]
    assert [BotEntry.model_validate(table).name for table in tables] == [*DEFAULT_LINEUP, "mine", "theirs"]


def test_flags_win_over_the_file(file: Path) -> None:
    """What the file says holds unless a flag says otherwise."""
    file.write_text('format = "swiss"\nrounds = 5\nmode = "expert"\n', encoding="utf-8")
    config = load(RunSettings, {"rounds": 7}, file=file).config()
    assert (config.format, config.game.mode) == (Swiss(rounds=7), Mode.EXPERT)


def test_every_problem_of_a_file_has_its_line(file: Path) -> None:
    """Each line says what is wrong, where, and what would be right."""
    file.write_text(
        'round = 5\nrounds = "many"\nbank = -1\nmode = "hard"\nno_clock = 1\n'
        '[[bots]]\nname = "ann"\nbuiltin = "random"\njoin = true\n'
        '[[bots]]\nname = "bob"\nbuildin = "greedy"\n',
        encoding="utf-8",
    )
    assert [problem.removeprefix(f"{file}: ") for problem in problems(RunSettings, {}, file)] == [
        "bank: -1 must be greater than or equal to 0",
        "bots[1]: give exactly one of builtin, command and join = true",
        "bots[2].buildin: there is no such key; did you mean builtin?",
        "mode: there is no 'hard'; there are: family, expert",
        "no_clock: 1 must be a valid boolean",
        "round: there is no such key; did you mean rounds?",
        "rounds: 'many' must be a valid integer",
    ]


@pytest.mark.parametrize(("content", "problem"), [("rounds = ", "is not TOML"), (None, "can't be read")])
def test_files_that_cannot_be_read_are_named(file: Path, content: str | None, problem: str) -> None:
    """One line says which file, and why."""
    if content is not None:
        file.write_text(content, encoding="utf-8")
    (line,) = problems(RunSettings, {}, file)
    assert line.startswith(f"{file} {problem}")


# Formats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"format": "swiss", "cycles": 3},
         "--cycles: it has no effect in swiss; it takes --rounds and --seat-orders"),
        ({"format": "swiss", "cycles": 1},
         "--cycles: it has no effect in swiss; it takes --rounds and --seat-orders"),
        ({"cycles": 20},
         "--cycles: it has no effect in random-rounds; it takes --rounds, --seat-orders and --until-error"),
        ({"format": "round-robin", "rounds": 100},
         "--rounds: it has no effect in round-robin; it takes --cycles and --seat-orders"),
        ({"format": "swiss", "until_error": 10.0},
         "--until-error: it has no effect in swiss; it takes --rounds and --seat-orders"),
        ({"format": "gauntlet"}, "--challengers: a gauntlet needs it, such as --challengers mine"),
        ({"increment": 1.0}, "increment: it has no effect without bank"),
        ({"server": "x:1", "store": "sqlite:///x"},
         "--store: it has no effect with --server: that server has a store of its own"),
        ({"server": "h:1", "ray": "auto"},
         "--ray: it has no effect with --server: that server was started without"),
        ({"ray": "auto", "workers": 0},
         "--ray: it needs workers on the nodes: give at least --workers 1, or none"),
    ],
)  # fmt: skip
def test_a_flag_without_effect_is_refused(values: dict[str, object], problem: str) -> None:
    """A flag that the format doesn't have is refused, even if its value is the default."""
    assert problems(RunSettings, values) == [problem]


def test_a_format_takes_what_it_has() -> None:
    """The other keys stay at their defaults without being refused."""
    assert config_of(format="round-robin", cycles=2, seat_orders="all").format == RoundRobin(
        cycles=2, seat_orders=SeatOrders.ALL
    )


def test_tables_are_no_larger_than_the_lineup() -> None:
    """Without --seats two bots play at tables of two, and many bots at tables of four."""
    lineup = bot_entries("random,greedy", (), ())
    assert config_of(bots=lineup).game.players == 2
    assert config_of(bots=bot_entries("", (), [f"bot-{number}" for number in range(9)])).game.players == 4


def test_a_seed_is_random_unless_it_is_chosen() -> None:
    """Two tournaments differ; a chosen seed is kept."""
    assert config_of().seed != config_of().seed
    assert config_of(seed=0).seed == 0


def test_a_sequential_test_needs_both_bots() -> None:
    """A missing bot is named by its flag."""
    assert problems(SprtSettings, {"candidate": ("greedy",)}) == ["--base: it is missing"]


# Bots ----------------------------------------------------------------------------------------------------


def test_flags_name_bots_of_three_kinds() -> None:
    """A reference bot has its own name or another, a command and a joining bot have a name."""
    assert bot_entries("greedy, old=greedy", ["mine=python 'my bot.py' --x=1"], ["guest"]) == (
        BotEntry(name="greedy", builtin="greedy"),
        BotEntry(name="old", builtin="greedy"),
        BotEntry(name="mine", command="python 'my bot.py' --x=1"),
        BotEntry(name="guest", join=True),
    )
    assert bot_entry("--base", "old=greedy") == BotEntry(name="old", builtin="greedy")
    assert bot_entry("--base", "mine=./bot") == BotEntry(name="mine", command="./bot")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "--bots", "gredy"), "--bots: 'gredy' is not a reference bot; did you mean greedy?"),
        (("run", "--bots", "my bot=greedy"), "--bots: bot name 'my bot': use 1-64 of"),
        (("run", "--bots", "=greedy"), "--bots: a name or a command is empty"),
        (("run", "--bot", "mine"), "--bot: 'mine' is not NAME=COMMAND"),
        (("run", "--bot", "mine=no-such-program", "--bots", "greedy"),
         "bot mine: 'no-such-program' can't be started: there is no such program"),
        (("run", "--bots", "greedy,greedy"), "--bots: 'greedy' is named more than once"),
        (("run", "--bots", "greedy"), "--bots: 1 can't fill a table of 2 seats"),
        (("run", "--config", "missing.toml"), "missing.toml can't be read: No such file or directory"),
        (("run", "--strikes", "1"), "there is no option --strikes"),
        (("run", "--anchor", "nobody"), "--anchor: 'nobody' is not one of the bots"),
        (("run", "--concurrency", "10001"), "--concurrency: 10001 is more than 10000"),
        (("sprt", "--candidate", "greedy", "--base", "greedy"),
         "--candidate, --base: both are named 'greedy'; name one differently, such as --base old=greedy"),
        (("sprt", "--candidate", "greedy", "--candidate", "greedy=planner", "--base", "random"),
         "--candidate: 'greedy' is named more than once"),
        (("sprt", "--candidate", "greedy", "--base", "random", "--alpha", "0.7"),
         "--alpha: 0.7 is not between 0 and 1/2"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_costs_one_line(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    """It is noticed before anything is started or written."""
    status, output, errors = run(*arguments)
    assert (status, output) == (2, "")
    assert errors.startswith(f"error: {problem}")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
