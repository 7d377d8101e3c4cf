"""The command `happycity llm`: a language model plays, asked by OpenAI's chat protocol."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from happycity import BotInfo, Config, ConfigError, Game, Mode
from happycity.match import REFERENCE_BOTS, check_reference_bot
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity_runtime.child import MODEL_KEYS
from happycity_runtime.commands import Name, Server, Token, remark
from happycity_runtime.installation import check_installed

if TYPE_CHECKING:  # the help of all commands does without gRPC
    from happycity_client import Settings
    from happycity_llm.bot import LanguageModel
    from happycity_llm.prompts import Prompts

URL_VARIABLE = "OPENAI_BASE_URL"
DEFAULT_URL = "https://api.openai.com/v1"


def llm(
    *,
    model: Annotated[str | None, typer.Option(help="The model, as its endpoint names it.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=f"The endpoint; by default {URL_VARIABLE}, else {DEFAULT_URL}.",
            show_default=False,
        ),
    ] = None,
    name: Name = None,
    server: Server = None,
    token: Token = None,
    games: Annotated[int, typer.Option(min=1, help="Games at once, each with one request at a time.")] = 2,
    blind: Annotated[
        bool, typer.Option("--blind", help="Don't show the legal moves, to see whether the model knows them.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema/--no-schema", help="Bind answers to the legal moves by a JSON schema.")
    ] = True,
    fallback: Annotated[
        str,
        typer.Option(metavar="BOT", help=f"Decides where the model doesn't: {', '.join(REFERENCE_BOTS)}."),
    ] = "greedy",
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a decision at most; the game's clock may give less.")
    ] = 120.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer at most.")] = 1024,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0, help="Temperature of the model; the endpoint's own if absent.", show_default=False
        ),
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, help="Tokens of all games at most; then the fallback plays.")
    ] = None,
    budget_requests: Annotated[
        int | None, typer.Option(min=0, help="Requests of all games at most; then the fallback plays.")
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with your own rules.txt, system.txt, turn.txt or retry.txt.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the text that a model would read, without asking one.")
    ] = False,
    mode: Annotated[Mode, typer.Option(help="Of the position that --dry-run prints.")] = Mode.FAMILY,
    seats: Annotated[
        int, typer.Option(min=MIN_PLAYERS, max=MAX_PLAYERS, help="Of the position that --dry-run prints.")
    ] = 4,
) -> None:
    """Let a language model play.

    The endpoint's key is read from HAPPYCITY_LLM_KEY or OPENAI_API_KEY. Stop with Ctrl-C.
    """
    from happycity_llm.prompts import Prompts  # noqa: PLC0415 - every other command would wait for gRPC

    texts = Prompts(prompts, blind=blind)
    if dry_run:
        _print_prompts(texts, Config(players=seats, mode=mode))
        return
    if model is None:
        raise ConfigError("--model: name the model, or see what it would read by --dry-run")
    check_installed("llm")
    from happycity_bots.catalogue import BOTS  # noqa: PLC0415
    from happycity_client import Settings, run_until_stopped  # noqa: PLC0415
    from happycity_llm.bot import LanguageModel  # noqa: PLC0415
    from happycity_llm.endpoint import Budget, Endpoint  # noqa: PLC0415

    endpoint = Endpoint(
        model=model,
        base_url=_url(base_url),
        api_key=next(filter(None, map(os.environ.get, MODEL_KEYS)), ""),
        max_tokens=max_tokens,
        temperature=temperature,
        schema=schema,
        budget=Budget(tokens=budget_tokens, requests=budget_requests),
    )
    language_model = LanguageModel(
        endpoint=endpoint,
        prompts=texts,
        blind=blind,
        fallback=BOTS[check_reference_bot(fallback)],
        fallback_name=fallback,
        timeout=timeout,
    )
    settings = Settings.from_env("llm", name=name, server=server, token=token, games=games)
    info = BotInfo(description=f"the language model {model[:60]}{', blind' if blind else ''}")
    run_until_stopped(_play(replace(settings, info=info), language_model))


async def _play(settings: Settings, model: LanguageModel) -> None:
    from happycity_client import play  # noqa: PLC0415
    from happycity_llm.bot import ModelBot  # noqa: PLC0415

    try:
        await play(partial(ModelBot, model=model), settings)
    finally:
        if model.decisions:
            remark(model.summary())
        await model.endpoint.close()


def _url(option: str | None) -> str:
    url = option or os.environ.get(URL_VARIABLE) or DEFAULT_URL
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"--base-url: {url[:80]!r} begins with neither http:// nor https://")
    return url


def _print_prompts(prompts: Prompts, config: Config) -> None:
    """Print what a model would read for the first decision of a game."""
    from happycity_client import Decision, GameStarted  # noqa: PLC0415

    game = Game.deal(config, seed=1)
    bots = tuple(f"bot{seat + 1}" for seat in range(config.players))
    start = GameStarted(match_id=0, config=config, seat=game.seat, bots=bots, seed=1)
    decision = Decision.of(game)
    typer.echo(
        f"--- system\n{prompts.system(start)}\n--- user\n{prompts.turn(decision, start, [])}", nl=False
    )
