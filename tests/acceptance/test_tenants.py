"""Three tenants with tokens of their own, at random: nobody is told anything of another's.

Every id that a tenant's own answers name (of items, facts, entities, episodes, documents, chunks, receipts,
erasures, builds, merges) is remembered as its own. In the end no answer, error, metric, line of the log or of
the audit that is another's holds one of them. The service writes no traces: there are none to look at.
"""

import asyncio
import io
import json
import logging
import random
import re
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from kgsvc.observability.logs import JsonFormatter
from tests.acceptance.access import HOUR_MS, Guarded, guarded
from tests.acceptance.saying import DIMENSION
from tests.acceptance.tenants import MINE, TENANTS, UUID, Memory, Tenant, words
from tests.support.client import CALL_S
from tests.support.contract import METHODS
from tests.support.scripted_openai import ScriptedOpenAI

FEW = 1_000  # operations, where 5,000 would take too long
RARE = {"DeleteGroup", "DeleteEpisode", "DeleteDocument"}  # so that there is something to be found


@pytest.fixture(
    scope="module", params=[FEW, pytest.param(5_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)
def operations(request: pytest.FixtureRequest) -> int:
    """How many there are."""
    return int(request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(
    operations: int, tmp_path_factory: pytest.TempPathFactory, model_server: ScriptedOpenAI
) -> AsyncIterator[Guarded]:
    """One for these operations alone. It embeds by a model, whose calls are counted by group."""
    settings = {
        "models__embedder": "openai",
        "openai__base_url": model_server.base_url,
        "embedding__dimension": str(DIMENSION),
        "server__metrics_listen": "127.0.0.1:0",
    }
    async with guarded(tmp_path_factory.mktemp(f"tenants{operations}"), "token", **settings) as made:
        for tenant in TENANTS:
            await made.add(tenant, {f"{tenant}/": "admin"}, HOUR_MS)
            await made.taken_over(tenant)
        yield made


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server writes into its log meanwhile, at debug level."""
    written, logger = io.StringIO(), logging.getLogger("kgsvc")
    handler, before = logging.StreamHandler(written), logger.level
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield written
    logger.setLevel(before)
    logger.removeHandler(handler)


async def test_tenants_are_told_nothing_of_each_other(
    operations: int, server: Guarded, log: io.StringIO
) -> None:
    memory = Memory(random.Random(operations + 1))
    clients = {name: server.client(name) for name in TENANTS}
    tenants = [Tenant(name, client, memory) for name, client in clients.items()]
    methods = sorted(METHODS)
    weights = [1 if name in RARE else 8 for name in methods]
    for number in range(operations):
        name = memory.rng.choices(methods, weights)[0]
        await tenants[number % 3].acts(name)
    await until_all_were_answered(tenants, memory)
    for client in clients.values():
        await client.channel.close()
    assert min(each.refused for each in tenants) > operations / 60
    assert min(each.answered for each in tenants) > operations / 12
    everything_was_tried(memory, operations)
    answers_name_nothing_of_others(memory)
    lines_name_nothing_of_others(memory, log)
    audited_is_what_was_named(memory, server)
    page = await asyncio.to_thread(metrics_page, server.metrics_address)
    metrics_name_nobody(memory, page)


async def until_all_were_answered(tenants: list[Tenant], memory: Memory) -> None:
    """Some methods find what they need only where others have worked before, which is a matter of luck."""
    answered = {each.operation for each in memory.told if each.answered}
    for name in sorted(METHODS.keys() - answered - {"ClearAll"}):
        for number in range(500):
            for needed in (*_BEFORE.get(name, ()), name):
                await tenants[number % 3].acts(needed)
            if any(each.answered for each in memory.told[-4:] if each.operation == name):
                break


_BEFORE = {
    "ImportGroup": ("ExportGroup",),
    "UndoMerge": ("MergeEntityNodes",),
    "UndoSplit": ("SplitEntityNode",),
}


def everything_was_tried(memory: Memory, operations: int) -> None:
    """Or the rest proves little: each tenant has many ids, each method was called, and other tenants' ids
    were named."""
    owned = Counter(tenant for tenants in memory.owners.values() for tenant in tenants)
    assert min(owned[tenant] for tenant in TENANTS) > operations / 24
    kinds = {"uuid", "receipt_id", "erasure_id", "document_id", "build_id", "receipt_ids", "episodes"}
    assert kinds <= {name.partition(".")[2] for name in memory.by_field}
    assert {each.operation for each in memory.told if each.answered} == METHODS.keys() - {"ClearAll"}
    assert memory.twins > operations / 25


def answers_name_nothing_of_others(memory: Memory) -> None:
    """No answer and no error holds what is another's, unless the request did."""
    assert {each: owners for each, owners in memory.owners.items() if len(owners) > 1} == {}
    for each in memory.told:
        strange = memory.of_others(each.tenant, each.told - each.asked)
        assert strange == set(), f"{each.tenant} was told of them by {each.operation}"


def lines_name_nothing_of_others(memory: Memory, log: io.StringIO) -> None:
    """A line of the log is of one tenant, by its call or its group, and holds no other's id, nor group but
    where the call named that. A line of nobody holds nobody's."""
    seen: Counter[str] = Counter()
    for text in log.getvalue().splitlines():
        line = json.loads(text)
        whose = tenant_of(line)
        seen[whose] += 1
        strange = {each for each in words(text) if memory.owners.get(each, {whose}) != {whose}}
        assert strange == set(), text
        if line.get("error_code") != "PERMISSION_DENIED":
            assert set(MINE.findall(text)) <= {whose}, text
    assert min(seen[tenant] for tenant in TENANTS) > len(memory.told) / 12


def tenant_of(line: dict[str, Any]) -> str:
    """Whose a line of the log is: by the request_id, which tenants choose, else by the group."""
    groups = line.get("group_id") or ()
    named = [line.get("request_id") or "", *([groups] if isinstance(groups, str) else groups)]
    return next((found[1] for each in named if (found := MINE.match(each))), "")


def audited_is_what_was_named(memory: Memory, server: Guarded) -> None:
    """The audit tells of what a tenant did by what the tenant itself named or made."""
    said = {tenant: set[str]() for tenant in TENANTS}
    for each in memory.told:
        said[each.tenant] |= each.asked
    lines = server.access_file.with_name("audit.jsonl").read_text().splitlines()
    whose = [(json.loads(line)["who"], line) for line in lines]
    assert {who for who, _ in whose} >= set(TENANTS)
    for who, line in whose:
        if who in said:
            assert memory.of_others(who, words(line) - said[who]) == set(), line


def metrics_page(address: str) -> str:
    """What Prometheus reads."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return str(opener.open(f"http://{address}/metrics", timeout=CALL_S).read().decode())


def metrics_name_nobody(memory: Memory, page: str) -> None:
    """No id, and groups only by their digests."""
    assert re.search(r'group="[0-9a-f]{16}"', page), "groups are counted"
    assert UUID.findall(page) == []
    assert words(page) & {*memory.owners, *TENANTS} == set()
