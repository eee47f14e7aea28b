"""Rows: fetching them, the record of a group, and rows as domain values and back.

A group's record holds its internal id, head, lease and id counter (docs/design/stores.md).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, LiteralString

import apsw

from kgsvc.domain.errors import LeaseLost
from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.delta import GroupHead
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
from kgsvc.domain.model.items import Lease
from kgsvc.stores.embedded.schema import ID_BITS

Row = tuple[Any, ...]
Ids = dict[str, int]  # of rows, by uuid


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
    """The only column of every row of a statement."""
    return [value for (value,) in db.execute(text, values)]


def first_value(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> Any:
    """The only column of the first row of a statement; None if it has none."""
    return next(iter(column(db, text, values)), None)


def one_value(db: apsw.Connection, text: str, values: Sequence[Any] = ()) -> Any:
    """The only column of the row of a statement that always has one."""
    (value,) = column(db, text, values)
    return value


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


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A row of `groups`. Of a group that was never written to all numbers are 0: no row has its gid."""

    gid: int
    group_id: str
    epoch: int = 0
    rev: int = 0
    last_ms: int = 0
    token: int = 0
    owner_id: str | None = None
    ontology: int = 0  # a number that differs from one ontology of the group to the next
    space: str = ""  # of the vectors in use
    tidying: int = 0  # whether some of these stand in next_vectors

    @property
    def head(self) -> GroupHead:
        """What the outside knows of it."""
        return GroupHead(self.group_id, self.rev, self.epoch, self.last_ms, self.space)


def group_of(db: apsw.Connection, group_id: str) -> GroupRow:
    """The group's record."""
    sql = """
        SELECT gid, group_id, epoch, rev, last_ms, token, owner_id, ontology_rev, space, tidying
        FROM groups WHERE group_id = ?
        """
    row = first_row(db, sql, (group_id,))
    return GroupRow(0, group_id) if row is None else GroupRow(*row)


def make_group(db: apsw.Connection, group_id: str) -> GroupRow:
    """The group's record, created if needed."""
    group = group_of(db, group_id)
    if group.gid:
        return group
    gid = new_gid(db)
    db.execute(
        "INSERT INTO groups (group_id, gid, last_id, has_words) VALUES (?, ?, ?, 1)",
        (group_id, gid, gid << ID_BITS),
    )
    return GroupRow(gid, group_id)


def leased_group(db: apsw.Connection, lease: Lease) -> GroupRow:
    """The group's record. LeaseLost if the lease is no longer held."""
    group = group_of(db, lease.group_id)
    if (group.token, group.owner_id, group.epoch) != (lease.token, lease.owner_id, lease.epoch):
        raise LeaseLost("another process owns the group now")
    return group


def new_gid(db: apsw.Connection) -> int:
    """A gid that no group ever had."""
    return int(one_value(db, "UPDATE totals SET last_gid = last_gid + 1 RETURNING last_gid"))


_TAKE = "UPDATE {} SET last_id = last_id + ? WHERE gid = ? RETURNING last_id"


def take_ids(db: apsw.Connection, gid: int, count: int) -> range:
    """`count` fresh ids for rows of the group."""
    if not count:
        return range(0)
    last = first_value(db, _TAKE.format("groups"), (count, gid))
    if last is None:  # of a group that is being imported
        last = one_value(db, _TAKE.format("imports"), (count, gid))
    return range(last - count + 1, last + 1)


def id_span(gid: int) -> tuple[int, int]:
    """The lowest and the highest id that rows of the group can have."""
    return gid << ID_BITS, ((gid + 1) << ID_BITS) - 1


def page_end(db: apsw.Connection, group: GroupRow, after_rev: int, limit: int) -> int:
    """Up to which revision a page of facts goes: that of its `limit`-th fact, the group's if there are
    fewer."""
    later = "SELECT rev FROM facts WHERE gid = ? AND rev > ? ORDER BY rev LIMIT 1 OFFSET ?"
    rev = first_value(db, later, (group.gid, after_rev, max(limit, 1) - 1))
    return group.rev if rev is None else int(rev)


def ids_of(
    db: apsw.Connection,
    table: Literal["entities", "facts", "episodes", "items"],
    gid: int,
    uuids: Iterable[str],
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
# Of Fact, in this order.
_UPDATED = ("updated_ms", "original_fact", "update_reason", "previous_uuid", "retract_reason")


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
    made: dict[str, Any]
    made, _end = _decode(text)
    return made


def _values(text: str) -> list[Any]:
    made: list[Any]
    made, _end = _decode(text)
    return made


def strings(text: str) -> tuple[str, ...]:
    """A stored JSON list of texts."""
    return () if text == "[]" else tuple(_values(text))


def episode_of(row: Sequence[Any], max_chars: int | None = None) -> Episode:
    """From `live_episodes` (id, gid, …), the body cut to `max_chars`."""
    _id, _gid, uuid, group_id, body, source, *times_and_names, role_type, role, content_hash = row
    role_type = None if role_type is None else RoleType(role_type)
    named: Row = (*times_and_names, role_type, role, content_hash)
    return Episode(uuid, group_id, body[:max_chars], Source(source), *named)


def read_episodes(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[Episode]:
    """Episodes by what follows FROM."""
    return list(map(episode_of, db.execute("SELECT * FROM live_episodes " + rest, values)))


def read_entities(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[Entity]:
    """Entities by what follows FROM."""
    return list(map(entity_of, db.execute("SELECT * FROM live_entities " + rest, values)))


def entities_among(db: apsw.Connection, gid: int, uuids: Collection[str]) -> list[Entity]:
    """Those of these entities that the group has."""
    among = "WHERE gid = ? AND uuid IN (SELECT value FROM json_each(?))"
    return read_entities(db, among, (gid, json_list(uuids)))


def read_facts(db: apsw.Connection, rest: LiteralString, values: Sequence[Any]) -> list[Fact]:
    """Facts by what follows FROM."""
    return list(map(fact_of, db.execute("SELECT * FROM live_facts " + rest, values)))


_EPISODE = attrgetter("reference_ms", "created_ms", "name", "source_description")


def episode_row(row_id: int, gid: int, episode: Episode) -> Row:
    """For INSERT INTO episodes."""
    role_type = None if episode.role_type is None else str(episode.role_type)
    spoken = (role_type, episode.role, episode.content_hash, episode.body)
    return (row_id, gid, episode.uuid, str(episode.source), *_EPISODE(episode), *spoken)


def entity_of(row: Sequence[Any]) -> Entity:
    """From `live_entities` (id, gid, …)."""
    _id, _gid, uuid, group_id, name, created, summary, *columns = row
    attributes, labels, episode, updated, stamps, more = columns
    typed: Row = (_map(attributes), strings(labels), episode)
    stamped: Row = (updated, _map(stamps), *_summary_of(_map(more)))
    return Entity(uuid, group_id, name, created, summary, *typed, *stamped)


def _summary_of(more: Mapping[str, Any]) -> tuple[tuple[SummaryPart, ...], Rewriting | None]:
    parts = tuple(SummaryPart(*part) for part in more.get("parts", ()))
    if "rewriting" not in more:
        return parts, None
    text, sources, made_of = more["rewriting"]
    return parts, Rewriting(text, tuple((key, words) for key, words in sources), made_of)


def entity_row(row_id: int, gid: int, entity: Entity) -> Row:
    """For INSERT INTO entities."""
    words = (entity.name, entity.created_ms, entity.summary, _map_text(entity.attributes))
    source = (_list_text(entity.labels), entity.source_episode_uuid, entity.updated_ms)
    stamps = (_map_text(entity.stamps), _map_text(_summary_values(entity)))
    return (row_id, gid, entity.uuid, *words, *source, *stamps)


def _summary_values(entity: Entity) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if entity.summary_parts:
        values["parts"] = [[p.start_ms, p.key, p.text] for p in entity.summary_parts]
    if entity.rewriting is not None:
        made = entity.rewriting
        values["rewriting"] = [made.text, made.sources, made.made_of]
    return values


_KINDS = {each.value: each for each in FactKind}  # looked up in a third of the time
_POLARITIES = {each.value: each for each in Polarity}


def fact_of(row: Sequence[Any]) -> Fact:
    """From `live_facts` (id, gid, rev, uuid, …)."""
    _id, _gid, _rev, *stated, by_fact, by_episode, reason, before_ms, attributes, detail = row
    *plain, kind, polarity, qualifiers, keywords, weight, episodes, evidence = stated
    values: Row = (
        *plain,
        _KINDS[kind],
        _POLARITIES[polarity],
        _map(qualifiers),
        strings(keywords),
        weight,
        strings(episodes),
        _evidence(evidence),
        *(by_fact, by_episode, reason, before_ms),
        _map(attributes),
        *_fact_detail(detail),
    )
    return Fact(*values)


_PLAIN: Row = ((), *(None for _ in _UPDATED), False, ())  # of most facts


def _fact_detail(text: str) -> Row:
    """Fact's fields from `closures` on."""
    if text == "{}":
        return _PLAIN
    detail = _map(text)
    closures = tuple(Closure(*entry) for entry in detail.get("closures", ()))
    beliefs = tuple(Belief(*entry) for entry in detail.get("beliefs", ()))
    return (closures, *map(detail.get, _UPDATED), bool(detail.get("asserted")), beliefs)


def _detail_of_fact(fact: Fact) -> str:
    detail: dict[str, Any] = {name: value for name in _UPDATED if (value := getattr(fact, name)) is not None}
    if fact.closures:
        detail["closures"] = [closure.row() for closure in fact.closures]
    if fact.asserted:
        detail["asserted"] = True
    if fact.beliefs:
        detail["beliefs"] = [belief.row() for belief in fact.beliefs]
    return _map_text(detail)


_FACT = attrgetter(
    *("name", "fact", "source_name", "target_name", "created_ms", "reference_ms", "slot", "fact_key"),
    *("valid_ms", "invalid_ms", "expired_ms"),
)
_EXPIRY = attrgetter("expired_by_fact", "expired_by_episode", "expired_reason", "invalid_before_ms")


def fact_row(row_id: int, gid: int, rev: int, source_id: int, target_id: int, fact: Fact) -> Row:
    """For INSERT INTO facts."""
    stated = (str(fact.kind), str(fact.polarity), _map_text(fact.qualifiers), _list_text(fact.keywords))
    support = (fact.weight, _list_text(fact.episodes), _list_text([e.row() for e in fact.evidence]))
    rest = (*_EXPIRY(fact), _map_text(fact.attributes), _detail_of_fact(fact))
    return (row_id, gid, fact.uuid, rev, source_id, target_id, *_FACT(fact), *stated, *support, *rest)


def _evidence(text: str) -> tuple[Evidence, ...]:
    return () if text == "[]" else tuple([Evidence(*piece) for piece in _values(text)])
