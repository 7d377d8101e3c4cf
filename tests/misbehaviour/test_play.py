"""Bots that play badly: each loses by its own fault alone, and the others' games go on to their end."""

from __future__ import annotations

from tests.misbehaviour.arena import FINISHED, GAMES, LIMIT_MS, Arena, Trouble

from happycity import Game, Move
from happycity.records import Json, deal_of
from happycity.v1 import game_pb2


def assert_forfeited(trouble: Trouble, reason: str) -> None:
    """Check that the bad bot forfeited every game, and that records and standings say why."""
    assert trouble.endings_of(trouble.bad) == {f"forfeit:{reason}"}
    standing = trouble.standings[trouble.bad]
    assert standing.forfeits == GAMES
    counts = {game_pb2.Ending.Name(count.ending): count.games for count in standing.forfeits_by_reason}
    assert counts == {f"ENDING_FORFEIT_{reason.upper()}": GAMES}


def assert_played(trouble: Trouble) -> None:
    """Check that the bad bot played every game to the end, and was charged with nothing."""
    assert trouble.endings_of(trouble.bad) == {FINISHED}
    assert trouble.standings[trouble.bad].forfeits == 0


def choices(record: Json, seat: int) -> list[tuple[Move, tuple[Move, ...]]]:
    """Return the moves of a seat, each with those that it could choose from."""
    game, made = Game(deal_of(record)), []
    for line in record["moves"]:
        move = Move.parse(line["move"])
        if game.seat == seat:
            made.append((move, game.legal_moves))
        game.apply(move)
    return made


def test_silent_bot_forfeits_by_timeout(arena: Arena) -> None:
    """A bot that never answers has its strikes, and then no seat."""
    with arena.bad_bot("silent") as bot:
        trouble = arena.trouble(bot.name, decision_ms=LIMIT_MS, max_strikes=1)
        for _ in range(GAMES):
            bot.tells(event="over")
    assert_forfeited(trouble, "timeout")
    assert bot.kinds() == {"NOTICE_KIND_TIMEOUT", "NOTICE_KIND_FORFEIT"}


def test_frozen_bot_forfeits_by_timeout_and_is_parted_from(arena: Arena) -> None:
    """A process that hangs while its connection stays open holds nobody up, and nothing is kept for it."""
    with arena.bad_bot("frozen") as bot:
        trouble = arena.trouble(bot.name, decision_ms=LIMIT_MS, max_strikes=1)
        arena.server.log.awaited(event="stream_ended", bot=bot.name, reason="NO_HEARTBEAT")
    assert_forfeited(trouble, "timeout")


def test_slow_bot_forfeits_by_timeout(arena: Arena) -> None:
    """A right answer that comes too late counts for nothing, and the bot is told so."""
    with arena.bad_bot("slow") as bot:
        trouble = arena.trouble(bot.name, decision_ms=LIMIT_MS, max_strikes=1)
        for _ in range(GAMES):
            bot.tells(event="over")
    assert_forfeited(trouble, "timeout")
    assert "NOTICE_KIND_LATE_ANSWER" in bot.kinds()


def test_bot_that_answers_twice_is_taken_by_its_first_word(arena: Arena) -> None:
    """Of several answers to a decision the first counts, and the others harm nobody."""
    with arena.bad_bot("twice") as bot:
        trouble = arena.trouble(bot.name)
        for _ in range(GAMES):
            bot.tells(event="over")
    assert_played(trouble)
    for bots, record in trouble.games:
        made = choices(record, bots.index(bot.name))
        assert len(made) > 10
        assert all(move == legal[-1] for move, legal in made)
    assert bot.kinds() <= {"NOTICE_KIND_UNKNOWN_GAME"}  # an answer that crosses the end of its game


def test_bot_that_answers_for_others_is_not_heard(arena: Arena) -> None:
    """Answers and resignations for games of others are noticed and change nothing there."""
    with arena.bad_bot("stranger") as bot:
        trouble = arena.trouble(bot.name)
        for _ in range(GAMES):
            bot.tells(event="over")
    assert_played(trouble)
    assert bot.kinds() == {"NOTICE_KIND_UNKNOWN_GAME"}


def test_bot_that_names_no_legal_move_forfeits(arena: Arena) -> None:
    """Positions that there are not cost strikes, and then the seat; the reason is not that of a late bot."""
    with arena.bad_bot("illegal") as bot:
        trouble = arena.trouble(bot.name)
        for _ in range(GAMES):
            bot.tells(event="over")
    assert_forfeited(trouble, "illegal")
    assert bot.kinds() == {"NOTICE_KIND_ILLEGAL_ANSWER", "NOTICE_KIND_FORFEIT"}


def test_bot_that_returns_plays_on(arena: Arena) -> None:
    """A bot that is away in the middle of decisions finds its games as they were, and loses nothing."""
    with arena.bad_bot("returning") as bot:
        trouble = arena.trouble(bot.name)
        for _ in range(GAMES):
            bot.tells(event="over")
    assert_played(trouble)
    assert [line["resumed"] for line in bot.heard if line["event"] == "welcome"][:2] == [False, True]


def test_bot_that_never_returns_forfeits(arena: Arena) -> None:
    """After the grace time its seats are forfeited, in games where it had played before too."""
    with arena.bad_bot("leaving") as bot:
        trouble = arena.trouble(bot.name, grace_ms=200)
    assert_forfeited(trouble, "disconnected")


def test_bot_that_dies_when_a_game_starts_forfeits(arena: Arena) -> None:
    """A bot that is gone before its first decision is charged like one that leaves later."""
    with arena.bad_bot("dying") as bot:
        trouble = arena.trouble(bot.name, grace_ms=200)
    assert_forfeited(trouble, "disconnected")
