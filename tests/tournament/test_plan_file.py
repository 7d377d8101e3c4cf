"""Settings of `tournament run` and `tournament sprt`: flags and keys from one model, problems in words."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer

from happycity import Mode
from happycity_bots import BOTS
from happycity_tournament.cli import app
from happycity_tournament.formats import Format
from happycity_tournament.plan_file import (
    REFERENCE_BOTS,
    BotEntry,
    PlaySettings,
    RunSettings,
    SettingsError,
    SprtSettings,
    example,
    fields_of,
    load_settings,
)

BOT_FLAGS = {"bots", "bot", "join"}
"""The flags that are together the table `bots`."""


def flags(command: str) -> set[str]:
    """Return the flags of a command by the keys that they would have."""
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]  # a group
    options = [parameter for parameter in found.params if parameter.param_type_name == "option"]
    return {parameter.opts[0].removeprefix("--").replace("-", "_") for parameter in options} - {"help"}


def keys(model: type[PlaySettings]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def problems(model: type[PlaySettings], told: dict[str, object], file: Path | None = None) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load_settings(model, told, file)
    assert all("\n" not in problem for problem in caught.value.problems)
    return caught.value.problems


@pytest.fixture
def written(tmp_path: Path) -> Path:
    return tmp_path / "league.toml"


def test_every_flag_has_a_key_and_every_key_a_flag() -> None:
    """The file can tell what the flags can, and the other way round."""
    assert flags("run") - BOT_FLAGS | {"bots"} == keys(RunSettings)
    assert flags("sprt") == keys(SprtSettings)


def test_the_reference_bots_are_those_of_happycity_bot() -> None:
    """What is no reference bot is taken for a command."""
    assert set(REFERENCE_BOTS) == set(BOTS)


def test_the_example_is_valid_and_says_nothing_new(written: Path) -> None:
    """As it is written, it is the tournament that is played without any file."""
    written.write_text(example(), encoding="utf-8")
    settings = load_settings(RunSettings, {}, written)
    bots = tuple(BotEntry(name=name, builtin=name) for name in REFERENCE_BOTS)
    assert settings == RunSettings(bots=bots)


def test_the_example_tells_every_key_with_its_default(written: Path) -> None:
    """Each key stands there once, commented out; without the comment it is valid and the default."""
    shown = re.findall(r"^# (\w+) = (.*)$", example().partition("# The bots")[0], flags=re.MULTILINE)
    assert {key for key, _ in shown} == keys(RunSettings) - {"bots"}
    assert len(shown) == len(fields_of(RunSettings))
    for key, value in shown:
        if key == "store":
            continue  # with an example of a server it contradicts itself
        written.write_text(f"{key} = {value}\n", encoding="utf-8")
        settings = load_settings(RunSettings, {}, written)
        default = fields_of(RunSettings)[key].default
        if default is not None:
            assert getattr(settings, key) == default, key


def test_the_example_explains_the_bots(written: Path) -> None:
    """The bots that are commented out are valid too."""
    text = example().partition("# The bots")[2]
    uncommented = re.sub(r"^# (\[\[bots|name|command|join = true$)", r"\1", text, flags=re.MULTILINE)
    tables = tomllib.loads("#" + uncommented)["bots"]
    assert [BotEntry.model_validate(table).name for table in tables] == [*REFERENCE_BOTS, "mine", "theirs"]


def test_flags_win_over_the_file(written: Path) -> None:
    """What the file says holds unless a flag says otherwise."""
    written.write_text('format = "swiss"\nrounds = 5\nmode = "expert"\n', encoding="utf-8")
    settings = load_settings(RunSettings, {"rounds": 7}, written)
    assert (settings.format, settings.rounds, settings.mode) == (Format.SWISS, 7, Mode.EXPERT)


def test_an_unknown_key_is_told_with_the_nearest() -> None:
    """A slip of the pen is named, and what was probably meant."""
    assert problems(RunSettings, {"concurency": 4}) == (
        "--concurency: there is no such key; the nearest is concurrency",
    )


def test_every_problem_of_a_file_has_its_line(written: Path) -> None:
    """What is wrong, where, and what would be right."""
    written.write_text(
        'round = 5\nrounds = "many"\nbank = -1\nmode = "hard"\nno_clock = 1\ntoken = 7\n'
        '[[bots]]\nname = "ann"\nbuiltin = "random"\njoin = true\n'
        '[[bots]]\nname = "bob"\nbuildin = "greedy"\n',
        encoding="utf-8",
    )
    assert sorted(problem.removeprefix(f"{written}: ") for problem in problems(RunSettings, {}, written)) == [
        "bank: it should be greater than or equal to 0, not -1",
        "bots[1]: give exactly one of builtin, command and join = true",
        "bots[2].buildin: there is no such key; the nearest is builtin",
        "mode: it should be 'family' or 'expert', not 'hard'",
        "no_clock: it should be a valid boolean, not 1",
        "round: there is no such key; the nearest is rounds",
        "rounds: it should be a valid integer, not 'many'",
        "token: it should be a valid string",
    ]


def test_a_number_that_the_format_does_not_read_is_refused() -> None:
    """Whoever gives one expects that it changes something."""
    assert problems(RunSettings, {"format": Format.SWISS, "cycles": 3}) == (
        "cycles: the format swiss doesn't read it, but orders, rounds",
    )
    assert "tournament sprt" in problems(RunSettings, {"format": Format.SPRT})[0]


def test_a_test_needs_both_bots() -> None:
    """What is missing is named by its flag."""
    assert problems(SprtSettings, {"candidate": "greedy"}) == ("--base: it is missing",)


@pytest.mark.parametrize(("content", "told"), [("rounds = ", "is no TOML"), (None, "can't be read")])
def test_files_that_cannot_be_read_are_named(written: Path, content: str | None, told: str) -> None:
    """One line tells the file and its trouble."""
    if content is not None:
        written.write_text(content, encoding="utf-8")
    (problem,) = problems(RunSettings, {}, written)
    assert str(written) in problem
    assert told in problem
