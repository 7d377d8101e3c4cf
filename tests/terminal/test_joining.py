"""`happycity invite` and `happycity join`: from the organiser's link to the file that a guest's bots read."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.programs import run
from tests.server.harness import issued_token
from tests.server.server_process import server_process

from happycity.runtime.tokens import Role, read_tokens_file
from happycity_client import Settings

LINK = "grpc://127.0.0.1:1/join/hci_00000000_hidden"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a server with an organiser's token, in a folder of the test."""
    issued_token(tmp_path / "tokens.json", Role.ORGANISER, "olga")
    with server_process(tmp_path, "--tokens", str(tmp_path / "tokens.json")) as process:
        yield process.address


def invited(folder: Path, server: str, *options: str) -> str:
    arguments = ("invite", "create", "--owner", "Team 7", "--tokens", "tokens.json", "--server", server)
    done = run(*arguments, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def tokens_in(folder: Path) -> dict[str, str]:
    """Return the tokens of bots in a file of settings as a bot of the Python SDK gets them, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # What the file has is put into the environment, which this forgets at its end.
        for name in ("SERVER", "CA", "TOKEN", "TOKENS", "NAME"):
            patch.setenv(f"HAPPYCITY_{name}", "")
            patch.delenv(f"HAPPYCITY_{name}")
        return {name: Settings.from_env("Class", name=name).access.token for name in ("alice", "bea")}


@pytest.mark.level(3)
def test_a_guest_joins_renews_and_leaves(server: str, tmp_path: Path) -> None:
    guest = tmp_path / "guest"
    guest.mkdir()
    link = invited(tmp_path, server, "--bots", "2")
    joined = run("join", link, "--bot", "alice", "--bot", "bea", cwd=guest)
    assert joined.returncode == 0, joined.stderr
    assert "as Team 7 with alice, bea" in joined.stdout
    assert (guest / "happycity.env").stat().st_mode & 0o077 == 0
    first = tokens_in(guest)
    ids = [one.id for one in read_tokens_file(tmp_path / "tokens.json").tokens[1:]]
    assert [first[name].split("_")[1] for name in ("alice", "bea")] == ids
    again = run("join", link, "--bot", "carl", "--out", "other.env", cwd=guest)
    assert again.returncode == 2
    assert "the invitation is unknown, used or expired" in again.stderr
    assert link.split("/")[-1] not in again.stderr
    assert run("join", "--renew", cwd=guest).returncode == 0
    second = tokens_in(guest)
    assert not {*first.values()} & {*second.values()}
    assert json.loads(run("status", "--json", cwd=guest).stdout)["bots"] == []
    assert run("join", "--revoke", cwd=guest).returncode == 0
    assert [one.name for one in read_tokens_file(tmp_path / "tokens.json").tokens] == ["olga"]
    assert not (guest / "happycity.env").exists()


@pytest.mark.level(2)
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
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: tuple[str, ...], problem: str) -> None:
    (tmp_path / "there").write_text("")
    done = run("join", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {problem}")
    assert "hidden" not in line


@pytest.mark.level(2)
def test_invitations_are_listed_and_revoked(tmp_path: Path) -> None:
    """The list has no secret."""
    link = invited(tmp_path, "grpc://127.0.0.1:1", "--bots", "3", "--expires", "90m")
    (stored,) = read_tokens_file(tmp_path / "tokens.json").invitations
    file = ("--tokens", "tokens.json")
    listed = run("invite", "list", *file, cwd=tmp_path).stdout
    assert listed.startswith(f"{stored.id}  Team 7 for 3 bots, until ")
    (row,) = json.loads(run("invite", "list", "--json", *file, cwd=tmp_path).stdout)
    assert (row["id"], row["owner"], row["bots"], "sha256" in row) == (stored.id, "Team 7", 3, False)
    assert link.endswith(link.split("_")[-1])
    assert link.split("_", 2)[2] not in listed
    assert run("invite", "revoke", stored.id, *file, cwd=tmp_path).returncode == 0
    gone = run("invite", "revoke", stored.id, *file, cwd=tmp_path)
    assert (gone.returncode, gone.stderr.startswith("error: there is no invitation")) == (2, True)
    wrong = run("invite", "create", "--owner", "two\nlines", *file, cwd=tmp_path)
    assert wrong.stderr == "error: owner 'two\\nlines': use 1-64 printable characters, such as 'Team 7'\n"
