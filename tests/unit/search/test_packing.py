from dataclasses import fields, replace

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Closure, Evidence, Fact, FactKind, Polarity
from kgsvc.search.index.facts import pack, unpack
from tests.unit.search.feed import NOW, fact


def test_everything_shown_survives() -> None:
    full = fact(
        "f",
        "Ann likes 'tea' ☕",
        slot="s",
        fact_key="k",
        valid_ms=NOW - 5,
        invalid_ms=NOW + 5,
        expired_ms=NOW,
        kind=FactKind.FUNCTIONAL,
        polarity=Polarity.DENIES,
        qualifiers={"at": "noon"},
        keywords=("tea",),
        weight=0.5,
        episodes=("e1", "e2"),
        evidence=(Evidence(1, 2, "e1"),),
        expired_by_fact="f2",
        expired_by_episode="e2",
        expired_reason="superseded",
        invalid_before_ms=NOW + 9,
        attributes={"note": "x", "deep": [{"a": 1}]},
        closures=(Closure(NOW, NOW, "f2", "e2"),),
        updated_ms=NOW,
        original_fact="Ann likes coffee",
        update_reason="she said so",
        previous_uuid="f0",
        retract_reason="never was",
        asserted=True,
        beliefs=(Belief(NOW - 5, None, NOW - 9, NOW, fact="Ann drinks tea"),),
    )
    defaults = fact("g")
    assert all(getattr(full, f.name) != getattr(defaults, f.name) for f in fields(Fact) if f.name in shown())
    assert unpack(pack(full)) == replace(full, slot="", fact_key="", evidence=(), closures=())


def shown() -> set[str]:
    """Fields that the test sets to something of its own."""
    return {f.name for f in fields(Fact)} - {
        "group_id", "name", "source_uuid", "target_uuid", "source_name", "target_name", "created_ms",
        "reference_ms",
    }  # fmt: skip
