"""Whoever sends rubbish over HTTP is told what is wrong, and whoever calls beside is answered meanwhile."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from tests.acceptance.shared import OFFLINE
from tests.support.client import CALL_S
from tests.support.contract import path
from tests.support.hostile_http import exchange, post, requests
from tests.support.service import Service

SETTINGS = OFFLINE | {"server.http_listen": "127.0.0.1:0"}
AT_ONCE = 8
SLOW = 100
ANSWERED = 50
RUBBISH = requests(random.Random(35))


@asynccontextmanager
async def bystander(service: Service, group: str) -> AsyncIterator[list[int]]:
    """Somebody who searches, one call after the other; the statuses of the answers."""
    told: list[int] = []
    body = {"input": {"groupIds": [group], "query": "tea"}}

    async def search() -> None:
        async with httpx.AsyncClient(base_url=service.http_url, timeout=CALL_S, trust_env=False) as http:
            while True:
                told.append((await http.post(path("SearchFacts"), json=body)).status_code)

    task = asyncio.create_task(search())
    try:
        yield told
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@asynccontextmanager
async def slow(address: str) -> AsyncIterator[None]:
    """Connections that have begun a head or a body and do not go on."""
    host, _, port = address.rpartition(":")
    whole = post(b'{"input": {}}')
    opened = await asyncio.gather(*(asyncio.open_connection(host, int(port)) for _ in range(SLOW)))
    for number, (_, writer) in enumerate(opened):
        writer.write(whole[: -5 if number % 2 else 20])
    try:
        yield
    finally:
        for _, writer in opened:
            writer.close()


def test_there_are_200_and_no_two_alike() -> None:
    assert len({raw for _, raw in RUBBISH}) >= 200


async def test_rubbish_is_refused_and_a_bystander_is_answered(service: Service, group: str) -> None:
    address = service.http_url.removeprefix("http://")
    wrong: dict[str, str] = {}
    async with slow(address), bystander(service, group) as told:
        sending = itertools.cycle(RUBBISH)
        sent = itertools.count()

        async def attack() -> None:
            """All of it once, and on until the bystander has been answered often enough."""
            while next(sent) < len(RUBBISH) or len(told) < ANSWERED:
                name, raw = next(sending)
                said = await refusal(address, raw)
                if said is not None:
                    wrong[name] = said

        async with asyncio.TaskGroup() as attackers:
            for _ in range(AT_ONCE):
                attackers.create_task(attack())
    assert wrong == {}
    assert Counter(told).keys() == {200}
    assert "Traceback" not in service.errors
    assert '"level": "ERROR"' not in service.errors


async def refusal(address: str, raw: bytes) -> str | None:
    """What is not as it should be in the answer to such a request; None: it is a clear refusal."""
    try:
        answer = await exchange(address, raw)
    except (TimeoutError, ValueError, ConnectionError) as error:
        return repr(error)
    clear = 400 <= answer.status < 500 and answer.body and b"Traceback" not in answer.body
    return None if clear else f"{answer.status} {answer.body[:200]!r}"
