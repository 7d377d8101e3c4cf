"""Values that many wait for: every watcher gets them, or the reason why there are no more."""

import asyncio

import pytest
from structlog.testing import capture_logs

from happycity_server.broadcast import Broadcast, BroadcastError, SharedValues
from happycity_server.errors import ApiError, Reason


async def all_of(broadcast: Broadcast[list[int]]) -> list[int]:
    """Return the length of the value whenever it was published, to the end."""
    return [len(value) async for value in broadcast.values()]


async def settle() -> None:
    """Let all that can go on do so, until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_watchers_get_the_value_and_its_changes() -> None:
    """Nothing comes before the first value; who comes late begins with the latest; all end together."""
    broadcast = Broadcast[list[int]]([])
    early = asyncio.create_task(all_of(broadcast))
    await settle()
    for number in range(3):
        broadcast.value.append(number)
        broadcast.publish()
        await settle()
    late = asyncio.create_task(all_of(broadcast))
    await settle()
    broadcast.end()
    assert await early == [1, 2, 3]
    assert await late == [3]
    assert await all_of(broadcast) == [3]  # also afterwards


async def test_a_slow_watcher_gets_the_latest_value() -> None:
    """What was published while it did something else is not kept for it."""
    broadcast = Broadcast[list[int]]([])
    broadcast.publish()
    values = broadcast.values()
    assert len(await anext(values)) == 0
    for number in range(3):
        broadcast.value.append(number)
        broadcast.publish()
    assert len(await anext(values)) == 3


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        (ValueError("no such card"), BroadcastError),
        (ApiError(Reason.UNKNOWN_TOURNAMENT, "there is no tournament 7"), ApiError),
    ],
)
async def test_a_failure_ends_all_watchers(failure: Exception, seen: type[Exception]) -> None:
    """It is logged once, and those who wait, and who come later, get it instead of waiting for ever."""
    broadcast = Broadcast[list[int]]([])
    go_on = asyncio.Event()

    async def work() -> None:
        broadcast.publish()
        await go_on.wait()
        raise failure

    watching = [asyncio.create_task(all_of(broadcast)) for _ in range(3)]
    with capture_logs() as logs:
        broadcast.follow(work(), match=7)
        await settle()
        go_on.set()
        outcomes = await asyncio.gather(*watching, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {seen}
    with pytest.raises(seen, match=str(failure)):
        await all_of(broadcast)
    assert len(logs) == 1
    assert logs[0]["match"] == 7


async def test_its_work_ends_a_broadcast() -> None:
    """When what keeps a value current is done, or cancelled, its watchers are let go."""
    broadcast = Broadcast[list[int]]([])

    async def work() -> None:
        broadcast.publish()
        await asyncio.Event().wait()

    broadcast.follow(work())
    watching = asyncio.create_task(all_of(broadcast))
    await settle()
    broadcast.cancel()
    assert await watching == [0]


async def test_a_value_is_made_once_for_all_who_ask() -> None:
    """Those who come while it is made wait for it; afterwards the latest values are kept, and others not."""
    values, made = SharedValues[int, str](kept=2), list[int]()
    go_on = asyncio.Event()

    async def ask(key: int) -> str:
        async def make() -> str:
            made.append(key)
            await go_on.wait()
            return str(key)

        return await values.get(key, make)

    asking = [asyncio.create_task(ask(1)) for _ in range(5)]
    await settle()
    asking[0].cancel()
    go_on.set()
    assert await asyncio.gather(*asking[1:]) == ["1"] * 4
    assert [await ask(key) for key in (2, 1, 3, 1, 2)] == ["2", "1", "3", "1", "2"]
    assert made == [1, 2, 3, 2]  # 2 was asked for longer ago than 1 when 3 came
    assert 3 not in values or len(made) == 4


async def test_a_value_that_could_not_be_made_is_made_again() -> None:
    """The failure goes to all who wait, and the next one tries again."""
    values = SharedValues[int, str](kept=2)
    attempts = list[int]()

    async def make() -> str:
        attempts.append(1)
        await asyncio.sleep(0)
        if len(attempts) == 1:
            raise ValueError("damaged")
        return "whole"

    outcomes = await asyncio.gather(*(values.get(1, make) for _ in range(3)), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["damaged"] * 3
    assert await values.get(1, make) == "whole"
    assert len(attempts) == 2
