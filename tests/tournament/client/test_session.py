"""Processes of bots that end while their tournament goes on."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from happycity_tournament.client.processes import BotProgram, start_command
from happycity_tournament.client.session import ServerSession

SECRET = "hc_1_secret"


@dataclass
class Server:
    """A server that remembers which bots it asked to leave, and why."""

    others: tuple[str, ...] = ()
    """Names under which other programs play."""
    left: list[tuple[str, str, str]] = field(default_factory=list)

    async def still_connected(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in names if name in self.others]

    async def leave(self, name: str, *, token: str, reason: str) -> None:
        self.left.append((name, token, reason))


@dataclass
class Remarks:
    texts: list[str] = field(default_factory=list)

    def remark(self, text: str) -> None:
        self.texts.append(text)


def session_of(server: Server, restarts: int) -> ServerSession:
    parts: Any = {"connection": server, "tokens": lambda names: dict.fromkeys(names, SECRET)}
    return ServerSession(environment={}, patience=0.0, stop_handlers=[], restarts=restarts, **parts)


def ending_bot(folder: Path) -> BotProgram:
    """Return a program that notes each of its starts in a file, and fails."""
    return start_command(
        "ann", "sh -c 'echo x >> starts; exit 3'", tokens={}, environment={}, folder=folder, directory=folder
    )


@pytest.mark.parametrize("restarts", [0, 1, 3])
async def test_a_bot_is_started_again_as_often_as_agreed(tmp_path: Path, restarts: int) -> None:
    """After that its seats are forfeited, so that no game waits for it, for the reason that it ended with."""
    server, remarks = Server(), Remarks()
    session, bot = session_of(server, restarts), ending_bot(tmp_path)
    again = []
    for _ in range(restarts + 1):
        assert server.left == []
        await bot.wait()
        again.append(await session._started_again(bot, remarks))  # type: ignore[arg-type]  # all that it needs
    assert again == [True] * restarts + [False]
    assert bot.restarts == restarts
    assert len((tmp_path / "starts").read_text().split()) == 1 + restarts
    assert server.left == [("ann", SECRET, "its program ended with status 3")]
    ends = [text.rpartition("; ")[2] for text in remarks.texts]
    assert ends == ["it is started again"] * restarts + ["its seats are forfeited"]
    await bot.stop()


async def test_a_bot_whose_name_another_program_has_is_left_alone(tmp_path: Path) -> None:
    """It is neither started again nor does the other one lose its seats."""
    server, remarks = Server(others=("ann",)), Remarks()
    bot = ending_bot(tmp_path)
    await bot.wait()
    assert not await session_of(server, 3)._started_again(bot, remarks)  # type: ignore[arg-type]  # as above
    assert (bot.restarts, server.left) == (0, [])
    assert remarks.texts[0].endswith("; another program plays as ann")
    await bot.stop()
