"""AdminStore: the ontology of a group, and the number by which workers know that it changed."""

from __future__ import annotations

from kgsvc.domain.items import Lease
from kgsvc.stores.conformance.expect import distinct, equal, expect
from kgsvc.stores.conformance.samples import HUGE, NOW, accepted, episode, leased
from kgsvc.stores.protocol import Store


async def an_ontology_is_kept_as_it_was_put(store: Store, group_id: str) -> None:
    """A later one replaces it; None takes it away; another group has its own."""
    equal(await store.ontology(group_id), None, "ontology: none was put")
    for yaml in ("entity_types: []\n", "# コメント 🐍\r\n" + "x" * 65_000, ""):
        await store.put_ontology(group_id, yaml)
        equal(await store.ontology(group_id), yaml, "ontology, as put")
    equal(await store.ontology(f"{group_id}-2"), None, "ontology of another group")
    for _ in range(2):
        await store.put_ontology(group_id, None)
        equal(await store.ontology(group_id), None, "ontology after None")


async def an_ontology_may_come_before_everything_else(store: Store, group_id: str) -> None:
    """The group need not exist, takes items afterwards, and counts as one that has content."""
    await store.put_ontology(group_id, "a")
    expect(group_id in await store.group_ids(), "group_ids: a group with an ontology")
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    expect(await _number(store, lease) > 0, "start_items: the ontology was put before")
    equal(await store.ontology(group_id), "a", "ontology after items were accepted")


async def started_items_tell_the_ontologys_number(store: Store, group_id: str) -> None:
    """0 where there never was one; another number after every put, also of the same text and of None."""
    await accepted(store, *[episode(group_id, f"e{n}", at=n) for n in range(4)])
    lease = await leased(store, group_id)
    numbers = [await _number(store, lease)]
    begun = ["e0"]
    for yaml in ("a", "a", None):
        await store.put_ontology(group_id, yaml)
        numbers.append(await _number(store, lease, *begun))
        begun.append(f"e{len(begun)}")
    distinct(numbers, "start_items: numbers of different ontologies")
    equal(numbers, sorted(numbers), "start_items: numbers grow")


async def an_ontology_goes_with_its_group(store: Store, group_id: str) -> None:
    """Its number does not come back."""
    await accepted(store, episode(group_id, "e1"))
    await store.put_ontology(group_id, "a")
    before = await _number(store, await leased(store, group_id))
    await store.delete_group(group_id, NOW)
    equal(await store.ontology(group_id), None, "ontology of a deleted group")
    expect(group_id not in await store.group_ids(), "group_ids: nothing is left")
    await store.put_ontology(group_id, "b")
    await accepted(store, episode(group_id, "e1"))
    after = await _number(store, await leased(store, group_id))
    expect(after > before, "start_items: the number after a deletion is a new one")


async def an_ontology_changes_nothing_else(store: Store, group_id: str) -> None:
    """Neither the group's head nor who leases it."""
    await accepted(store, episode(group_id, "e1"))
    lease = await leased(store, group_id)
    before = await store.heads([group_id])
    await store.put_ontology(group_id, "a")
    equal(await store.heads([group_id]), before, "heads")
    equal(await store.renew([lease]), [group_id], "renew")


async def _number(store: Store, lease: Lease, *begun: str) -> int:
    """The number that the next item tells."""
    (item,) = await store.start_items(lease, NOW, 1, HUGE, begun)
    return item.ontology
