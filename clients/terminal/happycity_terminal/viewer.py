"""The full screen in which a person steps through a game."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window

from happycity.records.playback import Playback, Step
from happycity.text.board import LEGEND, Line, Style, columns, to_ascii
from happycity_runtime.event_loop import running
from happycity_terminal.frames import answer, frame, title
from happycity_terminal.screen import STYLE, color_depth, is_ascii_only, styled

_BAR = 3  # lines below the board
_KEYS = (
    "q quit",
    "←→ step",
    "↑↓ scroll",
    "57 Enter: go to",
    "n/p {seat}",
    "! incident",
    "PgUp/PgDn round",
    "Home/End",
)
_MAX_DIGITS = 6


class GameViewer:
    """One game on the whole screen; of a game that is being played, the decisions so far."""

    def __init__(self, playback: Playback, *, first: int = 0, seat: int | None = None) -> None:
        self.playback = playback
        self.index = min(first, len(playback.steps) - 1)
        """The step that is shown."""
        self._seat = seat
        self._scroll = 0
        self._below = False  # whether there are lines below the screen
        self._typed = ""
        self._message = ""
        self._application: Application[None] = Application(
            layout=Layout(
                HSplit(
                    [
                        Window(FormattedTextControl(self._board, focusable=True, show_cursor=False)),
                        Window(FormattedTextControl(self._title), height=1, style="reverse"),
                        Window(FormattedTextControl(self._bar), height=_BAR - 1),
                    ]
                )
            ),
            key_bindings=self._bindings(),
            style=STYLE,
            color_depth=color_depth(),
            full_screen=True,
        )

    async def run(self, following: Coroutine[Any, Any, None] | None = None) -> None:
        """Show the game until the person leaves; `following` adds to it meanwhile.

        HappyCityError if `following` failed.
        """
        if following is None:
            await self._application.run_async()
            return
        async with running(following) as (task,):
            task.add_done_callback(self._followed)
            await self._application.run_async()

    def grown(self) -> None:
        """Show what was added; who looks at the newest position goes on to the next one."""
        if self.index >= len(self.playback.steps) - 2:
            self.index = len(self.playback.steps) - 1
        self._application.invalidate()

    def _followed(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._message = str(error)
        self._application.invalidate()

    def _board(self) -> StyleAndTextTuples:
        size = self._application.output.get_size()
        is_cut = columns(answer(self.playback, self._step)) > size.columns  # in the bar
        lines = [*frame(self.playback, self.index, size.columns, with_answer=is_cut), (), LEGEND]
        height = max(1, size.rows - _BAR)
        self._scroll = max(0, min(self._scroll, len(lines) - height))
        self._below = len(lines) > self._scroll + height
        return styled(lines[self._scroll : self._scroll + height])

    def _bar(self) -> StyleAndTextTuples:
        width = self._application.output.get_size().columns
        step = self._step
        seat = "seat" if self._seat is None else self.playback.name(self._seat)[:20]
        keys = ""
        for key in _KEYS:
            longer = f"{keys}  {key.format(seat=seat)}".lstrip()
            if len(longer) <= width:
                keys = longer
        said = answer(self.playback, step) if not step.is_last else ""
        prompt = f"go to decision: {self._typed}" if self._typed else self._message
        lines: list[Line] = [
            ((f"{'! ' if step.incidents else ''}{said}"[:width], Style.PLAIN),),
            ((prompt or keys, Style.PLAIN if prompt else Style.DIM),),
        ]
        return styled(lines)

    def _title(self) -> StyleAndTextTuples:
        live = "" if self.playback.steps[-1].is_last else ", live"
        more = "   ↓ more below" if self._below else ""
        text = f" {title(self.playback, self._step)}{live}{more}"
        return [("", to_ascii(text) if is_ascii_only() else text)]

    @property
    def _step(self) -> Step:
        return self.playback.steps[self.index]

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        def on(*keys: str) -> Callable[[Callable[[], None]], None]:
            def bind(action: Callable[[], None]) -> None:
                def pressed(event: KeyPressEvent) -> None:
                    self._message = ""
                    action()

                for key in keys:
                    bindings.add(key)(pressed)

            return bind

        on("right", "space", "l")(lambda: self._go(self.index + 1))
        on("left", "h")(lambda: self._go(self.index - 1))
        on("home", "g")(lambda: self._go(0))
        on("end", "G")(lambda: self._go(len(self.playback.steps) - 1))
        on("up", "k")(lambda: self._move_text(-1))
        on("down", "j")(lambda: self._move_text(1))
        on("pagedown")(lambda: self._search(1, self._begins_round, "no later round"))
        on("pageup")(lambda: self._search(-1, self._begins_round, "no earlier round"))
        on("n")(lambda: self._search(1, self._is_of_seat, "no later decision of this seat"))
        on("p")(lambda: self._search(-1, self._is_of_seat, "no earlier decision of this seat"))
        on("!")(lambda: self._search(1, lambda index: bool(self._at(index).incidents), "no later incident"))
        on("enter")(self._go_to_typed)
        on("backspace")(lambda: self._type(self._typed[:-1]))
        on("q", "c-c", "c-d")(lambda: self._application.exit())  # noqa: PLW0108 - there is none yet
        for digit in "0123456789":
            on(digit)(lambda digit=digit: self._type(self._typed + digit))  # type: ignore[misc]  # a default binds the digit
        return bindings

    def _go(self, index: int) -> None:
        self._typed = ""
        last = len(self.playback.steps) - 1
        if not 0 <= index <= last:
            self._message = "this is the end" if index > last else "this is the beginning"
        self.index = max(0, min(index, last))

    def _search(self, direction: int, wanted: Callable[[int], bool], none: str) -> None:
        indices = range(self.index + direction, len(self.playback.steps) if direction > 0 else -1, direction)
        found = next(filter(wanted, indices), None)
        if found is None:
            self._message = none
        else:
            self._go(found)

    def _at(self, index: int) -> Step:
        return self.playback.steps[index]

    def _begins_round(self, index: int) -> bool:
        return index == 0 or self._at(index).view.round != self._at(index - 1).view.round

    def _is_of_seat(self, index: int) -> bool:
        seat = self._step.view.seat if self._seat is None else self._seat
        return self._at(index).view.seat == seat and not self._at(index).is_last

    def _move_text(self, lines: int) -> None:
        self._scroll = max(0, self._scroll + lines)

    def _type(self, digits: str) -> None:
        self._typed = digits[:_MAX_DIGITS]

    def _go_to_typed(self) -> None:
        if self._typed:
            self._go(int(self._typed) - 1)
