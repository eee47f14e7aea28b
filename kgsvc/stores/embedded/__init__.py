"""The embedded store: one SQLite file in a directory, opened by any number of processes of one machine."""

from __future__ import annotations

from pathlib import Path

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.embedded.admin import Admin
from kgsvc.stores.embedded.base import Readers
from kgsvc.stores.embedded.candidates import CandidateReads
from kgsvc.stores.embedded.cold_search import ColdSearch
from kgsvc.stores.embedded.communities import Communities
from kgsvc.stores.embedded.graph import Graph
from kgsvc.stores.embedded.history import History
from kgsvc.stores.embedded.intake import Intake
from kgsvc.stores.embedded.queue import Queue
from kgsvc.stores.embedded.receipts import Receipts
from kgsvc.stores.embedded.search import Search
from kgsvc.stores.embedded.writer import Writer

__all__ = ["EmbeddedStore"]


class EmbeddedStore(
    Intake, Receipts, Queue, Graph, CandidateReads, History, Communities, Search, ColdSearch, Admin
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
        return cls(writer, Readers(path, readers, patience_s))
