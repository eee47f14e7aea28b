"""Clients send, with each call, the consistency token that the service told them last."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgsvc.domain.limits import Limits
from kgsvc.stores.consistency import decoded, encoded
from kgsvc.stores.protocol import Store
from tests.clients import java, typescript
from tests.clients.programs import run
from tests.clients.test_scenarios import DRIVERS
from tests.clients.worlds import written
from tests.support.served import Serve, Wrapped, serve
from tests.support.spawning import REPOSITORY

__all__ = ["serve"]
DONE_S = 120.0
AT = "2025-01-10T09:00:00Z"
# Of each the calls are known: one each, of which those after the first must have seen the one before.
STEPS = [
    {"do": "add", "items": ["Ann met Bea."], "time": AT},
    {"do": "search", "query": "Ann"},
    {"do": "add", "items": ["Bea met Cid."], "time": AT},
    {"do": "stream", "items": ["Cid met Dan.", "Dan met Eve."], "time": AT},
    {"do": "episodes", "page_size": 10, "distinct": 4},
    {"do": "add_document", "repeat": 220_000, "content": "Erik met Fay today.\n", "id": "long"},
    {"do": "documents", "distinct": 1},
]


class Chain(Wrapped):
    """A store that tells another token after each commit, and knows which is sent with each call."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits = 0
        self.sent: list[tuple[int, int]] = []  # with a call, and how many commits there were when it began

    def consistency_token(self) -> str:
        return encoded({str(self.commits)})

    async def catch_up(self, token: str) -> None:
        (number,) = decoded(token)
        self.sent.append((int(number), self.commits))

    async def accept(self, batches: Any) -> Any:
        self.commits += 1
        return await self._store.accept(batches)

    async def put_document(self, *given: Any) -> None:
        self.commits += 1
        await self._store.put_document(*given)


def _python() -> Sequence[str]:
    return DRIVERS["python"]


def _asyncio() -> Sequence[str]:
    return DRIVERS["python-aio"]


def _typescript() -> Sequence[str]:
    typescript.built()
    return typescript.DRIVER


def _java() -> Sequence[str]:
    java.built()
    return java.driver()


async def _chained(driver: Sequence[str], serve: Serve, folder: Path) -> None:
    async with serve(wrap=Chain, limits=Limits()) as stack:
        worlds = {"open": {"server": stack.client.address}}
        setup = {"worlds": worlds, "control": "http://127.0.0.1:1", "group": "g"}
        scenario = {"name": "one call after the other", "steps": STEPS}
        files = written(folder, "setup.json", setup), written(folder, "scenarios.json", [scenario])
        python = str(REPOSITORY / "clients" / "python")
        out, err, code = await run(REPOSITORY, (*driver, *files), DONE_S, PYTHONPATH=python)
        assert code == 0, out + err
        chain: Chain = stack.store  # type: ignore[assignment]
    assert len(chain.sent) >= len(STEPS) - 1
    assert all(sent == commits for sent, commits in chain.sent), chain.sent


@pytest.mark.parametrize("driver", [_python, _asyncio, _typescript, _java])
async def test_each_call_carries_the_latest_token(
    driver: Callable[[], Sequence[str]], serve: Serve, tmp_path: Path
) -> None:
    await _chained(await asyncio.to_thread(driver), serve, tmp_path)


async def test_each_call_carries_the_latest_token_in_go(
    go_driver: list[str], serve: Serve, tmp_path: Path
) -> None:
    await _chained(go_driver, serve, tmp_path)
