"""`tournament compare`: say what a change of a bot gained, by games on the same deals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from happycity.errors import suggestion
from happycity_runtime.commands import AsJson
from happycity_tournament.cli.options import GAMES, LuckGames, TakeOffLuck, games_for_luck

if TYPE_CHECKING:
    from rich.table import Table

    from happycity.records.record import Json
    from happycity_tournament.ratings.comparison import BotComparison, PairedDifference, PairedGames
    from happycity_tournament.standings.counted import CountingRules


def compare(
    before: Annotated[
        str | None,
        typer.Argument(
            metavar="BEFORE", help=f"{GAMES} Those before a change.  [default: the last run but one]"
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Argument(
            metavar="AFTER", help="Games after it, named in the same ways.  [default: the last run]"
        ),
    ] = None,
    *,
    bot: Annotated[
        str | None,
        typer.Option(
            metavar="BOT",
            help="Only this bot: NAME, or OLD=NEW if its name changed.  [default: all that play otherwise]",
        ),
    ] = None,
    luck_adjusted: TakeOffLuck = False,
    luck_games: LuckGames = 0,
    as_json: AsJson = False,
) -> None:
    """Say what a change of a bot gained.

    Games of the two sources are compared in pairs that have the same deal, seats and opponents, so that luck
    cancels. Two runs have such games if they were played with the same --seed and bots. Without arguments the
    last two runs are compared. Bots that chose as before, until another one chose otherwise, aren't judged.
    """
    from rich.console import Console

    from happycity_tournament.cli.addresses import open_sources
    from happycity_tournament.cli.json import write_json
    from happycity_tournament.cli.tables import print_lines, reading_games
    from happycity_tournament.ratings.comparison import PairedGames
    from happycity_tournament.standings.counted import CountingRules, Uncounted
    from happycity_tournament.standings.rated_games import counted_games, luck_notes

    if after is None:
        latest, *others = _runs_of(bot)
        before, after = before or others[0], latest
    old, _, new = (bot or "").partition("=")
    luck = games_for_luck(luck_games, adjusted=luck_adjusted)
    with open_sources([before, after], luck_games=luck) as sources:
        rules = [CountingRules(source.tournaments()) for source in sources]
        with reading_games():
            games = PairedGames(*map(counted_games, sources, rules), renamed={old: new} if new else {})
        names, evaluator = [source.name for source in sources], sources[1].luck_evaluator
        _check(games, names, bot=new or old)
        changed = [name for name in games.compared_bots if name in (games.changed or games.compared_bots)]
        comparisons = [games.comparison(name) for name in ([new or old] if bot is not None else changed)]
        if as_json:
            content: Json = {
                "sources": names,
                "pairs": games.pairs,
                "deals": games.deals,
                "unpaired": games.unpaired,
                "games_unrated": [rule.uncounted[Uncounted.UNRATED] for rule in rules],
                "bots": comparisons,
                "bots_changed": None if games.changed is None else sorted(games.changed),
                "luck_evaluator": evaluator or None,
            }
            write_json(content)
            return
        console = Console()
        console.print(_table(comparisons))
        facts = (
            *_facts(games, names, rules, unchanged=set(games.compared_bots).difference(changed)),
            *luck_notes(evaluator),
        )
        print_lines(console, *(sentence(each, names[1]) for each in comparisons), *facts)


def _runs_of(bot: str | None) -> list[str]:
    """Return the folders of the runs that have a bot, None for any, the newest first; two at least."""
    from happycity.errors import ConfigError
    from happycity_tournament.client.run_folder import Run, run_folders

    names = set((bot or "").split("="))
    runs = [run for run in map(Run.load, run_folders()) if bot is None or names & {*run.lineup.names}]
    if len(runs) < 2:
        raise ConfigError("BEFORE: it is missing, and there are no two runs to compare in runs/")
    return [str(run.folder) for run in runs]


def sentence(comparison: BotComparison, after: str) -> str:
    """Return in words how a bot's results differ in the source `after`."""
    from happycity.text.words import plural
    from happycity_tournament.cli.tables import number_text
    from happycity_tournament.ratings.comparison import Change
    from happycity_tournament.ratings.statistics import MIN_ANYTIME_DEALS

    bot, score = comparison.bot, comparison.score
    amount = number_text(abs(score.value), score.margin or 0, 3)
    match comparison.change:
        case Change.BETTER:
            return f"{bot} scores {amount} more in {after}: it is better there"
        case Change.WORSE:
            return f"{bot} scores {amount} less in {after}: it is worse there"
        case Change.UNCLEAR:
            difference = _difference(score, 3)
            return f"{bot} can't be distinguished from before: its score differs by {difference}"
        case Change.SAME:
            return f"{bot} did the same in every pair"
        case Change.UNKNOWN:
            few = plural(comparison.deals, "deal")
            return f"{bot} can't be compared by {few}: an interval takes {MIN_ANYTIME_DEALS}"


def _check(games: PairedGames, names: Sequence[str], *, bot: str) -> None:
    """Refuse sources without a pair, and a bot that is in none."""
    from happycity.errors import ConfigError
    from happycity.text.words import plural

    for name, known in zip(names, games.bots, strict=True):
        if bot and bot not in known:
            raise ConfigError(f"--bot: {bot!r} plays in no game of {name}; {suggestion(bot, sorted(known))}")
    both = " and ".join(names)
    if not games.common_deals:
        raise ConfigError(f"{both} have no deal in common; play both with the same --seed")
    if not games.pairs:
        raise ConfigError(
            f"{both} have {plural(games.common_deals, 'deal')} in common, but with other bots or seats; "
            "play both with the same bots in the same order (for a bot with a new name: --bot OLD=NEW)"
        )
    if bot and bot not in games.compared_bots:
        raise ConfigError(f"--bot: {bot!r} plays in no pair of games; {suggestion(bot, games.compared_bots)}")


def _table(comparisons: Sequence[BotComparison]) -> Table:
    from happycity_tournament.cli.tables import table_of

    columns: dict[str, Callable[[BotComparison], str]] = {
        "bot": lambda each: each.bot,
        "score before": lambda each: f"{each.score_before:.3f}",
        "after": lambda each: f"{each.score_after:.3f}",
        "difference": lambda each: _difference(each.score, 3),
        "points": lambda each: _difference(each.points, 1),
        "Elo": lambda each: _difference(each.elo, 0),
    }
    return table_of(comparisons, columns)


def _difference(difference: PairedDifference | None, digits: int) -> str:
    from happycity_tournament.cli.tables import UNKNOWN, number_text

    return UNKNOWN if difference is None else number_text(*difference, digits, sign="+")


def _facts(
    games: PairedGames, names: Sequence[str], rules: Sequence[CountingRules], *, unchanged: Collection[str]
) -> Iterator[str]:
    from happycity.text.words import plural
    from happycity_tournament.standings.counted import uncounted_text

    pairs = f"{plural(games.pairs, 'pair')} of games on {plural(games.deals, 'deal')}"
    yield f"{pairs}, with the same cards, seats and opponents"
    if unchanged:
        names_unchanged = ", ".join(sorted(unchanged))
        yield f"not judged, as they chose as before until another bot did otherwise: {names_unchanged}"
    for name, unpaired, rule in zip(names, games.unpaired, rules, strict=True):
        if unpaired:
            yield f"{name}: {plural(unpaired, 'game')} without a counterpart left out"
        if left_out := uncounted_text(rule.uncounted):
            yield f"{name}: {left_out.removeprefix(', ')}"
    yield "score: share of the opponents that it beat, a shared place is half"
    yield "±: the 95% interval; it holds however often you look while you play more rounds"
