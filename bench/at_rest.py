"""What many groups at rest cost: a store of 100,000 groups of two facts beside one of a single group.

    python -m bench.at_rest [--neo4j "URI;PASSWORD"] [--groups 100000] [--new 200] [--out FILE]

The embedded store, or a Neo4j that is empty and stays full. A group is ingested once, and its rows or nodes
are copied to the others in the store itself. Measured: seconds until a server is ready, milliseconds of a
look for work while ten groups have an item, of an accept and of a search in groups that are new, the size of
/metrics, and the memory of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import LiteralString

import apsw
from neo4j import AsyncGraphDatabase

from bench.measuring import keep, machine, quantile, resident_mib, run, say
from bench.service import finished
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.domain.model.items import AcceptBatch, NewItem
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.connection import FILE_NAME
from kgsvc.stores.embedded.schema import ID_BITS
from kgsvc.stores.neo4j import Neo4jStore
from kgsvc.stores.protocol import Store
from tests.support.client import Client, message
from tests.support.service import Service

_TOLD = ("Ada works at Acme.", "Ada lives in Berlin.")
_AT_MS = 1_760_000_000_000
_LOOKS = 50
_BUSY = 10
_SETTINGS = {"server.metrics_listen": "127.0.0.1:0", "logging.level": "warning"}


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a store with so many groups."""

    groups: int
    ready_s: float
    look_ms: float
    accept_ms: float
    search_ms: float
    metrics_kib: float
    resident_mib: float


_NODES: LiteralString = """
    MATCH (x {group_id: $group}) WHERE NOT x:KgIdempotency
    RETURN elementId(x) AS id, labels(x) AS labels, x.receipt_id AS receipt_id, x {.*} AS properties
    """
_RELATIONS: LiteralString = """
    MATCH (a {group_id: $group})-[r]->(b {group_id: $group})
    RETURN elementId(a) AS source, elementId(b) AS target, type(r) AS type, r {.*} AS properties
    """
_COPY: LiteralString = """
    UNWIND range($first, $last) AS n
    CALL (n) {
        UNWIND $nodes AS node
        CREATE (x:$(node.labels) {group_id: $group + '-' + n, receipt_id: node.receipt_id + '-' + n})
        SET x += node.properties
        WITH n, collect(x) AS made
        UNWIND $relations AS relation
        WITH n, relation, made[relation.source] AS a, made[relation.target] AS b
        CREATE (a)-[r:$(relation.type) {group_id: $group + '-' + n}]->(b)
        SET r += relation.properties
    } IN TRANSACTIONS OF 250 ROWS
    """


async def copied_in_neo4j(settings: dict[str, str], group_id: str, count: int) -> None:
    """Have `count` groups more with the nodes and relations of this one."""
    auth = ("neo4j", settings["store.neo4j_password"])
    async with (
        AsyncGraphDatabase.driver(settings["store.neo4j_uri"], auth=auth) as driver,
        driver.session(database="neo4j") as session,
    ):
        nodes = await (await session.run(_NODES, group=group_id)).data()
        relations = await (await session.run(_RELATIONS, group=group_id)).data()
        for each in [*nodes, *relations]:
            each["properties"] = {
                name: value
                for name, value in each["properties"].items()
                if name not in ("group_id", "receipt_id")
            }
        place = {node["id"]: number for number, node in enumerate(nodes)}
        ends = [each | {end: place[each[end]] for end in ("source", "target")} for each in relations]
        given = {"group": group_id, "nodes": nodes, "relations": ends, "first": 1, "last": count}
        await (await session.run(_COPY, given)).consume()


def copied(file: Path, group_id: str, count: int) -> None:
    """Have `count` groups more with the rows of this one, which is the last that was made."""
    db = apsw.Connection(str(file))
    with contextlib.closing(db), db:
        ((gid,),) = db.execute("SELECT gid FROM groups WHERE group_id = ?", (group_id,))
        ((receipts,),) = db.execute("SELECT max(rid) FROM receipts")
        db.execute("CREATE TEMP TABLE copies (n INTEGER PRIMARY KEY)")
        db.executemany("INSERT INTO copies VALUES (?)", [(n,) for n in range(1, count + 1)])
        for table, where in _tables(db, gid, group_id):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            values = ", ".join(_copy(column, receipts) for column in columns)
            db.execute(
                f"INSERT INTO main.{table} ({', '.join(columns)}) SELECT {values}"
                f" FROM (SELECT * FROM main.{table} WHERE {where}), copies"
            )
        db.execute("UPDATE totals SET last_gid = last_gid + ?", (count,))


def _tables(db: apsw.Connection, gid: int, group_id: str) -> Iterator[tuple[str, str]]:
    """Those with rows of a group, with what selects these."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in names:
        columns = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        place = next((column for column in ("gid", "id", "episode_id") if column in columns), None)
        if table == "receipts":
            yield table, f"group_id = '{group_id}'"
        elif table == "receipt_items":
            yield table, f"item_id >> {ID_BITS} = {gid}"
        elif table not in ("totals", "versions") and place is not None:
            yield table, f"{place} = {gid}" if place == "gid" else f"{place} >> {ID_BITS} = {gid}"


def _copy(column: str, receipts: int) -> str:
    """The value of a column in copy number n."""
    if column == "gid":
        return "gid + n"
    if column in ("group_id", "receipt_id"):
        return f"{column} || '-' || n"
    if column == "rid":
        return f"rid + n * {receipts}"
    if column == "id" or (column.endswith("_id") and column not in ("document_id", "merge_id", "request_id")):
        return f"{column} + (n << {ID_BITS})"
    return column


async def timed(call: Callable[[int], Awaitable[object]], count: int) -> float:
    """The median of so many calls one after the other, in milliseconds."""
    times: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await call(number)
        times.append((time.perf_counter() - began) * 1_000)
    return quantile(times, 0.5)


async def look_ms(settings: dict[str, str]) -> float:
    """Of what the worker asks for, while a few groups have an item."""
    store: Store
    if settings["store.kind"] == "embedded":
        store = await EmbeddedStore.open(Path(settings["store.data_dir"]))
    else:
        store = await Neo4jStore.connect(
            settings["store.neo4j_uri"], "neo4j", settings["store.neo4j_password"]
        )
    try:
        await store.migrate()
        for _ in range(_BUSY):
            episode = Episode("e", f"busy-{uuid.uuid4()}", "Words.", Source.TEXT, _AT_MS, _AT_MS)
            call = AcceptBatch(
                episode.group_id, (NewItem(episode),), str(uuid.uuid4()), "AddEpisodes", _AT_MS
            )
            await store.accept([call])

        async def look(_number: int) -> None:
            assert len(await store.ready_groups(_AT_MS, 128)) == _BUSY
            await store.next_due_ms(_AT_MS)

        return await timed(look, _LOOKS)
    finally:
        await store.close()


async def measured(folder: Path, of_store: dict[str, str], groups: int, new: int) -> Figures:
    """A server on a store that has so many groups."""
    settings = _SETTINGS | {"store.data_dir": str(folder / "data")} | of_store
    async with Service(settings, folder, "template") as service, Client(service.address) as client:
        told = [message(text, _AT_MS + n, role="Ada") for n, text in enumerate(_TOLD)]
        await client.add_messages("rest", told)
        await finished(client, "rest")
        await service.stop()
    if settings["store.kind"] == "neo4j":
        await copied_in_neo4j(settings, "rest", groups - 1)
    else:
        await asyncio.to_thread(copied, folder / "data" / FILE_NAME, "rest", groups - 1)
    say(f"{groups:,} groups are there")
    began = time.perf_counter()
    async with Service(settings, folder) as service, Client(service.address) as client:
        ready_s = time.perf_counter() - began
        names = [f"new-{groups}-{number}" for number in range(new)]

        async def accept(number: int) -> None:
            await client.add_messages(names[number], [message(_TOLD[0], _AT_MS, role="Ada")])

        async def search(number: int) -> None:
            assert await client.search(names[number], "Where does Ada work?")

        accepted_ms = await timed(accept, new)
        await finished(client, names[-1])
        await asyncio.gather(*(finished(client, name) for name in names))
        searched_ms = await timed(search, new)
        size = len(await service.metrics()) / 1_024
        resident = resident_mib(service.pid)
    look = await look_ms(settings)
    return Figures(groups, ready_s, look, accepted_ms, searched_ms, size, resident)


def show(found: Sequence[Figures]) -> None:
    """A table in Markdown."""
    print("| groups | ready s | look ms | accept ms | search ms | /metrics KiB | memory MiB |")
    print("|---|---|---|---|---|---|---|")
    for each in found:
        print(
            f"| {each.groups:,} | {each.ready_s:.2f} | {each.look_ms:.2f} | {each.accept_ms:.2f}"
            f" | {each.search_ms:.2f} | {each.metrics_kib:.0f} | {each.resident_mib:.0f} |"
        )


async def measure(options: argparse.Namespace, folder: Path) -> None:
    found, of_store = [], {"store.kind": "embedded"}
    if options.neo4j:
        uri, _, password = options.neo4j.partition(";")
        of_store = {"store.kind": "neo4j", "store.neo4j_uri": uri, "store.neo4j_password": password}
    for groups in (1, options.groups):
        own = folder / f"of-{groups}"
        own.mkdir()
        found.append(await measured(own, of_store, groups, options.new))
    show(found)
    keep({"machine": machine(), "at_rest": [asdict(each) for each in found]}, options.out)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", help="URI;PASSWORD of an empty server, which keeps what is loaded")
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--new", type=int, default=200, help="groups that are made while measuring")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
