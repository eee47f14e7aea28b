"""Requests that are small on the wire and large to answer."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kgsvc.api.rpc import streams
from kgsvc.api.rpc.streams import StreamedItem
from kgsvc.commands.core import Core
from kgsvc.domain.model.items import SCRATCH
from kgsvc.domain.model.keys import digest
from kgsvc.v1 import envelope_pb2, ingestion_pb2
from tests.support.client import Client
from tests.support.served import LIMITS, Stack
from tests.unit.api.samples import call, request

LISTS: list[tuple[str, Callable[[Any], None], str]] = [
    ("SearchFacts", lambda i: i.group_ids.extend([""] * 10_000), "group_ids"),
    ("ListItems", lambda i: i.states.extend([99] * 10_000), "states"),
    ("RetryItems", lambda i: i.uuids.extend([""] * 10_000), "uuids"),
]


@pytest.mark.parametrize(("name", "change", "field"), LISTS)
async def test_of_too_long_a_list_only_the_first_entries_are_looked_at(
    client: Client, name: str, change: Callable[[Any], None], field: str
) -> None:
    response = await call(client.channel, name, request(name, change).SerializeToString())
    violations = response.error.field_violations
    assert violations[0].field == f"input.{field}"
    assert violations[0].code == "LIMIT_EXCEEDED"
    assert len(violations) <= 1 + LIMITS.items_per_call


@pytest.mark.parametrize("name", ["AddMessages", "AddEpisodes"])
async def test_items_cannot_be_sent_to_groups_that_no_worker_serves(client: Client, name: str) -> None:
    made = request(name)
    made.input.group_id = f"{SCRATCH}x"
    response = await call(client.channel, name, made.SerializeToString())
    assert response.error.error_code == "INVALID_ARGUMENT"
    assert [v.field for v in response.error.field_violations] == ["input.group_id"]


async def test_a_page_token_beyond_every_number_is_the_end_of_the_listing(client: Client) -> None:
    made = request("ListItems")
    made.input.page_token = "9" * 19
    response = await call(client.channel, "ListItems", made.SerializeToString())
    assert response.status == envelope_pb2.STATUS_OK
    assert not response.output.items


async def test_a_page_token_with_half_a_character_is_invalid(client: Client) -> None:
    made = request("GetEpisodes")
    forged = json.dumps([digest("g", 5)[:12], 1, "\ud800", 0, ""])
    made.input.page_token = base64.urlsafe_b64encode(forged.encode()).decode()
    response = await call(client.channel, "GetEpisodes", made.SerializeToString())
    assert response.error.error_code == "INVALID_ARGUMENT"
    assert [v.field for v in response.error.field_violations] == ["input.page_token"]


async def test_empty_messages_of_a_stream_fill_its_bound_too(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    inner = streams._streamed

    def streamed(core: Core, sequence: int, raw: bytes) -> StreamedItem:
        made = inner(core, sequence, raw)
        sizes.append(made.size)
        return made

    monkeypatch.setattr(streams, "_streamed", streamed)

    async def send() -> AsyncIterator[ingestion_pb2.StreamEpisodesRequest]:
        for _ in range(3):
            yield ingestion_pb2.StreamEpisodesRequest()

    answers = [a async for a in stack.client.ingestion.StreamEpisodes(send(), timeout=20)]
    assert len(answers) == len(sizes) == 3
    assert min(sizes) >= 500
