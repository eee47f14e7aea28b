"""A graph in Neo4j against the truth that was planted: what is there twice, what is missing, what is wrong.

Graphiti and kgsvc keep entities and facts alike, so that one query reads either.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from neo4j import AsyncDriver

from bench.planted import Corpus, PlantedFact, Thing

_ENTITIES = "MATCH (n:Entity {group_id: $group}) RETURN n.name AS name"
_EPISODES = "MATCH (e:Episodic {group_id: $group}) RETURN e.uuid AS uuid, e.content AS content"
_FACTS = """
    MATCH (a:Entity)-[r:RELATES_TO {group_id: $group}]->(b:Entity)
    RETURN r.fact AS fact, a.name AS source, b.name AS target, r.episodes AS episodes, r.detail AS detail,
        r.valid_at AS valid_at, r.invalid_at AS invalid_at, r.expired_at AS expired_at
    """
Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """Figures of a graph by what they count, and what is wrong in words."""

    counts: Counts
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Row:
    """A fact as it is stored."""

    text: str
    source: str
    target: str
    episodes: frozenset[str]  # bodies
    start: datetime | None
    end: datetime | None
    current: bool


async def compare(driver: AsyncDriver, group: str, corpus: Corpus) -> Finding:
    """What the group's graph is like."""
    names = [record["name"] for record in await _read(driver, _ENTITIES, group)]
    bodies = {record["uuid"]: record["content"] for record in await _read(driver, _EPISODES, group)}
    found = await _read(driver, _FACTS, group)
    rows = [_row(record, bodies) for record in found if not _is_merged(record)]
    of = _by_fact(rows, corpus)
    counts = {"episodes stored": len(bodies), **_entities(names, corpus), **_facts(rows, of, corpus)}
    return Finding(counts, [*_twice(names, corpus), *_wrong(of, corpus)])


async def _read(driver: AsyncDriver, query: str, group: str) -> list[dict[str, Any]]:
    result = await driver.execute_query(query, group=group)
    return [dict(record) for record in result.records]


def _is_merged(record: dict[str, Any]) -> bool:
    """Whether kgsvc keeps the row only as a trace of another that took it in."""
    return bool(record["detail"]) and json.loads(record["detail"]).get("expired_reason") == "merged"


def _row(record: dict[str, Any], bodies: dict[str, str]) -> Row:
    start, end = _time(record["valid_at"]), _time(record["invalid_at"])
    return Row(
        record["fact"],
        record["source"],
        record["target"],
        frozenset(bodies[uuid] for uuid in record["episodes"] if uuid in bodies),
        start,
        end,
        end is None and record["expired_at"] is None,
    )


def _time(value: Any) -> datetime | None:
    made: datetime | None = None if value is None else value.to_native()
    return None if made is None else made.astimezone(UTC)


def _entities(names: Sequence[str], corpus: Corpus) -> Counts:
    things = [thing for name in names if (thing := corpus.thing(name)) is not None]
    return {
        "entities planted": len(corpus.named),
        "entities stored": len(names),
        "entities there more than once": len(things) - len(set(things)),
        "entities missing": len(corpus.named - set(things)),
        "entities nobody named": len(names) - len(things),
    }


def _by_fact(rows: Sequence[Row], corpus: Corpus) -> dict[int, list[Row]]:
    of: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        fact = corpus.told(row.text)
        if fact is not None and _ends_fit(row, fact, corpus):
            of[fact.id].append(row)
    return of


def _twice(names: Sequence[str], corpus: Corpus) -> list[str]:
    spelled: defaultdict[Thing | None, list[str]] = defaultdict(list)
    for name in names:
        spelled[corpus.thing(name)].append(name)
    return [f"several entities: {', '.join(sorted(same))}" for same in spelled.values() if len(same) > 1]


def _wrong(of: dict[int, list[Row]], corpus: Corpus) -> list[str]:
    """Facts that hold and have other than one current row and no ended one, or the reverse."""
    notes = []
    for fact in corpus.facts.values():
        rows, should = of[fact.id], fact.end is None
        standing = [row for row in rows if row.current]
        if len(standing) != should or (should and len(rows) > 1):
            shown = "; ".join(f"[{'current' if row.current else 'ended'}] {row.text}" for row in rows)
            notes.append(f"{'holds' if should else 'is over'}: {shown or 'nothing'}")
    return notes


def _facts(rows: Sequence[Row], of: dict[int, list[Row]], corpus: Corpus) -> Counts:
    current = [fact for fact in corpus.facts.values() if fact.end is None]
    former = [fact for fact in corpus.facts.values() if fact.end is not None]
    closed = [fact for fact in former if of[fact.id] and not any(row.current for row in of[fact.id])]
    right = [fact for fact in current if any(row.current for row in of[fact.id])]
    standing = [row for fact in current for row in of[fact.id] if row.current]
    return {
        "facts stored": len(rows),
        "current facts planted": len(current),
        "current facts that are current": len(right),
        "current facts that are current twice": len(standing) - len(right),
        "current facts with an ended row": _count(any(not r.current for r in of[f.id]) for f in current),
        "current facts with the planted start": _count(
            any(row.current and row.start == fact.start for row in of[fact.id]) for fact in right
        ),
        "former facts planted": len(former),
        "former facts that are closed": len(closed),
        "former facts with the planted end": _count(
            max(row.end for row in of[fact.id] if row.end is not None) == fact.end
            for fact in closed
            if any(row.end is not None for row in of[fact.id])
        ),
        "former facts that are still current": _count(any(r.current for r in of[f.id]) for f in former),
        "facts of wrong ends or words": len(rows) - sum(map(len, of.values())),
        "tellings": sum(len(line.tellings) for line in corpus.lines),
        "tellings that their fact cites": _cited(of, corpus),
    }


def _ends_fit(row: Row, fact: PlantedFact, corpus: Corpus) -> bool:
    return corpus.thing(row.source) == fact.source and corpus.thing(row.target) == fact.target


def _cited(of: dict[int, list[Row]], corpus: Corpus) -> int:
    cited = {(fact, body) for fact, rows in of.items() for row in rows for body in row.episodes}
    return _count((telling.fact, line.body) in cited for line in corpus.lines for telling in line.tellings)


def _count(holds: Iterable[bool]) -> int:
    return sum(1 for each in holds if each)
