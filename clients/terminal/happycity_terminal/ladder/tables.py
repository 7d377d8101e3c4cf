"""The ladder's messages as tables and lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from happycity.ladder.v1beta1 import ladder_service_pb2 as pb
from happycity.match import one_line
from happycity.text.words import plural
from happycity.v1 import rating_pb2
from happycity.wire.enums import enum_word
from happycity.wire.match import bot_info_of, seconds_of
from happycity_tournament.cli.tables import DAY_AND_MINUTE, UNKNOWN, empty_table, moment_text
from happycity_tournament.ratings.results import Interval
from happycity_tournament.ratings.statistics import MIN_ANYTIME_DEALS, anytime_margin


def ladder_lines(ladder: pb.Ladder) -> Iterator[str]:
    """Yield what a ladder is and how it stands."""
    yield f"{one_line(ladder.name)}: {season_line(ladder.season)}"
    yield f"boards: {', '.join(board.name for board in ladder.boards)}"
    yield (
        f"{plural(ladder.bots_connected, 'bot')} connected of {ladder.bots:,}; "
        f"{plural(ladder.deals_running, 'deal')} being played; "
        f"the longest wait is {seconds_of(ladder.longest_wait):.0f} s"
    )
    for idle in ladder.idle:
        end = f", until {moment_text(idle.end_time)} (UTC)" if idle.HasField("end_time") else ""
        yield f"{plural(idle.bots, 'bot')} of guests not playing: {idle.text}{end}"
    if ladder.ratings_behind:
        yield "the server has just started: ratings still lack finished deals"


def season_line(season: pb.Season) -> str:
    """Return a season in one line."""
    end = "goes on"
    if season.HasField("end_time"):
        end = f"ended {moment_text(season.end_time)}"
    elif season.HasField("planned_end_time"):
        end = f"ends {moment_text(season.planned_end_time)}"
    rated = f"{season.deals:,} rated {'deal' if season.deals == 1 else 'deals'}"
    return f"season {season.season_id} since {moment_text(season.start_time)}, {end} (UTC); {rated}"


def leaderboard_table(lines: Sequence[pb.LeaderboardLine]) -> Table:
    """Return a leaderboard; forfeits, and the cost of hosted bots, only if there are any."""
    forfeits = ("forfeits",) if any(line.forfeits for line in lines) else ()
    cost = ("CPU s", "MB") if any(line.HasField("cost") for line in lines) else ()
    counted = "deals", "games", "firsts", *forfeits, *cost
    table = empty_table("rank", "bot", "version", "Elo", "95%", *counted, compact=True)
    for line in lines:
        counts = (line.rating.deals, line.games, line.firsts, *(line.forfeits for _ in forfeits))
        table.add_row(
            str(line.rank or UNKNOWN),
            Text(f"{line.version.bot}{_marks(line)}"),
            Text(_version(line.version)),
            *_rating_cells(line.rating),
            *(f"{number:,}" for number in counts),
            *(_cost_cells(line) if cost else ()),
        )
    return table


def owners_table(owners: Sequence[pb.OwnerLine]) -> Table:
    """Return the owners, each by its best bot."""
    table = empty_table("rank", "owner", "best bot", "Elo", "at least", "bots", compact=True)
    for owner in owners:
        best = owner.best
        table.add_row(
            str(owner.rank),
            Text("the house" if best.house else best.owner or UNKNOWN),
            Text(best.version.bot),
            f"{best.rating.elo:.0f}",
            f"{owner.low:.0f}",
            str(owner.bots),
        )
    return table


def _cost_cells(line: pb.LeaderboardLine) -> tuple[str, str]:
    """Return the CPU seconds and megabytes of a hosted bot."""
    if not line.HasField("cost"):
        return UNKNOWN, UNKNOWN
    return f"{seconds_of(line.cost.cpu_time):,.1f}", f"{line.cost.peak_memory_bytes / 1e6:,.0f}"


def bot_lines(bot: pb.LadderBot) -> Iterator[str]:
    """Yield whose bot it is."""
    yield f"{bot.bot}: of {'the house' if bot.house else bot.owner}"
    if bot.HasField("wait"):
        until = f"; until {moment_text(bot.wait.end_time)} UTC" if bot.wait.HasField("end_time") else ""
        yield f"not playing: {one_line(bot.wait.text)}{until}"


def versions_table(bot: pb.LadderBot) -> Table:
    """Return a bot's versions, each with its ratings on the boards on which it played."""
    table = empty_table("id", "version", "since", "until (UTC)", "board", "Elo", "95%", "deals")
    ratings: dict[int, list[pb.VersionRating]] = {}
    for entry in bot.ratings:
        ratings.setdefault(entry.version_id, []).append(entry)
    for version in bot.versions:
        first, last = (moment_text(at, DAY_AND_MINUTE) for at in (version.first_time, version.last_time))
        cells = (
            str(version.version_id),
            _version(version),
            first,
            "connected" if version.connected else last,
        )
        rated = [
            (entry.board, *_rating_cells(entry.rating), f"{entry.rating.deals:,}")
            for entry in ratings.get(version.version_id, ())
        ]
        for row in rated or [(UNKNOWN,) * 4]:
            table.add_row(*map(Text, (*cells, *row)))
            cells = ("",) * 4
    return table


def challenge_lines(challenge: pb.Challenge, server: str) -> Iterator[str]:
    """Yield where a challenge stands, and what comes next."""
    number, state = challenge.challenge_id, enum_word(pb.ChallengeState, challenge.state)
    what = f"{plural(challenge.deals, 'deal')} on {challenge.board}"
    yield f"challenge {number} of {challenge.bot}: {what}, {state}"
    if challenge.state == pb.CHALLENGE_STATE_OPEN:
        missing = ", ".join(bot for bot in challenge.opponents if bot not in challenge.accepted)
        until = moment_text(challenge.expire_time)
        yield f"until {until} UTC it waits for those of {missing} that are not of the house; each accepts by:"
        yield f"happycity ladder challenge BOT --accept {number} --server {server}"


def comparison_lines(comparison: pb.VersionComparison, old: int, new: int) -> Iterator[str]:
    """Yield how two versions compare."""
    if comparison.deals:
        known = comparison.standard_error if comparison.HasField("standard_error") else None
        margin = anytime_margin(comparison.deals, known)
        interval, remark = (
            ("", f"; an interval takes {MIN_ANYTIME_DEALS}") if margin is None else (f" ± {margin:.3f}", "")
        )
        yield (
            f"version {new} scores {comparison.difference:+.3f}{interval} a game against version {old}, "
            f"in {plural(comparison.deals, 'deal')} that both played{remark}"
        )
    else:
        how = f"happycity ladder challenge BOT --replay {old}"
        yield f"versions {old} and {new} have no deal that both played; the newer one plays some by: {how}"
    for entry in comparison.ratings:
        elo, interval = _rating_cells(entry.rating)
        yield f"version {entry.version_id} on {entry.board}: {elo} ({interval})"


def _marks(line: pb.LeaderboardLine) -> str:
    """Return the facts about a bot besides its name."""
    marks = {
        "house": line.house,
        "inactive": line.inactive,
        "suspended": line.suspended,
        "provisional": line.rating.provisional and not line.inactive,
    }
    shown = ", ".join(mark for mark, holds in marks.items() if holds)
    return f" ({shown})" if shown else ""


def _version(version: pb.BotVersion) -> str:
    return bot_info_of(version.info).version or UNKNOWN


def _rating_cells(rating: rating_pb2.Rating) -> tuple[str, str]:
    interval = Interval(low=rating.low, high=rating.high)
    return f"{rating.elo:.0f}", interval.interval_text if interval.margin else UNKNOWN


def _opponents(challenge: pb.Challenge) -> str:
    if challenge.old_version_id:
        return f"as version {challenge.old_version_id}"
    marks = {bot: " (accepted)" if bot in challenge.accepted else "" for bot in challenge.opponents}
    return ", ".join(f"{bot}{mark}" for bot, mark in marks.items()) or UNKNOWN


def _placed(deal: pb.LadderDeal) -> str:
    """Return the bots of a deal with their mean places, the best one first."""
    bots = [version.bot for version in deal.versions]
    games = len(deal.match_ids)
    if not games:
        return ", ".join(bots)
    placed = sorted(zip(deal.places, bots, strict=True))
    return ", ".join(f"{bot} {total / games:.2f}" for total, bot in placed)


def _matches(ids: Sequence[int]) -> str:
    """Return match ids, as 157-160 where they follow each other."""
    if len(ids) > 1 and list(ids) == list(range(ids[0], ids[-1] + 1)):
        return f"{ids[0]}-{ids[-1]}"
    return ", ".join(map(str, ids)) or UNKNOWN


def _state(deal: pb.LadderDeal) -> str:
    if deal.dropped:
        return "dropped"
    if deal.act_id:
        return "voided"
    return "finished" if deal.HasField("finish_time") else "playing"


LISTS: Mapping[str, tuple[str, Mapping[str, Callable[[Any], object]], str]] = {
    "ListLadderDeals": (
        "deals",
        {
            "id": lambda deal: deal.deal_id,
            "board": lambda deal: deal.board,
            "kind": lambda deal: enum_word(pb.DealKind, deal.kind),
            "begun (UTC)": lambda deal: moment_text(deal.start_time, DAY_AND_MINUTE),
            "bots by mean place": _placed,
            "state": _state,
            "matches": lambda deal: _matches(deal.match_ids),
        },
        "no deals",
    ),
    "ListSeasons": (
        "seasons",
        {
            "season": lambda one: one.season_id,
            "since (UTC)": lambda one: moment_text(one.start_time),
            "until (UTC)": lambda one: moment_text(one.end_time) if one.HasField("end_time") else "now",
            "deals": lambda one: f"{one.deals:,}",
            "games": lambda one: f"{one.games:,}",
            "commitment": lambda one: f"{one.commitment[:12]}…",  # the JSON has all of it
        },
        "no seasons",
    ),
    "ListChallenges": (
        "challenges",
        {
            "id": lambda one: one.challenge_id,
            "bot": lambda one: one.bot,
            "kind": lambda one: enum_word(pb.DealKind, one.kind),
            "board": lambda one: one.board,
            "opponents": _opponents,
            "deals": lambda one: f"{one.deals_finished} of {one.deals}",
            "state": lambda one: enum_word(pb.ChallengeState, one.state),
        },
        "no challenges",
    ),
    "ListActs": (
        "acts",
        {
            "id": lambda act: act.act_id,
            "time (UTC)": lambda act: moment_text(act.time),
            "organiser": lambda act: act.organiser or UNKNOWN,
            "act": lambda act: enum_word(pb.ActKind, act.kind),
            "to": lambda act: act.bot or act.owner or "deals",
            "deals": lambda act: f"{act.deals:,}",
            "what": lambda act: one_line(act.text),
        },
        "no acts",
    ),
    "ListFlags": (
        "flags",
        {
            "kind": lambda flag: enum_word(pb.FlagKind, flag.kind),
            "bot": lambda flag: flag.bot,
            "board": lambda flag: flag.board,
            "deals": lambda flag: f"{flag.deals:,}",
            "off": lambda flag: f"{flag.deviation:.1f}",
            "p": lambda flag: f"{flag.p_value:.2g}",
            "what": lambda flag: one_line(flag.text),
        },
        "nothing is odd",
    ),
}
"""By method: the field of its response that has the entries, the columns of their table by headings, and what
to say without any."""
