"""The commands `happycity serve`, `health`, `bot` and `token`."""

import json
import re
import signal
import stat
import subprocess
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import grpc
import pytest
import trustme
from tests.commands.programs import Start, command_of, happycity, tournament
from tests.tournament.servers import arena
from tests.waiting import LIMIT

from happycity import Config
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.v1.play_service_pb2_grpc import PlayServiceStub
from happycity.wire.messages import PROTOCOL_VERSION, config_message

LISTEN = ("--listen", "unix:arena.sock")


@contextmanager
def channel() -> Iterator[grpc.Channel]:
    with grpc.insecure_channel("unix:arena.sock") as opened:
        grpc.channel_ready_future(opened).result()
        yield opened


@pytest.mark.parametrize(
    ("shell", "number"),
    [('trap "" INT TERM; exec "$@"', signal.SIGINT), ('exec "$@" <&- >&- 2>&-', signal.SIGTERM)],
)
def test_a_signal_stops_a_server_however_it_was_started(
    start: Start, shell: str, number: signal.Signals
) -> None:
    """The status is 0, also where the parent ignores the signal, and without any standard stream."""
    server = start("happycity", "serve", *LISTEN, shell=shell)
    with channel():
        server.send_signal(number)
    assert server.wait() == 0


@pytest.mark.parametrize("shell", ['exec "$@"', 'exec "$@" <&-'])
def test_a_server_can_stop_with_its_standard_input(start: Start, shell: str) -> None:
    server = start("happycity", "serve", *LISTEN, "--stop-with-stdin", shell=shell, stdin=subprocess.PIPE)
    server.communicate()  # closes the input
    assert server.returncode == 0


def test_a_second_signal_voids_the_matches_that_run(start: Start, tmp_path: Path) -> None:
    """One signal lets them end, another ends them; the log is JSON where nobody reads it, the status is 0."""
    server = start("happycity", "serve", *LISTEN, "--grace", "3600", "--no-clock", stderr=subprocess.PIPE)
    assert server.stderr is not None
    events = [json.loads(server.stderr.readline())["event"]]
    with match_that_hangs():
        server.send_signal(signal.SIGTERM)
        while events[-1] != "finishing_matches":
            events.append(json.loads(server.stderr.readline())["event"])
        server.send_signal(signal.SIGTERM)
        events += [json.loads(line)["event"] for line in server.communicate()[1].splitlines()]
    assert server.returncode == 0
    steps = ["listening", "access_open", "stopping", "finishing_matches", "voiding_matches", "stopped"]
    assert [event for event in events if event in steps] == steps
    assert (tmp_path / "runs" / "happycity.sqlite").is_file()  # the store by default


@contextmanager
def match_that_hangs() -> Iterator[None]:
    """Begin a match between two bots that never answer, and keep them connected."""
    queues = [SimpleQueue[play.PlayRequest | None]() for _ in range(2)]
    with channel() as opened:
        streams = [PlayServiceStub(opened).Play(iter(queue.get, None)) for queue in queues]
        for name, queue, stream in zip(("one", "two"), queues, streams, strict=True):
            queue.put(play.PlayRequest(hello=play.Hello(protocol_version=PROTOCOL_VERSION, name=name)))
            assert next(stream).HasField("welcome")
        request = match_pb.CreateMatchRequest(config=config_message(Config(players=2)), bots=["one", "two"])
        MatchServiceStub(opened).CreateMatch(request)
        for stream in streams:
            assert any(response.games_started for response in stream)  # there may be a ping before
        yield
        for queue in queues:
            queue.put(None)


def test_settings_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Flags, environment and file together, as a file that has the same effect; nothing is served.
    Path("server.toml").write_text('store = "postgresql://olga:secret@db/arena"\nopen_matches = 5\n')
    monkeypatch.setenv("HAPPYCITY_SERVE_CONFIG", "server.toml")
    monkeypatch.setenv("HAPPYCITY_SERVE_OPEN_TOURNAMENTS", "6")
    done = happycity("serve", "--print-config", "--grace", "7")
    printed = tomllib.loads(done.output)
    assert (printed["open_matches"], printed["open_tournaments"], printed["grace"]) == (5, 6, 7.0)
    assert printed["store"] == "postgresql://olga:***@db/arena"


def new_token(role: str, name: str, *options: str) -> str:
    return happycity("token", "create", "--role", role, "--name", name, *options).output.strip()


def test_a_token_is_printed_once() -> None:
    done = happycity("token", "create", "--role", "organiser", "--name", "alice")
    assert re.fullmatch(r"hc_[0-9a-f]{8}_[A-Za-z0-9_-]{43}\n", done.output)
    token_id = done.output.split("_")[1]
    assert done.errors == f"organiser token {token_id} of alice, for ever; in runs/tokens.json\n"
    path = Path("runs/tokens.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert done.output.strip() not in path.read_text()


def test_no_file_of_tokens_is_made_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the folder above the server's, or in that of a guest."""
    create = ("token", "create", "--name", "olga", "--role")
    monkeypatch.setenv("HAPPYCITY_SERVER", "grpcs://arena.example:1")
    roles = [(*create, role) for role in ("bot", "observer", "organiser", "worker")]
    for words in (*roles, ("token", "list"), ("token", "revoke", "00000000")):
        refused = happycity(*words).error
        assert refused.startswith("--tokens: there is no file runs/tokens.json; go to the folder"), words
    assert not Path("runs").exists()
    assert happycity("token", "revoke", "00000000", "--tokens", "new/tokens.json").status == 2
    assert not Path("new").exists()
    monkeypatch.delenv("HAPPYCITY_SERVER")
    assert happycity(*create, "organiser").status == 0
    assert happycity(*create, "bot").status == 0


def test_tokens_are_listed_until_they_are_revoked() -> None:
    tokens = ("--tokens", "etc/tokens.json")
    token_id = new_token("organiser", "olga", "--expires", "30d", *tokens).split("_")[1]
    new_token("observer", "olaf", *tokens, "--owner", "club")
    listed = happycity("token", "list", *tokens).output
    assert re.match(r"id +role +valid +name$", listed, re.M)
    names = [re.search(r"\b(name|olga|olaf)\b", line) for line in listed.splitlines()]
    assert len({name and name.start() for name in names}) == 1  # the columns meet
    assert re.search(rf"^{token_id}  organiser  until \d{{4}}-\d\d-\d\d \d\d:\d\d UTC +olga$", listed, re.M)
    assert re.search(r"^[0-9a-f]{8}  observer   for ever +olaf \(owner: club\)$", listed, re.M)
    olga, olaf = json.loads(happycity("token", "list", "--json", *tokens).output)
    assert set(olga) == {"id", "role", "name", "owner", "created", "expires", "expired"}
    assert (olga["owner"], olaf["owner"]) == ("olga", "club")
    assert (olga["id"], olga["role"], olga["expired"]) == (token_id, "organiser", False)
    revoked = happycity("token", "revoke", token_id, *tokens)
    assert revoked.output == f"revoked: organiser token {token_id} of olga\n"
    assert json.loads(happycity("token", "list", "--json", *tokens).output) == [olaf]


def test_a_tournament_on_a_server_with_tokens_and_tls(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each bot gets its own token, the organiser keeps his, and no secret is written anywhere."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    organiser = new_token("organiser", "olga")
    tokens = {name: new_token("bot", name) for name in ("random", "greedy", "mine")}
    with Path("server.log").open("w") as log:
        server = start(
            "happycity", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
            "--tls-cert", "both.pem", "--tls-key", "both.pem", stderr=log,
        )  # fmt: skip
    assert server.stdout is not None
    addresses = json.loads(server.stdout.readline())
    monkeypatch.setenv("HAPPYCITY_TOKENS", ",".join("=".join(token) for token in tokens.items()))
    run = (
        "run", "--server", f"grpcs://{addresses['listening']}", "--rounds", "1", "--seats", "3",
        "--bots", "random,greedy", "--bot", command_of("first_move", name="mine"),
    )  # fmt: skip
    monkeypatch.setenv("HAPPYCITY_CA", "no.pem")
    assert "HAPPYCITY_CA: no.pem can't be read: No such file" in tournament(*run).error
    monkeypatch.setenv("HAPPYCITY_CA", "ca.pem")
    assert "this server needs a token" in tournament(*run).error
    monkeypatch.setenv("HAPPYCITY_TOKEN", organiser)
    done = tournament(*run, "--json")
    assert done.status == 0, done
    standings = json.loads(done.output)["standings"]
    assert {line["bot"]: line["forfeits"] for line in standings} == dict.fromkeys(tokens, 0)

    with urllib.request.urlopen(f"http://{addresses['metrics']}/metrics", timeout=LIMIT) as answer:
        written = [answer.read().decode(), done.output, done.errors]
    written.append(Path(f"/proc/{server.pid}/cmdline").read_text())
    server.terminate()
    assert server.wait() == 0
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pem"]
    assert {"server.log", "run.json", "bots.log", "bot-mine.log"} <= {path.name for path in files}
    written += [path.read_bytes().decode(errors="replace") for path in files]
    for token in (organiser, *tokens.values()):
        assert not any(token.split("_", 2)[2] in text for text in written)
        assert any(token.split("_")[1] in text for text in written)  # logs have the id


def test_health_is_asked_by_service_and_with_a_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The status is 1 where no server answers, as without TLS where it is needed, or no such service is."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    leaf = authority.issue_cert("arena.example.org")
    leaf.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    both = tmp_path / "both.pem"
    with arena(tmp_path, {}, tls_cert=both, tls_key=both, client_ca=tmp_path / "ca.pem") as opened:
        address = f"grpcs://{opened.address}"
        health = ("status", "--health", address, "--server-name", "arena.example.org")
        for name, file in (("CA", tmp_path / "ca.pem"), ("CERT", both), ("KEY", both)):
            monkeypatch.setenv(f"HAPPYCITY_{name}", str(file))
        done = happycity(*health, "--service", "happycity.v1.PlayService")
        assert (done.status, done.output) == (0, f"{address}: serving\n")
        unknown = happycity(*health, "--service", "no.such.Service")
        assert (unknown.status, unknown.errors) == (1, f"{address}: no such service\n")
        status = happycity("status", opened.address)
        assert f"error: {opened.address} does not answer without TLS" in status.errors
        for name in ("CERT", "KEY"):
            monkeypatch.delenv(f"HAPPYCITY_{name}")
        assert "set HAPPYCITY_CERT and HAPPYCITY_KEY" in happycity(*health).errors
