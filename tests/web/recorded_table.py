"""A person's table that shows a recorded game, step by step, in a browser without a server's game."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from playwright.async_api import Browser, Page, Route, ViewportSize

from happycity import Config, Deal, Mode
from happycity.records.playback import Playback
from happycity.records.random_games import movers_rng, record_random_game
from happycity.records.record import Json
from happycity.records.replay import positions_of
from happycity.wire.messages import decision_message
from happycity_server.people.table import TablePlan
from happycity_viewer.languages import LANGUAGES, language
from happycity_viewer.plies import playback_json
from happycity_viewer.templates import game_values
from happycity_web import seats
from happycity_web.render import Page as WebPage
from happycity_web.render import Reader

NAMES = ("@Anna", "greedy", "planner", "rollout", "champion")
_SOCKET = """window.WebSocket = class extends EventTarget {
  static OPEN = 1;
  readyState = 1;
  constructor() {
    super();
    window.tell = (text) => this.dispatchEvent(new MessageEvent("message", { data: text }));
  }
  send() {}
};"""
"""A connection over which the test speaks."""


class RecordedTable:
    """A game of random movers, with what the page of seat 1 gets at each position."""

    def __init__(self, *, players: int, mode: Mode, seed: int = 3, code: str = "en") -> None:
        config = Config(players=players, mode=mode)
        record = record_random_game(Deal.shuffle(config, seed=seed), movers_rng(seed))
        self.playback = Playback.of_record(record, bots=NAMES[:players], match_id=1)
        own = language(code)
        self.game = playback_json(self.playback, texts=own.texts)
        values = {
            "language_links": dict.fromkeys(LANGUAGES, "?"),
            "has_ladder": True,
            **dict.fromkeys(("has_tokens", "runs_programs", "has_access", "may_sign_in"), False),
            "may_play": True,
            "origin": "",
            "address": "",
        }
        self.reader = Reader(own, "", values)
        plan = TablePlan(config=config, seats=("me", *NAMES[1:players]), decision_seconds=300.0, seed=seed)
        self.person = SimpleNamespace(
            decision=None, has_left=False, notices=(), started=True, seconds_left=300.0, name=NAMES[0]
        )
        table = SimpleNamespace(plan=plan, host=0, names=NAMES, match_id=1, people={0: self.person})
        self.place = SimpleNamespace(seat=0, table=table, person=self.person)
        self.messages = list(self._messages(record))

    def html(self) -> str:
        """Return the page at the first position."""
        game = {**self.game, "plies": self.game["plies"][:1], "end": None}
        values = game_values(game, ply=0, seat=1) | {"place": self.place, "may_be_guided": True}
        values |= {"table": self.place.table, "house": [], "is_live": False}
        return WebPage("play.html", values).html(self.reader)

    def _messages(self, record: Json) -> Iterator[str]:
        """Yield what the page gets at each position but the last, in the form of `seats.follow_table`."""
        for number, game in enumerate(positions_of(record)):
            if number == len(self.playback.steps) - 1:
                return
            asked = game.view().seat == 0
            self.person.decision = (
                decision_message(game, match_id=1, decision_id=number + 1) if asked else None
            )
            so_far = Playback(bots=NAMES, match_id=1, steps=self.playback.steps[: number + 1])
            panel = seats.seat_json(self.place, so_far, None, self.reader)  # type: ignore[arg-type]
            plies = self.game["plies"][number : number + 1]
            yield json.dumps({"plies": plies, **panel, "left": 300.0})

    @asynccontextmanager
    async def page(self, browser: Browser, base_url: str, **options: Any) -> AsyncIterator[Page]:
        """Yield a tab with the table, whose `tell(message)` shows the next position."""
        viewport: ViewportSize = {"width": 1440, "height": 900}
        async with await browser.new_context(
            base_url=base_url, viewport=viewport, reduced_motion="reduce", **options
        ) as context:
            page = await context.new_page()
            await page.add_init_script(_SOCKET)

            async def answer(route: Route) -> None:
                await route.fulfill(body=self.html(), content_type="text/html")

            await page.route("**/play/recorded*", answer)
            await page.goto("/play/recorded")
            await page.wait_for_function("() => window.tell")
            yield page
