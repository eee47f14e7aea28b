"""Every metric of the dashboard and of the alerts moves when what it counts happens to a real service."""

import asyncio
import math
import os
import shutil
import signal
from pathlib import Path

import grpc.aio
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.saying import JAN, fact, reads_bodies, telling
from tests.acceptance.shared import scripted
from tests.integration.test_several_processes import all_live, restarted
from tests.support.client import Client, completed
from tests.support.monitoring import used
from tests.support.moving import exported
from tests.support.scripted_openai import ScriptedOpenAI, refused, status
from tests.support.service import Service

DEADLINE_S = 60.0
LOOK_S = 0.05
STILL = {
    "kgsvc_build_info",  # says what runs
    "upsert_conflicts_total",  # two writers who overtake each other, again and again
}
SETTINGS = {
    "server.metrics_listen": "127.0.0.1:0",
    "server.processes": "3",
    "queue.backoff_base_ms": "200",
    "queue.backoff_cap_ms": "400",
}


class Watch:
    """What a service showed so far: the values of each name."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.seen: dict[str, set[tuple[tuple[str, ...], float]]] = {}

    async def look(self) -> dict[str, float]:
        """The largest value of each name now."""
        now: dict[str, float] = {}
        for family in text_string_to_metric_families(await self._service.metrics()):
            for sample in family.samples:
                if math.isnan(sample.value):  # a quantile of nothing
                    continue
                labels = tuple(sorted(sample.labels.values()))
                self.seen.setdefault(sample.name, set()).add((labels, sample.value))
                now[sample.name] = max(now.get(sample.name, sample.value), sample.value)
        return now

    async def until(self, name: str, least: float) -> None:
        """Look until a name is as large."""
        async with asyncio.timeout(DEADLINE_S):
            while (await self.look()).get(name, 0.0) < least:  # noqa: ASYNC110  another process's event
                await asyncio.sleep(LOOK_S)

    def moved(self, name: str) -> bool:
        """Whether one of its series, which all begin at 0, is or was above."""
        return any(value > 0 for _, value in self.seen.get(name, set()))


async def fail(model: ScriptedOpenAI, client: Client, watch: Watch) -> None:
    """An item that no model reads and one that cannot be embedded, until both are parked."""
    model.fail(refused(), match="Mallory", times=None)
    model.fail(status(500), match="Quentin", endpoint="embeddings", times=None)
    await client.add_episodes("g", [telling(JAN, fact("KNOWS", "Mallory", "Bob"), uuid="m")])
    await client.add_episodes("h", [telling(JAN, fact("KNOWS", "Quentin", "Bob"), uuid="q")])
    await watch.until("kgsvc_queue_parked_items", 2)
    model.heal()


async def hold_back(client: Client, watch: Watch) -> None:
    """A paused group and a mode, until they are shown; then neither."""
    await client.ask("SetModes", group_id="p", paused=True)
    await client.ask("SetModes", model_off=True)
    await watch.until("kgsvc_paused_groups", 1)
    await watch.until("kgsvc_mode_on", 1)
    await client.ask("SetModes", group_id="p", paused=False)
    await client.ask("SetModes", model_off=False)


async def _embedded_by_another(model: ScriptedOpenAI, tmp_path: Path) -> None:
    """A group that the next service has to embed anew."""
    settings = scripted(model) | {"models.embedder": "offline"}
    async with Service(settings, tmp_path) as service, Client(service.address) as client:
        items = [telling(JAN, fact("WORKS_AT", "Zoe", "Acme"), uuid="z")]
        completed(await client.ingest("before", items))


async def test_every_metric_moves(tmp_path: Path) -> None:
    async with ScriptedOpenAI(reads_bodies) as model:
        await _embedded_by_another(model, tmp_path)
    async with (
        ScriptedOpenAI(reads_bodies) as model,
        Service(scripted(model) | SETTINGS, tmp_path) as service,
        Client(service.address) as client,
    ):
        watch = Watch(service)
        await watch.until("kgsvc_reembedding_groups", 1)
        await watch.until("kgsvc_filled_vectors_total", 1)
        items = [telling(JAN, fact("WORKS_AT", "Alice", "Acme"), uuid="a")]
        completed(await client.ingest("g", items))
        await client.stream_episodes("g", [telling(JAN, fact("KNOWS", "Alice", "Bob"), uuid="b")])
        await client.search("g", "Where does Alice work?")
        await hold_back(client, watch)
        await exported(client, "g")
        await fail(model, client, watch)
        worker = (await all_live(service))["worker-1"]
        os.kill(worker, signal.SIGKILL)
        await restarted(service, "worker-1", worker)
        await watch.look()
        shutil.rmtree(service.settings["store.data_dir"])
        await service.printed("the store does not answer")
        async with asyncio.timeout(DEADLINE_S):
            while (await watch.look())["kgsvc_store_answers"] > 0:  # noqa: ASYNC110  another process's event
                await asyncio.sleep(LOOK_S)
        try:
            await client.search("g", "Where does Alice work?")
        except (grpc.aio.AioRpcError, AssertionError):
            await watch.look()
    assert {name for name in used() if not watch.moved(name)} <= STILL
    assert {value for _, value in watch.seen["kgsvc_store_answers"]} == {0.0, 1.0}
