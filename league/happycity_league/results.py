"""What follows from the games of a league: one scale for all versions, gains, trends, as rows of tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack, closing

from happycity.records.record import Json
from happycity_league.playing import table_title
from happycity_league.state import AgentLeague, Cycle, EditOutcome
from happycity_tournament.client.run_folder import STORE_FILE, own_store
from happycity_tournament.luck_adjusted import LuckAdjusted
from happycity_tournament.plain_json import plain_json
from happycity_tournament.ratings.comparison import BotComparison, PairedGames
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.standings.rated_games import counted_games, load_for_rating, rate_games
from happycity_tournament.storage.sources import Source, StoreSource

MIN_TREND = 3
"""Cycles below which no trend is computed."""


def results_of(league: AgentLeague) -> Json:
    """Return all results as JSON: rows of agents, best first, rows of cycles, and ratings."""
    ratings = _ratings(league)
    elos = {line.bot: line for line in ratings.lines}
    rows = [
        {
            "agent": agent,
            "cycle": cycle.number,
            "outcome": edit.outcome.value,
            "version": (version := league.renamed.get(edit.plays, "")),
            "elo": elos[version].elo if version in elos else None,
            "margin": elos[version].margin if version in elos else None,
            "gain": cycle.gains[agent].score.value if agent in cycle.gains else None,
            "gain_margin": cycle.gains[agent].score.margin if agent in cycle.gains else None,
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
        _agent([row for row in rows if row["agent"] == agent.name], ratings) for agent in league.config.agents
    ]
    return {
        "commitment": league.commitment.hash,
        "chain": next((cycle.chain for cycle in reversed(league.cycles) if cycle.chain), ""),
        "is_over": league.is_over,
        "agents": sorted(
            agents, key=lambda row: -math.inf if row["elo"] is None else row["elo"], reverse=True
        ),
        "cycles": rows,
        "ratings": [plain_json(line) for line in ratings.lines],
        "notes": list(ratings.notes),
    }


def _agent(rows: Sequence[Json], ratings: Ratings) -> Json:
    """Return what the rows of one agent amount to."""
    rated = [row for row in rows if row["elo"] is not None]
    failed = (EditOutcome.FAILED.value, EditOutcome.REJECTED.value)
    last, gains = rated[-1] if rated else {}, [row for row in rows if row["gain"] is not None]
    trend, trend_margin = trend_of([row["version"] for row in rated], ratings)
    return {
        **{"agent": rows[0]["agent"] if rows else "", "version": last.get("version", "")},
        **{"elo": last.get("elo"), "margin": last.get("margin")},
        "mean_elo": sum(row["elo"] for row in rated) / len(rated) if rated else None,
        **{"trend": trend, "trend_margin": trend_margin},
        "gain": gains[-1]["gain"] if gains else None,
        "gain_margin": gains[-1]["gain_margin"] if gains else None,
        "failures": sum(row["outcome"] in failed for row in rows),
    }


def _ratings(league: AgentLeague) -> Ratings:
    """Return the ratings of all versions and anchors by all games."""
    if not (league.folder / STORE_FILE).exists():
        return Ratings(lines=())
    with closing(StoreSource(own_store(league.folder))) as source:
        known = set(source.bots())
        loaded = load_for_rating([source], {old: new for old, new in league.renamed.items() if old in known})
        if not loaded.count:
            return Ratings(lines=())
        return rate_games(estimate_of(loaded.games), loaded.tournaments, anchor=league.config.anchors[0])


def trend_of(versions: Sequence[str], ratings: Ratings) -> tuple[float | None, float | None]:
    """Return the slope of the ratings of what played cycle by cycle, in Elo, and half of its 95% interval.

    The slope is the sum of c * rating with weights c = (t - mean t) / sum of (t - mean t)^2. These sum up to
    0, so its variance follows from those of differences: minus half of the sum of c_i c_j var(r_i - r_j).
    """
    count, elos = len(versions), {line.bot: line.elo for line in ratings.lines}
    if count < MIN_TREND:
        return None, None
    square, variance = (count**3 - count) / 12, 0.0
    weights = [(number - (count - 1) / 2) / square for number in range(count)]
    weighted = list(zip(weights, versions, strict=True))
    slope = sum(weight * elos[name] for weight, name in weighted)
    for weight, name in weighted:
        for other_weight, other in weighted:
            if name != other:
                difference = ratings.difference(name, other)
                if difference is None or difference.margin is None:
                    return slope, None
                variance -= weight * other_weight * difference.margin**2 / 2
    return slope, math.sqrt(max(0.0, variance))


def gains_of(league: AgentLeague, cycle: Cycle) -> dict[str, BotComparison]:
    """Return what the edits of a cycle gained, from the games of its compared tables, without their luck."""
    gains: dict[str, BotComparison] = {}
    for agent, (before, after) in league.compared(cycle).items():
        with ExitStack() as opened:
            sources = [_games(league, cycle, version) for version in (before, after)]
            for source in sources:
                opened.enter_context(closing(source))
            games = [counted_games(source, CountingRules(source.tournaments())) for source in sources]
            paired = PairedGames(*games, renamed={before: after})
        if after in paired.compared_bots:
            gains[agent] = paired.comparison(after)
    return gains


def _games(league: AgentLeague, cycle: Cycle, version: str) -> Source:
    with closing(StoreSource(own_store(league.folder))) as source:
        ids = {one.config["title"]: one.id for one in source.tournaments()}
    one = StoreSource(own_store(league.folder), tournament=ids[table_title(cycle, version)])
    return LuckAdjusted(one, taken_off=True)
