"""scripts/move_store: a store of the schema before 0.1 becomes one of now, and answers as it did."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pytest

from kgsvc.stores.embedded.connection import FILE_NAME
from kgsvc.stores.protocol import GroupDump
from kgsvc.v1 import retrieval_pb2 as ret
from scripts.moving import embedded, neo4j
from tests.acceptance.graph_searches import graph
from tests.acceptance.test_stores_agree import Shown
from tests.acceptance.test_stores_agree import told as shown
from tests.integration.moved_content import JAN, SECRETS, Told, execute, run, tell, without_fills
from tests.support.canaries import found
from tests.support.client import Client, completed, episode
from tests.support.communities import built
from tests.support.graphs import comparable
from tests.support.neo4j_fixture import Address, own_server
from tests.support.samples import accepted
from tests.support.samples import episode as stored_episode
from tests.support.service import Service
from tests.support.spawning import REPOSITORY
from tests.support.store_spec import StoreSpec, opened

SIZES = {"embedded": 10_000, "neo4j-2026": 1_000}  # facts
FORMER = {"embedded": embedded.FORMER, "neo4j": neo4j.FORMER}
MOVE_S = 600.0
QUERIES = (
    "Where does Alice Adler live?",
    "tea in Vienna",
    "Who knows Bruno Keller?",
    "Bruno Berg",
    "Quill reads",
)
GROUPS = ("talk", "people", "papers", "bulk")


@pytest.fixture(scope="module", params=SIZES)
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[StoreSpec, StoreSpec]]:
    """Two places for stores, at first without any."""
    label: str = request.param
    tmp_path = tmp_path_factory.mktemp("stores")
    if label == "embedded":
        yield StoreSpec(label, data_dir=tmp_path / "old"), StoreSpec(label, data_dir=tmp_path / "new")
        return
    with own_server(label, tmp_path / "old") as old, own_server(label, tmp_path / "new") as new:
        one, other = (StoreSpec(label, neo4j=Address(each.uri, each.password)) for each in (old, new))
        yield one, other


async def numbered(spec: StoreSpec, version: int) -> None:
    """Say that the store has the schema of another version: tables and properties are the same."""
    if spec.data_dir is not None:
        execute(spec.data_dir, f"PRAGMA user_version = {version}")
    else:
        await run(spec, f"MATCH (s:KgSchema) SET s.version = {version}")


async def moved(old: StoreSpec, new: StoreSpec) -> str:
    """The script's only line, if it refuses; nothing if it moved all."""
    if old.neo4j is None or new.neo4j is None:
        words, passwords = ["embedded", str(old.data_dir), str(new.data_dir)], {}
    else:
        words = ["neo4j", old.neo4j.uri, new.neo4j.uri]
        passwords = {"FROM_PASSWORD": old.neo4j.password, "TO_PASSWORD": new.neo4j.password}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "scripts.move_store", *words),
        cwd=REPOSITORY,
        env=os.environ | passwords,
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(MOVE_S):
        _, said = await process.communicate()
    assert (process.returncode == 0) is (not said), said
    return said.decode()


@pytest.mark.timeout(1800)  # two Neo4js start; all facts are read four times: on a busy machine slow
async def test_everything_is_there_again(stores: tuple[StoreSpec, StoreSpec], tmp_path: Path) -> None:
    old, new = stores
    told = await tell(old, tmp_path, SIZES[old.label])
    graphs, others = await dumps(old), await rows(old)
    assert len(graphs["bulk"].facts) == SIZES[old.label]
    assert any(fact.expired_ms for fact in graphs["talk"].facts), "it has a history"
    assert await found(old, SECRETS) == set()
    await numbered(old, FORMER[old.label.partition("-")[0]])
    assert await moved(old, new) == ""
    async with opened(new) as store:
        await numbered(old, (await store.info()).schema_version)
        to_fill = {work.group_id for work in await store.open_fills(1, 1_000)}
        assert to_fill >= set(graphs), "vectors of passages may be missing"
    await without_fills(new)
    assert await dumps(new) == graphs
    assert await rows(new) == others
    assert await found(new, SECRETS) == set()
    for one, other in zip(*[await asked(spec, told, tmp_path) for spec in stores], strict=True):
        assert one == other


async def asked(spec: StoreSpec, told: Told, folder: Path) -> list[Any]:
    """What a service on the store answers, what it can still do, and the graphs that this leads to."""
    name = "again" if spec.data_dir is None else f"again-{spec.data_dir.name}"
    service = Service(spec.settings, folder, name)
    async with service, Client(service.address) as client:
        answers = [*await read(client, told), *await change(client, told)]
        assert await service.terminate() == 0
    graphs = await dumps(spec)
    return [*answers, sorted(graphs), *(comparable(graphs[group]) for group in GROUPS)]


@pytest.mark.timeout(600)
async def test_what_cannot_be_moved_is_told_and_what_was_cut_short_is_begun_anew(
    stores: tuple[StoreSpec, StoreSpec],
) -> None:
    old, new = stores
    former = FORMER[old.label.partition("-")[0]]
    for spec in stores:
        await emptied(spec)
    await begun(old)
    assert "this script reads schema" in await moved(old, new)
    await numbered(old, former)
    await begun(new)
    assert "is not empty" in await moved(old, new)
    await emptied(new)
    await left_unfinished(new)
    if old.data_dir is not None:
        execute(old.data_dir, "CREATE TABLE more (id)")
        assert "the present schema has no more" in await moved(old, new)
        execute(old.data_dir, "DROP TABLE more")
        async with opened(old) as store:
            assert "stop the service first" in await moved(old, new)
            assert await store.group_ids() == ["begun"]
    assert await moved(old, new) == ""
    assert await dumps(new) == await dumps(old)


async def begun(spec: StoreSpec) -> None:
    """A store with an episode."""
    async with opened(spec) as store:
        await store.migrate()
        await accepted(store, stored_episode("begun", "e"))


async def emptied(spec: StoreSpec) -> None:
    """The place as it was before there was a store."""
    if spec.data_dir is not None:
        shutil.rmtree(spec.data_dir, ignore_errors=True)
    else:
        await run(spec, "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS")


async def left_unfinished(spec: StoreSpec) -> None:
    """What a move that died leaves."""
    if spec.data_dir is not None:
        partial = spec.data_dir.with_name("new.partial")
        partial.mkdir()
        (partial / FILE_NAME).write_bytes(b"half")
    else:
        await run(
            spec,
            f"CREATE (:KgSchema {{name: 'kgsvc', version: {neo4j.UNFINISHED}}}), (:Entity {{uuid: 'x'}})",
        )


async def dumps(spec: StoreSpec) -> dict[str, GroupDump]:
    """The graph of every group."""
    async with opened(spec) as store:
        return {group: await store.dump(group) for group in await store.group_ids()}


async def rows(spec: StoreSpec) -> list[Any]:
    """What is not in the graph: items, ontologies, what was erased, tombstones, the keys of digests."""
    async with opened(spec) as store:
        groups = await store.group_ids()
        facts = {group: (await store.dump(group)).facts for group in ("talk", "people", "papers")}
        return [
            [await store.list_items(group, (), 100_000, None) for group in groups],
            [await store.ontology(group) for group in groups],
            await store.erasures(0, 0),
            [await store.slots(group, [each.slot for each in told]) for group, told in facts.items()],
            await store.documents("papers", 100, ""),
            await store.keyed(1),
            (await store.activity()).depth,
        ]


async def read(client: Client, told: Told, scopes: int = 5) -> list[Any]:
    """Searches of the first scopes, receipts and histories, once what waited is done."""
    answers: list[Any] = [
        *[list(completed(await client.wait_receipt(each))) for each in ("late", "told")],
        await client.receipt(told.receipt_id),
    ]
    answers += [await client.ask("GetErasure", erasure_id=each) for each in told.erasures]
    for query in QUERIES:
        for recipe in (
            ret.SEARCH_RECIPE_COMBINED_HYBRID_SEARCH_RRF,
            ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_MMR,
        ):
            output = await graph(client, GROUPS, query, recipe=recipe, include_scores=True)
            answers += [(query, recipe, ranked(hits)) for hits in islice(shown(output), scopes)]
        facts = await client.search(GROUPS, query, max_facts=20)
        assert facts
        answers += [await client.fact_history(each.group_id, each.uuid) for each in facts]
    return answers


def ranked(hits: Shown) -> list[tuple[float, list[Any]]]:
    """The scores, each with what has it. What shares the last one may go on behind it."""
    tied = groupby(hits, lambda hit: hit[1])
    return [(score, sorted((which, by) for which, _, by in some)) for score, some in tied][:-1]


async def change(client: Client, told: Told) -> list[Any]:
    """Take back what was merged and split, send again what is known, and something new."""
    await client.ask("UndoSplit", group_id="people", split_id=told.split_id)
    undone = await client.ask("UndoMerge", group_id="people", merge_id=told.merge_id)
    again = await client.add_episodes("people", [episode("Beate Busch knows Carla Cohn.", JAN + 9)], "key")
    known = await client.add_episodes("people", [episode("Ann Ahrens works at Acme.", JAN, uuid="p0")])
    await client.ingest("people", [episode("Bruno Berg lives in Bonn.", JAN + 11, uuid="new")])
    built_anew = await built(client, "people")
    return [undone.node.name, again, [each.duplicate for each in known.items], built_anew.state]
