"""What follows from the games of a league: one scale for all versions, gains, trends, as rows of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from itertools import combinations, permutations

from happycity.records.record import Json
from happycity_league.playing import table_title
from happycity_league.state import AgentLeague, Cycle, EditOutcome
from happycity_tournament.cli.tables import UNKNOWN, number_text
from happycity_tournament.luck_adjusted import LuckAdjusted, luck_evaluator
from happycity_tournament.plain_json import plain_json
from happycity_tournament.ratings.comparison import BotComparison, PairedGames
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.standings.rated_games import counted_games, load_for_rating, rate_games

MIN_TREND = 3
"""Cycles below which no trend is computed."""


def results_of(league: AgentLeague) -> Json:
    """Return all results as JSON: rows of agents, best first, of cycles, of ratings, and of pairs."""
    ratings = _ratings(league)
    rows = [
        {
            "agent": agent,
            "cycle": cycle.number,
            "outcome": edit.outcome.value,
            "version": league.renamed.get(edit.plays, ""),
            **_elo(ratings, league.renamed.get(edit.plays, "") if cycle.is_played else ""),
            **_gain(cycle.gains.get(agent)),
            "changed_lines": edit.changed_lines,
            "seconds": edit.seconds,
            "cpu_seconds": edit.cpu_seconds,
            "usage": dict(edit.usage),
            "reason": "; ".join(edit.reason),
        }
        for cycle in league.cycles
        for agent, edit in cycle.edits.items()
    ]
    agents = [
        _agent(agent.name, [row for row in rows if row["agent"] == agent.name], ratings)
        for agent in league.config.agents
    ]
    agents.sort(key=lambda row: -math.inf if row["elo"] is None else row["elo"], reverse=True)
    pairs = permutations([*filter(None, (row["version"] for row in agents)), *league.config.anchors], 2)
    return {
        "commitment": league.commitment.hash,
        "chain": next((cycle.chain for cycle in reversed(league.cycles) if cycle.chain), ""),
        "is_over": league.is_over,
        "played": sum(cycle.is_played for cycle in league.cycles[1:]),
        "agents": agents,
        "cycles": rows,
        "ratings": [plain_json(line) for line in ratings.lines],
        "matrix": [
            {"bot": bot, "other": other, **plain_json(difference)}
            for bot, other in pairs
            if (difference := ratings.difference(bot, other)) is not None
        ],
        "notes": list(ratings.notes),
    }


def number_cell(row: Json, name: str, digits: int, sign: str = "") -> str:
    """Return a number of a row with half of its interval, as people read it."""
    margin = row.get("margin" if name == "elo" else f"{name}_margin")
    return UNKNOWN if row[name] is None else number_text(row[name], margin, digits, sign=sign)


def _elo(ratings: Ratings, bot: str) -> Json:
    line = next((line for line in ratings.lines if line.bot == bot), None)
    return {"elo": line and line.elo, "margin": line and line.margin}


def _gain(found: BotComparison | None) -> Json:
    return {"gain": found and found.score.value, "gain_margin": found and found.score.margin}


def _agent(agent: str, rows: Sequence[Json], ratings: Ratings) -> Json:
    """Return what the rows of one agent amount to."""
    failed = (EditOutcome.FAILED.value, EditOutcome.REJECTED.value)
    rated = [row for row in rows if row["elo"] is not None]
    version = rated[-1]["version"] if rated else ""
    gains = [row for row in rows if row["gain"] is not None] or [_gain(None)]
    trend, trend_margin = trend_of([row["version"] for row in rated], ratings)
    return {
        **{"agent": agent, "version": version, **_elo(ratings, version)},
        "mean_elo": sum(row["elo"] for row in rated) / len(rated) if rated else None,
        **{"trend": trend, "trend_margin": trend_margin},
        **{name: gains[-1][name] for name in ("gain", "gain_margin")},
        "failures": sum(row["outcome"] in failed for row in rows),
    }


def _ratings(league: AgentLeague) -> Ratings:
    """Return the ratings of all versions and anchors by all games."""
    if not league.tables:
        return Ratings(lines=())
    with closing(league.games()) as source:
        known = set(source.bots())
        loaded = load_for_rating([source], {old: new for old, new in league.renamed.items() if old in known})
        if not loaded.count:
            return Ratings(lines=())
        return rate_games(estimate_of(loaded.games), anchor=league.config.anchors[0])


def trend_of(versions: Sequence[str], ratings: Ratings) -> tuple[float | None, float | None]:
    """Return the slope of the ratings of what played cycle by cycle, in Elo, and half of its 95% interval.

    The slope is the sum of c * rating with weights c = (t - mean t) / sum of (t - mean t)^2. These sum up to
    0, so its variance follows from those of differences: minus half of the sum of c_i c_j var(r_i - r_j).
    """
    count, elos = len(versions), {line.bot: line.elo for line in ratings.lines}
    if count < MIN_TREND:
        return None, None
    square, variance = (count**3 - count) / 12, 0.0
    weighted = [((number - (count - 1) / 2) / square, name) for number, name in enumerate(versions)]
    slope = sum(weight * elos[name] for weight, name in weighted)
    for (weight, name), (other_weight, other) in combinations(weighted, 2):
        if name != other:
            difference = ratings.difference(name, other)
            if difference is None or difference.margin is None:
                return slope, None
            variance -= weight * other_weight * difference.margin**2
    return slope, math.sqrt(max(0.0, variance))


def gains_evaluator() -> str:
    """Return the digest of the evaluator by which this version takes the luck off gains."""
    return luck_evaluator(0).digest


def gains_of(league: AgentLeague, cycle: Cycle) -> dict[str, BotComparison]:
    """Return what the edits of a cycle gained, from the games of its compared tables, without their luck."""
    gains: dict[str, BotComparison] = {}
    for agent, pair in league.compared(cycle).items():
        sources = [LuckAdjusted(league.games(table_title(cycle, version)), luck_games=0) for version in pair]
        with closing(sources[0]), closing(sources[1]):
            games = [counted_games(source, CountingRules(source.tournaments())) for source in sources]
            paired = PairedGames(*games, renamed={pair[0]: pair[1]})
        if pair[1] in paired.compared_bots:
            gains[agent] = paired.comparison(pair[1])
    return gains
