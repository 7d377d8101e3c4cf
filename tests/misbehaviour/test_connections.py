"""Programs that abuse the connection: they are parted from with a reason, and memory stays small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.misbehaviour.arena import LIMIT_MS, Arena

MEGABYTE = 1_000_000
ROOM = 20 * MEGABYTE
"""What the server may grow by while it is abused: buffers of connections, and the allocator's slack."""


@contextmanager
def bounded_memory(arena: Arena) -> Iterator[None]:
    """Check that the server's memory doesn't grow with what it is sent."""
    before = arena.rss()
    yield
    assert arena.rss() - before < ROOM


def test_garbage_on_the_port_ends_its_own_connection_only(arena: Arena) -> None:
    """What is no gRPC is cut off at once, however often it comes."""
    with bounded_memory(arena), arena.bad_bot("garbage") as bot:
        arena.side_match()
        bot.tells(event="done")
    assert bot.heard == [{"event": "done"}]


def test_nonsense_ends_the_stream_with_a_reason(arena: Arena) -> None:
    """Bytes that are no message of the contract are a mistake of the bot, not a failure of the server."""
    with arena.bad_bot("nonsense") as bot:
        ended = bot.ended()
    assert (ended["status"], ended["reason"]) == ("INVALID_ARGUMENT", "INVALID_FIELD")


def test_huge_messages_are_refused_unread(arena: Arena) -> None:
    """A message above the limit ends its stream, and is never held in memory."""
    with bounded_memory(arena), arena.bad_bot("huge") as bot:
        sent = bot.tells(event="sent")["bytes"]
    ends = [line["status"] for line in bot.heard if line["event"] == "ended"]
    assert set(ends) == {"RESOURCE_EXHAUSTED"}
    assert sent >= 5 * ROOM


def test_too_many_answers_in_a_message_end_the_stream(arena: Arena) -> None:
    """A batch that nobody could need is refused as a whole."""
    with arena.bad_bot("batches") as bot:
        ended = bot.ended()
    assert (ended["status"], ended["reason"]) == ("ABORTED", "STALLED")


def test_bot_that_never_reads_is_parted_from(arena: Arena) -> None:
    """What it doesn't read is not piled up; its silence costs its games, and then its stream."""
    with bounded_memory(arena), arena.bad_bot("babbling") as bot:
        trouble = arena.trouble(bot.name, decision_ms=LIMIT_MS, max_strikes=1)
        arena.server.log.awaited(event="stream_ended", bot=bot.name, reason="STALLED")
        bot.say()
        sent = bot.tells(event="sent")["bytes"]
        ended = bot.ended()
    assert (ended["status"], ended["reason"]) == ("ABORTED", "STALLED")
    assert sent > MEGABYTE
    assert trouble.endings_of(bot.name) == {"forfeit:timeout"}
    assert arena.metric("happycity_outbox_high_water_bytes") < MEGABYTE


def test_flood_is_taken_in_its_time(arena: Arena) -> None:
    """A bot that sends without end is served, beside the others; it needs no more memory than any other."""
    with bounded_memory(arena), arena.bad_bot("flooding") as bot:
        bot.tells(event="notice")
        arena.side_match()
        sent = bot.tells(event="sent")["bytes"]
    assert sent >= 4 * ROOM
    assert bot.kinds() == {"NOTICE_KIND_UNKNOWN_GAME"}


def test_wrong_version_is_refused_with_the_right_ones(arena: Arena) -> None:
    """A bot of another time is told which versions are spoken."""
    with arena.bad_bot("versions") as bot:
        ended = bot.ended()
    assert (ended["status"], ended["reason"]) == ("FAILED_PRECONDITION", "UNSUPPORTED_VERSION")
    assert ended["metadata"] == {"supported_min": "1", "supported_max": "1"}
