"""The file of a league: what can't be one costs a line with the place and what to do."""

from pathlib import Path

import pytest
from tests.commands.programs import happycity

from happycity_league.config import LeagueConfig, cycle_seed

START = Path(__file__).parent / "agents" / "climber"
AGENT = f'[[agents]]\nname = "ann"\nproject = "{START}"\n'


@pytest.mark.level(1)
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("cycles = 0\n" + AGENT, "cycles: 0 must be greater than or equal to 1"),
        ("cycle = 3\n" + AGENT, "cycle: there is no such key; did you mean cycles?"),
        (AGENT + 'commands = "x"\n', "agents[1].commands: there is no such key; did you mean command?"),
        (AGENT + "seconds = 0\n", "agents[1].seconds: 0 must be greater than 0"),
        (
            AGENT + 'command = "a \'b"\n',
            "agents[1]: can't read the command \"a 'b\": No closing quotation",
        ),
        ('[[agents]]\nname = "ann"\n', "agents[1].project: it is missing"),
        ('[[agents]]\nname = "ann"\nproject = "no"\n', "/no/bot.toml; make a project by: happycity new-bot"),
        (
            AGENT + 'command = "x"\nwait = true\n',
            "agents[1]: command: it has no effect with wait, as a person edits the project",
        ),
        (AGENT + AGENT, "agents: 'ann' is named more than once"),
        (
            'anchors = ["greedy"]\n' + AGENT,
            "anchors: 1 are too few for a table of 4 seats; name 3 reference bots",
        ),
        ('anchors = ["gredy"]\n' + AGENT, "anchors: 'gredy' is not a reference bot; did you mean greedy?"),
        (AGENT.replace("ann", "a b"), "bot name 'a b'"),
        ("", "agents: it is missing"),
        ("agents = []\n", "agents: there are none; name one by [[agents]]"),
    ],
)
def test_a_bad_file_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text(content)
    error = happycity("league", "run", "bad.toml").error
    assert error.startswith("bad.toml: "), error
    assert problem in error
    assert not Path("bad").exists()


@pytest.mark.level(1)
@pytest.mark.parametrize("command", ["resume", "show", "report --out a.html", "verify"])
def test_what_is_no_league_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert happycity("league", *command.split(), "no").error == (
        "no is not the folder of a league: there is no no/league.json"
    )
    Path("broken").mkdir()
    Path("broken/league.json").write_text('{"format": "happycity-league/2", "cycles": []}')
    assert happycity("league", *command.split(), "broken").error == (
        "broken/league.json: format: 'happycity-league/2' instead of 'happycity-league/1'; "
        "use the version of happycity that wrote it"
    )
    Path("broken/league.json").write_text("{}x")
    assert happycity("league", *command.split(), "broken").error.startswith(
        "broken/league.json can't be read as a league"
    )


def test_deals_follow_from_seed_salt_cycle_and_table() -> None:
    """The tables on which versions are compared have one seed; no other two tables have."""
    seeds = [
        cycle_seed(seed, salt, cycle, table)
        for seed in (1, 2)
        for salt in ("a" * 16, "b" * 16)
        for cycle in (0, 1)
        for table in ("", "ann")
    ]
    assert len({*seeds}) == len(seeds)
    assert max(seeds) < 2**53


def test_a_commitment_has_no_seed(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f'seed = 7\nsalt = "{"s" * 16}"\n' + AGENT)
    public = LeagueConfig.read(file).public()
    assert "seed" not in public
    assert "salt" not in public
    assert public["agents"][0]["name"] == "ann"
