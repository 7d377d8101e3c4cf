"""A game as the viewer takes it: one JSON object for each position, with all that is shown of it.

The viewer knows no rules: points so far, and what happened in words, come from here. Seats count from 0, as
in records; the viewer adds 1 for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from gettext import NullTranslations
from itertools import pairwise

from happycity import Config, Event, EventKind, Incident, Move, Outcome, Phase, SeatResult, View, VoidReason
from happycity.match import one_line
from happycity.records.playback import Playback
from happycity.records.record import Json, incident_json, state_json
from happycity.rules.cities import Cities
from happycity.rules.scoring import score
from happycity.text.words import ENGLISH, PHASES, action_in_words, event_in_words

FORMAT = "happycity-plies/1"
MAX_METRICS = 12
"""Numbers of a bot that are shown of one answer."""

_PLACED = frozenset({EventKind.BUILD, EventKind.DWELL, EventKind.TAKE, EventKind.MARKET})
_NOTED = frozenset({EventKind.DECK_REBUILT, EventKind.EFFECT_PAID, EventKind.CARD_LOST, EventKind.COPY})
"""What is shown of what follows from a move."""
_MOVES = frozenset(kind for kind in EventKind if kind <= EventKind.COPY)
_FINAL = ("points", "coins", "inhabitants", "hearts")
"""What only the result knows in full, as specials copy at the end (article 6.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The decision that led to a position."""

    seat: int
    move: Move
    answered: bool = True
    """Whether the bot chose the move; else it was played for it."""
    think_us: int | None = None
    """Microseconds on the server's clock; None where nobody was asked, or nobody measured."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Numbers that the bot sent with it."""


def ply_json(
    number: int,
    view: View,
    events: Sequence[Event],
    bots: Sequence[str],
    *,
    answer: Answer | None = None,
    incidents: Sequence[Incident] = (),
    texts: NullTranslations = ENGLISH,
) -> Json:
    """Return the position of a game between `bots`, by seat, after `number` decisions, and what led to it."""
    ply: Json = {"ply": number, **state_json(view), **_scores(score(Cities.of_view(view)))}
    ply["waits"] = "" if view.phase is Phase.OVER else texts.gettext(PHASES[view.phase])
    ply["placed"] = next((event.seat for event in events if event.kind in _PLACED), None)
    ply["drawn"] = [event.card.id for event in events if event.kind is EventKind.DRAW and event.card]
    ply["begins"] = next((event.round for event in events if event.kind is EventKind.ROUND_STARTED), None)
    seat = None if answer is None else answer.seat
    chosen = next((event for event in events if event.kind in _MOVES and event.seat == seat), None)
    ply["notes"] = [
        event_in_words(event, bots, texts=texts)
        for event in events
        if event.kind in _NOTED and event is not chosen
    ]
    if answer is not None:
        ply["by"] = answer.seat
        ply["move"] = answer.move.text
        ply["text"] = answer.move.text if chosen is None else action_in_words(chosen, texts=texts)
        ply["answered"] = answer.answered
        ply["think_us"] = answer.think_us
        if answer.metrics:
            shown = sorted(answer.metrics.items())[:MAX_METRICS]
            ply["metrics"] = {one_line(name): value for name, value in shown}
    if incidents:
        ply["incidents"] = [incident_json(incident) for incident in incidents]
    return ply


def end_json(results: Sequence[SeatResult], void_reason: VoidReason | None = None) -> Json:
    """Return how a game ended: its results by seat, or why it was voided."""
    if void_reason is not None:
        return {"void": void_reason.value}
    return {"results": [_result(seat) for seat in results]}


def game_json(
    config: Config,
    bots: Sequence[str],
    plies: Sequence[Json],
    end: Json | None,
    *,
    match_id: int | None = None,
    tournament_id: int | None = None,
) -> Json:
    """Return all that the viewer shows of a game; `end` is None as long as the game is played."""
    shown = list(plies)
    if end is not None and "results" in end:
        shown[-1] = {**shown[-1], **{name: [seat[name] for seat in end["results"]] for name in _FINAL}}
    return {
        "format": FORMAT,
        "match": match_id,
        "tournament": tournament_id,
        "mode": config.mode.value,
        "scoring": config.scoring.value,
        "bots": list(bots),
        "plies": shown,
        "end": end,
    }


def playback_json(
    playback: Playback, *, tournament_id: int | None = None, texts: NullTranslations = ENGLISH
) -> Json:
    """Return all that the viewer shows of a recorded game."""
    steps = playback.steps
    bots = [playback.name(seat) for seat in range(steps[0].view.config.players)]
    plies = [ply_json(0, steps[0].view, steps[0].events, bots, texts=texts)]
    for number, (decided, reached) in enumerate(pairwise(steps), start=1):
        assert decided.move is not None
        answer = Answer(
            seat=decided.view.seat,
            move=decided.move,
            answered=decided.think_seconds is not None or not playback.timed,
            think_us=None if decided.think_seconds is None else round(decided.think_seconds * 1e6),
            metrics=decided.metrics,
        )
        plies.append(
            ply_json(
                number,
                reached.view,
                reached.events,
                bots,
                answer=answer,
                incidents=decided.incidents,
                texts=texts,
            )
        )
    end = end_json(playback.results, playback.void_reason) if steps[-1].is_last else None
    return game_json(
        steps[0].view.config, bots, plies, end, match_id=playback.match_id, tournament_id=tournament_id
    )


def encode(value: object) -> str:
    """Return JSON that may also stand inside a page's script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _scores(outcome: Outcome) -> Json:
    return {
        "points": list(outcome.points),
        "inhabitants": list(outcome.inhabitants),
        "hearts": list(outcome.hearts),
    }


def _result(seat: SeatResult) -> Json:
    return {
        "points": seat.points,
        "coins": seat.coins,
        "inhabitants": seat.inhabitants,
        "hearts": seat.hearts,
        "rank": seat.rank,
        "place": seat.place,
        "ending": seat.ending.word,
        "reason": seat.reason,
    }
