"""Hosted bots that are kept running next to an arena, of a server or of a worker."""

from __future__ import annotations

from dataclasses import replace

from happycity_runtime.tokens import Role
from happycity_server.access.roles import Principal
from happycity_server.process.listening import BotServer
from happycity_server.process.programs import Programs, bot_program, new_secrets
from happycity_tournament.hosted.sandbox import Sandbox
from happycity_tournament.hosted.submissions import VERSION_DIGITS, Submission, Submissions


class RunningSubmissions:
    """Submissions that play, each in the sandbox, with a socket and a token of its own."""

    def __init__(
        self, submissions: Submissions, sandbox: Sandbox, programs: Programs, server: BotServer
    ) -> None:
        """Run none yet; they play at a server."""
        self.digests: dict[str, str] = {}
        """By bot that runs: the digest of its submission."""
        self._submissions = submissions
        self._sandbox = sandbox
        self._programs = programs
        self._server = server
        self._secrets: dict[str, str] = {}
        """By bot: the token that it shows."""

    def run(self, submission: Submission) -> None:
        """Keep a bot running, of which no other version runs."""
        bot, version = submission.bot.name, submission.digest[:VERSION_DIGITS]
        self._secrets |= new_secrets([bot])
        self._server.gate.authenticator.own[self._secrets[bot]] = Principal(
            f"hosted {bot}", frozenset({Role.BOT}), house_bot=bot, hosted_version=version
        )
        self.digests[bot] = submission.digest
        command = self._sandbox.command(submission.bot, self._submissions.place(submission), "run")
        program = bot_program(bot, command, self._secrets[bot])
        self._programs.supervise(replace(program, arena=self._server.arena_of_one))

    async def end(self, bot: str) -> None:
        """End a bot's program, if it runs, and its token."""
        if self.digests.pop(bot, None):
            await self._programs.end(bot)
            del self._server.gate.authenticator.own[self._secrets.pop(bot)]
