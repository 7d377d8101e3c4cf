"""Settings of `tournament run` and `tournament sprt`: flags and keys of a file come from one model."""

import re
import tomllib
from pathlib import Path

import pytest
import typer

from happycity import ConfigError, Mode
from happycity.match import DEFAULT_LINEUP, REFERENCE_BOTS
from happycity_bots import BOTS
from happycity_runtime.settings import SettingsError, load
from happycity_tournament.cli.app import app
from happycity_tournament.cli.settings import FILE_ONLY, PlaySettings, RunSettings, SprtSettings, example
from happycity_tournament.config import RoundRobin, SeatOrders, Swiss, TournamentConfig
from happycity_tournament.lineup import BotEntry, bot_entries, bot_entry

BOT_FLAGS = {"bots", "bot", "join"}
"""The flags that are together the table `bots`."""


def flags(command: str) -> set[str]:
    """Return the flags of a command by the keys that they would have."""
    group = typer.main.get_group(app)
    found = group.get_command(typer.Context(group), command)
    assert found is not None
    options = [parameter for parameter in found.params if parameter.param_type_name == "option"]
    return {parameter.opts[0].removeprefix("--").replace("-", "_") for parameter in options} - {"help"}


def keys(model: type[PlaySettings]) -> set[str]:
    return {*model.model_fields}


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
    no_keys = {"config", "example", "json", "quiet"}
    assert flags("run") - BOT_FLAGS - no_keys | {"bots", *FILE_ONLY} == keys(RunSettings)
    of_test = flags("sprt") - no_keys
    assert of_test | FILE_ONLY & keys(SprtSettings) == keys(SprtSettings)
    assert set(REFERENCE_BOTS) == set(BOTS)  # any other name is taken for a command


def test_the_example_is_the_default_tournament(file: Path) -> None:
    file.write_text(example(), encoding="utf-8")
    assert load(RunSettings, {}, file=file) == RunSettings()


def test_the_example_has_every_key_with_its_default(file: Path) -> None:
    shown = re.findall(r"^# (\w+) = (.*)$", example().partition("# The bots")[0], flags=re.MULTILINE)
    fields = RunSettings.model_fields
    assert [key for key, _ in shown] == [key for key in fields if key != "bots"]
    format_of = {"cycles": "round-robin", "challengers": "gauntlet"}
    for key, value in shown:
        chosen = f'format = "{format_of[key]}"\n' if key in format_of else ""
        if key == "beacon":
            chosen = 'seed = 1\nsalt = "0123456789abcdef"\n'
        file.write_text(f"{chosen}{key} = {value}\n", encoding="utf-8")
        settings = load(RunSettings, {}, file=file)
        if fields[key].default not in (None, ()):
            assert getattr(settings, key) == fields[key].default, key


def test_a_beacon_needs_what_was_committed_to(file: Path) -> None:
    file.write_text('beacon = "round 7"\nseed = 1\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="it needs seed and salt"):
        load(RunSettings, {}, file=file)


def test_the_example_explains_the_bots(file: Path) -> None:
    text = example().partition("# The bots")[2]
    uncommented = re.sub(r"^# (\[\[bots|name|command|join = true$)", r"\1", text, flags=re.MULTILINE)
    file.write_text(f"#{uncommented}", encoding="utf-8")
    tables = tomllib.loads(file.read_text())["bots"]
    assert [BotEntry.model_validate(table).name for table in tables] == [*DEFAULT_LINEUP, "mine", "theirs"]


def test_flags_win_over_the_file(file: Path) -> None:
    file.write_text('format = "swiss"\nrounds = 5\nmode = "expert"\n', encoding="utf-8")
    config = load(RunSettings, {"rounds": 7}, file=file).config()
    assert (config.format, config.game.mode) == (Swiss(rounds=7), Mode.EXPERT)


def test_every_problem_of_a_file_has_its_line(file: Path) -> None:
    file.write_text(
        'round = 5\nrounds = "many"\nbank_seconds = -1\nmode = "hard"\nno_clock = 1\n'
        '[[bots]]\nname = "ann"\nbuiltin = "random"\njoin = true\n'
        '[[bots]]\nname = "bob"\nbuildin = "greedy"\n',
        encoding="utf-8",
    )
    assert [problem.removeprefix(f"{file}: ") for problem in problems(RunSettings, {}, file)] == [
        "bank_seconds: -1 must be greater than or equal to 0",
        "bots[1]: give exactly one of builtin, command, join = true and hosted = true",
        "bots[2].buildin: there is no such key; did you mean builtin?",
        "mode: there is no 'hard'; there are: family, expert",
        "no_clock: 1 must be a valid boolean",
        "round: there is no such key; did you mean rounds?",
        "rounds: 'many' must be a valid integer",
    ]


def test_files_that_cannot_be_read_are_named(file: Path) -> None:
    (missing,) = problems(RunSettings, {}, file)
    assert missing.startswith(f"{file} can't be read")
    file.write_text("rounds = ", encoding="utf-8")
    (damaged,) = problems(RunSettings, {}, file)
    assert damaged.startswith(f"{file} is not TOML")


def test_an_increment_needs_a_bank() -> None:
    assert problems(RunSettings, {"increment_seconds": 1.0}) == [
        "increment_seconds: it has no effect without bank_seconds"
    ]


def test_what_is_not_chosen_has_a_default() -> None:
    """Without --seats two bots play at tables of two, many at four; a seed is random."""
    lineup = bot_entries("random,greedy", (), ())
    assert config_of(bots=lineup).game.players == 2
    assert config_of(bots=bot_entries("", (), [f"bot-{number}" for number in range(9)])).game.players == 4
    assert config_of().seed != config_of().seed
    assert config_of(seed=0).seed == 0
    chosen = config_of(format="round-robin", cycles=2, seat_orders="all").format
    assert chosen == RoundRobin(cycles=2, seat_orders=SeatOrders.ALL)


def test_flags_name_bots_of_four_kinds() -> None:
    assert bot_entries("greedy, old=greedy, hosted:alice", ["mine=python 'my bot.py' --x=1"], ["guest"]) == (
        BotEntry(name="greedy", builtin="greedy"),
        BotEntry(name="old", builtin="greedy"),
        BotEntry(name="alice", hosted=True),
        BotEntry(name="mine", command="python 'my bot.py' --x=1"),
        BotEntry(name="guest", join=True),
    )
    with pytest.raises(ConfigError, match="hosted:alice"):  # by a run alone, which plays on a server
        bot_entries("hosted:alice", (), (), flag="--against")
    assert bot_entry("--base", "old=greedy") == BotEntry(name="old", builtin="greedy")
    assert bot_entry("--base", "mine=./bot") == BotEntry(name="mine", command="./bot")
