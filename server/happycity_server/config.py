"""How a server is run: one model, from flags, environment, file and defaults, in this order."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from happycity.errors import HappyCityError
from happycity_server.addresses import host_and_port, is_loopback, is_unix
from happycity_server.logs import LogFormat
from happycity_server.streams import SessionLimits

ENVIRONMENT = "HAPPYCITY_SERVE_"
"""What the names of a server's environment variables begin with."""
CONFIG_VARIABLE = f"{ENVIRONMENT}CONFIG"
"""Names the configuration file, as `--config` does."""

_LIMITS = SessionLimits()


class SettingsError(HappyCityError):
    """A configuration makes no sense; one line for each problem."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


def _check_listen(address: str) -> str:
    if not is_unix(address):
        host_and_port(address)
    return address


def _check_metrics(address: str) -> str:
    host_and_port(address)
    return address


def _check_store(url: str) -> str:
    try:
        make_url(url)
    except ArgumentError:
        raise ValueError("it is no database URL, such as sqlite:///games.sqlite") from None
    return url


class ServerSettings(BaseModel):
    """How a server is run. Times are seconds, sizes bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    listen: Annotated[str, AfterValidator(_check_listen)] = "127.0.0.1:50051"
    """Address, host:port or unix:path; port 0 takes a free one."""
    store: Annotated[str, AfterValidator(_check_store)] = "sqlite:///runs/happycity.sqlite"
    """Database URL where finished games are kept."""
    grace_seconds: NonNegativeFloat = 5.0
    """How long running matches may go on when the server is told to stop."""
    stop_with_stdin: bool = False
    """Whether the end of the standard input stops the server too."""
    resume_tournaments: bool = True
    """Whether a server that starts goes on with all unfinished tournaments of its store."""
    log: LogFormat = LogFormat.AUTO
    """How log lines look."""

    tokens: Path = Path("runs/tokens.json")
    """File of the tokens. On loopback it need not be there."""
    open: bool = False
    """Whether everybody may do everything, even if there are tokens."""
    tls_cert: Path | None = None
    """The server's certificate, in PEM."""
    tls_key: Path | None = None
    """Its key, in PEM."""
    client_ca: Path | None = None
    """Authorities, in PEM; clients must show a certificate that one of them has signed."""
    insecure: bool = False
    """Whether to listen to other machines without tokens or TLS."""
    metrics: Annotated[str, AfterValidator(_check_metrics)] | None = None
    """Address, host:port, where Prometheus finds metrics; None is nowhere."""
    insecure_metrics: bool = False
    """Whether other machines may read the metrics, which anybody can who reaches the address."""
    no_clock: bool = False
    """Whether all matches are played without clocks, for debugging."""

    message_bytes: PositiveInt = 1024 * 1024
    """The largest message that is accepted."""
    hello_seconds: PositiveFloat = 10.0
    """How long a bot may take to say hello."""
    ping_seconds: PositiveFloat = _LIMITS.ping_seconds
    """How often bots are asked for a sign of life; after three times as long without any, the stream ends."""
    stall_seconds: PositiveFloat = _LIMITS.stall_seconds
    """How long a bot may leave a message unread."""
    outbox_bytes: PositiveInt = _LIMITS.outbox_bytes
    """How much may wait to be sent to a bot."""
    games_per_bot: NonNegativeInt = 1000
    """Games of a bot at once; 0 is any number."""
    streams_per_token: PositiveInt = 64
    """Streams that may be open with one token."""
    streams_per_peer: PositiveInt = 1024
    """Streams that may be open from one address without a token."""
    calls_per_second: PositiveFloat = 100.0
    """Calls a second, for each token, or each address without one."""
    calls_burst: PositiveInt = 1000
    """Calls that may come at once after a pause."""
    open_matches: PositiveInt = 1000
    """Single matches that may wait or run at once."""
    open_tournaments: PositiveInt = 16
    """Tournaments that may wait or run at once."""
    simulation_workers: NonNegativeInt = 1
    """Processes that play simulations; 0 turns them off."""
    simulation_playouts_per_minute: PositiveInt = 120_000
    """Playouts and explored positions a minute, for each token, or each address without one."""

    @model_validator(mode="after")
    def _check_together(self) -> ServerSettings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert, tls_key: one needs the other; give both")
        if self.client_ca is not None and self.tls_cert is None:
            raise ValueError("client_ca: it needs TLS; give tls_cert and tls_key too")
        if self.metrics is not None and not is_loopback(self.metrics) and not self.insecure_metrics:
            raise ValueError(
                f"metrics: {self.metrics} can be reached from other machines, and metrics are neither "
                "encrypted nor protected; use a loopback address, or allow it with --insecure-metrics"
            )
        return self

    @property
    def session_limits(self) -> SessionLimits:
        """What the server puts up with from a bot's connection."""
        return SessionLimits(
            ping_seconds=self.ping_seconds,
            stall_seconds=self.stall_seconds,
            outbox_bytes=self.outbox_bytes,
            high_water_bytes=min(_LIMITS.high_water_bytes, self.outbox_bytes),
            games=self.games_per_bot,
            no_clock=self.no_clock,
        )

    @property
    def shown_store(self) -> str:
        """The store's URL without the password in it."""
        return make_url(self.store).render_as_string(hide_password=True)

    def toml(self) -> str:
        """Return the settings as a configuration file; a password is hidden, and what isn't set left out."""
        values = self.model_dump(mode="json", exclude_none=True)
        return tomli_w.dumps({**values, "store": self.shown_store})


def load_settings(
    flags: Mapping[str, object], environ: Mapping[str, str], file: Path | None = None
) -> ServerSettings:
    """Make settings of flags, environment, the TOML file and defaults; the former win.

    Args:
        flags: what was given, by key.
        environ: the environment; `HAPPYCITY_SERVE_CONFIG` names the file if `file` does not.
        file: the TOML file.

    Raises:
        SettingsError: an unknown key, or a value that makes no sense.
    """
    # pydantic-settings would merge the sources too, but not tell which of them a wrong value came from.
    if file is None and environ.get(CONFIG_VARIABLE):
        file = Path(environ[CONFIG_VARIABLE])
    in_file = _read_toml(file) if file is not None else {}
    given = {name: value for name, value in environ.items() if name.startswith(ENVIRONMENT) and value}
    given.pop(CONFIG_VARIABLE, None)
    places = {key: f"{file}: {key}" for key in in_file}
    places |= {_key(name): name for name in given}
    places |= {key: f"--{key.removesuffix('_seconds').replace('_', '-')}" for key in flags}
    values = {**in_file, **{_key(name): value for name, value in given.items()}, **flags}
    try:
        return ServerSettings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(_problem(detail, places) for detail in error.errors()) from None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError([f"config: {path} can't be read: {error.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError([f"config: {path} is no TOML: {error}"]) from None


def _key(variable: str) -> str:
    return variable.removeprefix(ENVIRONMENT).lower()


def _problem(detail: Any, places: Mapping[str, str]) -> str:
    """Say in one line what is wrong and where it was said."""
    if not detail["loc"]:
        return str(detail["ctx"]["error"])
    key = str(detail["loc"][0])
    place = places[key]
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, ServerSettings.model_fields, n=1, cutoff=0.0)[0]
        shown = f"{ENVIRONMENT}{near.upper()}" if place.startswith(ENVIRONMENT) else near
        return f"{place}: there is no such key; the nearest is {shown}"
    message = detail["ctx"]["error"] if detail["type"] == "value_error" else detail["msg"]
    return f"{place}: {message}"
