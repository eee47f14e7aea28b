"""Reading a group page by page to move it to another store (TransferStore)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import LiteralString

from kgsvc.domain.model.delta import FactTombstone, MergeRecord
from kgsvc.domain.model.graph import Mention, Usage
from kgsvc.domain.model.items import ItemState, ItemWarning, Step
from kgsvc.domain.model.moving import (
    Listed,
    Moved,
    MovedDocument,
    MovedEntity,
    MovedEpisode,
    MovedFact,
    MovedItem,
    MovedMerge,
    MovedReceipt,
    MovedTombstone,
    RowKind,
    Vectors,
)
from kgsvc.stores.neo4j.base import Base, Row
from kgsvc.stores.neo4j.rows import entity_of, episode_of, fact_of
from kgsvc.stores.records import attempts_of, document_of, places_of

# The index is by uuid first: a page reads on where the last one ended, however many groups there are.
_EPISODES: LiteralString = """
    <GROUP_AND_EPOCH>
    MATCH (e:Episodic) USING INDEX SEEK e:Episodic(uuid, group_id, epoch)
    WHERE e.uuid > $p.after AND e.group_id = $p.group_id AND e.epoch = epoch
    WITH g, e, epoch ORDER BY e.uuid LIMIT $p.limit
    <SEEK i:KgItem e.uuid IN epoch>
    RETURN [i.state, i.receipt_id, i.accepted_ms, i.updated_ms, coalesce(i.seq, 0),
            [i.extract_attempts, i.embed_attempts, i.upsert_attempts, i.crash_attempts], i.step, i.reason,
            [coalesce(i.model_calls, 0), coalesce(i.prompt_tokens, 0), coalesce(i.completion_tokens, 0)],
            i.previous, coalesce(i.warnings, '[]')],
        e.rev IS NOT NULL, coalesce(e.entity_edges, []), <VECTOR e>,
        [(e)-[m:MENTIONS]->(n:Entity) |
            [coalesce(m.uuid, ''), n.uuid, m.created_ms, coalesce(m.names, []), coalesce(m.types, [])]],
        <EPISODE>
    ORDER BY e.uuid
    """
_ENTITIES: LiteralString = """
    <GROUP_AND_EPOCH>
    MATCH (n:Entity) USING INDEX SEEK n:Entity(uuid, group_id, epoch)
    WHERE n.uuid > $p.after AND n.group_id = $p.group_id AND n.epoch = epoch
    WITH g, n, epoch ORDER BY n.uuid LIMIT $p.limit
    CALL (n) {
        OPTIONAL MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, entity_uuid)
        WHERE k.group_id = n.group_id AND k.epoch = n.epoch AND k.entity_uuid = n.uuid
        RETURN collect(k.name_key) AS keys
    }
    RETURN keys, <VECTOR n>, <ENTITY>
    ORDER BY n.uuid
    """
_FACTS: LiteralString = """
    <GROUP_AND_EPOCH>
    MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(uuid, group_id, epoch)
    WHERE r.uuid > $p.after AND r.group_id = $p.group_id AND r.epoch = epoch
    WITH g, r ORDER BY r.uuid LIMIT $p.limit
    RETURN <VECTOR r>, <FACT>
    ORDER BY r.uuid
    """
_DOCUMENTS: LiteralString = """
    <GROUP>
    MATCH (d:KgDocument) USING INDEX SEEK d:KgDocument(group_id, epoch, document_id)
    WHERE d.group_id = $p.group_id AND d.epoch = epoch AND d.document_id > $p.after
    WITH d ORDER BY d.group_id, d.epoch, d.document_id LIMIT $p.limit
    CALL (d) {
        OPTIONAL MATCH (c:KgChunk) USING INDEX SEEK c:KgChunk(group_id, epoch, document_id)
        WHERE c.group_id = d.group_id AND c.epoch = d.epoch AND c.document_id = d.document_id
        WITH c WHERE c IS NOT NULL ORDER BY c.uuid
        RETURN collect([c.uuid, c.active]) AS chunks
    }
    CALL (d) {
        OPTIONAL MATCH (f:KgFormerText)
            USING INDEX SEEK f:KgFormerText(group_id, epoch, document_id, revision)
        WHERE f.group_id = d.group_id AND f.epoch = d.epoch AND f.document_id = d.document_id
            AND f.revision IS NOT NULL
        WITH f WHERE f IS NOT NULL ORDER BY f.revision
        RETURN collect([f.revision, f.places]) AS former
    }
    RETURN d.data, d.open, coalesce(d.places, ''), chunks, former
    ORDER BY d.document_id
    """
_RECEIPTS: LiteralString = """
    <GROUP>
    MATCH (c:KgReceipt) USING INDEX SEEK c:KgReceipt(receipt_id, part)
    WHERE c.receipt_id > $p.after AND c.part IS NOT NULL AND c.group_id = $p.group_id AND c.epoch = epoch
    WITH DISTINCT c.receipt_id AS receipt_id, epoch ORDER BY receipt_id LIMIT $p.limit
    MATCH (c:KgReceipt) USING INDEX SEEK c:KgReceipt(receipt_id, part)
    WHERE c.receipt_id = receipt_id AND c.part IS NOT NULL
    CALL (c, epoch) {
        UNWIND range(0, size(c.uuids) - 1) AS place
        WITH place, epoch, c.uuids[place] AS uuid, c.seqs[place] AS seq, c.duplicates[place] AS duplicate
        OPTIONAL <SEEK i:KgItem uuid IN epoch>
        WITH place, uuid, duplicate, coalesce(i.seq = seq, false) AS there ORDER BY place
        RETURN collect([uuid, duplicate, there]) AS items
    }
    WITH receipt_id, c, items ORDER BY receipt_id, c.part
    RETURN receipt_id, head(collect(c.created_ms)), collect(items)
    ORDER BY receipt_id
    """
_TOMBSTONES: LiteralString = """
    <GROUP>
    MATCH (t:KgTombstone) USING INDEX SEEK t:KgTombstone(group_id, epoch, uuid)
    WHERE t.group_id = $p.group_id AND t.epoch = epoch AND t.uuid > $p.after
    RETURN t.uuid, t.slot, t.fact, t.deleted_ms, t.rev
    ORDER BY t.group_id, t.epoch, t.uuid LIMIT $p.limit
    """
_MERGES: LiteralString = """
    <GROUP>
    MATCH (m:KgMerge) USING INDEX SEEK m:KgMerge(group_id, epoch, merge_id)
    WHERE m.group_id = $p.group_id AND m.epoch = epoch AND m.merge_id > $p.after
    RETURN m.merge_id, m.group_id, m.merged_uuid, m.kept_uuid, m.created_ms, m.data,
        coalesce(m.by_episode, '')
    ORDER BY m.group_id, m.epoch, m.merge_id LIMIT $p.limit
    """


class Moving(Base):
    """What of TransferStore reads."""

    async def moving(self, group_id: str, part: RowKind, after: str, limit: int) -> list[Moved]:
        statement, row_of = _READERS[part]
        rows = await self._run(statement, group_id=group_id, after=after, limit=limit)
        return [row_of(row, group_id) for row in rows]


def _vectors(space: str | None, data: bytes | None) -> Vectors | None:
    return None if data is None else Vectors(space or "", bytes(data))


def _episode(row: Row, group_id: str) -> MovedEpisode:
    item, found, facts, space, passages, named, *columns = row
    episode = episode_of(columns)
    mentions = sorted(
        (
            Mention(uuid, group_id, episode.uuid, entity, created_ms, tuple(names), tuple(types))
            for uuid, entity, created_ms, names, types in named
        ),
        key=lambda mention: mention.entity_uuid,
    )
    return MovedEpisode(episode, _item(item), found, tuple(facts), tuple(mentions), _vectors(space, passages))


def _item(row: Row) -> MovedItem:
    state, receipt_id, accepted_ms, updated_ms, sequence, counts, step, reason, spent, previous, warnings = (
        row
    )
    return MovedItem(
        state=ItemState(state),
        receipt_id=receipt_id or "",
        accepted_ms=accepted_ms,
        updated_ms=updated_ms,
        sequence=sequence,
        attempts=attempts_of(counts),
        step=None if step is None else Step(step),
        reason=reason,
        usage=Usage(*spent),
        previous=tuple(previous or ()),
        warnings=tuple(ItemWarning(*each) for each in json.loads(warnings)),
    )


def _entity(row: Row, _group_id: str) -> MovedEntity:
    names, space, vector, *columns = row
    return MovedEntity(entity_of(columns), tuple(sorted(names)), _vectors(space, vector))


def _fact(row: Row, _group_id: str) -> MovedFact:
    space, vector, *columns = row
    return MovedFact(fact_of(columns), _vectors(space, vector))


def _document(row: Row, group_id: str) -> MovedDocument:
    data, is_open, places, chunks, former = row
    return MovedDocument(
        document_of(group_id, data, is_open),
        places_of(places),
        {uuid: bool(active) for uuid, active in chunks},
        {number: places_of(text) for number, text in former},
    )


def _receipt(row: Row, _group_id: str) -> MovedReceipt:
    receipt_id, created_ms, parts = row
    return MovedReceipt(receipt_id, created_ms, tuple(Listed(*each) for part in parts for each in part))


def _tombstone(row: Row, _group_id: str) -> MovedTombstone:
    *tombstone, rev = row
    return MovedTombstone(FactTombstone(*tombstone), reserved=rev == 0)


def _merge(row: Row, _group_id: str) -> MovedMerge:
    return MovedMerge(MergeRecord(*row))


_READERS: Mapping[RowKind, tuple[LiteralString, Callable[[Row, str], Moved]]] = {
    RowKind.DOCUMENT: (_DOCUMENTS, _document),
    RowKind.ENTITY: (_ENTITIES, _entity),
    RowKind.EPISODE: (_EPISODES, _episode),
    RowKind.RECEIPT: (_RECEIPTS, _receipt),
    RowKind.TOMBSTONE: (_TOMBSTONES, _tombstone),
    RowKind.FACT: (_FACTS, _fact),
    RowKind.MERGE: (_MERGES, _merge),
}
