"""The store for LangGraph, as its interface wants it, by the real package."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from kgsvc_client import Client, InvalidInput
from kgsvc_client.langgraph import KgsvcStore
from langgraph.store.base import PutOp

from tests.support.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")
HOME = ("users", "a/b", "home")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp("store")
    async with Service({"store.data_dir": str(folder / "data")}, folder) as service:
        with Client(service.address) as made:
            yield made


@pytest.fixture
def store(client: Client, group: str) -> KgsvcStore:
    return KgsvcStore(client.group(group))


@pytest.mark.parametrize(
    "value",
    [
        {"text": "Alice lives in Berlin."},
        {
            "text": "ünï\n\n\U0001f600 ",
            "n": 1,
            "whole": 1.0,
            "none": None,
            "list": [1, {"a": []}],
            "no": False,
        },
        {"text": ""},
        {},
        {"large": "x" * 50_000},
    ],
    ids=["text", "all kinds", "empty text", "empty", "large"],
)
async def test_a_value_comes_back_as_it_was_put(value: dict[str, Any], store: KgsvcStore) -> None:
    await store.aput(HOME, "k e/y", value)
    item = await store.aget(HOME, "k e/y")
    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "k e/y", HOME)
    assert repr(item.value) == repr(value), "numbers keep their kind"
    assert item.created_at <= item.updated_at
    assert item.created_at.tzinfo is not None
    assert await store.aget(HOME, "key") is None
    assert await store.aget(("users", "a"), "b/home/k e/y") is None


async def test_a_new_value_replaces_the_former(store: KgsvcStore) -> None:
    await store.aput(HOME, "alice", {"text": "Alice lives in Berlin."})
    first = await store.aget(HOME, "alice")
    await store.aput(HOME, "alice", {"text": "Alice lives in Zurich."})
    second = await store.aget(HOME, "alice")
    assert first is not None
    assert second is not None
    assert second.value == {"text": "Alice lives in Zurich."}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    found = await store.asearch(("users",), query="Where does Alice live?")
    assert [item.value["text"] for item in found] == ["Alice lives in Zurich."]


async def test_the_same_words_in_another_value_are_another_value(store: KgsvcStore) -> None:
    for value in ({"text": "Alice."}, {"content": "Alice."}, {"text": "Alice."}, {"text": "Alice."}):
        await store.aput(HOME, "alice", value)
        item = await store.aget(HOME, "alice")
        assert item is not None
        assert item.value == value


async def test_deleted_is_gone(store: KgsvcStore) -> None:
    await store.aput(HOME, "alice", {"text": "Alice lives in Berlin."})
    await store.adelete(HOME, "alice")
    await store.adelete(HOME, "alice")
    assert await store.aget(HOME, "alice") is None
    assert await store.asearch((), query="Alice") == []
    assert await store.alist_namespaces() == []


async def test_searches_rank_bound_and_filter(client: Client, store: KgsvcStore, group: str) -> None:
    for number, (owner, text) in enumerate(
        [("alice", "Alice drinks tea."), ("alice", "Alice has a bicycle."), ("bea", "Bea drinks tea.")]
    ):
        await store.aput(
            ("users", owner), f"m{number}", {"text": text, "number": number, "tags": {"of": owner}}
        )
    client.group(group).wait(client.group(group).add_document("Cid drinks tea.", id="staff"))
    tea = await store.asearch((), query="Who drinks tea?", limit=2)
    assert {item.key for item in tea} == {"m0", "m2"}
    assert tea[0].score is not None
    assert tea[0].score >= (tea[1].score or 0)
    (alices, *_) = await store.asearch(("users", "alice"), query="Who drinks tea?")
    assert alices.key == "m0"
    assert [item.key for item in await store.asearch(("users",))] == ["m0", "m1", "m2"]
    assert [item.key for item in await store.asearch(("users",), limit=1, offset=1)] == ["m1"]
    for wanted, keys in (
        ({"number": 1}, ["m1"]),
        ({"number": {"$gte": 1, "$ne": 2}}, ["m1"]),
        ({"tags": {"of": "bea"}}, ["m2"]),
        ({"missing": {"$lt": 3}}, []),
    ):
        assert [item.key for item in await store.asearch((), filter=wanted)] == keys
    with pytest.raises(NotImplementedError, match=r"\$in is no operator"):
        await store.asearch((), filter={"number": {"$in": [1]}})


async def test_namespaces_are_listed(client: Client, store: KgsvcStore, group: str) -> None:
    client.group(group).add_document("Cid drinks tea.", id="staff")
    for namespace in (("a", "b", "c"), ("a", "b", "d"), ("x", "b", "c")):
        await store.aput(namespace, "key", {"text": "Ann."})
    assert await store.alist_namespaces() == [("a", "b", "c"), ("a", "b", "d"), ("x", "b", "c")]
    assert await store.alist_namespaces(prefix=("a",), suffix=("c",)) == [("a", "b", "c")]
    assert await store.alist_namespaces(prefix=("*", "b"), max_depth=2) == [("a", "b"), ("x", "b")]
    assert await store.alist_namespaces(suffix=("b", "*"), limit=1, offset=1) == [("a", "b", "d")]


async def test_what_it_cannot_hold_is_refused(store: KgsvcStore) -> None:
    with pytest.raises(NotImplementedError):
        await store.aput(HOME, "k", {"text": "x"}, ttl=5)
    with pytest.raises(NotImplementedError, match="leave out ttl and index"):
        await store.aput(HOME, "k", {"text": "x"}, index=False)
    with pytest.raises(NotImplementedError, match="leave out ttl and index"):
        await store.abatch([PutOp(HOME, "k", {"text": "x"}, ttl=5.0)])
    with pytest.raises(TypeError, match="not JSON serializable"):
        await store.aput(HOME, "k", {"text": object()})
    with pytest.raises(InvalidInput) as large:
        await store.aput(HOME, "k", {"text": "x" * 70_000})
    assert large.value.code == "LIMIT_EXCEEDED"
    with pytest.raises(InvalidInput, match="must not contain NUL"):
        await store.aput(HOME, "k", {"text": "\0"})
    assert await store.aget(HOME, "k") is None


async def test_without_waiting_it_is_stored(client: Client, group: str) -> None:
    hasty = KgsvcStore(client.group(group), wait=False)
    hasty.put(HOME, "alice", {"text": "Alice lives in Berlin."})
    item = hasty.get(HOME, "alice")
    assert item is not None
    assert item.value == {"text": "Alice lives in Berlin."}
