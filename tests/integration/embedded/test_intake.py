"""Accepting, where only this store can be looked into."""

import pytest

from kgsvc.domain.errors import Conflict, Overloaded
from kgsvc.domain.model.delta import Claim
from kgsvc.stores.embedded import EmbeddedStore
from tests.support.samples import NOW, accepted, entity, episode, write


async def test_a_key_that_a_delta_claimed_is_no_call(store: EmbeddedStore) -> None:
    await write(store, "g", entities=(entity("g", "n1", "Ada"),), claim=Claim("Op", "k", "same", NOW))
    with pytest.raises(Conflict):
        await accepted(store, episode("g", "e1"), idempotency_key="k", operation="Op", input_hash="same")
    assert await store.episode("e1", "g") == []


async def test_a_receipt_id_stands_for_one_call(store: EmbeddedStore) -> None:
    first = await accepted(store, episode("g", "e1"), receipt_id="r")
    assert await accepted(store, episode("g", "e1"), receipt_id="r") != first, "a repetition is a duplicate"
    with pytest.raises(Conflict):
        await accepted(store, episode("h", "e1"), receipt_id="r")
    assert await store.heads(["h"]) == {}, "a refused batch leaves nothing, not even its group"
    receipt = await store.receipt("r")
    assert receipt is not None
    assert [item.uuid for item in receipt.items] == ["e1"]


async def test_the_last_place_of_the_queue_is_taken(store: EmbeddedStore) -> None:
    await accepted(store, episode("g", "e1"), episode("g", "e2"), queue_items=2)
    with pytest.raises(Overloaded):
        await accepted(store, episode("g", "e3"), queue_items=2)
