"""Groups exported from the embedded store, imported into Neo4j and back: the same answers, history, merges,
undo."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import pytest

from kgsvc.cli.transfers import fetch, send
from kgsvc.commands.transfer.exporting import export
from kgsvc.commands.transfer.importing import import_file
from kgsvc.config import Client as Settings
from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.delta import GroupHead
from kgsvc.runtime import SystemClock
from kgsvc.stores.protocol import GroupDump, WholeStore
from tests.integration.moved_content import Told, tell, without_fills
from tests.integration.test_move_store import GROUPS, change, read
from tests.support.client import Client
from tests.support.graphs import comparable
from tests.support.neo4j_fixture import Address, own_server
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

OFFLINE = {"models.extractor": "offline", "models.embedder": "offline"}
EXPORTED = GROUPS
TRIES = 5
PATIENCE_S = 120.0  # with a store that a busy machine makes slow


async def dumps(spec: StoreSpec) -> dict[str, GroupDump]:
    """The graphs, without the revisions by which stores count."""
    async with opened(spec) as store:
        found = {group: await store.dump(group) for group in EXPORTED}
    return {
        group: replace(dump, head=GroupHead(group, last_ms=dump.head.last_ms))
        for group, dump in found.items()
    }


async def rows(spec: StoreSpec) -> list[Any]:
    """What is not in the graph: items, ontologies, documents, tombstones."""
    async with opened(spec) as store:
        found: list[Any] = []
        for group in EXPORTED:
            dump = await store.dump(group)
            items = (await store.list_items(group, (), 100_000, None)).rows
            found.append([group, items, await store.ontology(group), await store.documents(group, 100, "")])
            view = await store.slots(group, {each.slot for each in dump.facts})
            found.append([sorted(part, key=attrgetter("uuid")) for part in (view.facts, view.tombstones)])
        for document in await store.documents("papers", 100, ""):
            name = document.document_id
            found.append([await store.places("papers", name)])
            found.append([await store.chunks("papers", name, active) for active in (True, False)])
        return found


async def carried(old: StoreSpec, new: StoreSpec, folder: Path) -> None:
    """Every group by a file of its own."""
    header = {"kgsvc": "0", "exported_ms": 1}
    async with opened(old) as one, opened(new) as other:
        await other.migrate()
        source, target = cast(WholeStore, one), cast(WholeStore, other)
        for group in EXPORTED:
            path = folder.with_name(f"{folder.name}-{group}.jsonl")
            await untiring(partial(export, source, group, path, header, True, ignored))
            await untiring(partial(import_file, target, path, Limits(), SystemClock(), ignored))


async def carried_by_calls(old: StoreSpec, new: StoreSpec, folder: Path) -> None:
    """Every group by services on the two stores."""
    idle = OFFLINE | {"server.role": "api"}
    async with (
        Service(old.settings | idle, folder.parent, f"{folder.name}-giver") as giver,
        Service(new.settings | idle, folder.parent, f"{folder.name}-taker") as taker,
    ):
        for group in EXPORTED:
            path = folder.with_name(f"{folder.name}-{group}.jsonl")
            await fetch(Settings(server=giver.address, timeout_s=PATIENCE_S), group, path, True, ignored)
            await send(Settings(server=taker.address, timeout_s=PATIENCE_S), path, ignored)


async def untiring(work: Callable[[], Awaitable[object]]) -> None:
    """Work that goes on where it was, as often as a busy machine makes a store too slow for it."""
    for left in reversed(range(TRIES)):
        try:
            await work()
        except StoreUnavailable:
            if not left:
                raise
        else:
            return


def ignored(_far: object) -> None:
    """Nobody is told how far it is."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("carry", [carried, carried_by_calls])
@pytest.mark.parametrize("label", ["neo4j-2026"])
async def test_a_group_goes_to_neo4j_and_back(
    label: str, carry: Callable[[StoreSpec, StoreSpec, Path], Awaitable[None]], tmp_path: Path
) -> None:
    first, last = (StoreSpec("embedded", data_dir=tmp_path / name) for name in ("first", "last"))
    told = await tell(first, tmp_path, 600)
    graphs, others = await dumps(first), await rows(first)
    with own_server(label, tmp_path / "neo4j") as server:
        between = StoreSpec(label, neo4j=Address(server.uri, server.password))
        await carry(first, between, tmp_path / "there")
        assert await dumps(between) == graphs
        assert await rows(between) == others
        await carry(between, last, tmp_path / "back")
        assert await dumps(last) == graphs
        assert await rows(last) == others
        answers = [await asked(spec, told, tmp_path) for spec in (first, between, last)]
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]


async def asked(spec: StoreSpec, told: Told, folder: Path) -> list[Any]:
    """What a service on the store answers, what it can still do, and the graphs that this leads to.
    Communities are not moved: they are the last scope."""
    await without_fills(spec)
    name = "between" if spec.data_dir is None else f"on-{spec.data_dir.name}"
    service = Service(spec.settings | OFFLINE, folder, name)
    async with service, Client(service.address) as client:
        answers = [*await read(client, replace(told, erasures=()), scopes=4), *await change(client, told)]
        assert await service.terminate() == 0
    async with opened(spec) as store:
        return [*answers, *[comparable(await store.dump(group)) for group in GROUPS]]
