"""A server's settings: where they come from, and which are refused."""

import tomllib
from pathlib import Path

import pytest

from happycity_runtime.settings import SettingsError
from happycity_runtime.transport import split_host_port
from happycity_server.config import LogFormat, ServerSettings, load_settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.toml"
    path.write_text('listen = "127.0.0.1:1"\ngrace = 1.5\n')
    return path


def problems_of(
    flags: dict[str, object] | None = None, environ: dict[str, str] | None = None, file: Path | None = None
) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(flags or {}, environ or {}, file)
    assert not any("\n" in problem for problem in caught.value.problems)
    return list(caught.value.problems)


def test_flags_win_over_environment_over_file(file: Path) -> None:
    """Each source wins over those behind it, setting by setting."""
    environ = {"HAPPYCITY_SERVE_LISTEN": "127.0.0.1:2"}
    assert load_settings({}, {}, file).listen == "127.0.0.1:1"
    assert load_settings({}, environ, file).listen == "127.0.0.1:2"
    settings = load_settings({"listen": "127.0.0.1:3"}, environ, file)
    assert (settings.listen, settings.grace) == ("127.0.0.1:3", 1.5)


def test_environment_may_name_the_file(file: Path) -> None:
    """A container needs no arguments; --config wins over the variable."""
    assert load_settings({}, {"HAPPYCITY_SERVE_CONFIG": str(file)}).grace == 1.5
    other = file.with_name("other.toml")
    other.write_text("grace = 2")
    assert load_settings({}, {"HAPPYCITY_SERVE_CONFIG": str(file)}, other).grace == 2


def test_environment_gives_any_kind_of_value() -> None:
    """Numbers, switches, paths and choices are read from their text; an empty variable is ignored."""
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
    """The error for a misspelt key names its place and the nearest key."""
    file.write_text("listn = 1\n[limits]\nopen_matches = 5\n")
    assert problems_of(file=file) == [
        f"{file}: listn: there is no such key; did you mean listen?",
        f"{file}: limits: there is no such key; the nearest is listen",
    ]
    assert problems_of(environ={"HAPPYCITY_SERVE_LISTN": "x"}) == [
        "HAPPYCITY_SERVE_LISTN: there is no such key; did you mean HAPPYCITY_SERVE_LISTEN?"
    ]


def test_every_problem_is_reported_with_its_place(file: Path) -> None:
    """One line for each wrong value, with where it came from."""
    file.write_text("open_matches = 0\n")
    found = problems_of({"grace": -1.0}, {"HAPPYCITY_SERVE_LISTEN": "nonsense"}, file)
    assert found == [
        "HAPPYCITY_SERVE_LISTEN: 'nonsense' is not host:port, such as 127.0.0.1:50051",
        "--grace: -1 must be greater than or equal to 0",
        f"{file}: open_matches: 0 must be greater than 0",
    ]


def test_settings_that_do_not_fit_together_are_refused() -> None:
    """The error says what one setting needs of another; metrics may be public if a setting says so."""
    values: dict[str, dict[str, object]] = {
        "--tls-cert, --tls-key: one needs the other": {"tls_cert": "a.pem"},
        "--tls-cert, --tls-key: one needs": {"tls_key": "a.pem"},
        "--client-ca: it needs TLS": {"client_ca": "a.pem"},
        "--metrics: 0.0.0.0:9464 can be reached from other machines": {"metrics": "0.0.0.0:9464"},
    }
    for text, flags in values.items():
        (problem,) = problems_of(flags)
        assert problem.startswith(text)
    settings = load_settings({"metrics": "0.0.0.0:9464", "insecure_metrics": True}, {})
    assert settings.metrics == "0.0.0.0:9464"


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    """A missing or broken file costs one line."""
    path = tmp_path / "server.toml"
    for content, text in (
        (None, "can't be read: No such file"),
        ("listen", "is not TOML"),
        ("\udcff", "is not TOML"),
    ):
        if content is not None:
            path.write_text(content, errors="surrogateescape")
        (problem,) = problems_of(file=path)
        assert problem.startswith(f"{path} {text}")


def test_settings_written_are_settings_read(tmp_path: Path) -> None:
    """The printed settings are a configuration file for the same server."""
    settings = ServerSettings(listen="[::1]:0", log=LogFormat.JSON, metrics="127.0.0.1:0", open_matches=3)
    path = tmp_path / "server.toml"
    path.write_text(settings.toml())
    assert load_settings({}, {}, path) == settings


def test_password_of_the_store_is_not_shown() -> None:
    """A database URL may hold one; it is neither printed nor part of an error."""
    settings = ServerSettings(store="postgresql://olga:geheim@db/arena")
    assert tomllib.loads(settings.toml())["store"] == "postgresql://olga:***@db/arena"
    assert "geheim" not in settings.toml() + settings.shown_store
    (problem,) = problems_of({"store": "geheim"})
    assert problem == "--store: it is not a database URL, such as sqlite:///games.sqlite"


def test_malformed_address_is_refused() -> None:
    """Host and port are both needed, and an IPv6 host has brackets."""
    for address in ("", "1", ":1", "host:", "host:65536", "a:b:1", "::1:1", "[::1]", "host:1 "):
        with pytest.raises(ValueError, match="is not host:port"):
            split_host_port(address)
