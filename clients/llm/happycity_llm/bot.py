"""The bot that asks a model, and plays by a plain rule where it gets no legal move in time."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import Counter
from dataclasses import dataclass, field

from happycity import Move, VoidReason
from happycity.match import one_line
from happycity_client import Bot, BotFactory, Decision, GameOver, GameStarted
from happycity_llm.answers import NoMove, move_in
from happycity_llm.endpoint import Endpoint, Message, ModelError
from happycity_llm.prompts import Prompts, shortened

MARGIN_SHARE, MARGIN_SECONDS = 0.1, 1.0
"""What is left of the clock for the way back: a share of it, this long at most."""
ATTEMPTS = 2
"""An illegal answer is shown to the model once."""

_log = logging.getLogger("happycity_llm")


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModel:
    """A model, with what all its games share."""

    endpoint: Endpoint
    prompts: Prompts
    blind: bool
    """Whether the model isn't shown the legal moves."""
    fallback: BotFactory
    """Decides where the model doesn't."""
    fallback_name: str
    timeout: float
    """The longest time for a decision, in seconds, where the clock gives more or is none."""
    causes: Counter[str] = field(default_factory=Counter)
    """Why the fallback decided, and how often."""
    decisions: Counter[str] = field(default_factory=Counter)
    """Counted: all of them, and those that the model made."""

    def summary(self) -> str:
        """Return a line on what happened."""
        budget = self.endpoint.budget
        causes = "".join(f"; {count}x {cause}" for cause, count in self.causes.most_common(5))
        return (
            f"{self.decisions['model']} of {self.decisions['all']} decisions by {self.endpoint.model}, the "
            f"others by {self.fallback_name}{causes}; "
            f"{budget.used_requests} requests, {budget.used_tokens} tokens"
        )


class ModelBot(Bot):
    """Sends the whole position for each decision, as a model may not be trusted to remember one."""

    def __init__(self, start: GameStarted, model: LanguageModel) -> None:
        super().__init__(start)
        self._model = model
        self._fallback = model.fallback(start)
        self._own_moves: list[str] = []

    async def choose(self, decision: Decision) -> Move:
        """Return the model's move; in time, else the fallback's."""
        model, started = self._model, time.monotonic()
        model.decisions["all"] += 1
        decision.note(tokens_in=0, tokens_out=0, model_seconds=0, illegal=0, fallback=0)
        try:
            async with asyncio.timeout(self._seconds(decision)):
                move = await self._ask(decision)
            model.decisions["model"] += 1
        except (ModelError, TimeoutError) as error:
            decision.note(fallback=1)
            self._complain("no answer in time" if isinstance(error, TimeoutError) else str(error))
            chosen = self._fallback.choose(decision)
            choice = await chosen if inspect.isawaitable(chosen) else chosen
            move = choice if isinstance(choice, Move) else decision.moves[choice]
        decision.note(model_seconds=time.monotonic() - started)
        self._own_moves.append(f"{move} (round {decision.view.round})")
        return move

    def game_over(self, over: GameOver) -> None:
        """Tell the fallback too."""
        self._fallback.game_over(over)

    def game_voided(self, match_id: int, reason: VoidReason) -> None:
        """Tell the fallback too."""
        self._fallback.game_voided(match_id, reason)

    async def _ask(self, decision: Decision) -> Move:
        """Ask the model; once more if its answer is not a legal move. Note what that costs."""
        model, notes = self._model, decision.notes
        legal = None if model.blind else [str(move) for move in decision.moves]
        messages: list[Message] = [
            {"role": "system", "content": model.prompts.system(self.start)},
            {"role": "user", "content": model.prompts.turn(decision, self.start, self._own_moves)},
        ]
        for _ in range(ATTEMPTS):
            reply = await model.endpoint.ask(messages, legal)
            notes["tokens_in"] += reply.prompt_tokens
            notes["tokens_out"] += reply.completion_tokens
            move = move_in(reply.text, decision.moves)
            if not isinstance(move, NoMove):
                return move
            notes["illegal"] += 1
            answer = shortened(reply.text)
            retry = model.prompts.retry(answer, move.reason, decision, self.start.bots)
            messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": retry}]
        raise ModelError(f"no legal move in {ATTEMPTS} answers")

    def _seconds(self, decision: Decision) -> float:
        """Return how long the model has for a decision."""
        left = decision.time_left
        if left is None:
            return self._model.timeout
        return min(self._model.timeout, left - min(MARGIN_SECONDS, MARGIN_SHARE * left))

    def _complain(self, cause: str) -> None:
        """Log why the fallback decides, each cause once; all are counted."""
        cause = one_line(cause)[:200]
        model = self._model
        if len(model.causes) < 100 or cause in model.causes:
            model.causes[cause] += 1
        if model.causes[cause] == 1:
            _log.warning(
                "match %d: %s decides, as the model does not: %s",
                self.start.match_id,
                model.fallback_name,
                cause,
            )
