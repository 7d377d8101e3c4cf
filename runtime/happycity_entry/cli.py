"""The command `happycity`: a table of all its commands, each of which is imported when it is called."""

from __future__ import annotations

import sys

from happycity_runtime.installation import install_command

try:
    import typer  # noqa: F401
except ModuleNotFoundError:  # a bot needs none of the commands
    sys.stderr.write(f"error: the commands are not installed; install them by: {install_command('arena')}\n")
    raise SystemExit(2) from None

from happycity_runtime.commands import Commands, LazyCommand, LazyGroup, run_cli

COMMANDS = {
    "Play and watch": {
        "play": LazyCommand("happycity_terminal.cli:play", "Play a game yourself, or watch bots play one."),
        "show": LazyCommand("happycity_terminal.cli:show", "Show a game, decision by decision."),
        "tournament": LazyCommand(
            "happycity_tournament.cli.app:app", "Tournaments between bots, with Elo ratings."
        ),
    },
    "Write a bot": {
        "new-bot": LazyCommand(
            "happycity_new_bot.cli:new_bot", "Make a project for a new bot, in a language of your choice."
        ),
        "check": LazyCommand(
            "happycity_check.cli:check", "Check whether a bot speaks the protocol, step by step."
        ),
        "analyse": LazyCommand(
            "happycity_terminal.cli:analyse", "Say what a bot's decisions cost, in a game or over a run."
        ),
        "ask": LazyCommand(
            "happycity_terminal.cli:ask", "Put recorded decisions to a bot again, without a clock."
        ),
        "join": LazyCommand(
            "happycity_terminal.server_commands:join",
            "Join a server by an invitation; write the bots' settings.",
        ),
        "practice": LazyCommand(
            "happycity_terminal.server_commands:practice",
            "Let a bot play unrated games against a server's own bots.",
        ),
        "submit": LazyCommand(
            "happycity_terminal.server_commands:submit", "Submit a bot to a server that hosts bots."
        ),
        "bot": LazyCommand("happycity_bots.cli:bot", "Play with reference bots until the server shuts down."),
        "bridge": LazyCommand(
            "happycity_bridge.cli:bridge", "Play with a program that reads and writes lines of JSON."
        ),
    },
    "Run a server": {
        "competition": LazyCommand(
            "happycity_server.organiser:competition", "Open a competition of one's own."
        ),
        "serve": LazyCommand("happycity_server.cli:serve", "Run the game server."),
        "status": LazyCommand(
            "happycity_terminal.server_commands:status", "Say whether a server serves, and list its bots."
        ),
        "invite": LazyCommand(
            "happycity_terminal.inviting:invite", "Invite guests: create, list and revoke invitations."
        ),
        "token": LazyCommand("happycity_server.cli:token", "Create, list and revoke the tokens of a server."),
        "cert": LazyCommand(
            "happycity_server.organiser:cert", "Make the certificate of a server that other machines reach."
        ),
        "ladder": LazyCommand(
            "happycity_terminal.ladder.commands:ladder",
            "The ladder of a server: ratings of bots that come and go.",
        ),
        "worker": LazyCommand("happycity_server.cli:worker", "Join a server and play games for it."),
        "backup": LazyCommand(
            "happycity_server.cli:backup", "Copy a server's store into a new file, or back."
        ),
        "publish-site": LazyCommand(
            "happycity_web.publish:publish_site", "Write the results of a server as pages that need none."
        ),
    },
    "Other AIs": {
        "llm": LazyCommand("happycity_llm.cli:llm", "Let a language model play."),
        "mcp": LazyCommand("happycity_mcp.cli:mcp", "Let an agent play, by an MCP server."),
        "benchmark": LazyCommand(
            "happycity_tournament.cli.app:benchmark", "Measure a bot by a named protocol that never changes."
        ),
        "dataset": LazyCommand(
            "happycity_envs.dataset_command:dataset", "Write games as arrays for learners."
        ),
    },
    "Records and cards": {
        "simulate": LazyCommand(
            "happycity_entry.game_commands:simulate",
            "Play random games and write their records, or check records.",
        ),
        "catalogue": LazyCommand(
            "happycity_entry.game_commands:catalogue",
            "Print every card: values, condition, and what it does.",
        ),
    },
}
"""The commands by their headings in the help, with the first sentence of the help of each."""


class _HappyCityCommands(LazyGroup):
    entries = COMMANDS


app = Commands(
    "The Happy City arena: games, bots, tournaments and servers.", group=_HappyCityCommands, is_program=True
)


def main() -> None:
    """Run the command `happycity`."""
    run_cli(app)
