"""Spec 000, "Entity Types": a group's own types, what they do to extraction, and what is refused.

What of that section needs no service is in unit/domain/test_ontology.py, unit/domain/test_conforming.py and
unit/ontology/test_reading.py.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kgsvc.domain.model.graph import FactKind
from kgsvc.ontology import read
from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.refusals import refused
from tests.acceptance.saying import FEB, JAN, MAR, fact
from tests.acceptance.shared import OFFLINE
from tests.support.client import Client, episode
from tests.support.scripted_openai import answer, node
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

OWN = """\
graphiti:
  entity_types:
    - name: Task
      description: A piece of work.
      priority: high
      attributes:
        - {name: effort, type: int}
        - {name: due, type: date, required: true}
    - {name: Person, description: A human being.}
    - {name: Secret, description: What must not be kept.}
  fact_types:
    - name: ASSIGNED_TO
      description: Who does it.
      kind: functional
      attributes: [{name: share, type: float}]
  fact_type_map:
    - {source: Task, target: Person, fact_types: [ASSIGNED_TO]}
  excluded_entity_types: [Secret]
"""


async def put(client: Client, group: str, yaml: str) -> Any:
    """PutOntology."""
    return await client.ask("PutOntology", group_id=group, yaml=yaml)


async def get(client: Client, group: str) -> Any:
    """GetOntology."""
    return await client.ask("GetOntology", group_id=group)


def told(
    at_ms: int, types: Mapping[str, str | Mapping[str, Any]], *facts: Mapping[str, Any]
) -> typ.EpisodeItem:
    """An episode from which entities are read by name with their type, or with type and attributes."""
    nodes = [node(name, name, **_details(given)) for name, given in types.items()]
    return episode(json.dumps(answer(nodes, facts)), at_ms)


def _details(given: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, str):
        return {"type": given}
    values = [{"key": key, "value": value} for key, value in given.items() if key != "type"]
    return {"type": given["type"], "attributes": values}


async def entities(client: Client, spec: StoreSpec, group: str) -> dict[str, typ.EntityNode]:
    """The group's entities by name, as the API tells them."""
    found = [await client.get_entity(group, each.uuid) for each in (await dumped(spec, group)).entities]
    return {each.node.name: each.node for each in found}


async def relations(client: Client, group: str) -> list[str]:
    """Names of the group's current facts."""
    return sorted(each.name for each in await client.search(group, "task", max_facts=50))


def names(yaml: str) -> list[str]:
    """Entity types of an ontology, by priority."""
    ontology = read(yaml)
    assert ontology is not None
    return [each.name for each in ontology.by_priority]


async def test_without_an_ontology_the_default_types_are_in_force(client: Client, group: str) -> None:
    found = await get(client, group)
    assert not found.own
    assert names(found.yaml)[:2] == ["Preference", "Requirement"]
    nine = {"Procedure", "Organization", "Document", "Event", "Location", "Topic", "Object"}
    assert nine < set(names(found.yaml))


async def test_an_ontology_is_read_back_as_it_was_put(client: Client, group: str) -> None:
    output = await put(client, group, OWN)
    assert list(output.entity_types) == ["Task", "Person"]  # by priority, without what is excluded
    assert list(output.fact_types) == ["ASSIGNED_TO"]
    found = await get(client, group)
    assert (found.yaml, found.own) == (OWN, True)
    assert not (await get(client, f"{group}-2")).own


async def test_an_empty_document_goes_back_to_the_types_of_the_server(client: Client, group: str) -> None:
    await put(client, group, OWN)
    assert (await put(client, group, "{}")).entity_types[0] == "Preference"
    found = await get(client, group)
    assert not found.own
    assert names(found.yaml)[0] == "Preference"


async def test_what_get_ontology_answers_can_be_put(client: Client, group: str) -> None:
    served = await get(client, group)
    await put(client, group, served.yaml)
    assert (await get(client, group)).own


async def test_a_bad_ontology_is_refused_by_line_and_field(client: Client, group: str) -> None:
    await put(client, group, OWN)
    yaml = (
        "entity_types:\n  - name: Episodic\n    description: x\n  - name: Task\n    descripton: x\n"
        "fact_types:\n  - {name: owns, description: x}\n"
    )
    request = adm.PutOntologyRequest(input=adm.PutOntologyInput(group_id=group, yaml=yaml))
    refusal = await refused(client, "PutOntology", request)
    assert (refusal.code, set(refusal.fields)) == ("INVALID_ARGUMENT", {"input.yaml"})
    wanted = (
        "line 2: entity_types[0].name is reserved",
        "line 4: entity_types[1].description is required",
        "line 5: entity_types[1].descripton is not known",
        "line 7: fact_types[0].name must be in SCREAMING_SNAKE_CASE",
    )
    assert len(refusal.descriptions) == len(wanted)
    assert all(map(str.startswith, refusal.descriptions, wanted))
    assert wanted[0] in refusal.message
    assert (await get(client, group)).yaml == OWN


@pytest.mark.parametrize(
    ("yaml", "code"),
    [
        ("a: &x [1]\nb: *x\n", "INVALID_ARGUMENT"),
        ("!!python/object/apply:os.system [ls]", "INVALID_ARGUMENT"),
        ("entity_types: [", "INVALID_ARGUMENT"),
        ("a: \x00", "INVALID_ARGUMENT"),
        ("#" * (64 * 1024 + 1), "LIMIT_EXCEEDED"),
    ],
    ids=["alias", "tag", "no YAML", "NUL", "size"],
)
async def test_what_is_no_list_of_types_is_refused(client: Client, group: str, yaml: str, code: str) -> None:
    request = adm.PutOntologyRequest(input=adm.PutOntologyInput(group_id=group, yaml=yaml))
    refusal = await refused(client, "PutOntology", request)
    assert (refusal.code, refusal.fields) == (code, ("input.yaml",))
    assert not (await get(client, group)).own


async def test_a_custom_type_becomes_a_label_and_types_its_attributes(
    client: Client, group: str, spec: StoreSpec
) -> None:
    """A value of a wrong kind is repaired or left out; on a group that did not exist before."""
    await put(client, group, OWN)
    await client.ingest(
        group,
        [
            told(
                JAN,
                {"report": {"type": "task", "effort": "3", "due": "2026-01-02T10:00:00Z", "colour": "red"}},
            ),
            told(JAN, {"slides": {"type": "Task", "effort": "much", "due": "soon"}}),
        ],
    )
    found = await entities(client, spec, group)
    assert list(found["report"].labels) == ["Task"]
    assert dict(found["report"].attributes) == {"effort": 3, "due": "2026-01-02", "colour": "red"}
    assert dict(found["slides"].attributes) == {}


async def test_a_type_that_is_not_known_becomes_entity(client: Client, group: str, spec: StoreSpec) -> None:
    hostile = ("Episodic", "KgGroup", "Community", "Alien", "x`) DETACH DELETE (n")
    await client.ingest(group, [told(JAN, {f"thing {kind}": kind for kind in hostile})])
    found = await entities(client, spec, group)
    assert {name: list(each.labels) for name, each in found.items()} == {
        f"thing {kind}": ["Entity"] for kind in hostile
    }


async def test_excluded_types_are_dropped_with_their_facts(
    client: Client, group: str, spec: StoreSpec
) -> None:
    await put(client, group, OWN)
    types = {"report": "Task", "Ann": "Person", "code": "Secret"}
    facts = (
        fact("ASSIGNED_TO", "report", "Ann", "task one"),
        fact("PROTECTED_BY", "report", "code", "task two"),
    )
    await client.ingest(group, [told(JAN, types, *facts)])
    assert set(await entities(client, spec, group)) == {"report", "Ann"}
    assert await relations(client, group) == ["ASSIGNED_TO"]


async def test_a_fact_type_decides_the_kind_of_its_facts(client: Client, group: str, spec: StoreSpec) -> None:
    """ASSIGNED_TO is functional, whatever the extraction says; whether one replaces another is a question."""
    await put(client, group, OWN)
    for at_ms, who in ((JAN, "Ann"), (FEB, "Bob")):
        given = fact("ASSIGNED_TO", "report", who, f"task of {who}", kind="state", valid_at=None)
        given["attributes"] = [{"key": "share", "value": "0.5"}, {"key": "mood", "value": "good"}]
        await client.ingest(group, [told(at_ms, {"report": "Task", who: "Person"}, given)])
    found = await client.search(group, "task")
    assert {(each.fact, each.name) for each in found} == {
        ("task of Ann", "ASSIGNED_TO"),
        ("task of Bob", "ASSIGNED_TO"),
    }
    assert {each.kind for each in (await dumped(spec, group)).facts} == {FactKind.FUNCTIONAL}
    assert dict((await client.get_edge(group, found[0].uuid)).attributes) == {"share": 0.5}


async def test_a_relation_between_other_types_is_no_fact_of_that_type(client: Client, group: str) -> None:
    """It stays a fact, and two of them do not end one another."""
    await put(client, group, OWN)
    types = {"report": "Task", "Ann": "Person", "Bob": "Person"}
    wrong = (fact("ASSIGNED_TO", "Ann", "report", "task a"), fact("ASSIGNED_TO", "Ann", "Bob", "task b"))
    await client.ingest(group, [told(JAN, types, *wrong)])
    assert await relations(client, group) == ["RELATES_TO", "RELATES_TO"]


async def test_a_change_counts_for_what_is_extracted_afterwards(
    client: Client, group: str, spec: StoreSpec
) -> None:
    for at_ms, yaml in ((JAN, None), (FEB, OWN), (MAR, "{}")):
        if yaml is not None:
            await put(client, group, yaml)
        await client.ingest(group, [told(at_ms, {f"thing {at_ms}": "Task"})])
    found = await entities(client, spec, group)
    assert [list(found[f"thing {at_ms}"].labels) for at_ms in (JAN, FEB, MAR)] == [
        ["Entity"],
        ["Task"],
        ["Entity"],
    ]


async def test_an_ontology_goes_with_its_group(client: Client, group: str, spec: StoreSpec) -> None:
    await put(client, group, OWN)
    await client.ingest(group, [told(JAN, {"report": "Task"})])
    await client.delete_group(group)
    assert not (await get(client, group)).own
    await client.ingest(group, [told(JAN, {"report": "Task"})])
    assert list((await entities(client, spec, group))["report"].labels) == ["Entity"]


def labels(found: Iterable[typ.EntityNode]) -> dict[str, list[str]]:
    """Labels by name."""
    return {each.name: list(each.labels) for each in found}


async def test_every_process_follows_and_the_servers_file_stands_in(
    own_store_spec: StoreSpec, tmp_path: Path
) -> None:
    """One process answers calls, another extracts: by the file of the server unless a group has its own."""
    file = tmp_path / "types.yaml"
    file.write_text("entity_types:\n  - {name: Person, description: a human}\n")
    settings = {**own_store_spec.settings, **OFFLINE, "server.ontology_file": str(file)}
    api = Service({**settings, "server.role": "api"}, tmp_path, "api")
    worker = Service({**settings, "server.role": "worker"}, tmp_path, "worker")
    said = episode("Alice Chen works at Lumen Labs.", JAN)
    async with api, worker, Client(api.address) as client:
        assert names((await get(client, "served")).yaml) == ["Person"]
        await client.ingest("served", [said])
        found = await entities(client, own_store_spec, "served")
        assert labels(found.values()) == {"Alice Chen": ["Person"], "Lumen Labs": ["Entity"]}
        await put(client, "own", "excluded_entity_types: [Organization]")
        await client.ingest("own", [said])
        assert set(await entities(client, own_store_spec, "own")) == {"Alice Chen"}
        await put(client, "own", "entity_types:\n  - {name: Organization, description: a firm}\n")
        await client.ingest("own", [episode("Alice Chen works at Lumen Labs since May.", FEB)])
        assert list((await entities(client, own_store_spec, "own"))["Lumen Labs"].labels) == ["Organization"]
        api.kill9()
        await api.start()
    async with Service(settings, tmp_path, "later") as later, Client(later.address) as client:
        assert (await get(client, "own")).own
