"""Two entities become one: what is read for it, and the change. For merges of callers and of the pipeline."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgsvc.domain.errors import LimitExceeded, StoreRefused, Violation
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import GraphDelta, Guard, MergeRecord, NameView
from kgsvc.domain.model.graph import Entity, Fact, Mention
from kgsvc.domain.model.items import Lease
from kgsvc.domain.model.keys import digest, mint
from kgsvc.domain.names.meanings import Bridge
from kgsvc.domain.names.merging import (
    Hanging,
    Said,
    both,
    merged_entity,
    merged_facts,
    moved,
    record_of,
    saying,
    slots_of,
)
from kgsvc.domain.names.similarity import figures_differ
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.pipeline.summaries import SummaryStore, summarised
from kgsvc.runtime import STATEMENTS, offload
from kgsvc.stores.protocol import HistoryStore

log = logging.getLogger(__name__)
_NAMES = 256  # of an entity, that are compared by their numerals


@dataclass(frozen=True, slots=True)
class Joined:
    """The change, and how many facts it moves."""

    delta: GraphDelta
    facts_moved: int


class Joining:
    """Plans merges; writing them is for whoever holds the guard."""

    def __init__(self, store: SummaryStore, embedder: CachingEmbedder | None, limits: Limits) -> None:
        self._store = store
        self._embedder = embedder
        self._bound = limits.merge_bound
        self._attributes_bytes = limits.attributes_bytes

    async def joined(
        self, kept: Entity, gone: Entity, merge_id: str, system_ms: int, by_episode: str = ""
    ) -> Joined:
        """Facts, mentions, names and summary of `gone` go over to `kept`. `by_episode` shows them to be one
        where no caller asked for it. Raises LimitExceeded (too many facts and mentions to move), StepError
        (new words cannot be embedded), StoreUnavailable."""
        group_id, store = kept.group_id, self._store
        hanging = await self._hanging(gone)
        arriving = [moved(fact, gone.uuid, kept) for fact in hanging.facts]
        around = await store.slots(group_id, slots_of(arriving) | slots_of(hanging.facts))
        said = await store.mentions(group_id, gone.uuid, hanging.episodes)
        before_said = await store.mentions(group_id, kept.uuid, hanging.episodes)
        before = {fact.uuid: fact for fact in (*around.facts, *hanging.facts)}

        def understand() -> tuple[dict[str, Fact], tuple[Mention, ...], str]:
            after = merged_facts(kept, hanging, gone.uuid, around, system_ms)
            mentions = mentions_of(group_id, saying(said), kept.uuid, system_ms)
            record = record_of(kept, gone, hanging, before, after, said, before_said)
            return after, mentions, json.dumps(record, ensure_ascii=False)

        size = len(hanging.episodes) + sum(len(fact.evidence) for fact in before.values())
        after, mentions, data = await offload(size / STATEMENTS, understand)
        made = {uuid: fact.fact for uuid, fact in after.items() if uuid not in before}
        delta = GraphDelta(
            group_id=group_id,
            system_ms=system_ms,
            entities=(replace(merged_entity(kept, gone, self._attributes_bytes), updated_ms=system_ms),),
            names=dict.fromkeys(hanging.names, kept.uuid),
            facts=tuple(after.values()),
            mentions=tuple(both(each, before_said.get(each.episode_uuid)) for each in mentions),
            merges=(MergeRecord(merge_id, group_id, gone.uuid, kept.uuid, system_ms, data, by_episode),),
            remove_entities=(gone.uuid,),
            vectors=await self.vectors(group_id, made),
            space=self._embedder.space if self._embedder else "",
        )
        return Joined(await summarised(store, delta, {}), len(hanging.facts))

    async def merge(self, lease: Lease, view: NameView, bridge: Bridge, now_ms: int) -> bool:
        """Merge two entities of `view`, which is stale then; False: they stay two. Raises LeaseLost,
        RevisionChanged, StepError, StoreUnavailable."""
        kept, gone, group_id = bridge.kept, bridge.gone, lease.group_id
        if not bridge.renamed:
            names = [await self._store.entity_names(group_id, each.uuid, _NAMES) for each in (kept, gone)]
            if figures_differ([kept.name, *names[0]], [gone.name, *names[1]]):
                return False
        system_ms = max(now_ms, view.head.last_ms + 1)
        merge_id = mint("merge", group_id, digest(kept.uuid, gone.uuid, system_ms))
        try:
            joined = await self.joined(kept, gone, merge_id, system_ms, bridge.by_episode)
            await self._store.apply(joined.delta, Guard(view.head.rev, view.head.epoch, lease.token))
        except (LimitExceeded, StoreRefused) as error:  # either is no fault of the items
            log.warning("two entities were not merged", extra={"group_id": group_id, "reason": str(error)})
            return False
        log.info("entities merged", extra={"group_id": group_id, "item": bridge.by_episode})
        return True

    async def vectors(self, group_id: str, texts: Mapping[str, str]) -> dict[str, bytes]:
        """Of texts by uuid; none without an embedder. Raises StepError."""
        if self._embedder is None or not texts:
            return {}
        vectors = await self._embedder.vectors(set(texts.values()), group_id)
        return {uuid: vectors[text] for uuid, text in texts.items()}

    async def _hanging(self, gone: Entity) -> Hanging:
        found = await hanging_of(self._store, gone, self._bound)
        if found is None:
            says = f"it has more than {self._bound} facts and mentions; "
            says += "try with keep_uuid and merge_uuid exchanged"
            raise LimitExceeded(says, [Violation("merge_uuid", says)])
        return found


async def hanging_of(store: HistoryStore, entity: Entity, bound: int) -> Hanging | None:
    """What belongs to an entity; None if that is more than `bound` facts and mentions. Raises
    StoreUnavailable."""
    place = (entity.group_id, entity.uuid, bound + 1)
    facts = await store.entity_facts(*place)
    episodes = await store.entity_mentions(*place)
    names = await store.entity_names(*place)
    if len(facts) + len(episodes) > bound or len(names) > bound:
        return None
    return Hanging(tuple(facts), tuple(names), tuple(episodes))


def mentions_of(
    group_id: str, said: Mapping[str, Said], entity_uuid: str, system_ms: int
) -> tuple[Mention, ...]:
    """MENTIONS of an entity by episodes, with the names and types that these use."""

    def mention(episode: str) -> Mention:
        made = mint("mention", group_id, f"{episode}/{entity_uuid}")
        return Mention(made, group_id, episode, entity_uuid, system_ms, *said[episode])

    return tuple(map(mention, sorted(said)))
