"""`tournament add` and `withdraw` on tournaments that are being played, and on runs that were stopped."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from tests.commands.programs import (
    ALL_GAMES,
    ARENA,
    STORE,
    Gate,
    Program,
    Start,
    command_of,
    follow,
    own_folder,
    own_server,
    played,
    records,
    serve,
    start_gated,
    tournament,
    wait_for_line,
    wait_for_waiting_games,
)
from tests.tournament.servers import arena

from happycity import Config, TimeControl
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity.tournament.v1beta1.tournament_service_pb2_grpc import TournamentServiceStub
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire.match import duration_message
from happycity.wire.messages import config_message
from happycity_tournament.arena.locations import call_server
from happycity_tournament.arena.run_folder import OwnServer, RemoteServer, Run, own_store
from happycity_tournament.bots.lineup import Lineup, bot_entries
from happycity_tournament.config import Format, RoundRobin, Swiss, TournamentConfig, TournamentState
from happycity_tournament.storage import Store

AT_ONCE = 2
CYCLES = 5
ENDLESS = RoundRobin(cycles=10_000)
LATE = ("--bot", command_of("first_move", name="late"))


def config(chosen: Format) -> TournamentConfig:
    """Return a tournament of three bots, in which gated ones may wait for long."""
    return TournamentConfig(
        bots=("random", "random2", "gated"),
        game=Config(players=2),
        format=chosen,
        seed=5,
        time=TimeControl(connect_seconds=120.0, decision_seconds=120.0),
        concurrency=4,
    )


def games_by_pair(url: str) -> Counter[frozenset[str]]:
    with Store.existing(url) as store:
        return Counter(frozenset(game.bots) for game in store.results(1))


def wait_until_connected(server: RemoteServer, bot: str) -> None:
    with grpc.insecure_channel(server.address) as channel:
        stub = MatchServiceStub(channel)
        request = match_pb.CreateMatchRequest(
            config=config_message(Config(players=2)),
            bots=[bot, bot],
            time_control=match_pb2.TimeControl(connect_time=duration_message(120.0)),
        )
        match_id = stub.CreateMatch(request, metadata=server.access.metadata).match_id
        over = match_pb.WaitMatchRequest(match_id=match_id)
        assert stub.WaitMatch(over, metadata=server.access.metadata).HasField("result")


@pytest.mark.thorough
def test_bots_join_and_leave_a_run(start: Start, gate: Gate) -> None:
    """Every pair of those that stay meets equally often. `resume` would start the new bot, not the other."""
    gate.let_through(4)
    run = start(
        "happycity_tournament", "run", "--format", "round-robin", "--cycles", str(CYCLES), "--seats", "2",
        "--bots", "random,random2=random", "--bot", command_of("gated"), "--decision-time", "120",
        "--concurrency", "4", "--json", "result.json", stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for_line(run, "Ctrl-C stops it")
    folder = own_folder()
    follow(own_server(folder), until_games=4)
    assert tournament("add", "--bots", "random").error == "bots: 'random' takes part already, or did"
    add = start("happycity_tournament", "add", *LATE, "--json", stderr=subprocess.PIPE)
    wait_until_connected(own_server(folder), "late")
    gate.let_through(ALL_GAMES)
    wait_for_line(add, "late takes part from round")
    assert run.wait() == 0
    output, errors = add.communicate()
    assert add.returncode == 0, errors
    result, joined = json.loads(Path("result.json").read_text()), json.loads(output)
    assert (result["state"], result["games"]) == ("finished", 12 * CYCLES)
    assert {line["bot"]: line["forfeits"] for line in result["standings"]} == dict.fromkeys(
        ["random", "random2", "gated", "late"], 0
    )
    assert set(games_by_pair(own_store(folder)).values()) == {2 * CYCLES}
    (participation,) = result["config"]["participations"]
    assert participation["bot"] == "late"
    assert participation["first_round"] > 1
    assert (joined["standings"], joined["final"]) == (result["standings"], result["final"])
    assert Run.load(folder).lineup.names == ("random", "random2", "gated", "late")
    assert tournament("add", "--join", "later").error == "tournament 1 is finished"


Begun = tuple[list[Program], RemoteServer, str, tuple[str, ...]]
"""What plays a tournament, the server, its store, and how other commands find the tournament."""


def begin_run(start: Start) -> Begun:
    run = start(
        "happycity_tournament", "run", "--format", "round-robin", "--cycles", "10000", "--seats", "2",
        "--bots", "random,random2=random", "--decision-time", "120", "--concurrency", str(AT_ONCE),
        "--workers", "2", "--no-web", stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for_line(run, "Ctrl-C stops it")
    return [run], own_server(own_folder()), own_store(own_folder()), ()


def begin_on_server(start: Start) -> Begun:
    server = serve(start, "--workers", "2")
    bots = start("happycity", "bot", "random", "random2=random", "--server", ARENA.address)
    endless = replace(config(ENDLESS), bots=("random", "random2"), concurrency=AT_ONCE)
    call_server(ARENA, lambda connection: connection.create(endless))
    return [bots, server], ARENA, STORE, ("1", "--server", ARENA.address)


@pytest.mark.thorough
@pytest.mark.timeout(300)
@pytest.mark.parametrize("begin", [begin_run, begin_on_server])
def test_games_of_a_bot_that_joins_are_played_at_the_server(
    start: Start, gate: Gate, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Start], Begun]
) -> None:
    playing, server, url, which = begin(start)
    monkeypatch.setenv("HAPPYCITY_GAMES", "0")
    add = start("happycity_tournament", "add", *which, "--bot", command_of("gated", name="late"))
    wait_for_waiting_games(server, "late", AT_ONCE)
    gate.let_through(ALL_GAMES)
    begun = call_server(server, lambda connection: connection.tournament(1)).games
    follow(server, until_games=begun + 60)
    call_server(server, lambda connection: connection.stop(1))
    add.wait()
    for program in playing:
        program.terminate()
        program.wait()

    with Store.existing(url) as store:
        stored = store.require_tournament(1)
    serve(start, url=url)
    start("happycity", "bot", "random", "random2=random", "--server", ARENA.address)
    start_gated(start, "late")
    again = replace(TournamentConfig.of(stored.config), concurrency=64)
    call_server(ARENA, lambda connection: connection.create(again))
    ours = records(url)
    follow(ARENA, 2, until_games=len(ours))
    theirs = records(url, 2)
    common = ours.keys() & theirs.keys()
    with Store.existing(url) as store:
        assert any("late" in game.bots for game in store.results(1) if game.position in common)
    assert {place: ours[place] for place in common} == {place: theirs[place] for place in common}


@pytest.mark.thorough
def test_ctrl_c_ends_only_what_add_has_started(start: Start, tmp_path: Path) -> None:
    with arena(tmp_path, dict.fromkeys(config(ENDLESS).bots, "random")) as opened:
        server = RemoteServer(address=opened.address)
        where = ("--server", opened.address, "1")
        call_server(server, lambda connection: connection.create(config(ENDLESS)))
        follow(server, until_games=1)
        add = start(
            "happycity_tournament", "add", *where, "--bots", "late=random", shell='trap "" INT; exec "$@"',
            stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_for_line(add, "late takes part from round")
        add.send_signal(signal.SIGINT)
        _, errors = add.communicate()
        assert add.returncode == 130
        assert errors.splitlines()[-1] == (
            "ended: late; the tournament goes on, and seats of bots that are not connected are forfeited; "
            f"take a bot out with: tournament withdraw 1 --server {opened.address} late"
        )
        withdrawn = json.loads(tournament("withdraw", *where, "late", "--json").output)
        (participation,) = withdrawn["participations"]
        assert participation["last_round"] >= participation["first_round"] > 1
        assert withdrawn["state"] == "running"
        stopped = json.loads(tournament("stop", *where, "--json").output)
        assert (stopped["state"], stopped["participations"]) == ("stopped", withdrawn["participations"])


def stopped_run(folder: Path, chosen: Format) -> Run:
    """Make the folder of a run that was stopped before its first game."""
    folder.mkdir(parents=True)
    url = own_store(folder)
    with Store.create(url) as store:
        tournament_id = store.create_tournament(config(chosen).json(), games_total=6, created_at=0.0)
        store.set_state(tournament_id, TournamentState.STOPPED)
    lineup = Lineup(bots=bot_entries("random,random2=random,gated=random", (), ()))
    run = Run(folder=folder, tournament_id=tournament_id, venue=OwnServer(store=url), lineup=lineup)
    run.save()
    return run


def test_bots_join_and_leave_a_stopped_run() -> None:
    """No server is needed for that; `resume` starts those that play now, and pairs meet equally often."""
    run = stopped_run(Path("runs/mine"), RoundRobin(cycles=1))
    assert "late takes part from round 1 on" in tournament("add", *LATE).output
    assert "random2 was withdrawn before the first round" in tournament("withdraw", "random2").output
    played("resume")
    names = ("random", "gated", "late")
    pairs = {frozenset((one, other)): 2 for one in names for other in names if one < other}
    assert games_by_pair(own_store(run.folder)) == pairs
    assert Run.load(run.folder).lineup.names == names
    assert "random2" not in (run.folder / "bots.log").read_text()


@pytest.mark.thorough
def test_the_end_of_a_run_is_shown_though_its_server_is_gone(start: Start) -> None:
    """A run stops its server after the last game; `add` finds the result in the store then."""
    run = stopped_run(Path("runs/mine"), ENDLESS)
    url = own_store(run.folder)
    server = serve(start, url=url)
    call_server(ARENA, lambda connection: connection.resume(1))
    with RemoteServer(address=ARENA.address).announced(run.folder):
        add = start("happycity_tournament", "add", *LATE, "--json", stderr=subprocess.PIPE)
        wait_for_line(add, "Ctrl-C ends late")
        with Store.create(url) as store:
            store.set_state(1, TournamentState.FINISHED)
        server.kill()
        output, errors = add.communicate()
    assert add.returncode == 0, errors
    assert json.loads(output)["state"] == "finished"


@pytest.mark.parametrize(
    ("chosen", "answered", "new_url"),
    [
        pytest.param(Swiss(rounds=16), True, "sqlite", marks=pytest.mark.thorough),
        pytest.param(Swiss(rounds=16), False, "postgresql", marks=pytest.mark.thorough),
        pytest.param(RoundRobin(cycles=CYCLES), True, "postgresql", marks=pytest.mark.thorough),
        pytest.param(RoundRobin(cycles=CYCLES), False, "sqlite", marks=pytest.mark.thorough),
    ],
    indirect=["new_url"],
)
def test_a_server_that_is_killed_after_an_addition(
    start: Start, gate: Gate, url: str, chosen: Format, *, answered: bool
) -> None:
    """An addition that was answered holds, another may; the games are those of an undisturbed tournament."""
    gate.let_through(4)
    server = serve(start, url=url)
    start("happycity", "bot", "random", "random2=random", "late=random", "--server", ARENA.address)
    start_gated(start)
    call_server(ARENA, lambda connection: connection.create(config(chosen)))
    follow(ARENA, until_games=4)
    gate.let_through(ALL_GAMES)
    if answered:
        added = call_server(ARENA, lambda connection: connection.add_bots(1, ["late"]))
        assert added.bots[-1] == "late"
    else:
        with grpc.insecure_channel(ARENA.address) as channel:
            TournamentServiceStub(channel).AddBots.future(pb.AddBotsRequest(tournament_id=1, bots=["late"]))
            follow(ARENA, until_games=5)
    server.kill()
    server.wait()
    serve(start, url=url)
    last = follow(ARENA)
    assert last.state is TournamentState.FINISHED
    joined = (*config(chosen).bots, "late")
    assert last.bots in ({joined} if answered else {joined, joined[:-1]})
    config_of_end = last.config
    assert config_of_end is not None
    call_server(ARENA, lambda connection: connection.create(config_of_end))
    follow(ARENA, 2)
    assert records(url, 1) == records(url, 2)
    assert len(records(url, 1)) == last.games_total
