"""Hosted bots that are kept running next to an arena, of a server or of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from happycity_runtime.tokens import Role
from happycity_server.access.roles import Principal
from happycity_server.process.listening import BotServer
from happycity_server.process.programs import Programs, bot_program, new_secrets
from happycity_tournament.hosted.sandbox import Sandbox
from happycity_tournament.hosted.submissions import VERSION_DIGITS, Submission, Submissions


@dataclass(eq=False, repr=False)
class RunningSubmissions:
    """Submissions that play at a server, each in the sandbox, with a socket and a token of its own."""

    submissions: Submissions
    sandbox: Sandbox
    programs: Programs
    server: BotServer
    digests: dict[str, str] = field(default_factory=dict, init=False)
    """By bot that runs: the digest of its submission."""
    _secrets: dict[str, str] = field(default_factory=dict, init=False)
    """By bot: the token that it shows."""

    def run(self, submission: Submission) -> None:
        """Keep a bot running, of which no other version runs."""
        bot, version = submission.bot.name, submission.digest[:VERSION_DIGITS]
        self._secrets |= new_secrets([bot])
        self.server.gate.authenticator.own[self._secrets[bot]] = Principal(
            f"hosted {bot}", frozenset({Role.BOT}), house_bot=bot, hosted_version=version
        )
        self.digests[bot] = submission.digest
        command = self.sandbox.command(submission.bot, self.submissions.place(submission), "run")
        program = bot_program(bot, command, self._secrets[bot])
        self.programs.supervise(replace(program, arena=self.server.arena_of_one))

    async def end(self, bot: str) -> None:
        """End a bot's program, if it runs, and its token."""
        if self.digests.pop(bot, None):
            await self.programs.end(bot)
            del self.server.gate.authenticator.own[self._secrets.pop(bot)]
