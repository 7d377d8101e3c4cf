"""What `happycity analyse` does: say what a bot's decisions in a game cost, and how lucky its draws were."""

from __future__ import annotations

from collections.abc import Iterator

from happycity.records.playback import Playback
from happycity.records.record import Json, loads, state_json
from happycity.text.board import Line, Style
from happycity.text.words import card_name, move_in_words, plural
from happycity_bots.analysis import Analysis, JudgedDecision, analyse
from happycity_bots.evaluator import Evaluator
from happycity_terminal.ask import only_seat
from happycity_terminal.frames import frame, title
from happycity_terminal.replies import was_answered
from happycity_terminal.screen import text_width, write
from happycity_terminal.show import find_finished, seat_of
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.places import find_run, game_arguments

MOST_LISTED = 10
"""Costliest decisions and most decisive draws that are listed."""
MOST_SHOWN = 3
"""Costliest decisions whose positions are shown."""
LEAST_LOSS = 0.005
"""Places; a smaller loss is shown as 0.00, so it is not listed."""


def analyse_game(
    source: str | None, game: str | None, *, bot: str | None, playouts: int, as_json: bool
) -> None:
    """Analyse a finished game for one of its bots."""
    found, line = find_finished(source, game)
    record = loads(line)
    playback = Playback.of_record(record, bots=found.bots, match_id=found.match_id)
    seat = seat_of(playback, bot)
    if seat is None:
        seat = only_seat(playback, find_run(game_arguments(source, game)[0]), None)
    evaluator = Evaluator(playouts=playouts)
    analysis = analyse(record, seat, evaluator)
    if as_json:
        write_json(_analysis_json(playback, analysis, evaluator))
        return
    write(_summary(playback, analysis, evaluator))
    write(_lists(playback, analysis))
    costly = [decision for decision in analysis.decisions if decision.loss >= LEAST_LOSS]
    for decision in costly[:MOST_SHOWN]:
        write(_position(playback, decision))


def _summary(playback: Playback, analysis: Analysis, evaluator: Evaluator) -> Iterator[Line]:
    name, result = playback.name(analysis.seat), playback.results[analysis.seat]
    losses = {str(phase): loss for phase, loss in analysis.loss_by_phase().items()}
    worst = next(iter(losses), "")
    if analysis.loss < LEAST_LOSS:
        yield ((f"{name} lost nothing by its decisions", Style.TITLE),)
    else:
        lost = f"{losses[worst]:.2f} of the {analysis.loss:.2f} places that its decisions lost"
        yield ((f"{name} lost most in the phase {worst}: {lost}", Style.TITLE),)
    yield ((", ".join(f"{phase} {loss:.2f}" for phase, loss in losses.items()), Style.PLAIN),)
    players = len(playback.results)
    ended = f"place {result.place} of {players} with {result.points} points"
    luck = f"luck of the draws: {analysis.luck:+.2f} places"
    yield ((f"seat {analysis.seat + 1}, {ended}; {luck}", Style.PLAIN),)
    budget = plural(evaluator.playouts, "playout")
    yield ((f"evaluator {evaluator.digest}: champion's network, {budget} a purchase", Style.DIM),)
    yield ()


def _lists(playback: Playback, analysis: Analysis) -> Iterator[Line]:
    yield ((f"{'decision':>8}  {'round':>5}  {'lost':>5}  chosen; better", Style.DIM),)
    costly = [decision for decision in analysis.decisions if decision.loss >= LEAST_LOSS]
    for decision in costly[:MOST_LISTED]:
        chosen, best = _moves(playback, decision)
        where = f"{decision.decision_id:>8}  {decision.round:>5}  {decision.loss:>5.2f}"
        yield ((f"{where}  {chosen}; {best}", Style.PLAIN),)
    yield ()
    yield ((f"{'decision':>8}  {'luck':>5}  card that came", Style.DIM),)
    by_luck = sorted(analysis.draws, key=lambda draw: -abs(draw.luck[analysis.seat]))
    for draw in by_luck[:MOST_LISTED]:
        luck = f"{draw.decision_id:>8}  {draw.luck[analysis.seat]:>+5.2f}"
        yield ((f"{luck}  {card_name(draw.card)} for {playback.name(draw.seat)}", Style.PLAIN),)
    yield ()


def _position(playback: Playback, decision: JudgedDecision) -> Iterator[Line]:
    step = playback.steps[decision.decision_id - 1]
    rule = f"--- {title(playback, step)}: {decision.loss:.2f} places lost "
    yield ((rule.ljust(text_width(), "-"), Style.TITLE),)
    yield ()
    yield from frame(playback, decision.decision_id - 1, text_width())
    yield ((f"better: {_moves(playback, decision)[1]}", Style.TITLE),)
    yield ()


def _moves(playback: Playback, decision: JudgedDecision) -> tuple[str, str]:
    """Return the chosen and the best move in words; the first says if it is not the bot's own."""
    step = playback.steps[decision.decision_id - 1]
    coins = dict(step.options)
    chosen, best = (
        move_in_words(move, coins[move], playback.bots) for move in (decision.move, decision.best)
    )
    return chosen + ("" if was_answered(playback, step) else " (played for it)"), best


def _analysis_json(playback: Playback, analysis: Analysis, evaluator: Evaluator) -> Json:
    """Return an analysis as JSON; seats count from 0, as in records, and losses are in places."""
    return {
        "game": playback.match_id,
        "bot": playback.name(analysis.seat),
        "seat": analysis.seat,
        "place": playback.results[analysis.seat].place,
        "points": playback.results[analysis.seat].points,
        "evaluator": evaluator.digest,
        "loss": analysis.loss,
        "loss_by_phase": {str(phase): loss for phase, loss in analysis.loss_by_phase().items()},
        "luck": analysis.luck,
        "decisions": [
            {
                "decision": decision.decision_id,
                "round": decision.round,
                "phase": str(decision.phase),
                "move": decision.move.text,
                "answered": was_answered(playback, playback.steps[decision.decision_id - 1]),
                "best": decision.best.text,
                "expected_place": decision.place,
                "loss": decision.loss,
                "state": state_json(playback.steps[decision.decision_id - 1].view),
            }
            for decision in analysis.decisions
        ],
        "draws": [
            {
                "decision": draw.decision_id,
                "seat": draw.seat,
                "card": draw.card.id,
                "luck": list(draw.luck),
            }
            for draw in analysis.draws
        ],
    }
