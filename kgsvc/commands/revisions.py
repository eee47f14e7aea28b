"""What follows from a document's new text once its new chunks are in the graph: what former ones alone stated
is withdrawn, and searches find their text no longer. Nothing is removed: `known_as_of` still tells it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from kgsvc.commands.core import Core, until_applied
from kgsvc.commands.documents import statuses_of
from kgsvc.domain.errors import ServiceError
from kgsvc.domain.facts.amendments import Without, withdrawn
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.items import ItemState
from kgsvc.pipeline.summaries import summarised
from kgsvc.stores.intake_protocol import Unsettled

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_AT_ONCE = 100
_CHUNKS_A_SECOND = 500  # that are looked at again and again while they are read
_FIRST = ("", "")
_DONE = frozenset({ItemState.UPSERTED, ItemState.COMPLETED})


class Revisions:
    """The documents of the store whose former texts still speak, as one process settles them. Several may."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._after: Unsettled = _FIRST
        self._waits: dict[Unsettled, float] = {}  # until when not to look again

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.step()
            except ServiceError as error:
                log.warning("revisions of documents cannot go on: %s", type(error).__name__)
            await asyncio.sleep(_LOOK_S)

    async def step(self) -> None:
        """Look at the next documents. Raises Overloaded, StoreUnavailable."""
        now = asyncio.get_running_loop().time()
        self._waits = {key: until for key, until in self._waits.items() if until > now}
        found = await self._core.store.unsettled_documents(_AT_ONCE, self._after)
        self._after = found[-1] if len(found) == _AT_ONCE else _FIRST
        for key in found:
            if key not in self._waits:
                chunks = await settle_document(self._core, *key)
                if chunks:
                    self._waits[key] = now + chunks / _CHUNKS_A_SECOND


async def settle_document(core: Core, group_id: str, document_id: str) -> int:
    """Withdraw what only former texts state, if every chunk of the present one is in the graph and the former
    ones are done. How many chunks were looked at in vain; 0: it is settled. May be repeated and
    interrupted."""
    store = core.store
    document = await store.document(group_id, document_id)
    if document is None or document.settled:
        return 0
    places = await store.places(group_id, document_id)
    present = {place.chunk_uuid for place in places}
    former = [uuid for uuid in await store.chunks(group_id, document_id, active=True) if uuid not in present]
    statuses = await statuses_of(core, group_id, places)
    waiting = await store.item_statuses(group_id, former)
    if len(statuses) < len(present) or not all(each.state in _DONE for each in statuses):
        return len(present)
    if not all(each.terminal for each in waiting):
        return len(former)
    for uuid in former:
        await _withdraw(core, group_id, uuid, present)
        await store.retire_chunk(group_id, document_id, uuid)
    await store.settle_document(group_id, document_id, document.latest)
    return 0


@until_applied
async def _withdraw(core: Core, group_id: str, chunk_uuid: str, present: Collection[str]) -> None:
    store = core.store
    head = (await store.names(group_id, ())).head
    system_ms = core.system_ms(head)
    traces = await store.traces(group_id, chunk_uuid)
    without = Without((), (), 0)
    if traces.slots:
        view = await store.slots(group_id, traces.slots)
        without = withdrawn(view, chunk_uuid, present, system_ms)
    delta = GraphDelta(
        group_id,
        system_ms,
        facts=without.facts,
        vectors=await core.vectors(group_id, without.reworded),
        space=core.space,
        hide_episodes=(chunk_uuid,),
    )
    await core.apply(await summarised(store, delta, {}), head)
