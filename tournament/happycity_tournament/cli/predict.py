"""What `tournament predict` does: say what to expect of a table of some bots, by the games of sources."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from happycity import ConfigError
from happycity.errors import suggestion
from happycity.records.record import Json
from happycity.text.words import plural
from happycity_tournament.cli.console import likelihood, show
from happycity_tournament.cli.json import finite, write_json
from happycity_tournament.cli.reading import load_games
from happycity_tournament.ratings.checks.bursts import block_length, bursts_of, in_blocks
from happycity_tournament.ratings.errors import sandwich
from happycity_tournament.ratings.final import ratios_of
from happycity_tournament.ratings.fit import Fit, fit
from happycity_tournament.ratings.prediction import BotPrediction, Expected, predict
from happycity_tournament.ratings.results import ErrorRatios
from happycity_tournament.ratings.statistics import MIN_DEALS
from happycity_tournament.storage.rating_input import Naming
from happycity_tournament.storage.sources import Source

_UNKNOWN = "-"


def check_table(bots: Sequence[str]) -> None:
    """Refuse bots that can't sit at one table, before anything is read."""
    if not 2 <= len(bots) <= 5:
        raise ConfigError(f"BOT: a table has 2 to 5 bots, not {len(bots)}")
    for number, bot in enumerate(bots):
        if bot in bots[:number]:
            raise ConfigError(f"BOT: {bot!r} is named twice")


def predict_table(
    sources: Sequence[Source], bots: Sequence[str], *, naming: Naming, seated: bool, as_json: bool
) -> None:
    """Print who is expected to win a table of the bots, by all games of some sources."""
    loaded, names = load_games(sources, naming), [source.name for source in sources]
    for bot in bots:
        if bot not in loaded.games.bots:
            known = loaded.games.bots
            raise ConfigError(f"BOT: {bot!r} is not one of the bots; {suggestion(bot, known)}")
    estimate = fit(loaded.games)
    estimate = in_blocks(estimate, block_length(estimate, bursts_of(estimate)))
    covariance = sandwich(estimate)
    ratios = ratios_of(estimate, covariance, loaded.error_ratios)
    try:
        predictions = predict(estimate, covariance, bots, seated=seated, error_ratio=ratios.differences)
    except ValueError:
        raise ConfigError(
            f"{', '.join(bots)} never met, not even through others, so nothing is known"
        ) from None
    if as_json:
        table = [asdict(entry) for entry in predictions]
        counts: Json = {"games": loaded.count, "error_ratio": finite(ratios.differences)}
        write_json({"sources": names, **counts, "seated": seated, "bots": table})
        return
    console = Console()
    console.print(_table(predictions))
    show(console, *_notes(predictions, estimate, seated=seated, ratios=ratios))
    show(console, f"by {plural(loaded.count, 'game')} of {', '.join(names)}")


def _table(predictions: Sequence[BotPrediction]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("bot", overflow="fold")
    others = (str(place) for place in range(2, len(predictions) + 1))
    headings = ("Elo", "place 1", *others, "mean place")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in predictions:
        table.add_row(
            Text(entry.bot),
            f"{entry.elo:.0f}",
            likelihood(entry.first.value) + _margin(entry.first, scale=100, digits=1),
            *(likelihood(share) for share in entry.places[1:]),
            f"{entry.place.value:.2f}" + _margin(entry.place, scale=1, digits=2),
        )
    return table


def _margin(number: Expected, *, scale: float, digits: int) -> str:
    if number.low is None or number.high is None:
        return f" {_UNKNOWN}"
    return f" ±{scale * (number.high - number.low) / 2:.{digits}f}"


def _notes(
    predictions: Sequence[BotPrediction], estimate: Fit, *, seated: bool, ratios: ErrorRatios
) -> Iterator[str]:
    """Yield explanations of the table."""
    if ratios.text:
        yield ratios.text
    if math.isfinite(ratios.differences) and any(entry.first.low is None for entry in predictions):
        yield (
            f"{_UNKNOWN}: not enough data; an interval needs {MIN_DEALS} deals of each bot, and results in "
            "both directions"
        )
    size = len(predictions)
    if seated and size not in estimate.seat_sizes:
        yield f"what the seats of a table of {size} add is not known from these games"
    seats = "seated in this order" if seated else "seated in any order"
    yield f"probability of each place, shared or not, {seats}; ±: 95%"
