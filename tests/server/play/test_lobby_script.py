"""What a lobby and its sessions do, step by step, in the scenes of `lobby.txt`.

`python -m tests.server.play.test_lobby_script` makes the results again.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs
from tests.server.play.arena import Arena, LocalProgram
from tests.tables import Table

from happycity import Ending, FailurePolicy, TimeControl, VoidReason
from happycity.v1 import match_pb2
from happycity.v1 import play_service_pb2 as play
from happycity_server.errors import ApiError
from happycity_server.play.match import Match, MatchState

COUNTED = (
    *("matches_started", "matches_finished", "matches_voided", "decisions", "think_counts", "think_us"),
    *("strikes", "forfeits", "streams_opened", "streams_resumed", "streams_taken_over", "streams_lost"),
)
POLICY = ("max_strikes", "grace_seconds")
TIMES = ("decision_seconds", "bank_seconds", "margin_seconds", "no_clock")


def fields_of(words: list[str]) -> dict[str, Any]:
    """Return the values of words such as seat=1, grace_seconds=2.5 or resume_token=any."""
    pairs = (word.split("=") for word in words if "=" in word)
    return {name: value == "1" if name == "no_clock" else value_of(value) for name, value in pairs}


def value_of(word: str) -> float | str:
    """Return a number, an int if it is whole, or the word itself."""
    if "." in word:
        return float(word)
    return int(word) if word.isdecimal() else word


class Scene:
    def __init__(self) -> None:
        self._arena: Arena
        self._kept: list[object] = []  # arenas and programs of before, whose tasks go on to the end
        self._programs: dict[str, LocalProgram] = {}
        """The latest program of each bot, and as former-NAME the one before."""
        self._matches: dict[int, Match] = {}

    async def play(self, line: str) -> list[str]:
        """Do what a line says; return what comes of it, and how streams and matches are then."""
        verb, *words = line.split()
        try:
            shown = await getattr(self, f"_{verb}")(*words)
        except ApiError as error:
            shown = [f"refused: {error.reason.name}"]
        ends = [f"{name}'s stream ends: {each.end.name}" for name, each in self._programs.items() if each.end]
        return [*(shown or ()), *ends, *(state(match) for match in self._matches.values())]

    async def _server(self, *words: str) -> None:
        """Begin another scene, at a server with some limits."""
        self._arena, self._programs, self._matches = Arena(**fields_of(list(words))), {}, {}
        self._kept.append(self._arena)

    async def _connect(self, *words: str) -> None:
        for name in (word for word in words if "=" not in word):
            self._keep(name, self._arena.connect(name, **fields_of(list(words))))

    def _keep(self, name: str, program: LocalProgram) -> None:
        """Let a bot have another program."""
        if name in self._programs:
            self._programs[f"former-{name}"] = self._programs[name]
        self._programs[name] = program
        self._kept.append(program)

    async def _lose(self, name: str) -> None:
        """Break the connection of a bot."""
        self._programs[name].lose()

    async def _again(self, name: str, *words: str) -> list[str]:
        """Connect a bot's program once more, with its token; show what it gets."""
        before = self._programs[name]
        self._keep(name, before.again(**fields_of(list(words))))
        same = self._programs[name].resume_token == before.resume_token
        return ["resumed" if same else "a new program", *await self._read(name)]

    async def _match(self, *words: str) -> None:
        """Set a match up, with fields of its time control and failure policy; out=NAME is disqualified."""
        bots = [word for word in words if "=" not in word]
        out = [word.removeprefix("out=") for word in words if word.startswith("out=")]
        fields = fields_of([word for word in words if not word.startswith("out=")])
        match = await self._arena.match(
            *bots,
            time=TimeControl(**{name: fields[name] for name in TIMES if name in fields}),
            policy=FailurePolicy(**{name: fields[name] for name in POLICY if name in fields}),
            disqualified=out,
            tournament_id=fields.get("tournament", 0),
        )
        self._matches[match.match_id] = match

    async def _wait(self, seconds: str) -> None:
        self._arena.wait(float(seconds))

    async def _read(self, name: str) -> list[str]:
        """Show what a bot gets that it has not read yet, batch by batch."""
        program = self._programs[name]
        program.batches.clear()
        await program.catch_up()
        error = program.outbox.error
        end = f"the end of the stream, {error.reason.name if error else 'OK'}"
        responses = map(play.PlayResponse.FromString, program.batches)
        return [f"{name} gets {'; '.join(parts_of(response)) or end}" for response in responses]

    async def _take(self, name: str) -> None:
        """Begin to write a bot's next batch, which it doesn't take."""
        await self._programs[name].outbox.next_batch()

    async def _say(self, name: str, what: str, *words: str) -> None:
        """Let a bot answer, resign, or say goodbye or nothing."""
        fields = fields_of(list(words))
        parts: dict[str, Any] = {
            "answer": {"answers": [fields]},
            "resign": {"resigns": [fields]},
            "goodbye": {"goodbye": play.Goodbye()},
            "nothing": {},
        }
        await self._programs[name].say(**parts[what])

    async def _forfeit(self, match: str, seat: str, ending: str) -> None:
        self._matches[int(match)].forfeit(int(seat), Ending[ending], self._arena.now)

    async def _void(self, match: str) -> None:
        self._matches[int(match)].void(VoidReason.STOPPED)

    async def _drop(self, tournament: str) -> None:
        self._arena.lobby.drop_waiting(int(tournament))

    async def _disqualify(self, name: str, tournament: str) -> None:
        self._arena.lobby.disqualify(name, int(tournament), f"{name} failed too often")

    async def _close(self, seconds: str) -> None:
        """Close the lobby, after a time in which games may end."""
        self._kept.append(asyncio.create_task(self._arena.lobby.close(float(seconds))))
        await asyncio.sleep(0)

    async def _counters(self) -> Iterator[str]:
        counted = {name: getattr(self._arena.lobby.counters, name) for name in COUNTED}
        shown = {name: dict(each) if isinstance(each, Counter) else each for name, each in counted.items()}
        return (f"{name}: {each}" for name, each in shown.items() if each)

    async def _sessions(self) -> list[str]:
        """Show who is known, and how many games each plays."""
        known = self._arena.lobby.sessions
        return [f"{name} plays {known[name].games} games" for name in sorted(known)]


def state(match: Match) -> str:
    """Return how a match is, in words."""
    ends = (ending.name for ending in match.referee.endings)
    reasons = "; ".join(reason for reason in match.referee.reasons if reason)
    void = f" {match.void_reason.name}" if match.state is MatchState.VOIDED and match.void_reason else ""
    return f"match {match.match_id} {match.state.name}{void}: {' '.join(ends)} {reasons}".rstrip()


def parts_of(got: play.PlayResponse) -> Iterator[str]:
    """Yield what a bot got in words, part by part; the ids in a welcome are those of games that go on."""
    if got.HasField("welcome"):
        yield f"a welcome to {list(got.welcome.match_ids)}"
    for started in got.games_started:
        yield f"game {started.match_id} in seat {started.seat} with seed {started.seed}"
    for asked in got.decisions:
        clock = asked.clock
        left = f"{clock.time_left_us / 1e6:.1f} s" if clock.HasField("time_left_us") else "no limit"
        bank = f", bank {clock.bank_left_us / 1e6:.1f} s" if clock.HasField("bank_left_us") else ""
        which = f"decision {asked.decision_id} of {asked.match_id} in seat {asked.view.seat}"
        yield f"{which}, {left}{bank}, events: {len(asked.events)}"
    for notice in got.notices:
        kind = play.NoticeKind.Name(notice.kind).removeprefix("NOTICE_KIND_")
        where = f"decision {notice.decision_id} of {notice.match_id} in round {notice.round}"
        yield f"notice {kind} for {where} ({notice.text})"
    if got.HasField("ping"):
        yield f"ping {got.ping.nonce}"
    for over in got.games_over:
        seats = (match_pb2.Ending.Name(seat.ending) for seat in over.outcome.result.seats)
        void_reason = match_pb2.VoidReason.Name(over.outcome.void_reason)
        yield " ".join((f"the end of {over.match_id}:", void_reason, *seats))


def scenes(runner: asyncio.Runner) -> Table:
    """Return the table of scenes, which are played in the loop of a runner."""
    scene = Scene()

    def come_of(line: str) -> list[str]:
        with capture_logs():
            return runner.run(scene.play(line))

    return Table(Path(__file__).with_name("lobby.txt"), come_of)


def test_lobby_does_what_is_kept() -> None:
    """Who plays what and when, what bots get, and how matches end are as in the script."""
    with asyncio.Runner() as runner:
        scenes(runner).check(least=200)


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        scenes(runner).write()
