"""The consistency token of a call: read from its metadata, told behind its answer (docs/contract.md)."""

import json
from typing import Any

import grpc
import httpx
import pytest

from kgsvc.api.errors import CODE_METADATA
from kgsvc.domain.errors import WriteNotSeen
from kgsvc.stores.consistency import TOKEN, TOKEN_CHARS, decoded, encoded, may_lag
from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from tests.support.client import Client, episode
from tests.support.contract import path
from tests.support.http_calls import frame, framed
from tests.support.served import Serve, Wrapped
from tests.unit.api.test_http_server import over_http

GOOD = encoded({"FB:1"})
BAD = {
    "nonsense": "is no token of this service",
    GOOD[:-1]: "is no token of this service",
    "0" * (TOKEN_CHARS + 1): f"at most {TOKEN_CHARS} are read",
}


class Copies(Wrapped):
    """A store with copies: each commit is a bookmark."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.commits = 0
        self.asked: list[tuple[str, bool]] = []  # what was called, and whether a copy may answer

    async def catch_up(self, token: str) -> None:
        self.asked.append((",".join(decoded(token)), may_lag.get()))

    def consistency_token(self) -> str:
        return encoded({f"FB:{self.commits}"})

    async def accept(self, batches: Any) -> Any:
        self.commits += 1
        self.asked.append(("accept", may_lag.get()))
        return await self._store.accept(batches)

    async def receipt(self, receipt_id: str) -> Any:
        self.asked.append(("receipt", may_lag.get()))
        return await self._store.receipt(receipt_id)


def add(body: str = "x") -> ing.AddEpisodesRequest:
    return ing.AddEpisodesRequest(input=ing.AddEpisodesInput(group_id="g", items=[episode(body, 1)]))


def told(trailers: Any) -> str | None:
    found: str | None = dict(trailers).get(TOKEN)
    return found


async def test_a_store_that_is_one_copy_tells_none_and_takes_any(client: Client) -> None:
    call = client.ingestion.AddEpisodes(add(), metadata=[(TOKEN, GOOD)])
    assert (await call).status == envelope_pb2.STATUS_ACCEPTED
    assert told(await call.trailing_metadata()) is None


@pytest.mark.parametrize("token", BAD, ids=["nonsense", "cut off", "too long"])
async def test_a_bad_token_is_refused_by_the_name_of_its_metadata(client: Client, token: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.ingestion.AddEpisodes(add(), metadata=[(TOKEN, token)])
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert f"{TOKEN}: " in (caught.value.details() or "")
    assert BAD[token] in (caught.value.details() or "")
    assert dict(caught.value.trailing_metadata() or ())[CODE_METADATA] == "MALFORMED_REQUEST"
    assert await client.list_items("g") == []


async def test_of_two_tokens_none_is_meant(client: Client) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="given more than once"):
        await client.ingestion.AddEpisodes(add(), metadata=[(TOKEN, GOOD), (TOKEN, GOOD)])


async def test_a_stream_refuses_one_too(client: Client) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match=TOKEN):
        await client.stream(metadata=[(TOKEN, "nonsense")])


async def test_each_call_tells_what_came_of_it_and_waits_for_what_it_was_given(serve: Serve) -> None:
    async with serve(wrap=Copies) as stack:
        store: Any = stack.store
        call = stack.client.ingestion.AddEpisodes(add(), metadata=[(TOKEN, encoded({"FB:of another"}))])
        receipt = (await call).output.receipt_id
        first = told(await call.trailing_metadata())
        assert first == encoded({"FB:1"})
        request = ing.GetReceiptRequest(input=ing.GetReceiptInput(receipt_id=receipt))
        await stack.client.ingestion.GetReceipt(request, metadata=[(TOKEN, first)])
        assert store.asked == [
            ("FB:of another", False),
            ("accept", False),
            ("FB:1", False),
            ("receipt", True),
        ]


async def test_streams_tell_it_at_their_end(serve: Serve) -> None:
    async with serve(wrap=Copies) as stack:
        sent = ing.StreamEpisodesRequest(group_id="g", episode=episode("x", 1))

        async def requests() -> Any:
            yield sent

        call = stack.client.ingestion.StreamEpisodes(requests(), metadata=[(TOKEN, GOOD)])
        (answer,) = [answer async for answer in call]
        assert told(await call.trailing_metadata()) == encoded({"FB:1"})
        assert answer.consistency_token == encoded({"FB:1"})


async def test_a_refusal_in_band_tells_it_too(serve: Serve) -> None:
    async with serve(wrap=Copies) as stack:
        call = stack.client.ingestion.AddEpisodes(ing.AddEpisodesRequest())
        assert (await call).status == envelope_pb2.STATUS_ERROR
        trailers = dict(await call.trailing_metadata())
        assert (trailers[CODE_METADATA], trailers[TOKEN]) == ("INVALID_ARGUMENT", encoded({"FB:0"}))


async def test_a_write_that_no_copy_has_is_told(serve: Serve) -> None:
    async def never(_token: str) -> None:
        raise WriteNotSeen("within 10 s")

    async with serve(wrap=lambda store: Wrapped(store, catch_up=never)) as stack:
        with pytest.raises(grpc.aio.AioRpcError, match=TOKEN) as caught:
            await stack.client.ingestion.AddEpisodes(add(), metadata=[(TOKEN, GOOD)])
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert dict(caught.value.trailing_metadata() or ())[CODE_METADATA] == "STORE_UNAVAILABLE"


async def test_over_http_it_is_a_header_and_in_the_end_of_a_stream(serve: Serve) -> None:
    async with (
        serve(wrap=Copies) as stack,
        over_http(stack) as address,
        httpx.AsyncClient(base_url=f"http://{address}", trust_env=False) as http,
    ):
        answer = await http.post(
            path("Healthcheck"), json={}, headers={TOKEN: GOOD, "content-type": "application/json"}
        )
        assert answer.headers[f"trailer-{TOKEN}"] == encoded({"FB:0"})
        refused = await http.post(path("Healthcheck"), json={}, headers={TOKEN: "nonsense"})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_argument")
        assert TOKEN in refused.json()["message"]
        asked = frame(ing.StreamEpisodesRequest(group_id="g", episode=episode("x", 1)).SerializeToString())
        kind = {"content-type": "application/connect+proto"}
        *_, (_flags, end) = framed(
            (await http.post(path("StreamEpisodes"), content=asked, headers=kind)).content
        )
        assert json.loads(end)["metadata"][TOKEN] == [encoded({"FB:1"})]
