"""AddEntityNode (docs/contract.md)."""

import asyncio
from typing import Any

import pytest
from prometheus_client import generate_latest

from kgsvc.domain.errors import RevisionChanged
from kgsvc.stores.protocol import Store
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import Client, granted
from tests.support.served import Serve, Stack, Wrapped


async def _add(
    client: Client, uuid: str, name: str, key: str | None = None, summary: str | None = None
) -> Any:
    return await client.answer("AddEntityNode", key, uuid=uuid, group_id="g", name=name, summary=summary)


async def _ok(client: Client, *args: Any, **kwargs: Any) -> Any:
    return granted(await _add(client, *args, **kwargs)).output


def _conflict(response: Any) -> list[str]:
    assert response.status == envelope_pb2.STATUS_ERROR
    assert response.error.error_code == "CONFLICT"
    return [violation.field for violation in response.error.field_violations]


async def test_same_again_changes_nothing(stack: Stack) -> None:
    first = await _ok(stack.client, "e", "Ann", summary="s")
    head = (await stack.store.heads(["g"]))["g"]
    assert await _ok(stack.client, "e", "Ann", summary="s") == first
    assert (await stack.store.heads(["g"]))["g"] == head


async def test_conflicts_are_counted(stack: Stack) -> None:
    await _ok(stack.client, "e", "Ann")
    _conflict(await _add(stack.client, "f", "Ann"))
    assert b"upsert_conflicts_total 1.0" in generate_latest(stack.core.metrics.registry)


async def test_key_of_a_change_that_was_made_already_is_remembered(client: Client) -> None:
    await _ok(client, "e", "Ann", summary="one")
    await _ok(client, "e", "Ann", key="k", summary="one")
    _conflict(await _add(client, "e", "Ann", key="k", summary="two"))


async def test_concurrent_callers_agree_on_one_owner(client: Client) -> None:
    responses = await asyncio.gather(*(_add(client, f"e{i}", "Ann") for i in range(8)))
    assert len([r for r in responses if r.status == envelope_pb2.STATUS_OK]) == 1
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
    assert _conflict(await _add(client, "f", {"ﬁne": "FINE", "Ａnn": "ann"}[name])) == ["input.name"]


async def test_an_attribute_named_embedding_is_not_told(client: Client) -> None:
    given = ing.AddEntityNodeInput(uuid="e", group_id="g", name="Ann")
    given.attributes.update({"embedding": [0.1, 0.2], "role": "chief"})
    await client.ingestion.AddEntityNode(ing.AddEntityNodeRequest(input=given))
    asked = ret.GetEntityNodeInput(uuid="e", group_id="g")
    answer = await client.retrieval.GetEntityNode(ret.GetEntityNodeRequest(input=asked))
    assert dict(answer.output.node.attributes) == {"role": "chief"}
