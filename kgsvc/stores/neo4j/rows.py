"""Between rows of the database and the domain's types.

Columns are read by position: lists decode faster than maps, and only what is needed crosses the wire. In
Cypher the variables are e (Episodic), n (Entity), r (RELATES_TO), i (KgItem).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

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

EPISODE = (
    "e.uuid, e.group_id, e.content, e.source, e.reference_ms, e.created_ms, e.name, e.source_description,"
    " e.role_type, e.role, e.content_hash"
)
EPISODE_OPTIONAL = frozenset({6, 7, 8, 9})
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
# row[4] is [the types, those of them that may be labels]; labels that others gave the node are left alone.
SET_ENTITY = """
    REMOVE n:$([label IN labels(n) WHERE label IN n.labels AND label <> 'Entity' AND NOT label IN row[4][1]])
    SET n:$(row[4][1])
    SET n.name = row[1], n.summary = row[2], n.attributes = row[3], n.labels = row[4][0],
        n.source_episode_uuid = row[5], n.created_ms = row[6],
        n.created_at = CASE WHEN row[7] IS NOT NULL THEN datetime({epochMillis: row[7]}) END,
        n.updated_ms = row[8], n.stamps = row[9], n.summary_parts = row[10],
        n.summary_rewriting = row[11]
    """
SET_FACT = """
    SET r.source_uuid = row[1], r.target_uuid = row[2], r.name = row[3], r.fact = row[4],
        r.source_name = row[5], r.target_name = row[6], r.slot = row[7],
        r.valid_ms = row[8], r.invalid_ms = row[9], r.expired_ms = row[10],
        r.created_at = CASE WHEN row[11] IS NOT NULL THEN datetime({epochMillis: row[11]}) END,
        r.valid_at = CASE WHEN row[12] IS NOT NULL THEN datetime({epochMillis: row[12]}) END,
        r.invalid_at = CASE WHEN row[13] IS NOT NULL THEN datetime({epochMillis: row[13]}) END,
        r.expired_at = CASE WHEN row[14] IS NOT NULL THEN datetime({epochMillis: row[14]}) END,
        r.episodes = row[15], r.detail = row[16]
    """
STATUS = (
    "i.group_id, i.uuid, i.state, i.receipt_id, i.updated_ms, i.name, i.attempts, i.step, i.reason,"
    " i.content_hash, i.seq, i.epoch, coalesce(i.model_calls, 0), coalesce(i.prompt_tokens, 0),"
    " coalesce(i.completion_tokens, 0), coalesce(i.warnings, '[]')"
)
STATUS_OPTIONAL = frozenset({5, 7, 8})
QUEUED = (
    "i.state, i.accepted_ms, i.extract_attempts, i.embed_attempts, i.upsert_attempts, i.crash_attempts,"
    " i.stage, i.suspect, i.previous, i.seq, i.request_id, i.trace"
)


def calendar(ms: int | None) -> int | None:
    """Milliseconds for a datetime property; None outside of the years that calendars and Python know."""
    return ms if ms is not None and _FIRST_MS <= ms <= _LAST_MS else None


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


def entity_of(row: Row) -> Entity:
    """An entity from ENTITY columns."""
    attributes, labels, episode_uuid, updated_ms, stamps, parts, rewriting = row[5:]
    typed: Row = (_mapping(attributes), tuple(labels), episode_uuid)
    summarised = () if parts == "[]" else tuple(SummaryPart(*part) for part in json.loads(parts))
    stamped: Row = (updated_ms, _mapping(stamps), summarised, _rewriting(rewriting, updated_ms))
    return Entity(*row[:5], *typed, *stamped)


def _rewriting(text: str, updated_ms: int) -> Rewriting | None:
    """A model's rewriting of the summary. None if it belongs to another version of the entity: then a server
    that does not know of rewritings has written the entity since."""
    if not text:
        return None
    written_ms, words, sources, made_of = json.loads(text)
    if written_ms != updated_ms:
        return None
    return Rewriting(words, tuple((key, digest) for key, digest in sources), made_of)


def entity_row(entity: Entity) -> list[Any]:
    """Parameters of SET_ENTITY: a whole row."""
    labels = [list(entity.labels), labels_of(entity.labels)]
    times = (entity.created_ms, calendar(entity.created_ms), entity.updated_ms)
    parts = [[part.start_ms, part.key, part.text] for part in entity.summary_parts]
    return [
        *(entity.uuid, entity.name, entity.summary, _text(entity.attributes), labels),
        *(entity.source_episode_uuid, *times, _text(entity.stamps)),
        *(json.dumps(parts, ensure_ascii=False), _rewriting_text(entity)),
    ]


def _rewriting_text(entity: Entity) -> str | None:
    made = entity.rewriting
    if made is None:
        return None
    return json.dumps([entity.updated_ms, made.text, made.sources, made.made_of], ensure_ascii=False)


def fact_of(row: Row) -> Fact:
    """A fact from FACT columns."""
    return _fact(row, json.loads(row[12]))


def _fact(row: Row, detail: dict[str, Any]) -> Fact:
    """Field by field, which takes two thirds of the time: loading a group makes all of its facts here."""
    uuid, group_id, name, text, source, target, source_name, target_name, slot, *ends, episodes = row[:12]
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


def fact_row(fact: Fact) -> list[Any]:
    """Parameters of SET_FACT: a whole row.

    Fields that nothing in the database asks for travel in one JSON text: decoding them one by one takes
    the driver longer than all the rest. `valid_ms` as a property is the start that counts.
    """
    times = (fact.created_ms, fact.valid_ms, fact.invalid_ms, fact.expired_ms)
    dates = map(calendar, times)
    return [*_FACT(fact), fact.start_ms, *_ends(fact), *dates, list(fact.episodes), _text(_detail(fact))]


_FACT = attrgetter(
    *("uuid", "source_uuid", "target_uuid", "name", "fact", "source_name", "target_name", "slot")
)


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


def status_of(row: Row) -> ItemStatus:
    """What can be asked of an item, from STATUS columns."""
    return records.status_of(row[:9], row[12:15], row[15])


def queued_of(row: Row, ontology: int) -> QueuedItem:
    """A started item from QUEUED and EPISODE columns."""
    state, accepted_ms = row[:2]
    stage, suspect, previous, seq, request_id, trace = row[6:12]
    known = (ItemState(state), accepted_ms, records.attempts_of(row[2:6]), stage, bool(suspect))
    return QueuedItem(
        episode_of(row[12:]),
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
