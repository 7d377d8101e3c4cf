"""Where games are kept: the store of a server, and the files and stores that games are read from."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from happycity_tournament.storage.async_store import AsyncStore as AsyncStore
    from happycity_tournament.storage.database import StoreError as StoreError
    from happycity_tournament.storage.packing import Record as Record
    from happycity_tournament.storage.packing import pack as pack
    from happycity_tournament.storage.packing import unpack as unpack
    from happycity_tournament.storage.store import Store as Store
    from happycity_tournament.storage.stored import Progress as Progress
    from happycity_tournament.storage.stored import StoredTournament as StoredTournament
    from happycity_tournament.storage.stored import Troubles as Troubles

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
