"""Where vectors stand: those of the space in use at their rows, those of a space that the group goes over to
beside them (fill_protocol.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from kgsvc.domain.model.delta import GraphDelta, SpaceVectors
from kgsvc.stores.neo4j.base import Tx
from kgsvc.stores.neo4j.rows import first_value

# By the rows that each writes. A row that gets a vector of the next space and none of the space in use has a
# new text: what it had is of the former one.
WRITE_NEXT: dict[str, LiteralString] = {
    "next_entities": """
    UNWIND $p.next_entities AS row
    <SEEK n:Entity row.uuid>
    SET n.next_vector = row.vector, n.next_space = $p.next_space,
        n.vector = CASE WHEN row.held THEN n.vector END, n.space = CASE WHEN row.held THEN n.space END,
        n.vector_rev = CASE WHEN row.held THEN n.vector_rev END
    """,
    "next_passages": """
    UNWIND $p.next_passages AS row
    <SEEK e:Episodic row.uuid>
    SET e.next_vector = row.vector, e.next_space = $p.next_space,
        e.passages = CASE WHEN row.held THEN e.passages END,
        e.space = CASE WHEN row.held THEN e.space END
    """,
    "next_facts": """
    UNWIND $p.next_facts AS row
    <SEEK r:RELATES_TO row.uuid>
    SET r.rev = $p.rev, r.next_vector = row.vector, r.next_space = $p.next_space,
        r.vector = CASE WHEN row.held THEN r.vector END, r.space = CASE WHEN row.held THEN r.space END,
        r.scope = CASE WHEN row.held THEN r.scope END,
        r.fact_embedding = CASE WHEN row.held THEN r.fact_embedding END
    """,
}
# Begins a fill of the group, if none has begun.
REFILL: LiteralString = """
    MATCH (g:KgGroup {group_id: $p.group_id})
    UNWIND $p.refilled AS row
    <MERGE_FILL>
    ON CREATE SET f.space = row.space, f.next_ms = row.now_ms
    """

_SPACES: LiteralString = """
    CALL () {
        MATCH ()-[r:RELATES_TO]->() USING INDEX SEEK r:RELATES_TO(group_id, epoch, rev)
        WHERE r.group_id = $p.group_id AND r.epoch = $p.epoch AND r.rev IS NOT NULL AND r.space IS NOT NULL
        RETURN r.space AS space, count(*) AS rows
        UNION ALL
        MATCH (n:Entity) WHERE n.group_id = $p.group_id AND n.epoch = $p.epoch AND n.space IS NOT NULL
        RETURN n.space AS space, count(*) AS rows
        UNION ALL
        MATCH (e:Episodic) USING INDEX SEEK e:Episodic(group_id, epoch, rev)
        WHERE e.group_id = $p.group_id AND e.epoch = $p.epoch AND e.rev IS NOT NULL AND e.space IS NOT NULL
        RETURN e.space AS space, count(*) AS rows
    }
    RETURN space ORDER BY rows DESC, space LIMIT 1
    """


async def space_of(tx: Tx, group_id: str, epoch: int) -> str | None:
    """The space of most of a kind of the vectors that stand at their rows; None: there are none."""
    found: str | None = first_value(await tx.run(_SPACES, group_id=group_id, epoch=epoch))
    return found


def vector_rows(delta: GraphDelta, used: str | None, wanted: str | None) -> dict[str, Any]:
    """Parameters of a delta's vectors in a group with this space in use and a fill in `wanted`; None of the
    one: the group is being imported, vectors stand as they come; of the other: there is no fill."""
    made = {delta.space: SpaceVectors(delta.space, delta.vectors, delta.passages)}
    if delta.beside is not None:
        made[delta.beside.space] = delta.beside
    some = bool(delta.vectors or delta.passages)
    own = (used or delta.space) if used is not None else delta.space
    here = own if own in made else None if wanted in made else delta.space
    there = wanted if wanted is not None and wanted in made and wanted != own else None
    none = SpaceVectors("")
    placed, beside = made.get(here or "", none) if here is not None else none, made.get(there or "", none)
    if there is None:
        beside = none
    refilled = some and own not in made and wanted is None
    return {
        "space": placed.space,
        "used": own if some and used is not None else None,
        **_rows(delta, placed),
        **_next(delta, beside, placed),
        "next_space": beside.space,
        "refilled": [{"space": own, "now_ms": delta.system_ms}] if refilled else [],
    }


def _rows(delta: GraphDelta, placed: SpaceVectors) -> dict[str, Any]:
    """A vector of what the delta does not write is offered to entities and facts alike."""
    entities = {entity.uuid for entity in delta.entities}
    facts = {fact.uuid for fact in delta.facts}
    pairs = placed.vectors.items()
    return {
        "entity_vectors": [vector_row(uuid, v) for uuid, v in pairs if uuid in entities or uuid not in facts],
        "fact_vectors": [vector_row(uuid, v) for uuid, v in pairs if uuid in facts or uuid not in entities],
        "passages": [vector_row(uuid, v) for uuid, v in placed.passages.items()],
    }


def vector_row(uuid: str, vector: bytes) -> dict[str, Any]:
    """A vector as a parameter."""
    return {"uuid": uuid, "vector": vector}


def _next(delta: GraphDelta, beside: SpaceVectors, placed: SpaceVectors) -> dict[str, Any]:
    rows = _rows(delta, beside)

    def marked(name: str, held: Mapping[str, bytes]) -> list[dict[str, Any]]:
        return [row | {"held": row["uuid"] in held} for row in rows[name]]

    return {
        "next_entities": marked("entity_vectors", placed.vectors),
        "next_facts": marked("fact_vectors", placed.vectors),
        "next_passages": marked("passages", placed.passages),
    }
