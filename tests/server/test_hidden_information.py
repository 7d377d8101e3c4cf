"""Nothing that is hidden can be told from what the server sends, as long as a match runs.

The same match is played on twin deals, which agree on all that has been turned up by then and on nothing
else: the rest of the decks and the box are in another order, and reshuffles that are yet to come have another
seed. Whoever plays or watches must get the same bytes from both.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.server.trust import PlayCall, connected, refused
from tests.server.trust import settings as server_settings

from happycity import Card, Config, ConfigError, Deal, Game, Mode
from happycity.terms import FailurePolicy, TimeControl
from happycity.v1 import match_service_pb2 as pb
from happycity.v1 import play_service_pb2 as play
from happycity.v1.match_service_pb2_grpc import MatchServiceStub
from happycity.wire import config_message
from happycity_server.app import running
from happycity_server.clocks import FairClock
from happycity_server.lobby import SWEEP_SECONDS, Lobby
from happycity_server.matches import Match, MatchSpec, MatchState
from happycity_server.sessions import Session
from happycity_server.shows import LiveShow
from happycity_server.streams import Stream

NAMES = ("anna", "ben", "carl", "dora", "emil")
LIMIT_SECONDS = 10.0


def is_played(mode: Mode) -> bool:
    """Return whether this version plays a mode at all."""
    try:
        Game.deal(Config(players=2, mode=mode), seed=1)
    except ConfigError:
        return False
    return True


MODES = [mode for mode in Mode if is_played(mode)]

# Twin deals ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """How far a game has turned its deal up."""

    drawn: tuple[int, ...]
    """Cards of each deck, from the top."""
    reshuffled: bool

    @classmethod
    def of(cls, game: Game) -> Seen:
        """Return it for a game; what was dealt and is not in its decks any more was seen."""
        rebuilt = {deck for deck, _ in game.reshuffles}
        sizes = [len(deck) for deck in Deal.shuffle(game.config, seed=0).decks]
        drawn = [
            size if number in rebuilt else size - left
            for number, (size, left) in enumerate(zip(sizes, game.view().decks, strict=True), start=1)
        ]
        return cls(tuple(drawn), bool(rebuilt))


def twin_of(deal: Deal, seen: Seen, rng: random.Random) -> Deal:
    """Return a deal that is the same as far as it was seen, and otherwise another."""

    def permuted(cards: Sequence[Card], known: int) -> tuple[Card, ...]:
        return (*cards[:known], *rng.sample(cards[known:], len(cards) - known))

    decks = [permuted(deck, known) for deck, known in zip(deal.decks, seen.drawn, strict=True)]
    return replace(
        deal,
        seed=deal.seed if seen.reshuffled else rng.randrange(2**64),
        decks=(decks[0], decks[1], decks[2]),
        box=permuted(deal.box, 0),
    )


# A match without sockets ---------------------------------------------------------------------------------


@dataclass
class Told:
    """All that the server said in a match, in bytes, and how far the match was by then."""

    by_bot: dict[str, list[bytes]] = field(default_factory=dict)
    by_watcher: list[bytes] = field(default_factory=list)
    seen: Seen = Seen((0, 0, 0), reshuffled=False)
    decisions: int = 0
    """How many deeds were done."""
    is_over: bool = False


class Bot:
    """A bot's program, which may be away and come back."""

    def __init__(self, lobby: Lobby, name: str, told: list[bytes]) -> None:
        self.name = name
        self.decision: play.Decision | None = None
        """The last that it was asked."""
        self._lobby = lobby
        self._told = told
        self.stream: Stream
        self.session: Session
        self.connect()

    def connect(self, **hello: Any) -> None:
        self.stream = self._lobby.new_stream()
        self.session = self._lobby.enter(play.Hello(name=self.name, protocol_version=1, **hello), self.stream)

    def come_back(self, *, resume: bool) -> None:
        """Lose the connection and take it up again, as the same program or as another."""
        token = self.session.token
        self._lobby.exit(self.session, self.stream)
        self.connect(resume_token=token, games=[1]) if resume else self.connect()

    def say(self, now: float, **parts: Any) -> None:
        self.session.receive(self.stream, play.PlayRequest(**parts), now)

    async def read(self) -> None:
        """Take all that waits to be sent; the welcome has a secret that is made anew each time."""
        while self.stream.waiting_bytes:
            response = play.PlayResponse.FromString(await self.stream.next_batch())
            response.ClearField("welcome")
            self._told.append(response.SerializeToString())
            if response.decisions:
                self.decision = response.decisions[-1]


# What the asked bot does: a choice by its position, or something else.
deeds = st.integers(0, 9) | st.sampled_from(["late", "illegal", "stray", "resign", "resume", "anew"])


async def perform(deal: Deal, deeds: Sequence[int | str], *, decisions: int) -> Told:
    """Play so many decisions of a match; the deeds come round again and again."""
    now = 1000.0
    lobby = Lobby(FairClock(lambda: now, tick_seconds=SWEEP_SECONDS))
    lobby.sweep()
    told, players = Told(), deal.config.players
    bots = [Bot(lobby, name, told.by_bot.setdefault(name, [])) for name in NAMES[:players]]
    spec = MatchSpec(
        deal=deal,
        bots=NAMES[:players],
        bot_seeds=tuple(range(players)),
        time=TimeControl(decision_seconds=LIMIT_SECONDS),
        policy=FailurePolicy(max_strikes=1),
    )
    match = lobby.create(spec)
    watching = asyncio.create_task(watch(match, told))
    match.start([bot.session for bot in bots], now)
    while told.decisions < decisions and match.state is MatchState.RUNNING:
        for bot in bots:
            await bot.read()
        now += 0.1
        bot = bots[match.open_seat]
        asked = bot.decision
        assert asked is not None
        own = partial(play.Answer, game_id=asked.game_id, decision_id=asked.decision_id)
        deed = deeds[told.decisions % len(deeds)]
        told.decisions += 1
        match deed:
            case "late":
                now += LIMIT_SECONDS + 1
                match.tick(now)
                bot.say(now)  # a sign of life, so that nothing is held back
            case "illegal":
                bot.say(now, answers=[own(move=99)])
            case "stray":
                bot.say(now, answers=[play.Answer(game_id=asked.game_id, decision_id=99)])
            case "resign":
                bot.say(now, resigns=[play.Resign(game_id=asked.game_id)])
            case "resume" | "anew" as how:
                bot.come_back(resume=how == "resume")
            case int(choice):
                bot.say(now, answers=[own(move=choice % len(asked.moves))])
    for bot in bots:
        await bot.read()
    for _ in range(3):
        await asyncio.sleep(0)  # the watcher's turn
    watching.cancel()
    told.seen = Seen.of(match.referee.game)
    told.is_over = match.state is not MatchState.RUNNING
    return told


async def watch(match: Match, told: Told) -> None:
    async for step in LiveShow(match).steps(skip=0):
        told.by_watcher.append(step.SerializeToString())


def told_in(deal: Deal, deeds: Sequence[int | str], decisions: int) -> Told:
    """Return what was told in the first decisions of a match, but not its end."""
    with capture_logs():
        told = asyncio.run(perform(deal, deeds, decisions=decisions))
        while told.is_over:
            told = asyncio.run(perform(deal, deeds, decisions=told.decisions - 1))
    return told


configs = st.builds(Config, players=st.integers(2, 5), mode=st.sampled_from(MODES))
seeds = st.integers(0, 2**64 - 1)
some_decisions = st.sampled_from(range(1, 201))


def check(config: Config, *, seed: int, other: int, deeds: Sequence[int | str], decisions: int) -> None:
    """Check that all is told alike on twin deals."""
    deal = Deal.shuffle(config, seed=seed)
    told = told_in(deal, deeds, decisions)
    twin = twin_of(deal, told.seen, random.Random(other))
    told_of_twin = told_in(twin, deeds, decisions)
    assert told_of_twin.by_bot == told.by_bot
    assert told_of_twin.by_watcher == told.by_watcher
    assert told.by_watcher


@settings(max_examples=60, deadline=None)
@given(config=configs, seed=seeds, other=seeds, play=seeds, decisions=some_decisions)
def test_bots_and_watchers_learn_nothing_hidden(
    config: Config, seed: int, other: int, play: int, decisions: int
) -> None:
    """Up to any decision of a game that is played by chance, all are told the same on twin deals."""
    rng = random.Random(play)
    choices = [rng.randrange(60) for _ in range(decisions)]
    check(config, seed=seed, other=other, deeds=choices, decisions=decisions)


@settings(max_examples=60, deadline=None)
@given(
    config=configs,
    seed=seeds,
    other=seeds,
    deeds=st.lists(deeds, min_size=1, max_size=60),
    decisions=some_decisions,
)
def test_bots_that_err_learn_nothing_hidden(
    config: Config, seed: int, other: int, deeds: list[int | str], decisions: int
) -> None:
    """Nor does a bot that is late, names no legal move, resigns, or goes and comes back."""
    check(config, seed=seed, other=other, deeds=deeds, decisions=decisions)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_what_is_turned_up_is_told(mode: Mode) -> None:
    """The comparison above is able to fail: deals that differ in a card that turns up are told apart."""
    deal = Deal.shuffle(Config(players=2, mode=mode), seed=1)
    told = told_in(deal, [1], 20)
    assert sum(told.seen.drawn) > 0
    other = twin_of(deal, Seen((0, 0, 0), reshuffled=False), random.Random(1))
    told_of_other = told_in(other, [1], 20)
    assert told_of_other.by_bot != told.by_bot
    assert told_of_other.by_watcher != told.by_watcher


# A match over real gRPC ----------------------------------------------------------------------------------


@dataclass
class Answers:
    """What a server said in a match and about it."""

    to_bots: dict[str, play.PlayResponse] = field(default_factory=dict)
    to_others: list[Message] = field(default_factory=list)
    refusal: object = None


async def answers_about(folder: Path, deal: Deal, *, decisions: int) -> Answers:
    """Play so many decisions of a match on a real server, and ask it everything about that."""
    answers, names = Answers(), NAMES[: deal.config.players]
    async with (
        running(server_settings(folder)) as arena,
        grpc.aio.insecure_channel(arena.address) as channel,
    ):
        calls = {name: await connected(channel, name) for name in names}
        stub = MatchServiceStub(channel)
        request = pb.CreateMatchRequest(config=config_message(deal.config), bots=names, seed=deal.seed)
        created = await stub.CreateMatch(request)
        reached = asyncio.Event()
        playing = []
        for name, call in calls.items():
            heard = answers.to_bots[name] = play.PlayResponse()
            playing.append(asyncio.create_task(play_up_to(call, heard, decisions, reached)))
        await reached.wait()
        match_id = created.match.match_id
        async for step in stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id)):
            answers.to_others.append(step)
            if step.decisions == decisions - 1:
                break
        answers.to_others.append(await stub.GetMatch(pb.GetMatchRequest(match_id=match_id)))
        answers.to_others.append(await stub.ListMatches(pb.ListMatchesRequest()))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetMatchRecord(pb.GetMatchRecordRequest(match_id=match_id))
        answers.refusal = refused(caught.value)
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)
    return answers


async def play_up_to(
    call: PlayCall, heard: play.PlayResponse, decisions: int, reached: asyncio.Event
) -> None:
    """Answer up to a decision, and note everything that was heard but times."""
    while isinstance(response := await call.read(), play.PlayResponse):
        for decision in response.decisions:
            decision.ClearField("clock")
            move = decision.decision_id % len(decision.moves)
            if decision.decision_id < decisions:
                answer = play.Answer(game_id=decision.game_id, decision_id=decision.decision_id, move=move)
                await call.write(play.PlayRequest(answers=[answer]))
        response.ClearField("ping")
        heard.MergeFrom(response)
        if any(decision.decision_id == decisions for decision in response.decisions):
            reached.set()


@pytest.mark.usefixtures("clock")  # or bots might be told that the server was late
@pytest.mark.parametrize("mode", MODES, ids=str)
async def test_server_tells_nothing_hidden(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a server is asked about a running match, it answers alike on twin deals."""
    decisions, deal = 40, Deal.shuffle(Config(players=2, mode=mode), seed=7)
    game = Game(deal)
    for number in range(1, decisions):
        game.apply(game.legal_moves[number % len(game.legal_moves)])
    twin = replace(twin_of(deal, Seen.of(game), random.Random(1)), seed=deal.seed)
    assert twin != deal
    told = []
    for number, one in enumerate((deal, twin)):
        (tmp_path / str(number)).mkdir()
        with monkeypatch.context() as patch:
            patch.setattr(Deal, "shuffle", lambda config, *, seed, one=one: one)
            told.append(await answers_about(tmp_path / str(number), one, decisions=decisions))
    assert told[0] == told[1]
    assert [len(heard.decisions) for heard in told[0].to_bots.values()] != [0, 0]
    assert len(told[0].to_others) == decisions + 2
