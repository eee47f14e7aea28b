"""Facts that callers change: UpdateFact, RetractFact, DeleteEpisode with cascade, and documents
that have another text. Pure.

Each takes statements out of slots; the rows around them are folded anew.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kgsvc.domain.facts.beliefs import all_remembering
from kgsvc.domain.facts.slots import (
    RETRACTED,
    UPDATED,
    WITHDRAWN,
    episodes_of,
    expired,
    refolded,
    relation_of,
)
from kgsvc.domain.facts.statements import without
from kgsvc.domain.model.delta import FactTombstone, SlotView
from kgsvc.domain.model.graph import Closure, Entity, Fact, FactKind, Polarity
from kgsvc.domain.model.keys import event_qualifiers, slot_of
from kgsvc.domain.names.merging import rekeyed


@dataclass(frozen=True, slots=True)
class FactInput:
    """What a caller says instead of a fact; None keeps what is there."""

    uuid: str
    group_id: str | None
    fact: str
    source_uuid: str | None = None
    target_uuid: str | None = None
    attributes: Mapping[str, Any] | None = None
    reason: str | None = None


def says_so(fact: Fact, wanted: FactInput) -> bool:
    """Whether the fact is already as wanted."""
    kept = wanted.attributes is None or dict(wanted.attributes) == dict(fact.attributes)
    source, target = wanted.source_uuid or fact.source_uuid, wanted.target_uuid or fact.target_uuid
    return kept and (fact.fact, fact.source_uuid, fact.target_uuid) == (wanted.fact, source, target)


def successor(old: Fact, wanted: FactInput, ends: Mapping[str, Entity], uuid: str, system_ms: int) -> Fact:
    """The row that takes over from `old`: its interval, episodes and statements, other words. `ends` holds
    the entities that the caller named."""
    source, target = ends.get(wanted.source_uuid or ""), ends.get(wanted.target_uuid or "")
    qualifiers: Mapping[str, str] = old.qualifiers
    if old.kind is FactKind.EVENT and old.polarity is Polarity.ASSERTS:
        qualifiers = event_qualifiers(dict(old.qualifiers), wanted.fact, old.valid_ms)
    source_uuid = source.uuid if source else old.source_uuid
    target_uuid = target.uuid if target else old.target_uuid
    return replace(
        old,
        uuid=uuid,
        fact=wanted.fact,
        source_uuid=source_uuid,
        target_uuid=target_uuid,
        source_name=source.name if source else old.source_name,
        target_name=target.name if target else old.target_name,
        slot=slot_of(old.kind, source_uuid, relation_of(old), target_uuid, qualifiers),
        fact_key="",  # follows from the fold
        qualifiers=qualifiers,
        attributes=old.attributes if wanted.attributes is None else dict(wanted.attributes),
        created_ms=system_ms,
        updated_ms=system_ms,
        original_fact=old.fact,
        update_reason=wanted.reason,
        previous_uuid=old.uuid,
        closures=(),
        asserted=True,
        beliefs=(),
    )


def correct(old: Fact, new: Fact, view: SlotView, system_ms: int) -> tuple[Fact, ...]:
    """Every row that changes when `new` takes over from `old`; `view` holds the slots of both.

    The rows around them are folded anew: what `old` had ended may be current again, and `new` stands in
    its slot as if its episodes had said so.
    """
    over = replace(expired(old, UPDATED, system_ms), expired_by_fact=new.uuid)
    stays = [fact for fact in view.facts if fact.uuid != old.uuid]
    folded = refolded(old.group_id, [*stays, new], view, system_ms, slots={old.slot, new.slot})
    written = {over.uuid: over, new.uuid: new} | folded
    return tuple(all_remembering([*view.facts, old], written, system_ms).values())


def retracted(
    old: Fact, corrected: Collection[str], reason: str, view: SlotView, system_ms: int
) -> dict[str, Fact]:
    """Every row that changes when `old` was never true, by uuid. `view` holds its slot and those of whatever
    it had ended; `corrected` are the uuids of the rows that it corrects.

    It expires and takes its statements with it. The rows around it are folded anew, as if nobody had told it.
    """
    was = {old.uuid, *corrected}
    over = replace(expired(old, RETRACTED, system_ms), retract_reason=reason)
    left = [over if fact.uuid == old.uuid else _unended(fact, was, system_ms) for fact in view.facts]
    changed = {fact.uuid: fact for fact, known in zip(left, view.facts, strict=True) if fact != known}
    slots = {fact.slot for fact in changed.values()}
    written = changed | refolded(old.group_id, left, view, system_ms, slots)
    return all_remembering(view.facts, written, system_ms)


def _unended(fact: Fact, by: Collection[str], system_ms: int) -> Fact:
    """The fact without what rows that were never true contradict in it."""
    kept = tuple(closure for closure in fact.closures if closure.by_fact not in by)
    return fact if kept == fact.closures else replace(fact, closures=kept, updated_ms=system_ms)


@dataclass(frozen=True, slots=True)
class Without:
    """What changes: rows to write, rows that go, how many are current again, which have other words now."""

    facts: tuple[Fact, ...]
    removed: tuple[FactTombstone, ...]
    restored: int
    reworded: Mapping[str, str] = field(default_factory=dict)  # facts with other words now, by uuid


def without_episode(view: SlotView, episode_uuid: str, system_ms: int) -> Without:
    """The slots of `view`, which holds every trace of the episode, as if it had never spoken.

    Rows that it alone supports go; others lose its statements; what it had ended, in its slot or by a
    closure elsewhere, is folded anew.
    """
    left = {fact.uuid: _stripped(fact, episode_uuid, system_ms) for fact in view.facts}
    written, restored = _folded_without(view, left, episode_uuid, system_ms)
    gone = [fact for fact in view.facts if left[fact.uuid] is None]
    stones = tuple(_stone(fact, system_ms) for fact in gone)
    return Without(tuple(written.values()), stones, restored, _reworded(view, written))


def withdrawn(view: SlotView, chunk_uuid: str, heirs: Collection[str], system_ms: int) -> Without:
    """The slots of `view`, which holds every trace of the chunk, once its document has a text without it.

    Nothing is removed: what it alone stated expires as withdrawn, and is known of as before. What a chunk of
    the present text (`heirs`) states too, the document has stated all along: that chunk takes over the
    statement, with its time. What the chunk had ended is folded anew, as `without_episode` does.
    """
    left: dict[str, Fact | None] = {}
    over: dict[str, Fact] = {}
    for fact in view.facts:
        rest = _stripped(_inherited(fact, chunk_uuid, heirs, system_ms), chunk_uuid, system_ms)
        left[fact.uuid] = rest
        if rest is None and fact.expired_ms is None:
            over[fact.uuid] = expired(fact, WITHDRAWN, system_ms)
    ended = {uuid for uuid, rest in left.items() if rest is None and uuid not in over}
    kept = {fact.uuid: fact if fact.uuid in ended else left[fact.uuid] for fact in view.facts}
    written, restored = _folded_without(view, kept, chunk_uuid, system_ms)
    written |= all_remembering(view.facts, over, system_ms)
    return Without(tuple(written.values()), (), restored, _reworded(view, written))


def _folded_without(
    view: SlotView, left: Mapping[str, Fact | None], episode_uuid: str, system_ms: int
) -> tuple[dict[str, Fact], int]:
    """What changes when the rows of the view are those of `left` (None: it is none any more), and how many
    are current again."""
    slots: defaultdict[str, list[Fact]] = defaultdict(list)
    touched: set[str] = set()
    for fact in view.facts:
        rest = left[fact.uuid]
        if rest is not None:
            rest = _reopened(_unremembered(rest, left), left, episode_uuid, system_ms)
            slots[fact.slot].append(rest)
        if rest != fact:
            touched.add(fact.slot)
    written: dict[str, Fact] = {}
    for slot in sorted(touched):
        written |= {fact.uuid: fact for fact in slots[slot] if fact not in view.facts}
    remaining = [fact for facts in slots.values() for fact in facts]
    written |= refolded(view.facts[0].group_id, remaining, view, system_ms, touched) if touched else {}
    written = all_remembering(view.facts, written, system_ms)
    before = {fact.uuid: fact for fact in view.facts}
    restored = sum(
        fact.expired_ms is None and before[uuid].expired_ms is not None
        for uuid, fact in written.items()
        if uuid in before
    )
    return written, restored


def _reworded(view: SlotView, written: Mapping[str, Fact]) -> dict[str, str]:
    before = {fact.uuid: fact.fact for fact in view.facts}
    return {u: f.fact for u, f in written.items() if u in before and before[u] != f.fact}


def _inherited(fact: Fact, chunk_uuid: str, heirs: Collection[str], system_ms: int) -> Fact:
    """The fact with the chunk's statements as those of the first chunk of the present text that states it."""
    if chunk_uuid not in fact.episodes:
        return fact
    heir = next((e.episode_uuid for e in sorted(fact.evidence) if e.episode_uuid in heirs), None)
    if heir is None:
        return fact
    evidence = tuple(
        sorted(replace(e, episode_uuid=heir) if e.episode_uuid == chunk_uuid else e for e in fact.evidence)
    )
    return replace(fact, evidence=evidence, episodes=episodes_of(evidence), updated_ms=system_ms)


def _stripped(fact: Fact, episode_uuid: str, system_ms: int) -> Fact | None:
    """The fact without what the episode stated; itself if it stated nothing, None if nothing else did."""
    if episode_uuid not in fact.episodes:
        return fact
    episodes = tuple(uuid for uuid in fact.episodes if uuid != episode_uuid)
    if not episodes:
        return None
    evidence = without(fact.evidence, episode_uuid)
    rest = replace(fact, evidence=evidence, episodes=episodes, updated_ms=system_ms)
    return rest if fact.asserted else _in_words_that_are_left(rest)


def _unremembered(fact: Fact, left: Mapping[str, Fact | None]) -> Fact:
    """The fact without the text that it replaced, or with what is left of that."""
    previous = fact.previous_uuid
    if fact.original_fact is None or previous is None or previous not in left:
        return fact
    before = left[previous]
    return replace(fact, original_fact=None if before is None else before.fact)


def _in_words_that_are_left(fact: Fact) -> Fact:
    """The fact as those who still tell it said it: in its own words if one of them used these; otherwise
    without the keywords and attributes, which came with the words."""
    if not fact.evidence or any(not e.said for e in fact.evidence):
        return fact
    words = min(fact.evidence).said
    evidence = tuple(replace(e, said="" if e.said == words and not e.says else e.said) for e in fact.evidence)
    return replace(fact, fact=words, evidence=evidence, keywords=(), attributes={})


def _reopened(fact: Fact, left: Mapping[str, Fact | None], episode_uuid: str, system_ms: int) -> Fact:
    """The fact without the closures by the episode, unless others tell what closed it: then by the first."""
    closures: set[Closure] = set()
    for closure in fact.closures:
        by = left.get(closure.by_fact)
        if closure.by_episode != episode_uuid:
            closures.add(closure)
        elif by is not None and by.evidence:
            first = min(by.evidence)
            until_ms = closure.reference_ms if closure.retracts else first.reference_ms
            told = replace(closure, at_ms=by.start_ms if closure.moves else first.start_ms)
            closures.add(replace(told, reference_ms=until_ms, by_fact=by.uuid, by_episode=first.episode_uuid))
    kept = tuple(sorted(closures))
    return fact if kept == fact.closures else replace(fact, closures=kept, updated_ms=system_ms)


def _stone(fact: Fact, system_ms: int) -> FactTombstone:
    """It forbids nothing: another episode may say the same, even one that was accepted before."""
    return FactTombstone(fact.uuid, fact.slot, "", system_ms)


# Words of an earlier message that a fact quotes, because without them it says nothing.
_QUOTATION = re.compile(r" \((?:asked|after) “([^”]*)”\)")


def quoted_question(question: str) -> str:
    """How a short answer quotes what it answers."""
    return f"asked “{question}”"


def quoted_words(words: str) -> str:
    """How a correction quotes the speaker's own words before it."""
    return f"after “{words}”"


def quotation_end(body: str) -> str:
    """What is in every fact that quotes the end of this episode, and in few others; empty: none does."""
    last = body.split()[-1:]
    return f"{last[0]}”)" if last else ""


def without_quotations(text: str, body: str) -> str:
    """The text without what it quotes of this episode."""
    whole = " ".join(body.split())
    return _QUOTATION.sub(lambda found: "" if " ".join(found[1].split()) in whole else found[0], text)


def unquoted(fact: Fact, body: str, system_ms: int) -> Fact:
    """The fact without what it quotes of this episode; itself if it quotes nothing of it."""
    original = fact.original_fact
    left = replace(
        fact,
        fact=without_quotations(fact.fact, body),
        original_fact=None if original is None else without_quotations(original, body),
        evidence=tuple(replace(e, said=without_quotations(e.said, body)) for e in fact.evidence),
    )
    return fact if left == fact else rekeyed(replace(left, updated_ms=system_ms))
