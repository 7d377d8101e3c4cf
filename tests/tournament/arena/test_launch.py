"""Processes that are started before a run can talk to them."""

from __future__ import annotations

from pathlib import Path

from happycity_tournament.arena.launch import launch
from happycity_tournament.arena.run_folder import OwnServer, own_store
from happycity_tournament.arena.tokens import IssuedTokens
from happycity_tournament.bots.lineup import BotEntry, Lineup
from happycity_tournament.bots.processes import start_all_reference_bots

LINEUP = Lineup(bots=(BotEntry(name="ann", builtin="random"), BotEntry(name="bob", command="bob")))


async def test_launched_bots_connect_to_the_address_that_they_get(tmp_path: Path) -> None:
    """They wait for the address of a server; there is none at this one, which they say."""
    (bots,) = start_all_reference_bots(LINEUP, tokens={}, environment={}, folder=tmp_path)
    bots.connect("127.0.0.1:1")
    assert await bots.wait() == 2
    assert "error: nothing listens on 127.0.0.1:1; " in bots.log.read_text()
    await bots.stop()


async def test_launched_processes_end_with_their_starter(tmp_path: Path) -> None:
    """Bots without an address end without an error, and a server ends with its standard input."""
    launched = launch(OwnServer(store=own_store(tmp_path)), tmp_path, LINEUP)
    (bots,) = launched.reference_bots
    for process in (bots, launched.server):
        assert process.child.stdin is not None
        process.child.stdin.close()
        assert await process.wait() == 0
        await process.stop()


def test_a_bot_has_one_token(tmp_path: Path) -> None:
    """Bots that are launched, and those that are started later, are asked for together."""
    tokens = IssuedTokens(tmp_path / "tokens.json")
    first = tokens.of(["ann"])
    assert tokens.of(["ann", "bob"])["ann"] == first["ann"]
