"""What `tournament plan` does: say how many games it takes until ratings are exact enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from happycity import ConfigError
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity.text.words import plural
from happycity_tournament.cli.console import show
from happycity_tournament.cli.json import write_json
from happycity_tournament.cli.reading import load_games
from happycity_tournament.cli.settings import DEFAULT_SEATS
from happycity_tournament.config import MAX_BOTS, check_error
from happycity_tournament.ratings.planning import Plan, deal_errors, plan
from happycity_tournament.storage.rating_input import Naming
from happycity_tournament.storage.sources import Source, SourceError

REFERENCE_GAMES = "120 rounds of the reference bots random (twice), greedy, planner and rollout"
REFERENCE_DEAL_ERRORS = {2: 629.0, 3: 308.0, 4: 256.0, 5: 222.0}
"""The largest error of one deal, in Elo, by the seats of a table, in `REFERENCE_GAMES`:
`tournament run --bots random,random2=random,greedy,planner,rollout --rounds 120 --seed 1 --seats SEATS`, and
`tournament plan 5 --error 10 --seats SEATS --source` with that run's folder, say it again."""


def check_plan(bots: int, seats: int | None, error: float) -> int:
    """Refuse what can't be planned, before anything is read; return the seats of a table."""
    if not 2 <= bots <= MAX_BOTS:
        raise ConfigError(f"BOTS: {bots} is not between 2 and {MAX_BOTS}")
    if seats is None:
        seats = min(DEFAULT_SEATS, bots)
    if not MIN_PLAYERS <= seats <= MAX_PLAYERS:
        raise ConfigError(f"--seats: {seats} is not between {MIN_PLAYERS} and {MAX_PLAYERS}")
    if bots < seats:
        raise ConfigError(f"BOTS: {bots} can't fill a table of {seats} seats")
    check_error("--error", error)
    return seats


def plan_games(
    sources: Sequence[Source], *, bots: int, seats: int, error: float, naming: Naming, as_json: bool
) -> None:
    """Print how many games it takes, by the games of some sources, or by those of the reference bots."""
    names = [source.name for source in sources]
    bot, deal_error = None, REFERENCE_DEAL_ERRORS[seats]
    if sources:
        errors = deal_errors(load_games(sources, naming).games, seats=seats)
        if not errors:
            raise SourceError(", ".join(names), f"too few games at tables of {seats} to plan by")
        bot, deal_error = max(errors.items(), key=lambda entry: entry[1])
    planned = plan(bots=bots, seats=seats, error=error, deal_error=deal_error)
    if as_json:
        write_json({**asdict(planned), "sources": names, "deal_error": deal_error, "bot": bot})
        return
    basis = f"the games of {bot} in {', '.join(names)}, the bot that takes most" if bot else REFERENCE_GAMES
    show(Console(), *_lines(planned, deal_error, basis=basis, own=bool(bot)))


def _lines(planned: Plan, deal_error: float, *, basis: str, own: bool) -> list[str]:
    bots, seats, error = planned.bots, planned.seats, f"{planned.error:g}"
    advice = "" if own else "; --source names games of your own bots"
    return [
        f"{plural(planned.rounds, 'round')} of {plural(bots, 'bot')} at tables of {seats}, "
        f"{plural(planned.games, 'game')}: then each rating is expected to be within ±{error} Elo (95%)",
        f"each bot plays {plural(planned.deals, 'deal')}, and one deal rates a bot with a standard error of "
        f"{deal_error:.0f} Elo, measured on {basis}{advice}",
        f"play so many rounds: tournament run --seats {seats} --rounds {planned.rounds}",
        f"or as many as it takes: tournament run --seats {seats} --until-error {error}",
    ]
