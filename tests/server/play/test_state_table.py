"""The table of states at the head of the contract's Play stream: games at random walk through all of it."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import settings
from tests.server.play.arena import Arena, LocalProgram

from happycity import FailurePolicy
from happycity.v1 import play_service_pb2 as play
from happycity_server.play.match import MatchState

CONTRACT = Path(__file__).parents[3] / "proto" / "happycity" / "v1" / "play_service.proto"

GAME = {
    ("(none)", "", "GameStarted", "IDLE"): "started",
    ("IDLE", "", "Decision", "ASKED"): "decision",
    ("ASKED", "Answer: counts once, in time", "", "IDLE"): "answer",
    ("ASKED", "nothing in time, or no legal move", "Notice TIMEOUT or ILLEGAL_ANSWER", "IDLE"): "strike",
    ("IDLE, ASKED", "Resign", "Notice FORFEIT", "FORFEITED"): "resigned",
    ("IDLE, ASKED", "", "Notice FORFEIT, for any other reason", "FORFEITED"): "forfeited",
    ("FORFEITED", "", "GameOver", "(none)"): "over",
    ("IDLE, ASKED", "", "GameOver", "(none)"): "over",
}
"""The rows of the table of games, and what is seen on the stream when they apply."""
STREAM = {
    ("CONNECTING", "hello, within 10 s", "", "GREETED"),
    ("GREETED", "", "welcome, or an error status", "PLAYING"),
    (
        "PLAYING",
        "answers, resigns, pong",
        "games_started, decisions, games_over, notices, ping",
        "PLAYING",
    ),
    ("PLAYING", "goodbye", "", "LEAVING"),
    ("LEAVING", "", "what was under way, then the status OK", "closed"),
    ("any", "", "an error status, see ErrorReason", "closed"),
}
"""The rows of the table of streams; `api/test_play.py` walks these over gRPC."""


def rows(table: str) -> list[tuple[str, ...]]:
    """Return the rows of one of the contract's tables, by the head of its first column."""
    lines = [line.removeprefix("//").strip() for line in CONTRACT.read_text().splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith(f"{table} ")) + 2
    found: list[list[str]] = []
    for line in lines[first:]:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 4:
            break
        if cells[0]:
            found.append(cells)
        else:  # the row goes on
            found[-1][2] += " " + cells[2]
    return [tuple(cells) for cells in found]


def test_tables_are_those_that_are_walked() -> None:
    """A row that is added to the contract, or changed, must be walked too."""
    assert set(rows("game")) == GAME.keys()
    assert set(rows("stream")) == STREAM


def in_order(batch: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a batch with their fields, in the order in which they were written."""
    fields: Any = play.PlayResponse.DESCRIPTOR.fields_by_number
    parts: Any = UnknownFieldSet(Empty.FromString(batch))  # to an empty message all fields are unknown
    for part in parts:
        field = fields[part.field_number]
        if field.is_repeated:
            yield field.name, GetMessageClass(field.message_type).FromString(part.data)


class Walker:
    def __init__(self, bot: LocalProgram) -> None:
        self.bot = bot
        self.used: set[tuple[str, ...]] = set()
        self._states: dict[int, str] = {}
        self._resigned: set[int] = set()
        self._batches = 0

    def state(self, match_id: int) -> str:
        return self._states.get(match_id, "(none)")

    def step(self, match_id: int, event: str) -> None:
        """Take the row of an event; there must be one."""
        state = self.state(match_id)
        row = next((row for row, of in GAME.items() if of == event and state in row[0].split(", ")), None)
        assert row is not None, f"{event} in {state}"
        self.used.add(row)
        self._states[match_id] = row[-1]

    async def follow(self) -> None:
        await self.bot.catch_up()
        for batch in self.bot.batches[self._batches :]:
            for field, part in in_order(batch):
                event = self._event(field, part)
                if event:
                    self.step(part.match_id, event)
        self._batches = len(self.bot.batches)

    def _event(self, field: str, part: object) -> str:
        if isinstance(part, play.Notice):
            if part.kind in (play.NOTICE_KIND_TIMEOUT, play.NOTICE_KIND_ILLEGAL_ANSWER):
                return "strike"
            if part.kind == play.NOTICE_KIND_FORFEIT:
                return "resigned" if part.match_id in self._resigned else "forfeited"
            return ""  # a remark
        return {"games_started": "started", "decisions": "decision", "games_over": "over"}[field]

    async def resign(self, match_id: int) -> None:
        if self.state(match_id) in ("IDLE", "ASKED"):
            self._resigned.add(match_id)
        await self.bot.say(resigns=[play.Resign(match_id=match_id)])


async def walk(seed: int) -> set[tuple[str, ...]]:
    """Play a match at random; return the rows that were used."""
    rng, arena = random.Random(seed), Arena()
    walkers = [Walker(arena.connect(name)) for name in ("anna", "ben", "carl")]
    match = await arena.match("anna", "ben", "carl", policy=FailurePolicy(max_strikes=rng.randrange(3)))
    while match.state is MatchState.RUNNING:
        for walker in walkers:
            await walker.follow()
        asked, other = walkers[match.referee.game.seat], rng.choice(walkers)
        decision = asked.bot.received.decisions[-1]
        assert asked.state(1) == "ASKED"
        match rng.choices(("answer", "illegal", "silence", "resign", "repeat"), (200, 2, 1, 1, 9))[0]:
            case "answer":
                await asked.bot.answer(decision, rng.randrange(len(decision.moves)))
                asked.step(1, "answer")
            case "illegal":
                await asked.bot.answer(decision, 99)
            case "silence":
                arena.wait(10.1)
                for walker in walkers:
                    await walker.bot.say()
            case "resign":
                await other.resign(1)
            case "repeat":
                await other.bot.answer(rng.choice(other.bot.received.decisions[:-1] or [play.Decision()]))
    for walker in walkers:
        await walker.follow()
        assert walker.state(1) == "(none)"
    return set().union(*(walker.used for walker in walkers))


@pytest.mark.level(2)
async def test_games_walk_through_all_rows() -> None:
    """Whatever bots do, each message has a row in the state of its game, and every row is used."""
    used: set[tuple[str, ...]] = set()
    for seed in range(settings().max_examples):
        used |= await walk(seed)
    assert used == GAME.keys()
