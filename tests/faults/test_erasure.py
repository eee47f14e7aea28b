"""kill -9 in the middle of an erasure ends in erased."""

import asyncio
import contextlib
import shutil
import uuid
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from kgsvc.v1.documents_pb2 import DocumentItem
from tests.support.canaries import ERASED_S, erased, found
from tests.support.client import Client, episode, timestamp
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

JAN = 1_704_067_200_000
EPISODES = 40
SETTINGS = {
    "queue.lease_s": "1",
    "queue.poll_s": "0.05",
    "documents.token_size": "48",  # so that a document has many chunks
    "documents.overlap": "4",
}


def secret() -> str:
    """A name that nobody else bears."""
    return "Zerlina" + uuid.uuid4().hex[:12].translate(str.maketrans("0123456789", "ghijklmnop"))


async def begun(spec: StoreSpec, group: str) -> str:
    """The id of the group's erasure, as soon as it is written down and while it is under way."""
    async with opened(spec) as store, asyncio.timeout(ERASED_S):
        while True:
            for part in await store.erasures(100):
                if part.group_id == group:
                    return part.erasure_id
            await asyncio.sleep(0.001)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("operation", ["DeleteGroup", "DeleteEpisode", "DeleteDocument"])
async def test_what_was_begun_is_carried_on(
    store_spec: StoreSpec, group: str, tmp_path: Path, operation: str
) -> None:
    await killed_and_carried_on(store_spec, group, tmp_path, operation)


@pytest.mark.timeout(300)
async def test_the_deletion_of_everything_is_carried_on(
    embedded_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    await killed_and_carried_on(embedded_spec, group, tmp_path, "ClearAll")


async def killed_and_carried_on(store_spec: StoreSpec, group: str, tmp_path: Path, operation: str) -> None:
    """Tell something, kill the server while it erases that, start it again, and look for it."""
    word = secret()
    inputs: dict[str, dict[str, Any]] = {
        "DeleteGroup": {"group_id": group},
        "ClearAll": {},
        "DeleteEpisode": {"group_id": group, "uuid": "e0", "cascade": True},
        "DeleteDocument": {"group_id": group, "document_id": "book"},
    }
    told = [f"{word} works at Acme."] + [f"Ann{n} works at Firm{n}." for n in range(EPISODES)]
    items = [episode(text, JAN + n, uuid=f"e{n}") for n, text in enumerate(told)]
    async with Service(store_spec.settings | SETTINGS, tmp_path) as service:
        async with Client(service.address) as client:
            if operation == "DeleteDocument":
                await document_told(client, group, told)
            else:
                await client.ingest(group, items)
            assert word in await found(store_spec, [word])
            watching = asyncio.create_task(begun(store_spec, group))
            await asyncio.sleep(0.1)
            asking = asyncio.create_task(client.ask(operation, **inputs[operation]))
            erasure_id = await watching
            service.kill9()
            with contextlib.suppress(grpc.aio.AioRpcError):
                await asking
        await service.start()
        async with Client(service.address) as client:
            receipt = await erased(client, erasure_id)
            assert await found(store_spec, [word]) == set()
            if operation == "DeleteDocument":
                assert receipt.removed["documents"] == 1
                assert await client.get_episodes(group) == []
            else:
                assert receipt.removed["episodes"] == (1 if operation == "DeleteEpisode" else len(items))


async def document_told(client: Client, group: str, told: list[str]) -> None:
    """A document of several chunks, which says all of that, in the graph."""
    text = "\n\n".join(f"{each} That has been so for quite a while, as all of them know." for each in told)
    item = DocumentItem(document_id="book", text=text, reference_time=timestamp(JAN))
    (added,) = (await client.ask("AddDocuments", group_id=group, documents=[item])).documents
    assert added.chunks > len(told) / 4
    for receipt_id in added.receipt_ids:
        await client.wait_receipt(receipt_id)


@pytest.mark.timeout(300)
async def test_a_retention_is_carried_on_and_its_receipt_counts_all(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    word = secret()
    policy = tmp_path / "retention.toml"
    policy.write_text(f'[[retention]]\ngroups = "{group}"\nepisodes_days = 30\n')
    told = [f"{word} works at Acme."] + [f"Ann{n} works at Firm{n}." for n in range(EPISODES)]
    items = [episode(text, JAN + n, uuid=f"{group}-{n}") for n, text in enumerate(told)]
    settings = store_spec.settings | SETTINGS
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        await client.ingest(group, items)
    async with Service(settings | {"retention.file": str(policy)}, tmp_path, "kept") as service:
        erasure_id = await begun(store_spec, group)
        async with Client(service.address) as client, asyncio.timeout(ERASED_S):
            while len(await client.get_episodes(group)) == len(items):  # noqa: ASYNC110  another process erases
                await asyncio.sleep(0.005)
        service.kill9()
        await service.start()
        async with Client(service.address) as client:
            receipt = await erased(client, erasure_id)
            assert await client.get_episodes(group) == []
        assert receipt.removed["episodes"] == len(items), "before and after the kill"
        assert await found(store_spec, [word]) == set()


@pytest.mark.timeout(300)
async def test_a_restored_backup_brings_nothing_back(
    embedded_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    whole, cut = secret(), secret()
    ledger = tmp_path / "erasures.jsonl"
    settings = embedded_spec.settings | SETTINGS | {"store.erasure_ledger": str(ledger)}
    data, backup = embedded_spec.data_dir, tmp_path / "backup"
    assert data is not None
    other = f"{group}-2"
    kept = "Ann works at Acme."
    async with Service(settings, tmp_path) as service:
        async with Client(service.address) as client:
            await client.ingest(group, [episode(f"{whole} works at Acme.", JAN, uuid="a")])
            told = [episode(f"{cut} works at Acme.", JAN, uuid="a"), episode(kept, JAN, uuid="b")]
            await client.ingest(other, told)
        await service.terminate()
        shutil.copytree(data, backup)
        await service.start()
        async with Client(service.address) as client:
            ids = [
                (await client.delete_group(group)).erasure_id,
                (await client.ask("DeleteEpisode", uuid="a", group_id=other, cascade=True)).erasure_id,
            ]
        await service.terminate()
        assert not {whole, cut} & await found(embedded_spec, [whole, cut])
        assert not any(word in ledger.read_text() for word in (whole, cut))
        shutil.rmtree(data)
        shutil.copytree(backup, data)
        assert {whole, cut} <= await found(embedded_spec, [whole, cut])
        await service.start()
        async with Client(service.address) as client:
            for erasure_id in ids:
                await erased(client, erasure_id)
            assert await found(embedded_spec, [whole, cut]) == set()
            assert [each.body for each in await client.get_episodes(other)] == [kept]
