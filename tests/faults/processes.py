"""Several servers on one store, and how one of them is made to stand still."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import apsw

from tests.support.client import Client
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

SHORT_LEASE = {"queue.lease_s": "1", "queue.poll_s": "0.05"}


async def servers(
    stack: AsyncExitStack, settings: dict[str, str], folder: Path, names: str
) -> tuple[list[Service], list[Client]]:
    """Servers on one store, one for each letter of `names`, with a client each."""
    services = [Service(settings, folder, name) for name in names]
    await asyncio.gather(*(stack.enter_async_context(service) for service in services))
    clients = [await stack.enter_async_context(Client(service.address)) for service in services]
    return services, clients


async def pause_outside_a_transaction(service: Service, spec: StoreSpec) -> None:
    """SIGSTOP; on the embedded store not while the process holds the file's write lock, which would stop
    every other process too, rightly."""
    while True:
        service.pause()
        if spec.data_dir is None or not await asyncio.to_thread(_locked, spec.data_dir / "kgsvc.db"):
            return
        service.resume()


def _locked(file: Path) -> bool:
    db = apsw.Connection(str(file))
    try:
        db.execute("BEGIN IMMEDIATE; ROLLBACK")
    except (apsw.BusyError, apsw.ProtocolError):  # the latter where it stands amid the header of the WAL
        return True
    finally:
        db.close()
    return False
