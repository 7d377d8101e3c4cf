"""Tournaments as a store tells them, without any server; one may well be using the store meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from happycity import ConfigError
from happycity.v1 import tournament_service_pb2 as pb
from happycity_tournament.config import TournamentConfig
from happycity_tournament.messages import rated, sprt_message, standing_messages, tournament_message
from happycity_tournament.sources import SourceError, path_of
from happycity_tournament.status import UNFINISHED, TournamentState, TournamentStatus, load_status
from happycity_tournament.store import Store, StoredTournament, StoreError

_PAGE = 200


def url_of(text: str) -> str:
    """Return the URL of a store that a person named by its URL or its SQLite file.

    Raises:
        SourceError: there is no such file; opening it would create it.
    """
    path = path_of(text)
    if path is not None and not path.is_file():
        raise SourceError(text, "there is no such file")
    return text if "://" in text else f"sqlite:///{text}"


def in_use(url: str) -> bool:
    """Tell whether a server has claimed a store.

    Raises:
        StoreError: the store can't be opened.
    """
    with Store(url) as store:
        try:
            store.claim()
        except StoreError:
            return True
        return False


def list_stored(url: str) -> list[pb.Tournament]:
    """Return all tournaments of a store, newest first, without what only their games tell.

    Those that this version can't read have a remark that says why, and no configuration.

    Raises:
        StoreError: the store can't be read.
    """
    busy = in_use(url)
    with Store(url) as store:
        return [_listed(store, stored, busy=busy) for stored in _all(store)]


def show_stored(url: str, tournament_id: int) -> pb.WatchTournamentResponse:
    """Return a tournament with its standings and final ratings.

    Raises:
        StoreError: there is none of this id, or the store can't be read.
        ConfigError: this version can't read it.
    """
    busy = in_use(url)
    with Store(url) as store:
        status, stored = load_status(store, tournament_id), store.tournament(tournament_id)
        if status is None or stored is None:
            raise StoreError(store.url, f"knows no tournament {tournament_id}")
        status.state = _state(stored, busy=busy)
        return pb.WatchTournamentResponse(
            tournament=tournament_message(status),
            standings=standing_messages(status),
            sprt=sprt_message(status.test),
            final_ratings=rated(status.config, store.results(tournament_id)),
        )


def _all(store: Store) -> Iterator[StoredTournament]:
    before: int | None = None
    while page := store.tournaments(_PAGE, before):
        yield from page
        before = page[-1].id


def _listed(store: Store, stored: StoredTournament, *, busy: bool) -> pb.Tournament:
    try:
        config = TournamentConfig.of(stored.config)
        status = TournamentStatus.new(stored.id, config, created_at=stored.created_at)
    except ConfigError as error:
        return pb.Tournament(tournament_id=stored.id, remarks=[str(error)])
    status.state = _state(stored, busy=busy)
    status.progress = store.progress(stored.id)
    status.games_voided, status.remarks = stored.games_voided, list(stored.remarks)
    return tournament_message(status)


def _state(stored: StoredTournament, *, busy: bool) -> TournamentState:
    """Return where a tournament stands: without a server nobody plays it, whatever was stored last."""
    state = TournamentState(stored.state)
    return state if busy or state not in UNFINISHED else TournamentState.INTERRUPTED
