"""Answers of a model with one bad value each: it costs itself or its edge, is shown, and parks nothing."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import JAN
from tests.support.client import Client, episode
from tests.support.scripted_openai import answer, edge, node
from tests.support.store_spec import StoreSpec, dumped

ANSWERS = 250
IN_A_CALL = 125
N = 5  # attempts a step, by default
EDGES = 4
RELATIONS = ("KNOWS", "LIKES", "LIVES_IN", "WORKS_AT")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Told:
    """An answer about people of its own: an edge from the first to each other, and one whom no edge names."""

    rng: random.Random
    names: list[str] = field(init=False)
    content: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.names = [self.new_name() for _ in range(EDGES + 2)]
        nodes = [node(f"n{at}", name) for at, name in enumerate(self.names)]
        edges = [
            edge(relation, f"{self.names[0]} {relation.lower()} {self.names[at]}.", "n0", f"n{at}")
            for at, relation in enumerate(RELATIONS, 1)
        ]
        self.content = answer(nodes, edges)

    def new_name(self) -> str:
        return "".join(self.rng.choices(_LETTERS, k=9)).capitalize()

    def damage(self, **changes: Any) -> int:
        """Change one edge; which."""
        at = self.rng.randrange(EDGES)
        self.content["edges"][at] |= changes
        return at


@dataclass(frozen=True)
class Expected:
    """The warning of an item, and what of its answer is in the graph."""

    path: str
    kind: str
    dropped: int | None = None  # number of the edge
    unlisted: str | None = None  # name of an entity


def _value(field: str, kind: str, *values: Any, **more: Any) -> Callable[[Told], Expected]:
    def damage(told: Told) -> Expected:
        at = told.damage(**more, **{field: told.rng.choice(values)})
        return Expected(f"edges[{at}].{field}", kind)

    return damage


def _dropped(field: str, kind: str, *values: Any) -> Callable[[Told], Expected]:
    def damage(told: Told) -> Expected:
        at = told.damage(**{field: told.rng.choice(values)})
        return Expected(f"edges[{at}].{field}", kind, dropped=at)

    return damage


def _unlisted(told: Told) -> Expected:
    name = told.new_name()
    at = told.damage(target_ref=name, fact=f"{told.names[0]} has to do with {name}.")
    return Expected(f"edges[{at}].target_ref", "unlisted_name", unlisted=name)


def _blanks(told: Told) -> Expected:
    at = told.damage()
    told.content["edges"][at]["fact"] = f"  {told.content['edges'][at]['fact']}\n"
    return Expected(f"edges[{at}].fact", "surrounding_blanks")


def _repeated(told: Told) -> Expected:
    at, other = told.rng.sample(range(len(told.names)), 2)
    told.content["nodes"][at]["ref"] = f"n{other}"
    return Expected(f"nodes[{at}].ref", "repeated")


def _no_ref(told: Told) -> Expected:
    at = told.rng.randrange(len(told.names))
    told.content["nodes"][at]["ref"] = ""
    return Expected(f"nodes[{at}].ref", "empty_value")


DAMAGES: tuple[Callable[[Told], Expected], ...] = (
    _value("valid_at", "time_without_zone", "2024-01-02T03:04:05", "2024-01-02 03:04"),
    _value("invalid_at", "no_such_time", "2024-02-30", "2024-13-01T00:00:00Z", "0000"),
    _value("valid_at", "empty_value", "", "null"),
    _value("kind", "empty_value", "", None),
    _value("weight", "empty_value", "", None),
    _value("qualifiers", "empty_value", None),
    _value("invalid_at", "invalid_before_valid", "2023-01-01", valid_at="2023-01-02"),
    _value("weight", "out_of_range", -1, 11, 1e12),
    _value("weight", "no_number", "strong", "0.9"),
    _value("keywords", "too_many_keywords", list("abcdef"), list("abcdefghij") * 9),
    _value("kind", "other_case", "STATE", "State"),
    _value("polarity", "other_case", "Asserts"),
    _dropped("source_ref", "unknown_ref", "n77", "zz", "node 12", "17", "e3"),
    _dropped("target_ref", "unknown_ref", "n77", "zz", "#4", "6b677376-6300-4000-8000-6b6773766300"),
    _dropped("fact", "empty_value", "", None),
    _dropped("polarity", "empty_value", "", None),
    _unlisted,
    _blanks,
    _repeated,
    _no_ref,
)


async def test_one_bad_value_in_each_of_many_answers_parks_nothing(
    client: Client, group: str, spec: StoreSpec
) -> None:
    rng = random.Random(14)
    answers = [Told(rng) for _ in range(ANSWERS)]
    expected = [rng.choice(DAMAGES)(told) for told in answers]
    items: dict[str, typ.ReceiptItem] = {}
    for start in range(0, ANSWERS, IN_A_CALL):
        sent = [
            episode(json.dumps(answers[at].content), JAN + at, uuid=f"e{at}")
            for at in range(start, start + IN_A_CALL)
        ]
        items |= await client.ingest(group, sent)
    assert len(items) == ANSWERS
    assert await client.list_items(group, typ.ITEM_STATE_PARKED) == []
    for at, each in enumerate(expected):
        (warning,) = items[f"e{at}"].warnings
        shown = (warning.path, warning.kind, warning.dropped)
        assert shown == (each.path, each.kind, each.dropped is not None)
    listed = {item.uuid: list(item.warnings) for item in await client.list_items(group)}
    assert listed == {uuid: list(item.warnings) for uuid, item in items.items()}
    dump = await dumped(spec, group)
    facts = [
        " ".join(edge["fact"].split())
        for told, each in zip(answers, expected, strict=True)
        for at, edge in enumerate(told.content["edges"])
        if at != each.dropped
    ]
    assert sorted(fact.fact for fact in dump.facts) == sorted(facts)
    unlisted = {each.unlisted for each in expected if each.unlisted}
    assert {e.name for e in dump.entities} == {name for told in answers for name in told.names} | unlisted


BEYOND: dict[str, Callable[[dict[str, Any]], object]] = {
    "most edges lead nowhere": lambda told: [each.update(target_ref="n77") for each in told["edges"][1:]],
    "most nodes have no name": lambda told: [each.update(name="") for each in told["nodes"][2:]],
    "a time in words": lambda told: told["edges"][0].update(valid_at="next Tuesday"),
    "a fact over its cap": lambda told: told["edges"][0].update(fact="x" * 2_049),
    "a weight that is a list": lambda told: told["edges"][0].update(weight=[1.0]),
    "a polarity that there is not": lambda told: told["edges"][0].update(polarity="maybe"),
    "a field that there is not": lambda told: told["edges"][0].update(mood="glad"),
}


@pytest.mark.parametrize("damage", BEYOND)
async def test_damage_beyond_the_table_is_parked_after_n_attempts_with_nothing_in_the_graph(
    damage: str, client: Client, group: str, spec: StoreSpec
) -> None:
    told = Told(random.Random(15))
    BEYOND[damage](told.content)
    accepted = await client.add_episodes(group, [episode(json.dumps(told.content), JAN, uuid="bad")])
    items = await client.wait_receipt(accepted.receipt_id)
    assert (items["bad"].state, items["bad"].attempts) == (typ.ITEM_STATE_PARKED, N)
    assert not any(name in items["bad"].reason for name in told.names)
    dump = await dumped(spec, group)
    assert (dump.entities, dump.facts, dump.mentions, dump.names) == ((), (), (), {})
