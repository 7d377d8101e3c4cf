"""The bot that asks a model: by an endpoint on a real socket, with all that can go wrong there."""

import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.llm.endpoints import KEY, Handler, completion, endpoint
from tests.waiting import LIMIT

from happycity import Config, Game
from happycity_bots.greedy import GreedyBot
from happycity_client import Decision, GameStarted
from happycity_llm.bot import LanguageModel, ModelBot
from happycity_llm.endpoint import MAX_RESPONSE_BYTES, Budget, Endpoint
from happycity_llm.prompts import Prompts

Answer = Callable[[Handler, dict[str, Any]], None]


def decision_and_start() -> tuple[Decision, GameStarted]:
    game = Game.deal(Config(players=2), seed=5)
    start = GameStarted(match_id=7, config=game.config, seat=game.seat, bots=("a", "b"), seed=1)
    return Decision.of(game), start


def model(
    url: str, *, blind: bool = False, timeout: float = LIMIT, budget: Budget | None = None
) -> LanguageModel:
    asked = Endpoint(
        model="m", base_url=url, api_key=KEY, max_tokens=50, temperature=0.5, budget=budget or Budget()
    )
    return LanguageModel(
        endpoint=asked,
        prompts=Prompts(blind=blind),
        blind=blind,
        fallback=GreedyBot,
        fallback_name="greedy",
        timeout=timeout,
    )


async def chosen(answer: Answer, **options: Any) -> tuple[str, Decision, LanguageModel]:
    """Let a model decide once; return the move, the decision with its notes, and the model."""
    decision, start = decision_and_start()
    with endpoint(answer) as url:
        asked = model(url, **options)
        move = await ModelBot(start, asked).choose(decision)
        await asked.endpoint.close()
    assert move in decision.moves
    return str(move), decision, asked


def legal(body: dict[str, Any]) -> list[str]:
    return list(body["response_format"]["json_schema"]["schema"]["properties"]["move"]["enum"])


async def test_the_answer_is_played_with_its_numbers() -> None:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        assert handler.headers["authorization"] == f"Bearer {KEY}"
        handler.send(200, completion(f'{{"move": "{legal(body)[-1]}"}}'))

    move, decision, _ = await chosen(answer)
    assert move == str(decision.moves[-1])
    notes = dict(decision.notes)
    assert notes.pop("model_seconds") > 0
    assert notes == {"tokens_in": 100, "tokens_out": 7, "illegal": 0, "fallback": 0}


async def test_an_illegal_answer_is_shown_to_the_model_once() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        bodies.append(body)
        handler.send(200, completion("build castle" if len(bodies) == 1 else f"I take: {legal(body)[1]}"))

    move, decision, _ = await chosen(answer)
    assert move == str(decision.moves[1])
    assert (decision.notes["illegal"], decision.notes["tokens_in"], decision.notes["fallback"]) == (1, 200, 0)
    assert [message["role"] for message in bodies[1]["messages"]] == ["system", "user", "assistant", "user"]
    last = bodies[1]["messages"][-1]["content"]
    assert "Your answer was: build castle" in last
    assert "it names no legal move" in last
    assert "Your legal moves:" in last


async def test_what_an_endpoint_refuses_is_left_out() -> None:
    """Without schemas, and with another name for the limit, the model is asked all the same."""
    bodies: list[dict[str, Any]] = []

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        bodies.append(body)
        for name, text in (
            ("response_format", "response_format is not supported"),
            ("max_tokens", "use max_completion_tokens"),
            ("temperature", "temperature can't be set"),
        ):
            if name in body:
                return handler.send(400, f'{{"error": {{"message": "{text}"}}}}'.encode())
        return handler.send(200, completion("draw 3"))

    move, decision, _ = await chosen(answer)
    assert (move, decision.notes["fallback"], len(bodies)) == ("draw 3", 0, 4)
    assert bodies[-1]["max_completion_tokens"] == 50


async def test_a_busy_endpoint_is_asked_again() -> None:
    count = 0

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        if count < 3:
            return handler.send((429, 503)[count - 1], b"{}", retry_after="0.1")
        return handler.send(200, completion(legal(body)[0]))

    _, decision, asked = await chosen(answer)
    assert (count, decision.notes["fallback"], asked.endpoint.budget.used_requests) == (3, 0, 3)


def never(handler: Handler, body: dict[str, Any]) -> None:
    """Keep a request until its sender gives it up."""
    handler.connection.recv(1)


def cut(handler: Handler, body: dict[str, Any]) -> None:
    """Break off in the middle of a response."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices"')
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def huge(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(200, b" " * (4 * MAX_RESPONSE_BYTES))


def sends(status: int, body: bytes) -> Answer:
    return lambda handler, _: handler.send(status, body)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (never, "no answer in time"),
        (cut, "no answer in time"),
        (huge, "the response is longer than 1,048,576 bytes"),
        (sends(429, b"{}"), "no answer in time"),
        (sends(500, b"oops"), "no answer in time"),
        (sends(401, b'{"error": {"message": "wrong key %s"}}' % KEY.encode()), "wrong key ***"),
        (sends(404, b"{}"), "404"),
        (sends(200, b"nonsense"), "the endpoint's response is not JSON"),
        (sends(200, b"[" * 500_000), "the endpoint's response is not JSON"),
        (sends(200, b"[]"), "the endpoint's response holds no answer"),
        (sends(200, b'{"choices": [{}], "usage": 5}'), "the endpoint's response holds no answer"),
        (sends(200, b'{"choices": []}'), "the endpoint's response holds no answer"),
        (sends(200, completion(None, refusal="I don't play games.")), "no legal move in 2 answers"),
        (sends(200, completion("\x1b[2J" * 100_000)), "no legal move in 2 answers"),
    ],
    ids=range(14),
)
async def test_whatever_fails_the_fallback_plays_and_says_why(
    answer: Answer, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    """No failure of an endpoint is a crash of the bot; keys stay out of the log."""
    timeout = 1.0 if cause == "no answer in time" else LIMIT
    with caplog.at_level(logging.WARNING, "happycity_llm"):
        move, decision, asked = await chosen(answer, timeout=timeout)
    greedy = GreedyBot(decision_and_start()[1]).choose(decision_and_start()[0])
    assert move == str(greedy)
    assert decision.notes["fallback"] == 1
    assert cause in caplog.text
    assert "greedy decides" in caplog.text
    assert KEY not in caplog.text + asked.summary() + repr(asked)
    assert "\x1b" not in caplog.text


async def test_a_spent_budget_ends_the_asking() -> None:
    """Then the fallback plays on, and the endpoint hears no more."""
    requests = threading.Semaphore(0)

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        requests.release()
        handler.send(200, completion(legal(body)[0]))

    decision, start = decision_and_start()
    with endpoint(answer) as url:
        asked = model(url, budget=Budget(tokens=150))
        bot = ModelBot(start, asked)
        fallbacks = []
        for _ in range(4):
            await bot.choose(decision)
            fallbacks.append(decision.notes["fallback"])
        await asked.endpoint.close()
    assert fallbacks == [0, 0, 1, 1]
    assert asked.endpoint.budget.used_requests == 2
    assert "2 of 4 decisions by m, the others by greedy; 2x the budget is spent; 2 requests, 214 tokens" in (
        asked.summary()
    )
