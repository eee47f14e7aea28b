"""Attributes of an entity are bounded: the earliest told go first, a caller's never."""

import json
from itertools import permutations
from typing import Any

from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.domain.names.entities import BYTES, bounded, resolve
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.names.merging import merged_entity

ASSERTED = "99999999999999999/"


def ann(attributes: dict[str, Any], **stamps: str) -> Entity:
    """Ann; `stamps` by attribute."""
    return Entity("a", "g", "Ann", 1, attributes=attributes, stamps={f"a.{n}": s for n, s in stamps.items()})


def size(entity: Entity) -> int:
    return len(json.dumps(entity.attributes, ensure_ascii=False, separators=(",", ":")).encode())


def test_what_fits_stays_as_it_is() -> None:
    full = ann({"a": "é" * 20, "b": [1, {"c": None}]}, a="1/e", b="2/e")
    assert bounded(full, size(full)) is full
    assert bounded(ann({}), 0).attributes == {}


def test_the_earliest_told_go_first_with_their_stamps() -> None:
    full = ann({"old": "x" * 10, "new": "x" * 10, "mid": "x" * 10}, old="1/e", new="3/e", mid="2/e")
    left = bounded(full, size(full) - 1)
    assert list(left.attributes) == ["new", "mid"]
    assert left.stamps == {"a.new": "3/e", "a.mid": "2/e"}
    assert size(left) <= size(full) - 1
    assert bounded(left, 20).attributes == {"new": "x" * 10}
    assert bounded(ann({"b": 1, "a": 1, "c": 1}), 14).attributes == {"b": 1, "a": 1}, "of one age by name"


def test_a_callers_own_and_those_to_keep_stay() -> None:
    full = ann({"own": "x" * 10, "kept": "x" * 10, "new": "x"}, own=ASSERTED, kept="1/e", new="9/e")
    assert list(bounded(full, 5, {"kept"}).attributes) == ["own", "kept"]
    assert list(bounded(full, size(full) - 1, {"kept"}).attributes) == ["own", "kept"]


def said(number: int) -> BatchItem:
    """An episode that tells an attribute of a third of the bound."""
    node = ExtractedNode("n", "Ann", attributes={f"note {number}": "x" * (BYTES // 3)})
    episode = Episode(f"e{number}", "g", "", Source.TEXT, number, 0)
    return BatchItem(episode, Extraction((node,)), 0)


def test_what_an_entity_keeps_does_not_depend_on_the_order_of_arrival() -> None:
    found = []
    for order in permutations(range(4)):
        view = NameView(GroupHead("g"), {}, {})
        for number in order:
            resolved = resolve(view, "g", [said(number)], 1)
            view = NameView(view.head, resolved.by_key, {e.uuid: e for e in resolved.by_key.values()})
        (entity,) = view.by_uuid.values()
        found.append(dict(sorted(entity.attributes.items())))
        assert size(entity) <= BYTES
    assert all(each == found[0] for each in found)
    assert list(found[0]) == ["note 2", "note 3"]


def test_a_merge_brings_what_fits_and_drops_nothing_of_the_one_that_stays() -> None:
    kept = ann({"a": "x" * 20}, a="1/e")
    gone = ann({"b": "y" * 20, "c": "y" * 20}, b="8/e", c="9/e")
    assert list(merged_entity(kept, gone, 70).attributes) == ["a", "c"]
    assert list(merged_entity(kept, gone).attributes) == ["a", "b", "c"]
