"""What an embedded store counts beside its rows, compared with the rows."""

from pathlib import Path

import apsw

_WRONG = """
    SELECT 'unfinished', unfinished, (SELECT count(*) FROM items WHERE next_ms IS NOT NULL) AS found
        FROM totals WHERE unfinished <> found
    UNION ALL
    SELECT 'parked', parked, (
        SELECT count(*) FROM items WHERE state = 'parked' AND reason IS NOT 'group_deleted') AS found
        FROM totals WHERE parked <> found
    UNION ALL
    SELECT counted || ' of ' || subject, used, (
        SELECT coalesce(sum(held), 0) FROM quota_items i
        WHERE i.subject = q.subject AND i.counted = q.counted AND i.day = q.day) AS found
        FROM quotas q WHERE used < found OR counted = 'bytes' AND used > found
    """
_LEFT = {  # rows that hang on others, which are gone
    "fact_vectors": "facts",
    "fact_words": "facts",
    "entity_vectors": "entities",
    "found_episodes": "episodes",
    "passage_vectors": "episodes",
    "stages": "episodes",
    "quota_items": "items",
    "community_vectors": "communities",
}


def check_counts(directory: Path) -> None:
    """Every number is that of the rows, and nothing is left of rows that went."""
    db = apsw.Connection(str(directory / "kgsvc.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        assert db.execute(_WRONG).fetchall() == []
        for table, owner in _LEFT.items():
            left = f"SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM {owner})"
            assert db.execute(left).fetchall() == [], table
    finally:
        db.close()
