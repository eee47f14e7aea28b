"""SplitEntityNode and UndoSplit: an entity is taken apart, and becomes one again. Pure.

What goes to the other entity is told by episodes or by facts. A fact that episodes of both kinds state is
about both entities afterwards: each has a row, which follows from the statements of its own episodes. Slots
are folded anew, so that the order in which all this was told makes no difference.

A split records what it moved and changed, as a merge does. Undoing it is a merge that also takes that back;
what arrived meanwhile comes along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.slots import as_merged, episodes_of, follows
from kgsvc.domain.facts.summary import OF_EPISODE, composed_text, is_authored
from kgsvc.domain.model.delta import FactTombstone, MergeRecord, SlotView
from kgsvc.domain.model.graph import Closure, Entity, Evidence, Fact, Mention
from kgsvc.domain.model.keys import digest, mint, name_key, stamp_of
from kgsvc.domain.names.entities import given_names, names_given
from kgsvc.domain.names.forgetting import without_words
from kgsvc.domain.names.meanings import specific, taken_out
from kgsvc.domain.names.merging import (
    Hanging,
    changes_of,
    folded_with,
    is_over,
    merged_entity,
    moved,
    rekeyed,
    saying,
    unmerged_facts,
)
from kgsvc.domain.names.namesakes import SPEAKER, plain

_SPLIT = '{"split":'  # how the data of a split begins
Said = Mapping[str, Mention]  # by episode


@dataclass(frozen=True, slots=True)
class Going:
    """What goes to the other entity: facts with all their statements, or all that episodes state."""

    episodes: frozenset[str] = frozenset()
    facts: frozenset[str] = frozenset()

    def parts(self, fact: Fact) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
        """The statements of a fact that stay, and those that go."""
        goes = {e for e in fact.evidence if fact.uuid in self.facts or e.episode_uuid in self.episodes}
        return tuple(e for e in fact.evidence if e not in goes), tuple(e for e in fact.evidence if e in goes)

    def takes(self, fact: Fact) -> bool:
        """Whether all of the fact goes. One that names no episodes goes only if it is named itself."""
        said = set(fact.episodes) | {e.episode_uuid for e in fact.evidence}
        return fact.uuid in self.facts or bool(said and said <= self.episodes)

    def closes(self, closure: Closure) -> bool:
        """Whether the contradiction goes."""
        return closure.by_fact in self.facts or closure.by_episode in self.episodes


@dataclass(frozen=True, slots=True)
class Apart:
    """Of the episodes that tell of the entity, those of which all goes and those of which something does."""

    whole: frozenset[str]
    some: frozenset[str]


def apart(hanging: Hanging, going: Going) -> Apart:
    """Which episodes go. One that only names the entity stays, unless it is named itself."""
    stays: set[str] = set()
    goes: set[str] = set(going.episodes)
    for fact in hanging.facts:
        (goes if going.takes(fact) else stays).update(fact.episodes)
        for part, side in zip(going.parts(fact), (stays, goes), strict=True):
            side.update(each.episode_uuid for each in part)
    stays -= going.episodes
    return Apart(frozenset(goes - stays), frozenset(goes))


@dataclass(frozen=True, slots=True)
class Divided:
    """The facts that change, by uuid; those that go whole, and the new rows of those that both have."""

    after: dict[str, Fact]
    moved: tuple[Fact, ...]  # as they were
    copies: dict[str, str]  # of which fact, by the uuid of the new row


def divided(hanging: Hanging, entity: str, other: Entity, going: Going) -> Divided:
    """The facts of an entity, each with its own part of the statements and of the contradictions, before
    anything is folded. Rows that another replaced stay whole unless all of it goes."""
    own = {fact.uuid for fact in hanging.facts}
    after: dict[str, Fact] = {}
    gone: list[Fact] = []
    copies: dict[str, str] = {}
    for fact in hanging.facts:
        stays, goes = going.parts(fact)
        if going.takes(fact):
            after[fact.uuid] = _answered(moved(fact, entity, other), going, own, goes=True)
            gone.append(fact)
            continue
        left = fact
        if stays and goes and follows(fact):
            left = _stating(fact, stays)
            copy = _answered(moved(_stating(_anew(fact), goes), entity, other), going, own, goes=True)
            uuid = mint("fact", fact.group_id, digest(other.uuid, fact.uuid))
            after[uuid], copies[uuid] = replace(rekeyed(copy), uuid=uuid), fact.uuid
        left = _answered(left, going, own, goes=False)
        if left != fact:
            after[fact.uuid] = rekeyed(left)
    own_rows = {fact: copy for copy, fact in copies.items()}
    for uuid in (*copies, *(fact.uuid for fact in gone)):
        closures = [replace(c, by_fact=own_rows.get(c.by_fact, c.by_fact)) for c in after[uuid].closures]
        after[uuid] = replace(after[uuid], closures=tuple(sorted(closures)))
    return Divided(after, tuple(gone), copies)


def _anew(fact: Fact) -> Fact:
    """The fact as a row of its own: whether it ended follows from the fold."""
    fresh = replace(fact, updated_ms=None, beliefs=(), invalid_ms=None, invalid_before_ms=None)
    return replace(fresh, expired_ms=None, expired_reason=None, expired_by_fact=None, expired_by_episode=None)


def _stating(fact: Fact, evidence: tuple[Evidence, ...]) -> Fact:
    """The fact as these told it: in its own words if one of them used these."""
    fact = replace(fact, evidence=evidence, episodes=episodes_of(evidence))
    if fact.asserted or not all(each.said for each in evidence):
        return fact
    return replace(fact, fact=min(evidence).said, keywords=(), attributes={})


def _answered(fact: Fact, going: Going, own: Collection[str], goes: bool) -> Fact:
    """The fact without contradictions by facts that are about the other one now."""
    kept = tuple(c for c in fact.closures if c.by_fact not in own or going.closes(c) == goes)
    return fact if kept == fact.closures else replace(fact, closures=kept)


def split_facts(group_id: str, parts: Divided, view: SlotView, system_ms: int) -> dict[str, Fact]:
    """Every fact that changes, by uuid. `view` holds the slots that parts leave and come to."""
    known = {fact.uuid for fact in view.facts}
    written = {
        uuid: replace(fact, updated_ms=system_ms) if uuid in known else replace(fact, created_ms=system_ms)
        for uuid, fact in parts.after.items()
    }
    changed = written | folded_with(group_id, view, written, system_ms)
    return all_remembering(view.facts, changed, system_ms)


def reserved(parts: Divided, after: Mapping[str, Fact], system_ms: int) -> tuple[FactTombstone, ...]:
    """The uuids of facts that went to other slots: what is told later in theirs gets another one."""
    went = [fact for fact in parts.moved if after[fact.uuid].slot != fact.slot]
    return tuple(FactTombstone(fact.uuid, fact.slot, "", system_ms) for fact in went)


def split_entity(
    entity: Entity, other: Entity, gone: Apart, stays: Said, goes: Said
) -> tuple[Entity, Entity]:
    """Both, with attributes, names borne and the summary that an episode gave on the side of the episode, and
    of the types that their episodes use."""
    stamps = {p: s for p, s in entity.stamps.items() if p != "name" and s.partition("/")[2] in gone.whole}
    given = {name: value for name, value in entity.attributes.items() if f"a.{name}" in stamps}
    own = {OF_EPISODE + episode for episode in gone.whole}
    parts = tuple(part for part in entity.summary_parts if part.key in own)
    summary = composed_text(parts, None) or entity.summary if "summary" in stamps else ""
    left = entity
    for episode in sorted(gone.whole):
        left = without_words(left, episode, entity.updated_ms)
    rest = {part: stamp for part, stamp in left.stamps.items() if part not in stamps}
    stamps = {**other.stamps, **stamps}
    labels, others = _typed(entity, stays, goes)
    left = replace(left, stamps=rest, labels=labels, updated_ms=other.updated_ms)
    other = replace(other, labels=others, attributes=given, stamps=stamps)
    return left, replace(other, summary=summary, summary_parts=parts)


def _typed(entity: Entity, stays: Said, goes: Said) -> tuple[tuple[str, ...], tuple[str, ...]]:
    said = specific({each for mention in goes.values() for each in mention.types})
    others = {each for mention in stays.values() for each in mention.types}
    known = all(mention.names for mention in stays.values())
    left = tuple(each for each in entity.labels if not known or each in others or each not in said)
    return left or ("Entity",), tuple(sorted(said)) or entity.labels


def names_that_go(entity: Entity, owned: Collection[str], stays: Said, goes: Said) -> set[str]:
    """The name keys that only episodes which go use; never its own name, nor what a caller gave it."""
    if not all(mention.names for mention in stays.values()):
        return set()
    said = {name_key(name) for mention in goes.values() for name in mention.names}
    others = {name_key(name) for mention in stays.values() for name in mention.names}
    given = {key for key in owned if given_names([key]).keys() & names_given(entity).keys()}
    mine = {key for key in owned if plain(key) == name_key(entity.name)}
    return said.intersection(owned) - others - given - mine


def new_entity(entity: Entity, uuid: str, name: str | None, hanging: Hanging, gone: Apart, ms: int) -> Entity:
    """What is taken out, before it has anything: with a name that the caller gave, else as the entity."""
    first = min(
        (each for fact in hanging.facts for each in fact.evidence if each.episode_uuid in gone.some),
        key=lambda each: (each.reference_ms, each.episode_uuid),
        default=None,
    )
    stamps = {part: stamp for part, stamp in entity.stamps.items() if part == SPEAKER}
    stamps["name"] = "" if name or first is None else stamp_of(first.reference_ms, first.episode_uuid)
    other = Entity(
        uuid=uuid,
        group_id=entity.group_id,
        name=name or entity.name,
        created_ms=ms,
        source_episode_uuid="" if first is None else first.episode_uuid,
        updated_ms=ms,
        stamps=stamps,
    )
    return taken_out(other, entity)


def record_of_split(
    entity: Entity,
    other: Entity,
    parts: Divided,
    before: Mapping[str, Fact],
    after: Mapping[str, Fact],
    said: Said,
    keys: Mapping[str, str],
) -> dict[str, Any]:
    """What UndoSplit needs, as JSON values. `said` are the MENTIONS that went, as they were; `keys` the name
    keys of what was taken out, each with the one it stands for ("": a new name)."""
    return {
        "split": other.uuid,
        "facts": sorted(u for u, f in after.items() if other.uuid in (f.source_uuid, f.target_uuid)),
        "copies": dict(parts.copies),
        "keys": dict(keys),
        "said": saying(said),
        **changes_of(entity.uuid, parts.moved, before, after),
    }


def is_split(record: MergeRecord) -> bool:
    """Whether it is the record of a split."""
    return record.data.startswith(_SPLIT)


def back_together(
    record: Mapping[str, Any], other: Entity, entity: Entity, facts: Iterable[Fact], system_ms: int
) -> tuple[dict[str, Fact], list[Fact]]:
    """The facts of both about the one again, and the rows that go: those that the split made. What joined
    these since is kept."""
    back, removed = unmerged_facts(record, other, entity, facts, system_ms)
    whole: dict[str, Fact] = {}
    for uuid, fact in back.items():
        new = moved(fact, other.uuid, entity)
        whole[uuid] = as_merged(new, system_ms) if is_over(fact, new) else new
    return whole, removed


def rejoined_entity(entity: Entity, other: Entity, names: Collection[str], attributes_bytes: int) -> Entity:
    """The entity with what the other one has; `names` are keys of the split's own, which lead nowhere now."""
    whole = merged_entity(entity, other, attributes_bytes)
    lost = given_names(names).keys()
    stamps = {part: stamp for part, stamp in whole.stamps.items() if part not in lost}
    told = other.stamps.get("summary", "")
    if told > entity.stamps.get("summary", ""):
        own = tuple(part for part in other.summary_parts if part.key.startswith(OF_EPISODE))
        summary = other.summary if is_authored(other) else whole.summary
        whole = replace(whole, summary=summary, summary_parts=(*whole.summary_parts, *own))
        stamps["summary"] = told
    return replace(whole, stamps=stamps)
