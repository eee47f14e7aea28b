"""Constraints and indexes.

The graph keeps Graphiti's labels and property names: (:Episodic)-[:MENTIONS]->(:Entity),
(:Entity)-[:RELATES_TO]->(:Entity). Ours are added: times as integer milliseconds beside the datetimes, JSON
texts, vectors as bytes, and `epoch`, the group's epoch in which a row was written. A row of an older epoch
is invisible: that is how DeleteGroup takes effect at once and accepting needs no lock. The rest:

KgGroup        a group's record: rev, epoch, last_ms, the lease; locked first by whoever writes the graph;
               KgPaused too while its items wait
KgWork         beside it, when the group may have due work; locked for a moment by whoever accepts
KgItem         an item; KgPending too while it is unfinished, KgParked too while it waits for RetryItems
KgReceipt      a part of a receipt: the items of one call; its only one, but for a call that was repeated
KgIdempotency  the answer to an (operation, key)
KgName         the owner of a name; KgNameToken: an entity by a token of its names
KgTerm         how many facts of a group hold a word, by a key
KgTombstone    what is left of a removed fact; KgGone: of a removed entity or episode
KgClosure      an episode that closed a fact of another slot; KgMerge: an entity that went into another
KgFill         a group in which something may lack a vector, with a lease
KgErasure      what was erased in a group, as counts
KgBuild        a build of communities, with `next_ms` while it is not over; KgDraft: a community before it is
               published; KgReplaced: one that was, until it is removed
KgDocument     the record of a document as JSON; KgFormerText: where the chunks of a former text of one stood;
               KgChunk: an episode that is a chunk of one
KgQuota        what a group or a token has used of a quota
KgActivity     a counter in pieces, so that writers do not queue up for it
KgSchema       the version of all this, and the lock of whoever makes it; which modes are on

Vectors of the space that a group goes over to (fill_protocol.py) stand beside those in use as `next_vector`
and `next_space`; `space` of a KgGroup is the one in use, and while it is `tidying` some of its vectors still
stand there.

With every change of what is made here SCHEMA_VERSION is one more. Index rows hold nothing for absent
properties: only started items are in the index on `started`.
"""

from __future__ import annotations

from typing import LiteralString

ACTIVITY_SHARDS = 16
SCHEMA_VERSION = 23

BOOTSTRAP: LiteralString = (
    "CREATE CONSTRAINT kgsvc_schema IF NOT EXISTS FOR (s:KgSchema) REQUIRE (s.name) IS UNIQUE"
)

SCHEMA: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT kgsvc_group IF NOT EXISTS FOR (g:KgGroup) REQUIRE (g.group_id) IS UNIQUE",
    "CREATE INDEX kgsvc_group_purging IF NOT EXISTS FOR (g:KgGroup) ON (g.purging)",
    "CREATE INDEX kgsvc_group_space IF NOT EXISTS FOR (g:KgGroup) ON (g.space)",
    "CREATE INDEX kgsvc_group_communities IF NOT EXISTS FOR (g:KgGroup) ON (g.communities)",
    "CREATE CONSTRAINT kgsvc_work IF NOT EXISTS FOR (w:KgWork) REQUIRE (w.group_id) IS UNIQUE",
    "CREATE INDEX kgsvc_work_due IF NOT EXISTS FOR (w:KgWork) ON (w.due_ms)",
    "CREATE CONSTRAINT kgsvc_activity IF NOT EXISTS FOR (a:KgActivity) REQUIRE (a.shard) IS UNIQUE",
    "UNWIND range(0, 15) AS shard MERGE (a:KgActivity {shard: shard}) ON CREATE SET a.count = 0",
    # The queue and its receipts.
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
    "CREATE INDEX kgsvc_receipt_age IF NOT EXISTS FOR (c:KgReceipt) ON (c.created_ms, c.receipt_id)",
    "CREATE CONSTRAINT kgsvc_idempotency IF NOT EXISTS FOR (k:KgIdempotency)"
    " REQUIRE (k.group_id, k.epoch, k.operation, k.key) IS UNIQUE",
    "CREATE INDEX kgsvc_idempotency_end IF NOT EXISTS FOR (k:KgIdempotency) ON (k.expires_ms)",
    "CREATE CONSTRAINT kgsvc_quota IF NOT EXISTS FOR (q:KgQuota)"
    " REQUIRE (q.subject, q.counted, q.day) IS UNIQUE",
    # Names.
    "CREATE CONSTRAINT kgsvc_name IF NOT EXISTS FOR (k:KgName)"
    " REQUIRE (k.group_id, k.epoch, k.key) IS UNIQUE",
    "CREATE INDEX kgsvc_name_owner IF NOT EXISTS FOR (k:KgName) ON (k.group_id, k.epoch, k.entity_uuid)",
    "CREATE CONSTRAINT kgsvc_name_token IF NOT EXISTS FOR (k:KgNameToken)"
    " REQUIRE (k.group_id, k.epoch, k.token, k.entity_uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_name_token_owner IF NOT EXISTS FOR (k:KgNameToken)"
    " ON (k.group_id, k.epoch, k.entity_uuid)",
    # The graph. By `rev`: what changed since a revision; episodes that are not in the graph yet have none.
    "CREATE CONSTRAINT kgsvc_episode IF NOT EXISTS FOR (e:Episodic)"
    " REQUIRE (e.uuid, e.group_id, e.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_episode_time IF NOT EXISTS FOR (e:Episodic)"
    " ON (e.group_id, e.epoch, e.source, e.reference_ms, e.uuid)",
    "CREATE INDEX kgsvc_episode_rev IF NOT EXISTS FOR (e:Episodic) ON (e.group_id, e.epoch, e.rev)",
    "CREATE CONSTRAINT kgsvc_entity IF NOT EXISTS FOR (n:Entity)"
    " REQUIRE (n.uuid, n.group_id, n.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_entity_group IF NOT EXISTS FOR (n:Entity) ON (n.group_id, n.epoch)",
    "CREATE INDEX kgsvc_entity_rev IF NOT EXISTS FOR (n:Entity) ON (n.group_id, n.epoch, n.rev)",
    "CREATE INDEX kgsvc_entity_vectors IF NOT EXISTS FOR (n:Entity)"
    " ON (n.group_id, n.epoch, n.vector_rev, n.uuid)",
    "CREATE CONSTRAINT kgsvc_fact IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " REQUIRE (r.uuid, r.group_id, r.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_fact_rev IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.group_id, r.epoch, r.rev)",
    "CREATE INDEX kgsvc_fact_slot IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON (r.slot)",
    # The facts of an entity, those that are not expired apart.
    "CREATE INDEX kgsvc_fact_open IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.source_uuid, r.group_id, r.epoch, r.expired_ms, r.valid_ms, r.uuid)",
    "CREATE INDEX kgsvc_fact_open_target IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.target_uuid, r.group_id, r.epoch, r.expired_ms, r.valid_ms, r.uuid)",
    # For retention: what ended, or was replaced or withdrawn, before a time.
    "CREATE INDEX kgsvc_fact_ended IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.group_id, r.epoch, r.invalid_ms)",
    "CREATE INDEX kgsvc_fact_expired IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.group_id, r.epoch, r.expired_ms)",
    "CREATE CONSTRAINT kgsvc_tombstone IF NOT EXISTS FOR (t:KgTombstone)"
    " REQUIRE (t.group_id, t.epoch, t.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_tombstone_rev IF NOT EXISTS FOR (t:KgTombstone) ON (t.group_id, t.epoch, t.rev)",
    "CREATE INDEX kgsvc_tombstone_slot IF NOT EXISTS FOR (t:KgTombstone) ON (t.slot)",
    "CREATE CONSTRAINT kgsvc_gone IF NOT EXISTS FOR (k:KgGone)"
    " REQUIRE (k.group_id, k.epoch, k.kind, k.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_gone_rev IF NOT EXISTS FOR (k:KgGone) ON (k.group_id, k.epoch, k.rev)",
    "CREATE CONSTRAINT kgsvc_closure IF NOT EXISTS FOR (c:KgClosure)"
    " REQUIRE (c.group_id, c.epoch, c.by_episode, c.fact_uuid) IS UNIQUE",
    "CREATE CONSTRAINT kgsvc_merge IF NOT EXISTS FOR (m:KgMerge)"
    " REQUIRE (m.group_id, m.epoch, m.merge_id) IS UNIQUE",
    "CREATE INDEX kgsvc_merge_merged IF NOT EXISTS FOR (m:KgMerge) ON (m.merged_uuid, m.group_id, m.epoch)",
    "CREATE INDEX kgsvc_merge_kept IF NOT EXISTS FOR (m:KgMerge) ON (m.kept_uuid, m.group_id, m.epoch)",
    "CREATE INDEX kgsvc_merge_time IF NOT EXISTS FOR (m:KgMerge) ON (m.group_id, m.epoch, m.created_ms)",
    "CREATE INDEX kgsvc_merge_told IF NOT EXISTS FOR (m:KgMerge) ON (m.group_id, m.epoch, m.by_episode)",
    # What searches of facts stand on while no index of the group is in memory (fact_terms.py).
    "CREATE CONSTRAINT kgsvc_term IF NOT EXISTS FOR (k:KgTerm)"
    " REQUIRE (k.group_id, k.epoch, k.key) IS UNIQUE",
    "CREATE FULLTEXT INDEX kgsvc_fact_terms IF NOT EXISTS FOR ()-[r:RELATES_TO]-() ON EACH [r.terms]"
    " OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}}",
    # Communities.
    "CREATE CONSTRAINT kgsvc_build IF NOT EXISTS FOR (b:KgBuild)"
    " REQUIRE (b.group_id, b.epoch, b.build_id) IS UNIQUE",
    "CREATE INDEX kgsvc_build_open IF NOT EXISTS FOR (b:KgBuild) ON (b.group_id, b.epoch, b.next_ms)",
    "CREATE INDEX kgsvc_build_due IF NOT EXISTS FOR (b:KgBuild) ON (b.next_ms)",
    "CREATE CONSTRAINT kgsvc_draft IF NOT EXISTS FOR (d:KgDraft)"
    " REQUIRE (d.group_id, d.epoch, d.build, d.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_community IF NOT EXISTS FOR (c:Community) ON (c.group_id, c.epoch, c.build, c.uuid)",
    "CREATE INDEX kgsvc_replaced IF NOT EXISTS FOR (c:KgReplaced) ON (c.group_id, c.epoch)",
    # Groups in which something may lack a vector (fill_protocol.py), and vectors of another space.
    "CREATE CONSTRAINT kgsvc_fill IF NOT EXISTS FOR (f:KgFill) REQUIRE (f.group_id, f.epoch) IS UNIQUE",
    "CREATE INDEX kgsvc_fill_due IF NOT EXISTS FOR (f:KgFill) ON (f.next_ms)",
    "CREATE INDEX kgsvc_fact_next IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON (r.group_id, r.epoch, r.next_space)",
    "CREATE INDEX kgsvc_entity_next IF NOT EXISTS FOR (n:Entity) ON (n.group_id, n.epoch, n.next_space)",
    "CREATE INDEX kgsvc_episode_next IF NOT EXISTS FOR (e:Episodic) ON (e.group_id, e.epoch, e.next_space)",
    "CREATE INDEX kgsvc_community_next IF NOT EXISTS FOR (c:Community)"
    " ON (c.group_id, c.epoch, c.next_space)",
    # Documents; `open`: chunks of former revisions may still speak.
    "CREATE CONSTRAINT kgsvc_document IF NOT EXISTS FOR (d:KgDocument)"
    " REQUIRE (d.group_id, d.epoch, d.document_id) IS UNIQUE",
    "CREATE INDEX kgsvc_document_open IF NOT EXISTS FOR (d:KgDocument) ON (d.open)",
    "CREATE CONSTRAINT kgsvc_former_text IF NOT EXISTS FOR (f:KgFormerText)"
    " REQUIRE (f.group_id, f.epoch, f.document_id, f.revision) IS UNIQUE",
    "CREATE CONSTRAINT kgsvc_chunk IF NOT EXISTS FOR (c:KgChunk)"
    " REQUIRE (c.group_id, c.epoch, c.uuid) IS UNIQUE",
    "CREATE INDEX kgsvc_chunk_document IF NOT EXISTS FOR (c:KgChunk) ON (c.group_id, c.epoch, c.document_id)",
    # Erasures; `open` until they are completed.
    "CREATE CONSTRAINT kgsvc_erasure IF NOT EXISTS FOR (x:KgErasure)"
    " REQUIRE (x.erasure_id, x.group_id) IS UNIQUE",
    "CREATE INDEX kgsvc_erasure_open IF NOT EXISTS FOR (x:KgErasure) ON (x.open)",
    "CREATE INDEX kgsvc_erasure_asked IF NOT EXISTS FOR (x:KgErasure) ON (x.asked_ms)",
)

# Of vectors of any length, filtered within the index: a syntax that only newer servers know. Without
# quantisation nearly all of the nearest are found.
FACT_VECTORS: LiteralString = (
    "CYPHER 25 CREATE VECTOR INDEX kgsvc_fact_embedding IF NOT EXISTS FOR ()-[r:RELATES_TO]-()"
    " ON r.fact_embedding WITH [r.scope] OPTIONS {indexConfig: {"
    "`vector.similarity_function`: 'cosine', `vector.quantization.enabled`: false}}"
)
