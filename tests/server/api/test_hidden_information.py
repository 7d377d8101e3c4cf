"""While a match runs, nothing that is hidden can be learnt from what the server sends.

The same match is played on twin deals, which agree on all that has been turned up by then and on nothing
else: the rest of the decks and the box are in another order, and reshuffles to come have another seed. Bots
and watchers must get the same bytes in both matches.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tests.server.api.arena import RemoteProgram, arena_with
from tests.server.harness import outcome_of
from tests.server.play.arena import Arena, LocalProgram
from tests.tournament.games import fixtures_of

from happycity import Card, Config, Deal, FailurePolicy, Game, Mode
from happycity.v1 import play_service_pb2 as play
from happycity_server.places.watch import Watches, responses
from happycity_server.play.match import Match, MatchState
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.games import is_practice, practice_seed

NAMES = ("anna", "ben", "carl", "dora", "emil")


@dataclass(frozen=True)
class TurnedUp:
    drawn: tuple[int, ...]
    """Cards of each deck, from the top."""
    reshuffled: bool

    @classmethod
    def of(cls, game: Game) -> TurnedUp:
        """Return it for a game: the dealt cards that are no longer in their decks."""
        rebuilt = {deck for deck, _ in game.reshuffles}
        sizes = [len(deck) for deck in Deal.shuffle(game.config, seed=0).decks]
        drawn = [
            size if number in rebuilt else size - left
            for number, (size, left) in enumerate(zip(sizes, game.view().decks, strict=True), start=1)
        ]
        return cls(tuple(drawn), bool(rebuilt))


def twin_of(deal: Deal, turned_up: TurnedUp, rng: random.Random) -> Deal:
    """Return a deal that is the same as far as it was turned up, and otherwise another."""

    def permuted(cards: Sequence[Card], known: int) -> tuple[Card, ...]:
        return (*cards[:known], *rng.sample(cards[known:], len(cards) - known))

    decks = [permuted(deck, known) for deck, known in zip(deal.decks, turned_up.drawn, strict=True)]
    return replace(
        deal,
        seed=deal.seed if turned_up.reshuffled else rng.randrange(2**64),
        decks=(decks[0], decks[1], decks[2]),
        box=permuted(deal.box, 0),
    )


@dataclass
class Sent:
    """All that the server sent in a match, in bytes, and how far the match was by then."""

    to_bots: dict[str, list[bytes]] = field(default_factory=dict)
    to_watcher: list[bytes] = field(default_factory=list)
    turned_up: TurnedUp = TurnedUp((0, 0, 0), reshuffled=False)
    decisions: int = 0
    is_over: bool = False


# What the bot that is asked does: a choice by its position, or something else.
deeds = st.integers(0, 9) | st.sampled_from(["late", "illegal", "stray", "resign", "resume", "restart"])


async def perform(deal: Deal, deeds: Sequence[int | str], *, decisions: int) -> Sent:
    """Play so many decisions of a match; the deeds come round again and again."""
    arena, sent = Arena(), Sent()
    names = NAMES[: deal.config.players]
    bots = [arena.connect(name) for name in names]
    match = await arena.match(*names, deal=deal, policy=FailurePolicy(max_strikes=1))
    watching = asyncio.create_task(watch(match, sent.to_watcher))
    while sent.decisions < decisions and match.state is MatchState.RUNNING:
        arena.wait(0.1)
        await collect(bots, sent)
        seat = match.referee.game.seat
        bot, deed = bots[seat], deeds[sent.decisions % len(deeds)]
        decision = bot.received.decisions[-1]
        sent.decisions += 1
        match deed:
            case "late":
                arena.wait(11.0)
                await bot.say()  # a sign of life, so that nothing is held back
            case "illegal":
                await bot.answer(decision, 99)
            case "stray":
                await bot.say(
                    answers=[play.Answer(match_id=decision.match_id, decision_id=decision.decision_id + 1)]
                )
            case "resign":
                await bot.say(resigns=[play.Resign(match_id=decision.match_id)])
            case "resume" | "restart":
                bot.lose()
                bots[seat] = bot.again() if deed == "resume" else arena.connect(bot.session.name)
            case int(choice):
                await bot.answer(decision, choice % len(decision.moves))
    await collect(bots, sent)
    for _ in range(3):
        await asyncio.sleep(0)  # the watcher's turn
    watching.cancel()
    sent.turned_up = TurnedUp.of(match.referee.game)
    sent.is_over = match.state is not MatchState.RUNNING
    return sent


async def collect(bots: Sequence[LocalProgram], sent: Sent) -> None:
    """Take all that waits to be sent to bots; a welcome has a secret that is new each time."""
    for bot in bots:
        await bot.catch_up()
        for batch in bot.batches:
            response = play.PlayResponse.FromString(batch)
            response.ClearField("welcome")
            sent.to_bots.setdefault(bot.session.name, []).append(response.SerializeToString())
        bot.batches.clear()


async def watch(match: Match, steps: list[bytes]) -> None:
    async for step in responses(Watches().live(match)):
        steps.append(step)  # noqa: PERF401 - it is cancelled in the middle


def sent_in(deal: Deal, deeds: Sequence[int | str], decisions: int) -> Sent:
    """Return what is sent in the first decisions of a match, but not its end."""
    with capture_logs():
        sent = asyncio.run(perform(deal, deeds, decisions=decisions))
        while sent.is_over:
            sent = asyncio.run(perform(deal, deeds, decisions=sent.decisions - 1))
    return sent


configs = st.builds(Config, players=st.integers(2, 5), mode=st.sampled_from(Mode))
seeds = st.integers(0, 2**64 - 1)
some_decisions = st.sampled_from(range(1, 201))
FEWER = settings(max_examples=settings().max_examples // 3)


def check(config: Config, seed: int, other: int, deeds: Sequence[int | str], decisions: int) -> None:
    deal = Deal.shuffle(config, seed=seed)
    sent = sent_in(deal, deeds, decisions)
    sent_on_twin = sent_in(twin_of(deal, sent.turned_up, random.Random(other)), deeds, decisions)
    assert sent_on_twin.to_bots == sent.to_bots
    assert sent_on_twin.to_watcher == sent.to_watcher
    assert len(sent.to_watcher) > 0


@pytest.mark.level(3)
@FEWER
@given(config=configs, seed=seeds, other=seeds, play=seeds, decisions=some_decisions)
def test_bots_and_watchers_learn_nothing_hidden(
    config: Config, seed: int, other: int, play: int, decisions: int
) -> None:
    """Up to any decision of a game that is played at random, all get the same on twin deals."""
    rng = random.Random(play)
    check(config, seed, other, [rng.randrange(60) for _ in range(decisions)], decisions)


@pytest.mark.level(2)
@FEWER
@given(configs, seeds, seeds, st.lists(deeds, min_size=1, max_size=60), some_decisions)
def test_bots_that_fail_learn_nothing_hidden(
    config: Config, seed: int, other: int, deeds: list[int | str], decisions: int
) -> None:
    """Nor do bots that are late, choose no legal move, resign, or leave and come back."""
    check(config, seed, other, deeds, decisions)


@pytest.mark.parametrize("mode", Mode, ids=str)
def test_what_is_turned_up_is_sent(mode: Mode) -> None:
    """The comparison above can fail: deals that differ in a card that turns up make a difference."""
    deal = Deal.shuffle(Config(players=2, mode=mode), seed=1)
    sent = sent_in(deal, [1], 20)
    assert sum(sent.turned_up.drawn) > 0
    other = twin_of(deal, TurnedUp((0, 0, 0), reshuffled=False), random.Random(1))
    sent_on_other = sent_in(other, [1], 20)
    assert sent_on_other.to_bots != sent.to_bots
    assert sent_on_other.to_watcher != sent.to_watcher


def test_bots_get_no_times_of_others() -> None:
    """What a bot gets does not depend on how long the other bot thinks, unless one is late."""

    async def received(seconds: float) -> bytes:
        arena = Arena()
        anna, ben = arena.connect("anna"), arena.connect("ben")
        match = await arena.match("anna", "ben")
        while match.state is MatchState.RUNNING:
            bot = (anna, ben)[match.referee.game.seat]
            decision = await bot.decision()
            arena.wait(seconds if bot is ben else 0.1)
            for other in (anna, ben):
                await other.say()  # so that no silence is noticed
            await bot.answer(decision)
        await anna.catch_up()
        assert all(over.outcome.HasField("result") for over in anna.received.games_over)
        anna.received.ClearField("welcome")
        anna.received.ClearField("ping")
        return anna.received.SerializeToString()

    assert asyncio.run(received(0.2)) == asyncio.run(received(5.0))


@dataclass
class Answers:
    to_bots: list[play.PlayResponse] = field(default_factory=list)
    to_others: list[Message] = field(default_factory=list)
    refusal: object = None


async def answers_about(folder: Path, *, mode: Mode, decisions: int) -> Answers:
    """Play so many decisions of a match on a real server, and ask the server everything about it."""
    answers = Answers()
    async with arena_with(folder) as arena:
        bots = [await arena.connect(name) for name in ("anna", "ben")]
        match = await arena.create("anna", "ben", mode=mode)
        watching = arena.matches.WatchMatch(match_id=match.match_id)
        reached = asyncio.Event()
        playing = [asyncio.create_task(play_up_to(bot, decisions, reached)) for bot in bots]
        await reached.wait()
        for _ in range(decisions):
            answers.to_others.append(await watching.read())
        match = await arena.match(match.match_id)
        for moment in ("create_time", "start_time"):
            match.ClearField(moment)
        answers.to_others.append(match)
        assert (await arena.matches.ListMatches()).matches[0].match_id == match.match_id
        answers.refusal = await outcome_of(arena.matches.GetMatchRecord(match_id=match.match_id))
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)
        for bot in bots:
            for decision in bot.received.decisions:
                decision.ClearField("clock")
            bot.received.ClearField("welcome")
            answers.to_bots.append(bot.received)
    return answers


async def play_up_to(bot: RemoteProgram, decisions: int, reached: asyncio.Event) -> None:
    with suppress(AssertionError):  # at the end of the stream
        while (decision := await bot.decision()).decision_id < decisions:
            await bot.answer(decision, decision.decision_id % len(decision.moves))
        reached.set()


@pytest.mark.level(2)
@pytest.mark.parametrize("mode", Mode, ids=str)
async def test_server_answers_nothing_hidden(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every question about a running match has the same answer on twin deals."""
    decisions, deal = 40, Deal.shuffle(Config(players=2, mode=mode), seed=7)
    game = Game(deal)
    for number in range(1, decisions):
        game.apply(game.legal_moves[number % len(game.legal_moves)])
    twin = replace(twin_of(deal, TurnedUp.of(game), random.Random(1)), seed=deal.seed)
    assert twin != deal
    answers = []
    for number, used in enumerate((deal, twin)):
        (tmp_path / str(number)).mkdir()
        with monkeypatch.context() as patch:
            patch.setattr(Deal, "shuffle", lambda config, *, seed, used=used: used)
            answers.append(await answers_about(tmp_path / str(number), mode=mode, decisions=decisions))
    assert answers[0] == answers[1]
    assert all(bot.decisions for bot in answers[0].to_bots)
    assert len(answers[0].to_others) == decisions + 1


@given(seed=seeds, rounds=st.integers(1, 5))
def test_no_tournament_has_a_deal_of_practice(seed: int, rounds: int) -> None:
    """Whatever its seed is, the deals of a tournament are not those that practice can ask for."""
    bots = ("anna", "ben", "carl")
    tournament = TournamentConfig(
        bots=bots, game=Config(players=3), format=RandomRounds(rounds=rounds), seed=seed
    )
    assert not any(is_practice(fixture.deal_seed) for fixture in fixtures_of(tournament))
    assert is_practice(practice_seed(seed % 2**32))
