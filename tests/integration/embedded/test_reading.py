"""Reads that come at the same time: one snapshot, and each is told its own."""

import asyncio
from typing import Any

import apsw
import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.embedded.writer import EmbeddedBase, Readers, reading_together


def _fails(db: apsw.Connection, kind: str) -> int:
    if kind == "engine":
        db.execute("SELECT 1 FROM nowhere")
    if kind == "value":
        raise ValueError(kind)
    return 1


class Reader(EmbeddedBase):
    """Reads that fail as they are told to."""

    read = reading_together(_fails)


@pytest.fixture
def snapshots(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows by one with each snapshot that is read from."""
    taken: list[None] = []
    run = Readers.run

    async def counting(self: Readers, work: Any) -> Any:
        taken.append(None)
        return await run(self, work)

    monkeypatch.setattr(Readers, "run", counting)
    return taken


async def test_reads_of_many_groups_share_a_snapshot(store: EmbeddedStore, snapshots: list[None]) -> None:
    """Sixty-four: thirty-two at a time."""
    await asyncio.gather(*(store.names(f"g{n}", ["ada"]) for n in range(64)))
    assert len(snapshots) == 2


async def test_what_fails_in_a_snapshot_fails_alone(store: EmbeddedStore, snapshots: list[None]) -> None:
    reader = Reader(store._writer, store._readers)
    kinds = ["none", "engine", "value", "none"]
    found = await asyncio.gather(*map(reader.read, kinds), return_exceptions=True)
    assert [type(each) for each in found] == [int, StoreUnavailable, ValueError, int]
    assert len(snapshots) == 1
