"""Between rows of the database and the domain's types.

What is read comes as lists, which decode faster than maps, and is unpacked into names; what is written goes
as maps. In Cypher the variables are e (Episodic), n (Entity), r (RELATES_TO), i (KgItem).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.extraction import labels_of
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
from kgsvc.domain.model.items import ItemState, ItemStatus, QueuedItem
from kgsvc.stores import records

# Fields of a fact in the text `detail`: as they are, and those that are left out where they are absent.
_PLAIN = (
    *("created_ms", "reference_ms", "fact_key", "valid_ms", "kind", "polarity", "keywords", "weight"),
    *("expired_by_fact", "expired_by_episode", "expired_reason", "invalid_before_ms"),
)
_UPDATED = ("updated_ms", "original_fact", "update_reason", "previous_uuid", "retract_reason")
NEVER = 2**63 - 1  # invalid_ms and expired_ms of what has no end: ranges need no null check

Row = Sequence[Any]

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # years 1 to 9999


def _places(columns: Sequence[str], *names: str) -> frozenset[int]:
    return frozenset(map(columns.index, names))


_EPISODE_COLUMNS = (
    *("uuid", "group_id", "content", "source", "reference_ms", "created_ms", "name", "source_description"),
    *("role_type", "role", "content_hash"),
)
EPISODE = ", ".join(f"e.{name}" for name in _EPISODE_COLUMNS)
EPISODE_OPTIONAL = _places(_EPISODE_COLUMNS, "name", "source_description", "role_type", "role")
ENTITY = (
    "n.uuid, n.group_id, n.name, n.created_ms, n.summary, n.attributes, n.labels, n.source_episode_uuid,"
    " n.updated_ms, n.stamps, coalesce(n.summary_parts, '[]'), coalesce(n.summary_rewriting, '')"
)
_FACT_COLUMNS = (
    *("uuid", "group_id", "name", "fact", "source_uuid", "target_uuid", "source_name", "target_name", "slot"),
    *("invalid_ms", "expired_ms", "episodes"),
)
FACT = ", ".join(f"r.{name}" for name in (*_FACT_COLUMNS, "detail"))
# `row` as entity_row and fact_row make it, `n` and `r` the node and the relationship it is written to.
# row.marks are those of the types that may be labels; labels that others gave the node are left alone.
SET_ENTITY = """
    REMOVE n:$([label IN labels(n) WHERE label IN n.labels AND label <> 'Entity' AND NOT label IN row.marks])
    SET n:$(row.marks)
    SET n.name = row.name, n.summary = row.summary, n.attributes = row.attributes, n.labels = row.labels,
        n.source_episode_uuid = row.source_episode_uuid, n.created_ms = row.created_ms,
        n.created_at = CASE WHEN row.created IS NOT NULL THEN datetime({epochMillis: row.created}) END,
        n.updated_ms = row.updated_ms, n.stamps = row.stamps, n.summary_parts = row.summary_parts,
        n.summary_rewriting = row.summary_rewriting
    """
SET_FACT = """
    SET r.source_uuid = row.source_uuid, r.target_uuid = row.target_uuid, r.name = row.name,
        r.fact = row.fact, r.source_name = row.source_name, r.target_name = row.target_name,
        r.slot = row.slot, r.valid_ms = row.valid_ms, r.invalid_ms = row.invalid_ms,
        r.expired_ms = row.expired_ms,
        r.created_at = CASE WHEN row.created IS NOT NULL THEN datetime({epochMillis: row.created}) END,
        r.valid_at = CASE WHEN row.valid IS NOT NULL THEN datetime({epochMillis: row.valid}) END,
        r.invalid_at = CASE WHEN row.invalid IS NOT NULL THEN datetime({epochMillis: row.invalid}) END,
        r.expired_at = CASE WHEN row.expired IS NOT NULL THEN datetime({epochMillis: row.expired}) END,
        r.episodes = row.episodes, r.detail = row.detail
    """


# Of an episode's node, from `row` as episode_row makes it.
PUT_EPISODE = """uuid: row.uuid, reference_ms: row.reference_ms, content_hash: row.content_hash,
        name: coalesce(row.name, ''), bytes: row.bytes, content: row.content, source: row.source,
        source_description: coalesce(row.source_description, ''), created_ms: row.created_ms,
        role_type: row.role_type, role: row.role, entity_edges: [],
        valid_at: CASE WHEN row.valid IS NOT NULL THEN datetime({epochMillis: row.valid}) END,
        created_at: CASE WHEN row.created IS NOT NULL THEN datetime({epochMillis: row.created}) END"""


class StatusRow(NamedTuple):
    """STATUS columns."""

    group_id: str
    uuid: str
    state: str
    receipt_id: str
    updated_ms: int
    name: str | None
    attempts: int
    step: str | None
    reason: str | None
    content_hash: str
    seq: int
    epoch: int
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    warnings: str


_NEW_ITEM = {"model_calls": "0", "prompt_tokens": "0", "completion_tokens": "0", "warnings": "'[]'"}
STATUS = ", ".join(
    f"coalesce(i.{name}, {_NEW_ITEM[name]})" if name in _NEW_ITEM else f"i.{name}"
    for name in StatusRow._fields
)
_STATUS_OPTIONAL = _places(StatusRow._fields, "name", "step", "reason")
QUEUED = (
    "i.state, i.accepted_ms, i.extract_attempts, i.embed_attempts, i.upsert_attempts, i.crash_attempts,"
    " i.stage, i.suspect, i.previous, i.seq, i.request_id, i.trace"
)


def calendar(ms: int | None) -> int | None:
    """Milliseconds for a datetime property; None outside of the years that calendars and Python know."""
    return ms if ms is not None and _FIRST_MS <= ms <= _LAST_MS else None


def column(rows: Iterable[Row]) -> list[Any]:
    """The only column of rows."""
    return [value for (value,) in rows]


def first_value(rows: Iterable[Row]) -> Any:
    """The only column of the first row; None if there is none."""
    return next(iter(column(rows)), None)


def whole(rows: Iterable[Row], optional: Container[int] = ()) -> Iterator[Row]:
    """The rows without those deleted while they were read, which lack columns that are never null."""
    for row in rows:
        if all(value is not None or n in optional for n, value in enumerate(row)):
            yield row


def episode_of(row: Row, max_chars: int | None = None) -> Episode:
    """An episode from EPISODE columns, its body cut to `max_chars` code points."""
    uuid, group_id, body, source, *times, name, description, role_type, role, content_hash = row
    named: Row = (name or None, description or None)  # Graphiti reads these two and knows no null
    spoken: Row = (None if role_type is None else RoleType(role_type), role, content_hash)
    return Episode(uuid, group_id, body[:max_chars], Source(source), *times, *named, *spoken)


def episode_row(episode: Episode) -> dict[str, Any]:
    """Parameters of PUT_EPISODE."""
    return {
        "uuid": episode.uuid,
        "reference_ms": episode.reference_ms,
        "content_hash": episode.content_hash,
        "name": episode.name,
        "bytes": len(episode.body.encode()),
        "content": episode.body,
        "source": str(episode.source),
        "source_description": episode.source_description,
        "created_ms": episode.created_ms,
        "role_type": None if episode.role_type is None else str(episode.role_type),
        "role": episode.role,
        "valid": calendar(episode.reference_ms),
        "created": calendar(episode.created_ms),
    }


def entity_of(row: Row) -> Entity:
    """An entity from ENTITY columns."""
    *known, attributes, labels, episode_uuid, updated_ms, stamps, parts, rewriting = row
    typed: Row = (_mapping(attributes), tuple(labels), episode_uuid)
    summarised = () if parts == "[]" else tuple(SummaryPart(*part) for part in json.loads(parts))
    stamped: Row = (updated_ms, _mapping(stamps), summarised, _rewriting(rewriting, updated_ms))
    return Entity(*known, *typed, *stamped)


def _rewriting(text: str, updated_ms: int) -> Rewriting | None:
    """A model's rewriting of the summary. None if it belongs to another version of the entity: then a server
    that does not know of rewritings has written the entity since."""
    if not text:
        return None
    written_ms, words, sources, made_of = json.loads(text)
    if written_ms != updated_ms:
        return None
    return Rewriting(words, tuple((key, digest) for key, digest in sources), made_of)


def entity_row(entity: Entity) -> dict[str, Any]:
    """Parameters of SET_ENTITY: a whole row."""
    parts = [[part.start_ms, part.key, part.text] for part in entity.summary_parts]
    return {
        "uuid": entity.uuid,
        "name": entity.name,
        "summary": entity.summary,
        "attributes": _text(entity.attributes),
        "labels": list(entity.labels),
        "marks": labels_of(entity.labels),
        "source_episode_uuid": entity.source_episode_uuid,
        "created_ms": entity.created_ms,
        "created": calendar(entity.created_ms),
        "updated_ms": entity.updated_ms,
        "stamps": _text(entity.stamps),
        "summary_parts": json.dumps(parts, ensure_ascii=False),
        "summary_rewriting": _rewriting_text(entity),
    }


def _rewriting_text(entity: Entity) -> str | None:
    made = entity.rewriting
    if made is None:
        return None
    return json.dumps([entity.updated_ms, made.text, made.sources, made.made_of], ensure_ascii=False)


def fact_of(row: Row) -> Fact:
    """A fact from FACT columns."""
    *columns, detail = row
    return _fact(columns, json.loads(detail))


def _fact(row: Row, detail: dict[str, Any]) -> Fact:
    """Field by field, which takes two thirds of the time: loading a group makes all of its facts here."""
    uuid, group_id, name, text, source, target, source_name, target_name, slot, *ends, episodes = row
    invalid_ms, expired_ms = (None if end == NEVER else end for end in ends)
    rare = {name: detail[name] for name in _RARE & detail.keys()}
    if rare:
        rare |= {name: tuple(kind(*piece) for piece in rare.get(name, ())) for name, kind in _PIECES.items()}
    return Fact(
        uuid,
        group_id,
        name,
        text,
        source,
        target,
        source_name,
        target_name,
        created_ms=detail["created_ms"],
        reference_ms=detail["reference_ms"],
        slot=slot,
        fact_key=detail["fact_key"],
        valid_ms=detail["valid_ms"],
        invalid_ms=invalid_ms,
        expired_ms=expired_ms,
        kind=_KINDS[detail["kind"]],
        polarity=_POLARITIES[detail["polarity"]],
        qualifiers=detail["qualifiers"],
        keywords=tuple(detail["keywords"]),
        weight=detail["weight"],
        episodes=tuple(episodes),
        evidence=tuple([Evidence(*piece) for piece in detail["evidence"]]),
        expired_by_fact=detail["expired_by_fact"],
        expired_by_episode=detail["expired_by_episode"],
        expired_reason=detail["expired_reason"],
        invalid_before_ms=detail["invalid_before_ms"],
        attributes=detail["attributes"],
        **rare,
    )


_KINDS = {kind.value: kind for kind in FactKind}
_POLARITIES = {polarity.value: polarity for polarity in Polarity}
_PIECES: Mapping[str, Callable[..., Any]] = {"closures": Closure, "beliefs": Belief}
_RARE = {*_UPDATED, *_PIECES, "asserted"}


def fact_row(fact: Fact) -> dict[str, Any]:
    """Parameters of SET_FACT: a whole row.

    Fields that nothing in the database asks for travel in one JSON text: decoding them one by one takes
    the driver longer than all the rest. `valid_ms` as a property is the start that counts.
    """
    invalid_ms, expired_ms = _ends(fact)
    return {
        "uuid": fact.uuid,
        "source_uuid": fact.source_uuid,
        "target_uuid": fact.target_uuid,
        "name": fact.name,
        "fact": fact.fact,
        "source_name": fact.source_name,
        "target_name": fact.target_name,
        "slot": fact.slot,
        "valid_ms": fact.start_ms,
        "invalid_ms": invalid_ms,
        "expired_ms": expired_ms,
        "created": calendar(fact.created_ms),
        "valid": calendar(fact.valid_ms),
        "invalid": calendar(fact.invalid_ms),
        "expired": calendar(fact.expired_ms),
        "episodes": list(fact.episodes),
        "detail": _text(_detail(fact)),
    }


def shown_text(fact: Fact, epoch: int) -> str:
    """Three lines: when the fact is visible, its fields as search shows them (without the names of its ends),
    its uuid. One text, since reading so many properties takes the database longer than finding the fact."""
    detail = _detail(fact) | {"fact_key": "", "evidence": ()}
    for unshown in ("closures", "beliefs"):
        detail.pop(unshown, None)
    shown = [fact.name, fact.fact, fact.source_uuid, fact.target_uuid, *_ends(fact), fact.episodes, detail]
    visible = f"{epoch} {fact.start_ms} {min(_ends(fact))}"
    return "\n".join((visible, json.dumps(shown, ensure_ascii=False, separators=(",", ":")), fact.uuid))


def visible_at(text: str, epoch: int, now_ms: int) -> str | None:
    """The uuid of the fact that `shown_text` made this of, if it is visible in the group's epoch."""
    visible, _shown, uuid = text.split("\n", 2)
    of_epoch, start_ms, end_ms = map(int, visible.split(" "))
    return uuid if of_epoch == epoch and start_ms <= now_ms < end_ms else None


def shown_fact(text: str, group_id: str, names: tuple[str, str]) -> Fact:
    """What `shown_text` was made of, with the names that its ends have now."""
    _visible, shown, uuid = text.split("\n", 2)
    name, words, source, target, invalid_ms, expired_ms, episodes, detail = json.loads(shown)
    row = [uuid, group_id, name, words, source, target, *names, "", invalid_ms, expired_ms, episodes]
    return _fact(row, detail)


def _ends(fact: Fact) -> list[int]:
    return [NEVER if end is None else end for end in (fact.invalid_ms, fact.expired_ms)]


def _detail(fact: Fact) -> dict[str, Any]:
    detail = {name: getattr(fact, name) for name in _PLAIN} | {
        "qualifiers": dict(fact.qualifiers),
        "evidence": [piece.row() for piece in fact.evidence],
        "attributes": dict(fact.attributes),
    }
    for name in _UPDATED:
        if (value := getattr(fact, name)) is not None:
            detail[name] = value
    if fact.asserted:
        detail["asserted"] = True
    if fact.closures:
        detail["closures"] = [closure.row() for closure in fact.closures]
    if fact.beliefs:
        detail["beliefs"] = [belief.row() for belief in fact.beliefs]
    return detail


def status_rows(rows: Iterable[Row]) -> Iterator[StatusRow]:
    """From STATUS columns, without items deleted while they were read."""
    return map(StatusRow._make, whole(rows, _STATUS_OPTIONAL))


def status_of(row: StatusRow) -> ItemStatus:
    """What can be asked of an item."""
    known = (row.group_id, row.uuid, row.state, row.receipt_id, row.updated_ms, row.name)
    stopped = (row.attempts, row.step, row.reason)
    spent = (row.model_calls, row.prompt_tokens, row.completion_tokens)
    return records.status_of((*known, *stopped), spent, row.warnings)


def queued_of(row: Row, ontology: int) -> QueuedItem:
    """A started item from QUEUED and EPISODE columns."""
    state, accepted_ms, extract, embed, upsert, crash, stage, suspect, *rest = row
    previous, seq, request_id, trace, *episode = rest
    attempts = records.attempts_of((extract, embed, upsert, crash))
    known = (ItemState(state), accepted_ms, attempts, stage, bool(suspect))
    return QueuedItem(
        episode_of(episode),
        *known,
        previous=tuple(previous or ()),
        ontology=ontology,
        sequence=int(seq or 0),
        request_id=request_id or "",
        trace=trace or "",
    )


def _text(mapping: Mapping[str, Any]) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, separators=(",", ":"))


def _mapping(text: str) -> dict[str, Any]:
    return {} if text == "{}" else dict(json.loads(text))
