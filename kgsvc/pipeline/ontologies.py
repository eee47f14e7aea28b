"""The ontology in force for a group, read once a change."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from kgsvc.domain.errors import StepError
from kgsvc.domain.model.extraction import Ontology
from kgsvc.stores.protocol import AdminStore

_GROUPS = 256  # whose ontologies are kept; the least recently used go first
Read = Callable[[str], Ontology | None]  # the text of an ontology; raises ValueError


class Ontologies:
    """The ontology in force for a group: its own, else the server's.

    A group's own is read once a change, not once an episode: every started item carries the number of its
    group's ontology, so that all processes notice a new one.
    """

    def __init__(self, store: AdminStore, read: Read, of_server: Ontology) -> None:
        self._store = store
        self._read = read
        self._of_server = of_server
        self._kept: OrderedDict[str, tuple[int, Ontology]] = OrderedDict()

    async def of(self, group_id: str, number: int) -> Ontology:
        """The ontology of this number (QueuedItem.ontology), or a later one. Raises StepError (it was put by
        a newer version and cannot be read), StoreUnavailable."""
        if number == 0:
            return self._of_server
        kept = self._kept.get(group_id)
        if kept is None or kept[0] < number:
            kept = (number, await self._load(group_id))
            self._kept[group_id] = kept
        self._kept.move_to_end(group_id)
        while len(self._kept) > _GROUPS:
            self._kept.popitem(last=False)
        return kept[1]

    async def _load(self, group_id: str) -> Ontology:
        text = await self._store.ontology(group_id)
        if text is None:
            return self._of_server
        try:
            found = await asyncio.to_thread(self._read, text)
        except ValueError:
            raise StepError("this version cannot read the group's ontology") from None
        return found or self._of_server
