"""When bots that fail pause, and for how long."""

from __future__ import annotations

from happycity_server.ladder.pauses import (
    FIRST_PAUSE,
    FORFEITED_IN_A_ROW,
    LONGEST_PAUSE,
    Pauses,
)


def failing(pauses: Pauses, *, deals: int, now: float = 0.0) -> list[float]:
    """Let anna forfeit deals, each when the pause before is over; return the pauses that begin by them."""
    begun = []
    for _ in range(deals):
        now = max(now, pauses.until("anna"))
        begun.append(pauses.note_deal("anna", now, forfeited=True))
    return begun


def test_pauses_grow() -> None:
    """Several forfeited deals in a row make a bot pause, and each further one for longer."""
    pauses = failing(Pauses(), deals=FORFEITED_IN_A_ROW + 10)
    assert not any(pauses[: FORFEITED_IN_A_ROW - 1])
    assert pauses[FORFEITED_IN_A_ROW - 1 :][:2] == [FIRST_PAUSE, 2 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_a_deal_without_a_forfeit_ends_the_row() -> None:
    """Then it takes as many forfeited deals again."""
    pauses = Pauses()
    failing(pauses, deals=FORFEITED_IN_A_ROW - 1)
    assert pauses.note_deal("anna", 5.0, forfeited=False) == 0.0
    assert not any(failing(pauses, deals=FORFEITED_IN_A_ROW - 1))


def test_deals_that_end_in_a_pause_make_it_no_longer() -> None:
    """They began before it."""
    pauses = Pauses()
    failing(pauses, deals=FORFEITED_IN_A_ROW, now=7.0)
    assert pauses.note_deal("anna", 8.0, forfeited=True) == 0.0
    assert pauses.until("anna") == 7.0 + FIRST_PAUSE


def test_a_bot_that_connects_again_plays_again() -> None:
    """It soon does; one that is started again and again, as it crashes at once, pauses for longer, too."""
    pauses = Pauses()
    failing(pauses, deals=FORFEITED_IN_A_ROW, now=7.0)
    for _ in range(2):
        pauses.note_arrival("anna")
        assert pauses.until("anna") == 7.0 + FIRST_PAUSE / 6
    assert pauses.note_deal("anna", 51.0, forfeited=True) == 2 * FIRST_PAUSE
    pauses.note_arrival("anna")
    assert pauses.until("anna") == 51.0 + 2 * FIRST_PAUSE / 6
    now = 60.0
    for _ in range(20):
        pauses.note_deal("anna", now, forfeited=True)
        pauses.note_arrival("anna")
        now = pauses.until("anna")
    assert now - 60.0 > 10 * LONGEST_PAUSE / 6


def test_bots_are_forgotten() -> None:
    """However many names fail, those that failed long ago take no memory."""
    pauses = Pauses()
    for number in range(3):
        for _ in range(FORFEITED_IN_A_ROW - number):
            pauses.note_deal(f"bot-{number}", number * 1e6, forfeited=True)
    assert len(pauses._records) == 1
