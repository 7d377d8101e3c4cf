"""How a bot ends, and what it says where it can't play."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import grpc

from happycity.text.words import plural
from happycity.v1 import play_service_pb2 as play
from happycity.wire.status import StatusDetails
from happycity_check.certificates import credentials, new_ca, write_pem
from happycity_check.errors import UnexpectedError, WarningError, demand
from happycity_check.step import step
from happycity_check.trial_bot import TrialBot, Variables
from happycity_runtime.child import describe_status

QUIET_SECONDS = 3.0
_TERMINATED = (0, 128 + signal.SIGTERM, -signal.SIGTERM)
_HTTP_1 = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"

TLS_SERVER = "grpcs://{server}"
UNREACHABLE = "{server} can't be reached: *; `happycity status *{server}` says why"
"""What SDKs say where there is no connection; the one in Python explains it itself."""
NOBODY = "nothing listens on {server}; start a server there with: happycity serve"
NO_GRPC = "{server} * without TLS*"
NO_HTTP_2 = "{server} does not answer without TLS; if it uses TLS, write HAPPYCITY_SERVER=grpcs://{server}"
Statuses = dict[str, tuple[grpc.StatusCode, StatusDetails | bytes]]


async def try_all(cases: Mapping[str, Coroutine[object, object, None]]) -> None:
    """Try all cases at once; an error names those that failed."""
    results = await asyncio.gather(*cases.values(), return_exceptions=True)
    failed = []
    for name, result in zip(cases, results, strict=True):
        if isinstance(result, UnexpectedError):
            failed.append(f"{name}: {result}")
        elif result is not None:
            raise result
    demand(not failed, "; ".join(failed))


@contextmanager
def closed_port() -> Iterator[str]:
    """Give an address at which nothing listens, and no other program can."""
    with socket.socket() as holding:
        holding.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holding.getsockname()[1]}"


@asynccontextmanager
async def _tcp_server(said: bytes | None) -> AsyncIterator[str]:
    """Give the address of a server without gRPC, which says this and hangs up, or is silent for None."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if said is None:
            await reader.read()
        else:
            writer.write(said)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield "{}:{}".format(*server.sockets[0].getsockname())
    finally:
        server.close()


async def ends_with(
    bot: TrialBot, variables: Variables, *errors: str, credentials: grpc.ServerCredentials | None = None
) -> None:
    """Demand that a bot that can't begin, because of its variables or its server, ends with an error."""
    async with bot.another(variables, credentials=credentials) as other:
        await other.start()
        await other.demand_end(*errors, before_welcome=True)


async def can_not_connect(
    bot: TrialBot, variables: Variables, cause: str, *, credentials: grpc.ServerCredentials | None = None
) -> None:
    """Demand that a bot ends with an error that says so, or that explains it."""
    await ends_with(bot, variables, UNREACHABLE, cause, credentials=credentials)


@step(
    "treat it like a lost connection: the server may be restarted; it is not an error of the bot",
    needs=("hello",),
)
async def _shutting_down(bot: TrialBot) -> str:
    """After UNAVAILABLE with reason SHUTTING_DOWN a bot tries again, or ends with status 0."""
    conversation = await bot.conversation()
    notice = play.Notice(kind=play.NOTICE_KIND_SHUTDOWN, text="this is only a test of a shutdown")
    await conversation.send(play.PlayResponse(notices=[notice]))
    bot.end_stream(grpc.StatusCode.UNAVAILABLE, StatusDetails(reason="SHUTTING_DOWN"))
    if not await bot.stays_disconnected(bot.options.timeout):
        await bot.conversation()
        return "it tries again"
    if bot.process is None:
        return "it did not connect again; its exit status can't be seen from here"
    status = await bot.process.child.wait(1.0)
    demand(status is not None, f"it neither connected again nor ended within {bot.options.timeout:g} s")
    demand(not status, "it did not try again")
    return "it ended with status 0"


@step("show the status message to a person, and exit with status 2", needs=("hello",))
async def _refused(bot: TrialBot) -> str:
    """A bot that is refused before its first welcome ends with an error."""
    cases: Statuses = {
        "WRONG_NAME": (grpc.StatusCode.PERMISSION_DENIED, StatusDetails(reason="WRONG_NAME")),
        "UNAUTHENTICATED": (grpc.StatusCode.UNAUTHENTICATED, b""),
    }
    if bot.options.sdk:
        later = StatusDetails(reason="TOO_MANY_STREAMS", retry_seconds=0.1)
        cases["TOO_MANY_STREAMS"] = (grpc.StatusCode.RESOURCE_EXHAUSTED, later)

    async def ends(code: grpc.StatusCode, details: StatusDetails | bytes) -> None:
        async with bot.another() as other:
            await other.await_hello()
            other.end_stream(code, details)
            await other.demand_end("{server} refused the bot: only a test", before_welcome=True)

    await try_all({name: ends(*case) for name, case in cases.items()})
    return "it ended with an error"


@step(
    "exit with status 2: after REPLACED, for example, another program has its place",
    needs=("first-decision",),
)
async def _ended(bot: TrialBot) -> str:
    """A bot whose stream ended with another status, and without a RetryInfo, stays away."""
    cases: Statuses = {
        "REPLACED": (grpc.StatusCode.ABORTED, StatusDetails(reason="REPLACED")),
        "REVOKED": (grpc.StatusCode.PERMISSION_DENIED, StatusDetails(reason="REVOKED")),
        "no reason": (grpc.StatusCode.FAILED_PRECONDITION, b""),
    }
    if bot.options.sdk:
        cases["details that can't be read"] = grpc.StatusCode.FAILED_PRECONDITION, b"\xff not a status"
        cases["CANCELLED for a reason"] = grpc.StatusCode.CANCELLED, StatusDetails(reason="REPLACED")

    async def ends(code: grpc.StatusCode, details: StatusDetails | bytes) -> None:
        async with bot.another() as other:
            await other.begin(1)
            other.end_stream(code, details)
            if bot.options.sdk:
                await other.demand_end("{server} ended the session: only a test")
            else:
                demand(await other.stays_disconnected(QUIET_SECONDS), "it connected again")

    if bot.starts_bot:
        await try_all({name: ends(*case) for name, case in cases.items()})
    else:
        await bot.begin(1)
        bot.end_stream(*cases["REPLACED"])
        demand(await bot.stays_disconnected(QUIET_SECONDS), "it connected again")
    return "it did not connect again"


@step("show a person what is wrong, and exit with status 2", needs=("hello",))
async def _unreachable(bot: TrialBot) -> str:
    """Where no server is, or one of something else, a bot ends with an error."""
    with closed_port() as nobody:
        async with (
            _tcp_server(b"") as hangs_up,
            _tcp_server(_HTTP_1) as http,
            _tcp_server(bytes(500)) as zeros,
        ):
            await try_all(
                {
                    "nothing listens": can_not_connect(bot, {"SERVER": nobody}, NOBODY),
                    "the server hangs up": can_not_connect(bot, {"SERVER": hangs_up}, NO_HTTP_2),
                    "the server speaks HTTP/1.1": can_not_connect(bot, {"SERVER": http}, NO_GRPC),
                    "the server sends zeros": can_not_connect(bot, {"SERVER": zeros}, NO_HTTP_2),
                }
            )
    return "it ended where nothing listens, and where the server hangs up or speaks something else"


@step("give up when nothing comes for some 20 s", waits=True)
async def _silent(bot: TrialBot) -> str:
    """Where a server accepts the connection and says nothing, a bot ends with an error."""

    async def greets_nobody() -> None:
        async with bot.another() as other:
            await other.await_hello()
            silent = "{server} can't be reached: no welcome within 20 s*"
            await other.demand_end(silent, before_welcome=True)

    async with _tcp_server(None) as silent:
        cases = {"no byte": can_not_connect(bot, {"SERVER": silent}, NO_HTTP_2)}
        if bot.options.sdk:
            cases["no welcome"] = greets_nobody()
        await try_all(cases)
    return "it ended"


@step("without it, the bot can play on servers of the same machine only", needs=("first-decision",))
async def _tls(bot: TrialBot) -> str:
    """With HAPPYCITY_SERVER=grpcs://host:port and the file HAPPYCITY_CA, a bot plays by TLS."""
    ca = new_ca()
    variables: Variables = {"SERVER": TLS_SERVER, "CA": write_pem(ca.cert_pem, bot.folder)}
    async with bot.another(variables, credentials=credentials(ca.issue_cert("127.0.0.1"))) as other:
        try:
            await other.begin(1)
        except UnexpectedError as error:
            raise WarningError(f"no TLS: {error}{await other.exit_report(error)}") from None
    return "it plays by TLS"


@step(
    "turn proxies off where the server is on the bot's machine or isn't encrypted: they could read the token",
    needs=("first-decision",),
)
async def _proxy(bot: TrialBot) -> str:
    """With the variables of proxies set, a bot uses none for a server on its own machine or without TLS."""
    bot.require_process()
    connections = 0

    def count(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        writer.close()

    proxy = await asyncio.start_server(count, "127.0.0.1", 0)
    address = "{}:{}".format(*proxy.sockets[0].getsockname())
    kinds = [f"{kind}_proxy" for kind in ("http", "https", "grpc", "all")]
    urls = {name: f"http://{address}" for kind in kinds for name in (kind, kind.upper())}
    variables: Variables = {**urls, "GRPC_PROXY_EXP": address, "no_proxy": "", "NO_PROXY": ""}
    tries: list[tuple[Variables, grpc.ServerCredentials | None]] = [(variables, None)]
    if bot.options.sdk:
        ca = new_ca()
        tls: Variables = {"SERVER": TLS_SERVER, "CA": write_pem(ca.cert_pem, bot.folder)}
        tries.append(({**variables, **tls}, credentials(ca.issue_cert("127.0.0.1"))))
    try:
        for own, encryption in tries:
            async with bot.another(own, credentials=encryption) as other:
                await other.begin(1)
        for nowhere in ("grpc://arena.invalid:50051", "unix:/no/socket") if bot.options.sdk else ():
            await ends_with(bot, {**variables, "SERVER": nowhere}, "*")
    except UnexpectedError as error:
        raise WarningError(f"{plural(connections, 'connection')} to the proxy: {error}") from None
    finally:
        proxy.close()
    if connections:
        raise WarningError(f"it plays, and made {plural(connections, 'connection')} to the proxy")
    return "it plays, and the proxy saw no connection"


@step("catch SIGTERM, send PlayRequest{goodbye}, close the sending side, and exit", needs=("first-decision",))
async def _clean_exit(bot: TrialBot) -> str:
    """On SIGTERM a bot says goodbye and ends soon, with status 0 or 143."""
    bot.require_process()
    conversation, _ = await bot.begin(1)
    process = bot.own_process()
    process.child.terminate()
    status = await process.child.wait(bot.options.timeout)
    demand(status is not None, f"its process still ran {bot.options.timeout:g} s after SIGTERM")
    demand(status in _TERMINATED, "it did not end properly after SIGTERM")
    # Its goodbye may arrive after its process has ended.
    goodbye = await conversation.receive_goodbye(bot.options.timeout)
    demand(goodbye, "it ended without a goodbye after SIGTERM")
    bot.release_stream()
    return f"goodbye, then {describe_status(status or 0)}"
