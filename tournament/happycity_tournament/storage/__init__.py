"""Where games are kept: the store of a server, and the files and stores that games are read from."""

from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.storage.database import StoreError
from happycity_tournament.storage.packing import Record, pack
from happycity_tournament.storage.store import Store
from happycity_tournament.storage.stored import Progress, StoredTournament, Troubles

__all__ = [
    "AsyncStore",
    "Progress",
    "Record",
    "Store",
    "StoreError",
    "StoredTournament",
    "Troubles",
    "pack",
]
