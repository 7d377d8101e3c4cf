"""What the server noted of bots is at the end of their logs."""

from dataclasses import replace
from pathlib import Path

from tests.tournament.cli.screens import SNAPSHOT

from happycity import Incident, IncidentKind
from happycity_tournament.client.bot_logs import LINES_KEPT, ServerNotes
from happycity_tournament.play.snapshot import MatchIncident, Snapshot


def late(bot: str, match_id: int) -> MatchIncident:
    incident = Incident(
        13, 0, IncidentKind.TIMEOUT, "no answer within 10 s: strike 1, 3 are allowed; played keep"
    )
    return MatchIncident(match_id=match_id, bot=bot, time=1.8e9, round=2, incident=incident)


def written(folder: Path, *snapshots: Snapshot) -> dict[str, str]:
    notes = ServerNotes()
    for snapshot in snapshots:
        notes.add(snapshot)
    logs = {name: folder / f"bot-{name}.log" for name in ("ann", "cem")}
    for log in logs.values():
        log.write_text("connected\n")
    notes.write(logs)
    return {name: log.read_text() for name, log in logs.items()}


def test_strikes_forfeits_and_disqualification_are_in_the_log(tmp_path: Path) -> None:
    last = replace(SNAPSHOT, disqualified=("cem",))
    logs = written(tmp_path, replace(SNAPSHOT, incidents=(late("cem", 3), late("bob", 4))), last)
    assert logs["ann"] == "connected\n"
    own, heading, strike, digest = logs["cem"].splitlines()
    assert (own, heading) == ("connected", "--- noted by the server of cem:")
    assert strike == (
        "2027-01-15T08:00:00Z game 3, round 2, decision 13: no answer within 10 s: strike 1, 3 are allowed; "
        "played keep"
    )
    assert digest == "cem crashed in 2 of 6 games: [bold]x, first in game 1; disqualified after 6 games"


def test_the_log_of_a_bot_that_fails_again_and_again_stays_short(tmp_path: Path) -> None:
    snapshots = [replace(SNAPSHOT, incidents=(late("ann", number),)) for number in range(LINES_KEPT + 50)]
    lines = written(tmp_path, *snapshots)["ann"].splitlines()
    assert len(lines) == LINES_KEPT + 3
    assert lines[-1] == "and 50 more strikes and forfeits"
    assert "game 0, " in lines[2]
