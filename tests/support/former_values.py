"""Rows as earlier versions wrote them: the end of a former value closed the present one."""

from collections.abc import Iterable

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, Entity, Evidence, Fact, FactKind
from kgsvc.domain.model.keys import fact_key, slot_of

NOW = 1_000
FALCON = "n1"
MENDED = [  # what `former_values` are to say after the migration
    ("Falcon cost 60 until May.", EARLIEST_MS, 50, None),
    ("Falcon was in review until July.", EARLIEST_MS, 70, None),
    ("Falcon costs 75.", 50, None, None),
    ("Falcon is done.", 70, None, None),
]


def former_price(group: str) -> Fact:
    """75 since 50; what was told of 60 closed it there."""
    told = Evidence(50, 50, "e1", 50)
    end = Evidence(50, 60, "e2", 50, said="Falcon cost 60 until May.", says=ENDED)
    return _closed(group, "f1", "HAS_PRICE", "Falcon costs 75.", told, end)


def former_status(group: str) -> Fact:
    """Done since 70; what was told of the review closed it there."""
    told = Evidence(70, 70, "e3", 70)
    end = Evidence(70, 80, "e4", 70, said="Falcon was in review until July.", says=ENDED)
    return _closed(group, "f2", "HAS_STATUS", "Falcon is done.", told, end)


def former_values(group: str) -> GraphDelta:
    """Both with their entity."""
    return GraphDelta(
        group,
        120,
        entities=(Entity(FALCON, group, "Falcon", 1),),
        facts=(former_price(group), former_status(group)),
    )


def rows(facts: Iterable[Fact]) -> list[tuple[str, int, int | None, str | None]]:
    """What they say: text, start, end, why it expired."""
    found = [(f.fact, f.start_ms, f.invalid_ms, f.expired_reason) for f in facts]
    return sorted(found, key=lambda row: (row[1], row[0]))


def _closed(group: str, uuid: str, relation: str, text: str, told: Evidence, end: Evidence) -> Fact:
    slot = slot_of(FactKind.FUNCTIONAL, FALCON, relation, FALCON, {})
    return Fact(
        uuid=uuid,
        group_id=group,
        name=relation,
        fact=text,
        source_uuid=FALCON,
        target_uuid=FALCON,
        source_name="Falcon",
        target_name="Falcon",
        created_ms=100,
        reference_ms=told.reference_ms,
        slot=slot,
        fact_key=fact_key(slot, FALCON, told.start_ms, text),
        valid_ms=told.stated_valid_ms,
        invalid_ms=end.start_ms,
        expired_ms=110,
        expired_reason="superseded",
        expired_by_episode=end.episode_uuid,
        kind=FactKind.FUNCTIONAL,
        episodes=(told.episode_uuid, end.episode_uuid),
        evidence=(told, end),
    )
