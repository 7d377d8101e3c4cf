"""A server of language models that speaks OpenAI's chat protocol, as most do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2
from openai import (
    APIConnectionError,
    APIStatusError,
    AsyncOpenAI,
    BadRequestError,
    OpenAIError,
    RateLimitError,
)

from happycity import HappyCityError
from happycity.match import one_line
from happycity_runtime.pauses import doubling
from happycity_runtime.transport import proxy_for

MAX_RESPONSE_BYTES = 1 << 20
"""The longest response that is read; a move needs some hundred bytes, thoughts some ten thousand."""
FIRST_WAIT_SECONDS = 0.5
"""The first wait before an endpoint that failed is asked again; each further one is twice as long."""

Message = dict[str, str]


class ModelError(HappyCityError):
    """The model gave no answer."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model answered."""

    text: str
    prompt_tokens: int
    """As the endpoint counts them; 0 if it doesn't."""
    completion_tokens: int


@dataclass(slots=True)
class Budget:
    """What all games together may use; None: without limit."""

    tokens: int | None = None
    requests: int | None = None
    used_tokens: int = 0
    used_requests: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked."""
        return (self.tokens is not None and self.used_tokens >= self.tokens) or (
            self.requests is not None and self.used_requests >= self.requests
        )


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """Asks a model. What an endpoint doesn't know of the protocol is left out once it has refused it."""

    model: str
    base_url: str
    api_key: str = field(repr=False)
    max_tokens: int
    """The longest answer, in the model's tokens."""
    temperature: float | None = None
    schema: bool = True
    """Whether answers are bound to a JSON schema, where the endpoint can."""
    budget: Budget = field(default_factory=Budget)
    _client: AsyncOpenAI | None = None
    _limit_name: str = "max_tokens"

    async def ask(self, messages: Sequence[Message], moves: Sequence[str] | None) -> ModelReply:
        """Return the model's answer; `moves` are those that it may name, if its answer is bound to them.

        An endpoint that is busy or fails for a moment is asked again until the caller gives up. ModelError if
        it refuses, can't answer, or the budget is spent.
        """
        waits = doubling(FIRST_WAIT_SECONDS)
        while True:
            wait = next(waits)
            if self.budget.is_spent:
                raise ModelError("the budget is spent")
            self.budget.used_requests += 1
            try:
                return await self._ask_once(messages, moves)
            except BadRequestError as error:
                if not self._without_what_it_refuses(error):
                    raise ModelError(self._reason(error)) from None
            except RateLimitError as error:
                await asyncio.sleep(max(wait, _asked_to_wait(error)))
            except APIConnectionError as error:
                if isinstance(error.__cause__, ModelError):
                    raise error.__cause__ from None
                await asyncio.sleep(wait)
            except APIStatusError as error:
                if error.status_code < 500:
                    raise ModelError(self._reason(error)) from None
                await asyncio.sleep(wait)
            except (ValueError, RecursionError):  # the latter for brackets without end
                raise ModelError("the endpoint's response is not JSON") from None
            except (OpenAIError, httpx2.HTTPError) as error:
                raise ModelError(self._reason(error)) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _ask_once(self, messages: Sequence[Message], moves: Sequence[str] | None) -> ModelReply:
        if self._client is None:
            self._client = AsyncOpenAI(
                base_url=self.base_url,
                api_key=self.api_key or "none",
                max_retries=0,
                timeout=None,  # the caller's deadline counts
                http_client=httpx2.AsyncClient(transport=_BoundedTransport(proxy=proxy_for(self.base_url))),
            )
        options: dict[str, Any] = {"messages": list(messages), self._limit_name: self.max_tokens}
        if self.temperature is not None:
            options["temperature"] = self.temperature
        if self.schema:
            options["response_format"] = _schema(moves)
        completion = await self._client.chat.completions.create(model=self.model, **options)
        reply = _reply(completion)
        self.budget.used_tokens += reply.prompt_tokens + reply.completion_tokens
        return reply

    def _without_what_it_refuses(self, error: BadRequestError) -> bool:
        """Leave out what the endpoint has refused; return whether there was anything."""
        text = str(error).casefold()
        if self.schema and ("response_format" in text or "schema" in text or "grammar" in text):
            self.schema = False
        elif self._limit_name == "max_tokens" and "max_completion_tokens" in text:
            self._limit_name = "max_completion_tokens"
        elif self.temperature is not None and "temperature" in text:
            self.temperature = None
        else:
            return False
        return True

    def _reason(self, error: Exception) -> str:
        """Return an error in one line; keys that an endpoint repeats stay out of it."""
        text = one_line(str(error) or type(error).__name__)
        return text.replace(self.api_key, "***") if self.api_key else text


def _schema(moves: Sequence[str] | None) -> dict[str, Any]:
    move: dict[str, Any] = {"type": "string"}
    if moves is not None:
        move["enum"] = list(moves)
    schema = {
        "type": "object",
        "properties": {"move": move},
        "required": ["move"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "move", "strict": True, "schema": schema}}


def _reply(completion: Any) -> ModelReply:
    """Read a response, of which nothing is certain."""
    usage = getattr(completion, "usage", None)
    counts = (_count(getattr(usage, name, 0)) for name in ("prompt_tokens", "completion_tokens"))
    try:
        message = completion.choices[0].message
        text = message.content or getattr(message, "refusal", None) or ""
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ModelError("the endpoint's response holds no answer") from None
    return ModelReply(str(text), *counts)


def _asked_to_wait(error: RateLimitError) -> float:
    """Return the seconds that an endpoint asks to wait; 0 if it says nothing."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 40 else 0


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    """Reads no more of a response than an answer can need."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; reading too long a response of it fails."""
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_RESPONSE_BYTES:
                raise ModelError(f"the response is longer than {MAX_RESPONSE_BYTES:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
