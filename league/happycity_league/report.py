"""The report of a league: one HTML file like that of a tournament, whose template it extends."""

from __future__ import annotations

from pathlib import Path

from happycity.records.record import Json
from happycity_league.config import LeagueConfig
from happycity_league.results import number_cell, results_of
from happycity_league.state import AgentLeague
from happycity_runtime.files import replacing
from happycity_tournament.ratings.results import Difference
from happycity_tournament.report import charts
from happycity_tournament.report.report import environment


def write_report(league: AgentLeague, out: Path) -> None:
    """Write the report of a league as far as it was played."""
    with replacing(out) as path:
        path.write_text(render(results_of(league), league.config, title=league.folder.name), encoding="utf-8")


def render(results: Json, config: LeagueConfig, *, title: str) -> str:
    """Return the page."""
    cycles: dict[str, list[Json]] = {row["agent"]: [] for row in results["agents"]}
    for row in results["cycles"]:
        cycles[row["agent"]].append(row)
    rated = {agent: [row for row in rows if row["elo"] is not None] for agent, rows in cycles.items()}
    curves = {agent: [*map(_point, rows)] for agent, rows in rated.items() if rows}
    pairs = {(row["bot"], row["other"]): row for row in results["matrix"]}
    page = environment("happycity_league").get_template("league.html")
    return page.render(
        title=title,
        config=config,
        results=results,
        summary=_summary(results),
        cycles=cycles,
        curves=curves,
        chart=charts.estimates(curves, label="Elo of each agent's version by cycle; the numbers are below"),
        reported=sorted({what for row in results["cycles"] for what in row["usage"]}),
        bots=list(dict.fromkeys(bot for bot, _ in pairs)),
        differences={pair: _difference(row) for pair, row in pairs.items()},
        number=number_cell,
    )


def _point(row: Json) -> charts.EstimatePoint:
    elo, margin = row["elo"], row["margin"] or 0.0
    return charts.EstimatePoint(row["cycle"], elo, elo - margin, elo + margin)


def _difference(row: Json) -> Difference:
    return Difference(elo=row["elo"], los=row["los"], low=row["low"], high=row["high"])


def _summary(results: Json) -> str:
    """Return the result in a sentence."""
    rated = [row for row in results["agents"] if row["elo"] is not None]
    if not rated:
        return "No game was finished."
    first = f"{rated[0]['agent']} is first, with {number_cell(rated[0], 'elo', 0)} Elo"
    others = (row for row in results["matrix"] if row["bot"] == rated[0]["version"] and len(rated) > 1)
    above = next((row for row in others if row["other"] == rated[1]["version"]), None)
    if above is None or (above["low"] is not None and above["low"] > 0):
        return f"{first}."
    return f"{first}; whether it is stronger than {rated[1]['agent']} is not certain."
