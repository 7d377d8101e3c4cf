"""How a bot introduces itself."""

from __future__ import annotations

from dataclasses import asdict

from happycity import ConfigError
from happycity.match import check_bot_name, one_line
from happycity.wire import bot_info_of
from happycity_check.errors import SkippedError, UnexpectedError
from happycity_check.step import step
from happycity_check.trial_bot import NAME, TrialBot, parts_of


@step(
    demand="the first message of the stream holds a hello and nothing else",
    advice="send PlayRequest{hello} as soon as the stream is open, before anything is read",
)
async def _hello(bot: TrialBot) -> str:
    await bot.conversation()
    hello, parts = bot.hello, parts_of(bot.first_message)
    if parts != "hello":
        raise UnexpectedError(f"the first message holds {parts}")
    if bot.starts_bot and (hello.resume_token or hello.match_ids):
        raise UnexpectedError("a bot that was just started wants to resume matches")
    if hello.HasField("max_games") and not hello.max_games:
        raise UnexpectedError("max_games is 0, which allows no game at all; leave it out for any number")
    games = f"up to {hello.max_games}" if hello.HasField("max_games") else "any number of"
    return (
        f"hello from {hello.name!r}, {one_line(hello.software) or 'software not said'}, {games} games at once"
    )


@step(
    demand='the name is 1 to 64 letters, digits or any of "._-+", and HAPPYCITY_NAME if that is set',
    advice="read HAPPYCITY_NAME from the environment and use it as hello.name",
    needs=("hello",),
)
async def _name(bot: TrialBot) -> str:
    await bot.conversation()
    name = bot.hello.name
    try:
        check_bot_name(name)
    except ConfigError:
        raise UnexpectedError(f"the name {name!r}") from None
    if bot.starts_bot and name != NAME:
        raise UnexpectedError(f"the name {name!r}, where HAPPYCITY_NAME is {NAME!r}")
    info = asdict(bot_info_of(bot.hello.info))
    said = ", ".join(f"{field} {text!r}" for field, text in info.items() if text)
    return f"the name {name!r}" + (f", with {said}" if said else "")


@step(
    demand="the token travels in the call's metadata: authorization: Bearer TOKEN",
    advice="read HAPPYCITY_TOKEN from the environment and add the metadata to the call of Play",
    needs=("hello",),
)
async def _token(bot: TrialBot) -> str:
    if not bot.options.token:
        raise SkippedError("no token is demanded (--token)")
    await bot.conversation()
    authorization = bot.metadata.get("authorization")
    if authorization is None:
        raise UnexpectedError("a call without authorization")
    if authorization != f"Bearer {bot.options.token}":
        raise UnexpectedError("an authorization that is not 'Bearer ' and the token")
    return "the token as bearer token"


STEPS = (_hello, _name, _token)
