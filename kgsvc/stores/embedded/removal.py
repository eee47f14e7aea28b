"""Rows that go, with what hangs on each of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import LiteralString

import apsw

from kgsvc.stores.embedded.counts import count_items, release
from kgsvc.stores.embedded.rows import column, json_ids, one_row

_OF_FACTS = ("fact_vectors", "next_vectors", "fact_words", "facts")
_OF_ENTITIES = ("entity_vectors", "next_vectors", "entities")
_OF_EPISODES = ("episode_edges", "stages", "found_episodes", "passage_vectors", "next_vectors", "episodes")


def facts_go(db: apsw.Connection, ids: Collection[int]) -> None:
    """Facts, and what communities say of them."""
    drop_descriptions(db, facts=ids)
    _go(db, "community_facts", ids, key="fact_id")
    for table in _OF_FACTS:
        _go(db, table, ids)


def entities_go(db: apsw.Connection, ids: Collection[int]) -> None:
    """Entities with their names and mentions; their facts are gone or moved already."""
    drop_descriptions(db, entities=ids)
    for table in ("names", "mentions", "community_members"):
        _go(db, table, ids, key="entity_id")
    for table in _OF_ENTITIES:
        _go(db, table, ids)


def episodes_go(db: apsw.Connection, ids: Collection[int]) -> None:
    """Episodes with their items."""
    _go(db, "mentions", ids, key="episode_id")
    items_go(db, ids)
    for table in _OF_EPISODES:
        _go(db, table, ids)


def items_go(db: apsw.Connection, ids: Collection[int]) -> None:
    """Items of live groups, which count no more."""
    sql = """
        SELECT coalesce(sum(next_ms IS NOT NULL), 0), coalesce(sum(state = 'parked'), 0)
        FROM items WHERE id IN (SELECT value FROM json_each(?))
        """
    unfinished, parked = one_row(db, sql, (json_ids(ids),))
    release(db, ids)
    _go(db, "items", ids)
    count_items(db, -unfinished, -parked)


def communities_go(db: apsw.Connection, ids: Collection[int]) -> None:
    """Communities with their lists of members and facts."""
    for table in ("community_members", "community_facts"):
        _go(db, table, ids, key="community_id")
    for table in ("community_vectors", "next_vectors", "communities"):
        _go(db, table, ids)


def drop_descriptions(
    db: apsw.Connection, entities: Collection[int] = (), facts: Collection[int] = ()
) -> None:
    """Communities lose descriptions that speak of these: of an entity at their centre the name too."""
    described = """
        SELECT DISTINCT c.id FROM entities n JOIN community_members m ON m.entity_id = n.id
        JOIN communities c ON c.id = m.community_id
        WHERE n.id IN (SELECT value FROM json_each(?))
            AND n.uuid IN (SELECT value FROM json_each(c.plan, '$[0]'))
        """
    central = column(db, described, (json_ids(entities),)) if entities else []
    _go(db, "community_vectors", central)
    _go(db, "next_vectors", central)
    sql = "UPDATE communities SET name = '', summary = '' WHERE id IN (SELECT value FROM json_each(?))"
    db.execute(sql, (json_ids(central),))
    sql = """
        UPDATE communities SET summary = '' WHERE id IN (
            SELECT community_id FROM community_facts WHERE fact_id IN (SELECT value FROM json_each(?)))
        """
    db.execute(sql, (json_ids(facts),))


def _go(db: apsw.Connection, table: LiteralString, ids: Collection[int], key: LiteralString = "id") -> None:
    db.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(row_id,) for row_id in ids])
