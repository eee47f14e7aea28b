"""The tables of communities and their builds; a migration of schema.py.

A build that is not over has `next_ms`, and there is one of them at most in a group. Rows of `communities` are
those of every build; `community_current` names the one that is read. What a community's description was
composed from is remembered: when a fact or a hub of it is removed for good, their words go too.
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
