"""What a bot may say on its stream, and what the check calls wrong, without a connection."""

from dataclasses import dataclass, field

import pytest

from happycity import Config
from happycity.v1 import play_service_pb2 as play
from happycity_check.conversation import Conversation, end, start
from happycity_check.errors import ResignedError, StreamEndedError, UnexpectedError
from happycity_check.scripted_match import ScriptedMatch
from happycity_check.scripted_server import Received


@dataclass
class Script:
    """A stream whose bot says what the test gives it, and then ends it."""

    says: list[play.PlayRequest] = field(default_factory=list)
    sent: list[play.PlayResponse] = field(default_factory=list)

    async def send(self, response: play.PlayResponse) -> float:
        self.sent.append(response)
        return 1.0

    async def receive(self, seconds: float | None) -> Received | None:
        return Received(self.says.pop(0), 2.0) if self.says else None


def says(*answers: tuple[int, int, int], pong: int | None = None, **parts: bool) -> play.PlayRequest:
    """Return a message with answers, each a match, a decision and a move, and with empty parts by name."""
    request = play.PlayRequest()
    for match_id, decision_id, move in answers:
        request.answers.add(match_id=match_id, decision_id=decision_id, move=move)
    if pong is not None:
        request.pong.nonce = pong
    for part in parts:
        getattr(request, part).SetInParent()
    return request


def match_of(number: int) -> ScriptedMatch:
    return ScriptedMatch(number, Config(players=2), seed=number)


class Talk:
    """A conversation in which the first decision of match 7 is open."""

    def __init__(self) -> None:
        self.script = Script()
        self.conversation = Conversation(self.script, timeout=None)  # type: ignore[arg-type]  # a script for a stream
        self.match = match_of(7)
        self.decision = self.match.decision()
        self.id = self.decision.decision_id

    async def ask(self, *requests: play.PlayRequest, ping: bool = False) -> dict[int, int]:
        self.script.says += requests
        await start(self.conversation, [self.match])
        return await self.conversation.exchange(play.PlayResponse(decisions=[self.decision]), ping=ping)


async def test_an_answer_has_the_numbers_of_its_decision() -> None:
    talk = Talk()
    assert await talk.ask(says((7, talk.id, 1))) == {7: 1}
    assert talk.conversation.is_answered(talk.decision)
    assert talk.conversation.think_seconds == [1.0]


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([(8, 0, 0)], "an answer to decision {id} of match 8, which was never sent"),
        ([(7, 1, 0)], "an answer to decision {next} of match 7, which was never sent"),
        ([(7, 0, 99)], "move 99 for decision {id} of match 7, whose moves are 0 to {last}"),
        ([(7, 0, 1), (7, 0, 0)], "two answers to decision {id} of match 7: move 1, then move 0"),
    ],
)
async def test_a_wrong_answer_is_named(answers: list[tuple[int, int, int]], error: str) -> None:
    """A number of a decision counts from that of the open one."""
    talk = Talk()
    expected = error.format(id=talk.id, next=talk.id + 1, last=len(talk.decision.moves) - 1)
    with pytest.raises(UnexpectedError) as caught:
        await talk.ask(says(*((match, talk.id + number, move) for match, number, move in answers)))
    assert str(caught.value) == expected


async def test_the_last_move_is_legal_and_the_next_number_is_not() -> None:
    count = len(Talk().decision.moves)
    assert await (talk := Talk()).ask(says((7, talk.id, count - 1))) == {7: count - 1}
    with pytest.raises(UnexpectedError, match=f"move {count} for"):
        await (talk := Talk()).ask(says((7, talk.id, count)))


async def test_an_answer_may_come_twice() -> None:
    talk = Talk()
    assert await talk.ask(says((7, talk.id, 1), (7, talk.id, 1))) == {7: 1}


async def test_answers_after_the_end_of_their_game_are_noted() -> None:
    """Also that to a decision which was open, and one for a decision that never was; others are as before."""
    talk = Talk()
    await talk.ask(says((7, talk.id, 1)))
    assert talk.conversation.late_answers == []
    await end(talk.conversation, [talk.match])
    other = match_of(8)
    decision = other.decision()
    last = decision.decision_id
    talk.script.says = [says((7, talk.id, 1), (7, 99, 0)), says((8, last, 0), (7, talk.id, 1))]
    answers = await talk.conversation.exchange(play.PlayResponse(decisions=[decision]))
    named = f"decision {talk.id} of match 7"
    assert (answers, talk.conversation.late_answers) == ({8: 0}, [named, "decision 99 of match 7", named])


async def test_a_game_that_starts_again_is_a_new_one() -> None:
    """Its answers are not late, and its first decision may get another move than before."""
    talk = Talk()
    await talk.ask(says((7, talk.id, 1)))
    await end(talk.conversation, [talk.match])
    assert await talk.ask(says((7, talk.id, 0))) == {7: 0}
    assert talk.conversation.late_answers == []


async def test_a_decision_of_a_game_that_is_over_is_not_waited_for() -> None:
    talk = Talk()
    await start(talk.conversation, [talk.match])
    await talk.conversation.send(play.PlayResponse(decisions=[talk.decision]))
    await end(talk.conversation, [talk.match])
    assert await talk.conversation.receive_all() == {}


async def test_a_ping_wants_a_pong_of_its_own_nonce() -> None:
    # Both are waited for, in any order.
    talk = Talk()
    nonce = 2**60 + 1
    assert await talk.ask(says(pong=nonce), says((7, talk.id, 1)), ping=True) == {7: 1}
    assert (talk.script.sent[-1].ping.nonce, len(talk.conversation.pong_seconds)) == (nonce, 1)

    # Another nonce, as that of a language without 64-bit integers, or a second pong, is none.
    for pongs in ([float(nonce)], [nonce, nonce]):
        talk = Talk()
        with pytest.raises(UnexpectedError, match="which was not that of a ping"):
            await talk.ask(*(says(pong=int(pong)) for pong in pongs), ping=True)


@pytest.mark.parametrize(
    ("part", "error", "text"),
    [
        ("hello", UnexpectedError, "a second hello on the same stream"),
        ("goodbye", StreamEndedError, "the bot said goodbye"),
        ("", StreamEndedError, "the bot ended its stream"),
    ],
)
async def test_what_ends_a_conversation(part: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        await Talk().ask(*([says(**{part: True})] if part else []))


async def test_a_seat_that_is_given_up_is_an_error_unless_it_is_waited_for() -> None:
    resigning = play.PlayRequest()
    resigning.resigns.add(match_id=7, crashed=True, reason="IndexError")
    with pytest.raises(ResignedError) as caught:
        await Talk().ask(resigning)
    assert (caught.value.crashed, caught.value.reason) == (True, "IndexError")
    talk = Talk()
    talk.script.says = [resigning]
    await talk.conversation.send(play.PlayResponse(decisions=[talk.decision]))
    (resign,) = await talk.conversation.receive_resigns(7)
    assert resign.reason == "IndexError"
    assert await talk.conversation.receive_all() == {}
