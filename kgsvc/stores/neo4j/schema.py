"""Constraints and indexes, as numbered migrations (docs/design/stores.md: expand, then contract).

The graph keeps Graphiti's labels and property names: (:Episodic)-[:MENTIONS]->(:Entity),
(:Entity)-[:RELATES_TO]->(:Entity). Ours are added: times as integer milliseconds beside the datetimes, JSON
texts, vectors as bytes, and `epoch`, the group's epoch in which a row was written. A row of an older epoch
is invisible: that is how DeleteGroup takes effect at once and accepting needs no lock. The rest:

KgGroup        a group's record: rev, epoch, last_ms, the lease; locked first by whoever writes the graph
KgWork         beside it, when the group may have due work; locked for a moment by whoever accepts
KgItem         an item; KgPending too while it is unfinished, KgParked too while it waits for RetryItems
KgReceipt      a part of a receipt: the items of one call (a stream's receipt grows by parts)
KgIdempotency  the answer to an (operation, key)
KgName         the owner of a name; KgNameToken: an entity by a token of its names
KgTerm         how many facts of a group hold a word, by a key
KgTombstone    what is left of a removed fact; KgGone: of a removed entity or episode
KgClosure      an episode that closed a fact of another slot; KgMerge: an entity that went into another
KgErasure      what was erased in a group, as counts
KgDocument     the record of a document as JSON; KgChunk: an episode that is a chunk of one
KgQuota        what a group or a token has used of a quota
KgActivity     a counter in pieces, so that writers do not queue up for it
KgSchema       the version of all this, and the lock of whoever migrates

Index rows hold nothing for absent properties: only started items are in the index on `started`.
"""

from __future__ import annotations

from typing import LiteralString

ACTIVITY_SHARDS = 16

BOOTSTRAP: LiteralString = (
    "CREATE CONSTRAINT kgsvc_schema IF NOT EXISTS FOR (s:KgSchema) REQUIRE (s.name) IS UNIQUE"
)

_FIRST: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_group IF NOT EXISTS FOR (g:KgGroup) REQUIRE (g.group_id) IS UNIQUE",
    "CREATE INDEX kgsvc_group_purging IF NOT EXISTS FOR (g:KgGroup) ON (g.purging)",
    "CREATE CONSTRAINT kgsvc_work IF NOT EXISTS FOR (w:KgWork) REQUIRE (w.group_id) IS UNIQUE",
    "CREATE INDEX kgsvc_work_due IF NOT EXISTS FOR (w:KgWork) ON (w.due_ms)",
    "CREATE CONSTRAINT kgsvc_activity IF NOT EXISTS FOR (a:KgActivity) REQUIRE (a.shard) IS UNIQUE",
    "CREATE CONSTRAINT kgsvc_item IF NOT EXISTS FOR (i:KgItem)"
    " REQUIRE (i.group_id, i.epoch, i.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_item_state IF NOT EXISTS FOR (i:KgItem)"
    " ON (i.group_id, i.epoch, i.state, i.seq, i.uuid)",
    "CREATE INDEX kgsvc_pending_due IF NOT EXISTS FOR (i:KgPending) ON (i.group_id, i.next_ms)",
    "CREATE INDEX kgsvc_pending_time IF NOT EXISTS FOR (i:KgPending)"
    " ON (i.group_id, i.epoch, i.reference_ms, i.uuid)",
    "CREATE INDEX kgsvc_pending_age IF NOT EXISTS FOR (i:KgPending) ON (i.accepted_ms)",
    "CREATE INDEX kgsvc_pending_started IF NOT EXISTS FOR (i:KgPending) ON (i.group_id, i.started)",
    "CREATE INDEX kgsvc_pending_suspect IF NOT EXISTS FOR (i:KgPending) ON (i.group_id, i.suspect)",
    "CREATE CONSTRAINT kgsvc_receipt IF NOT EXISTS FOR (c:KgReceipt)"
    " REQUIRE (c.receipt_id, c.part) IS UNIQUE",
    "CREATE CONSTRAINT kgsvc_idempotency IF NOT EXISTS FOR (k:KgIdempotency)"
    " REQUIRE (k.group_id, k.epoch, k.operation, k.key) IS UNIQUE",
    "CREATE INDEX kgsvc_idempotency_end IF NOT EXISTS FOR (k:KgIdempotency) ON (k.expires_ms)",
    "CREATE CONSTRAINT kgsvc_name IF NOT EXISTS FOR (k:KgName)"
    " REQUIRE (k.group_id, k.epoch, k.key) IS UNIQUE",
    "CREATE CONSTRAINT kgsvc_tombstone IF NOT EXISTS FOR (t:KgTombstone)"
    " REQUIRE (t.group_id, t.epoch, t.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_tombstone_rev IF NOT EXISTS FOR (t:KgTombstone) ON (t.group_id, t.epoch, t.rev)",
    "CREATE INDEX kgsvc_tombstone_slot IF NOT EXISTS FOR (t:KgTombstone) ON (t.slot)",
    "CREATE CONSTRAINT kgsvc_episode IF NOT EXISTS FOR (e:Episodic)"
    " REQUIRE (e.uuid, e.group_id, e.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_episode_time IF NOT EXISTS FOR (e:Episodic)"
    " ON (e.group_id, e.epoch, e.source, e.reference_ms, e.uuid)",
    "CREATE CONSTRAINT kgsvc_entity IF NOT EXISTS FOR (n:Entity)"
    " REQUIRE (n.uuid, n.group_id, n.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_entity_group IF NOT EXISTS FOR (n:Entity) ON (n.group_id, n.epoch)",
    "CREATE CONSTRAINT kgsvc_fact IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " REQUIRE (r.uuid, r.group_id, r.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_fact_rev IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.group_id, r.epoch, r.rev)",
    "CREATE INDEX kgsvc_fact_slot IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.slot)",
    "UNWIND range(0, 15) AS shard MERGE (a:KgActivity {shard: shard}) ON CREATE SET a.count = 0",
)

_NAMES: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_name_owner IF NOT EXISTS FOR (k:KgName) ON (k.group_id, k.epoch, k.entity_uuid)",
)

# KgBuild: a build of communities, with `next_ms` while it is not over; KgDraft: a community before it is
# published; KgReplaced: one that was, until it is removed.
_COMMUNITIES: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_build IF NOT EXISTS FOR (b:KgBuild)"
    " REQUIRE (b.group_id, b.epoch, b.build_id) IS UNIQUE",
    "CREATE INDEX kgsvc_build_open IF NOT EXISTS FOR (b:KgBuild) ON (b.group_id, b.epoch, b.next_ms)",
    "CREATE INDEX kgsvc_build_due IF NOT EXISTS FOR (b:KgBuild) ON (b.next_ms)",
    "CREATE CONSTRAINT kgsvc_draft IF NOT EXISTS FOR (d:KgDraft)"
    " REQUIRE (d.group_id, d.epoch, d.build, d.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_community IF NOT EXISTS FOR (c:Community) ON (c.group_id, c.epoch, c.build, c.uuid)",
    "CREATE INDEX kgsvc_replaced IF NOT EXISTS FOR (c:KgReplaced) ON (c.group_id, c.epoch)",
)

# What new names and facts are compared with: entities by tokens of their names, facts not expired by source.
_NAME_TOKENS: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_name_token IF NOT EXISTS FOR (k:KgNameToken)"
    " REQUIRE (k.group_id, k.epoch, k.token, k.entity_uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_fact_open IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.source_uuid, r.group_id, r.epoch, r.expired_ms, r.valid_ms, r.uuid)",
)

_CLOSURES: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_closure IF NOT EXISTS FOR (c:KgClosure)"
    " REQUIRE (c.group_id, c.epoch, c.by_episode, c.fact_uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_name_token_owner IF NOT EXISTS FOR (k:KgNameToken)"
    " ON (k.group_id, k.epoch, k.entity_uuid)",
)

_FOLLOWING: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_group_communities IF NOT EXISTS FOR (g:KgGroup) ON (g.communities)",
)

_MERGES: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_merge IF NOT EXISTS FOR (m:KgMerge)"
    " REQUIRE (m.group_id, m.epoch, m.merge_id) IS UNIQUE",
    "CREATE INDEX kgsvc_merge_merged IF NOT EXISTS FOR (m:KgMerge) ON (m.merged_uuid, m.group_id, m.epoch)",
)

# Vectors of names by the revision that wrote them, for whoever follows them; the older ones come first.
_NAME_VECTORS: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_entity_vectors IF NOT EXISTS FOR (n:Entity)"
    " ON (n.group_id, n.epoch, n.vector_rev, n.uuid)",
    "MATCH (n:Entity) WHERE n.vector IS NOT NULL AND n.vector_rev IS NULL"
    " CALL (n) { SET n.vector_rev = 0 } IN TRANSACTIONS OF 1000 ROWS",
)

# Which episode told two entities to be one.
_TOLD: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_merge_told IF NOT EXISTS FOR (m:KgMerge) ON (m.group_id, m.epoch, m.by_episode)",
)

# Entities and episodes by the revision that changed them; episodes not in the graph yet have none. Older
# nodes are spread over the revisions that the group has had, so that no page holds them all.
_TEXTS: tuple[LiteralString, ...] = (
    "MATCH (g:KgGroup) WHERE g.rev = 0 SET g.rev = 1",
    "MATCH (n:Entity) WHERE n.epoch IS NOT NULL AND n.rev IS NULL"
    " CALL (n) { MATCH (g:KgGroup {group_id: n.group_id})"
    " SET n.rev = 1 + toInteger(rand() * g.rev) } IN TRANSACTIONS OF 1000 ROWS",
    "MATCH (e:Episodic) WHERE e.epoch IS NOT NULL AND e.rev IS NULL"
    " CALL (e) { MATCH (i:KgItem {group_id: e.group_id, epoch: e.epoch, uuid: e.uuid})"
    " WHERE i.state IN ['upserted', 'completed'] MATCH (g:KgGroup {group_id: e.group_id})"
    " SET e.rev = 1 + toInteger(rand() * g.rev) } IN TRANSACTIONS OF 1000 ROWS",
    "CREATE INDEX kgsvc_entity_rev IF NOT EXISTS FOR (n:Entity) ON (n.group_id, n.epoch, n.rev)",
    "CREATE INDEX kgsvc_episode_rev IF NOT EXISTS FOR (e:Episodic) ON (e.group_id, e.epoch, e.rev)",
    "CREATE CONSTRAINT kgsvc_gone IF NOT EXISTS FOR (k:KgGone)"
    " REQUIRE (k.group_id, k.epoch, k.kind, k.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_gone_rev IF NOT EXISTS FOR (k:KgGone) ON (k.group_id, k.epoch, k.rev)",
)

# The revision at which the communities in force last changed in what they are found by.
_COMMUNITY_TEXTS: tuple[LiteralString, ...] = (
    "MATCH (g:KgGroup) WHERE g.communities IS NOT NULL AND g.communities_rev IS NULL"
    " SET g.communities_rev = g.rev",
)

# What searches of facts stand on while no index of the group is in memory (fact_terms.py says what is in it).
_FACT_TERMS: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_term IF NOT EXISTS FOR (k:KgTerm)"
    " REQUIRE (k.group_id, k.epoch, k.key) IS UNIQUE",
    "CREATE FULLTEXT INDEX kgsvc_fact_terms IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON EACH [r.terms]"
    " OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}}",
)

# Of vectors of any length, filtered within the index: a syntax that only newer servers know. Without
# quantisation nearly all of the nearest are found.
FACT_VECTORS: LiteralString = (
    "CYPHER 25 CREATE VECTOR INDEX kgsvc_fact_embedding IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON r.fact_embedding WITH [r.scope] OPTIONS {indexConfig: {"
    "`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}"
)

_OF_TARGET: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_fact_open_target IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.target_uuid, r.group_id, r.epoch, r.expired_ms, r.valid_ms, r.uuid)",
)

# Ends are part of the relations that ended: rows are folded by upgrading.py, DDL there is none.
_ENDS: tuple[LiteralString, ...] = ()

# What was erased; `open` until it is completed.
_ERASURES: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_erasure IF NOT EXISTS FOR (x:KgErasure)"
    " REQUIRE (x.erasure_id, x.group_id) IS UNIQUE",
    "CREATE INDEX kgsvc_erasure_open IF NOT EXISTS FOR (x:KgErasure) ON (x.open)",
    "CREATE INDEX kgsvc_erasure_asked IF NOT EXISTS FOR (x:KgErasure) ON (x.asked_ms)",
)

# `open`: chunks of former revisions may still speak.
_DOCUMENTS: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_document IF NOT EXISTS FOR (d:KgDocument)"
    " REQUIRE (d.group_id, d.epoch, d.document_id) IS UNIQUE",
    "CREATE INDEX kgsvc_document_open IF NOT EXISTS FOR (d:KgDocument) ON (d.open)",
    "CREATE CONSTRAINT kgsvc_chunk IF NOT EXISTS FOR (c:KgChunk)"
    " REQUIRE (c.group_id, c.epoch, c.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_chunk_document IF NOT EXISTS FOR (c:KgChunk) ON (c.group_id, c.epoch, c.document_id)",
)

_QUOTAS: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_quota IF NOT EXISTS FOR (q:KgQuota)"
    " REQUIRE (q.subject, q.counted, q.day) IS UNIQUE",
)

_ENDED: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_fact_ended IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.group_id, r.epoch, r.invalid_ms)",
)

_EXPIRED: tuple[LiteralString, ...] = (
    "CREATE INDEX kgsvc_fact_expired IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.group_id, r.epoch, r.expired_ms)",
)

_VALUES: tuple[LiteralString, ...] = ()  # rows alone: upgrading.mend_values

MIGRATIONS: tuple[tuple[LiteralString, ...], ...] = (
    _FIRST,
    _NAMES,
    _COMMUNITIES,
    _NAME_TOKENS,
    _CLOSURES,
    _FOLLOWING,
    _MERGES,
    _NAME_VECTORS,
    _TOLD,
    _TEXTS,
    _COMMUNITY_TEXTS,
    _FACT_TERMS,
    _OF_TARGET,
    _ENDS,
    _ERASURES,
    _DOCUMENTS,
    _QUOTAS,
    _ENDED,
    _EXPIRED,
    _VALUES,
)
SCHEMA_VERSION = len(MIGRATIONS)
NAME_TOKENS_SINCE = MIGRATIONS.index(_NAME_TOKENS) + 1  # names of older databases have none yet
ENDS_SINCE = MIGRATIONS.index(_ENDS) + 1  # until then an end was a fact of its own
VALUES_SINCE = MIGRATIONS.index(_VALUES) + 1  # until then an end closed any value of its thing
