"""The index of one group's communities (scope COMMUNITIES)."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

from kgsvc.retrieval.dated_index import DatedIndex
from kgsvc.stores.search_protocol import IndexedCommunity


class CommunityIndex(DatedIndex):
    """Communities by row: found by name and summary; the vector is that of the name.

    How one is shown is read from the store, since members come and go.
    """

    def replace(self, communities: Iterable[IndexedCommunity]) -> None:
        """These are all that there are."""
        present = {community.uuid: community for community in communities}
        for uuid in [uuid for uuid in self._row_of if uuid not in present]:
            self._remove(uuid)
        for uuid, each in present.items():
            packed = pickle.dumps((each.name, each.summary), protocol=5)
            row = self._set(uuid, self._text(packed), packed, each.space, each.vector)
            self._date(row, each.created_ms)

    def _text(self, packed: bytes) -> str:
        name, summary = pickle.loads(packed)
        return f"{name}\n{summary}"
