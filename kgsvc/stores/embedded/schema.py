"""The tables, as numbered migrations.

The id of a row carries its group's gid in the upper bits: whole groups are read and removed by a span of ids.
A build of communities that is not over has `next_ms`; a group has one of them at most. Rows of `communities`
are those of every build; `community_current` names the one that is read. When a fact that a description was
written from is removed, or an entity at its centre, triggers drop the description.
"""

COMMUNITIES = """
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
    gid INTEGER PRIMARY KEY, build_id TEXT NOT NULL, followed_rev INTEGER NOT NULL DEFAULT 0
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

CREATE TRIGGER entities_left AFTER DELETE ON entities BEGIN
    DELETE FROM community_vectors WHERE id IN (
        SELECT c.id FROM community_members m JOIN communities c ON c.id = m.community_id
        WHERE m.entity_id = old.id AND old.uuid IN (SELECT value FROM json_each(c.plan, '$[0]'))
    );
    UPDATE communities SET name = '', summary = '' WHERE id IN (
        SELECT c.id FROM community_members m JOIN communities c ON c.id = m.community_id
        WHERE m.entity_id = old.id AND old.uuid IN (SELECT value FROM json_each(c.plan, '$[0]'))
    );
    DELETE FROM community_members WHERE entity_id = old.id;
END;
CREATE TRIGGER facts_left AFTER DELETE ON facts BEGIN
    UPDATE communities SET summary = ''
        WHERE id IN (SELECT community_id FROM community_facts WHERE fact_id = old.id);
    DELETE FROM community_facts WHERE fact_id = old.id;
END;
"""


ID_BITS = 32

_FIRST = """
CREATE TABLE versions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;

CREATE TABLE totals (
    id INTEGER PRIMARY KEY CHECK (id = 1), unfinished INTEGER NOT NULL, parked INTEGER NOT NULL,
    activity INTEGER NOT NULL, last_gid INTEGER NOT NULL
) STRICT;
INSERT INTO totals VALUES (1, 0, 0, 0, 0);

CREATE TABLE groups (
    group_id TEXT PRIMARY KEY, gid INTEGER NOT NULL UNIQUE, epoch INTEGER NOT NULL DEFAULT 0,
    rev INTEGER NOT NULL DEFAULT 0, last_ms INTEGER NOT NULL DEFAULT 0, last_id INTEGER NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0, owner_id TEXT, renewals INTEGER NOT NULL DEFAULT 0,
    served_ms INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE dead_groups (
    gid INTEGER PRIMARY KEY, deleted_ms INTEGER NOT NULL, items_upto INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE episodes (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, uuid TEXT NOT NULL, source TEXT NOT NULL,
    reference_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL, name TEXT, source_description TEXT,
    role_type TEXT, role TEXT, content_hash TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (uuid, gid)
) STRICT;
CREATE INDEX episodes_time ON episodes (gid, source, reference_ms, uuid);
CREATE TABLE episode_edges (id INTEGER PRIMARY KEY, facts TEXT NOT NULL) STRICT;

CREATE TABLE items (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, uuid TEXT NOT NULL, content_hash TEXT NOT NULL,
    rid INTEGER NOT NULL, state TEXT NOT NULL, reference_ms INTEGER NOT NULL, accepted_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL, next_ms INTEGER, bytes INTEGER NOT NULL,
    started INTEGER NOT NULL DEFAULT 0, suspect INTEGER NOT NULL DEFAULT 0,
    extract_attempts INTEGER NOT NULL DEFAULT 0, embed_attempts INTEGER NOT NULL DEFAULT 0,
    upsert_attempts INTEGER NOT NULL DEFAULT 0, crash_attempts INTEGER NOT NULL DEFAULT 0, step TEXT,
    reason TEXT, UNIQUE (gid, uuid)
) STRICT;
CREATE INDEX items_due ON items (gid, next_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX items_work ON items (gid, reference_ms, uuid, next_ms, suspect, bytes) WHERE next_ms IS NOT NULL;
CREATE INDEX items_age ON items (accepted_ms) WHERE next_ms IS NOT NULL;
CREATE INDEX items_started ON items (gid) WHERE started > 0;
CREATE INDEX items_suspect ON items (gid, reference_ms, uuid) WHERE suspect = 1;
CREATE INDEX items_parked ON items (gid) WHERE state = 'parked';
CREATE TABLE stages (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;

CREATE TRIGGER items_counted AFTER INSERT ON items BEGIN
    UPDATE totals SET unfinished = unfinished + (new.next_ms IS NOT NULL), activity = activity + 1;
END;
CREATE TRIGGER items_recounted AFTER UPDATE OF state, next_ms ON items BEGIN
    UPDATE totals SET activity = activity + 1,
        unfinished = unfinished + (new.next_ms IS NOT NULL) - (old.next_ms IS NOT NULL),
        parked = parked + (new.state = 'parked' AND new.reason IS NOT 'group_deleted')
            - (old.state = 'parked' AND old.reason IS NOT 'group_deleted');
END;
CREATE TRIGGER items_uncounted AFTER DELETE ON items BEGIN
    UPDATE totals SET activity = activity + 1, unfinished = unfinished - (old.next_ms IS NOT NULL),
        parked = parked - (old.state = 'parked' AND old.reason IS NOT 'group_deleted');
END;

CREATE TABLE receipts (
    rid INTEGER PRIMARY KEY, receipt_id TEXT NOT NULL UNIQUE, group_id TEXT NOT NULL,
    created_ms INTEGER NOT NULL, size INTEGER NOT NULL
) STRICT;
CREATE TABLE receipt_items (
    rid INTEGER NOT NULL, pos INTEGER NOT NULL, item_id INTEGER NOT NULL, uuid TEXT NOT NULL,
    duplicate INTEGER NOT NULL, PRIMARY KEY (rid, pos)
) STRICT, WITHOUT ROWID;
CREATE TABLE answers (
    gid INTEGER NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, input_hash TEXT NOT NULL,
    rid INTEGER, items TEXT NOT NULL, expires_ms INTEGER NOT NULL, PRIMARY KEY (gid, operation, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_expiry ON answers (expires_ms);

CREATE TABLE entities (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, uuid TEXT NOT NULL, name TEXT NOT NULL,
    created_ms INTEGER NOT NULL, summary TEXT NOT NULL, attributes TEXT NOT NULL, labels TEXT NOT NULL,
    source_episode_uuid TEXT NOT NULL, updated_ms INTEGER NOT NULL, stamps TEXT NOT NULL, UNIQUE (uuid, gid)
) STRICT;
CREATE TABLE names (
    gid INTEGER NOT NULL, name_key TEXT NOT NULL, entity_id INTEGER NOT NULL, PRIMARY KEY (gid, name_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE mentions (
    episode_id INTEGER NOT NULL, entity_id INTEGER NOT NULL, uuid TEXT NOT NULL,
    created_ms INTEGER NOT NULL, PRIMARY KEY (episode_id, entity_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE facts (
    id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, rev INTEGER NOT NULL, uuid TEXT NOT NULL,
    source_id INTEGER NOT NULL, target_id INTEGER NOT NULL, name TEXT NOT NULL, fact TEXT NOT NULL,
    source_name TEXT NOT NULL, target_name TEXT NOT NULL, created_ms INTEGER NOT NULL,
    reference_ms INTEGER NOT NULL, slot TEXT NOT NULL, fact_key TEXT NOT NULL, valid_ms INTEGER,
    invalid_ms INTEGER, expired_ms INTEGER, kind TEXT NOT NULL, polarity TEXT NOT NULL,
    qualifiers TEXT NOT NULL, keywords TEXT NOT NULL, weight REAL NOT NULL, episodes TEXT NOT NULL,
    evidence TEXT NOT NULL, expired_by_fact TEXT, expired_by_episode TEXT, expired_reason TEXT,
    invalid_before_ms INTEGER, attributes TEXT NOT NULL, UNIQUE (uuid, gid)
) STRICT;
CREATE INDEX facts_rev ON facts (gid, rev);
CREATE INDEX facts_slot ON facts (gid, slot);
CREATE INDEX facts_source ON facts (source_id);
CREATE INDEX facts_target ON facts (target_id);
CREATE TABLE fact_tombstones (
    gid INTEGER NOT NULL, uuid TEXT NOT NULL, slot TEXT NOT NULL, fact TEXT NOT NULL,
    deleted_ms INTEGER NOT NULL, rev INTEGER NOT NULL, PRIMARY KEY (gid, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_tombstones_rev ON fact_tombstones (gid, rev);
CREATE INDEX fact_tombstones_slot ON fact_tombstones (gid, slot);

CREATE TABLE fact_vectors (id INTEGER PRIMARY KEY, space TEXT NOT NULL, vector BLOB NOT NULL) STRICT;
CREATE TABLE entity_vectors (id INTEGER PRIMARY KEY, space TEXT NOT NULL, vector BLOB NOT NULL) STRICT;
"""

# JSON objects of fields that nothing in the database asks for; absent keys are defaults.
_DETAIL = """
ALTER TABLE entities ADD COLUMN detail TEXT NOT NULL DEFAULT '{}';
ALTER TABLE facts ADD COLUMN detail TEXT NOT NULL DEFAULT '{}';
"""

# The number outlives what it counts, so that no reader takes a new ontology for one that it knows.
_ONTOLOGIES = """
ALTER TABLE groups ADD COLUMN ontology_rev INTEGER NOT NULL DEFAULT 0;
CREATE TABLE ontologies (gid INTEGER PRIMARY KEY, yaml TEXT NOT NULL) STRICT;
"""

# What hangs on an entity.
_HANGING = """
CREATE INDEX mentions_entity ON mentions (entity_id);
CREATE INDEX names_entity ON names (entity_id);
"""

# What new names and facts are compared with: entities by tokens of their names, facts that are not expired.
_NAME_TOKENS = """
CREATE TABLE name_tokens (
    gid INTEGER NOT NULL, token TEXT NOT NULL, uuid TEXT NOT NULL, PRIMARY KEY (gid, token, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_open ON facts (source_id, coalesce(valid_ms, reference_ms), uuid)
    WHERE expired_ms IS NULL;
CREATE INDEX facts_open_pair ON facts (source_id, target_id, coalesce(valid_ms, reference_ms), uuid)
    WHERE expired_ms IS NULL;
"""

# What models were paid for an item; which episodes it names as its context, a JSON list.
_SPENT = """
ALTER TABLE items ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE items ADD COLUMN previous TEXT NOT NULL DEFAULT '[]';
"""

# Which episodes closed which facts of other slots; what is found by name of an entity that goes.
_CLOSURES = """
CREATE INDEX name_tokens_owner ON name_tokens (gid, uuid);
CREATE TABLE closures (
    gid INTEGER NOT NULL, by_episode TEXT NOT NULL, fact_id INTEGER NOT NULL,
    PRIMARY KEY (gid, by_episode, fact_id)
) STRICT, WITHOUT ROWID;
"""

# Entities that went into others, and what is needed to take that back.
_MERGES = """
CREATE TABLE merges (
    gid INTEGER NOT NULL, merge_id TEXT NOT NULL, merged_uuid TEXT NOT NULL, kept_uuid TEXT NOT NULL,
    created_ms INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (gid, merge_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX merges_merged ON merges (merged_uuid, gid);
"""

# Vectors of names by the revision that wrote them, for whoever follows them; the older ones come first.
_NAME_VECTORS = f"""
ALTER TABLE entity_vectors ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
CREATE INDEX entity_vectors_rev ON entity_vectors (id >> {ID_BITS}, rev);
"""

# Which episode told two entities to be one; what an episode calls what it names, JSON lists.
_TOLD = """
ALTER TABLE merges ADD COLUMN by_episode TEXT NOT NULL DEFAULT '';
CREATE INDEX merges_told ON merges (gid, by_episode) WHERE by_episode <> '';
ALTER TABLE mentions ADD COLUMN names TEXT NOT NULL DEFAULT '[]';
ALTER TABLE mentions ADD COLUMN types TEXT NOT NULL DEFAULT '[]';
"""

# Entities and episodes in the graph by the revision that changed them; bodies are not written twice for it.
# Older rows are spread over the revisions that the group has had, so that no page holds them all.
_TEXTS = f"""
ALTER TABLE entities ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
CREATE TABLE found_episodes (id INTEGER PRIMARY KEY, gid INTEGER NOT NULL, rev INTEGER NOT NULL) STRICT;
UPDATE groups SET rev = 1 WHERE rev = 0;
UPDATE entities SET rev = 1 + (id & {(1 << ID_BITS) - 1}) % g.rev FROM groups g WHERE g.gid = entities.gid;
INSERT INTO found_episodes (id, gid, rev)
    SELECT i.id, i.gid, 1 + (i.id & {(1 << ID_BITS) - 1}) % g.rev FROM items i JOIN groups g ON g.gid = i.gid
    WHERE i.state IN ('upserted', 'completed');
CREATE INDEX entities_rev ON entities (gid, rev);
CREATE INDEX found_episodes_rev ON found_episodes (gid, rev);
CREATE TRIGGER episodes_left AFTER DELETE ON episodes BEGIN
    DELETE FROM found_episodes WHERE id = old.id;
END;
CREATE TABLE text_tombstones (
    gid INTEGER NOT NULL, kind TEXT NOT NULL, uuid TEXT NOT NULL, rev INTEGER NOT NULL,
    PRIMARY KEY (gid, kind, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX text_tombstones_rev ON text_tombstones (gid, rev);
"""

# The revision at which the communities in force last changed in what they are found by.
_COMMUNITY_TEXTS = """
ALTER TABLE community_current ADD COLUMN rev INTEGER NOT NULL DEFAULT 0;
UPDATE community_current SET rev = g.rev FROM groups g WHERE g.gid = community_current.gid;
"""

# What facts are found by while their group is not in memory (cold_search.py). Older groups have no words.
_FACT_WORDS = """
CREATE TABLE fact_words (
    id INTEGER PRIMARY KEY, start_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL, own BLOB NOT NULL,
    source BLOB NOT NULL, target BLOB NOT NULL
) STRICT;
CREATE TRIGGER fact_words_left AFTER DELETE ON facts BEGIN
    DELETE FROM fact_words WHERE id = old.id;
END;
ALTER TABLE groups ADD COLUMN has_words INTEGER NOT NULL DEFAULT 0;
"""

_OF_TARGET = """
CREATE INDEX facts_open_target ON facts (target_id, coalesce(valid_ms, reference_ms), uuid)
    WHERE expired_ms IS NULL;
"""

# What was put right or left out in what a model answered about an item, a JSON list.
_WARNINGS = """
ALTER TABLE items ADD COLUMN warnings TEXT NOT NULL DEFAULT '[]';
"""

# The rows are folded by admin.py.
_ENDS = "-- ends are part of the relations that ended"

# What was erased; `removed` holds counts as a JSON object once the rows are gone.
_ERASURES = """
CREATE TABLE erasures (
    erasure_id TEXT NOT NULL, group_id TEXT NOT NULL, kind TEXT NOT NULL, asked_ms INTEGER NOT NULL,
    uuid TEXT NOT NULL, removed TEXT, completed_ms INTEGER, PRIMARY KEY (erasure_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX erasures_open ON erasures (asked_ms) WHERE completed_ms IS NULL;
CREATE INDEX erasures_asked ON erasures (asked_ms);
"""

# Of the call that brought an item, for the logs.
_REQUESTS = """
ALTER TABLE items ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
"""

# Documents: their records as JSON, and which episodes are chunks of theirs. `open`: chunks of former texts
# may still speak.
_DOCUMENTS = """
CREATE TABLE documents (
    gid INTEGER NOT NULL, document_id TEXT NOT NULL, latest INTEGER NOT NULL, data TEXT NOT NULL,
    places TEXT NOT NULL DEFAULT '', open INTEGER NOT NULL, PRIMARY KEY (gid, document_id)
) STRICT;
CREATE INDEX documents_open ON documents (gid, document_id) WHERE open = 1;
CREATE TABLE document_chunks (
    gid INTEGER NOT NULL, uuid TEXT NOT NULL, document_id TEXT NOT NULL, active INTEGER NOT NULL,
    PRIMARY KEY (gid, uuid)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_chunks_document ON document_chunks (gid, document_id, uuid);
"""

# Counters of quotas, and what an item holds of them: bytes, and tokens, which are first what is set aside for
# it, then what was spent. The triggers settle that with whatever happens to the item.
_QUOTAS = """
CREATE TABLE quotas (
    subject TEXT NOT NULL, counted TEXT NOT NULL, day INTEGER NOT NULL, used INTEGER NOT NULL,
    PRIMARY KEY (subject, counted, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE quota_items (
    id INTEGER NOT NULL, subject TEXT NOT NULL, counted TEXT NOT NULL, day INTEGER NOT NULL,
    held INTEGER NOT NULL, PRIMARY KEY (id, subject, counted)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER quotas_settled AFTER UPDATE OF next_ms, prompt_tokens, completion_tokens ON items
WHEN EXISTS (SELECT 1 FROM quota_items WHERE id = new.id AND counted = 'model_tokens') BEGIN
    UPDATE quota_items SET held = max(
        new.prompt_tokens + new.completion_tokens, CASE WHEN new.next_ms IS NULL THEN 0 ELSE held END
    ) WHERE id = new.id AND counted = 'model_tokens';
END;
CREATE TRIGGER quotas_ended AFTER DELETE ON items BEGIN
    UPDATE quota_items SET held = old.prompt_tokens + old.completion_tokens
    WHERE id = old.id AND counted = 'model_tokens';
END;
CREATE TRIGGER quotas_recounted AFTER UPDATE OF held ON quota_items BEGIN
    UPDATE quotas SET used = used + new.held - old.held
    WHERE subject = new.subject AND counted = new.counted AND day = new.day;
END;
CREATE TRIGGER quotas_released AFTER DELETE ON episodes BEGIN
    UPDATE quota_items SET held = 0 WHERE id = old.id AND counted = 'bytes';
    UPDATE quota_items SET held = coalesce(
        (SELECT prompt_tokens + completion_tokens FROM items WHERE id = old.id), held
    ) WHERE id = old.id AND counted = 'model_tokens';
    DELETE FROM quota_items WHERE id = old.id;
END;
"""

# Vectors of the passages of chunks, one behind the other.
_PASSAGES = """
CREATE TABLE passage_vectors (id INTEGER PRIMARY KEY, space TEXT NOT NULL, vectors BLOB NOT NULL) STRICT;
CREATE TRIGGER passage_vectors_gone AFTER DELETE ON episodes BEGIN
    DELETE FROM passage_vectors WHERE id = old.id;
END;
"""

# For retention: the facts of a group that ended before a time.
_ENDED = """
CREATE INDEX facts_ended ON facts (gid, invalid_ms, uuid) WHERE invalid_ms IS NOT NULL;
"""

# For retention: facts that were replaced or withdrawn; counts of an erasure that goes on.
_EXPIRED = """
CREATE INDEX facts_expired ON facts (gid, expired_ms, uuid) WHERE expired_ms IS NOT NULL;
ALTER TABLE erasures ADD COLUMN so_far TEXT NOT NULL DEFAULT '{}';
"""

# What vouches for files of search indexes, by group name: a deleted group's are gone at once.
_PROOFS = """
CREATE TABLE index_proofs (number INTEGER PRIMARY KEY, group_id TEXT NOT NULL, proof TEXT NOT NULL) STRICT;
CREATE INDEX index_proofs_group ON index_proofs (group_id, number);
"""

# The facts of an entity in one index for each end instead of two, the open ones first: a new fact changes a
# page of each, somewhere in the file.
_ENDS_OF_FACTS = """
DROP INDEX facts_source;
DROP INDEX facts_target;
DROP INDEX facts_open;
DROP INDEX facts_open_target;
CREATE INDEX facts_of_source ON facts (source_id, expired_ms, coalesce(valid_ms, reference_ms), uuid);
CREATE INDEX facts_of_target ON facts (target_id, expired_ms, coalesce(valid_ms, reference_ms), uuid);
"""

# The facts of a pair of entities are looked for among those of one end, in its index alone.
_OTHER_ENDS = """
DROP INDEX facts_open_pair;
DROP INDEX facts_of_source;
DROP INDEX facts_of_target;
CREATE INDEX facts_of_source
    ON facts (source_id, expired_ms, coalesce(valid_ms, reference_ms), uuid, target_id);
CREATE INDEX facts_of_target
    ON facts (target_id, expired_ms, coalesce(valid_ms, reference_ms), uuid, source_id);
"""

_VALUES = "-- rows alone: admin.fold_again"

MIGRATIONS: tuple[str, ...] = (
    _FIRST, _DETAIL, _HANGING, COMMUNITIES, _ONTOLOGIES, _NAME_TOKENS, _SPENT, _CLOSURES,
    _MERGES, _NAME_VECTORS, _TOLD, _TEXTS, _COMMUNITY_TEXTS, _FACT_WORDS, _WARNINGS, _OF_TARGET, _ENDS,
    _ERASURES,
    _REQUESTS, _DOCUMENTS, _QUOTAS, _PASSAGES, _ENDED, _EXPIRED, _PROOFS, _ENDS_OF_FACTS,
    _OTHER_ENDS, _VALUES,
)  # fmt: skip
SCHEMA_VERSION = len(MIGRATIONS)
NAME_TOKENS_SINCE = MIGRATIONS.index(_NAME_TOKENS) + 1  # names of older stores have none yet
ENDS_SINCE = MIGRATIONS.index(_ENDS) + 1  # until then an end was a fact of its own
VALUES_SINCE = MIGRATIONS.index(_VALUES) + 1  # until then an end closed any value of its thing
