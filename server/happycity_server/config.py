"""How a server is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from happycity.errors import ConfigError
from happycity.match import check_bot_name, check_reference_bot, name_key
from happycity_runtime.addresses import TrustedProxies
from happycity_runtime.settings import CommandSettings, load, setting
from happycity_runtime.transport import DEFAULT_ADDRESS, is_loopback, is_unix, split_host_port
from happycity_server.play.limits import SessionLimits

ENVIRONMENT = "HAPPYCITY_SERVE_"
"""What the names of a server's environment variables begin with."""
CONFIG_VARIABLE = f"{ENVIRONMENT}CONFIG"
"""Names the configuration file, as `--config` does."""
DEFAULT_TOKENS = Path("runs/tokens.json")
DEFAULT_STORE = "sqlite:///runs/happycity.sqlite"

MAX_WORKERS = 256

_LIMITS = SessionLimits()
_FOR_WORKERS = {
    *("house", "no_clock", "message_bytes", "hello_time", "ping_interval", "stall_time", "outbox_bytes"),
    *("games_per_bot", "streams_per_token", "streams_per_peer", "calls_per_second", "calls_burst"),
    *("sandbox", "hosted_memory"),
}


def parse_house(text: str) -> dict[str, str]:
    """Return the reference bots of the house by the names under which they play, from `BOT,NAME=BOT,...`.

    ConfigError if a name can't be a bot's, is there twice, or there is no such reference bot.
    """
    bots: dict[str, str] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, builtin = entry.rpartition("=")
        name = check_bot_name(name or builtin)
        if name_key(name) in map(name_key, bots):
            raise ConfigError(f"{name!r} is named more than once")
        bots[name] = check_reference_bot(builtin)
    return bots


def _check_store(url: str) -> None:
    from sqlalchemy import make_url  # noqa: PLC0415 - the help does without
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        make_url(url)
    except ArgumentError:
        raise ValueError("it is not a database URL, such as sqlite:///games.sqlite") from None


def _checked(check: Callable[[str], object]) -> AfterValidator:
    """Return what refuses a text that a check refuses."""

    def checked(text: str) -> str:
        try:
            check(text)
        except ConfigError as error:  # which pydantic doesn't expect
            raise ValueError(str(error)) from None
        return text

    return AfterValidator(checked)


_Address = Annotated[str, _checked(split_host_port)]
_Networks = Annotated[str, _checked(TrustedProxies)]
_Listen = Annotated[str, _checked(lambda address: is_unix(address) or split_host_port(address))]


class LogFormat(Enum):
    """How log lines look."""

    AUTO = "auto"
    """Text on a terminal, JSON elsewhere."""
    CONSOLE = "console"
    JSON = "json"


class BasicSettings(CommandSettings):
    """How a server runs."""

    group: ClassVar[str] = "Basics"

    listen: _Listen = DEFAULT_ADDRESS
    """Address to listen on, host:port or unix:path; port 0 takes a free one and prints it."""
    store: Annotated[str, _checked(_check_store)] = setting(DEFAULT_STORE, secret=True)
    """Database URL where finished games are kept."""
    house: Annotated[str, _checked(parse_house)] = ""
    """Reference bots that the server plays itself, for practice and tournaments, separated by commas;
    NAME=BOT plays BOT under another name."""
    ladder: Path | None = None
    """File that describes a ladder (TOML), in which all bots that connect are paired again and again."""
    web: _Address | None = None
    """Address for pages that a browser shows, host:port; port 0 takes a free one."""
    grace: NonNegativeFloat = 5.0
    """Seconds that running matches may go on when the server is stopped."""
    resume_tournaments: bool = True
    """Continue all unfinished tournaments of the store at the start."""
    stop_with_stdin: bool = False
    """Also stop when the standard input ends, as when a parent process dies."""
    log: LogFormat = LogFormat.AUTO
    """Format of the log."""
    no_clock: bool = False
    """Play all matches without clocks, for debugging."""


class AccessSettings(CommandSettings):
    """Who may do what."""

    group: ClassVar[str] = "Access"

    tokens: Path = DEFAULT_TOKENS
    """File of the tokens; see happycity token. On loopback it need not exist."""
    open: bool = False
    """Let every caller do everything, even if there are tokens."""
    tls_cert: Path | None = None
    """The server's certificate, PEM."""
    tls_key: Path | None = None
    """The key of the certificate, PEM."""
    public: bool = False
    """Let callers without a token look at results and finished games, and play (--guests-play)."""
    guests_play: NonNegativeInt = 20
    """Family games that visitors without a token may begin in an hour from one address, with --public;
    0: none."""
    guest_address: str = setting("", env="HAPPYCITY_SERVER", metavar="ADDRESS")
    """Address by which guests reach the server, for invitations that are made in the browser."""
    guest_ca: Path | None = setting(None, env="HAPPYCITY_CA")
    """CA certificate, PEM, that is part of these invitations, if it is not a well-known one."""
    client_ca: Path | None = None
    """CA certificates, PEM, of which one must have signed a client's certificate."""
    trusted_proxy: _Networks = ""
    """Networks of reverse proxies, CIDR, separated by commas; these say in X-Forwarded-For or Forwarded for
    whom they ask."""
    insecure: bool = False
    """Listen to other machines without tokens or without TLS."""


class WorkerSettings(CommandSettings):
    """Where else games are played."""

    group: ClassVar[str] = "Workers"

    workers: Annotated[NonNegativeInt, Field(le=MAX_WORKERS)] = 0
    """Workers that the server starts here, or with --ray on the nodes of a cluster; 0: none, or with --ray as
    many as the nodes have CPUs for."""
    ray: Annotated[str, Field(min_length=1)] | None = None
    """Ray cluster on whose nodes workers are started, host:port; auto: the one that this machine belongs to;
    local: a new one of this machine alone, which ends with the server."""
    worker_address: _Address | None = None
    """Address at which workers on a Ray cluster reach this server, host:port, if it is not this machine's."""


class HostingSettings(CommandSettings):
    """Bots that participants submit."""

    group: ClassVar[str] = "Hosted bots"

    hosted: Path | None = None
    """Folder in which submitted bots are kept; they play beside the server, in the sandbox."""
    sandbox: Annotated[str, Field(min_length=1)] = "bwrap"
    """What confines submitted bots: bwrap, or a command of podman with {socket}, {command}, {folder},
    {image}, {core} and {seccomp}."""
    hosted_memory: Annotated[int, Field(ge=64 * 1024 * 1024)] = 1024 * 1024 * 1024
    """The most memory of a submitted bot, in bytes."""


class PageSettings(CommandSettings):
    """What browsers and monitoring read."""

    group: ClassVar[str] = "Pages and metrics"

    web_name: str = ""
    """Host name under which browsers reach the pages, as where a proxy stands before them."""
    web_viewers: PositiveInt = 4000
    """Pages that may follow by themselves at once, of all visitors."""
    metrics: _Address | None = None
    """Address for Prometheus, host:port; port 0 takes a free one."""
    insecure_metrics: bool = False
    """Let other machines read the metrics."""


class ConnectionLimits(CommandSettings):
    """Limits of a connection."""

    group: ClassVar[str] = "Limits of connections"

    message_bytes: PositiveInt = 1024 * 1024
    """The largest message that is accepted, in bytes."""
    hello_time: PositiveFloat = 10.0
    """Seconds that a bot may take to say hello."""
    ping_interval: PositiveFloat = _LIMITS.ping_seconds
    """Seconds between pings, which measure the round-trip times of bots and cost as much as a decision."""
    stall_time: PositiveFloat = _LIMITS.stall_seconds
    """Seconds that a bot may leave a message unread."""
    outbox_bytes: PositiveInt = _LIMITS.outbox_bytes
    """Bytes that may wait to be sent to a bot."""
    streams_per_token: PositiveInt = 64
    """Streams that may be open with one token."""
    streams_per_peer: PositiveInt = 1024
    """Streams that may be open from one address without a token."""
    calls_per_second: PositiveFloat = 100.0
    """Calls a second, for each token, or each address without one."""
    calls_burst: PositiveInt = 1000
    """Calls that may come at once after a pause."""


class GameLimits(CommandSettings):
    """Limits of what is played."""

    group: ClassVar[str] = "Limits of games"

    games_per_bot: NonNegativeInt = 1000
    """Games of a bot at once; 0: any number."""
    open_matches: PositiveInt = 1000
    """Single matches that may wait or run at once, practice not counted."""
    practice_matches: PositiveInt = 4
    """Practice matches of a bot, and tables of a visitor, that may wait or run at once."""
    practice_matches_per_hour: PositiveInt = 600
    """Practice matches of a bot, and tables of a visitor, in an hour."""
    open_tournaments: PositiveInt = 16
    """Tournaments that may wait or run at once."""


class ServerSettings(
    GameLimits, ConnectionLimits, PageSettings, HostingSettings, WorkerSettings, AccessSettings, BasicSettings
):
    """How a server is run; the help has the last base first. Times are seconds, sizes bytes."""

    @model_validator(mode="after")
    def _check_together(self) -> ServerSettings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("--tls-cert, --tls-key: one needs the other; give both")
        if self.public and self.open:
            raise ValueError("--public, --open: with --open every caller may do everything; leave one out")
        if self.client_ca is not None and self.tls_cert is None:
            raise ValueError("--client-ca: it needs TLS; give --tls-cert and --tls-key too")
        if self.metrics is not None and not is_loopback(self.metrics) and not self.insecure_metrics:
            raise ValueError(
                f"--metrics: {self.metrics} can be reached from other machines, and metrics are neither "
                "encrypted nor protected; use a loopback address, or allow it with --insecure-metrics"
            )
        return self

    @property
    def house_bots(self) -> dict[str, str]:
        """The reference bots that the server plays itself, by the names under which they play."""
        return parse_house(self.house)

    @property
    def session_limits(self) -> SessionLimits:
        """Limits of a bot and its connection."""
        return SessionLimits(
            ping_seconds=self.ping_interval,
            stall_seconds=self.stall_time,
            outbox_bytes=self.outbox_bytes,
            high_water_bytes=min(_LIMITS.high_water_bytes, self.outbox_bytes),
            games=self.games_per_bot,
            no_clock=self.no_clock,
        )

    def for_workers(self) -> str:
        """Return the settings by which games are played, as JSON; workers play by them too."""
        return self.model_dump_json(include=_FOR_WORKERS)

    @property
    def shown_store(self) -> str:
        """The store's URL with its password hidden."""
        from sqlalchemy import make_url  # noqa: PLC0415

        return make_url(self.store).render_as_string(hide_password=True)

    def toml(self) -> str:
        """Return the settings as a configuration file; a password is hidden, and absent values left out."""
        import tomli_w  # noqa: PLC0415 - rarely needed

        values = self.model_dump(mode="json", exclude_none=True)
        return tomli_w.dumps({**values, "store": self.shown_store})


def load_settings(
    flags: Mapping[str, object], environ: Mapping[str, str], file: Path | None = None
) -> ServerSettings:
    """Make settings of flags, environment, a TOML file and defaults; the former win.

    The environment's `HAPPYCITY_SERVE_CONFIG` names the file if `file` does not. Errors are those of `load`.
    """
    if file is None and environ.get(CONFIG_VARIABLE):
        file = Path(environ[CONFIG_VARIABLE])
    settings = {name: value for name, value in environ.items() if name != CONFIG_VARIABLE}
    return load(ServerSettings, flags, file=file, environ=settings, prefix=ENVIRONMENT)
