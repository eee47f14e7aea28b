"""One graph, two programs: Graphiti reads what kgsvc wrote, kgsvc takes over what Graphiti wrote."""

import asyncio
import os
import warnings
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kgsvc.cli.adopt import Adopted, Adopter
from kgsvc.models.embedding import CachingEmbedder, HashingEmbedder
from kgsvc.runtime import SystemClock
from kgsvc.stores.neo4j import Neo4jStore
from scripts.neo4j_server import Neo4jServer
from tests.support.client import Client, message
from tests.support.service import Service

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"  # before the first import
os.environ.setdefault("OPENAI_API_KEY", "none")

with warnings.catch_warnings(action="ignore"):
    from graphiti_core import Graphiti
    from graphiti_core.edges import EntityEdge, EpisodicEdge
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode
    from graphiti_core.search.search_config_recipes import COMBINED_HYBRID_SEARCH_RRF
    from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk

pytestmark = pytest.mark.filterwarnings("ignore")

MARCH = datetime(2024, 3, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


class Hashing(EmbedderClient):
    """The embedder of kgsvc, as Graphiti asks for one."""

    async def create(self, input_data: object) -> list[float]:
        return (await self.create_batch([str(input_data)]))[0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        vectors, _ = await HashingEmbedder().embed(input_data_list)
        return [[float(value) for value in vector] for vector in vectors]


@pytest.fixture
async def graphiti(own_neo4j: Neo4jServer) -> AsyncIterator[Graphiti]:
    opened = Graphiti(own_neo4j.uri, "neo4j", own_neo4j.password, embedder=Hashing())
    await opened.build_indices_and_constraints()
    yield opened
    await opened.close()  # type: ignore[no-untyped-call]


@pytest.fixture
async def service(own_neo4j: Neo4jServer, tmp_path: Path) -> AsyncIterator[Service]:
    settings = {
        "store.kind": "neo4j",
        "store.neo4j_uri": own_neo4j.uri,
        "store.neo4j_password": own_neo4j.password,
    }
    async with Service(settings, tmp_path) as running:
        yield running


async def test_graphiti_reads_and_searches_what_kgsvc_wrote(service: Service, graphiti: Graphiti) -> None:
    async with Client(service.address) as client:
        sent = [
            message("I work at TechCorp.", 1_700_000_000_000, role="Alice Chen"),
            message("I work at DataCorp now.", 1_710_000_000_000, role="Alice Chen"),
        ]
        accepted = await client.add_messages("ours", sent)
        await client.wait_receipt(accepted.receipt_id)
    driver = graphiti.driver
    episodes = await EpisodicNode.get_by_group_ids(driver, ["ours"])
    assert {e.content for e in episodes} == {
        "Alice Chen(user): I work at TechCorp.",
        "Alice Chen(user): I work at DataCorp now.",
    }
    assert {e.source for e in episodes} == {EpisodeType.message}
    entities = {e.uuid: e for e in await EntityNode.get_by_group_ids(driver, ["ours"])}
    assert {"Alice Chen", "TechCorp", "DataCorp"} <= {e.name for e in entities.values()}
    edges = {e.fact: e for e in await EntityEdge.get_by_group_ids(driver, ["ours"])}
    former = next(e for fact, e in edges.items() if "TechCorp" in fact)
    current = next(e for fact, e in edges.items() if "DataCorp" in fact)
    assert (former.name, former.invalid_at, bool(former.expired_at)) == ("WORKS_AT", current.valid_at, True)
    assert (current.invalid_at, current.expired_at) == (None, None)
    assert entities[current.source_node_uuid].name == "Alice Chen"
    assert set(current.episodes) <= {e.uuid for e in episodes}
    assert len(await EpisodicEdge.get_by_group_ids(driver, ["ours"])) == 4
    found = await graphiti.search("Who works at DataCorp?", group_ids=["ours"])
    assert current.uuid in {edge.uuid for edge in found}
    combined = await graphiti.search_("Alice", COMBINED_HYBRID_SEARCH_RRF, group_ids=["ours"])
    assert "Alice Chen" in {node.name for node in combined.nodes}
    latest = await graphiti.retrieve_episodes(datetime.now(UTC), last_n=1, group_ids=["ours"])
    assert [e.content for e in latest] == ["Alice Chen(user): I work at DataCorp now."]


async def test_kgsvc_serves_and_goes_on_with_what_graphiti_wrote(
    service: Service, graphiti: Graphiti, own_neo4j: Neo4jServer
) -> None:
    kinds = {"Alice Chen": "Person", "TechCorp": "Organization", "DataCorp": "Organization"}
    alice, tech, data = (
        EntityNode(name=name, group_id="theirs", labels=["Entity", kind], summary="Known.")
        for name, kind in kinds.items()
    )
    first, second = (
        EpisodicNode(
            name=f"m{n}",
            group_id="theirs",
            source=EpisodeType.message,
            source_description="chat",
            content=text,
            valid_at=MARCH + n * MONTH,
        )
        for n, text in enumerate(["Alice Chen: I work at TechCorp.", "Alice Chen: I work at DataCorp."])
    )
    former = EntityEdge(
        group_id="theirs",
        source_node_uuid=alice.uuid,
        target_node_uuid=tech.uuid,
        name="WORKS_AT",
        fact="Alice Chen works at TechCorp.",
        episodes=[first.uuid],
        created_at=MARCH,
        valid_at=MARCH,
        invalid_at=MARCH + MONTH,
        expired_at=MARCH + MONTH,
    )
    current = EntityEdge(
        group_id="theirs",
        source_node_uuid=alice.uuid,
        target_node_uuid=data.uuid,
        name="WORKS_AT",
        fact="Alice Chen works at DataCorp.",
        episodes=[second.uuid],
        created_at=MARCH + MONTH,
        valid_at=MARCH + MONTH,
    )
    mentions = [
        EpisodicEdge(group_id="theirs", source_node_uuid=e.uuid, target_node_uuid=n.uuid, created_at=MARCH)
        for e, n in ((first, alice), (first, tech), (second, alice), (second, data))
    ]
    await add_nodes_and_edges_bulk(
        graphiti.driver, [first, second], mentions, [alice, tech, data], [former, current], graphiti.embedder
    )

    store = await Neo4jStore.connect(own_neo4j.uri, "neo4j", own_neo4j.password)
    try:
        adopter = Adopter(store, CachingEmbedder(HashingEmbedder()), SystemClock())
        assert await adopter.adopt("theirs", lambda _: None) == Adopted(2, 3, 2)
        assert await adopter.adopt("theirs", lambda _: None) == Adopted()
        dump = await store.dump("theirs")
        await _filled(store, "theirs")
    finally:
        await store.close()
    assert {(e.uuid, e.name, e.labels) for e in dump.entities} == {
        (alice.uuid, "Alice Chen", ("Person",)),
        (tech.uuid, "TechCorp", ("Organization",)),
        (data.uuid, "DataCorp", ("Organization",)),
    }
    assert len(dump.mentions) == 4

    async with Client(service.address) as client:
        found = await client.search("theirs", "Where does Alice Chen work?")
        assert [fact.uuid for fact in found] == [current.uuid]
        assert list(found[0].episodes) == [second.uuid]
        said = message("I like green tea.", 1_720_000_000_000, role="Alice Chen")
        accepted = await client.add_messages("theirs", [said])
        await client.wait_receipt(accepted.receipt_id)
        likes = (await client.search("theirs", "green tea"))[0]
        assert likes.source_node_uuid == alice.uuid
        again = await client.search("theirs", "Where does Alice Chen work?")
        assert former.uuid not in {fact.uuid for fact in again}
    assert {e.uuid for e in await EntityEdge.get_by_group_ids(graphiti.driver, ["theirs"])} == {
        former.uuid,
        current.uuid,
        likes.uuid,
    }


async def _filled(store: Neo4jStore, group: str) -> None:
    """Wait until the service has given the episodes vectors of their passages."""
    async with asyncio.timeout(60.0):
        while await _under_way(store, group):  # noqa: ASYNC110  another process works
            await asyncio.sleep(0.1)
    page = await store.text_changes(group, 0, 99)
    assert {bool(each.passages) for each in page.episodes} == {True}


async def _under_way(store: Neo4jStore, group: str) -> bool:
    return group in {work.group_id for work in await store.open_fills(1 << 52, 1_000)}
