"""Rows: fetching them, what they hold as domain values, and the rows of values to write."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Literal, LiteralString

import apsw

from kgsvc.domain.model.graph import (
    Closure,
    Entity,
    Episode,
    Evidence,
    Fact,
    FactKind,
    Polarity,
    Rewriting,
    RoleType,
    Source,
    SummaryPart,
)
from kgsvc.domain.model.items import ItemState, ItemStatus, ItemWarning, Step
from kgsvc.domain.model.usage import FREE, Usage

Row = tuple[Any, ...]


def all_rows(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> list[Row]:
    """Every row of a statement, which is finished afterwards."""
    return db.execute(text, values).fetchall()


def first_row(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> Row | None:
    """The first row of a statement, None if it has none."""
    rows = db.execute(text, values).fetchall()
    return rows[0] if rows else None


def one_row(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> Row:
    """The row of a statement that always has one."""
    return db.execute(text, values).fetchall()[0]


def column(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> list[Any]:
    """The first column of every row of a statement."""
    return [row[0] for row in db.execute(text, values)]


def upsert(
    table: LiteralString, keys: LiteralString, columns: LiteralString, once: LiteralString = ""
) -> str:
    """The statement that writes a row under its key, in the place of one that is there. Parameters are the
    keys, the columns `once` written only with a new row, the others."""
    names = [name.strip() for name in columns.split(",")]
    every = [*keys.split(","), *filter(None, once.split(",")), *names]
    return f"""
        INSERT INTO {table} ({", ".join(every)}) VALUES ({", ".join("?" * len(every))})
        ON CONFLICT ({keys}) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in names)}
        """


def ids_of(
    db: apsw.Connection, table: Literal["entities", "facts", "episodes"], gid: int, uuids: Iterable[str]
) -> dict[str, int]:
    """The row ids of those of these uuids that the group has."""
    text = f"SELECT uuid, id FROM {table} WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
    return dict(all_rows(db, text, (gid, json_list(set(uuids)))))


def names_of(db: apsw.Connection, gid: int, entity_uuid: str, limit: int) -> list[str]:
    """The first of the name keys that lead to an entity, sorted."""
    text = """
        SELECT k.name_key FROM entities n JOIN names k ON k.entity_id = n.id
        WHERE n.gid = ? AND n.uuid = ? ORDER BY k.name_key LIMIT ?
        """
    return column(db, text, (gid, entity_uuid, limit))


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode  # the texts are our own: no white space around them
_UPDATED = ("updated_ms", "original_fact", "update_reason", "previous_uuid")  # of Fact, in this order


def json_list(values: Collection[str]) -> str:
    """A list parameter for json_each."""
    return _encode(list(values))


def json_ids(ids: Iterable[int]) -> str:
    """A list of row ids for json_each."""
    return f"[{','.join(map(str, ids))}]"


def _map_text(value: Mapping[str, Any]) -> str:
    return _encode(dict(value)) if value else "{}"


def _list_text(value: Collection[Any]) -> str:
    return _encode(list(value)) if value else "[]"


def _map(text: str) -> dict[str, Any]:
    if text == "{}":
        return {}
    made: dict[str, Any] = _decode(text)[0]
    return made


def strings(text: str) -> tuple[str, ...]:
    """A stored JSON list of texts."""
    return () if text == "[]" else tuple(_decode(text)[0])


def episode_of(row: Row, max_chars: int | None = None) -> Episode:
    """From `live_episodes` (id, gid, …), the body cut to `max_chars`."""
    _id, _gid, uuid, group_id, body, source, reference, created, name, about, role_type, role, hashed = row
    return Episode(
        uuid,
        group_id,
        body if max_chars is None else body[:max_chars],
        Source(source),
        reference,
        created,
        name,
        about,
        None if role_type is None else RoleType(role_type),
        role,
        hashed,
    )


def read_episodes(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[Episode]:
    """Episodes by what follows FROM."""
    return list(map(episode_of, db.execute("SELECT * FROM live_episodes " + rest, values)))


def read_entities(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[Entity]:
    """Entities by what follows FROM."""
    return list(map(entity_of, db.execute("SELECT * FROM live_entities " + rest, values)))


def read_facts(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[Fact]:
    """Facts by what follows FROM."""
    return list(map(fact_of, db.execute("SELECT * FROM live_facts " + rest, values)))


def episode_row(row_id: int, gid: int, episode: Episode) -> Row:
    """For INSERT INTO episodes."""
    return (
        row_id,
        gid,
        episode.uuid,
        str(episode.source),
        episode.reference_ms,
        episode.created_ms,
        episode.name,
        episode.source_description,
        None if episode.role_type is None else str(episode.role_type),
        episode.role,
        episode.content_hash,
        episode.body,
    )


def entity_of(row: Row) -> Entity:
    """From `live_entities` (id, gid, …)."""
    _id, _gid, uuid, group_id, name, created, summary, attributes, labels, episode, updated, stamps, more = (
        row
    )
    return Entity(
        uuid,
        group_id,
        name,
        created,
        summary,
        _map(attributes),
        strings(labels),
        episode,
        updated,
        _map(stamps),
        *_summary_of(_map(more)),
    )


def _summary_of(more: Mapping[str, Any]) -> tuple[tuple[SummaryPart, ...], Rewriting | None]:
    parts = tuple(SummaryPart(*part) for part in more.get("parts", ()))
    if "rewriting" not in more:
        return parts, None
    text, sources, made_of = more["rewriting"]
    return parts, Rewriting(text, tuple((key, words) for key, words in sources), made_of)


def entity_row(row_id: int, gid: int, entity: Entity) -> Row:
    """For INSERT INTO entities."""
    return (
        row_id,
        gid,
        entity.uuid,
        entity.name,
        entity.created_ms,
        entity.summary,
        _map_text(entity.attributes),
        _list_text(entity.labels),
        entity.source_episode_uuid,
        entity.updated_ms,
        _map_text(entity.stamps),
        _map_text(_summary_values(entity)),
    )


def _summary_values(entity: Entity) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if entity.summary_parts:
        values["parts"] = [[p.start_ms, p.key, p.text] for p in entity.summary_parts]
    if entity.rewriting is not None:
        made = entity.rewriting
        values["rewriting"] = [made.text, made.sources, made.made_of]
    return values


def fact_of(row: Row) -> Fact:
    """From `live_facts` (id, gid, rev, uuid, …); columns behind them are ignored."""
    kind, polarity, qualifiers, keywords, weight, episodes, evidence = row[18:25]
    values: Row = (
        *row[3:18],
        FactKind(kind),
        Polarity(polarity),
        _map(qualifiers),
        strings(keywords),
        weight,
        strings(episodes),
        _evidence(evidence),
        *row[25:29],
        _map(row[29]),
        *_fact_detail(row[30]),
    )
    return Fact(*values)


def _fact_detail(text: str) -> Row:
    """Fact's fields from `closures` on."""
    detail = _map(text)
    closures = tuple(Closure(*entry) for entry in detail.get("closures", ()))
    return (closures, *map(detail.get, _UPDATED), bool(detail.get("asserted")))


def _detail_of_fact(fact: Fact) -> str:
    detail: dict[str, Any] = {name: value for name in _UPDATED if (value := getattr(fact, name)) is not None}
    if fact.closures:
        detail["closures"] = [[c.at_ms, c.reference_ms, c.by_fact, c.by_episode] for c in fact.closures]
    if fact.asserted:
        detail["asserted"] = True
    return _map_text(detail)


def fact_row(row_id: int, gid: int, rev: int, source_id: int, target_id: int, fact: Fact) -> Row:
    """For INSERT INTO facts."""
    return (
        row_id,
        gid,
        fact.uuid,
        rev,
        source_id,
        target_id,
        fact.name,
        fact.fact,
        fact.source_name,
        fact.target_name,
        fact.created_ms,
        fact.reference_ms,
        fact.slot,
        fact.fact_key,
        fact.valid_ms,
        fact.invalid_ms,
        fact.expired_ms,
        str(fact.kind),
        str(fact.polarity),
        _map_text(fact.qualifiers),
        _list_text(fact.keywords),
        fact.weight,
        _list_text(fact.episodes),
        _evidence_text(fact.evidence),
        fact.expired_by_fact,
        fact.expired_by_episode,
        fact.expired_reason,
        fact.invalid_before_ms,
        _map_text(fact.attributes),
        _detail_of_fact(fact),
    )


def status_of(row: Row, *, duplicate: bool = False) -> ItemStatus:
    """From `live_items` (id, gid, …)."""
    group_id, uuid, state, receipt_id, updated, name, attempts, step, reason = row[2:11]
    return ItemStatus(
        group_id,
        uuid,
        ItemState(state),
        receipt_id,
        updated,
        name,
        attempts,
        None if step is None else Step(step),
        reason,
        duplicate,
        Usage(*row[15:18]) if any(row[15:18]) else FREE,
        () if row[18] == "[]" else tuple(ItemWarning(*each) for each in _decode(row[18])[0]),
    )


def warnings_text(warnings: Collection[ItemWarning]) -> str:
    """For items.warnings."""
    return _list_text([astuple(each) for each in warnings])


def _evidence_text(evidence: Collection[Evidence]) -> str:
    return _encode(
        [
            [e.start_ms, e.reference_ms, e.episode_uuid, e.stated_valid_ms, e.stated_invalid_ms, e.said]
            for e in evidence
        ]
    )


def _evidence(text: str) -> tuple[Evidence, ...]:
    return () if text == "[]" else tuple(Evidence(*row) for row in _decode(text)[0])
