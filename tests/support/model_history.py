"""The model's HistoryStore."""

from collections import Counter
from collections.abc import Collection

from kgsvc.domain.model.delta import MergeRecord
from kgsvc.domain.model.graph import Citation, Episode, Fact, Mention
from kgsvc.domain.names.forgetting import Saying
from kgsvc.stores.protocol import EntityEpisodes, EpisodeTraces, MergesWhere
from tests.support.model_intake import ModelQueue
from tests.support.model_rows import Group


class ModelHistory(ModelQueue):
    """One thing with what hangs on it."""

    async def facts(self, group_id: str, uuids: Collection[str]) -> list[Fact]:
        facts = self.peek(group_id).facts
        return [facts[uuid] for uuid in sorted(set(uuids)) if uuid in facts]

    async def citations(self, group_id: str, episode_uuids: Collection[str]) -> dict[str, Citation]:
        items = self.peek(group_id).items
        return {uuid: _citation(items[uuid].episode) for uuid in episode_uuids if uuid in items}

    async def episode_edges(
        self, group_id: str, episode_uuids: Collection[str]
    ) -> dict[str, tuple[str, ...]]:
        group = self.peek(group_id)
        told = {uuid: set(group.episode_edges.get(uuid, ())) & set(group.facts) for uuid in episode_uuids}
        return {uuid: tuple(sorted(facts)) for uuid, facts in told.items() if facts}

    async def entity_facts(
        self,
        group_id: str,
        entity_uuid: str,
        limit: int,
        current_ms: int | None = None,
        other_uuid: str | None = None,
    ) -> list[Fact]:
        group = self.peek(group_id)
        found = [f for f in group.facts.values() if entity_uuid in (f.source_uuid, f.target_uuid)]
        if other_uuid is not None:
            found = [f for f in found if {entity_uuid, other_uuid} == {f.source_uuid, f.target_uuid}]
        if current_ms is not None:
            found = [f for f in found if _current(f, current_ms)]
        return sorted(found, key=lambda f: (f.start_ms, f.uuid), reverse=True)[:limit]

    async def entity_episodes(
        self, group_id: str, entity_uuid: str, limit: int, max_bytes: int
    ) -> EntityEpisodes:
        naming = _naming(self.peek(group_id), entity_uuid)
        taken: list[Episode] = []
        for episode in reversed(naming[-limit:]):
            if sum(len(e.body.encode()) for e in taken) > max_bytes:
                break
            taken.insert(0, episode)
        return EntityEpisodes(naming[0].uuid if naming else None, tuple(taken))

    async def entity_names(self, group_id: str, entity_uuid: str, limit: int) -> list[str]:
        names = self.peek(group_id).names
        return sorted(key for key, owner in names.items() if owner == entity_uuid)[:limit]

    async def entity_mentions(
        self, group_id: str, entity_uuid: str, limit: int, among: Collection[str] | None = None
    ) -> list[str]:
        pairs = self.peek(group_id).mentions
        naming = {episode for episode, entity in pairs if entity == entity_uuid}
        return sorted(naming if among is None else naming.intersection(among))[:limit]

    async def mentions(
        self, group_id: str, entity_uuid: str, episode_uuids: Collection[str]
    ) -> dict[str, Mention]:
        known = self.peek(group_id).mentions
        return {uuid: known[uuid, entity_uuid] for uuid in episode_uuids if (uuid, entity_uuid) in known}

    async def types_said(self, group_id: str, entity_uuid: str) -> dict[str, int]:
        mentions = self.peek(group_id).mentions.items()
        return dict(Counter(t for pair, made in mentions if pair[1] == entity_uuid for t in made.types))

    async def sayings(self, group_id: str, episode_uuid: str) -> dict[str, Saying]:
        mentions = self.peek(group_id).mentions
        return {
            entity: _saying(self.peek(group_id), episode_uuid, entity)
            for episode, entity in mentions
            if episode == episode_uuid
        }

    async def merges(self, group_id: str, where: MergesWhere) -> list[MergeRecord]:
        at, behind = where.behind
        found = [
            m
            for m in self.peek(group_id).merges.values()
            if where.merge_id in (None, m.merge_id)
            and where.entity_uuid in (None, m.kept_uuid, m.merged_uuid)
            and where.by_episode in (None, m.by_episode or None)
            and (where.text or "") in m.data
            and (-m.created_ms, m.merge_id) > (-at, behind)
        ]
        found.sort(key=lambda m: (-m.created_ms, m.merge_id))
        taken, size = 0, 0
        while taken < min(len(found), where.limit) and size <= where.max_bytes:
            size += len(found[taken].data.encode())
            taken += 1
        return found[:taken]

    async def merged(self, uuid: str, group_id: str | None) -> list[MergeRecord]:
        found = []
        for _, group in sorted(self._groups.items()):
            if group_id in (None, group.group_id):
                records = [record for record in group.merges.values() if record.merged_uuid == uuid]
                found += sorted(records, key=lambda record: record.created_ms)[-1:]
        return found[:100]

    async def facts_holding(self, group_id: str, text: str) -> list[Fact]:
        found = [fact for fact in self.peek(group_id).facts.values() if text in fact.fact]
        return sorted(found, key=lambda fact: fact.uuid)

    async def traces(self, group_id: str, episode_uuid: str) -> EpisodeTraces:
        group = self.peek(group_id)
        told = set(group.episode_edges.get(episode_uuid, ()))
        slots = {f.slot for f in group.facts.values() if f.uuid in told or _closed(f, episode_uuid)}
        slots |= {stone.slot for stone in group.tombstones.values() if stone.uuid in told}
        named = sorted(entity for episode, entity in group.mentions if episode == episode_uuid)
        return EpisodeTraces(tuple(sorted(slots)), tuple(group.entities[uuid] for uuid in named))

    async def unheld(
        self, group_id: str, entity_uuids: Collection[str], episode_uuid: str, fact_uuids: Collection[str]
    ) -> set[str]:
        group = self.peek(group_id)
        others = [f for f in group.facts.values() if f.uuid not in fact_uuids]
        held = {end for f in others for end in (f.source_uuid, f.target_uuid)}
        held |= {entity for episode, entity in group.mentions if episode != episode_uuid}
        return {uuid for uuid in entity_uuids if uuid in group.entities} - held


def _saying(group: Group, episode: str, entity: str) -> Saying:
    own = group.mentions[episode, entity]
    others = [m for pair, m in group.mentions.items() if pair[1] == entity and pair[0] != episode]
    naming = [e for e in _naming(group, entity) if e.uuid != episode]
    return Saying(
        own.names,
        own.types,
        tuple(sorted({name for m in others for name in m.names})),
        tuple(sorted({each for m in others for each in m.types})),
        all(m.names for m in others),
        (naming[0].reference_ms, naming[0].uuid) if naming else None,
    )


def _closed(fact: Fact, episode_uuid: str) -> bool:
    return any(closure.by_episode == episode_uuid for closure in fact.closures)


def _citation(episode: Episode) -> Citation:
    return Citation(
        episode.uuid, episode.name, episode.source, episode.source_description, episode.created_ms
    )


def _current(fact: Fact, now_ms: int) -> bool:
    ended = fact.invalid_ms is not None and fact.invalid_ms <= now_ms
    return fact.expired_ms is None and fact.start_ms <= now_ms and not ended


def _naming(group: Group, entity_uuid: str) -> list[Episode]:
    return [e for e in group.episodes if (e.uuid, entity_uuid) in group.mentions]
