"""`python -m happycity_envs BOT`: play with a bot or policy of OpenSpiel."""

from __future__ import annotations

import typer

from happycity_envs.cli import openspiel_bot
from happycity_runtime.commands import run_cli

if __name__ == "__main__":
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(openspiel_bot)
    run_cli(app)
