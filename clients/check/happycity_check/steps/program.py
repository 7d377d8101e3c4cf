"""What the program of an SDK's bot does besides playing: settings, log, errors, exit status."""

from __future__ import annotations

import os
import re
import signal
import time
from fnmatch import fnmatchcase

import grpc

from happycity.v1 import play_service_pb2 as play
from happycity.wire.status import StatusDetails
from happycity_check.certificates import credentials, in_pkcs_8, new_ca, write_pem
from happycity_check.conversation import end, play_on, start
from happycity_check.errors import demand
from happycity_check.step import step
from happycity_check.steps.endings import (
    NO_HTTP_2,
    NOBODY,
    TLS_SERVER,
    UNREACHABLE,
    can_not_connect,
    closed_port,
    ends_with,
    try_all,
)
from happycity_check.trial_bot import NOISE, TrialBot, Variables

_BUSY_SECONDS = 2.0
_NASTY = "a\x1b[2J\x07b\nerror: c\r\x9bd"
"""A text of a server that clears a terminal, rings its bell, and looks like an error."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@step(needs=("hello",), sdk=True)
async def _hello_of_sdk(bot: TrialBot) -> str:
    """The hello has the SDK, its version and the language, and HAPPYCITY_GAMES as max_games."""
    for games, wanted in (("3", 3), ("0", None)):
        async with bot.another({"GAMES": games}) as other:
            await other.await_hello()
            hello = other.hello
            found = hello.max_games if hello.HasField("max_games") else None
            demand(found == wanted, f"max_games is {found}, where HAPPYCITY_GAMES is {games}")
            named = re.fullmatch(r"happycity-[a-z]+/\d+\.\d+\.\d+\S*", hello.software)
            demand(named, f"software is {hello.software!r}, and not such as happycity-go/0.1.0")
            demand(hello.info.language, "info has no language")
    return "max_games by HAPPYCITY_GAMES: 0 for any number"


@step(needs=("hello",), sdk=True)
async def _settings(bot: TrialBot) -> str:
    """A setting that can't be used ends the bot with a line that names it."""
    absent = bot.folder / "absent.pem"
    await ends_with(bot, {"SERVER": "127.0.0.1"}, "HAPPYCITY_SERVER: '127.0.0.1' is not an address such as *")
    tls: Variables = {"SERVER": TLS_SERVER, "CA": absent}
    await ends_with(bot, tls, f"HAPPYCITY_CA: {absent} can't be read: *")
    return "an address and a file that can't be used"


@step(needs=("tls",), sdk=True)
async def _addresses(bot: TrialBot) -> str:
    """An address where the bot can't play ends it with a line that says what to write instead."""
    ca = new_ca()
    leaf = ca.issue_cert("127.0.0.1")
    good = credentials(leaf)

    async def plays_with_certificate() -> None:
        own = ca.issue_cert("bot.example")
        files = {
            "CERT": write_pem(own.cert_chain_pems[0], bot.folder),
            "KEY": write_pem(in_pkcs_8(own.private_key_pem), bot.folder),
        }
        async with bot.another({**mine, **files}, credentials=credentials(leaf, ca)) as other:
            await other.conversation()

    no_host = "the host name of {server} can't be resolved"
    no_tls = "{server} does not use TLS; write HAPPYCITY_SERVER=grpc://{server}"
    untrusted = "the certificate of {server} is not trusted; set HAPPYCITY_CA to the file of its CA"
    misnamed = "the certificate of {server} is for another name"
    mine: Variables = {"SERVER": TLS_SERVER, "CA": write_pem(ca.cert_pem, bot.folder)}
    others: Variables = {"SERVER": TLS_SERVER, "CA": write_pem(new_ca().cert_pem, bot.folder)}
    system: Variables = {"SERVER": TLS_SERVER}
    other_name = credentials(ca.issue_cert("arena.example"))
    with closed_port() as nobody:
        await try_all(
            {
                "no such host": can_not_connect(bot, {"SERVER": "grpc://arena.invalid:50051"}, no_host),
                "nothing listens": can_not_connect(bot, {"SERVER": f"grpcs://{nobody}"}, NOBODY),
                "a server with TLS": can_not_connect(bot, {}, NO_HTTP_2, credentials=good),
                "a server without TLS": can_not_connect(bot, mine, no_tls),
                "an unknown CA": can_not_connect(bot, system, untrusted, credentials=good),
                "another CA": can_not_connect(bot, others, untrusted, credentials=good),
                "another name": can_not_connect(bot, mine, misnamed, credentials=other_name),
                "a certificate of the bot": plays_with_certificate(),
            }
        )
    return "the lines for a wrong name, port, scheme and certificate"


@step(needs=("first-decision",), sdk=True)
async def _broken_protocol(bot: TrialBot) -> str:
    """A server that breaks the protocol ends the bot with status 1."""
    match = bot.match()
    without_view, without_moves = match.decision(), match.decision()
    without_view.ClearField("view")
    without_moves.ClearField("moves")

    async def breaks(message: play.PlayResponse | bytes, *, welcome: bool) -> None:
        async with bot.another() as other:
            await other.await_hello()
            if welcome:
                await start(await other.welcome(), [match])
            await other.stream.send(message)
            await other.demand_end("{server} broke the protocol: *", status=1, before_welcome=not welcome)

    await try_all(
        {
            "no welcome": breaks(play.PlayResponse(decisions=[match.decision()]), welcome=False),
            "an empty message before the welcome": breaks(play.PlayResponse(), welcome=False),
            "a decision without a view": breaks(play.PlayResponse(decisions=[without_view]), welcome=True),
            "a decision without moves": breaks(play.PlayResponse(decisions=[without_moves]), welcome=True),
            "a message that can't be read": breaks(b"\xff" * 20, welcome=True),
        }
    )
    return "status 1 and a line"


@step(needs=("first-decision",), sdk=True)
async def _lost(bot: TrialBot) -> str:
    """A server that is lost for longer than the bot looks for it ends the bot with what it met last."""

    async def ends(
        *errors: str, code: grpc.StatusCode | None = None, details: StatusDetails | None = None
    ) -> None:
        async with bot.another({"RECONNECT": "1"}) as other:
            await other.begin(1)
            if code is not None:
                other.end_stream(code, details or b"")
            if code is grpc.StatusCode.UNAVAILABLE:  # so the status has arrived before the server is gone
                await other.await_return()
            if code in (None, grpc.StatusCode.UNAVAILABLE):
                other.server.relay.close()
            await other.demand_end(*errors)

    async def notified() -> None:
        async with bot.another({"RECONNECT": "1"}) as other:
            conversation, _ = await other.begin(1)
            notice = play.Notice(kind=play.NOTICE_KIND_SHUTDOWN, text="only a test")
            await conversation.exchange(play.PlayResponse(notices=[notice]), ping=True)
            other.server.relay.close()
            await other.demand_end()

    down, limited = StatusDetails(reason="SHUTTING_DOWN"), StatusDetails(retry_seconds=100.0)
    lost, late = "no connection to {server} for 1 s: ", "*{server}*: only a test"
    await try_all(
        {
            "a lost connection": ends(lost + UNREACHABLE, lost + NOBODY),
            "a shutdown": ends(code=grpc.StatusCode.UNAVAILABLE, details=down),
            "a notice of a shutdown": notified(),
            "the status OK": ends(code=grpc.StatusCode.OK),
            "a long delay": ends(late, code=grpc.StatusCode.RESOURCE_EXHAUSTED, details=limited),
        }
    )
    return "the error after a lost connection, none after a shutdown"


@step(needs=("crash", "reconnect"), sdk=True)
async def _log(bot: TrialBot) -> str:
    """The log has a line for each connection, notice, forfeit and crash, and nothing of gRPC's own."""
    async with bot.another() as other:
        await other.await_hello()
        conversation = await other.welcome(digest="0" * 64)
        match, forfeited, crash = other.match(), other.match(), other.match(others="crash-choose")
        await start(conversation, [match, forfeited, crash])
        await conversation.send(play.PlayResponse(decisions=[crash.decision()]))
        await conversation.receive_resigns(crash.match_id)
        timeout = play.Notice(kind=play.NOTICE_KIND_TIMEOUT, text=_NASTY, match_id=match.match_id)
        timeout.round, timeout.decision_id = 1, 3
        forfeit = play.Notice(
            kind=play.NOTICE_KIND_FORFEIT, text="in the result too", match_id=match.match_id
        )
        late = play.Notice(kind=play.NOTICE_KIND_SERVER_LATE, text="of no match")
        await conversation.send(play.PlayResponse(notices=[timeout, forfeit, late]))
        await end(conversation, [forfeited, crash])
        await play_on(conversation, [match], ping=True)
        await other.lose_connection()
        await play_on(await other.welcome_again([match]), [match], ping=True)
        process = other.own_process()
        wanted = [
            f"*connected to {other.address}",
            f"*connected to {other.address}, and the games go on",
            "*the server's cards are not those of this SDK: some are new or changed",
            f"*match {match.match_id}, round 1, decision 3: a*b*error: c*d*",
            "*of no match",
            "*scenario*",
            f"*match {forfeited.match_id}*no answer in time*",
        ]

        def missing() -> list[str]:
            lines = process.errors.splitlines()
            return [pattern for pattern in wanted if not any(fnmatchcase(line, pattern) for line in lines)]

        await process.has_written(lambda: not missing(), 1.0)
        errors = process.errors
        demand(not missing(), f"no line such as {missing()[:1]} in its standard error:\n{errors}")
        demand(not _CONTROL.search(errors), f"a control character in its standard error: {errors!r}")
        noise = [line for line in errors.splitlines() if NOISE.search(line) or "in the result too" in line]
        demand(not noise, f"its standard error holds more: {noise}")
    return f"{len(wanted)} kinds of lines, and no control characters"


@step(needs=("slow", "clean-exit"), sdk=True)
async def _signals(bot: TrialBot) -> str:
    """On SIGINT and SIGTERM the bot says goodbye and ends with status 0, also while it thinks."""

    async def ends(
        number: signal.Signals, *, others: str = "", alone: bool = False, busy: bool = False
    ) -> None:
        async with bot.another() as other:
            conversation, match = await other.conversation(), other.match(others=others)
            await start(conversation, [match])
            conversation.patient.add(match.match_id)
            await conversation.exchange(play.PlayResponse(decisions=[match.decision()]), ping=True)
            if alone:
                other.server.relay.close()
            os.kill(other.own_process().child.pid, number)
            if busy:
                time.sleep(_BUSY_SECONDS)  # noqa: ASYNC251 - nothing of the server shall run
            goodbye = alone or await conversation.receive_goodbye(bot.options.timeout)
            demand(goodbye, "it ended without a goodbye")
            await other.demand_end()

    await try_all(
        {
            "SIGINT": ends(signal.SIGINT),
            "SIGTERM": ends(signal.SIGTERM),
            "SIGTERM while it thinks": ends(signal.SIGTERM, others="slow"),
            "SIGTERM while it looks for a lost server": ends(signal.SIGTERM, alone=True),
        }
    )
    # Alone, as the other bots' servers would stand still too.
    await try_all({"SIGTERM at a busy server": ends(signal.SIGTERM, busy=True)})
    return "goodbye, then status 0"
