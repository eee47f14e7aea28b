"""kill -9 while documents are added, read and settled: sent again, each is whole and said once."""

import asyncio
from pathlib import Path

from kgsvc.stores.protocol import GroupDump
from kgsvc.v1 import documents_pb2 as doc
from tests.support.client import DONE_S, Client, timestamp
from tests.support.graphs import assert_sound
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, dumped

JAN, FEB = 1_704_067_200_000, 1_706_745_600_000
SETTINGS = {
    "queue.lease_s": "1",
    "queue.poll_s": "0.05",
    "documents.token_size": "48",
    "documents.overlap": "4",
}
SAID = [f"Person{chr(65 + n)} Berg works at Firm{chr(65 + n)}." for n in range(24)]
FIRST = "\n\n".join(f"{each} That has been so for quite a while, as all of them know." for each in SAID)
SECOND = FIRST.replace("FirmC", "Zenith").replace("PersonF Berg works at FirmF.", "Nothing is told of him.")


async def add(client: Client, group: str, text: str, at_ms: int) -> doc.AddedDocument:
    item = doc.DocumentItem(document_id="book", text=text, reference_time=timestamp(at_ms))
    output: doc.AddDocumentsOutput = await client.ask("AddDocuments", group_id=group, documents=[item])
    (added,) = output.documents
    return added


async def reached(client: Client, group: str, chunks: int, settled: bool = False) -> None:
    """Wait until so many chunks are in the graph, or all; and, if asked, until the document is settled."""
    async with asyncio.timeout(DONE_S):
        while True:
            output: doc.GetDocumentOutput = await client.ask(
                "GetDocument", group_id=group, document_id="book"
            )
            found = output.document
            done = found.chunks_in_graph >= chunks or found.state == doc.DOCUMENT_STATE_PROCESSED
            if done and (found.settled or not settled):
                return
            await asyncio.sleep(0.01)


async def test_kills_leave_a_document_whole(store_spec: StoreSpec, group: str, tmp_path: Path) -> None:
    service = Service(store_spec.settings | SETTINGS, tmp_path)
    calm = f"{group}-calm"
    async with service, Client(service.address) as client:
        for text, at_ms in ((FIRST, JAN), (SECOND, FEB)):
            await add(client, calm, text, at_ms)
            await reached(client, calm, 10_000, settled=True)
    for text, at_ms in ((FIRST, JAN), (SECOND, FEB)):
        await killed_while_it_is_sent(service, group, text, at_ms)
        for chunks in (1, 5, 10_000):  # the last: while it is settled, or just before
            async with service, Client(service.address) as client:
                await add(client, group, text, at_ms)
                await reached(client, group, chunks)
                service.kill9()
        async with service, Client(service.address) as client:
            again = await add(client, group, text, at_ms)
            assert (again.arrival, again.new_chunks) == (doc.DOCUMENT_ARRIVAL_UNCHANGED, 0)
            await reached(client, group, 10_000, settled=True)
            assert await service.terminate() == 0
    wanted, found = await dumped(store_spec, calm), await dumped(store_spec, group)
    assert_sound(found)
    told = {fact.fact for fact in found.facts if fact.expired_ms is None}
    assert any("Zenith" in each for each in told)
    assert not any("FirmC" in each or "FirmF" in each for each in told)
    assert what_is_said(found) == what_is_said(wanted)


def what_is_said(dump: GroupDump) -> list[tuple[str, ...]]:
    """Every fact, with its start, why it expired, and the words of the chunks that state it."""
    bodies = {episode.uuid: episode.body for episode in dump.episodes}
    return sorted(
        (
            *(fact.source_name, fact.name, fact.target_name, fact.fact, str(fact.start_ms)),
            fact.expired_reason or "",
            *sorted(bodies[uuid] for uuid in fact.episodes),
        )
        for fact in dump.facts
        if fact.expired_reason != "merged"
    )


async def killed_while_it_is_sent(service: Service, group: str, text: str, at_ms: int) -> None:
    """The process dies with the call on its way, wherever that is."""
    async with service, Client(service.address) as client:
        sending = asyncio.create_task(add(client, group, text, at_ms))
        await client.ask("Healthcheck")
        service.kill9()
        await asyncio.gather(sending, return_exceptions=True)
