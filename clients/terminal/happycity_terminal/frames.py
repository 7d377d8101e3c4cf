"""What is shown of a game at one of its decisions, and of its end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from happycity import IncidentKind, Outcome, SeatResult
from happycity.match import one_line
from happycity.records.playback import Playback, Step
from happycity.records.record import Json, incident_json, state_json
from happycity.text.board import Line, Style, board_lines, fit, options_lines
from happycity.text.words import events_in_words, move_in_words


def frame(playback: Playback, index: int, width: int, *, with_answer: bool = True) -> list[Line]:
    """Return what is shown of a game at the decision with this index, or after its last one."""
    step = playback.steps[index]
    lines: list[Line] = [*_news(playback, step, width)]
    outcome = _outcome(playback.results) if step.is_last and playback.results else None
    lines += [*board_lines(step.view, bots=playback.bots, width=width, outcome=outcome), ()]
    if not step.is_last:
        lines += options_lines(step.view, step.options, bots=playback.bots, width=width, chosen=step.move)
        lines += [(), *_wrapped(answer(playback, step), Style.TITLE, width)] if with_answer else []
    for incident in step.incidents:
        text = f"! {playback.name(incident.seat)}: {one_line(incident.text)}"
        lines += _wrapped(text, Style.BAD, width)
    if step.is_last:
        lines += result_lines(playback, width)
    return lines


def title(playback: Playback, step: Step) -> str:
    """Return which game and which decision is shown."""
    game = "Game" if playback.match_id is None else f"Game {playback.match_id}"
    total = len(playback.steps) - 1
    if step.is_last:
        return f"{game}, the end after {total} decisions"
    of = f" of {total}" if playback.steps[-1].is_last else ""
    return f"{game}, decision {step.decision_id}{of}"


def answer(playback: Playback, step: Step) -> str:
    """Return in one line what was chosen, how long that took, and the bot's own numbers."""
    name = playback.name(step.view.seat)
    if step.move is None:
        return f"{name} has not answered yet"
    move = move_in_words(step.move, dict(step.options)[step.move], playback.bots)
    parts = [f"{_who_chose(playback, step)}: {move}"]
    if step.think_seconds is not None:
        parts.append(seconds(step.think_seconds))
    parts += [f"{one_line(key)[:32]} {value:g}" for key, value in step.metrics.items()]
    return ", ".join(parts)


def _who_chose(playback: Playback, step: Step) -> str:
    """Return who chose the move: the bot, or the fallback in its place."""
    name = playback.name(step.view.seat)
    kinds = {incident.kind for incident in step.incidents if incident.seat == step.view.seat}
    if IncidentKind.ILLEGAL_ANSWER in kinds:
        return f"illegal answer from {name}; played for it"
    if kinds & {IncidentKind.TIMEOUT, IncidentKind.FORFEIT}:
        return f"no answer from {name}; played for it"
    if playback.timed and step.think_seconds is None:
        return f"{name} was not asked; played for it"
    return f"{name} chose"


def seconds(value: float) -> str:
    """Return a think time with three digits."""
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"


def result_lines(playback: Playback, width: int) -> list[Line]:
    """Return how the game ended for each seat, the best place first."""
    if playback.void_reason is not None:
        reason = playback.void_reason.value.replace("_", " ")
        return [((f"The match was voided: {reason}", Style.BAD),)]
    if not playback.results:
        return []
    seats = sorted(enumerate(playback.results), key=lambda entry: entry[1].place)
    head = f"  {'place':<7}{'seat':<6}{'bot':<26}{'points':>7}{'coins':>7}  ending"
    lines = [line for entry in seats for line in _result(playback, *entry, width)]
    return [((head, Style.DIM),), *lines]


def _result(playback: Playback, seat: int, result: SeatResult, width: int) -> Iterator[Line]:
    """Yield the line of a seat, and the reason of a forfeit below it if it is long."""
    name = fit(playback.name(seat), 26)
    reason = one_line(result.reason)
    ending = f"{result.ending.word}: {reason}" if reason else result.ending.word
    is_long = len(ending) > width - 57
    numbers = f"  {result.place:<7}{seat + 1:<6}{name}{result.points:>7}{result.coins:>7}  "
    style = Style.BAD if result.forfeited else Style.PLAIN
    shown = result.ending.word if is_long else ending
    yield ((numbers, Style.TITLE if result.place == 1 else Style.PLAIN), (shown, style))
    if is_long:
        yield from _wrapped(f"    {reason}", Style.PLAIN, width)


def _outcome(results: Sequence[SeatResult]) -> Outcome:
    return Outcome(
        points=tuple(seat.points for seat in results),
        coins=tuple(seat.coins for seat in results),
        inhabitants=tuple(seat.inhabitants for seat in results),
        hearts=tuple(seat.hearts for seat in results),
        ranks=tuple(seat.rank for seat in results),
    )


def _news(playback: Playback, step: Step, width: int) -> Iterator[Line]:
    """Yield what has happened since the decision before."""
    sentences = events_in_words(step.events, playback.bots)
    if sentences:
        yield from _wrapped("; ".join(sentences), Style.DIM, width)
        yield ()


def _wrapped(text: str, style: Style, width: int) -> list[Line]:
    return [((line, style),) for line in textwrap.wrap(text, width, subsequent_indent="  ")]


def step_json(playback: Playback, step: Step) -> Json:
    """Return a decision as JSON; seats count from 0, as in records."""
    return {
        "decision": step.decision_id,
        "seat": step.view.seat,
        "bot": playback.bots[step.view.seat] if playback.bots else None,
        "state": state_json(step.view),
        "events": events_in_words(step.events, playback.bots),
        "legal": [{"move": move.text, "coins": coins} for move, coins in step.options],
        "move": None if step.move is None else step.move.text,
        "think_us": None if step.think_seconds is None else round(step.think_seconds * 1e6),
        "metrics": dict(step.metrics),
        "incidents": [incident_json(incident) for incident in step.incidents],
    }


def end_json(playback: Playback) -> Json:
    """Return how a game ended as JSON."""
    return {
        "game": playback.match_id,
        "bots": list(playback.bots),
        "voided": None if playback.void_reason is None else playback.void_reason.value,
        "results": [{**asdict(seat), "ending": seat.ending.value} for seat in playback.results],
    }
