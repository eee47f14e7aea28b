"""All that a store may hold, for tests that move it: most of it by a service."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from neo4j import AsyncGraphDatabase

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Entity, Evidence, Fact
from kgsvc.stores.embedded.connection import FILE_NAME
from kgsvc.v1.documents_pb2 import DocumentItem
from kgsvc.v1.types_pb2 import EpisodeItem
from tests.integration.test_retention import receipts
from tests.support.canaries import erased
from tests.support.client import Client, episode, timestamp
from tests.support.communities import built
from tests.support.samples import NOW, Scratch, accepted, fact
from tests.support.samples import episode as stored_episode
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

SECRETS = ("Zerlinetta", "Quintillana", "Ottokarsen", "Wendelinde")  # of each kind of erasure
JAN = 1_704_067_200_000  # of 2024
FIRST = ("Alice", "Bruno", "Carla", "David", "Emma", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karin")
LAST = ("Adler", "Becker", "Conrad", "Engel", "Fischer", "Graf", "Jansen", "Keller", "Lehmann", "Mayer")
CITIES = ("Paris", "Rome", "Oslo", "Madrid", "Lisbon", "Vienna", "Prague", "Dublin", "Athens", "Warsaw")
PEOPLE = [f"{first} {last}" for first in FIRST for last in LAST]
RETENTION = '[[retention]]\ngroups = "retained"\nepisodes_days = 30\n'
ONTOLOGY = "graphiti:\n  entity_types:\n    - {name: Task, description: A piece of work}\n"
EPISODES, A_WRITE = 200, 200


@dataclass(frozen=True)
class Told:
    """What is asked for again in the new store."""

    receipt_id: str
    merge_id: str
    split_id: str
    erasures: tuple[str, ...]


async def tell(spec: StoreSpec, folder: Path, size: int) -> Told:
    """Everything that a store may hold, most of it by a service."""
    service = Service(spec.settings, folder, "before")
    async with service, Client(service.address) as client:
        await client.ingest("talk", [talk(n) for n in range(EPISODES)])
        merge_id, split_id = await meet(client)
        await write(client)
        erasures = await erase(client)
        await client.ingest("retained", [episode("Wendelinde works at Acme.", JAN, uuid="w")])
        again = await client.add_episodes(
            "people", [episode("Beate Busch knows Carla Cohn.", JAN + 9)], "key"
        )
        await client.wait_receipt(again.receipt_id)
        assert await service.terminate() == 0
    await retain(spec, folder)
    async with opened(spec) as store:
        await fill(Scratch(store, "bulk"), size)
        await accepted(
            store, stored_episode("people", "late", body="Doris Dorn lives in Oslo."), receipt_id="late"
        )
    return Told(again.receipt_id, merge_id, split_id, tuple(erasures))


def talk(number: int) -> EpisodeItem:
    """What ends what was told of the same person before, and what does not."""
    times, person = divmod(number, len(PEOPLE))
    who, other = PEOPLE[person], PEOPLE[(person + times + 1) % len(PEOPLE)]
    city, tea = CITIES[times % len(CITIES)], CITIES[number * 3 % len(CITIES)]
    said = f"{who} lives in {city}. {who} works at Firm{times}. {who} likes {tea} tea."
    return episode(f"{said} {who} knows {other}.", JAN + number * 3_600_000, uuid=f"e{number}")


async def fill(g: Scratch, size: int) -> None:
    """Facts, a third of them replaced by the next, with what was believed before; a tenth has vectors."""
    ends = [g.entity(f"b{n}", name) for n, name in enumerate(PEOPLE)]
    await g.accepted(g.episode("told"), receipt_id="told")
    await g.write(entities=tuple(ends), mentions=tuple(g.mention("told", end.uuid) for end in ends))
    rng = np.random.default_rng(1)
    for start in range(0, size, A_WRITE):
        made = [known(n, ends) for n in range(start, min(start + A_WRITE, size))]
        vectors = {each.uuid: rng.normal(size=256).astype("<f4").tobytes() for each in made[::10]}
        await g.write(facts=tuple(made), vectors=vectors, space="hashing-v1-256")


def known(number: int, ends: Sequence[Entity]) -> Fact:
    """A fact between two of these."""
    source, target = ends[number % len(ends)], ends[(number * 5 + 1) % len(ends)]
    text = f"{source.name} met {target.name} in {CITIES[number % len(CITIES)]} for the {number}th time"
    said = (Evidence(NOW + number, NOW + number, "told"),)
    made = fact(
        f"f{number}", source, target, text, reference_ms=NOW + number, episodes=("told",), evidence=said
    )
    if number % 3:
        return made
    held = (Belief(NOW - 5, None, NOW + number - 1), Belief(NOW - 3, None, NOW + number, NOW + number + 7))
    ended: dict[str, Any] = {
        "invalid_ms": NOW + number + 9,
        "expired_ms": NOW + 20,
        "expired_reason": "superseded",
    }
    return replace(made, expired_by_fact=f"f{number + 1}", beliefs=held, **ended)


async def meet(client: Client) -> tuple[str, str]:
    """A merge and a split that are not taken back, and one of each that was."""
    said = (
        "Ann Ahrens works at Acme.",
        "Anna Ahrens likes jazz.",
        "Ann Ahrens lives in Oslo.",
        "Bruno Berg works at Zedcorp.",
    )
    await client.ingest("people", [episode(each, JAN + n, uuid=f"p{n}") for n, each in enumerate(said)])
    kept, gone = [await client.entity_of("people", name) for name in ("Ann Ahrens", "Anna Ahrens")]
    merge: dict[str, Any] = {"group_id": "people", "keep_uuid": kept, "merge_uuid": gone}
    undone = await client.ask("MergeEntityNodes", **merge)
    await client.ask("UndoMerge", group_id="people", merge_id=undone.merge_id)
    merged = await client.ask("MergeEntityNodes", **merge)
    part: dict[str, Any] = {"group_id": "people", "uuid": kept, "episode_uuids": ["p2"]}
    once = await client.ask("SplitEntityNode", **part)
    await client.ask("UndoSplit", group_id="people", split_id=once.split_id)
    split = await client.ask("SplitEntityNode", **part, name="Ann of Oslo")
    return merged.merge_id, split.split_id


async def write(client: Client) -> None:
    """What callers write themselves; communities; a document of two revisions."""
    (zed,) = [each for each in await client.search("people", "Bruno Berg") if each.target_name == "Zedcorp"]
    await client.update_fact("people", zed.uuid, "Bruno Berg works at Zedcorp as a cook")
    (jazz,) = [each for each in await client.search("people", "jazz") if each.target_name == "jazz"]
    await client.ask("RetractFact", uuid=jazz.uuid, group_id="people", reason="She likes blues")
    (works,) = [each for each in await client.search("people", "Acme") if each.target_name == "Acme"]
    await client.ask("DeleteEntityEdge", uuid=works.uuid, group_id="people")
    await client.ask("AddEntityNode", uuid="n1", group_id="people", name="Task One", summary="A task.")
    await client.ask("PutOntology", group_id="people", yaml=ONTOLOGY)
    await built(client, "talk")
    for n, text in enumerate(("Quill Quade lives in Rome.", "Quill Quade lives in Bonn.")):
        await add(client, "kept", f"{text}\n\nQuill Quade reads books.", JAN + n)


async def add(client: Client, name: str, text: str, at_ms: int) -> None:
    """A document, when its chunks are read."""
    item = DocumentItem(document_id=name, text=text, reference_time=timestamp(at_ms))
    (document,) = (await client.ask("AddDocuments", group_id="papers", documents=[item])).documents
    for receipt_id in document.receipt_ids:
        await client.wait_receipt(receipt_id)


async def erase(client: Client) -> list[str]:
    """An episode, a document, a group, each with a secret."""
    await client.ingest("people", [episode("Zerlinetta likes Ann Ahrens.", JAN + 7, uuid="z")])
    await add(client, "gone", "Quintillana lives in Rome.", JAN)
    await client.ingest("doomed", [episode("Ottokarsen works at Acme.", JAN, uuid="o")])
    answers = [
        await client.ask("DeleteEpisode", uuid="z", group_id="people", cascade=True),
        await client.ask("DeleteDocument", group_id="papers", document_id="gone"),
        await client.delete_group("doomed"),
    ]
    for each in answers:
        await erased(client, each.erasure_id)
    return [each.erasure_id for each in answers]


async def retain(spec: StoreSpec, folder: Path) -> None:
    """What is older than a month goes from a group, as its policy says."""
    audit, policies = folder / "audit.jsonl", folder / "retention.toml"
    policies.write_text(RETENTION)
    audit.touch()
    settings = spec.settings | {"retention.file": str(policies), "access.audit": str(audit)}
    service = Service(settings, folder, "retaining")
    async with service, Client(service.address) as client:
        assert [each["episodes"] for each in await receipts(client, audit, "retained")] == [1]
        assert await service.terminate() == 0


def execute(directory: Path, statement: str) -> None:
    """A statement of the test's own, on SQLite."""
    db = apsw.Connection(str(directory / FILE_NAME))
    db.execute(statement)
    db.close()


async def run(spec: StoreSpec, statement: str) -> None:
    """A statement of the test's own, on Neo4j."""
    address = spec.neo4j
    assert address is not None
    async with (
        AsyncGraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver,
        driver.session() as session,
    ):
        await (await session.run(statement)).consume()


async def without_fills(spec: StoreSpec) -> None:
    """Leave vectors as they are, so that answers can be compared."""
    if spec.data_dir is not None:
        execute(spec.data_dir, "DELETE FROM fills")
    else:
        await run(spec, "MATCH (f:KgFill) DELETE f")
