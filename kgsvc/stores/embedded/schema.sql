-- The tables of the embedded store and their indexes. Texts called `detail` are JSON objects of fields that
-- nothing in the database asks for; absent keys are defaults. With every change SCHEMA_VERSION (schema.py) is
-- one more.

CREATE TABLE versions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;

CREATE TABLE totals (
    id INTEGER PRIMARY KEY CHECK (id = 1), unfinished INTEGER NOT NULL, parked INTEGER NOT NULL,
    activity INTEGER NOT NULL, last_gid INTEGER NOT NULL
) STRICT;
INSERT INTO totals VALUES (1, 0, 0, 0, 0);

-- `ontology_rev` outlives the ontology, so that no reader takes a new one for one that it knows. Without
-- `has_words` some facts of the group have no row in fact_words. `space` is that of the vectors in use,
-- `tidying` whether some of these still stand in next_vectors.
CREATE TABLE groups (
    group_id TEXT PRIMARY KEY, gid INTEGER NOT NULL UNIQUE, epoch INTEGER NOT NULL DEFAULT 0,
    rev INTEGER NOT NULL DEFAULT 0, last_ms INTEGER NOT NULL DEFAULT 0, last_id INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0, owner_id TEXT, renewals INTEGER NOT NULL DEFAULT 0,
    served_ms INTEGER NOT NULL DEFAULT 0, ontology_rev INTEGER NOT NULL DEFAULT 0,
    has_words INTEGER NOT NULL DEFAULT 0, space TEXT NOT NULL DEFAULT '', tidying INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX groups_space ON groups (space) WHERE space <> '';
CREATE TABLE dead_groups (
    gid INTEGER PRIMARY KEY, deleted_ms INTEGER NOT NULL, items_upto INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE ontologies (gid INTEGER PRIMARY KEY, yaml TEXT NOT NULL) STRICT;

-- What was erased; `removed` holds counts as a JSON object once the rows are gone, `so_far` until then.
CREATE TABLE erasures (
    erasure_id TEXT NOT NULL, group_id TEXT NOT NULL, kind TEXT NOT NULL, asked_ms INTEGER NOT NULL,
    uuid TEXT NOT NULL, removed TEXT, completed_ms INTEGER, so_far TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (erasure_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_open ON erasures (asked_ms) WHERE completed_ms IS NULL;
CREATE INDEX erasures_asked ON erasures (asked_ms);

-- What vouches for files of search indexes, by group name: a deleted group's are gone at once.
CREATE TABLE index_proofs (number INTEGER PRIMARY KEY, group_id TEXT NOT NULL, proof TEXT NOT NULL) STRICT;
CREATE INDEX index_proofs_group ON index_proofs (group_id, number);

CREATE TABLE episodes (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, uuid TEXT NOT NULL, source TEXT NOT NULL,
    reference_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL, name TEXT, source_description TEXT,
    role_type TEXT, role TEXT, content_hash TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (uuid, gid)
) STRICT;
CREATE INDEX episodes_time ON episodes (gid, source, reference_ms, uuid);

-- What models were paid for an item; `previous`: which episodes it names as its context; `warnings`: what was
-- put right or left out in what a model answered about it, both JSON lists. `request_id` is for the logs,
-- `trace` for spans.
CREATE TABLE items (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, uuid TEXT NOT NULL, content_hash TEXT NOT NULL,
    rid INTEGER NOT NULL, state TEXT NOT NULL, reference_ms INTEGER NOT NULL, accepted_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL, next_ms INTEGER, bytes INTEGER NOT NULL,
    started INTEGER NOT NULL DEFAULT 0, suspect INTEGER NOT NULL DEFAULT 0,
    extract_attempts INTEGER NOT NULL DEFAULT 0, embed_attempts INTEGER NOT NULL DEFAULT 0,
    upsert_attempts INTEGER NOT NULL DEFAULT 0, crash_attempts INTEGER NOT NULL DEFAULT 0, step TEXT,
    reason TEXT, calls INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0, previous TEXT NOT NULL DEFAULT '[]',
    warnings TEXT NOT NULL DEFAULT '[]', request_id TEXT NOT NULL DEFAULT '',
    trace TEXT NOT NULL DEFAULT '', UNIQUE (gid, uuid)
) STRICT;
CREATE INDEX items_due ON items (gid, next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX items_work ON items (gid, reference_ms, uuid, next_ms, suspect, bytes) WHERE next_ms IS NOT NULL;
CREATE INDEX items_age ON items (accepted_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX items_started ON items (gid) WHERE started > 0;
CREATE INDEX items_suspect ON items (gid, reference_ms, uuid) WHERE suspect = 1;
CREATE INDEX items_parked ON items (gid) WHERE state = 'parked';
CREATE TABLE stages (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;

CREATE TABLE receipts (
    rid INTEGER PRIMARY KEY AUTOINCREMENT, receipt_id TEXT NOT NULL UNIQUE, group_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL, size INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_age ON receipts (created_ms, rid);
CREATE TABLE receipt_items (
    rid INTEGER NOT NULL, pos INTEGER NOT NULL, item_id INTEGER NOT NULL, uuid TEXT NOT NULL,
    duplicate INTEGER NOT NULL, PRIMARY KEY (rid, pos)
) STRICT, WITHOUT ROWID;
CREATE TABLE answers (
    gid INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, input_hash TEXT NOT NULL,
    rid INTEGER, items TEXT NOT NULL, expires_ms INTEGER NOT NULL, PRIMARY KEY (gid, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_expiry ON answers (expires_ms);

-- Counters of quotas, and what an item holds of them (counts.py).
CREATE TABLE quotas (
    subject TEXT NOT NULL, counted TEXT NOT NULL, day INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (subject, counted, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota_items (
    id INTEGER NOT NULL, subject TEXT NOT NULL, counted TEXT NOT NULL, day INTEGER NOT NULL,
    held INTEGER NOT NULL, PRIMARY KEY (id, subject, counted)
) STRICT, WITHOUT ROWID;

-- Their records as JSON, where the chunks of their texts stand, and which episodes are chunks of theirs.
-- `open`: chunks of former texts may still speak.
CREATE TABLE documents (
    gid INTEGER NOT NULL, document_id TEXT NOT NULL, latest INTEGER NOT NULL, data TEXT NOT NULL,
    places TEXT NOT NULL DEFAULT '', open INTEGER NOT NULL, PRIMARY KEY (gid, document_id)
) STRICT;
CREATE INDEX documents_open ON documents (gid, document_id) WHERE open = 1;
CREATE TABLE former_texts (
    gid INTEGER NOT NULL, document_id TEXT NOT NULL, revision INTEGER NOT NULL, places TEXT NOT NULL,
    PRIMARY KEY (gid, document_id, revision)
) STRICT;
CREATE TABLE document_chunks (
    gid INTEGER NOT NULL, uuid TEXT NOT NULL, document_id TEXT NOT NULL, active INTEGER NOT NULL,
    PRIMARY KEY (gid, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_chunks_document ON document_chunks (gid, document_id, uuid);

-- `rev` is the revision that changed a row, for whoever follows. Vectors of the passages of a chunk stand one
-- behind the other.
CREATE TABLE entities (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, uuid TEXT NOT NULL, name TEXT NOT NULL,
    created_ms INTEGER NOT NULL, summary TEXT NOT NULL, attributes TEXT NOT NULL, labels TEXT NOT NULL,
    source_episode_uuid TEXT NOT NULL, updated_ms INTEGER NOT NULL, stamps TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '{}', rev INTEGER NOT NULL DEFAULT 0, UNIQUE (uuid, gid)
) STRICT;
CREATE INDEX entities_rev ON entities (gid, rev);
CREATE TABLE names (
    gid INTEGER NOT NULL, name_key TEXT NOT NULL, entity_id INTEGER NOT NULL, PRIMARY KEY (gid, name_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_entity ON names (entity_id);
CREATE TABLE name_tokens (
    gid INTEGER NOT NULL, token TEXT NOT NULL, uuid TEXT NOT NULL, PRIMARY KEY (gid, token, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX name_tokens_owner ON name_tokens (gid, uuid);

-- What an episode calls what it names, JSON lists.
CREATE TABLE mentions (
    episode_id INTEGER NOT NULL, entity_id INTEGER NOT NULL, uuid TEXT NOT NULL,
    created_ms INTEGER NOT NULL, names TEXT NOT NULL DEFAULT '[]', types TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (episode_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity_id);

CREATE TABLE facts (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, rev INTEGER NOT NULL, uuid TEXT NOT NULL,
    source_id INTEGER NOT NULL, target_id INTEGER NOT NULL, name TEXT NOT NULL, fact TEXT NOT NULL,
    source_name TEXT NOT NULL, target_name TEXT NOT NULL, created_ms INTEGER NOT NULL,
    reference_ms INTEGER NOT NULL, slot TEXT NOT NULL, fact_key TEXT NOT NULL, valid_ms INTEGER,
    invalid_ms INTEGER, expired_ms INTEGER, kind TEXT NOT NULL, polarity TEXT NOT NULL,
    qualifiers TEXT NOT NULL, keywords TEXT NOT NULL, weight REAL NOT NULL, episodes TEXT NOT NULL,
    evidence TEXT NOT NULL, expired_by_fact TEXT, expired_by_episode TEXT, expired_reason TEXT,
    invalid_before_ms INTEGER, attributes TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '{}',
    UNIQUE (uuid, gid)
) STRICT;
CREATE INDEX facts_rev ON facts (gid, rev);
CREATE INDEX facts_slot ON facts (gid, slot);
-- The facts of an entity, the open ones first, and of a pair among those of one end: a new fact changes a
-- page of each of the two, somewhere in the file.
CREATE INDEX facts_of_source
    ON facts (source_id, expired_ms, coalesce(valid_ms, reference_ms), uuid, target_id);
CREATE INDEX facts_of_target
    ON facts (target_id, expired_ms, coalesce(valid_ms, reference_ms), uuid, source_id);
-- For retention: those that ended before a time; those that were replaced or withdrawn.
CREATE INDEX facts_ended ON facts (gid, invalid_ms, uuid) WHERE invalid_ms IS NOT NULL;
CREATE INDEX facts_expired ON facts (gid, expired_ms, uuid) WHERE expired_ms IS NOT NULL;
CREATE TABLE fact_tombstones (
    gid INTEGER NOT NULL, uuid TEXT NOT NULL, slot TEXT NOT NULL, fact TEXT NOT NULL,
    deleted_ms INTEGER NOT NULL, rev INTEGER NOT NULL, PRIMARY KEY (gid, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_tombstones_rev ON fact_tombstones (gid, rev);
CREATE INDEX fact_tombstones_slot ON fact_tombstones (gid, slot);
CREATE TABLE episode_edges (id INTEGER PRIMARY KEY, facts TEXT NOT NULL) STRICT;

-- Episodes that are in the graph; bodies are not written twice for it.
CREATE TABLE found_episodes (id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, rev INTEGER NOT NULL) STRICT;
CREATE INDEX found_episodes_rev ON found_episodes (gid, rev);CREATE TABLE text_tombstones (
    gid INTEGER NOT NULL, kind TEXT NOT NULL, uuid TEXT NOT NULL, rev INTEGER NOT NULL,
    PRIMARY KEY (gid, kind, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX text_tombstones_rev ON text_tombstones (gid, rev);

-- Which episodes closed which facts of other slots.
CREATE TABLE closures (
    gid INTEGER NOT NULL, by_episode TEXT NOT NULL, fact_id INTEGER NOT NULL,
    PRIMARY KEY (gid, by_episode, fact_id)
) STRICT, WITHOUT ROWID;

-- Entities that went into others, what is needed to take that back, and the episode that told them to be one.
CREATE TABLE merges (
    gid INTEGER NOT NULL, merge_id TEXT NOT NULL, merged_uuid TEXT NOT NULL, kept_uuid TEXT NOT NULL,
    created_ms INTEGER NOT NULL, data TEXT NOT NULL, by_episode TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (gid, merge_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX merges_merged ON merges (merged_uuid, gid);
CREATE INDEX merges_kept ON merges (kept_uuid, gid);
CREATE INDEX merges_time ON merges (gid, created_ms DESC, merge_id);
CREATE INDEX merges_told ON merges (gid, by_episode) WHERE by_episode <> '';

CREATE TABLE fact_vectors (id INTEGER PRIMARY KEY, space TEXT NOT NULL, vector BLOB NOT NULL) STRICT;
CREATE TABLE entity_vectors (
    id INTEGER PRIMARY KEY, space TEXT NOT NULL, vector BLOB NOT NULL, rev INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX entity_vectors_rev ON entity_vectors (id >> 32, rev);  -- ID_BITS
CREATE TABLE passage_vectors (id INTEGER PRIMARY KEY, space TEXT NOT NULL, vectors BLOB NOT NULL) STRICT;
-- What facts are found by while their group is not in memory (cold_search.py).
CREATE TABLE fact_words (
    id INTEGER PRIMARY KEY, start_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, own BLOB NOT NULL,
    source BLOB NOT NULL, target BLOB NOT NULL
) STRICT;

-- A build that is not over has `next_ms`; a group has one of them at most. Rows of `communities` are those of
-- every build; `community_current` names the one that is read, and the revision at which what its communities
-- are found by last changed.
CREATE TABLE community_builds (
    gid INTEGER NOT NULL, build_id TEXT NOT NULL, state TEXT NOT NULL, created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL, next_ms INTEGER, attempts INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0, owner_id TEXT, renewals INTEGER NOT NULL DEFAULT 0,
    drafted INTEGER NOT NULL DEFAULT 0, found INTEGER NOT NULL DEFAULT 0,
    summarised INTEGER NOT NULL DEFAULT 0, reason TEXT, PRIMARY KEY (gid, build_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX community_builds_open ON community_builds (gid) WHERE next_ms IS NOT NULL;
CREATE INDEX community_builds_due ON community_builds (next_ms) WHERE next_ms IS NOT NULL;
CREATE TABLE community_current (
    gid INTEGER PRIMARY KEY, build_id TEXT NOT NULL, followed_rev INTEGER NOT NULL DEFAULT 0,
    rev INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE communities (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, build_id TEXT NOT NULL, uuid TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '', summary TEXT NOT NULL DEFAULT '', created_ms INTEGER NOT NULL,
    plan TEXT NOT NULL, described INTEGER NOT NULL DEFAULT 0, UNIQUE (gid, build_id, uuid)
) STRICT;
CREATE INDEX communities_plain ON communities (gid, build_id, uuid) WHERE described = 0;
CREATE TABLE community_members (
    community_id INTEGER NOT NULL, entity_id INTEGER NOT NULL, PRIMARY KEY (community_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX community_members_entity ON community_members (entity_id);
CREATE TABLE community_facts (
    community_id INTEGER NOT NULL, fact_id INTEGER NOT NULL, PRIMARY KEY (community_id, fact_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX community_facts_fact ON community_facts (fact_id);
CREATE TABLE community_vectors (id INTEGER PRIMARY KEY, space TEXT NOT NULL, vector BLOB NOT NULL) STRICT;

-- Groups in which something may lack a vector (fill_protocol.py), and vectors of the space that a group goes
-- over to, by the id of their row, whatever that is.
CREATE TABLE fills (
    gid INTEGER PRIMARY KEY, next_ms INTEGER NOT NULL, token INTEGER NOT NULL DEFAULT 0, owner_id TEXT,
    renewals INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
    after_rev INTEGER NOT NULL DEFAULT 0, after_uuid TEXT NOT NULL DEFAULT '',
    facts_rev INTEGER NOT NULL DEFAULT 0, space TEXT NOT NULL DEFAULT '', embedded INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX fills_due ON fills (next_ms);
CREATE TABLE next_vectors (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, space TEXT NOT NULL, vector BLOB NOT NULL
) STRICT;

-- Groups that are being imported: their rows have a gid that no group has yet, so that nobody sees them.
CREATE TABLE imports (
    group_id TEXT PRIMARY KEY, gid INTEGER NOT NULL UNIQUE, import_id TEXT NOT NULL, epoch INTEGER NOT NULL,
    lines INTEGER NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 0, last_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Modes of the service that are on, and groups whose items wait.
CREATE TABLE modes (name TEXT PRIMARY KEY, since_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE paused_groups (
    group_id TEXT PRIMARY KEY, since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
