"""Where games are kept: the store of a server, and the files and stores that games are read from."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from happycity_tournament.storage.async_store import AsyncStore
    from happycity_tournament.storage.database import StoreError
    from happycity_tournament.storage.packing import Record, pack, unpack
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
    "unpack",
]
_MODULES = {
    "AsyncStore": "async_store",
    "Progress": "stored",
    "Record": "packing",
    "Store": "store",
    "StoreError": "database",
    "StoredTournament": "stored",
    "Troubles": "stored",
    "pack": "packing",
    "unpack": "packing",
}


def __getattr__(name: str) -> Any:
    """Import what is used: a run shows a tournament without SQLAlchemy, a quarter of what it would import."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(name)
