"""Retention: what a group no longer keeps is erased by itself, with receipts; the rest stays."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from kgsvc.access.audit import Audit
from kgsvc.access.retention import Retention
from kgsvc.commands.retention import RetentionJob, erase_retained
from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.limits import DAY_MS
from kgsvc.v1 import documents_pb2 as doc
from tests.support.canaries import ERASED_S, erased, found
from tests.support.client import Client, episode, timestamp
from tests.support.core import core_of
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

OLD = 1_704_067_200_000  # 2024
POLICIES = """
[[retention]]
groups = "{0}/episodes"
episodes_days = 30

[[retention]]
groups = "{0}/facts"
ended_facts_days = 30
"""


async def receipts(client: Client, audit: Path, group: str) -> list[dict[str, int]]:
    """What the receipts of a group's retention count, once all of it is erased for good."""
    async with asyncio.timeout(ERASED_S):
        while True:
            lines = map(json.loads, (await asyncio.to_thread(audit.read_bytes)).splitlines())
            told = [line for line in lines if (line["operation"], line["groups"]) == ("Retention", [group])]
            # The audit tells of one before it is written down: until then it is not known.
            answers = [await client.answer("GetErasure", erasure_id=line["uuids"][0]) for line in told]
            asked = [each.output.erasure for each in answers]
            if asked and all(each.HasField("completed_at") for each in asked):
                assert {each.kind for each in asked} == {"retention"}
                return [dict(each.removed) for each in asked]
            await asyncio.sleep(0.1)


async def tell(client: Client, group: str, now_ms: int) -> None:
    """Something old and something new of each kind."""
    texts = [
        episode("Zerlina works at Acme.", OLD, uuid=f"{group}-old"),
        episode("Bruno works at Acme.", OLD + 1, uuid=f"{group}-both"),
        episode("Bruno works at Acme.", now_ms - DAY_MS, uuid=f"{group}-new"),
        episode("Carla works at Firmamenta.", OLD + 2, uuid=f"{group}-begun"),
        episode("Carla no longer works at Firmamenta.", OLD + DAY_MS, uuid=f"{group}-ended"),
    ]
    await client.ingest(group, texts)
    for name, at_ms in (("then", OLD), ("now", now_ms - DAY_MS)):
        item = doc.DocumentItem(
            document_id=name, text=f"Quintilla {name} lives in Rome.", reference_time=timestamp(at_ms)
        )
        added = (await client.ask("AddDocuments", group_id=group, documents=[item])).documents[0]
        await client.wait_receipt(added.receipt_ids[0])


async def held(client: Client, group: str) -> tuple[set[str], set[str], set[str]]:
    """The facts, the episodes, without the group before their names, and the documents of a group."""
    facts = {each.fact for each in await client.search(group, "works Acme Firmamenta Rome", max_facts=100)}
    episodes = {each.uuid.removeprefix(f"{group}-") for each in await client.get_episodes(group)}
    documents = (await client.ask("ListDocuments", group_id=group)).documents
    return facts, episodes, {each.document_id for each in documents}


async def test_what_is_too_old_is_erased_and_nothing_else(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    now_ms = time.time_ns() // 1_000_000
    audit, policies = tmp_path / "audit.jsonl", tmp_path / "retention.toml"
    policies.write_text(POLICIES.format(group))
    audit.touch()
    groups = [f"{group}/{name}" for name in ("episodes", "facts", "for-good")]
    service = Service(store_spec.settings, tmp_path)
    async with service, Client(service.address) as client:
        for each in groups:
            await tell(client, each, now_ms)
        before = [await held(client, each) for each in groups]
    assert before[0][1] == {"old", "both", "new", "begun", "ended"}
    service = Service(
        store_spec.settings | {"retention.file": str(policies), "access.audit": str(audit)}, tmp_path, "kept"
    )
    async with service, Client(service.address) as client:
        of_episodes = await receipts(client, audit, groups[0])
        of_facts = await receipts(client, audit, groups[1])
        after = [await held(client, each) for each in groups]
        assert after[2] == before[2]
        assert after[0][1:] == ({"new"}, {"now"})
        assert after[0][0] == {fact for fact in before[0][0] if "Bruno" in fact or "Quintilla now" in fact}
        assert after[1] == before[1], "but for a fact that is not shown, since it has ended"
        assert sum(each["episodes"] for each in of_episodes) == 5, "four episodes and a chunk"
        assert sum(each["documents"] for each in of_episodes) == 1
        assert sum(each["facts"] for each in of_facts) == 1
    async with service, Client(service.address) as client:
        assert await receipts(client, audit, groups[0]) == of_episodes, "they stay, and nothing is due"
        for each in groups[1:]:
            await erased(client, (await client.ask("DeleteGroup", group_id=each)).erasure_id)
    assert await found(store_spec, ["Zerlina"]) == set()


class Failing:
    """A store that cannot read the episodes of one group, nor erase one of these episodes."""

    def __init__(self, store: Any, group_id: str = "", dies_at: str = "") -> None:
        self._store = store
        self._group_id = group_id
        self._dies_at = dies_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def recent_episodes(self, group_id: str, *rest: Any) -> Any:
        if group_id == self._group_id:
            raise StoreUnavailable("not now")
        return await self._store.recent_episodes(group_id, *rest)

    async def episode(self, uuid: str, group_id: str | None) -> Any:
        if uuid == self._dies_at:
            raise RuntimeError("the process dies")
        return await self._store.episode(uuid, group_id)


async def test_a_group_that_fails_holds_up_no_other(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    groups = [f"{group}/{name}" for name in "abc"]
    async with Service(store_spec.settings, tmp_path) as service, Client(service.address) as client:
        for each in groups:
            await client.ingest(each, [episode("Zerlina works at Acme.", OLD, uuid=each)])
    policy = Retention(f"{group}/", episodes_days=30)
    async with opened(store_spec) as store:
        await RetentionJob(core_of(Failing(store, groups[1])), [policy]).erase()
        assert [each for each in groups if await store.episode(each, each)] == [groups[1]]
        await RetentionJob(core_of(store), [policy]).erase()
        assert await store.episode(groups[1], groups[1]) == []


async def test_the_audit_names_a_part_before_it_begins(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    async with Service(store_spec.settings, tmp_path) as service, Client(service.address) as client:
        texts = [episode("Zerlina works at Acme.", OLD + n, uuid=f"{group}-{n}") for n in range(2)]
        await client.ingest(group, texts)
    path = tmp_path / "audit.jsonl"
    policy = Retention(group, episodes_days=30)
    async with opened(store_spec) as store:
        audit, core = Audit(path), core_of(Failing(store, dies_at=f"{group}-0"))
        with pytest.raises(RuntimeError, match="dies"):
            await RetentionJob(core, [policy], audit=audit).erase()
        await asyncio.to_thread(audit.close)
        (line,) = map(json.loads, path.read_bytes().splitlines())
        assert (line["operation"], line["groups"], line["outcome"]) == ("Retention", [group], "begun")
        (part,) = await store.erasure(line["uuids"][0])
        assert (part.group_id, part.removed) == (group, None)
        await erase_retained(core_of(store), part)
        (part,) = await store.erasure(part.erasure_id)
        assert part.removed is not None
        assert part.removed["episodes"] == 2
