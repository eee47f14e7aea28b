"""What few changes of a graph write, each by a statement of its own: removals, merges, renames and the like.

A change runs those of which it has rows. In one statement they would take the server seconds to plan, on the
first change of the kind after each start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, LiteralString, NamedTuple

from kgsvc.stores.neo4j.base import Tx, whole_text
from kgsvc.stores.neo4j.fact_terms import RENAME_TERMS
from kgsvc.stores.neo4j.quotas import RELEASE_EPISODES
from kgsvc.stores.neo4j.vectors import REFILL, WRITE_NEXT


class Amendment(NamedTuple):
    """A statement, and the rows without which it does nothing."""

    rows: str
    statement: LiteralString


# Before what most changes write: its own facts have the new names already, and quotas are settled by what was
# spent.
FIRST = (
    Amendment(
        "claims",
        """
    UNWIND $p.claims AS row
    MERGE (k:KgIdempotency {group_id: $p.group_id, epoch: $p.epoch, operation: row.operation, key: row.key})
    SET k.input_hash = row.input_hash, k.expires_ms = row.expires_ms, k.receipt_id = '', k.uuids = [],
        k.seqs = []
    """,
    ),
    Amendment(
        "removed",
        """
    UNWIND $p.removed AS row
    MERGE (t:KgTombstone {group_id: $p.group_id, epoch: $p.epoch, uuid: row.uuid})
    SET t.slot = row.slot, t.fact = row.fact, t.deleted_ms = row.deleted_ms, t.rev = $p.rev
    WITH row
    <SEEK r:RELATES_TO row.uuid>
    DELETE r
    """,
    ),
    Amendment(
        "reserved",
        """
    UNWIND $p.reserved AS row
    MERGE (t:KgTombstone {group_id: $p.group_id, epoch: $p.epoch, uuid: row.uuid})
    ON CREATE SET t.slot = row.slot, t.fact = row.fact, t.deleted_ms = row.deleted_ms, t.rev = 0
    """,
    ),
    Amendment(
        "dropped_facts",
        """
    UNWIND $p.dropped_facts AS uuid
    MATCH (c:Community) USING INDEX SEEK c:Community(group_id, epoch, build, uuid)
    WHERE c.group_id = $p.group_id AND c.epoch = $p.epoch AND c.build IS NOT NULL AND c.uuid IS NOT NULL
        AND uuid IN c.facts
    SET c.summary = ''
    """,
    ),
    Amendment(
        "dropped_facts",
        """
    UNWIND $p.dropped_facts AS uuid
    MATCH (d:KgDraft) USING INDEX SEEK d:KgDraft(group_id, epoch, build, uuid)
    WHERE d.group_id = $p.group_id AND d.epoch = $p.epoch AND d.build IS NOT NULL AND d.uuid IS NOT NULL
        AND uuid IN d.facts
    SET d.summary = ''
    """,
    ),
    Amendment(
        "renamed",
        """
    UNWIND $p.renamed AS row
    <SEEK n:Entity row.uuid>
    CALL (n, row) {
        MATCH (n)-[r:RELATES_TO]->() SET r.source_name = row.name, r.words = null, r.rev = $p.rev
    }
    CALL (n, row) {
        MATCH (n)<-[r:RELATES_TO]-() SET r.target_name = row.name, r.words = null, r.rev = $p.rev
    }
    """,
    ),
    Amendment("renamed", RENAME_TERMS),
    Amendment(
        "removed_names",
        """
    UNWIND $p.removed_names AS key
    MATCH (k:KgName {group_id: $p.group_id, epoch: $p.epoch, key: key})
        USING INDEX SEEK k:KgName(group_id, epoch, key)
    DELETE k
    """,
    ),
    Amendment(
        "removed_name_tokens",
        """
    UNWIND $p.removed_name_tokens AS row
    MATCH (k:KgNameToken
        {group_id: $p.group_id, epoch: $p.epoch, token: row.token, entity_uuid: row.entity_uuid})
        USING INDEX SEEK k:KgNameToken(group_id, epoch, token, entity_uuid)
    DELETE k
    """,
    ),
    Amendment(
        "spent",
        """
    UNWIND $p.spent AS row
    <SEEK i:KgItem row.uuid>
    SET i.model_calls = coalesce(i.model_calls, 0) + row.calls,
        i.prompt_tokens = coalesce(i.prompt_tokens, 0) + row.prompt_tokens,
        i.completion_tokens = coalesce(i.completion_tokens, 0) + row.completion_tokens
    """,
    ),
)
# After it: an entity that facts move to may be one of the change's own.
LAST = (
    Amendment(
        "moved",
        """
    UNWIND $p.moved AS row
    <SEEK old:RELATES_TO row.uuid>
    <SEEK s:Entity row.source_uuid>
    <SEEK t:Entity row.target_uuid>
    WITH row, s, t, old, properties(old) AS values
    DELETE old
    CREATE (s)-[r:RELATES_TO]->(t)
    SET r = values
    """,
    ),
    Amendment(
        "removed_entities",
        """
    UNWIND $p.removed_entities AS uuid
    <SEEK n:Entity uuid>
    MATCH (n)<-[:MENTIONS]-(e:Episodic)
    SET e.rev = $p.rev
    """,
    ),
    Amendment(
        "hidden_episodes",
        """
    UNWIND $p.hidden_episodes AS uuid
    <SEEK e:Episodic uuid>
    SET e.rev = null
    """,
    ),
    Amendment(
        "gone",
        """
    UNWIND $p.gone AS row
    MERGE (k:KgGone {group_id: $p.group_id, epoch: $p.epoch, kind: row.kind, uuid: row.uuid})
    SET k.rev = $p.rev
    """,
    ),
    *(Amendment(rows, statement) for rows, statement in WRITE_NEXT.items()),
    Amendment("refilled", REFILL),
    Amendment("removed_episodes", RELEASE_EPISODES),
    Amendment(
        "removed_episodes",
        """
    UNWIND $p.removed_episodes AS uuid
    <SEEK i:KgItem uuid>
    DELETE i
    """,
    ),
    Amendment(
        "removed_episodes",
        """
    UNWIND $p.removed_episodes AS uuid
    <SEEK e:Episodic uuid>
    DETACH DELETE e
    """,
    ),
    Amendment(
        "removed_merges",
        """
    UNWIND $p.removed_merges AS merge_id
    MATCH (m:KgMerge {group_id: $p.group_id, epoch: $p.epoch, merge_id: merge_id})
    DELETE m
    """,
    ),
    Amendment(
        "merges",
        """
    UNWIND $p.merges AS row
    CREATE (:KgMerge {group_id: $p.group_id, epoch: $p.epoch, merge_id: row.merge_id,
        merged_uuid: row.merged_uuid, kept_uuid: row.kept_uuid, created_ms: row.created_ms,
        data: row.data, by_episode: row.by_episode})
    """,
    ),
    Amendment(
        "removed_mentions",
        """
    UNWIND $p.removed_mentions AS row
    <SEEK e:Episodic row.episode_uuid>
    <SEEK n:Entity row.entity_uuid>
    MATCH (e)-[m:MENTIONS]->(n)
    DELETE m
    """,
    ),
    Amendment(
        "removed_entities",
        """
    UNWIND $p.removed_entities AS uuid
    MATCH (k:KgName) USING INDEX SEEK k:KgName(group_id, epoch, entity_uuid)
    WHERE k.group_id = $p.group_id AND k.epoch = $p.epoch AND k.entity_uuid = uuid
    DELETE k
    """,
    ),
    Amendment(
        "removed_entities",
        """
    UNWIND $p.removed_entities AS uuid
    MATCH (k:KgNameToken) USING INDEX SEEK k:KgNameToken(group_id, epoch, entity_uuid)
    WHERE k.group_id = $p.group_id AND k.epoch = $p.epoch AND k.entity_uuid = uuid
    DELETE k
    """,
    ),
    Amendment(
        "dropped_hubs",
        """
    UNWIND $p.dropped_hubs AS uuid
    <SEEK n:Entity uuid>
    MATCH (c)-[:HAS_MEMBER]->(n) WHERE uuid IN c.hubs
    SET c.name = '', c.summary = '', c.vector = null, c.space = null, c.next_vector = null,
        c.next_space = null
    """,
    ),
    Amendment(
        "removed_entities",
        """
    UNWIND $p.removed_entities AS uuid
    <SEEK n:Entity uuid>
    DETACH DELETE n
    """,
    ),
)


async def amend(tx: Tx, amendments: tuple[Amendment, ...], values: Mapping[str, Any]) -> None:
    """Run those that have rows, in their order, each with the parameters that it names."""
    for each in amendments:
        if values[each.rows]:
            await tx.run(each.statement, **{name: values[name] for name in parameters(each.statement)})


@cache
def parameters(statement: LiteralString) -> frozenset[str]:
    """The names of a statement's parameters."""
    return frozenset(_PARAMETER.findall(whole_text(statement)))


_PARAMETER = re.compile(r"\$p\.(\w+)")
