"""Temporary views of each connection: how rows become domain objects (rows.py), in one place.

They belong to the binary, not to the schema, so that binaries of two versions may share a file. The live_*
join `groups` by gid: content of a deleted group is invisible before it is removed.
`open_groups` takes one step along items_due for each group with unfinished items, however many it has.
"""

VIEWS = """
CREATE TEMP VIEW live_episodes AS
SELECT e.id, e.gid, e.uuid, g.group_id, e.body, e.source, e.reference_ms, e.created_ms, e.name,
       e.source_description, e.role_type, e.role, e.content_hash
FROM episodes e JOIN groups g ON g.gid = e.gid;

CREATE TEMP VIEW live_entities AS
SELECT n.id, n.gid, n.uuid, g.group_id, n.name, n.created_ms, n.summary, n.attributes, n.labels,
       n.source_episode_uuid, n.updated_ms, n.stamps, n.detail
FROM entities n JOIN groups g ON g.gid = n.gid;

CREATE TEMP VIEW live_facts AS
SELECT f.id, f.gid, f.rev, f.uuid, g.group_id, f.name, f.fact, s.uuid AS source_uuid,
       t.uuid AS target_uuid, f.source_name, f.target_name, f.created_ms, f.reference_ms, f.slot, f.fact_key,
       f.valid_ms, f.invalid_ms, f.expired_ms, f.kind, f.polarity, f.qualifiers, f.keywords, f.weight,
       f.episodes, f.evidence, f.expired_by_fact, f.expired_by_episode, f.expired_reason,
       f.invalid_before_ms, f.attributes, f.detail
FROM facts f JOIN groups g ON g.gid = f.gid
JOIN entities s ON s.id = f.source_id JOIN entities t ON t.id = f.target_id;

CREATE TEMP VIEW all_items AS
SELECT i.id, i.gid, g.group_id, i.uuid, i.state, r.receipt_id, i.updated_ms, e.name,
       CASE i.step WHEN 'extract' THEN i.extract_attempts WHEN 'embed' THEN i.embed_attempts
                   WHEN 'upsert' THEN i.upsert_attempts ELSE 0 END AS attempts,
       i.step, i.reason, i.content_hash, i.rid, i.next_ms, d.deleted_ms, i.calls, i.prompt_tokens,
       i.completion_tokens
FROM items i JOIN receipts r ON r.rid = i.rid LEFT JOIN groups g ON g.gid = i.gid
LEFT JOIN dead_groups d ON d.gid = i.gid LEFT JOIN episodes e ON e.id = i.id;

CREATE TEMP VIEW live_items AS SELECT * FROM all_items WHERE group_id IS NOT NULL;

CREATE TEMP VIEW open_groups AS
WITH RECURSIVE step (gid) AS (
    SELECT min(gid) FROM items WHERE next_ms IS NOT NULL
    UNION ALL
    SELECT (SELECT min(gid) FROM items WHERE next_ms IS NOT NULL AND gid > s.gid)
    FROM step s WHERE s.gid IS NOT NULL
)
SELECT g.gid, g.group_id, g.token, g.owner_id, g.renewals, g.served_ms,
       (SELECT min(next_ms) FROM items i WHERE i.gid = s.gid AND i.next_ms IS NOT NULL) AS due_ms
FROM step s JOIN groups g ON g.gid = s.gid;
"""
