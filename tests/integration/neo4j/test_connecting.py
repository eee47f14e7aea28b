"""Addresses, passwords, logs, and what Graphiti's tools find in the database."""

import logging
from datetime import UTC, datetime

import pytest
from neo4j import AsyncDriver
from neo4j.time import DateTime

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.keys import name_key
from kgsvc.stores.neo4j import Neo4jStore
from scripts.neo4j_files import free_port
from tests.integration.neo4j.support import rows
from tests.support.neo4j_fixture import Address
from tests.support.samples import NOW, accepted, entity, episode, fact, mention, pair, write


async def test_a_wrong_password_is_named_and_not_quoted(address: Address) -> None:
    with pytest.raises(StoreUnavailable, match="user name or the password") as caught:
        await Neo4jStore.connect(address.uri, address.user, "not-the-password")
    assert "not-the-password" not in str(caught.value)


async def test_nobody_at_the_address(address: Address) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await Neo4jStore.connect(f"bolt://127.0.0.1:{free_port()}", "neo4j", "secret", patience_s=1.0)


@pytest.mark.parametrize("uri", ["http://127.0.0.1:1", "nonsense", "bolt://user:pw@127.0.0.1:1"])
async def test_an_address_that_is_none(uri: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await Neo4jStore.connect(uri, "neo4j", "secret", patience_s=1.0)
    assert "pw" not in str(caught.value)


async def test_no_log_line_quotes_content(
    store: Neo4jStore, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not at any level: the driver would log every parameter at DEBUG."""
    caplog.set_level(logging.DEBUG)
    await accepted(store, episode(group, "e1", body="the secret of the body"))
    await write(store, group, entities=(entity(group, "n1", "A secret name"),))
    assert "secret" not in caplog.text.replace(group, "")


async def test_the_graph_is_laid_out_as_graphiti_does(
    store: Neo4jStore, raw: AsyncDriver, group: str
) -> None:
    await accepted(store, episode(group, "e1", name="first", source_description="a test"))
    ada, bob = await pair(store, group)
    made = fact("f1", ada, bob, episodes=("e1",), valid_ms=NOW, invalid_ms=NOW + 1_500)
    await write(
        store, group, facts=(made,), mentions=(mention(group, "e1", ada.uuid),), episode_edges={"e1": ("f1",)}
    )
    ((episodic, mentions, source, relates, target),) = await rows(
        raw,
        """
        MATCH (e:Episodic {group_id: $g})-[m:MENTIONS]->(s:Entity)-[r:RELATES_TO]->(t:Entity)
        RETURN properties(e), properties(m), properties(s), properties(r), properties(t)
        """,
        g=group,
    )
    assert (episodic["uuid"], episodic["content"], episodic["source"]) == ("e1", "body of e1", "text")
    assert (episodic["name"], episodic["source_description"]) == ("first", "a test")
    assert (episodic["valid_at"], episodic["entity_edges"]) == (_moment(NOW), ["f1"])
    assert mentions["group_id"] == group
    assert (source["name"], target["name"], source["created_at"]) == ("Ada", "Bob", _moment(NOW))
    assert (relates["uuid"], relates["fact"], relates["name"]) == ("f1", made.fact, "KNOWS")
    assert (relates["valid_at"], relates["invalid_at"]) == (_moment(NOW), _moment(NOW + 1_500))
    assert (relates["episodes"], relates["group_id"]) == (["e1"], group)
    assert "expired_at" not in relates
    assert name_key("Ada") not in str(await rows(raw, "SHOW CONSTRAINTS YIELD name RETURN collect(name)"))


def _moment(ms: int) -> DateTime:
    return DateTime.from_native(datetime.fromtimestamp(ms / 1_000, UTC))
