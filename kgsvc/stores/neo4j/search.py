"""What search indexes in memory are fed from (SearchStore), and the revisions that track it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import LiteralString

from kgsvc.domain.model.delta import GroupHead
from kgsvc.stores.consistency import from_the_leader
from kgsvc.stores.neo4j.base import Base, Row
from kgsvc.stores.neo4j.fact_terms import words_of
from kgsvc.stores.neo4j.rows import entity_of, episode_of, fact_of, first_value
from kgsvc.stores.search_protocol import (
    PROOFS,
    TEXT_BYTES,
    Changes,
    IndexedCommunity,
    IndexedEntity,
    IndexedEpisode,
    IndexedFact,
    TextChanges,
    no_texts,
)

# Part of apply: notes the delta's revision on entities and episodes whose entries in an index change. Comes
# before removals, which take mentions along. An entity that loses a name is among those written or removed.
TOUCH_TEXTS: LiteralString = """
    CALL () {
        UNWIND $p.touched_entities AS uuid
        <SEEK n:Entity uuid>
        SET n.rev = $p.rev
    }
    CALL () {
        UNWIND $p.touched_episodes AS uuid
        <SEEK e:Episodic uuid>
        SET e.rev = $p.rev
    }
    FOREACH (_ IN CASE WHEN $p.forgets THEN [1] ELSE [] END | SET g.communities_rev = $p.rev)
    WITH g
    """

# Under the group's lock and in slices, as _CHANGES.
_TEXT_CHANGES: LiteralString = """
    <LOCKED_GROUP>
    WITH g, g.epoch AS epoch, [g.rev, g.epoch, g.last_ms, coalesce(g.space, '')] AS head
    CALL (epoch) {
        MATCH (n:Entity) USING INDEX SEEK n:Entity(group_id, epoch, rev)
        WHERE n.group_id = $p.group_id AND n.epoch = epoch AND n.rev >= $p.rev
            AND [n.rev, n.uuid] > [$p.rev, $p.uuid]
        WITH n ORDER BY n.group_id, n.epoch, n.rev, n.uuid SKIP $p.limit - 1 LIMIT 1
        RETURN head(collect([n.rev, n.uuid])) AS full_entities
    }
    CALL (epoch) {
        MATCH (e:Episodic) USING INDEX SEEK e:Episodic(group_id, epoch, rev)
        WHERE e.group_id = $p.group_id AND e.epoch = epoch AND e.rev >= $p.rev
            AND [e.rev, e.uuid] > [$p.rev, $p.uuid]
        WITH e ORDER BY e.group_id, e.epoch, e.rev, e.uuid LIMIT $p.limit
        WITH collect({place: [e.rev, e.uuid], bytes: coalesce(e.bytes, 0)}) AS read
        RETURN CASE WHEN size(read) = $p.limit THEN last(read).place END AS full_episodes,
            reduce(all = {bytes: 0}, one IN read | {bytes: all.bytes + one.bytes,
                full: CASE WHEN all.full IS NULL AND all.bytes + one.bytes > $p.max_bytes
                    THEN one.place ELSE all.full END
            }).full AS full_bytes
    }
    WITH g, epoch, head, reduce(least = [g.rev + 1, ''],
        place IN [full_entities, full_episodes, full_bytes] |
        CASE WHEN place < least THEN place ELSE least END) AS upto
    WITH g, epoch, head, head(upto) AS upto_rev, last(upto) AS upto_uuid
    CALL (g, epoch, upto_rev, upto_uuid) {
        MATCH (n:Entity) USING INDEX SEEK n:Entity(group_id, epoch, rev)
        WHERE n.group_id = $p.group_id AND n.epoch = epoch AND n.rev >= $p.rev AND n.rev <= upto_rev
            AND [n.rev, n.uuid] > [$p.rev, $p.uuid] AND [n.rev, n.uuid] <= [upto_rev, upto_uuid]
        WITH n ORDER BY n.group_id, n.epoch, n.rev, n.uuid
        CALL (n) {
            OPTIONAL MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, entity_uuid)
            WHERE k.group_id = n.group_id AND k.epoch = n.epoch AND k.entity_uuid = n.uuid
            RETURN collect(k.name_key) AS keys
        }
        RETURN collect([keys, <VECTOR n>, <ENTITY>]) AS entities
    }
    CALL (g, epoch, upto_rev, upto_uuid) {
        MATCH (e:Episodic) USING INDEX SEEK e:Episodic(group_id, epoch, rev)
        WHERE e.group_id = $p.group_id AND e.epoch = epoch AND e.rev >= $p.rev AND e.rev <= upto_rev
            AND [e.rev, e.uuid] > [$p.rev, $p.uuid] AND [e.rev, e.uuid] <= [upto_rev, upto_uuid]
        WITH e ORDER BY e.group_id, e.epoch, e.rev, e.uuid
        RETURN collect([[(e)-[:MENTIONS]->(n:Entity) | n.uuid], <VECTOR e>, <EPISODE>]) AS episodes
    }
    CALL (epoch, upto_rev, upto_uuid) {
        MATCH (k:KgGone) USING INDEX SEEK k:KgGone(group_id, epoch, rev)
        WHERE k.group_id = $p.group_id AND k.epoch = epoch AND k.rev >= $p.rev AND k.rev <= upto_rev
            AND [k.rev, k.uuid] > [$p.rev, $p.uuid] AND [k.rev, k.uuid] <= [upto_rev, upto_uuid]
        OPTIONAL <SEEK n:Entity k.uuid IN epoch>
            WHERE k.kind = 'entity'
        OPTIONAL <SEEK e:Episodic k.uuid IN epoch>
            WHERE k.kind = 'episode' AND e.rev IS NOT NULL
        WITH k, n, e WHERE n IS NULL AND e IS NULL
        RETURN collect([k.kind, k.uuid]) AS removed
    }
    WITH g, epoch, head, upto_rev, upto_uuid, removed, entities, episodes,
        coalesce([$p.rev, $p.uuid] <= [g.communities_rev, '']
            AND [g.communities_rev, ''] <= [upto_rev, upto_uuid], false) AS renewed
    CALL (g, epoch, renewed) {
        MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
        WHERE renewed AND c.group_id = $p.group_id AND c.epoch = epoch AND c.build = g.communities
            AND c.uuid IS NOT NULL
        WITH c ORDER BY c.uuid
        RETURN collect([c.uuid, c.name, c.summary, c.created_ms, <VECTOR c>])
            AS communities
    }
    WITH head, [upto_rev, upto_uuid] AS upto, removed, entities, episodes, renewed, communities,
        CASE WHEN size(entities) > size(episodes) THEN size(entities) ELSE size(episodes) END AS longest
    UNWIND CASE WHEN longest = 0 THEN [0] ELSE range(0, longest - 1, 250) END AS first
    RETURN head, upto, removed, renewed, CASE WHEN first = 0 THEN communities ELSE [] END,
        entities[first..first + 250], episodes[first..first + 250]
    """

_HEADS: LiteralString = """
    UNWIND $p.group_ids AS group_id
    MATCH (g:KgGroup {group_id: group_id})
    RETURN g.group_id, g.rev, g.epoch, g.last_ms, coalesce(g.space, '')
    """

# Under the group's lock: all of revision `rev` is visible, and nothing of the next commit. Facts come in
# slices, so that decoding one row does not hold up the event loop for long.
_CHANGES: LiteralString = """
    <LOCKED_GROUP>
    WITH g, g.epoch AS epoch, [g.rev, g.epoch, g.last_ms, coalesce(g.space, '')] AS head
    CALL (epoch) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev > $p.after_rev
        WITH r.rev AS rev ORDER BY r.group_id, r.epoch, r.rev SKIP $p.limit - 1 LIMIT 1
        RETURN max(rev) AS full_rev
    }
    WITH g, epoch, head, coalesce(full_rev, g.rev) AS upto_rev
    CALL (g, epoch, upto_rev) {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = epoch AND r.rev > $p.after_rev AND r.rev <= upto_rev
        WITH r ORDER BY r.group_id, r.epoch, r.rev
        RETURN collect([<VECTOR r>, r.words, <FACT>]) AS facts
    }
    CALL (epoch, upto_rev) {
        MATCH (t:KgTombstone)
        WHERE t.group_id = $p.group_id AND t.epoch = epoch AND t.rev > $p.after_rev AND t.rev <= upto_rev
        RETURN collect(t.uuid) AS removed
    }
    UNWIND CASE WHEN size(facts) = 0 THEN [0] ELSE range(0, size(facts) - 1, 250) END AS first
    RETURN head, upto_rev, removed, facts[first..first + 250]
    """


_NOTE_PROOF: LiteralString = """
    <LOCKED_GROUP>
    WITH g WHERE g.epoch = $p.epoch AND g.rev = $p.rev
    SET g.index_proofs = ([$p.proof] + coalesce(g.index_proofs, []))[..$p.most]
    RETURN true
    """
_PROVEN: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    RETURN $p.proof IN coalesce(g.index_proofs, [])
    """


class Search(Base):
    """SearchStore and ProofStore."""

    async def note_proof(self, head: GroupHead, proof: str) -> bool:
        asked = {"group_id": head.group_id, "epoch": head.epoch, "rev": head.rev}
        return bool(await self._run(_NOTE_PROOF, **asked, proof=proof, most=PROOFS))

    async def proven(self, group_id: str, proof: str) -> bool:
        with from_the_leader():  # a server that lags may not know yet what was erased
            rows = await self._run(_PROVEN, group_id=group_id, proof=proof)
        return bool(first_value(rows))

    async def text_changes(
        self,
        group_id: str,
        after_rev: int,
        limit: int,
        max_bytes: int = TEXT_BYTES,
        after_uuid: str = "",
    ) -> TextChanges:
        rows = await self._run(
            _TEXT_CHANGES,
            group_id=group_id,
            rev=after_rev + 1,
            uuid=after_uuid,
            limit=max(limit, 1),
            max_bytes=max_bytes,
        )
        if not rows:
            return no_texts(group_id)
        (record, (upto_rev, upto_uuid), removed, renewed, communities, *_), *_ = rows
        entities: list[IndexedEntity] = []
        episodes: list[IndexedEpisode] = []
        for *_repeated, some_entities, some_episodes in rows:
            entities += map(_entity, some_entities)
            episodes += map(_episode, some_episodes)
            await asyncio.sleep(0)
        head = GroupHead(group_id, *record)
        return TextChanges(
            head,
            tuple(entities),
            tuple(episodes),
            _of_kind("entity", removed),
            _of_kind("episode", removed),
            upto_rev=upto_rev - 1,
            more=upto_rev <= head.rev,
            communities=tuple(map(_community, communities)) if renewed else None,
            upto_uuid=upto_uuid,
        )

    async def heads(self, group_ids: Collection[str]) -> dict[str, GroupHead]:
        """Read without lock: for a plan's guard use `names`."""
        rows = await self._run(_HEADS, group_ids=sorted(set(group_ids)))
        return {head.group_id: head for head in (GroupHead(*row) for row in rows)}

    async def changes(self, group_id: str, after_rev: int, limit: int) -> Changes:
        rows = await self._run(_CHANGES, group_id=group_id, after_rev=after_rev, limit=max(limit, 1))
        if not rows:
            return Changes(GroupHead(group_id), (), (), 0)
        (record, upto_rev, removed, _facts), *_ = rows
        facts: list[IndexedFact] = []
        for *_repeated, found in rows:
            facts += map(_fact, found)
            await asyncio.sleep(0)
        present = {indexed.fact.uuid for indexed in facts}
        head = GroupHead(group_id, *record)
        return Changes(
            head=head,
            facts=tuple(facts),
            removed=tuple(uuid for uuid in removed if uuid not in present),
            upto_rev=upto_rev,
            more=upto_rev < head.rev,
        )


def _fact(row: Row) -> IndexedFact:
    space, vector, words, *columns = row
    fact = fact_of(columns)
    return IndexedFact(fact, space or "", vector, words_of(fact, words))


def _of_kind(kind: str, removed: list[Row]) -> tuple[str, ...]:
    return tuple(sorted(uuid for each, uuid in removed if each == kind))


def _entity(row: Row) -> IndexedEntity:
    names, space, vector, *entity = row
    return IndexedEntity(entity_of(entity), tuple(sorted(names)), space or "", vector)


def _community(row: Row) -> IndexedCommunity:
    uuid, name, summary, created_ms, space, vector = row
    return IndexedCommunity(uuid, name, summary, created_ms, space or "", vector)


def _episode(row: Row) -> IndexedEpisode:
    entities, space, vectors, *episode = row
    return IndexedEpisode(episode_of(episode), tuple(sorted(entities)), space or "", vectors)
