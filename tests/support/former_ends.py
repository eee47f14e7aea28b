"""Rows as earlier versions wrote them: the end of a relation was a fact of its own, called NO_LONGER_X."""

from collections.abc import Iterable
from dataclasses import replace

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import EARLIEST_MS, Entity, Evidence, Fact, FactKind, Polarity
from kgsvc.domain.model.keys import fact_key, slot_of

NOW = 1_000


def people(group: str) -> tuple[Entity, Entity, Entity]:
    """Ada, Bob and Acme."""
    return Entity("n1", group, "Ada", 1), Entity("n2", group, "Bob", 1), Entity("n3", group, "Acme", 1)


def former_rows(group: str) -> tuple[Fact, Fact, Fact]:
    """Ada worked at Acme until 50, which an end of its own said; of Bob's job only its end at 60 is known."""
    ada, bob, acme = people(group)
    worked = _row(ada, acme, "f1", "Ada works at Acme.", Evidence(10, 10, "e1", 10))
    worked = _expired(worked, "f2", "e2")
    return (
        worked,
        _row(ada, acme, "f2", "Ada left Acme.", Evidence(50, 55, "e2", 50), ends=True),
        _row(bob, acme, "f3", "Bob quit at Acme.", Evidence(60, 60, "e3"), ends=True),
    )


def former_graph(group: str) -> GraphDelta:
    """All of them with their entities."""
    return GraphDelta(group, 120, entities=people(group), facts=former_rows(group))


def _expired(fact: Fact, by_fact: str, by_episode: str) -> Fact:
    return replace(
        fact,
        invalid_ms=50,
        expired_ms=110,
        expired_reason="superseded",
        expired_by_fact=by_fact,
        expired_by_episode=by_episode,
    )


def _row(source: Entity, target: Entity, uuid: str, words: str, said: Evidence, ends: bool = False) -> Fact:
    slot = slot_of(FactKind.FUNCTIONAL, source.uuid, "WORKS_AT", target.uuid, {})
    return Fact(
        uuid=uuid,
        group_id=source.group_id,
        name="NO_LONGER_WORKS_AT" if ends else "WORKS_AT",
        fact=words,
        source_uuid=source.uuid,
        target_uuid=target.uuid,
        source_name=source.name,
        target_name=target.name,
        created_ms=100,
        reference_ms=said.reference_ms,
        slot=slot,
        fact_key=fact_key(slot, target.uuid, said.start_ms, words),
        valid_ms=said.stated_valid_ms,
        kind=FactKind.FUNCTIONAL,
        polarity=Polarity.ENDS if ends else Polarity.ASSERTS,
        episodes=(said.episode_uuid,),
        evidence=(said,),
    )


def told(facts: Iterable[Fact] | None = None) -> list[tuple[object, ...]]:
    """What the rows say; without any, what `former_rows` are to say after the migration."""
    if facts is None:
        return [
            ("f1", "WORKS_AT", "Ada works at Acme.", 10, 50, "superseded", ("e1", "e2")),
            ("f2", "WORKS_AT", "Ada left Acme.", EARLIEST_MS, 50, "merged", ("e2",)),
            ("f3", "WORKS_AT", "Bob quit at Acme.", EARLIEST_MS, 60, None, ("e3",)),
        ]
    return sorted(
        (f.uuid, f.name, f.fact, f.start_ms, f.invalid_ms, f.expired_reason, f.episodes) for f in facts
    )
