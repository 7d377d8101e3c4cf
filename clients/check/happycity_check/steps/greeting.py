"""How a bot introduces itself."""

from __future__ import annotations

from happycity.terms import BOT_NAME
from happycity.wire import PROTOCOL_VERSION
from happycity_check.bench import NAME, Bench, parts_of
from happycity_check.dialogue import UnexpectedError
from happycity_check.step import SkippedError, Step


async def _hello(bench: Bench) -> str:
    await bench.dialogue()
    hello, parts = bench.hello, parts_of(bench.first_message)
    if parts != "hello":
        raise UnexpectedError(f"the first message holds {parts}")
    if bench.starts_bot and (hello.resume_token or hello.games):
        raise UnexpectedError("a bot that was just started wants to resume games")
    games = f"up to {hello.max_games} games at once" if hello.max_games else "any number of games at once"
    return f"hello from {hello.name!r}, {hello.software or 'software not said'}, {games}"


async def _name(bench: Bench) -> str:
    await bench.dialogue()
    name = bench.hello.name
    if not BOT_NAME.fullmatch(name):
        raise UnexpectedError(f"the name {name!r}")
    if bench.starts_bot and name != NAME:
        raise UnexpectedError(f"the name {name!r}, where HAPPYCITY_NAME is {NAME!r}")
    return f"the name {name!r}"


async def _version(bench: Bench) -> str:
    await bench.dialogue()
    version = bench.hello.protocol_version
    if version != PROTOCOL_VERSION:
        raise UnexpectedError(f"protocol version {version}")
    return f"protocol version {version}"


async def _token(bench: Bench) -> str:
    if not bench.options.token:
        raise SkippedError("no token is asked for; --token gives one")
    await bench.dialogue()
    told = bench.metadata.get("authorization")
    if told is None:
        raise UnexpectedError("a call without authorization")
    if told != f"Bearer {bench.options.token}":
        raise UnexpectedError("an authorization that is not 'Bearer ' and the token")
    return "the token as bearer token"


STEPS = (
    Step(
        name="hello",
        demand="the first message of the stream holds a hello and nothing else",
        advice="send PlayRequest{hello} as soon as the stream is open, before anything is read",
        run=_hello,
    ),
    Step(
        name="name",
        demand='the name is 1 to 64 letters, digits or any of "._-+", and HAPPYCITY_NAME if that is set',
        advice="read HAPPYCITY_NAME from the environment and use it as hello.name",
        run=_name,
        needs=("hello",),
    ),
    Step(
        name="version",
        demand=f"hello.protocol_version is {PROTOCOL_VERSION}",
        advice=f"set hello.protocol_version to {PROTOCOL_VERSION}; a field that isn't set is 0",
        run=_version,
        needs=("hello",),
    ),
    Step(
        name="token",
        demand="the token travels in the call's metadata: authorization: Bearer TOKEN",
        advice="read HAPPYCITY_TOKEN from the environment and add the metadata to the call of Play",
        run=_token,
        needs=("hello",),
    ),
)
