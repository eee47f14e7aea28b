"""Taking an entity apart: contradictions, words, attributes and names go with the episodes that told them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Closure, Entity, Evidence, Fact, Mention
from kgsvc.domain.names.meanings import may_merge
from kgsvc.domain.names.merging import Hanging, folded_apart
from kgsvc.domain.names.namesakes import PERSON, marked, namesake, plain
from kgsvc.domain.names.splitting import (
    Going,
    apart,
    back_together,
    divided,
    names_that_go,
    new_entity,
    record_of_split,
    split_entity,
    split_facts,
)
from tests.support.samples import NOW, entity, fact

JORDAN, ACME = entity("g", "jordan", "Jordan"), entity("g", "acme", "Acme")
AT = {"one": NOW, "two": NOW + 1, "three": NOW + 2}
OTHER = entity("g", "other", "Jordan")


def told(uuid: str, *said: tuple[str, str], **fields: Any) -> Fact:
    """A fact of Jordan that episodes state, the one in the words of the other."""
    evidence = tuple(Evidence(NOW, AT[episode], episode, None, None, words) for episode, words in said)
    episodes = tuple(episode for episode, _ in said)
    words = f"Jordan {uuid}"
    return fact(uuid, JORDAN, ACME, words, name=uuid, episodes=episodes, evidence=evidence, **fields)


def split(facts: Iterable[Fact], going: Going) -> tuple[dict[str, Fact], dict[str, Any]]:
    """All facts afterwards, and the record."""
    before = {each.uuid: each for each in facts}
    parts = divided(Hanging(tuple(before.values()), (), ()), JORDAN.uuid, OTHER, going)
    after = split_facts("g", parts, SlotView(tuple(before.values())), NOW + 9)
    record = record_of_split(JORDAN, OTHER, parts, before, after, {}, {})
    return before | after, record


def joined(facts: dict[str, Fact], record: dict[str, Any]) -> dict[str, Fact]:
    """All facts once the split is undone."""
    back, removed = back_together(record, OTHER, JORDAN, facts.values(), NOW + 10)
    after = folded_apart("g", SlotView(tuple(facts.values())), back, removed, NOW + 10)
    gone = {each.uuid for each in removed}
    return {uuid: each for uuid, each in (facts | after).items() if uuid not in gone}


def settled(facts: Iterable[Fact]) -> dict[str, Fact]:
    """But for when they were written and for what was believed meanwhile."""
    return {each.uuid: replace(each, updated_ms=None, beliefs=()) for each in facts}


def closed(one: Fact, by: Fact, episode: str) -> Fact:
    """A fact that another ended."""
    closure = Closure(NOW + 1, NOW + 1, by.uuid, episode)
    ended = replace(one, expired_by_fact=by.uuid, expired_by_episode=episode, expired_reason="superseded")
    return replace(ended, closures=(closure,), invalid_ms=NOW + 1, expired_ms=NOW + 2)


@pytest.mark.parametrize("going", [Going(frozenset({"two"})), Going(facts=frozenset({"quits"}))])
def test_what_the_other_one_ended_stands_again(going: Going) -> None:
    quits = told("quits", ("two", ""))
    before = [closed(told("works", ("one", "")), quits, "two"), quits]
    after, record = split(before, going)
    assert after["quits"].source_uuid == "other"
    works = after["works"]
    assert (works.source_uuid, works.expired_ms, works.closures) == ("jordan", None, ())
    assert settled(joined(after, record).values()) == settled(before)


def test_a_contradiction_goes_with_its_own_part_of_what_contradicts() -> None:
    quits = told("quits", ("one", ""), ("two", ""))
    works = told("works", ("two", ""))
    before = [closed(works, quits, "two"), quits]
    after, record = split(before, Going(frozenset({"two"})))
    (copy,) = record["copies"]
    assert [each.by_fact for each in after["works"].closures] == [copy]
    assert after["works"].expired_by_fact == copy
    assert after[copy].episodes == ("two",)
    assert settled(joined(after, record).values()) == settled(before)


def test_what_ends_a_fact_from_outside_stays_on_both() -> None:
    outside = fact("outside", ACME, ACME)
    both = closed(told("works", ("one", ""), ("two", "")), outside, "three")
    after, record = split([both], Going(frozenset({"two"})))
    (copy,) = record["copies"]
    assert after[copy].closures == after["works"].closures == both.closures
    assert after[copy].expired_reason == "superseded"
    assert settled(joined(after, record).values()) == settled([both])


def test_each_part_is_in_words_that_its_own_episodes_said() -> None:
    works = told(
        "works", ("one", "Jordan is at Acme"), ("two", ""), keywords=("job",), attributes={"since": 3}
    )
    after, record = split([works], Going(frozenset({"two"})))
    (copy,) = record["copies"]
    assert after[copy].fact == "Jordan works"
    assert (after["works"].fact, after["works"].keywords, after["works"].attributes) == (
        "Jordan is at Acme",
        (),
        {},
    )
    assert settled(joined(after, record).values()) == settled([works])
    without = {uuid: each for uuid, each in after.items() if uuid != copy}  # a cascade removed it
    assert joined(without, record)["works"].fact == "Jordan is at Acme"


def test_a_fact_whose_episodes_are_not_known_goes_only_by_its_name() -> None:
    adopted = fact("adopted", JORDAN, ACME)
    after, _ = split([adopted, told("works", ("two", ""))], Going(frozenset({"two"})))
    assert after["adopted"].source_uuid == "jordan"
    after, _ = split([adopted, told("works", ("two", ""))], Going(facts=frozenset({"adopted"})))
    assert after["adopted"].source_uuid == "other"


def test_episodes_go_whole_where_nothing_of_them_stays() -> None:
    facts = (told("works", ("one", ""), ("two", "")), told("likes", ("two", ""), ("three", "")))
    hanging = Hanging(facts, (), ("one", "two", "three", "four"))
    gone = apart(hanging, Going(facts=frozenset({"likes"})))
    assert (set(gone.whole), set(gone.some)) == ({"three"}, {"two", "three"})
    gone = apart(hanging, Going(frozenset({"two", "four"})))
    assert set(gone.whole) == set(gone.some) == {"two", "four"}


def said(episode: str, *names: str, of: tuple[str, ...] = ()) -> dict[str, Mention]:
    return {episode: Mention(f"m-{episode}", "g", episode, "jordan", NOW, names, of)}


def test_attributes_types_and_summary_go_with_their_episode() -> None:
    stamps = {"name": "1/one", "a.age": "1/one", "a.city": "2/two", "summary": "2/two"}
    whole = replace(
        JORDAN,
        stamps=stamps,
        attributes={"age": 3, "city": "Oslo"},
        labels=("Person", "Place"),
        summary="A town.",
    )
    going = Going(frozenset({"two"}))
    hanging = Hanging((told("works", ("one", ""), ("two", "")),), (), ("one", "two"))
    gone = apart(hanging, going)
    other = new_entity(whole, "other", None, hanging, gone, NOW + 9)
    stays, goes = said("one", "Jordan", of=("Person",)), said("two", "Jordan", of=("Place",))
    left, made = split_entity(whole, other, gone, stays, goes)
    assert (left.attributes, left.labels, left.summary) == ({"age": 3}, ("Person",), "")
    assert (made.attributes, made.labels, made.summary) == ({"city": "Oslo"}, ("Place",), "A town.")
    assert made.source_episode_uuid == "two"
    assert not may_merge(replace(made, labels=left.labels), left)
    assert not may_merge(left, replace(made, labels=left.labels))
    assert namesake(made.name, made.labels, left, ()) == marked("Jordan", "place")


def test_only_names_that_nobody_else_uses_go() -> None:
    owned = ["jordan", "jo", "j. lee", "boss"]
    stays, goes = said("one", "Jordan", "Jo"), said("two", "Jordan", "Jo", "J. Lee")
    assert names_that_go(JORDAN, owned, stays, goes) == {"j. lee"}
    assert names_that_go(JORDAN, owned, said("one"), goes) == set()  # it may have said any
    given = replace(JORDAN, stamps={"name": "1/one", "n.j. lee": ""})
    assert names_that_go(given, owned, stays, goes) == set()


def test_namesakes_of_one_kind_get_marks_of_no_class() -> None:
    person: Entity = replace(JORDAN, labels=("Person",))
    first = namesake("Jordan", ("Person",), person, ())
    second = namesake("Jordan", ("Person",), person, {first.casefold()})
    assert len({"Jordan", first, second, marked("Jordan", PERSON)}) == 4
    assert {plain(first), plain(second)} == {"Jordan"}
