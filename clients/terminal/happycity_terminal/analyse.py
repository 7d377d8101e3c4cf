"""What `happycity analyse` does: say what decisions cost in a game or over many, and how lucky draws were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from textwrap import wrap

from rich.console import Console

from happycity.errors import ConfigError
from happycity.records.playback import Playback
from happycity.records.record import Json, loads, state_json
from happycity.rules.scoring import shared_places
from happycity.text.board import Line, Style
from happycity.text.words import card_name, move_in_words, plural
from happycity_evaluation import analysis as game_analysis
from happycity_evaluation.analysis import Analysis, JudgedDecision, best_line
from happycity_evaluation.evaluator import Evaluator, ExpectedPlaces
from happycity_runtime.commands import is_quiet
from happycity_terminal.ask import only_seat
from happycity_terminal.frames import frame, title
from happycity_terminal.options import AnalyseOptions
from happycity_terminal.screen import text_width, write
from happycity_terminal.show import find_finished, seat_of
from happycity_terminal.weaknesses import (
    LEAST_LOSS,
    LOSSES_IN_WORDS,
    SeatDecisions,
    Weaknesses,
    diagnosis,
    weaknesses_of,
    why_better,
)
from happycity_tournament.cli.addresses import find_run, game_arguments, open_sources
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.list_games import check_plays
from happycity_tournament.client.run_folder import Run
from happycity_tournament.storage.sources import Source

DEFAULT_PLAYOUTS = 16
"""Few enough that a game of five seats in the expert mode is analysed in 2 s, in pure Python."""
MOST_LISTED = 10
"""Costliest decisions and most decisive draws that are listed."""
MOST_SHOWN = 3
"""Costliest decisions whose positions are shown, and whose best line is found."""


def analyse(source: str | None, game: str | None, question: AnalyseOptions, *, as_json: bool) -> None:
    """Analyse a finished game; without one all games of a source, unless it has a single one."""
    address, match_id = game_arguments(source, game)
    if match_id is None and not question.every_seat:
        with open_sources([address]) as (opened,):
            if len(list(islice(opened.games(with_records=False), 2))) > 1:
                _analyse_games(opened, find_run(address), question, as_json=as_json)
                return
    _analyse_game(source, game, question, as_json=as_json)


def _analyse_games(source: Source, run: Run | None, question: AnalyseOptions, *, as_json: bool) -> None:
    programs = {name for name, _ in run.lineup.commands} if run is not None else set()
    bot = question.bot or (programs.pop() if len(programs) == 1 else "")
    if not bot:
        names = ", ".join(dict.fromkeys(source.bots()))
        raise ConfigError(f"--bot: name the bot whose decisions are judged, of {names}")
    evaluator = Evaluator(playouts=question.budget or 0)
    with Console(stderr=True, quiet=is_quiet()).status("") as status:

        def seats() -> Iterator[SeatDecisions]:
            games = source.games(with_records=True)
            stored = ((game.match_id, game.bots, line) for game, line in games if line and bot in game.bots)
            judged = weaknesses_of(islice(stored, question.limit or None), bot, playouts=evaluator.playouts)
            for number, decisions in enumerate(judged, start=1):
                status.update(f"{plural(number, 'game')} judged; Ctrl-C stops it")
                yield from decisions

        found = Weaknesses.of(seats())
    if not found.games:
        check_plays(bot, source)
        raise ConfigError(f"{source.name}: no game of {bot} was stored with its record")
    summary = diagnosis(f"{bot} loses", found.loss_by_phase, found.loss_at_random, found.excesses)
    if as_json:
        write_json({"bot": bot, "diagnosis": summary, "evaluator": evaluator.digest, **asdict(found)})
        return
    write([((summary, Style.TITLE),), *_weaknesses(found, evaluator)])
    if found.decisions:
        where = f"{source.name} {found.decisions[0].game} --from {found.decisions[0].decision}"
        write([((f"look at one with: happycity show {where}", Style.DIM),)])


def _weaknesses(found: Weaknesses, evaluator: Evaluator) -> Iterator[Line]:
    phases = [
        f"{LOSSES_IN_WORDS[phase]} {loss:.2f} (at random {found.loss_at_random[phase]:.2f})"
        for phase, loss in found.loss_by_phase.items()
    ]
    rounds = [f"{number} {loss:.2f}" for number, loss in found.loss_by_round.items()]
    opponents = [f"{name} {loss:.2f}" for name, loss in found.loss_by_opponent.items()]
    for name, losses in (("phase", phases), ("round", rounds), ("opponent", opponents)):
        for line in wrap(f"by {name}: {', '.join(losses)}", text_width(), subsequent_indent="  "):
            yield ((line, Style.PLAIN),)
    yield ((f"{plural(found.games, 'game')}; {_evaluator_in_words(evaluator)}", Style.DIM),)
    yield ()
    yield ((f"{'game':>6}  {'decision':>8}  {'round':>5}  {'lost':>5}  chosen; better", Style.DIM),)
    for costly in found.decisions:
        where = f"{costly.game:>6}  {costly.decision:>8}  {costly.round:>5}  {costly.loss:>5.2f}"
        yield ((f"{where}  {costly.move}; {costly.best}", Style.PLAIN),)
        indent = " " * (len(where) + 2)
        for line in wrap(
            "; ".join(costly.why), text_width(), initial_indent=indent, subsequent_indent=indent
        ):
            yield ((line, Style.DIM),)


def _evaluator_in_words(evaluator: Evaluator) -> str:
    budget = plural(evaluator.playouts, "playout")
    return f"evaluator {evaluator.digest}: champion's network, {budget} a purchase"


def _analyse_game(source: str | None, game: str | None, question: AnalyseOptions, *, as_json: bool) -> None:
    _, line, playback = find_finished(source, game)
    record = loads(line)
    playouts = DEFAULT_PLAYOUTS if question.budget is None else question.budget
    evaluator = Evaluator(playouts=playouts)
    if question.every_seat:
        seats: Sequence[int] = range(len(playback.results))
    else:
        seat = seat_of(playback, question.bot)
        if seat is None:
            seat = only_seat(playback, find_run(game_arguments(source, game)[0]), None)
        seats = [seat]
    analyses = game_analysis.analyse(record, seats, evaluator)
    if as_json:
        contents = [_analysis_json(playback, analysis, evaluator, record) for analysis in analyses]
        write_json(
            {"seats": contents, "places": _places(playback, analyses)} if question.every_seat else contents[0]
        )
        return
    for analysis in analyses:
        write(_summary(playback, analysis, evaluator))
        write(_lists(playback, analysis))
        for decision in _costly(analysis)[:MOST_SHOWN]:
            write(_position(playback, decision))


def _costly(analysis: Analysis) -> list[JudgedDecision]:
    """Return the decisions with a loss that can be shown, the costliest first."""
    return [decision for decision in analysis.decisions if decision.loss >= LEAST_LOSS]


def _places(playback: Playback, analyses: Sequence[Analysis]) -> list[ExpectedPlaces]:
    """Return the expected place of each seat at each decision of a game, and at its end the real one.

    Decisions that another chose in a player's place are not judged: they have the places of the next one.
    """
    judged = {one.decision_id: one.places for analysis in analyses for one in analysis.decisions}
    places = [shared_places([result.place for result in playback.results])]
    for decision_id in range(playback.decisions, 0, -1):
        places.append(judged.get(decision_id, places[-1]))
    return places[::-1]


def _summary(playback: Playback, analysis: Analysis, evaluator: Evaluator) -> Iterator[Line]:
    name, result = playback.name(analysis.seat), playback.results[analysis.seat]
    losses = {str(phase): loss for phase, loss in analysis.loss_by_phase().items()}
    yield ((diagnosis(f"{name} lost", losses), Style.TITLE),)
    by_phase = ", ".join(f"{LOSSES_IN_WORDS[phase]} {loss:.2f}" for phase, loss in losses.items())
    yield ((by_phase, Style.PLAIN),)
    players = len(playback.results)
    ended = f"place {result.place} of {players} with {result.points} points"
    luck = f"luck of the draws: {analysis.luck:+.2f} places"
    yield ((f"seat {analysis.seat + 1}, {ended}; {luck}", Style.PLAIN),)
    yield ((_evaluator_in_words(evaluator), Style.DIM),)
    yield ()


def _lists(playback: Playback, analysis: Analysis) -> Iterator[Line]:
    yield ((f"{'decision':>8}  {'round':>5}  {'lost':>5}  chosen; better", Style.DIM),)
    for decision in _costly(analysis)[:MOST_LISTED]:
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
    for line in wrap("; ".join(why_better(step, decision)), text_width()):
        yield ((line, Style.PLAIN),)
    yield ()


def _moves(playback: Playback, decision: JudgedDecision) -> tuple[str, str]:
    """Return the chosen and the best move in words; the first says if it is not the bot's own."""
    step = playback.steps[decision.decision_id - 1]
    coins = dict(step.options)
    chosen, best = (
        move_in_words(move, coins[move], playback.bots) for move in (decision.move, decision.best)
    )
    return chosen + ("" if playback.was_answered(step) else " (played for it)"), best


def _analysis_json(playback: Playback, analysis: Analysis, evaluator: Evaluator, record: Json) -> Json:
    """Return an analysis as JSON; seats count from 0, as in records, and losses are in places."""
    losses = {str(phase): loss for phase, loss in analysis.loss_by_phase().items()}
    shown = _costly(analysis)[:MOST_SHOWN]
    lines = {decision.decision_id: best_line(record, decision, evaluator) for decision in shown}
    return {
        "game": playback.match_id,
        "bot": playback.name(analysis.seat),
        "diagnosis": diagnosis(f"{playback.name(analysis.seat)} lost", losses),
        "seat": analysis.seat,
        "place": playback.results[analysis.seat].place,
        "points": playback.results[analysis.seat].points,
        "evaluator": evaluator.digest,
        "loss": analysis.loss,
        "loss_by_phase": losses,
        "luck": analysis.luck,
        "decisions": [
            {
                "decision": decision.decision_id,
                "round": decision.round,
                "phase": str(decision.phase),
                "move": decision.move.text,
                "answered": playback.was_answered(playback.steps[decision.decision_id - 1]),
                "best": decision.best.text,
                "why": why_better(playback.steps[decision.decision_id - 1], decision),
                "expected_place": decision.place,
                "loss": decision.loss,
                "losses": {move.text: loss for move, loss in decision.losses.items()},
                "line": [
                    {"move": move.text, "coins": coins} for move, coins in lines.get(decision.decision_id, ())
                ],
                "state": state_json(playback.steps[decision.decision_id - 1].view),
            }
            for decision in analysis.decisions
        ],
        "draws": [
            {"decision": draw.decision_id, "seat": draw.seat, "card": draw.card.id, "luck": draw.luck}
            for draw in analysis.draws
        ],
    }
