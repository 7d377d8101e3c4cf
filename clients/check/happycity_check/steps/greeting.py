"""How a bot introduces itself."""

from __future__ import annotations

from dataclasses import asdict

from happycity import ConfigError
from happycity.match import check_bot_name, one_line
from happycity.wire.match import bot_info_of
from happycity.wire.messages import PROTOCOL_VERSION
from happycity_check.errors import SkippedError, UnexpectedError, WarningError, demand
from happycity_check.step import step
from happycity_check.trial_bot import NAME, TrialBot, parts_of


@step("send PlayRequest{hello} as soon as the stream is open, before anything is read")
async def _hello(bot: TrialBot) -> str:
    """The first message of the stream holds a hello and nothing else."""
    await bot.conversation()
    hello, parts = bot.hello, parts_of(bot.first_message)
    demand(parts == "hello", f"the first message holds {parts}")
    demand(not (bot.starts_bot and hello.resume_token), "a bot that was just started wants to resume matches")
    demand(
        hello.max_games or not hello.HasField("max_games"),
        "max_games is 0, which allows no game at all; leave it out for any number",
    )
    games = f"up to {hello.max_games}" if hello.HasField("max_games") else "any number of"
    software = one_line(hello.software) or "software not said"
    return f"hello from {hello.name!r}, {software}, {games} games at once"


@step(f"set hello.protocol_version to {PROTOCOL_VERSION}", needs=("hello",))
async def _protocol_version(bot: TrialBot) -> str:
    """The hello has the version of the protocol, without which a server refuses it."""
    version = bot.hello.protocol_version
    demand(version == PROTOCOL_VERSION, f"protocol_version is {version}, and not {PROTOCOL_VERSION}")
    return f"version {version}"


@step("read HAPPYCITY_NAME from the environment and use it as hello.name", needs=("hello",))
async def _name(bot: TrialBot) -> str:
    """The name is 1 to 64 letters, digits or any of "._-+", and HAPPYCITY_NAME if that is set."""
    await bot.conversation()
    name = bot.hello.name
    try:
        check_bot_name(name)
    except ConfigError:
        raise UnexpectedError(f"the name {name!r}") from None
    demand(not bot.starts_bot or name == NAME, f"the name {name!r}, where HAPPYCITY_NAME is {NAME!r}")
    info = asdict(bot_info_of(bot.hello.info))
    said = ", ".join(f"{field} {text!r}" for field, text in info.items() if text)
    return f"the name {name!r}" + (f", with {said}" if said else "")


@step("read HAPPYCITY_TOKEN from the environment and add the metadata to the call of Play", needs=("hello",))
async def _token(bot: TrialBot) -> str:
    """The token travels in the call's metadata: authorization: Bearer TOKEN."""
    if not bot.options.expected_token:
        raise SkippedError("no token is demanded (--token)")
    await bot.conversation()
    _check_token(bot)
    return "the token as bearer token"


@step("leave hello.name out where HAPPYCITY_TOKEN is set and HAPPYCITY_NAME is not", needs=("token",))
async def _token_alone(bot: TrialBot) -> str:
    """A bot that has a token, and no name of its own, sends no name: the server takes the token's."""
    async with bot.another({"NAME": ""}) as other:
        await other.await_hello()
        _check_token(other)
        if other.hello.HasField("name"):
            raise WarningError(f"the name {other.hello.name!r}: is it the one that the token is for?")
    return "the token without a name"


def _check_token(bot: TrialBot) -> None:
    authorization = bot.metadata.get("authorization")
    demand(authorization is not None, "a call without authorization")
    demand(
        authorization == f"Bearer {bot.options.expected_token}",
        "an authorization that is not 'Bearer ' and the token",
    )
