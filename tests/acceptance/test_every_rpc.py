"""Every RPC of the contract once, in one story: each answers and has done what it says, on every store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from kgsvc.v1.documents_pb2 import DOCUMENT_STATE_PROCESSED, DocumentItem, StreamDocumentsRequest
from kgsvc.v1.transfer_pb2 import ImportGroupRequest
from tests.acceptance.saying import FEB, JAN, MAR, body, fact, telling
from tests.support.client import DONE_S, Client, granted, message, timestamp
from tests.support.contract import METHODS, request_of
from tests.support.neo4j_fixture import named_servers
from tests.support.store_spec import StoreSpec

WORKS = fact("WORKS_AT", "Alice", "Acme")
LIKES = fact("LIKES", "Al", "chess")
OWN_TYPES = "entity_types: [{name: Task, description: work}]"


class Caller:
    """Calls RPCs by their names and remembers which."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.called: set[str] = set()

    async def __call__(self, name: str, /, **given: Any) -> Any:
        """The output of a unary RPC."""
        self.called.add(name)
        return await self._client.ask(name, **given)

    async def done(self, receipt_id: str) -> None:
        """WatchReceipt to its end."""
        self.called.add("WatchReceipt")
        await self._client.wait_receipt(receipt_id)

    async def last(self, name: str, /, **given: Any) -> Any:
        """The last output of an RPC that answers with a stream."""
        self.called.add(name)
        call = getattr(self._client.retrieval, name)(request_of(name, **given), timeout=DONE_S)
        return [granted(each).output async for each in call][-1]

    async def until(self, name: str, over: Callable[[Any], bool], /, **given: Any) -> list[Any]:
        """The outputs of an RPC that answers with a stream without end, up to one of them."""
        self.called.add(name)
        call = getattr(self._client.retrieval, name)(request_of(name, **given), timeout=DONE_S)
        told: list[Any] = []
        while not (told and over(told[-1])):
            told.append(granted(await call.read()).output)
        call.cancel()
        return told

    async def stream(self, group: str, *items: typ.EpisodeItem) -> list[Any]:
        """StreamEpisodes: the acknowledgements."""
        self.called.add("StreamEpisodes")
        return [granted(each) for each in await self._client.stream_episodes(group, items)]

    async def stream_documents(self, group: str, item: DocumentItem) -> list[Any]:
        """StreamDocuments with one document: the answers."""
        self.called.add("StreamDocuments")

        async def parts() -> AsyncIterator[StreamDocumentsRequest]:
            yield StreamDocumentsRequest(group_id=group, document=item, last=True)

        call = self._client.ingestion.StreamDocuments(parts(), timeout=DONE_S)
        return [granted(each) async for each in call]

    async def export_group(self, group: str) -> bytes:
        """ExportGroup: the file."""
        self.called.add("ExportGroup")
        call = self._client.admin.ExportGroup(request_of("ExportGroup", group_id=group), timeout=DONE_S)
        return b"".join([granted(each).output.data async for each in call])

    async def import_group(self, group: str, file: bytes) -> Any:
        """ImportGroup of a file in one piece: the last answer."""
        self.called.add("ImportGroup")
        parts = iter([ImportGroupRequest(group_id=group, data=file, last=True)])
        call = self._client.admin.ImportGroup(parts, timeout=DONE_S)
        return [granted(each) async for each in call][-1]


async def test_every_rpc_answers_and_does_what_it_says(client: Client, group: str, spec: StoreSpec) -> None:
    ask = Caller(client)
    health = await ask("Healthcheck")
    assert (health.status, health.store) == ("healthy", "embedded" if spec.neo4j is None else "neo4j")
    await ingested(ask, group)
    await documented(ask, f"{group}-documents")
    works, likes = await searched(ask, group)
    await changed(ask, group, works, likes)
    await grouped(ask, group)
    await followed(ask, group)
    await deleted(ask, group, likes)
    unasked = METHODS.keys() - ask.called
    assert unasked == {"ClearAll"}, "an RPC that has no place in the story"
    if spec.label not in named_servers():  # what those hold may be wanted
        await cleared(ask, client, group)


async def ingested(ask: Caller, group: str) -> None:
    """By a stream, as episodes, as messages and as an entity; followed and listed."""
    (streamed,) = await ask.stream(group, telling(JAN, WORKS, uuid="works"))
    await ask.done(streamed.receipt_id)
    added = await ask("AddEpisodes", group_id=group, items=[telling(FEB, LIKES, uuid="likes")])
    await ask.done(added.receipt_id)
    said = await ask("AddMessages", group_id=group, messages=[message("Hi.", MAR, role="Al", uuid="hi")])
    await ask.done(said.receipt_id)
    receipt = await ask("GetReceipt", receipt_id=said.receipt_id)
    assert [(item.uuid, item.state) for item in receipt.items] == [("hi", typ.ITEM_STATE_COMPLETED)]
    assert [item.uuid for item in (await ask("ListItems", group_id=group)).items] == ["works", "likes", "hi"]
    assert list((await ask("RetryItems", group_id=group, all_parked=True)).uuids) == []
    episodes = await ask("GetEpisodes", group_id=group, last_n=2)
    assert [each.uuid for each in episodes.episodes] == ["likes", "hi"]
    assert (await ask("AddEntityNode", uuid="own", group_id=group, name="Bruno")).uuid == "own"


async def documented(ask: Caller, group: str) -> None:
    """As a document in a group of its own: by a call, by a stream; read, listed and deleted."""
    item = DocumentItem(document_id="d", text=body(LIKES), reference_time=timestamp(FEB))
    (added,) = (await ask("AddDocuments", group_id=group, documents=[item])).documents
    for receipt_id in added.receipt_ids:
        await ask.done(receipt_id)
    (streamed,) = await ask.stream_documents(group, item)
    assert (streamed.document.document_id, streamed.document.new_chunks) == ("d", 0)
    found = await ask("GetDocument", group_id=group, document_id="d", include_chunks=True)
    assert (found.document.state, found.chunks[0].content) == (DOCUMENT_STATE_PROCESSED, item.text)
    assert [each.document_id for each in (await ask("ListDocuments", group_id=group)).documents] == ["d"]
    assert (await ask("DeleteDocument", group_id=group, document_id="d")).erasure_id
    assert not (await ask("ListDocuments", group_id=group)).documents


async def searched(ask: Caller, group: str) -> tuple[typ.FactResult, typ.FactResult]:
    """By each search; the two facts."""
    (works, *_) = (await ask("SearchFacts", group_ids=[group], query="Alice Acme")).facts
    asked = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content="Alice Acme", timestamp=timestamp(JAN))
    assert (await ask("GetMemory", group_id=group, messages=[asked])).facts[0].uuid == works.uuid
    rrf = ret.SEARCH_RECIPE_EDGE_HYBRID_SEARCH_RRF
    likes = (await ask("SearchGraph", group_ids=[group], query="chess", recipe=rrf)).facts[0].fact
    assert (works.fact, likes.fact) == ("Alice works at Acme", "Al likes chess")
    found = await ask.last("Ask", group_ids=[group], question="Alice Acme", only_need_context=True)
    assert "Alice works at Acme" in found.result.context
    return works, likes


async def changed(ask: Caller, group: str, works: typ.FactResult, likes: typ.FactResult) -> None:
    """A fact by a correction, an entity by a merge and a split and their undoing."""
    updated = await ask("UpdateFact", uuid=works.uuid, group_id=group, fact="Alice leads Acme")
    history = await ask("GetFactHistory", uuid=works.uuid, group_id=group)
    assert [each.uuid for each in history.facts] == [works.uuid, updated.new_uuid]
    between = {"node_uuid": works.target_node_uuid, "other_node_uuid": works.source_node_uuid}
    assert list((await ask("GetRelation", group_id=group, **between)).descriptions) == ["Alice leads Acme"]
    ends = {"keep_uuid": works.source_node_uuid, "merge_uuid": likes.source_node_uuid}
    merged = await ask("MergeEntityNodes", group_id=group, **ends)
    alice = await ask("GetEntityNode", uuid=works.source_node_uuid, group_id=group)
    assert {each.fact for each in alice.facts} == {"Alice leads Acme", "Al likes chess"}
    assert (await ask("GetEntityEdge", uuid=likes.uuid)).source_name == "Alice"
    await ask("UndoMerge", group_id=group, merge_id=merged.merge_id)
    assert (await ask("GetEntityEdge", uuid=likes.uuid)).source_name == "Al"
    merged = await ask("MergeEntityNodes", group_id=group, **ends)
    split = await ask("SplitEntityNode", group_id=group, uuid=merged.node.uuid, fact_uuids=[likes.uuid])
    assert (await ask("GetEntityEdge", uuid=likes.uuid)).source_node_uuid == split.node.uuid
    listed = (await ask("ListMerges", group_id=group, uuid=merged.node.uuid)).merges
    assert [each.merge_id for each in listed] == [split.split_id, merged.merge_id]
    assert (await ask("UndoSplit", group_id=group, split_id=split.split_id)).node.uuid == merged.node.uuid
    await ask("UndoMerge", group_id=group, merge_id=merged.merge_id)


async def grouped(ask: Caller, group: str) -> None:
    """By types of the group's own, and in communities."""
    assert list((await ask("PutOntology", group_id=group, yaml=OWN_TYPES)).entity_types) == ["Task"]
    assert (await ask("GetOntology", group_id=group)).own
    (build,) = (await ask("BuildCommunities", group_ids=[group])).builds
    async with asyncio.timeout(DONE_S):
        while build.state in {adm.BUILD_STATE_PENDING, adm.BUILD_STATE_RUNNING}:
            await asyncio.sleep(0.02)
            build = (await ask("GetCommunityBuild", build_id=build.build_id, group_id=group)).build
    assert build.state == adm.BUILD_STATE_COMPLETED
    found = (await ask("ListCommunities", group_id=group)).communities
    assert sorted(each.member_count for each in found) == [2, 2]
    listed = {each.group_id: each for each in (await ask("ListGroups", page_size=1_000)).groups}[group]
    assert (listed.episodes, listed.entities) == (3, 5)
    assert listed.facts >= 2
    assert listed.HasField("changed_at")
    assert (await ask("SetModes", group_id=group, paused=True)).group.HasField("paused_since")
    assert not (await ask("SetModes", group_id=group, paused=False)).group.HasField("paused_since")


async def followed(ask: Caller, group: str) -> None:
    """From the beginning until nothing more is to be told."""
    told = await ask.until("WatchGroup", lambda output: output.current, group_id=group)
    assert told[0].reset
    assert {each.episode.uuid for output in told for each in output.episodes} == {"works", "likes", "hi"}


async def deleted(ask: Caller, group: str, likes: typ.FactResult) -> None:
    """A fact, another by a retraction, an episode, the group; what is imported again knows why."""
    assert (await ask("DeleteEntityEdge", uuid=likes.uuid, group_id=group)).success
    (leads,) = (await ask("SearchFacts", group_ids=[group], query="chess Acme")).facts
    assert leads.fact == "Alice leads Acme"
    never = {"uuid": leads.uuid, "group_id": group}
    retracted = (await ask("RetractFact", **never, reason="another Alice was meant")).edge
    assert (retracted.expired_reason, retracted.retract_reason) == ("retracted", "another Alice was meant")
    assert not (await ask("SearchFacts", group_ids=[group], query="chess Acme")).facts
    assert (await ask("DeleteEpisode", uuid="hi", group_id=group)).success
    left = await ask("GetEpisodes", group_id=group, last_n=9)
    assert [each.uuid for each in left.episodes] == ["works", "likes"]
    file = await ask.export_group(group)
    gone = await ask("DeleteGroup", group_id=group)
    assert gone.success
    assert (await ask("GetErasure", erasure_id=gone.erasure_id)).erasure.kind == "group"
    assert not (await ask("GetEpisodes", group_id=group, last_n=9)).episodes
    assert (await ask.import_group(group, file)).rows["episode"] == 2
    back = await ask("GetEpisodes", group_id=group, last_n=9)
    assert [each.uuid for each in back.episodes] == ["works", "likes"]
    kept = await ask("GetEntityEdge", **never)
    assert (kept.expired_at, kept.retract_reason) == (retracted.expired_at, "another Alice was meant")


async def cleared(ask: Caller, client: Client, group: str) -> None:
    """All groups."""
    await client.ingest(group, [telling(JAN, WORKS)])
    assert (await ask("ClearAll")).success
    assert await client.search(group, "Alice") == []
