"""AddEntityNode (spec 004 §4.2.3, §9; design §2)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from prometheus_client import generate_latest

from kgsvc.domain.errors import RevisionChanged
from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import types_pb2 as typ
from tests.support.client import Client
from tests.support.served import Serve, Stack, Wrapped


async def _add(
    client: Client,
    uuid: str,
    name: str,
    key: str | None = None,
    attributes: dict[str, Any] | None = None,
    summary: str | None = None,
    group: str = "g",
) -> ing.AddEntityNodeResponse:
    given = ing.AddEntityNodeInput(uuid=uuid, group_id=group, name=name, summary=summary)
    if attributes is not None:
        given.attributes.update(attributes)
        given.attributes.SetInParent()
    request = ing.AddEntityNodeRequest(idempotency_key=key, input=given)
    response: ing.AddEntityNodeResponse = await client.ingestion.AddEntityNode(request, timeout=30)
    return response


async def _ok(client: Client, *args: Any, **kwargs: Any) -> typ.EntityNode:
    response = await _add(client, *args, **kwargs)
    assert response.status == envelope_pb2.STATUS_OK, response.error
    return response.output


def _conflict(response: ing.AddEntityNodeResponse) -> list[str]:
    assert response.status == envelope_pb2.STATUS_ERROR
    assert response.error.error_code == "CONFLICT"
    return [violation.field for violation in response.error.field_violations]


async def test_create_returns_what_was_given(client: Client) -> None:
    attributes = {"age": 30, "ratio": 0.5, "tags": ["a", {"deep": None}], "on": True}
    node = await _ok(client, "e", "Ann", summary="a person", attributes=attributes)
    assert (node.uuid, node.group_id, node.name, node.summary) == ("e", "g", "Ann", "a person")
    assert MessageToDict(node.attributes) == attributes
    assert node.created_at.seconds > 0


async def test_same_again_changes_nothing(stack: Stack) -> None:
    first = await _ok(stack.client, "e", "Ann", summary="s")
    head = (await stack.store.heads(["g"]))["g"]
    assert await _ok(stack.client, "e", "Ann", summary="s") == first
    assert (await stack.store.heads(["g"]))["g"] == head


async def test_absent_fields_keep_and_given_attributes_replace(client: Client) -> None:
    first = await _ok(client, "e", "Ann", summary="s", attributes={"a": 1, "b": 2})
    kept = await _ok(client, "e", "Ann")
    assert kept == first
    changed = await _ok(client, "e", "Ann", attributes={"c": 3})
    assert MessageToDict(changed.attributes) == {"c": 3}
    assert changed.summary == "s"
    emptied = await _ok(client, "e", "Ann", summary="", attributes={})
    assert not emptied.HasField("summary")
    assert not emptied.HasField("attributes")
    assert emptied.created_at == first.created_at


async def test_rename_is_an_update_and_the_old_name_stays_an_alias(client: Client) -> None:
    first = await _ok(client, "e", "Ann")
    renamed = await _ok(client, "e", " Anna ")
    assert (renamed.name, renamed.created_at) == ("Anna", first.created_at)
    assert _conflict(await _add(client, "f", "ANN")) == ["input.name"]
    assert _conflict(await _add(client, "f", "anna")) == ["input.name"]
    back = await _ok(client, "e", "Ann")
    assert back.name == "Ann"


async def test_names_are_owned_within_a_group_only(client: Client) -> None:
    await _ok(client, "e", "Ann")
    other = await _ok(client, "e", "Ann", group="h")
    assert other.group_id == "h"
    assert _conflict(await _add(client, "f", "Ann", group="h")) == ["input.name"]


async def test_conflicts_are_counted(stack: Stack) -> None:
    await _ok(stack.client, "e", "Ann")
    _conflict(await _add(stack.client, "f", "Ann"))
    assert b"upsert_conflicts_total 1.0" in generate_latest(stack.core.metrics.registry)


async def test_known_key_with_other_input_is_a_conflict(client: Client) -> None:
    await _ok(client, "e", "Ann", key="k", summary="one")
    _conflict(await _add(client, "e", "Ann", key="k", summary="two"))
    assert (await _ok(client, "e", "Ann")).summary == "one"


async def test_known_key_with_the_same_input_writes_nothing_again(client: Client) -> None:
    await _ok(client, "e", "Ann", key="k", summary="one")
    await _ok(client, "e", "Ann", summary="later")
    again = await _ok(client, "e", "Ann", key="k", summary="one")
    assert again.summary == "later"


async def test_key_of_a_change_that_was_made_already_is_remembered(client: Client) -> None:
    await _ok(client, "e", "Ann", summary="one")
    await _ok(client, "e", "Ann", key="k", summary="one")
    _conflict(await _add(client, "e", "Ann", key="k", summary="two"))


async def test_concurrent_callers_agree_on_one_owner(client: Client) -> None:
    responses = await asyncio.gather(*(_add(client, f"e{i}", "Ann") for i in range(8)))
    won = [r for r in responses if r.status == envelope_pb2.STATUS_OK]
    assert len(won) == 1
    assert [r.error.error_code for r in responses if r.status == envelope_pb2.STATUS_ERROR] == [
        "CONFLICT"
    ] * 7


async def test_a_write_that_is_overtaken_is_planned_again(serve: Serve) -> None:
    tries: list[int] = []

    def wrap(store: Store) -> Wrapped:
        async def apply(delta: Any, guard: Any) -> Any:
            tries.append(guard.rev)
            if len(tries) < 4:
                raise RevisionChanged
            return await store.apply(delta, guard)

        return Wrapped(store, apply=apply)

    async with serve(wrap=wrap) as stack:
        assert (await _ok(stack.client, "e", "Ann")).name == "Ann"
    assert len(tries) == 4


@pytest.mark.parametrize("name", ["ﬁne", "Ａnn"])
async def test_names_are_compared_normalised_and_kept_as_given(client: Client, name: str) -> None:
    assert (await _ok(client, "e", name)).name == name
    plain = {"ﬁne": "FINE", "Ａnn": "ann"}[name]
    assert _conflict(await _add(client, "f", plain)) == ["input.name"]
