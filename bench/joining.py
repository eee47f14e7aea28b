"""How soon a process that joins has its share of the groups, and one that leaves hands over its own.

    python -m bench.joining [--neo4j "URI;PASSWORD" [--wipe]] [--groups 4000] [--each 4]

One process, beside one that only answers calls, works on so many groups, which all have items waiting. A
second one joins; then a third one, which is told to end, and the second one is killed. Shown: of the groups
that were begun within five seconds of the second one's start, the share that it began; and how many groups
the third and the second had when they left, and after how many seconds these had another owner or none. A
lease lasts for its default of five seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import apsw

from bench.corpus import chat
from bench.measuring import keep, machine, run, say
from bench.neo4j_side import Database
from bench.service import to_message
from tests.support.client import Client, stream_request
from tests.support.service import Service

_WITHIN_S = 5.0
_LOOK_S = 0.02
_DEADLINE_S = 60.0
_SQL = "SELECT group_id, owner_id, token FROM groups WHERE owner_id IS NOT NULL"
Owners = dict[str, tuple[str, int]]  # of groups that are worked on: owner and fencing token
Figures = dict[str, float]
Look = Callable[[], Awaitable[Owners]]


def look_at(file: Path) -> Look:
    """At an embedded store."""

    def read() -> Owners:
        db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return {str(group): (str(owner), int(str(token))) for group, owner, token in db.execute(_SQL)}
        finally:
            db.close()

    return lambda: asyncio.to_thread(read)


async def share(look: Look, before: set[str]) -> float:
    """Of the groups that are begun in the next seconds: those that none of the owners `before` began."""
    known = set((await look()).items())
    began = time.perf_counter()
    begun: set[tuple[str, tuple[str, int]]] = set()
    while time.perf_counter() < began + _WITHIN_S:
        begun |= set((await look()).items()) - known
        await asyncio.sleep(_LOOK_S)
    return len([owner for _, (owner, _) in begun if owner not in before]) / max(1, len(begun))


async def handed_over_s(look: Look, left: Callable[[], None], owner: str) -> tuple[int, float]:
    """How many groups a process had when it `left`, and after how long nobody could take it for their owner:
    others had begun them, or it had given them back."""
    left()
    began = time.perf_counter()
    held = {group for group, (name, _) in (await look()).items() if name == owner}
    count = len(held)
    async with asyncio.timeout(_DEADLINE_S):
        while held:
            now = await look()
            held = {group for group in held if now.get(group, ("", 0))[0] == owner}
            await asyncio.sleep(_LOOK_S)
    return count, time.perf_counter() - began


async def newcomer(look: Look, before: set[str]) -> str:
    """The owner that is none of these, once it has begun a group."""
    async with asyncio.timeout(_DEADLINE_S):
        while True:
            for owner, _ in (await look()).values():
                if owner not in before:
                    return owner
            await asyncio.sleep(_LOOK_S)


async def waiting(client: Client, groups: int, each: int) -> None:
    """Send so many items to each of so many groups."""
    said, made = list(map(to_message, chat(each))), uuid.uuid4()
    sent = [stream_request(f"{made}-{number}", message) for message in said for number in range(groups)]
    assert len(await client.stream(*sent)) == len(sent)


async def measured(settings: dict[str, str], look: Look, folder: Path, groups: int, each: int) -> Figures:
    """On one store."""
    api = Service(settings | {"server.role": "api"}, folder, "api")
    working = settings | {"server.role": "worker"}
    first, second, third = (Service(working, folder, name) for name in ("first", "second", "third"))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(api)
        await waiting(await stack.enter_async_context(Client(api.address)), groups, each)
        await stack.enter_async_context(first)
        owners = {await newcomer(look, set())}
        await stack.enter_async_context(second)
        found = {"share of the groups": await share(look, owners)}
        owners.add(killed := await newcomer(look, owners))
        await stack.enter_async_context(third)
        told = await newcomer(look, owners)
        await asyncio.sleep(_WITHIN_S)
        for label, end, owner in (
            ("told to end", lambda: third.send(signal.SIGTERM), told),
            ("killed", second.kill9, killed),
        ):
            count, found[f"{label}, seconds"] = await handed_over_s(look, end, owner)
            found[f"{label}, groups"] = count
    return found


async def measure(options: argparse.Namespace, folder: Path) -> None:
    base = {"logging.level": "warning", "store.data_dir": str(folder)}
    async with AsyncExitStack() as stack:
        embedded = base | {"store.kind": "embedded"}
        stores = {"embedded": (embedded, look_at(folder / "kgsvc.db"))}
        if options.neo4j:
            database = await stack.enter_async_context(Database(options.neo4j))
            await database.require_empty(options.wipe)
            stores["neo4j"] = (base | database.settings, database.owners)
        results: dict[str, Figures] = {}
        for store, (settings, look) in stores.items():
            results[store] = await measured(settings, look, folder, options.groups, options.each)
            say(f"{store}: " + ", ".join(f"{label} {value:.2f}" for label, value in results[store].items()))
    keep({"machine": machine(), "joining": results}, options.out)


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--neo4j", help="URI;PASSWORD of an idle, empty server")
    parser.add_argument("--wipe", action="store_true", help="remove what the database holds")
    parser.add_argument("--groups", type=int, default=4_000)
    parser.add_argument("--each", type=int, default=4, help="items of each")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(measure(options, Path(folder)))


if __name__ == "__main__":
    main()
