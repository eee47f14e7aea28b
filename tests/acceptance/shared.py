"""The server that the modules of acceptance tests share, one at a time on a store."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.acceptance.saying import DIMENSION
from tests.support.scripted_openai import ScriptedOpenAI
from tests.support.service import Service
from tests.support.store_spec import StoreSpec, opened

OFFLINE = {"models.extractor": "offline", "models.embedder": "offline"}
_SOON = {  # what was begun is taken up soon by the next server, what failed is tried soon
    "queue.lease_s": "1",
    "queue.poll_s": "0.05",
    "queue.backoff_base_ms": "10",
    "queue.backoff_cap_ms": "20",
}
_SETTLED_S = 20.0
_LOOK_S = 0.05
_EVER_MS = 1 << 52  # later than anything is due


def scripted(model: ScriptedOpenAI) -> dict[str, str]:
    """Settings of a server that asks the scripted model and is not patient with it."""
    return {
        "models.extractor": "openai",
        "models.embedder": "openai",
        "openai.base_url": model.base_url,
        "openai.attempts": "1",
        "embedding.dimension": str(DIMENSION),
        **_SOON,
    }


class SharedServer:
    """A server on one store, started again only where a module wants other settings than the one before.

    The queue lives in the store and any server on it takes any item: there is one with workers at a time.
    """

    def __init__(self, spec: StoreSpec, model: ScriptedOpenAI, folder: Callable[[], Path]) -> None:
        self._spec = spec
        self._defaults = scripted(model) | spec.settings
        self._folder = folder
        self._chosen: Mapping[str, str] = {}
        self._service: Service | None = None

    async def serving(self, chosen: Mapping[str, str]) -> Service:
        """The server, running, with these settings beside the defaults."""
        if self._service is None or self._chosen != chosen:
            await self.stop()
            self._service, self._chosen = Service({**self._defaults, **chosen}, self._folder()), chosen
        if not self._service.running:  # a test that failed may have left it so
            await self._service.start()
        return self._service

    async def settle(self) -> None:
        """Wait until nothing is left to do: the next module counts calls of the model."""
        async with opened(self._spec) as store:
            try:
                async with asyncio.timeout(_SETTLED_S):
                    while await store.ready_groups(_EVER_MS, 1):  # noqa: ASYNC110  another process works
                        await asyncio.sleep(_LOOK_S)
            except TimeoutError:
                for work in await store.ready_groups(_EVER_MS, 1_000):
                    await store.delete_group(work.group_id, 0)

    async def stop(self) -> None:
        """End the server, if there is one."""
        if self._service is not None:
            await self._service.stop()
            self._service = None
