"""What is kept or written as it is latest."""

import asyncio

from happycity_server.latest import LatestEntries, LatestWrite


def test_the_entries_that_were_set_last_are_kept() -> None:
    entries = LatestEntries[str, int](2)
    for name in "abac":
        entries[name] = ord(name)
    assert entries == {"a": ord("a"), "c": ord("c")}


async def test_what_changes_while_it_is_written_is_written_once_more() -> None:
    """There is one write at a time; who waits then has all of it written."""
    value, written, go_on = [0], list[int](), asyncio.Event()

    async def write() -> None:
        seen = value[0]
        await go_on.wait()
        written.append(seen)

    latest = LatestWrite(write)
    for number in range(1, 5):
        value[0] = number
        latest.begin()
        await asyncio.sleep(0)
    go_on.set()
    await latest.wait()
    assert written == [1, 4]
    await latest.wait()
    latest.begin()
    await latest.wait()
    assert written == [1, 4, 4]
