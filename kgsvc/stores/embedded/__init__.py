"""The embedded store: one SQLite file in a directory, opened by any number of processes of one machine."""

from __future__ import annotations

from pathlib import Path

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.consistency import OneCopy
from kgsvc.stores.embedded.apply import EmbeddedGraph
from kgsvc.stores.embedded.cold_search import EmbeddedColdSearch
from kgsvc.stores.embedded.communities import EmbeddedCommunities
from kgsvc.stores.embedded.documents import EmbeddedDocuments
from kgsvc.stores.embedded.fills import EmbeddedFills
from kgsvc.stores.embedded.history import EmbeddedHistory
from kgsvc.stores.embedded.importing import EmbeddedTransfers
from kgsvc.stores.embedded.intake import EmbeddedIntake
from kgsvc.stores.embedded.modes import EmbeddedModes
from kgsvc.stores.embedded.queue import EmbeddedQueue
from kgsvc.stores.embedded.search import EmbeddedSearch
from kgsvc.stores.embedded.writer import Readers, Writer

__all__ = ["EmbeddedStore"]


class EmbeddedStore(
    EmbeddedIntake,
    EmbeddedQueue,
    EmbeddedGraph,
    EmbeddedHistory,
    EmbeddedCommunities,
    EmbeddedSearch,
    EmbeddedColdSearch,
    EmbeddedTransfers,
    EmbeddedDocuments,
    EmbeddedFills,
    EmbeddedModes,
    OneCopy,
):
    """Every protocol of stores/protocol.py on one SQLite file; several processes may open it at once.

    Not for network file systems: the log is shared through memory mapped from the file.
    """

    @classmethod
    async def open(cls, path: Path, *, readers: int = 2, patience_s: float = 5.0) -> EmbeddedStore:
        """Open the directory `path`, made if missing. `migrate` must run before anything else.

        `patience_s` bounds the wait for other processes' locks. Raises StoreUnavailable.
        """
        writer = Writer(path, patience_s)
        try:
            await writer.open()
        except StoreUnavailable:
            await writer.close()
            raise
        return cls(writer, Readers(path, writer.file, readers, patience_s))
