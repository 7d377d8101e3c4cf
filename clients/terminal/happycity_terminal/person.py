"""A person in a seat: shows each decision, and asks until a legal move is chosen."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NoReturn

from happycity import Move, SeatResult, VoidReason
from happycity.records.playback import Playback
from happycity.rules.cards import CardKind
from happycity.rules.views import View
from happycity.text.board import LEGEND, WIDTH, Line, Style, board_lines, options_lines
from happycity.text.words import events_in_words, move_in_words
from happycity_client import Bot, Decision, GameOver, GameStarted
from happycity_terminal.frames import result_lines
from happycity_terminal.keyboard import Keyboard

HELP = (
    "Type the number of a move, or words of it such as: build museum. q leaves the game.",
    "Points are inhabitants times hearts; points now are those of a game that ends now.",
    "A special needs cards of these colours in your city: ✓ marks those that you could take.",
)


class LeaveError(Exception):
    """The person breaks the game off."""


class PersonBot(Bot):
    """The bot that asks a person for each of its moves in one game, which begins with `begin`."""

    def __init__(
        self, keyboard: Keyboard, show: Callable[[Iterable[Line]], None], *, width: int = WIDTH
    ) -> None:
        super().__init__()
        self._keyboard = keyboard
        self._show = show
        self._width = width
        self._playback = Playback()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Is done when the game is over for the person, and fails by a `LeaveError` if it is aborted."""
        self.has_resigned = False
        """Whether the person has left the game to the others."""

    @property
    def match_id(self) -> int | None:
        """The match, once it has begun."""
        return self._playback.match_id

    def begin(self, start: GameStarted) -> PersonBot:
        """Say who plays, and return this bot."""
        self.start = start
        self._playback = Playback(bots=start.bots, match_id=start.match_id)
        players = ", ".join(f"{seat + 1} {bot}" for seat, bot in enumerate(start.bots))
        self._say(
            f"Game {start.match_id} begins. Seats: {players}; you have seat {start.seat + 1}.", "", HELP[0]
        )
        return self

    async def choose(self, decision: Decision) -> Move:
        """Return the move that the person chooses for a decision."""
        bots, view = self._playback.bots, decision.view
        options = [(move, decision.coins(move)) for move in decision.moves]
        news = [
            ((text, Style.PLAIN),)
            for sentence in events_in_words(decision.events, bots)
            for text in textwrap.wrap(sentence, self._width, subsequent_indent="  ")
        ]
        table = board_lines(view, bots=bots, width=self._width)
        self._show([(), *news, (), *table, (), *options_lines(view, options, bots=bots, width=self._width)])
        while True:
            line = await self._line(f"your move (1-{len(options)}, ? for help): ")
            if line == "?":
                self._show([(), *_help(view, self._width)])
            elif line.lower() in ("q", "quit"):
                await self._leave()
            elif line:
                found = moves_named(line, options, bots)
                if len(found) == 1:
                    return found[0]
                self._say(_refusal(line, found, options, bots))

    def game_over(self, over: GameOver) -> None:
        """Show how the game ended."""
        if not self.over.done():
            self.show_result(over.seats)
            self.over.set_result(None)

    def show_result(self, results: Sequence[SeatResult]) -> None:
        """Show how the game ended."""
        self._playback.finish(results)
        self._show(
            [(), (("The game is over.", Style.TITLE),), *result_lines(self._playback, self._width), ()]
        )

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Say why the game does not count."""
        if not self.over.done():
            self._playback.void_reason = reason
            self._show([(), *result_lines(self._playback, self._width)])
            self.over.set_result(None)

    async def _line(self, prompt: str) -> str:
        try:
            line = await self._keyboard(prompt)
        except KeyboardInterrupt:
            line = None
        if line is not None:
            return line.strip()
        if not self.over.done():
            self.over.set_exception(LeaveError())
        return await self._wait_for_the_end()

    async def _leave(self) -> None:
        """Leave the game if the person means it."""
        answer = await self._line("leave the game to the others? your seat is forfeited (y/n): ")
        if answer.lower() in ("y", "yes"):
            self.has_resigned = True
            if not self.over.done():
                self.over.set_result(None)
            await self._wait_for_the_end()

    async def _wait_for_the_end(self) -> NoReturn:
        """Let the session end, which cancels this."""
        while True:
            await asyncio.Event().wait()

    def _say(self, *texts: str) -> None:
        self._show([((text, Style.PLAIN),) for text in texts])


def moves_named(line: str, options: Sequence[tuple[Move, int]], bots: Sequence[str]) -> list[Move]:
    """Return the moves that a line can mean: by number, by notation, or by words that one of them has."""
    if line.isdecimal() and len(line) <= 3:
        return [move for move, _ in options[int(line) - 1 : int(line)]] if int(line) else []
    words = line.casefold().split()
    exact = [move for move, _ in options if move.text.casefold() == " ".join(words)]
    if exact:
        return exact
    texts = [(move, f"{move_in_words(move, coins, bots)} {move.text}".casefold()) for move, coins in options]
    return [move for move, text in texts if all(word in text for word in words)]


def _refusal(
    line: str, found: Sequence[Move], options: Sequence[tuple[Move, int]], bots: Sequence[str]
) -> str:
    if not found:
        return f"{line[:40]!r} is not a move here; type a number from 1 to {len(options)}, or ? for help"
    coins = dict(options)
    names = ", ".join(move_in_words(move, coins[move], bots) for move in found)
    return f"{line[:40]!r} can mean: {names}; type a number from 1 to {len(options)}"


def _help(view: View, width: int) -> Iterator[Line]:
    """Yield how to answer, what the symbols mean, and what the specials in sight do."""
    for text in HELP:
        yield ((text, Style.PLAIN),)
    yield LEGEND
    owned = [card for city in view.cities for card in city if card.kind is CardKind.SPECIAL]
    for card in (*view.specials, *owned):
        if card.effect_text:
            for text in textwrap.wrap(f"{card.name}: {card.effect_text}", width, subsequent_indent="  "):
                yield ((text, Style.PLAIN),)
