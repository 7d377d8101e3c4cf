"""Shows the session of a tournament that is played, and prints its result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from happycity.compiled import is_compiled
from happycity.errors import HappyCityError
from happycity_runtime import event_loop
from happycity_runtime.commands import is_quiet, os_problem, remark
from happycity_tournament.cli.console import print_result
from happycity_tournament.cli.display import Display
from happycity_tournament.cli.json import result_json, write_json
from happycity_tournament.cli.tables import print_lines
from happycity_tournament.client.run_folder import (
    RUN_FILE,
    OwnServer,
    ServerChoice,
    own_store,
    without_password,
)
from happycity_tournament.client.session import (
    BotsMissingError,
    ProgressView,
    ServerEndedError,
    unstored_problem,
    with_stored_history,
)
from happycity_tournament.config import TournamentState
from happycity_tournament.play.snapshot import Snapshot
from happycity_tournament.ratings.sprt import Verdict

PURE = "pure Python; in a checkout `make compiled` makes it faster: docs/performance.md#compiled"
"""What the end of a run says of its speed."""
FORFEITED = 1
"""The exit status with --fail-on-forfeit if a bot has forfeited a game."""
UNDECIDED = 3
"""The exit status if a test has played its maximum without a decision."""


@dataclass(frozen=True, slots=True)
class SessionView:
    """Shows the progress of a session, and prints its result."""

    venue: ServerChoice
    address: str
    """The tournament as commands take it."""
    as_json: bool
    folder: Path | None = None
    """The folder of the run, if it is one."""
    starts_bots: bool = False
    """Whether the output of bots is in the folder."""
    fail_on_forfeit: bool = False
    """Whether the exit status is 1 if a bot has forfeited a game."""
    benchmark: bool = False
    """Whether its result is printed otherwise, and the command that started it continues it."""

    def play(self, session: Callable[[ProgressView], Coroutine[Any, Any, Snapshot]]) -> Snapshot:
        """Play a session and return how it ended; exit unless it is finished, and a test decided."""
        try:
            with Display(logs=self.folder) as display:
                last = event_loop.run(session(display))
        except (asyncio.CancelledError, KeyboardInterrupt):
            typer.echo(self._with_advice("aborted"), err=True)
            sys.exit(event_loop.EXIT_STOPPED)
        except (ServerEndedError, OSError) as error:
            raise HappyCityError(self._with_advice(os_problem(error, self.folder))) from None
        except BotsMissingError as error:
            raise HappyCityError(f"{error}; {self._advice_for(error)}") from None
        if not self.benchmark:
            self._print(last)
        if last.state is not TournamentState.FINISHED:
            if last.config is None or last.config.can_be_rated(last.disqualified):
                typer.echo(self._continue_with(), err=True)
            sys.exit(event_loop.EXIT_STOPPED)
        if last.test is not None and last.test.verdict is Verdict.UNDECIDED:
            sys.exit(UNDECIDED)
        if self.fail_on_forfeit and any(line.forfeits for line in last.standings):
            sys.exit(FORFEITED)
        return last

    def _print(self, last: Snapshot) -> None:
        console = Console(stderr=self.as_json)
        print_result(console, last, logs=self.folder)
        problem = unstored_problem(self.venue.store, last) if isinstance(self.venue, OwnServer) else ""
        if isinstance(self.venue, OwnServer) and last.test is not None and not problem:
            last = with_stored_history(self.venue.store, last)
        if not (problem or is_quiet()):
            print_lines(console, *self._places(last.tournament_id), *self._next_steps())
        if isinstance(self.venue, OwnServer) and not is_compiled():
            remark(PURE)
        if self.as_json:
            write_json(result_json(last, logs=self.folder))
        if problem:
            raise HappyCityError(f"this result is not stored: {problem}")

    def _places(self, tournament_id: int) -> Iterator[str]:
        """Yield where the games are, and the output of what the run started."""
        venue = self.venue
        if self.folder is not None and isinstance(venue, OwnServer) and venue.store == own_store(self.folder):
            yield f"games and output: {self.folder}/"
            return
        yield f"games: {self._store()}, tournament {tournament_id}"
        if self.starts_bots or isinstance(venue, OwnServer):
            yield f"output: {self.folder}/"

    def _next_steps(self) -> Iterator[str]:
        """Yield the commands that show more of the tournament."""
        yield f"details of the ratings: tournament show {self.address}"
        yield f"single games: tournament games {self.address}"
        yield f"report as a web page: tournament report {self.address} --out report.html"

    def _store(self) -> str:
        if isinstance(self.venue, OwnServer):
            return without_password(self.venue.store)
        return f"the store of {self.venue.address}"

    def _with_advice(self, text: str) -> str:
        """Add to a text where the finished games are, and how to continue the tournament."""
        if self.folder is not None and not (self.folder / RUN_FILE).exists():
            return f"{text} before the first game: nothing is left to continue"
        if isinstance(self.venue, OwnServer):
            # Imported here, as few runs end early, and SQLAlchemy takes a tenth of a second.
            from happycity_tournament.storage.errors import StoreError
            from happycity_tournament.storage.store import Store

            try:
                Store.existing(self.venue.store, any_version=True).close()
            except StoreError as error:
                return f"{text}; {error}"
        return f"{text}; finished games are in {self._store()}; {self._continue_with()}"

    def _advice_for(self, error: BotsMissingError) -> str:
        if error.is_misspelt:
            return "play again with the right name"
        again = self._continue_with()
        return again if self.benchmark else f"{again} --connect-seconds {2 * error.waited:g}"

    def _continue_with(self) -> str:
        if self.benchmark:
            return "continue with the same command"
        return f"continue with: tournament resume {self.address}"
