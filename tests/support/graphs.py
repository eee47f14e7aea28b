"""What two graphs must have in common to be equal, whoever minted their uuids and whenever they were made."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.namesakes import classes_of
from kgsvc.stores.protocol import GroupDump

Comparable = dict[str, list[Any]]


def comparable(dump: GroupDump) -> Comparable:
    """The graph without uuids of entities and facts and without system times.

    Rows that were merged into others are history of how the graph came about, not part of it.
    """
    names = {entity.uuid: entity.name for entity in dump.entities}
    facts = {fact.uuid: fact for fact in dump.facts}
    return {
        "episodes": sorted((e.uuid, e.body, e.reference_ms, e.source.value, e.role) for e in dump.episodes),
        "entities": sorted(
            (e.name, e.labels, e.summary, sorted(e.attributes.items()), e.source_episode_uuid)
            for e in dump.entities
        ),
        "names": sorted((key, names[uuid]) for key, uuid in dump.names.items()),
        "mentions": sorted((episode, names[entity]) for episode, entity in dump.mentions),
        "facts": sorted(_fact(fact, names, facts) for fact in dump.facts if fact.expired_reason != "merged"),
    }


def _fact(fact: Fact, names: dict[str, str], facts: dict[str, Fact]) -> tuple[Any, ...]:
    by = facts.get(fact.expired_by_fact or "")
    return (
        (names[fact.source_uuid], fact.name, names[fact.target_uuid], fact.fact),
        (fact.source_name, fact.target_name),
        (fact.start_ms, fact.valid_ms is None, fact.invalid_ms is None, fact.invalid_ms or 0),
        (fact.kind.value, fact.polarity.value, sorted(fact.qualifiers.items()), fact.weight),
        (fact.expired_ms is None, fact.expired_reason or "", fact.expired_by_episode or ""),
        "" if by is None else by.fact,
        fact.episodes,
        sorted((e.start_ms, e.reference_ms, e.episode_uuid) for e in fact.evidence),
    )


def differences(one: Comparable, other: Comparable, shown: int = 5) -> str:
    """What one has and the other has not, for a failure message; empty when they are equal."""
    lines: list[str] = []
    for part in one:
        mine, theirs = Counter(map(repr, one[part])), Counter(map(repr, other[part]))
        for title, left in (("only here", mine - theirs), ("only there", theirs - mine)):
            if left:
                lines.append(f"{part} {title}: {left.total()}")
                lines.extend(f"  {row}" for row in sorted(left)[:shown])
    return "\n".join(lines)


def _classes(entity: Entity) -> list[str]:
    """By which things of one name may be two."""
    return sorted(classes_of(entity.labels))


def assert_sound(dump: GroupDump) -> None:
    """Each thing exists once, and nothing points at what is not there."""
    entities = {entity.uuid for entity in dump.entities}
    episodes = {episode.uuid for episode in dump.episodes}
    assert _twice((name_key(entity.name), *_classes(entity)) for entity in dump.entities) == []
    assert _twice(fact.fact_key for fact in dump.facts if fact.expired_reason != "merged") == []
    assert _twice(dump.mentions) == []
    assert set(dump.names.values()) <= entities
    assert {name_key(entity.name) for entity in dump.entities} <= set(dump.names)
    assert {uuid for fact in dump.facts for uuid in (fact.source_uuid, fact.target_uuid)} <= entities
    assert {uuid for fact in dump.facts for uuid in fact.episodes} <= episodes
    assert {episode for episode, _ in dump.mentions} <= episodes
    assert {entity for _, entity in dump.mentions} <= entities


def _twice(things: Iterable[Any]) -> list[Any]:
    return [thing for thing, count in Counter(things).items() if count > 1]
