"""Spec 002, resolution: what new names and facts are compared with, over gRPC with a scripted model.

The model takes whatever it is offered for the same thing, so that what it is not offered stays apart.
"""

from collections.abc import Mapping
from typing import Any

from kgsvc.v1 import admin_pb2 as adm
from tests.acceptance.saying import FEB, JAN, MAR, fact, reads_bodies, telling
from tests.support.client import CALL_S, Client, episode, granted
from tests.support.graphs import assert_sound
from tests.support.scripted_openai import (
    Outcome,
    Request,
    ScriptedOpenAI,
    answer,
    edge,
    node,
    resolutions,
    verdicts,
)
from tests.support.scripted_openai.replies import as_content
from tests.support.store_spec import StoreSpec, dumped
from tests.support.telling import ms_of

ONTOLOGY = """\
entity_types:
  - {name: Person, description: A human being.}
  - {name: Company, description: A business.}
fact_types:
  - {name: WORKS_AT, description: Employment., kind: functional}
  - {name: OWNS, description: Possession.}
fact_type_map:
  - {source: Person, target: Company, fact_types: [WORKS_AT, OWNS]}
"""


def agreeing(request: Request) -> Outcome | Mapping[str, Any] | None:
    """Says yes: to the first candidate, to every contradiction, and that all is employment. What begins later
    moves all that it is compared with."""
    if request.endpoint == "embeddings":
        given = request.body["input"]
        texts = [given] if isinstance(given, str) else given
        known = [text.replace("Lisboa", "Lisbon") for text in texts]  # one meaning to the embedder
        return reads_bodies(Request("embeddings", request.headers, {**request.body, "input": known}, ""))
    asked = request.resolution
    if asked is None:
        return reads_bodies(request)
    facts: dict[int, dict[str, Any]] = {}
    for question in asked.get("new_facts", []):
        verdict = "moved" if "later" in question["fact"] else "replaced"
        facts[question["id"]] = verdicts(**{verdict: question["compare_with"]})
        if "WORKS_AT" in question.get("fact_types", []):
            facts[question["id"]]["fact_type"] = "WORKS_AT"
    nodes = {
        each["id"]: {"same_as_known": next(iter(each["candidates"]), None)}
        for each in asked.get("new_entities", [])
    }
    return resolutions(nodes, facts)


SCRIPT = agreeing


async def test_names_that_share_no_word_become_one_where_the_embedder_finds_them_near(
    spec: StoreSpec, client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    await client.ingest(group, [telling(JAN, fact("LIVES_IN", "Ann", "Lisbon"))])
    await client.ingest(group, [telling(FEB, fact("WORKS_IN", "Bea", "Lisboa"))])
    await client.ingest(group, [telling(MAR, fact("DRIVES_TO", "Cid", "Faro"))])
    dump = await dumped(spec, group)
    assert_sound(dump)
    assert {e.name for e in dump.entities} == {"Ann", "Bea", "Cid", "Lisbon", "Faro"}
    assert dump.names["lisboa"] == dump.names["lisbon"]
    asked = [call.resolution for call in model.chats[before:] if call.resolution is not None]
    assert [[each["name"] for each in questions["new_entities"]] for questions in asked] == [["Lisboa"]]


def hired(relation: str, company: str, text: str, kind: str) -> str:
    """What an episode says of Ann's employer."""
    people = [node("a", "Ann", type="Person"), node("c", company, type="Company")]
    return as_content(answer(people, [edge(relation, text, "a", "c", kind=kind)]))


async def test_one_employer_ends_another_told_in_other_words_and_the_fact_takes_its_type(
    spec: StoreSpec, client: Client, group: str
) -> None:
    put = adm.PutOntologyRequest(input=adm.PutOntologyInput(group_id=group, yaml=ONTOLOGY))
    granted(await client.admin.PutOntology(put, timeout=CALL_S))
    first = hired("WORKS_AT", "Acme", "Ann works at Acme", "functional")
    await client.ingest(group, [episode(first, JAN)])
    second = hired("EMPLOYED_BY", "Initech", "Initech employs Ann", "functional")
    await client.ingest(group, [episode(second, FEB)])
    dump = await dumped(spec, group)
    assert_sound(dump)
    facts = {f.fact: (f.name, f.invalid_ms) for f in dump.facts}
    assert facts == {"Ann works at Acme": ("WORKS_AT", FEB), "Initech employs Ann": ("WORKS_AT", None)}


async def test_without_fact_types_an_employer_told_in_other_words_is_ended_too(
    spec: StoreSpec, client: Client, group: str
) -> None:
    for company, relation, at in (("Acme", "WORKS_AT", JAN), ("Initech", "EMPLOYED_BY", FEB)):
        told = hired(relation, company, f"Ann {relation.lower()} {company}", "functional")
        told = told.replace('"Company"', '"Organization"')
        await client.ingest(group, [episode(told, at)])
    facts = {f.name: f.invalid_ms for f in (await dumped(spec, group)).facts}
    assert facts == {"WORKS_AT": FEB, "EMPLOYED_BY": None}


def compared(model: ScriptedOpenAI, before: int, text: str) -> set[str]:
    """The texts that a fact was compared with, in the calls since `before`."""
    found: set[str] = set()
    for asked in (call.resolution for call in model.chats[before:]):
        known = {each["idx"]: each["fact"] for each in (asked or {}).get("known_facts", [])}
        questions = [each for each in (asked or {}).get("new_facts", []) if each["fact"] == text]
        found |= {known[idx] for question in questions for idx in question["compare_with"]}
    return found


async def test_what_begins_with_a_job_begins_later_with_it(
    spec: StoreSpec, client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    joins = fact("WORKS_AT", "Ann", "Acme", "Ann joins Acme", valid_at="2024-03-01", kind="functional")
    role = fact("HAS_ROLE", "Ann", "Ann", "Ann is a designer", valid_at="2024-03-01", kind="functional")
    car = fact("OWNS", "Ann", "Rover", "Ann owns a Rover")
    await client.ingest(group, [telling(JAN, joins, role, car)])
    later = fact("WORKS_AT", "Ann", "Acme", "Ann starts later", valid_at="2024-04-01", kind="functional")
    await client.ingest(group, [telling(FEB, later)])
    assert compared(model, before, "Ann starts later") == {"Ann joins Acme", "Ann is a designer"}
    dump = await dumped(spec, group)
    assert_sound(dump)
    facts = {f.fact: (f.valid_ms, f.expired_reason) for f in dump.facts}
    assert facts == {
        "Ann joins Acme": (ms_of("2024-03-01"), "retracted"),
        "Ann starts later": (ms_of("2024-04-01"), None),
        "Ann is a designer": (ms_of("2024-04-01"), None),
        "Ann owns a Rover": (None, None),
    }


async def test_what_names_the_day_that_changes_is_asked_about(
    client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    due = fact("HAS_DATE", "Trip", "Trip", "The trip is from 18 to 25 October 2024", kind="functional")
    flight = fact("DEPARTS_FROM", "Trip", "Glasgow", "A flight leaves Glasgow on 18 October 2024")
    hotel = fact("BOOKED_AT", "Trip", "Azahar", "There are 3 beds in a room", kind="functional")
    await client.ingest(group, [telling(JAN, due, flight, hotel)])
    text = "The trip is put off to February 2025"
    await client.ingest(group, [telling(FEB, fact("HAS_DATE", "Trip", "Trip", text, kind="functional"))])
    assert compared(model, before, text) == {due["fact"], flight["fact"]}


async def test_what_hangs_on_a_relation_that_ends_is_asked_about(
    spec: StoreSpec, client: Client, model: ScriptedOpenAI, group: str
) -> None:
    """The role at a firm, before whatever else is known of somebody; and it ends."""
    before = len(model.chats)
    role = fact("HAS_ROLE", "Ann", "Ann", "Ann is a designer at Acme", kind="functional")
    others = [fact(f"HAS_HABIT{n}", "Ann", "Ann", f"Ann does {n}", kind="functional") for n in range(9)]
    await client.ingest(group, [telling(JAN, role, *others)])
    left = fact(
        "WORKS_AT", "Ann", "Acme", "The last day was in April", polarity="ends", valid_at="2024-04-01"
    )
    await client.ingest(group, [telling(FEB, left)])
    assert "Ann is a designer at Acme" in compared(model, before, "The last day was in April")
    facts = {f.fact: f.invalid_ms for f in (await dumped(spec, group)).facts}
    assert facts["Ann is a designer at Acme"] == ms_of("2024-04-01")


async def test_the_parties_of_what_is_terminated_are_asked_about(
    spec: StoreSpec, client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    party = fact("HAS_CUSTOMER", "RC-1", "Acme", "Acme is the customer of RC-1", kind="functional")
    price = fact("HAS_PRICE", "Acme", "Acme", "Acme is worth a lot", kind="functional")
    await client.ingest(group, [telling(JAN, party, price)])
    over = fact("HAS_STATUS", "RC-1", "RC-1", "RC-1 is terminated", valid_at="2024-04-01", kind="functional")
    await client.ingest(group, [telling(FEB, over)])
    assert compared(model, before, "RC-1 is terminated") == {"Acme is the customer of RC-1"}
    facts = {f.fact: f.invalid_ms for f in (await dumped(spec, group)).facts}
    assert facts["Acme is the customer of RC-1"] == ms_of("2024-04-01")


async def test_names_that_differ_in_a_numeral_are_not_compared(
    client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    first = fact("HAS_MACHINE", "contract 17", "crane", "The machine of contract 17 is a crane")
    await client.ingest(group, [telling(JAN, first)])
    second = fact("NEEDS", "contract 44", "mixer", "A mixer is what contract 44 needs")
    await client.ingest(group, [telling(FEB, second)])
    assert [call.resolution for call in model.chats[before:] if call.resolution] == []


async def test_facts_of_a_name_that_changes_in_the_same_call_are_asked_about(
    client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    first = fact("WORKS_ON", "Dan", "Sparrow", "Dan will be the engineer")
    rename = fact("RENAMED_TO", "Sparrow", "Lantern", "Sparrow is called Lantern", kind="event")
    now = fact("HAS_ENGINEER", "Lantern", "Eve", "The engineer is Eve", kind="functional")
    await client.ingest(group, [telling(JAN, first), telling(FEB, rename), telling(MAR, now)])
    assert compared(model, before, "The engineer is Eve") == {"Dan will be the engineer"}


async def test_what_was_told_from_the_other_end_is_asked_about(
    client: Client, model: ScriptedOpenAI, group: str
) -> None:
    before = len(model.chats)
    first = fact("WORKS_ON", "Dan", "Sparrow", "Dan is the engineer")
    await client.ingest(group, [telling(JAN, first)])
    now = fact("HAS_ENGINEER", "Sparrow", "Eve", "The engineer is Eve", kind="functional")
    await client.ingest(group, [telling(MAR, now)])
    assert compared(model, before, "The engineer is Eve") == {"Dan is the engineer"}
