"""The command `happycity`: a table of all its commands, each of which is imported when it is called."""

from __future__ import annotations

import sys

from happycity_runtime.installation import install_command

try:
    import typer  # noqa: F401
except ModuleNotFoundError:  # a bot needs none of the commands
    sys.stderr.write(f"error: the commands are not installed; install them by: {install_command('arena')}\n")
    raise SystemExit(2) from None

from happycity_runtime.commands import Commands, LazyGroup, run_cli

COMMANDS = {
    "Play and watch": {
        "play": "happycity_terminal.cli:play",
        "show": "happycity_terminal.cli:show",
        "tournament": "happycity_tournament.cli.app:app",
    },
    "Write a bot": {
        "new-bot": "happycity_new_bot.cli:new_bot",
        "check": "happycity_check.cli:check",
        "analyse": "happycity_terminal.cli:analyse",
        "ask": "happycity_terminal.cli:ask",
        "join": "happycity_terminal.server_commands:join",
        "practice": "happycity_terminal.server_commands:practice",
        "submit": "happycity_terminal.server_commands:submit",
        "bot": "happycity_bots.cli:bot",
        "bridge": "happycity_bridge.cli:bridge",
    },
    "Run a server": {
        "competition": "happycity_server.organiser:competition",
        "serve": "happycity_server.cli:serve",
        "status": "happycity_terminal.server_commands:status",
        "invite": "happycity_terminal.inviting:invite",
        "token": "happycity_server.cli:token",
        "cert": "happycity_server.organiser:cert",
        "ladder": "happycity_terminal.ladder.commands:ladder",
        "worker": "happycity_server.cli:worker",
        "gateway": "happycity_server.cli:gateway",
        "backup": "happycity_server.cli:backup",
    },
    "Other AIs": {
        "llm": "happycity_llm.cli:llm",
        "mcp": "happycity_mcp.cli:mcp",
        "benchmark": "happycity_tournament.cli.app:benchmark",
        "league": "happycity_league.cli:league",
        "dataset": "happycity_envs.dataset_command:dataset",
    },
    "Records and cards": {
        "simulate": "happycity_entry.game_commands:simulate",
        "catalogue": "happycity_entry.game_commands:catalogue",
    },
}
"""The commands by their headings in the help."""


class _HappyCityCommands(LazyGroup):
    entries = COMMANDS


app = Commands(
    "The Happy City arena: games, bots, tournaments and servers.", group=_HappyCityCommands, is_program=True
)


def main() -> None:
    """Run the command `happycity`."""
    run_cli(app)
