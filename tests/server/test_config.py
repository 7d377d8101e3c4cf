"""A server's settings: where they come from, and what makes no sense."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from happycity_server.addresses import host_and_port, is_loopback
from happycity_server.config import ServerSettings, SettingsError, load_settings
from happycity_server.logs import LogFormat


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a configuration file with two settings."""
    path = tmp_path / "server.toml"
    path.write_text('listen = "127.0.0.1:1"\ngrace_seconds = 1.5\n')
    return path


def problems_of(
    flags: dict[str, object] | None = None, environ: dict[str, str] | None = None, file: Path | None = None
) -> list[str]:
    """Return what is wrong with settings."""
    with pytest.raises(SettingsError) as caught:
        load_settings(flags or {}, environ or {}, file)
    assert not any("\n" in problem for problem in caught.value.problems)
    return list(caught.value.problems)


def test_defaults_hold_where_nothing_is_said() -> None:
    """Without flags, environment and file, the settings are the model's own."""
    assert load_settings({}, {}) == ServerSettings()


def test_flags_win_over_environment_over_file(file: Path) -> None:
    """Each source wins over those behind it, setting by setting."""
    environ = {"HAPPYCITY_SERVE_LISTEN": "127.0.0.1:2"}
    assert load_settings({}, {}, file).listen == "127.0.0.1:1"
    assert load_settings({}, environ, file).listen == "127.0.0.1:2"
    settings = load_settings({"listen": "127.0.0.1:3"}, environ, file)
    assert (settings.listen, settings.grace_seconds) == ("127.0.0.1:3", 1.5)


def test_environment_may_name_the_file(file: Path) -> None:
    """A container needs no arguments; --config wins over the variable."""
    assert load_settings({}, {"HAPPYCITY_SERVE_CONFIG": str(file)}).grace_seconds == 1.5
    other = file.with_name("other.toml")
    other.write_text("grace_seconds = 2")
    assert load_settings({}, {"HAPPYCITY_SERVE_CONFIG": str(file)}, other).grace_seconds == 2


def test_environment_gives_any_kind_of_value() -> None:
    """Numbers, switches, paths and choices are read from their text; an empty variable says nothing."""
    settings = load_settings(
        {},
        {
            "HAPPYCITY_SERVE_OPEN_MATCHES": "7",
            "HAPPYCITY_SERVE_NO_CLOCK": "1",
            "HAPPYCITY_SERVE_TOKENS": "/etc/tokens.json",
            "HAPPYCITY_SERVE_LOG": "json",
            "HAPPYCITY_SERVE_LISTEN": "",
            "HAPPYCITY_SERVER": "not.a.setting:1",
        },
    )
    assert settings == ServerSettings(
        open_matches=7, no_clock=True, tokens=Path("/etc/tokens.json"), log=LogFormat.JSON
    )


def test_unknown_key_is_named_with_the_nearest(file: Path) -> None:
    """A slip of the pen is an error that helps, wherever it was made."""
    file.write_text("listn = 1\n[limits]\nopen_matches = 5\n")
    assert problems_of(file=file) == [
        f"{file}: listn: there is no such key; the nearest is listen",
        f"{file}: limits: there is no such key; the nearest is listen",
    ]
    assert problems_of(environ={"HAPPYCITY_SERVE_LISTN": "x"}) == [
        "HAPPYCITY_SERVE_LISTN: there is no such key; the nearest is HAPPYCITY_SERVE_LISTEN"
    ]


def test_every_problem_is_told_with_its_place(file: Path) -> None:
    """One line for each value that makes no sense, and who said it."""
    file.write_text("open_matches = 0\n")
    found = problems_of({"grace_seconds": -1.0}, {"HAPPYCITY_SERVE_LISTEN": "nonsense"}, file)
    assert found == [
        "HAPPYCITY_SERVE_LISTEN: 'nonsense' is not host:port, such as 127.0.0.1:50051",
        "--grace: Input should be greater than or equal to 0",
        f"{file}: open_matches: Input should be greater than 0",
    ]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"tls_cert": "a.pem"}, "tls_cert, tls_key: one needs the other"),
        ({"tls_key": "a.pem"}, "tls_cert, tls_key: one needs the other"),
        ({"client_ca": "a.pem"}, "client_ca: it needs TLS"),
        ({"metrics": "0.0.0.0:9464"}, "metrics: 0.0.0.0:9464 can be reached from other machines"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(values: dict[str, object], told: str) -> None:
    """What one setting needs of another is told."""
    (problem,) = problems_of(values)
    assert problem.startswith(told)


def test_metrics_may_be_public_if_that_is_meant() -> None:
    """Metrics have no protection, so it takes a word of their own to show them to other machines."""
    settings = load_settings({"metrics": "0.0.0.0:9464", "insecure_metrics": True}, {})
    assert settings.metrics == "0.0.0.0:9464"


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "can't be read: No such file"), ("listen", "is no TOML"), ("\udcff", "is no TOML")],
)
def test_file_that_is_none_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    """A missing or broken file is told in one line."""
    path = tmp_path / "server.toml"
    if content is not None:
        path.write_text(content, errors="surrogateescape")
    (problem,) = problems_of(file=path)
    assert problem.startswith(f"config: {path} {told}")


def test_settings_written_are_settings_read(tmp_path: Path) -> None:
    """What is printed is a configuration file for the same server."""
    settings = ServerSettings(listen="[::1]:0", log=LogFormat.JSON, metrics="127.0.0.1:0", open_matches=3)
    path = tmp_path / "server.toml"
    path.write_text(settings.toml())
    assert load_settings({}, {}, path) == settings


def test_password_of_the_store_is_not_shown() -> None:
    """A database URL may hold one; it is neither printed nor told in an error."""
    settings = ServerSettings(store="postgresql://olga:geheim@db/arena")
    assert tomllib.loads(settings.toml())["store"] == "postgresql://olga:***@db/arena"
    assert "geheim" not in settings.toml() + settings.shown_store
    (problem,) = problems_of({"store": "geheim"})
    assert problem == "--store: it is no database URL, such as sqlite:///games.sqlite"


def test_settings_are_frozen() -> None:
    """A running server's settings can't be changed by accident."""
    with pytest.raises(ValidationError, match="frozen"):
        ServerSettings().listen = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("127.0.0.1:1", True),
        ("127.8.8.8:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("unix:/run/arena.sock", True),
        ("unix-abstract:arena", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.1.2.3:1", False),
        ("arena.example.org:1", False),
        ("localhost.example.org:1", False),
    ],
)
def test_loopback_is_told_from_the_rest(address: str, *, is_local: bool) -> None:
    """Only what can't be reached from other machines is loopback; names are not trusted."""
    assert is_loopback(address) is is_local


@pytest.mark.parametrize(
    "address", ["", "1", ":1", "host:", "host:65536", "a:b:1", "::1:1", "[::1]", "host:1 "]
)
def test_address_that_is_none_is_refused(address: str) -> None:
    """Host and port are both needed, and an IPv6 host has brackets."""
    with pytest.raises(ValueError, match="is not host:port"):
        host_and_port(address)
