"""What the database's own indexes find facts by: keys of terms, vectors as lists, and counts (part of apply).

On RELATES_TO, of groups whose record counts its `facts` (those begun since there are these properties):

terms         keys of the words of an open fact: its own, those of its source and of its target, each on a
              line; in the full-text index
past_terms    the same of a fact that was over when it was written; in no index, so that the past does not
              crowd out the present
term_count    how many of the keys are terms
shown         of an open fact: what a search shows (rows.shown_text)
scope         of an open fact with a vector: group and space; in the vector index beside the vector

KgTerm counts by key the facts that hold it, open or past; KgGroup all `facts` and their `fact_terms`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
from neo4j.vector import Vector

from kgsvc.domain.facts.terms import GroupKeys, own_text
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.stores.neo4j.rows import shown_text

# Columns 17 to 20 of a fact's row, after those of SET_FACT. A new vector comes later.
SET_TERMS: LiteralString = """
    SET r.terms = row[17], r.past_terms = row[18], r.term_count = row[19],
        r.scope = CASE WHEN row[17] IS NOT NULL THEN $p.scope + r.space END, r.shown = row[20]
    """

SET_VECTOR: LiteralString = """
    SET r.vector = row[1], r.space = $p.space, r.fact_embedding = toFloatList(row[2]),
        r.scope = CASE WHEN r.terms IS NOT NULL AND row[2] IS NOT NULL THEN $p.scope + $p.space END
    """

# Facts that the delta writes anyway are left out: their numbers are among `frequencies`.
RENAME_TERMS: LiteralString = """
    CALL (g) {
        UNWIND $p.renamed AS row
        CALL (g, row) {
            MATCH (n:Entity {uuid: row.uuid, group_id: $p.group_id, epoch: $p.epoch})
                USING INDEX SEEK n:Entity(uuid, group_id, epoch)
            MATCH (n)-[r:RELATES_TO]-()
            WHERE r.term_count IS NOT NULL AND NOT r.uuid IN $p.rewritten
            WITH r, startNode(r) = n AS source, endNode(r) = n AS target, r.term_count AS length,
                split(coalesce(r.terms, r.past_terms), '\\n') AS lines
            WITH r, length, lines[0] + ' ' + lines[1] + ' ' + lines[2] AS before,
                CASE WHEN source THEN lines[1] ELSE '' END + ' ' + CASE WHEN target THEN lines[2] ELSE '' END
                    AS gone,
                [lines[0], CASE WHEN source THEN row.keys ELSE lines[1] END,
                    CASE WHEN target THEN row.keys ELSE lines[2] END] AS lines
            WITH r, length, split(before, ' ') AS before, split(gone, ' ') AS gone,
                lines[0] + '\\n' + lines[1] + '\\n' + lines[2] AS terms,
                split(lines[0] + ' ' + lines[1] + ' ' + lines[2], ' ') AS after
            SET r.terms = CASE WHEN r.terms IS NOT NULL THEN terms END,
                r.past_terms = CASE WHEN r.past_terms IS NOT NULL THEN terms END
            SET r.term_count = size([key IN after WHERE key STARTS WITH 't'])
            WITH r.term_count - length AS longer,
                [at IN range(0, size(gone) - 1)
                    WHERE NOT gone[at] IN after AND NOT gone[at] IN gone[0..at] | [gone[at], -1]]
                + [key IN row.distinct WHERE NOT key IN before | [key, 1]] AS changes
            WITH sum(longer) AS longer, collect(changes) AS changed
            SET g.fact_terms = g.fact_terms + longer
            WITH changed
            UNWIND changed AS changes
            UNWIND changes AS change
            WITH change[0] AS key, sum(change[1]) AS facts WHERE key <> ''
            MERGE (k:KgTerm {group_id: $p.group_id, epoch: $p.epoch, key: key})
            SET k.facts = coalesce(k.facts, 0) + facts
        }
    }
    """

COUNT_TERMS: LiteralString = """
    CALL (g) {
        WITH g WHERE $p.indexed
        SET g.facts = coalesce(g.facts, 0) + $p.more_facts,
            g.fact_terms = coalesce(g.fact_terms, 0) + $p.more_terms
    }
    CALL () {
        UNWIND $p.frequencies AS row
        UNWIND split(row[1], ' ') AS key
        MERGE (k:KgTerm {group_id: $p.group_id, epoch: $p.epoch, key: key})
        SET k.facts = coalesce(k.facts, 0) + row[0]
    }
    """

# What `keyed` needs of a fact as it stands.
HELD_TERMS: LiteralString = "coalesce(r.terms, r.past_terms), r.term_count"

MOST_NUMBERS = 4_096  # of a vector that Neo4j can compare

Held = tuple[str, int]  # the keys, how many of them are terms


def scope(group_id: str, space: str) -> str:
    """By which the vector index knows the open facts of a group with vectors of a space, in any epoch: so
    that a search need not know the group's epoch before it asks."""
    return f"{group_id}\n{space}"


def group_keys(group_id: str) -> GroupKeys:
    """What a group's words are known by, in any epoch."""
    return GroupKeys(group_id, 0)


def numbers(vector: bytes | None, *, packed: bool) -> Vector | list[float] | None:
    """A vector (float32 little-endian) as a parameter; none for one of zeros, which has no direction, and for
    one of more than MOST_NUMBERS: no index takes these. `packed`: as servers take it in CYPHER 25, at a
    fraction of the cost of a list."""
    values = np.frombuffer(vector or b"", "<f4")
    if not values.any() or len(values) > MOST_NUMBERS:
        return None
    return Vector(values.astype(">f4").tobytes(), "f32") if packed else values.tolist()


def renamed_row(keys: GroupKeys, entity: Entity) -> dict[str, Any]:
    """A renamed entity, and what its facts are found by from now on."""
    named = keys.of_text(entity.name).keys
    return {
        "uuid": entity.uuid,
        "name": entity.name,
        "keys": " ".join(named),
        "distinct": list(dict.fromkeys(named)),
    }


class TermChanges:
    """What a delta changes in the words that facts are found by."""

    def __init__(self, delta: GraphDelta, epoch: int, held: Mapping[str, Held], *, indexed: bool) -> None:
        """`held`: of those facts that the delta writes or removes and that are there."""
        self.keys = group_keys(delta.group_id)
        self._indexed = indexed
        self._epoch = epoch
        self._now_ms = delta.system_ms
        self._held = held if indexed else {}
        self._written = {fact.uuid: self._of(fact) for fact in delta.facts} if indexed else {}

    def row(self, fact: Fact) -> list[Any]:
        """Parameters of SET_TERMS."""
        if not self._indexed:
            return [None, None, None, None]
        text, length = self._written[fact.uuid]
        if not _open(fact, self._now_ms):
            return [None, text, length, None]
        return [text, None, length, shown_text(fact, self._epoch)]

    def counts(self) -> dict[str, Any]:
        """Parameters of COUNT_TERMS. Facts whose words are the same change nothing."""
        more: Counter[str] = Counter()
        by_change: dict[int, list[str]] = {}
        for uuid in self._held.keys() | self._written.keys():
            before, after = self._held.get(uuid, _NOTHING)[0], self._written.get(uuid, _NOTHING)[0]
            if before != after:
                more.update(set(after.split()))
                more.subtract(set(before.split()))
        for key, change in sorted(more.items()):
            if change:
                by_change.setdefault(change, []).append(key)
        return {
            "indexed": self._indexed,
            "more_facts": len(self._written) - len(self._held),
            "more_terms": _length(self._written) - _length(self._held),
            "frequencies": [[change, " ".join(keys)] for change, keys in by_change.items()],
        }

    def _of(self, fact: Fact) -> Held:
        lines = [self.keys.of_text(text) for text in (own_text(fact), fact.source_name, fact.target_name)]
        return "\n".join(" ".join(line.keys) for line in lines), sum(line.length for line in lines)


_NOTHING: Held = ("", 0)


def _length(facts: Mapping[str, Held]) -> int:
    return sum(length for _text, length in facts.values())


def _open(fact: Fact, now_ms: int) -> bool:
    """Whether there can be a time from `now_ms` on at which the fact is visible."""
    ends: Sequence[int | None] = (fact.expired_ms, fact.invalid_ms)
    return all(end is None or end > now_ms for end in ends)
