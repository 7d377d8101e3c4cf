"""`happycity invite` and `happycity join`: from the organiser's link to the file that a guest's bots read."""

import asyncio
import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.commands.programs import happycity
from tests.programs import run
from tests.server.harness import issued_token, serving
from tests.server.server_process import server_process

from happycity_client import Settings
from happycity_runtime.tokens import Role, read_tokens_file
from happycity_server.access.token_file import SecretCall, add_invitation
from happycity_terminal import joining

LINK = "grpc://127.0.0.1:1/join/hci_00000000_hidden"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a server in a folder of the test, where commands have an organiser's token."""
    monkeypatch.setenv("HAPPYCITY_TOKEN", issued_token(tmp_path / "tokens.json", Role.ORGANISER, "olga"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = "--tokens", str(tmp_path / "tokens.json"), "--listen", address, "--guest-address", address
    with server_process(tmp_path, *options):
        yield address


def invited(server: str, *options: str) -> str:
    done = happycity("invite", "create", "--owner", "Team 7", "--server", server, *options)
    assert done.status == 0, done
    return done.output.strip()


def tokens_here() -> dict[str, str]:
    """Return the tokens of bots in the file of settings as a bot of the Python SDK gets them, by name."""
    with pytest.MonkeyPatch.context() as patch:
        # What the file has is put into the environment, which this forgets at its end.
        for name in ("SERVER", "CA", "TOKEN", "TOKENS", "NAME"):
            patch.setenv(f"HAPPYCITY_{name}", "")
            patch.delenv(f"HAPPYCITY_{name}")
        return {name: Settings.from_env("Class", name=name).access.token for name in ("alice", "bea")}


@pytest.mark.level(3)
def test_a_guest_joins_renews_and_leaves(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = invited(server, "--bots", "2")
    monkeypatch.delenv("HAPPYCITY_TOKEN")
    guest = tmp_path / "guest"
    guest.mkdir()
    monkeypatch.chdir(guest)
    # Processes, as these read the file of settings into their environment.
    joined = run("join", link, "--bot", "alice", "--bot", "bea")
    assert joined.returncode == 0, joined.stderr
    assert "as Team 7 with alice, bea" in joined.stdout
    assert Path("happycity.env").stat().st_mode & 0o077 == 0
    first = tokens_here()
    ids = [one.id for one in read_tokens_file(tmp_path / "tokens.json").tokens[1:]]
    assert [first[name].split("_")[1] for name in ("alice", "bea")] == ids
    again = run("join", link, "--bot", "carl", "--out", "other.env")
    assert again.returncode == 2
    assert "the invitation is unknown, used or expired" in again.stderr
    assert link.split("/")[-1] not in again.stderr
    assert run("join", "--renew").returncode == 0
    second = tokens_here()
    assert not {*first.values()} & {*second.values()}
    shown = run("status", "--json")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["bots"] == []
    assert run("join", "--revoke").returncode == 0
    assert [one.name for one in read_tokens_file(tmp_path / "tokens.json").tokens] == ["olga"]
    assert not Path("happycity.env").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "LINK, --renew, --revoke: give one of them"),
        ((LINK, "--renew"), "LINK, --renew, --revoke: give one of them"),
        ((LINK,), "--bot: name your bot, such as --bot alice"),
        ((LINK, "--bot", "a b"), "bot name 'a b': use 1-64 of"),
        ((LINK, "--bot", "alice", "--out", "there"), "there is there already: join from another folder"),
        (("hc_1_x", "--bot", "alice"), "LINK: it is not the link of an invitation"),
        (("--renew", "--bot", "alice"), "--bot: it is for a LINK"),
        (("--renew",), "HAPPYCITY_ENV: there is no file happycity.env"),
        (("--revoke", "--out", "there"), "there has no server or no token; join first"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: tuple[str, ...], problem: str) -> None:
    Path("there").write_text("")
    done = happycity("join", *arguments)
    assert done.error.startswith(problem)
    assert len(done.errors.splitlines()) == 1
    assert "hidden" not in done.errors


@pytest.mark.level(3)
def test_invitations_are_listed_and_revoked(server: str, tmp_path: Path) -> None:
    """By the server, whatever folder the command is in; the list has no secret."""
    link = invited(server, "--bots", "3", "--expires", "90m", "--web", "https://arena.example")
    assert link.startswith(f"https://arena.example/join#grpc://{server}/join/hci_")
    (stored,) = read_tokens_file(tmp_path / "tokens.json").invitations
    at = ("--server", server)
    listed = happycity("invite", "list", *at).output
    assert listed.startswith(f"{stored.id}: Team 7, for 3 bots, until ")
    (row,) = json.loads(happycity("invite", "list", "--json", *at).output)
    assert (row["id"], row["owner"], row["bots"], "sha256" in row) == (stored.id, "Team 7", 3, False)
    assert link.split("_", 2)[2] not in listed
    assert happycity("invite", "revoke", stored.id, *at).status == 0
    assert "there is no invitation" in happycity("invite", "revoke", stored.id, *at).error
    wrong = happycity("invite", "create", "--owner", "two\nlines", *at).error
    assert "owner 'two\\nlines': use 1-64 printable characters, such as 'Team 7'" in wrong


@pytest.mark.parametrize("words", [("create", "--owner", "Team 7"), ("list",), ("revoke", "00000000")])
def test_without_a_server_no_invitation_is_made(words: tuple[str, ...], tmp_path: Path) -> None:
    done = happycity("invite", *words, "--server", "127.0.0.1:1")
    assert done.error.startswith("nothing listens on 127.0.0.1:1")
    assert not list(tmp_path.rglob("tokens.json"))


async def test_joining_that_was_interrupted_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The invitation is used by then, and its tokens come again, for the same file; then nothing is left."""
    tokens, out = tmp_path / "tokens.json", tmp_path / "guest" / "happycity.env"
    issued_token(tokens, Role.ORGANISER, "olga")
    call = SecretCall(datetime.now(UTC))
    secret, _ = add_invitation(tokens, "Team 7", 1, seconds=60, call=call)

    def failing(*_: object) -> None:
        raise OSError("no room")

    async with serving(tmp_path, tokens=tokens) as (server, _):
        link = f"grpc://{server.address}/join/{secret}"
        with monkeypatch.context() as patch:
            patch.setattr(joining, "_write", failing)
            with pytest.raises(OSError, match="no room"):
                await asyncio.to_thread(joining.join_server, link, ["alice"], out)
        before = read_tokens_file(tokens).tokens
        await asyncio.to_thread(joining.join_server, link, ["alice"], out)
    assert [one.name for one in before] == ["olga", "alice"]
    assert read_tokens_file(tokens).tokens == before
    assert [file.name for file in out.parent.iterdir()] == ["happycity.env"]
