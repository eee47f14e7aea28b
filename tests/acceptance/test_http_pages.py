"""What browsers ask of the HTTP server: whether pages of other origins may call, and what the contract is."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from scripts.openapi import TARGET
from tests.support.client import CALL_S
from tests.support.contract import path
from tests.support.service import Service

NAMED, OTHER = "https://app.example", "https://evil.test"
SETTINGS = {"server.http_listen": "127.0.0.1:0", "server.http_origins": f"{NAMED} http://localhost:3000"}
WHERE = path("Healthcheck")
ASKED = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,traceparent",
}


@pytest_asyncio.fixture(loop_scope="session")
async def http(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service.http_url, timeout=CALL_S, trust_env=False) as made:
        yield made


async def test_a_named_origin_may_call_and_read(http: httpx.AsyncClient) -> None:
    asked = await http.options(WHERE, headers=ASKED | {"origin": NAMED})
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == NAMED
    allowed = asked.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in ("authorization", "traceparent", "tracestate"))
    answer = await http.post(WHERE, json={}, headers={"origin": NAMED})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, NAMED)
    assert "grpc-status" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    "origin", [OTHER, "null", f"{NAMED}.evil.test", f"{NAMED}:8443", "http://app.example"]
)
async def test_no_other_origin_may(http: httpx.AsyncClient, origin: str) -> None:
    asked = await http.options(WHERE, headers=ASKED | {"origin": origin})
    assert asked.status_code == 400
    answer = await http.post(WHERE, json={}, headers={"origin": origin})
    for each in (asked, answer):
        assert "access-control-allow-origin" not in each.headers
        assert "access-control-allow-credentials" not in each.headers


async def test_the_contract_is_described(http: httpx.AsyncClient) -> None:
    answer = await http.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == json.loads(TARGET.read_text())
