"""The folder of a run: what it keeps, and what it never keeps."""

import os
import stat
from pathlib import Path

import pytest

from happycity import ConfigError
from happycity_runtime.tokens import Role, read_tokens_file
from happycity_runtime.transport import Access
from happycity_tournament.client import run_folder
from happycity_tournament.client.tokens import IssuedTokens, tokens_of_environment
from happycity_tournament.lineup import BotEntry, Lineup

PASSWORD_URL = "postgresql+psycopg://me:hidden@host/games?password=hidden&sslmode=require"


def saved(
    folder: Path, venue: run_folder.ServerChoice, lineup: Lineup | None = None, *, created_at: float = 3.0
) -> run_folder.Run:
    run = run_folder.Run(
        folder=folder, tournament_id=3, created_at=created_at, venue=venue, lineup=lineup or Lineup()
    )
    run.save()
    return run_folder.Run.load(folder)


@pytest.mark.parametrize(
    "venue",
    [
        run_folder.OwnServer(store="sqlite:////somewhere/games.sqlite", workers=2),
        run_folder.OwnServer(store="sqlite:////somewhere/games.sqlite", ray="auto"),
        run_folder.RemoteServer(address="h:1"),
    ],
)
def test_a_run_outlives_its_process(tmp_path: Path, venue: run_folder.ServerChoice) -> None:
    lineup = Lineup(
        bots=(
            BotEntry(name="old", builtin="greedy"),
            BotEntry(name="mine", command="python 'my bot.py'"),
            BotEntry(name="guest", join=True),
        ),
        processes=2,
        directory=tmp_path / "bots",
    )
    expected = run_folder.Run(folder=tmp_path, tournament_id=3, created_at=3.0, venue=venue, lineup=lineup)
    assert saved(tmp_path, venue, lineup) == expected


def test_paths_hold_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = run_folder.new_folder()
    other = saved(folder, run_folder.OwnServer(store="sqlite:///shared/games.sqlite"))
    assert other.venue == run_folder.OwnServer(store=f"sqlite:///{tmp_path}/shared/games.sqlite")
    access = Access(ca=Path("ca.pem"), cert=Path("cert.pem"), key=Path("key.pem"))
    remote = saved(folder, run_folder.RemoteServer(address="h:1", access=access)).venue
    absolute = Access(ca=tmp_path / "ca.pem", cert=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    assert remote == run_folder.RemoteServer(address="h:1", access=absolute)
    saved(folder, run_folder.OwnServer(store=run_folder.own_store(folder)))
    moved = folder.rename("moved")
    assert run_folder.Run.load(moved).venue == run_folder.OwnServer(store=run_folder.own_store(moved))


def test_neither_tokens_nor_passwords_are_kept(tmp_path: Path) -> None:
    """They are asked for again; what isn't secret stays."""
    assert saved(tmp_path, run_folder.OwnServer(store=PASSWORD_URL)).venue == run_folder.OwnServer(
        store=run_folder.without_password(PASSWORD_URL)
    )
    assert run_folder.without_password(PASSWORD_URL) == "postgresql+psycopg://me@host/games?sslmode=require"
    ca = tmp_path / "ca.pem"
    loaded = saved(
        tmp_path, run_folder.RemoteServer(address="grpcs://h:1", access=Access(token="hidden", ca=ca))
    )
    assert loaded.venue == run_folder.RemoteServer(address="grpcs://h:1", access=Access(ca=ca))
    assert "hidden" not in (tmp_path / "run.json").read_text()


def test_a_file_that_is_not_a_run_is_refused(tmp_path: Path) -> None:
    """The error names it in one line; a damaged announcement of a server is none."""
    for content in (b"", b"[]", b"{}", b'{"format": "happycity-run/9"}', b'{"format": 1}', b"\xff"):
        (tmp_path / "run.json").write_bytes(content)
        with pytest.raises(ConfigError) as refused:
            run_folder.Run.load(tmp_path)
        assert str(refused.value).startswith(f"{tmp_path}/run.json can't be read as a run: ")
        assert "\n" not in str(refused.value)
    for text in ("", "[]", "{}", '{"address": "x"}'):
        (tmp_path / "server.json").write_text(text)
        assert run_folder.RemoteServer.of_run(tmp_path) is None


def test_folders_have_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that begin in the same second have numbers; the one that was created last is the latest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form, moment: "20261122-070000")
    with pytest.raises(ConfigError, match="there is no run in runs/"):
        run_folder.latest_run()
    folders = [run_folder.new_folder() for _ in range(11)]
    for created_at, folder in enumerate(folders):
        saved(folder, run_folder.OwnServer(store=run_folder.own_store(folder)), created_at=created_at)
    run_folder.new_folder()  # its run is not set up yet
    assert [folder.name for folder in folders[:2]] == ["20261122-070000", "20261122-070000-2"]
    assert run_folder.latest_run() == folders[-1]


def test_a_running_server_is_announced_to_its_user_alone(tmp_path: Path) -> None:
    """Other commands find address and token, other users can't read them, and the end takes them away."""
    path = tmp_path / "server.json"
    server = run_folder.RemoteServer(address="127.0.0.1:5", access=Access(token="hc_1_x"))
    assert run_folder.RemoteServer.of_run(tmp_path) is None
    old_mask = os.umask(0)
    try:
        with server.announced(tmp_path):
            assert run_folder.RemoteServer.of_run(tmp_path) == server
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(old_mask)
    assert list(tmp_path.iterdir()) == []


def test_each_bot_has_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = IssuedTokens(tmp_path / "tokens.json")
    clear = {**tokens.of(["ann", "bob"]), "organiser": tokens.for_role(Role.ORGANISER)}
    assert len(set(clear.values())) == 3
    assert tokens.of([]) == {}
    content = tokens.path.read_text()
    assert not any(token in content for token in clear.values())
    assert {(token.name, token.role) for token in read_tokens_file(tokens.path).tokens} == {
        ("ann", Role.BOT),
        ("bob", Role.BOT),
        ("organiser", Role.ORGANISER),
    }


def test_tokens_of_another_server_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAPPYCITY_TOKENS", "ann=hc_1_x,cem=hc_2_y")
    assert tokens_of_environment(["ann", "bob"]) == {"ann": "hc_1_x"}
    monkeypatch.setenv("HAPPYCITY_TOKENS", "hc_1_x")
    with pytest.raises(ConfigError, match=r"HAPPYCITY_TOKENS: entry 1 is not NAME=TOKEN"):
        tokens_of_environment(["ann"])
    monkeypatch.delenv("HAPPYCITY_TOKENS")
    assert tokens_of_environment(["ann"]) == {}
