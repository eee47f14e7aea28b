"""ListGroups: the groups that a caller may read, a page at a time, with how much each holds."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kgsvc.v1 import admin_pb2 as adm
from tests.acceptance.access import guarded
from tests.acceptance.saying import FEB, JAN, fact, telling
from tests.support.client import Client, granted
from tests.support.contract import request_of

WORKS = fact("WORKS_AT", "Alice", "Acme")
LIKES = fact("LIKES", "Al", "chess")


async def listed(client: Client, page_size: int = 1_000) -> list[adm.GroupSummary]:
    """Every page."""
    return [each async for page in client.pages("ListGroups", page_size=page_size) for each in page.groups]


async def of(client: Client, group: str) -> list[adm.GroupSummary]:
    """Those whose names begin so, whatever else the server holds."""
    return [each for each in await listed(client) if each.group_id.startswith(group)]


async def test_a_group_is_listed_with_what_it_holds(client: Client, group: str) -> None:
    assert await of(client, group) == []
    await client.ingest(group, [telling(JAN, WORKS)])
    (one,) = await of(client, group)
    assert (one.episodes, one.entities, one.facts, one.waiting, one.parked) == (1, 2, 1, 0, 0)
    await client.ingest(group, [telling(FEB, LIKES)])
    (two,) = await of(client, group)
    assert (two.episodes, two.entities, two.facts) == (2, 4, 2)
    assert two.changed_at.ToMilliseconds() > one.changed_at.ToMilliseconds()
    await client.ask("DeleteGroup", group_id=group)
    assert await of(client, group) == []


async def test_a_group_of_types_alone_is_listed_without_a_change(client: Client, group: str) -> None:
    await client.ask("PutOntology", group_id=group, yaml="entity_types: [{name: Task, description: work}]")
    (only,) = await of(client, group)
    assert (only.episodes, only.entities, only.facts) == (0, 0, 0)
    assert not only.HasField("changed_at")


async def test_pages_hold_every_group_once_and_in_order(client: Client, group: str) -> None:
    names = [f"{group}{end}" for end in ("", "-a", "-b", "/x", "/é", "0", "😀")]
    for name in names:
        await client.ask("AddEntityNode", uuid="n", group_id=name, name="Ann")
    for size in (1, 2, 1_000):
        found = [each.group_id for each in await listed(client, size) if each.group_id.startswith(group)]
        assert found == sorted(names)


async def test_a_token_of_another_listing_is_refused(client: Client, group: str) -> None:
    for wrong in ("nonsense", "WyJkb2N1bWVudHMiLCJkIl0="):
        answer = await client.admin.ListGroups(request_of("ListGroups", page_token=wrong), timeout=30)
        assert answer.error.error_code == "INVALID_ARGUMENT"
        assert "page_token" in answer.error.message


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def groups_of_tenants(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[dict[str, list[str]]]:
    """What each kind of caller is shown, a page of one and at once."""
    shown: dict[str, list[str]] = {}
    async with guarded(tmp_path_factory.mktemp("groups"), "token") as server:
        async with server.client("admin") as client:
            for name in ("acme", "acme/a", "acme/b", "acme0", "acme2/c", "zeta"):
                await client.ask("AddEntityNode", uuid="n", group_id=name, name="Ann")
        for kind in ("admin", "tenant", "foreign", "only-reads"):
            async with server.client(kind) as client:
                shown[kind] = [each.group_id for each in await listed(client, 1)]
                whole = granted(await client.admin.ListGroups(adm.ListGroupsRequest(), timeout=30))
                assert [each.group_id for each in whole.output.groups] == shown[kind]
    yield shown


async def test_callers_see_the_groups_of_their_scopes_alone(
    groups_of_tenants: dict[str, list[str]],
) -> None:
    assert groups_of_tenants == {
        "admin": ["acme", "acme/a", "acme/b", "acme0", "acme2/c", "zeta"],
        "tenant": ["acme/a", "acme/b"],
        "foreign": ["acme", "acme2/c"],
        "only-reads": ["acme/a", "acme/b"],
    }
