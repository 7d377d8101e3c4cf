"""Bots that fail in each way, as real programs: one line of a run says what happened, where and why."""

import json
import re

import pytest
from tests.commands.programs import command_of, own_folder, settings_file, tournament

from happycity import Ending
from happycity_tournament.play.runner import FIRST_GAMES, WIDENING
from happycity_tournament.storage.store import Store

DIGESTS = {
    "crash": r"crash crashed in \d+ of \d+ games?: IndexError: .* \(failing\.py:\d+\)",
    "illegal": r"illegal gave illegal answers in \d+ of \d+ games?: answers that are no legal moves, such as "
    r"\d+",
    "slow": r"slow answered too late in \d+ of \d+ games?: no answer within 5 s",
    "silent": r"silent was silent in 1 of 1 game: has never answered \(2 decisions, 5 s each; is its output "
    r"buffered\?\)",
}
"""What the last lines of a run say of the bots of `failing.py`."""


@pytest.mark.thorough
def test_every_way_to_fail_is_one_line_that_names_what_and_where() -> None:
    bots = [argument for name in DIGESTS for argument in ("--bot", command_of("failing", name=name))]
    run = tournament(
        "run", "--bots", "random,greedy", *bots, "--seats", "2", "--rounds", "2", "--seed", "1",
        *settings_file(max_strikes=1), "--decision-seconds", "5", "--connect-seconds", "120", "--json",
    )  # fmt: skip
    assert run.status == 0, run
    folder = own_folder()
    shown = tournament("show", str(folder))
    result = json.loads(run.output)
    lines = {line["bot"]: line for line in result["standings"]}
    for name, pattern in DIGESTS.items():
        log = folder / f"bot-{name}.log"
        disqualified = "; disqualified after 1 game" if name == "silent" else ""
        digest = rf"{pattern}, first in game \d+{disqualified}; log: {re.escape(str(log))}"
        for output in (run.errors, shown.output):
            assert len([line for line in output.splitlines() if re.fullmatch(digest, line)]) == 1
        assert lines[name]["forfeit_counts"]
        assert re.fullmatch(digest, f"{lines[name]['digest']}; log: {lines[name]['log']}")
        # As it happens, the first failure of each bot is a line with its place.
        assert re.search(rf"^{name}: .* \(game \d+, round 1, decision \d+\)$", run.errors, re.MULTILINE)
    assert "silent is disqualified: it was silent in 1 of 1 game" in run.errors
    assert [lines[name]["forfeits"] for name in ("random", "greedy")] == [0, 0]


@pytest.mark.thorough
def test_a_silent_bot_is_out_within_30_seconds_by_default() -> None:
    silent = command_of("failing", name="silent")
    patience = ("--connect-seconds", "120")
    run = tournament("run", "--bots", "random", "--bot", silent, "--rounds", "100", *patience)
    assert run.status == 130, run  # the other one is left alone
    with Store.existing(f"sqlite:///{own_folder()}/games.sqlite") as store:
        games = store.results(1)
    first, *others = sorted(games, key=lambda game: game.match_id)
    assert Ending.SILENT in [seat.ending for seat in first.seats]
    assert first.started_at is not None
    assert first.finished_at is not None
    assert first.finished_at - first.started_at < 30
    # Each of the games that are stored before the first one may have let more begin.
    early = [game for game in others if Ending.SILENT in [seat.ending for seat in game.seats]]
    assert 0 <= len(others) - (FIRST_GAMES - 1) <= WIDENING * len(early)
    endings = {seat.ending for game in others for seat in game.seats}
    assert endings == {Ending.FINISHED, Ending.SILENT, Ending.DISQUALIFIED}
