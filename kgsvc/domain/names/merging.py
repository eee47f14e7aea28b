"""MergeEntityNodes and UndoMerge: two entities become one, and two again. Pure.

A merge records what it moved and changed, so that it can be undone exactly: what episodes state after the
merge stays with the entity that is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.slots import as_merged, episodes_of, refolded, relation_of
from kgsvc.domain.facts.summary import with_parts
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Closure, Entity, Evidence, Fact, Mention, SummaryPart
from kgsvc.domain.model.keys import fact_key, name_key, slot_of
from kgsvc.domain.names.entities import BYTES, bounded, names_given
from kgsvc.domain.names.meanings import RENAMED_TO, name_borne
from kgsvc.domain.names.namesakes import plain

_ENDERS = ("expired_reason", "expired_by_fact", "expired_by_episode")
_EXPIRY = ("valid_ms", "reference_ms", "invalid_ms", "expired_ms", "invalid_before_ms", *_ENDERS)
Said = tuple[tuple[str, ...], tuple[str, ...]]  # names and types of one mention
_WORDING = ("fact", "keywords", "attributes")


@dataclass(frozen=True, slots=True)
class Hanging:
    """What belongs to an entity: all its facts, the keys of its names, the episodes that mention it."""

    facts: tuple[Fact, ...]
    names: tuple[str, ...]
    episodes: tuple[str, ...]


def moved(fact: Fact, old: str, new: Entity) -> Fact:
    """The fact with `new` for the end or ends that were `old`; its keys follow."""
    if fact.source_uuid == old:
        fact = replace(fact, source_uuid=new.uuid, source_name=new.name)
    if fact.target_uuid == old:
        fact = replace(fact, target_uuid=new.uuid, target_name=new.name)
    return rekeyed(fact)


def called(fact: Fact, names: Mapping[str, str]) -> Fact:
    """The fact with the present names of its ends; `names` are those that changed, by uuid."""
    if names.keys().isdisjoint((fact.source_uuid, fact.target_uuid)):
        return fact
    return replace(
        fact,
        source_name=names.get(fact.source_uuid, fact.source_name),
        target_name=names.get(fact.target_uuid, fact.target_name),
    )


def rekeyed(fact: Fact) -> Fact:
    """The fact with the keys that follow from its ends."""
    slot = slot_of(fact.kind, fact.source_uuid, relation_of(fact), fact.target_uuid, fact.qualifiers)
    return replace(fact, slot=slot, fact_key=fact_key(slot, fact.target_uuid, fact.start_ms, fact.fact))


def merged_facts(
    kept: Entity, hanging: Hanging, old_uuid: str, view: SlotView, system_ms: int
) -> dict[str, Fact]:
    """Every fact that changes, by uuid. `view` holds the slots that the moved facts come to.

    A fact between the two is about one entity now: it expires, but for their rename. Slots that meet are
    folded together.
    """
    pairs = [(fact, moved(fact, old_uuid, kept)) for fact in hanging.facts]
    arrived = [as_merged(new, system_ms) if is_over(old, new) else new for old, new in pairs]
    written = {fact.uuid: replace(fact, updated_ms=system_ms) for fact in arrived}
    changed = written | folded_with(kept.group_id, view, written, system_ms)
    return all_remembering([*view.facts, *hanging.facts], changed, system_ms)


def is_over(old: Fact, new: Fact) -> bool:
    """Whether a fact was between two that are one now, but for their rename."""
    between = old.source_uuid != old.target_uuid and new.source_uuid == new.target_uuid
    return between and relation_of(new) != RENAMED_TO


def folded_with(
    group_id: str, view: SlotView, written: Mapping[str, Fact], system_ms: int
) -> dict[str, Fact]:
    """What changes when the slots of `view` and of `written` are folded with `written` in them."""
    present = {fact.uuid: fact for fact in view.facts} | dict(written)
    return refolded(group_id, list(present.values()), view, system_ms)


def merged_entity(kept: Entity, gone: Entity, attributes_bytes: int = BYTES) -> Entity:
    """The entity that stays, with what only the other one had; of its attributes those that fit."""
    new = {name: value for name, value in gone.attributes.items() if name not in kept.attributes}
    stamps = {f"a.{name}": gone.stamps[f"a.{name}"] for name in new if f"a.{name}" in gone.stamps}
    stamps |= names_given(gone)
    stamps |= {part: stamp for part, stamp in gone.stamps.items() if name_borne(part)}
    labels = ({*kept.labels, *gone.labels} - {"Entity"}) or {"Entity"}
    both = replace(
        kept,
        attributes={**kept.attributes, **new},
        labels=tuple(sorted(labels)),
        stamps={**kept.stamps, **stamps},
    )
    return bounded(both, attributes_bytes, kept.attributes.keys())


def record_of(
    kept: Entity,
    gone: Entity,
    hanging: Hanging,
    before: Mapping[str, Fact],
    after: Mapping[str, Fact],
    said: Mapping[str, Mention],
    kept_said: Mapping[str, Mention],
) -> dict[str, Any]:
    """What UndoMerge needs, as JSON values. `before` are all facts of the slots and of the entity as they
    were; `said` and `kept_said` the MENTIONS of either by the episodes that name the one that goes."""
    return {
        "entity": asdict(with_parts(gone, gone.summary_parts)),
        "kept_name": kept.name,
        "names": list(hanging.names),
        "episodes": list(hanging.episodes),
        "mentions": sorted(set(hanging.episodes).difference(kept_said)),
        "said": saying(said),
        "kept_said": saying(kept_said),
        **changes_of(gone.uuid, hanging.facts, before, after),
        "attributes": [name for name in gone.attributes if name not in kept.attributes],
        "labels": [label for label in gone.labels if label not in kept.labels],
    }


def changes_of(
    end: str, moving: Iterable[Fact], before: Mapping[str, Fact], after: Mapping[str, Fact]
) -> dict[str, Any]:
    """What `unmerged_facts` needs, as JSON values, to take a change back by which the facts `moving` get
    another entity for `end`. `before` are all facts of the slots as they were."""
    ends = {f.uuid: [f.source_uuid == end, f.target_uuid == end] for f in moving}
    changed = {
        uuid: {
            "before": [asdict(e) for e in was.evidence],
            "after": [asdict(e) for e in after[uuid].evidence],
            "closures": [asdict(c) for c in was.closures],
            "closures_after": [asdict(c) for c in after[uuid].closures],
            "expiry": {name: getattr(was, name) for name in _EXPIRY},
            "reason_after": after[uuid].expired_reason,
            "wording": {name: getattr(was, name) for name in _WORDING if was.fact != after[uuid].fact},
        }
        for uuid, was in before.items()
        if uuid in after and _state(was) != _state(after[uuid])
    }
    made = {uuid: [asdict(e) for e in fact.evidence] for uuid, fact in after.items() if uuid not in before}
    return {"ends": ends, "changed": changed, "made": made}


def saying(mentions: Mapping[str, Mention]) -> dict[str, Said]:
    """The names and types that episodes use for the entity, by episode."""
    return {episode: (mention.names, mention.types) for episode, mention in mentions.items()}


def both(mention: Mention, other: Mention | None) -> Mention:
    """One mention with the names and types of two. Where one does not know its names, neither does the
    result."""
    if other is None:
        return mention
    names = {*mention.names, *other.names} if mention.names and other.names else set()
    return replace(mention, names=tuple(sorted(names)), types=tuple(sorted({*mention.types, *other.types})))


def said_in(record: Mapping[str, Any], part: str) -> dict[str, Said]:
    """What episodes called the entity that went ("said") or the one that stayed ("kept_said")."""
    told = record.get(part, {})
    return {episode: (tuple(names), tuple(types)) for episode, (names, types) in told.items()}


def still_called(gone: Entity, kept: Entity, said: Mapping[str, Said], keys: Collection[str]) -> Entity:
    """The entity that had gone, by those of its names and types that are left of it: `keys` lead to the one
    that stayed. A cascade may have taken others away since."""
    labels = tuple(label for label in gone.labels if label in kept.labels) or ("Entity",)
    name = gone.name
    if keys and name_key(name) not in keys:
        spelled = {each for names, _types in said.values() for each in names if name_key(each) in keys}
        name = min(spelled or keys, key=lambda each: (-len(name_key(each)), each))
    return replace(gone, name=plain(name), labels=labels)


def _state(fact: Fact) -> tuple[Any, ...]:
    return (fact.evidence, fact.closures, fact.fact, *(getattr(fact, name) for name in _EXPIRY))


def teachers_of(entity: Entity) -> set[str]:
    """The episodes that gave its attributes and its summary."""
    return {stamp.partition("/")[2] for part, stamp in entity.stamps.items() if part != "name"} - {""}


def entity_in(record: Mapping[str, Any]) -> Entity:
    """The entity that had gone, as it was."""
    values = dict(record["entity"])
    values["labels"] = tuple(values["labels"])
    values["summary_parts"] = tuple(SummaryPart(**part) for part in values["summary_parts"])
    return Entity(**values)


def unmerged_facts(
    record: Mapping[str, Any], kept: Entity, gone: Entity, facts: Iterable[Fact], system_ms: int
) -> tuple[dict[str, Fact], list[Fact]]:
    """The facts that the merge moved or changed, with their own ends and statements again, and those that go:
    rows that it made. Statements that joined them since stay with them."""
    found: dict[str, Fact] = {}
    removed: list[Fact] = []
    facts = list(facts)
    alive = {each for fact in facts for each in fact.evidence}  # a cascade may have taken some since
    for fact in facts:
        if fact.uuid in record["made"]:
            back = _without(fact, record["made"][fact.uuid])
            if not back.evidence:
                removed.append(fact)
                continue
        else:
            back = _returned(_restated(fact, record["changed"].get(fact.uuid), alive), record, kept, gone)
        found[fact.uuid] = replace(rekeyed(back), updated_ms=system_ms)
    return found, removed


def _returned(fact: Fact, record: Mapping[str, Any], kept: Entity, gone: Entity) -> Fact:
    source, target = record["ends"].get(fact.uuid, (False, False))
    if source and fact.source_uuid == kept.uuid:
        fact = replace(fact, source_uuid=gone.uuid, source_name=gone.name)
    if target and fact.target_uuid == kept.uuid:
        fact = replace(fact, target_uuid=gone.uuid, target_name=gone.name)
    return fact


def _without(fact: Fact, statements: Iterable[Mapping[str, Any]]) -> Fact:
    merged = {Evidence(**each) for each in statements}
    return _stating(fact, [each for each in fact.evidence if each not in merged])


def _stating(fact: Fact, evidence: Iterable[Evidence]) -> Fact:
    kept = tuple(sorted(evidence))
    return replace(fact, evidence=kept, episodes=episodes_of(kept))


def _restated(fact: Fact, changed: Mapping[str, Any] | None, alive: Collection[Evidence]) -> Fact:
    if changed is None:
        return fact
    since = _without(fact, changed["after"]).evidence
    before = {Evidence(**each) for each in changed["before"]}
    back = _stating(fact, before.intersection(alive).union(since))
    if fact.expired_reason == changed["reason_after"] and fact.retract_reason is None:
        back = replace(back, **changed["expiry"])
    wording = changed.get("wording")
    if wording and before <= set(alive):  # else those who said so were deleted
        back = replace(back, **{**wording, "keywords": tuple(wording["keywords"])})
    closures = {Closure(**each) for each in changed["closures"]}
    if "closures_after" in changed:  # those that came since stay too
        closures |= set(fact.closures) - {Closure(**each) for each in changed["closures_after"]}
    return replace(back, closures=tuple(sorted(closures)))


def folded_apart(
    group_id: str, view: SlotView, back: Mapping[str, Fact], removed: Iterable[Fact], system_ms: int
) -> dict[str, Fact]:
    """All that changes once the facts are back in their slots; `view` holds those they leave and come to."""
    gone = {fact.uuid for fact in removed}
    left = SlotView(tuple(fact for fact in view.facts if fact.uuid not in gone), view.tombstones)
    changed = dict(back) | folded_with(group_id, left, back, system_ms)
    return all_remembering(view.facts, changed, system_ms)


def unmerged_entity(kept: Entity, gone: Entity, record: Mapping[str, Any]) -> Entity:
    """The entity that stayed, without what it had of the other alone and has unchanged."""
    mine = {n for n in record["attributes"] if kept.attributes.get(n) == gone.attributes.get(n)}
    borne = {part for part in kept.stamps if name_key(name_borne(part)) in record["names"]}
    labels = tuple(label for label in kept.labels if label not in record["labels"])
    return replace(
        kept,
        name=own_name(kept, record),
        attributes={name: value for name, value in kept.attributes.items() if name not in mine},
        stamps={
            part: stamp
            for part, stamp in kept.stamps.items()
            if part.removeprefix("a.") not in mine and part not in borne
        },
        labels=labels or ("Entity",),
    )


def own_name(kept: Entity, record: Mapping[str, Any]) -> str:
    """What the entity that stayed is called without the other: as before the merge, if no caller but the
    merge gave it a name of the other since."""
    borrowed = name_key(kept.name) in record["names"] and bool(kept.stamps.get("name"))
    return str(record.get("kept_name", kept.name)) if borrowed else kept.name


def slots_of(facts: Iterable[Fact]) -> set[str]:
    """Their conflict keys."""
    return {fact.slot for fact in facts}
