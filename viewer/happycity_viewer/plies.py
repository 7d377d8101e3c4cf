"""A game as the viewer takes it: one JSON object for each position, with all that is shown of it.

The viewer knows no rules: points so far, and what happened in words, come from here. Seats count from 0, as
in records; the viewer adds 1 for people.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from gettext import NullTranslations

from happycity import EventKind, Phase, SeatResult, VoidReason
from happycity.match import one_line
from happycity.records.playback import Playback
from happycity.records.record import Json, incident_json, state_json
from happycity.rules.cities import Cities
from happycity.rules.scoring import score, totals
from happycity.text.words import ENGLISH, PHASES, action_in_words, event_in_words

FORMAT = "happycity-plies/1"
MAX_METRICS = 12
"""Numbers of a bot that are shown of one answer."""

_PLACED = frozenset({EventKind.BUILD, EventKind.DWELL, EventKind.TAKE, EventKind.MARKET})
_NOTED = frozenset({EventKind.DECK_REBUILT, EventKind.EFFECT_PAID, EventKind.CARD_LOST, EventKind.COPY})
"""What is shown of what follows from a move."""
_MOVES = frozenset(kind for kind in EventKind if kind <= EventKind.COPY)
_UNREAD = frozenset({"ply", "phase", "move", "uses"})
_OF_ONE_POSITION: Json = {"placed": None, "begins": None, "drawn": []}
"""What a page doesn't carry over from the position before, and its value where the page has none."""
_FINAL = ("points", "coins", "inhabitants", "hearts")
"""What only the result knows in full, as specials copy at the end (article 6.3)."""


def position_json(playback: Playback, number: int) -> Json:
    """Return what a game shows after `number` decisions, and what led to it, without words of a language."""
    reached = playback.steps[number]
    view, events = reached.view, reached.events
    ply: Json = {"ply": number, **state_json(view), **_scores(Cities.of_view(view))}
    ply["placed"] = next((event.seat for event in events if event.kind in _PLACED), None)
    ply["drawn"] = [event.card.id for event in events if event.kind is EventKind.DRAW and event.card]
    ply["begins"] = next((event.round for event in events if event.kind is EventKind.ROUND_STARTED), None)
    if number:
        decided = playback.steps[number - 1]
        assert decided.move is not None
        think = decided.think_seconds
        ply["by"] = decided.view.seat
        ply["move"] = decided.move.text
        ply["answered"] = think is not None or not playback.timed
        ply["think_ms"] = None if think is None else _shown_ms(think)
        if decided.metrics:
            shown = sorted(decided.metrics.items())[:MAX_METRICS]
            ply["metrics"] = {one_line(name): value for name, value in shown}
        if decided.incidents:
            ply["incidents"] = [incident_json(incident) for incident in decided.incidents]
    return ply


def _shown_ms(seconds: float) -> int:
    """Return a time in milliseconds, as exactly as it is shown: in tenths of a second from one second on."""
    if seconds >= 1:
        return 100 * round(10 * seconds)
    return round(1000 * seconds) if seconds >= 0.001 else 0


def words_json(playback: Playback, number: int, *, texts: NullTranslations = ENGLISH) -> Json:
    """Return the words of the position after `number` decisions: whom it waits for, and what has happened."""
    reached = playback.steps[number]
    bots = [playback.name(seat) for seat in range(reached.view.config.players)]
    decided = playback.steps[number - 1] if number else None
    seat = None if decided is None else decided.view.seat
    chosen = next((event for event in reached.events if event.kind in _MOVES and event.seat == seat), None)
    phase = reached.view.phase
    words: Json = {
        "waits": "" if phase is Phase.OVER else texts.gettext(PHASES[phase]),
        "notes": [
            event_in_words(event, bots, texts=texts)
            for event in reached.events
            if event.kind in _NOTED and event is not chosen
        ],
    }
    if decided is not None and decided.chosen_by:
        text = texts.gettext("chosen by %(bot)s, while %(player)s was away")
        words["notes"].append(text % {"bot": decided.chosen_by, "player": bots[decided.view.seat]})
    if decided is not None and decided.move is not None:
        words["text"] = decided.move.text if chosen is None else action_in_words(chosen, texts=texts)
    return words


def end_json(results: Sequence[SeatResult], void_reason: VoidReason | None = None) -> Json:
    """Return how a game ended: its results by seat, or why it was voided."""
    if void_reason is not None:
        return {"void": void_reason.value}
    return {"results": [{**asdict(seat), "ending": seat.ending.word} for seat in results]}


def game_json(
    playback: Playback, plies: Sequence[Json], *, end: Json | None, tournament_id: int | None = None
) -> Json:
    """Return all that the viewer shows of a game, with its positions; `end` is None while it is played."""
    shown = list(plies)
    if end is not None and "results" in end:
        shown[-1] = {**shown[-1], **{name: [seat[name] for seat in end["results"]] for name in _FINAL}}
    config = playback.steps[0].view.config
    return {
        "format": FORMAT,
        "match": playback.match_id,
        "tournament": tournament_id,
        "mode": config.mode.value,
        "scoring": config.scoring.value,
        "bots": [playback.name(seat) for seat in range(config.players)],
        "plies": shown,
        "end": end,
    }


def playback_json(
    playback: Playback, *, tournament_id: int | None = None, texts: NullTranslations = ENGLISH
) -> Json:
    """Return all that the viewer shows of a recorded game."""
    plies = [
        {**position_json(playback, number), **words_json(playback, number, texts=texts)}
        for number in range(len(playback.steps))
    ]
    end = end_json(playback.results, playback.void_reason) if playback.steps[-1].is_last else None
    return game_json(playback, plies, end=end, tournament_id=tournament_id)


def page_text(game: Json) -> str:
    """Return a game as its page has it: of each position, what is different from the one before.

    What is absent there, unlike before, is null, but for what belongs to one position alone: its value is
    then that of `own`. Left out is what no script reads, and the words that the page has in its list of
    moves. Think times are a list of their own, as nearly all differ.
    """
    plies: list[Json] = []
    thinks: list[int | None] = []
    before: Json = {}
    for ply in game["plies"]:
        left_out = _UNREAD | {"text"} if ply.get("answered") else _UNREAD
        shown = {name: value for name, value in ply.items() if name not in left_out}
        thinks.append(shown.pop("think_ms", None))
        own = {name: shown.pop(name) for name in _OF_ONE_POSITION}
        gone = dict.fromkeys(name for name in before if name not in shown)
        new = {name: value for name, value in shown.items() if name not in before or before[name] != value}
        plies.append(
            gone | new | {name: value for name, value in own.items() if _OF_ONE_POSITION[name] != value}
        )
        before = shown
    read = {"bots": game["bots"], "end": game["end"]}
    return encode({**read, "plies": plies, "think_ms": thinks, "own": _OF_ONE_POSITION})


def encode(value: object) -> str:
    """Return JSON that may also stand inside a page's script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _scores(cities: Cities) -> Json:
    outcome = score(cities)
    scores: Json = {name: list(getattr(outcome, name)) for name in ("points", "inhabitants", "hearts")}
    sums = [totals(cities, seat) for seat in range(cities.config.players)]
    if any(number < 0 for pair in sums for number in pair):  # they count as 0, but more is needed to rise
        scores["totals"] = dict(
            zip(("inhabitants", "hearts"), map(list, zip(*sums, strict=True)), strict=True)
        )
    return scores
