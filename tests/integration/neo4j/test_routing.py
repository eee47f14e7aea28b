"""By routing (neo4j://): who writes finds the leader, who reads sees what its token names.

The cluster is a script in front of one server (tests/support/bolt_cluster.py).
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from kgsvc.domain.errors import BadToken, StoreUnavailable, WriteNotSeen
from kgsvc.stores.consistency import decoded, encoded, from_the_leader, may_lag
from kgsvc.stores.neo4j import Neo4jStore
from tests.support.bolt_cluster import DATABASE_ID, BoltCluster, bolt_cluster
from tests.support.neo4j_fixture import Address
from tests.support.samples import accepted, episode, pair

GROUPS = r"test_.*|test-.*"
Connect = Callable[[], Awaitable[Neo4jStore]]


@pytest.fixture
async def cluster(address: Address, store: Neo4jStore) -> AsyncIterator[BoltCluster]:
    """Three members; the schema is there, and the test's group goes in the end."""
    async with bolt_cluster(address.uri, GROUPS) as made:
        yield made


@pytest.fixture
async def connect(address: Address, cluster: BoltCluster) -> AsyncIterator[Connect]:
    """What makes a client of the cluster, as each process has one."""
    async with AsyncExitStack() as stack:

        async def made() -> Neo4jStore:
            opened = await Neo4jStore.connect(cluster.uri, address.user, address.password)
            stack.push_async_callback(opened.close)
            return opened

        yield made


@pytest.fixture
def lagging() -> Iterator[None]:
    """What the test reads may come from a follower, as what callers read."""
    may_lag.set(True)
    yield
    may_lag.set(False)  # else it holds for the tests that follow


async def test_a_server_that_is_asked_directly_gives_no_token(store: Neo4jStore, group: str) -> None:
    await accepted(store, episode(group, "e1"))
    assert store.consistency_token() == ""
    await store.catch_up(encoded({"FB:of a cluster that was there before"}))
    with pytest.raises(BadToken):
        await store.catch_up("nonsense")


async def test_writes_go_to_the_leader_and_reads_to_followers(
    connect: Connect, cluster: BoltCluster, group: str
) -> None:
    store = await connect()
    await accepted(store, episode(group, "e1"))
    reads = cluster.asked["read"]
    await store.recent_episodes(group, 1)
    assert cluster.asked["read"] == reads  # a worker's: of the leader
    may_lag.set(True)
    await store.recent_episodes(group, 1)
    await store.names(group, ["ada"])  # of what plans are made
    assert cluster.asked["read"] == reads + 1
    leader, *followers = cluster.members
    assert leader.asked["write"] == cluster.asked["write"] > 0
    assert sum(member.asked["read"] for member in followers) == cluster.asked["read"]


@pytest.mark.usefixtures("lagging")
async def test_a_process_reads_what_it_wrote(connect: Connect, cluster: BoltCluster, group: str) -> None:
    store = await connect()
    for n in range(8):
        name = f"{group}-{n}"
        await accepted(store, episode(name, "e1"))
        assert [e.uuid for e in await store.recent_episodes(name, 1)] == ["e1"]
        await store.delete_group(name, 0)
    assert cluster.asked["behind"] == 0


@pytest.mark.usefixtures("lagging")
async def test_another_process_does_with_the_token(
    connect: Connect, cluster: BoltCluster, group: str
) -> None:
    """Without it the follower answers from before: else this test would prove nothing."""
    one, two = await connect(), await connect()
    await accepted(one, episode(group, "e1"))
    assert await two.recent_episodes(group, 1) == []
    assert cluster.asked["behind"] == 1
    await two.catch_up(one.consistency_token())
    assert [e.uuid for e in await two.recent_episodes(group, 1)] == ["e1"]
    with from_the_leader():
        assert [e.uuid for e in await (await connect()).recent_episodes(group, 1)] == ["e1"]


@pytest.mark.usefixtures("lagging")
async def test_what_was_read_is_never_unread(connect: Connect, group: str) -> None:
    """The token of who only read, too."""
    writer, reader, other = [await connect() for _ in range(3)]
    await accepted(writer, episode(group, "e1"))
    await reader.catch_up(writer.consistency_token())
    assert await reader.recent_episodes(group, 1)
    await other.catch_up(reader.consistency_token())
    assert await other.recent_episodes(group, 1)


async def test_a_token_is_awaited_once(connect: Connect, cluster: BoltCluster, group: str) -> None:
    one, two = await connect(), await connect()
    await accepted(one, episode(group, "e1"))
    token = one.consistency_token()
    before = cluster.asked["read"]
    await one.catch_up(token)
    assert cluster.asked["read"] == before  # its own
    for _ in range(3):
        await two.catch_up(token)
    assert cluster.asked["read"] == before + 1


async def test_tokens_stay_small_however_many_write_at_once(connect: Connect, group: str) -> None:
    store = await connect()
    for _ in range(3):
        await asyncio.gather(*(accepted(store, episode(group, f"e{n}")) for n in range(100)))
    assert store._seen is not None
    assert 0 < len(store._seen.bookmarks) <= 32
    await accepted(store, episode(group, "last"))
    assert len(store._seen.bookmarks) == 1


@pytest.mark.parametrize(
    "bookmark",
    ["FB:nonsense", "nonsense", "x" * 2_000],
    ids=["nonsense behind the prefix", "nonsense", "long"],
)
async def test_a_bookmark_that_the_server_does_not_know_is_refused(
    connect: Connect, group: str, bookmark: str
) -> None:
    store = await connect()
    with pytest.raises(BadToken, match="of another store"):
        await store.catch_up(encoded({bookmark}))
    await accepted(store, episode(group, "e1"))  # it harms nobody else


async def test_a_write_that_never_happens_is_not_waited_for_long(
    connect: Connect, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the server itself: as after a restore, or by somebody who makes tokens."""
    monkeypatch.setattr("kgsvc.stores.neo4j.causality._CATCH_UP_S", 1.0)
    store = await connect()
    await accepted(store, episode(group, "e1"))
    (bookmark,) = decoded(store.consistency_token())
    raw = base64.b64decode(bookmark.removeprefix("FB:"))
    later = raw[:DATABASE_ID] + b"\xca\x7f\xff\xff\xff" + raw[-1:]
    with pytest.raises(WriteNotSeen):
        await store.catch_up(encoded({"FB:" + base64.b64encode(later).decode()}))
    await accepted(store, episode(group, "e2"))


async def test_a_write_that_no_follower_comes_to_is_told(
    connect: Connect, cluster: BoltCluster, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgsvc.stores.neo4j.causality._CATCH_UP_S", 1.0)
    one, two = await connect(), await connect()
    await accepted(one, episode(group, "e1"))
    for member in cluster.members:
        member.stuck = True
    with pytest.raises(WriteNotSeen, match="consistency token"):
        await two.catch_up(one.consistency_token())
    for member in cluster.members:
        member.stuck = False
    await two.catch_up(one.consistency_token())


@pytest.mark.parametrize("cut", [False, True], ids=["steps down", "breaks"])
async def test_no_call_fails_when_the_leader_changes(
    connect: Connect, cluster: BoltCluster, group: str, cut: bool
) -> None:
    store = await connect()
    for n in range(9):
        cluster.elect(n % 3, cut=cut)
        await accepted(store, episode(group, f"e{n}"))
        if n == 0:
            await pair(store, group)  # a transaction of several statements
    assert len(await store.recent_episodes(group, 99)) == 9
    assert cluster.terms == 9
    assert cut or cluster.asked["refused"] >= 8


async def test_a_leader_that_changes_under_calls_that_run(
    connect: Connect, cluster: BoltCluster, group: str
) -> None:
    """Also in the middle of transactions, and between a commit and its answer."""
    store = await connect()
    done = 0

    async def write(number: int) -> None:
        nonlocal done
        for n in range(10):
            await accepted(store, episode(group, f"e{number}-{n}"))
            done += 1
            if done % 20 == 0:
                cluster.elect((cluster.leader + 1) % 3, cut=done % 40 == 0)

    await asyncio.gather(*map(write, range(20)))
    assert cluster.terms == 10
    assert len(await store.recent_episodes(group, 999)) == 200


async def test_without_a_leader_a_write_waits_for_one(
    connect: Connect, cluster: BoltCluster, group: str
) -> None:
    store = await connect()
    await accepted(store, episode(group, "e1"))
    cluster.members[0].cut()
    cluster.leader = -1  # the vote goes on
    writing = asyncio.create_task(accepted(store, episode(group, "e2")))
    asked = cluster.routed
    async with asyncio.timeout(20):
        while cluster.routed < asked + 3:  # noqa: ASYNC110  the driver's own
            await asyncio.sleep(0.02)
    assert not writing.done()
    cluster.elect(1)
    await writing


async def test_nobody_answers(address: Address, connect: Connect, cluster: BoltCluster) -> None:
    async with bolt_cluster(address.uri, GROUPS) as other:
        gone = other.uri
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await Neo4jStore.connect(gone, address.user, address.password, patience_s=1.0)
