"""Between rows of the database and the domain's types.

Columns are read by position: lists decode faster than maps, and only what is needed crosses the wire. In
Cypher the variables are e (Episodic), n (Entity), r (RELATES_TO), i (KgItem).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kgsvc.domain.items import CRASH, ItemState, ItemStatus, QueuedItem, Step
from kgsvc.domain.model import Entity, Episode, Evidence, Fact, FactKind, Polarity, RoleType, Source

NEVER = 2**63 - 1  # invalid_ms and expired_ms of what has no end: ranges need no null check

Row = Sequence[Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # years 1 to 9999

EPISODE = (
    "e.uuid, e.group_id, e.content, e.source, e.reference_ms, e.created_ms, e.name, e.source_description,"
    " e.role_type, e.role, e.content_hash"
)
ENTITY = (
    "n.uuid, n.group_id, n.name, n.created_ms, n.summary, n.attributes, n.labels, n.source_episode_uuid,"
    " n.updated_ms, n.stamps"
)
FACT = (
    "r.uuid, r.group_id, r.name, r.fact, r.source_uuid, r.target_uuid, r.source_name, r.target_name,"
    " r.created_ms, r.reference_ms, r.slot, r.fact_key, r.valid_ms, r.dated, r.invalid_ms, r.expired_ms,"
    " r.kind, r.polarity, r.qualifiers, r.keywords, r.weight, r.episodes, r.evidence, r.expired_by_fact,"
    " r.expired_by_episode, r.expired_reason, r.invalid_before_ms, r.attributes"
)
STATUS = (
    "i.group_id, i.uuid, i.state, i.receipt_id, i.updated_ms, i.name, i.attempts, i.step, i.reason,"
    " i.content_hash, i.seq, i.epoch"
)
QUEUED = (
    "i.state, i.accepted_ms, i.extract_attempts, i.embed_attempts, i.upsert_attempts, i.crash_attempts,"
    " i.stage, i.suspect"
)


def moment(ms: int | None) -> datetime | None:
    """A datetime for Graphiti's properties; none outside of what calendars (and Python) hold."""
    if ms is None or not _FIRST_MS <= ms <= _LAST_MS:
        return None
    return _EPOCH + timedelta(milliseconds=ms)


def episode_of(row: Row, max_chars: int | None = None) -> Episode:
    """An episode from EPISODE columns, its body cut to `max_chars` code points."""
    uuid, group_id, body, source, reference_ms, created_ms, name, description, role_type, role, digest = row
    return Episode(
        uuid=uuid,
        group_id=group_id,
        body=body[:max_chars],
        source=Source(source),
        reference_ms=reference_ms,
        created_ms=created_ms,
        name=name,
        source_description=description,
        role_type=None if role_type is None else RoleType(role_type),
        role=role,
        content_hash=digest,
    )


def episode_values(episode: Episode) -> dict[str, Any]:
    """Properties of an Episodic node but its key."""
    return {
        "created_at": moment(episode.created_ms),
        "valid_at": moment(episode.reference_ms),
        "name": episode.name,
        "content": episode.body,
        "source": str(episode.source),
        "source_description": episode.source_description,
        "reference_ms": episode.reference_ms,
        "created_ms": episode.created_ms,
        "role_type": None if episode.role_type is None else str(episode.role_type),
        "role": episode.role,
        "content_hash": episode.content_hash,
        "bytes": len(episode.body.encode()),
    }


def entity_of(row: Row) -> Entity:
    """An entity from ENTITY columns."""
    uuid, group_id, name, created_ms, summary, attributes, labels, episode_uuid, updated_ms, stamps = row
    return Entity(
        uuid=uuid,
        group_id=group_id,
        name=name,
        created_ms=created_ms,
        summary=summary,
        attributes=_mapping(attributes),
        labels=tuple(labels),
        source_episode_uuid=episode_uuid,
        updated_ms=updated_ms,
        stamps=_mapping(stamps),
    )


def entity_values(entity: Entity) -> dict[str, Any]:
    """Properties of an Entity node but its key: a whole row."""
    return {
        "created_at": moment(entity.created_ms),
        "name": entity.name,
        "created_ms": entity.created_ms,
        "summary": entity.summary,
        "attributes": _text(entity.attributes),
        "labels": list(entity.labels),
        "source_episode_uuid": entity.source_episode_uuid,
        "updated_ms": entity.updated_ms,
        "stamps": _text(entity.stamps),
    }


def fact_of(row: Row) -> Fact:
    """A fact from FACT columns."""
    return Fact(
        uuid=row[0],
        group_id=row[1],
        name=row[2],
        fact=row[3],
        source_uuid=row[4],
        target_uuid=row[5],
        source_name=row[6],
        target_name=row[7],
        created_ms=row[8],
        reference_ms=row[9],
        slot=row[10],
        fact_key=row[11],
        valid_ms=row[12] if row[13] else None,
        invalid_ms=None if row[14] == NEVER else row[14],
        expired_ms=None if row[15] == NEVER else row[15],
        kind=FactKind(row[16]),
        polarity=Polarity(row[17]),
        qualifiers=_mapping(row[18]),
        keywords=tuple(row[19]),
        weight=row[20],
        episodes=tuple(row[21]),
        evidence=tuple(Evidence(*piece) for piece in json.loads(row[22])),
        expired_by_fact=row[23],
        expired_by_episode=row[24],
        expired_reason=row[25],
        invalid_before_ms=row[26],
        attributes=_mapping(row[27]),
    )


def fact_values(fact: Fact) -> dict[str, Any]:
    """Properties of a RELATES_TO relationship but its key: a whole row.

    `valid_ms` always holds the start that counts; `dated` tells whether it was stated.
    """
    evidence = [
        (e.start_ms, e.reference_ms, e.episode_uuid, e.stated_valid_ms, e.stated_invalid_ms)
        for e in fact.evidence
    ]
    return {
        "created_at": moment(fact.created_ms),
        "valid_at": moment(fact.valid_ms),
        "invalid_at": moment(fact.invalid_ms),
        "expired_at": moment(fact.expired_ms),
        "name": fact.name,
        "fact": fact.fact,
        "source_uuid": fact.source_uuid,
        "target_uuid": fact.target_uuid,
        "source_name": fact.source_name,
        "target_name": fact.target_name,
        "created_ms": fact.created_ms,
        "reference_ms": fact.reference_ms,
        "slot": fact.slot,
        "fact_key": fact.fact_key,
        "valid_ms": fact.start_ms,
        "dated": fact.valid_ms is not None,
        "invalid_ms": NEVER if fact.invalid_ms is None else fact.invalid_ms,
        "expired_ms": NEVER if fact.expired_ms is None else fact.expired_ms,
        "kind": str(fact.kind),
        "polarity": str(fact.polarity),
        "qualifiers": _text(fact.qualifiers),
        "keywords": list(fact.keywords),
        "weight": float(fact.weight),
        "episodes": list(fact.episodes),
        "evidence": json.dumps(evidence, ensure_ascii=False, separators=(",", ":")),
        "expired_by_fact": fact.expired_by_fact,
        "expired_by_episode": fact.expired_by_episode,
        "expired_reason": fact.expired_reason,
        "invalid_before_ms": fact.invalid_before_ms,
        "attributes": _text(fact.attributes),
    }


def status_of(row: Row, *, duplicate: bool = False) -> ItemStatus:
    """What can be asked of an item, from STATUS columns."""
    group_id, uuid, state, receipt_id, updated_ms, name, attempts, step, reason = row[:9]
    return ItemStatus(
        group_id=group_id,
        uuid=uuid,
        state=ItemState(state),
        receipt_id=receipt_id,
        updated_ms=updated_ms,
        name=name,
        attempts=attempts,
        step=None if step is None else Step(step),
        reason=reason,
        duplicate=duplicate,
    )


def queued_of(row: Row) -> QueuedItem:
    """A started item from QUEUED and EPISODE columns."""
    state, accepted_ms, extract, embed, upsert, crash, stage, suspect = row[:8]
    counts = {Step.EXTRACT.value: extract, Step.EMBED.value: embed, Step.UPSERT.value: upsert, CRASH: crash}
    return QueuedItem(
        episode=episode_of(row[8:]),
        state=ItemState(state),
        accepted_ms=accepted_ms,
        attempts={name: count for name, count in counts.items() if count},
        stage=stage,
        suspect=bool(suspect),
    )


def _text(mapping: Any) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, separators=(",", ":"))


def _mapping(text: str) -> dict[str, Any]:
    return {} if text == "{}" else dict(json.loads(text))
