"""Facts with their sources (spec 000): the episodes that tell them, in the order of `episodes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.domain.citation import Citation
from kgsvc.domain.model import Fact
from kgsvc.stores.protocol import HistoryStore


@dataclass(frozen=True, slots=True)
class CitedFact:
    """A fact and where it was read. Deleted episodes are absent."""

    fact: Fact
    citations: tuple[Citation, ...]


async def cited(store: HistoryStore, group_id: str, facts: Sequence[Fact]) -> list[CitedFact]:
    """The facts of one group in their order, each with its sources. Raises StoreUnavailable."""
    uuids = {uuid for fact in facts for uuid in fact.episodes}
    known = await store.citations(group_id, uuids) if uuids else {}
    return [CitedFact(fact, tuple(known[uuid] for uuid in fact.episodes if uuid in known)) for fact in facts]
