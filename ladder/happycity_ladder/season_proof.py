"""Seasons that anybody can recompute: published as tournaments are, with all that their ratings follow from.

Ratings go on from season to season, so with a season come the deals and the secrets of those before it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from pydantic import ValidationError

from happycity import BotInfo, ConfigError
from happycity.records.record import Json
from happycity_ladder.book import Book, line_row
from happycity_ladder.entries import DealKind, LadderDeal, Season, Version
from happycity_ladder.ladder_config import LadderConfig, deal_seed, season_secret
from happycity_ladder.ladder_rows import add_scores, rated_deal_of, row_of
from happycity_ladder.leaderboard import Score, leaderboard
from happycity_ladder.rater import Rater
from happycity_runtime.parallel import in_processes
from happycity_tournament.games import BotProfile, FinishedGame
from happycity_tournament.plain_json import plain_json
from happycity_tournament.proof.commitment import Commitment, canonical
from happycity_tournament.proof.incidents import unanswered
from happycity_tournament.proof.publication import (
    GAMES_FILE,
    Chain,
    Publication,
    Shape,
    VerificationError,
    check_acts,
    check_entry,
    games_and_chain,
    published_record,
    read_lines,
    reading_line,
    replayed,
)
from happycity_tournament.storage.store import Store

SEASON_FILE = "season.json"
_DEAL: Shape = {
    **dict.fromkeys(("id", "finished"), (int,)),
    **dict.fromkeys(("board", "kind"), (str,)),
    "versions": (list,),
    "finished_at": (float, int),
    "act_id": (int, None),
}
_SEASON: Shape = {
    **dict.fromkeys(("id", "first_deal", "closed_after"), (int,)),
    **dict.fromkeys(("started_at", "ended_at"), (float, int)),
}
_VERSION: Shape = {"id": (int,), "bot": (str,), "house": (bool,), "first_at": (float, int)}


def publish_season(store: Store, season_id: int, folder: Path, *, processes: int) -> Json:
    """Write a season that has ended into a folder, with the secrets of its deals.

    Raises:
        ConfigError: there is no such season, it lasts, or a deal of it is still played, perhaps once more.
        VerificationError: the leaderboards don't follow from the games.
        StoreError: the store can't be read.
    """
    ladder = Book(store)
    seasons = [season for season in ladder.closed_seasons() if season.id <= season_id]
    if not seasons or seasons[-1].id != season_id:
        raise ConfigError(f"SEASON: {season_id} is not a season of this ladder that has ended")
    after, last = ladder.season(season_id + 1), seasons[-1].closed_after or 0
    deals, ended_at = ladder.finished_deals(last), seasons[-1].ended_at or 0.0
    seeds = {deal.deal_seed for deal in deals}
    for deal, _ in ladder.open_deals().values():
        if (after and deal.id < after.first_deal) or deal.deal_seed in seeds:
            text = f"deal {deal.id} of it is still played, and its cards are secret; try later"
            raise ConfigError(f"SEASON: {text}")
    acts = [row_of(act, "owner") for act in ladder.actions(None)[::-1] if act.at <= ended_at]
    versions = ladder.versions({version for deal in deals for version in deal.versions})
    known = {
        **_commitment(ladder, seasons[-1]).json(),
        "seasons": [_fields(one, _SEASON) | _commitment(ladder, one).json() for one in seasons],
        "versions": [_fields(one, _VERSION) for one in versions.values()],
        "acts": acts,
        "leaderboards": {
            board: [plain_json(line_row(line)) for line in lines]
            for board, lines in ladder.leaderboards(season_id).items()
        },
    }
    lines = _lines(ladder, deals, {act["id"] for act in acts})
    return SEASONS.publish(folder, lines, known, processes=processes)


def verify_season(folder: Path, *, processes: int, noted: str | None = None) -> Json:
    """Recompute a published season; see `Publication.verify`."""
    return SEASONS.verify(folder, processes=processes, noted=noted)


def _fields(entry: object, names: Collection[str]) -> Json:
    """Return some fields of an entry as JSON."""
    return {name: value for name, value in row_of(entry).items() if name in names}


def _commitment(ladder: Book, season: Season) -> Commitment:
    """Return what was committed to at the start of a season, with its secret."""
    committed = json.loads(season.commitment)
    seed, salt = season_secret(ladder.secret(), season.id)
    return Commitment(seed=seed, salt=salt, config=committed["config"], engine=committed["engine"])


def _lines(ladder: Book, deals: Sequence[LadderDeal], acts: Collection[int]) -> Iterator[bytes]:
    """Yield a line for each deal; those voided by other acts than these are not voided yet."""
    for deal in deals:
        games = ladder.games_of([deal.id])[deal.id]
        records = [published_record(game, ladder.store.record(game.match_id)) for game in games]
        content = _fields(deal, _DEAL) | {"act_id": deal.act_id if deal.act_id in acts else None}
        yield canonical({"deal": content, "records": records}) + b"\n"


def _recompute(known: Json, folder: Path, processes: int) -> Json:
    """Return what has to be in the file of results of a season."""
    count = _Count(known)
    chain = Chain(count.secrets[-1].hash)
    lines = chain.over(read_lines(folder / GAMES_FILE))
    replay = partial(_replay_deal, configs=count.configs)
    for deal in in_processes(replay, lines, processes=processes, chunk=10):
        if problem := count.add(*deal):
            raise VerificationError(f"{GAMES_FILE}: deal {deal[0]['id']}: {problem}")
    if count.deals != count.seasons[-1].closed_after:
        raise VerificationError(f"{GAMES_FILE}: deal number {count.deals + 1} is missing, or one was added")
    noted = Counter({act["id"]: act["deals"] for act in known["acts"]})
    if wrong := sorted(act for act in noted | count.voided if noted[act] != count.voided[act]):
        raise VerificationError(f"{SEASON_FILE}: acts: act {wrong[0]} didn't void {noted[wrong[0]]:,} deals")
    others = {name: known[name] for name in ("seasons", "versions", "acts")}
    return {
        **count.secrets[-1].json(),
        "format": SEASONS.format,
        **games_and_chain(folder, count.games, chain.head, others),
        **others,
        "leaderboards": {board.name: count.leaderboard(board.name) for board in count.config.boards},
    }


SEASONS = Publication(SEASON_FILE, "happycity-season/1", _recompute)


class _Count:
    """Counts the deals of a season and of those before it, as far as they follow from what is known."""

    def __init__(self, known: Json) -> None:
        """Begin without deals; a VerificationError says what is wrong in a file of results."""
        try:
            self.config = LadderConfig.of(known["commitment"]["config"])
            self.secrets = [Commitment.of(season) for season in known["seasons"]]
            self.seasons = [Season(**{name: one[name] for name in _SEASON}) for one in known["seasons"]]
            self.versions = {one["id"]: _version(one) for one in known["versions"]}
            self.configs = {
                season.first_deal: LadderConfig.of(secret.config)
                for season, secret in zip(self.seasons, self.secrets, strict=True)
            }
            for season, secret in zip(known["seasons"], self.secrets, strict=True):
                check_entry({name: season[name] for name in season.keys() - secret.json().keys()}, _SEASON)
            for one in known["versions"]:
                check_entry(one, _VERSION)
            self._present = {
                board: {self.versions[line["version"]].bot for line in lines if not line["inactive"]}
                for board, lines in known["leaderboards"].items()
            }
            self._ended_at = float(self.seasons[-1].ended_at or 0.0)
        except (ConfigError, ValidationError) as error:
            raise VerificationError(f"{SEASON_FILE}: {str(error).splitlines()[0]:.200}") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise VerificationError(f"{SEASON_FILE}: seasons, versions or leaderboards: malformed") from None
        check_acts(SEASON_FILE, known.get("acts"), {version.bot for version in self.versions.values()})
        self.deals = self.games = 0
        self.voided = Counter[int]()
        """By act: the deals that it has voided."""
        self._rater = Rater(self.config)
        self._scores: defaultdict[tuple[int, str, int], Score] = defaultdict(Score)
        self._seeds = set[int]()

    def add(self, of: Json, games: Sequence[FinishedGame]) -> str:
        """Count the next deal; return what is wrong with it, "" if nothing is."""
        self.deals += 1
        if of["finished"] != self.deals:
            return f"deal number {self.deals} is missing, or this one is not in its place"
        # The season in which it began; those that play older cards again have the seed of an older deal.
        begun = [number for number, season in enumerate(self.seasons) if season.first_deal <= of["id"]]
        own = {deal_seed(self.secrets[begun[-1]].seed, of["id"])} if begun else set[int]()
        is_again = of["kind"] == DealKind.COMPARISON.value
        if {game.deal_seed for game in games} - (self._seeds if is_again else own):
            return "its cards don't follow from the seed of the season"
        if not self.config.has_board(of["board"]):
            return "it is of a board that is not in the configuration"
        bots = tuple(self.versions[one].bot if one in self.versions else "" for one in of["versions"])
        game = self.config.board(of["board"]).game
        orders = [bots[rotation:] + bots[:rotation] for rotation in range(game.players)]
        if [one.bots for one in games] != orders or any(one.config != game for one in games):
            return "its games are not those of its versions in all rotations of the seats"
        self._seeds |= own
        self.games += len(games)
        if of["act_id"] is not None:
            self.voided[of["act_id"]] += 1
        elif of["kind"] == DealKind.RATED.value:
            endings = [[seat.ending.value for seat in one.seats] for one in games]
            rows = [
                SimpleNamespace(**of, rotation=rotation, places=one.places, endings=endings[rotation])
                for rotation, one in enumerate(games)
            ]
            self._rater.add([(of["board"], rated_deal_of(rows))], self.versions, self.seasons[:-1])
            if all(self.deals > (season.closed_after or 0) for season in self.seasons[:-1]):
                add_scores(self._scores, self.seasons[-1].id, rows)
        return ""

    def leaderboard(self, board: str) -> list[Json]:
        """Return the lines of a board at the end of the season; who was inactive is known."""
        ratings = self._rater.beliefs[board].ratings(self._ended_at)
        scores = {version: score for (_, name, version), score in self._scores.items() if name == board}
        present, at = self._present.get(board, set()), self._ended_at
        lines = leaderboard(self.versions.values(), ratings, scores, self.config, present=present, at=at)
        return [plain_json(line_row(line)) for line in lines]


def _version(content: Json) -> Version:
    own = {name: content[name] for name in _VERSION}
    return Version(**own, profile=BotProfile(BotInfo()), owner="", last_at=float("-inf"))


def _replay_deal(line: bytes, *, configs: Mapping[int, LadderConfig]) -> tuple[Json, list[FinishedGame]]:
    """Return a deal and its games; `configs` has what was committed to, by the first deal of each season."""
    with reading_line(line, {"deal", "records"}, "a deal") as read:
        deal = read.content["deal"]
        check_entry(deal, _DEAL)
        read.where = f"deal {deal['id']}"
        begun = [config for first, config in configs.items() if first <= deal["id"]]
        config = begun[-1] if begun else None
        return deal, [replayed(record, config, unanswered) for record in read.content["records"]]
