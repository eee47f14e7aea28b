"""CommunityStore: builds under leases, drafts nobody sees, replacement at once."""

import uuid as uuids
from dataclasses import replace

import pytest

from kgsvc.domain.errors import Conflict, LeaseLost
from kgsvc.domain.model.communities import (
    Behind,
    BuildLease,
    BuildRequest,
    BuildState,
    BuildWork,
    CommunityBuild,
    CommunityPage,
    Described,
    Draft,
)
from kgsvc.domain.model.delta import Claim
from kgsvc.domain.model.graph import Fact
from kgsvc.stores.search_protocol import IndexedCommunity
from tests.support.samples import MANY, NOW, Scratch, fact, present, tombstone
from tests.support.stores import ON_REAL

pytestmark = ON_REAL

LATER = NOW + 1_000


async def _requested(g: Scratch, claim: Claim | None = None) -> CommunityBuild:
    request = BuildRequest(g.id, str(uuids.uuid4()), NOW)
    (build,) = await g.store.request_builds([request], claim)
    return build


async def _open(g: Scratch, now_ms: int = LATER) -> BuildWork | None:
    """The group's build as `open_builds` shows it."""
    works = await g.store.open_builds(now_ms, MANY)
    return next((work for work in works if work.group_id == g.id), None)


async def _leased(g: Scratch, owner_id: str = "worker-a", now_ms: int = LATER) -> BuildLease:
    seen = present(await _open(g, now_ms))
    return present(await g.store.claim_build(seen, owner_id, LATER))


async def _drafted(g: Scratch, *members: tuple[str, ...], facts: tuple[str, ...] = ()) -> BuildLease:
    """The lease of a build with a draft for each of `members`; the first member is its hub."""
    await _requested(g)
    lease = await _leased(g)
    uuid = lease.build_id[:8]
    drafts = [Draft(f"{uuid}-{n}", each, each[:1], facts) for n, each in enumerate(members)]
    await g.store.put_drafts(lease, drafts)
    await g.store.end_drafts(lease, len(drafts), LATER)
    return lease


async def _published(g: Scratch, *members: tuple[str, ...], facts: tuple[Fact, ...] = ()) -> BuildLease:
    """A build from request to publication, a community for each of `members` with a summary of `facts`."""
    lease = await _drafted(g, *members, facts=tuple(each.uuid for each in facts))
    for n, draft in enumerate(await g.store.drafts(lease, MANY)):
        summary = facts[0].fact if facts else f"summary {n}"
        await g.store.describe(lease, [Described(draft.uuid, f"name {n}", summary)], LATER)
    await g.store.publish(lease, LATER)
    return lease


async def _names(g: Scratch) -> list[tuple[str, str, tuple[str, ...]]]:
    page = await g.store.communities(g.id, MANY, "", None)
    return [(each.name, each.summary, each.member_uuids) for each in page.rows]


async def test_a_group_has_one_build_at_a_time(g: Scratch) -> None:
    """A group that is being built keeps its build; an unknown build is not found."""
    first = await _requested(g)
    assert (first.state, first.communities, first.summarised) == (BuildState.PENDING, 0, 0)
    assert await _requested(g) == first
    assert await g.store.build(g.id, first.build_id) == first
    assert await g.store.build(g.id, "no-such-build") is None
    assert await g.store.build(g.sibling().id, first.build_id) is None
    await g.store.publish(await _leased(g), LATER)
    assert (await _requested(g)).build_id != first.build_id


async def test_old_builds_are_forgotten_but_the_one_that_is_read(g: Scratch) -> None:
    """Nor one that is under way, or that was over later."""
    first = await _requested(g)
    await g.store.publish(await _leased(g), LATER)
    second = await _requested(g)
    assert await g.store.remove_builds(g.id, LATER + 1) == 0
    await g.store.publish(await _leased(g), LATER)
    assert await g.store.remove_builds(g.id, LATER) == 0
    assert await g.store.remove_builds(g.id, LATER + 1) == 1
    assert await g.store.build(g.id, first.build_id) is None
    assert await g.store.build(g.id, second.build_id) is not None


async def test_a_key_keeps_its_build(g: Scratch) -> None:
    """A known key gives its build even after that is over; with other input it is a Conflict, and then
    nothing of the call is recorded."""
    claim = Claim("BuildCommunities", "k", "h", NOW)
    first = await _requested(g, claim)
    await g.store.publish(await _leased(g), LATER)
    again = await _requested(g, claim)
    assert (again.build_id, again.state) == (first.build_id, BuildState.COMPLETED)
    other = Claim("BuildCommunities", "k", "other", NOW)
    fresh = BuildRequest(g.sibling().id, "b-2", NOW)
    asked = g.store.request_builds([fresh, BuildRequest(g.id, "b-1", NOW)], other)
    with pytest.raises(Conflict):
        await asked
    assert await g.store.build(g.sibling().id, "b-2") is None


async def test_a_build_is_leased_once(g: Scratch) -> None:
    """Two claims of the same sight: one wins. A renewal spoils an older sight. Who lost cannot write."""
    await _requested(g)
    seen = present(await _open(g))
    first = await _leased(g)
    assert (first.attempt, first.drafted, first.created_ms) == (1, False, NOW)
    assert await g.store.claim_build(seen, "worker-b", LATER) is None
    held = present(await _open(g))
    assert await g.store.renew_build(first)
    assert await g.store.claim_build(held, "worker-b", LATER) is None
    second = await _leased(g, "worker-b")
    assert (second.attempt, second.token > first.token) == (2, True)
    assert not await g.store.renew_build(first)
    await g.store.release_build(first, LATER)
    for call in (
        g.store.put_drafts(first, [Draft("c", (), (), ())]),
        g.store.end_drafts(first, 0, LATER),
        g.store.describe(first, [], LATER),
        g.store.clear_drafts(first),
        g.store.publish(first, LATER),
        g.store.release_build(first, LATER, "late"),
    ):
        with pytest.raises(LeaseLost):
            await call
    assert await g.store.renew_build(second)


async def test_an_owner_that_claims_its_own_build_again_begins_no_new_attempt(g: Scratch) -> None:
    """It lives, and only did not hear of its lease."""
    await _requested(g)
    lost, again = await _leased(g), await _leased(g)
    assert (again.attempt, again.token) == (1, lost.token + 1)
    assert not await g.store.renew_build(lost)
    assert (await _leased(g, "worker-b")).attempt == 2


async def test_attempts_are_counted_until_it_gets_on(g: Scratch) -> None:
    """A failed attempt is due again at its time with its reason; a release takes the attempt back; progress
    begins the count anew; without a next time it is FAILED."""
    build = await _requested(g)
    first = await _leased(g)
    await g.store.release_build(first, LATER, "no model", LATER + 5)
    failed = present(await g.store.build(g.id, build.build_id))
    assert (failed.state, failed.reason) == (BuildState.PENDING, "no model")
    assert await _open(g, LATER + 4) is None
    second = await _leased(g, now_ms=LATER + 5)
    assert second.attempt == 2
    await g.store.release_build(second, LATER)
    third = await _leased(g, now_ms=LATER + 5)
    assert third.attempt == 2
    await g.store.end_drafts(third, 0, LATER)
    await g.store.release_build(third, LATER, "no model", LATER)
    fourth = await _leased(g)
    assert (fourth.attempt, fourth.drafted) == (2, True)
    await g.store.release_build(fourth, LATER, "gave up")
    over = present(await g.store.build(g.id, build.build_id))
    assert (over.state, over.reason, over.updated_ms) == (BuildState.FAILED, "gave up", LATER)
    assert await _open(g, LATER + MANY) is None


async def test_drafts_wait_unseen(g: Scratch) -> None:
    """Drafts come back by uuid until they are described, with progress in the build; they are listed only
    once published; described ones survive a change of hands."""
    ada, bob = await g.pair()
    build = await _requested(g)
    lease = await _leased(g)
    await g.store.put_drafts(lease, [Draft("c-0", (ada.uuid,), (), ())])
    await g.store.clear_drafts(lease)
    await g.store.put_drafts(lease, [Draft("c-2", (bob.uuid, "nobody"), (bob.uuid,), ("f",), by_model=True)])
    await g.store.put_drafts(lease, [Draft("c-1", (ada.uuid,), (ada.uuid,), ())])
    await g.store.put_drafts(lease, [Draft("c-1", (bob.uuid,), (), ())])
    await g.store.end_drafts(lease, 2, LATER)
    wanted = [Draft("c-1", (), (ada.uuid,), ()), Draft("c-2", (), (bob.uuid,), ("f",), by_model=True)]
    assert await g.store.drafts(lease, 9) == wanted
    assert await g.store.drafts(lease, 1) == wanted[:1]
    await g.store.describe(lease, [Described("c-1", "one", "first", b"\0\0\x80?", "s")], LATER)
    await g.store.describe(lease, [Described("c-1", "again", "twice")], LATER)
    now = present(await g.store.build(g.id, build.build_id))
    assert (now.state, now.communities, now.summarised) == (BuildState.RUNNING, 2, 1)
    assert await _names(g) == []
    other = await _leased(g, "worker-b")
    assert other.drafted
    assert await g.store.drafts(other, 9) == wanted[1:]
    await g.store.describe(other, [Described("c-2", "two", "second")], LATER)
    await g.store.publish(other, LATER)
    both = tuple(sorted((ada.uuid, bob.uuid)))
    assert await _names(g) == [("one", "first", both), ("two", "second", (bob.uuid,))]
    done = present(await g.store.build(g.id, build.build_id))
    assert (done.state, done.reason) == (BuildState.COMPLETED, None)


async def test_the_last_publication_is_listed(g: Scratch) -> None:
    """Pages hold the communities of the build published last, by uuid; a page of an earlier build is empty
    and names the present one. A failed build changes nothing."""
    ada, bob = await g.pair()
    none = CommunityPage(None, ())
    assert await g.store.communities(g.id, 9, "", None) == none
    first = await _published(g, (ada.uuid,), (bob.uuid,))
    page = await g.store.communities(g.id, 1, "", None)
    assert (page.build_id, page.more, len(page.rows)) == (first.build_id, True, 1)
    row = page.rows[0]
    assert (row.member_count, row.group_id, row.created_ms) == (1, g.id, NOW)
    rest = await g.store.communities(g.id, 9, row.uuid, first.build_id)
    assert (rest.more, [each.name for each in rest.rows]) == (False, ["name 1"])
    second = await _published(g, (ada.uuid, bob.uuid))
    page = await g.store.communities(g.id, 9, row.uuid, first.build_id)
    assert (page.build_id, page.rows) == (second.build_id, ())
    before = await _names(g)
    assert len(before) == 1
    lease = await _drafted(g, (bob.uuid,))
    await g.store.release_build(lease, LATER, "no luck")
    assert await _names(g) == before


async def test_searches_are_fed_all_at_once(g: Scratch) -> None:
    """Communities come with the revision that publishing takes, and again, without the words of what went,
    when something is removed from the graph."""
    ada, bob = await g.pair()
    known = fact("f1", ada, bob)
    before = await g.write(facts=(known,))
    lease = await _drafted(g, (ada.uuid,), facts=(known.uuid,))
    (draft,) = await g.store.drafts(lease, MANY)
    await g.store.describe(lease, [Described(draft.uuid, "Club", "Ada met Bob", b"1234", "s:1")], LATER)
    assert (await g.store.text_changes(g.id, 0, MANY)).communities is None
    await g.store.publish(lease, LATER)
    after = await g.head()
    assert after.rev > before.rev
    found = await g.store.text_changes(g.id, before.rev, MANY)
    wanted = IndexedCommunity(draft.uuid, "Club", "Ada met Bob", lease.created_ms, "s:1", b"1234")
    assert found.communities == (wanted,)
    (shown,) = await g.store.communities_of(g.id, [draft.uuid, "nobody"])
    assert (shown.uuid, shown.name, shown.member_uuids) == (draft.uuid, "Club", (ada.uuid,))
    await g.write(entities=(replace(ada, summary="x"),))
    assert (await g.store.text_changes(g.id, after.rev, MANY)).communities is None
    await g.write(remove_facts=(tombstone(known),))
    assert (await g.store.text_changes(g.id, after.rev, MANY)).communities == (replace(wanted, summary=""),)
    assert await g.store.communities_of(g.sibling().id, [draft.uuid]) == []


async def test_newcomers_join_once(g: Scratch) -> None:
    """A group with communities is behind until its changes are followed; entities are added under what was
    seen, once; a publication begins anew."""
    ada, bob = await g.pair()
    first = await _published(g, (ada.uuid,))
    home = f"{first.build_id[:8]}-0"
    now = await g.head()
    seen = present(await _behind(g))
    assert (seen.build_id, seen.rev) == (first.build_id, 0)
    assert await g.store.placements(g.id, [ada.uuid, bob.uuid, "x"]) == {ada.uuid: home}
    assert await g.store.join(seen, now.rev, {bob.uuid: home, "x": home, ada.uuid: "x"})
    assert await _behind(g) is None
    assert (await _names(g))[0][2] == (ada.uuid, bob.uuid)
    cy = g.entity("n-cy", "Cy")
    head = await g.write(entities=(cy,))
    later = present(await _behind(g))
    assert later.rev == now.rev
    assert not await g.store.join(seen, head.rev + 1, {cy.uuid: home})
    second = await _published(g, (ada.uuid,))
    assert not await g.store.join(later, head.rev, {cy.uuid: home})
    assert await g.store.placements(g.id, [bob.uuid, cy.uuid]) == {}
    anew = present(await _behind(g))
    assert (anew.build_id, anew.rev) == (second.build_id, 0)
    await g.store.delete_group(g.id, LATER)
    assert await _behind(g) is None
    assert not await g.store.join(anew, head.rev, {})


async def _behind(g: Scratch) -> Behind | None:
    return next((each for each in await g.store.behind(MANY) if each.group_id == g.id), None)


async def test_links_are_read_by_revision(g: Scratch) -> None:
    """Every fact comes once for each page its revision falls into, with its ends and whether it holds."""
    ada, bob = await g.pair()
    cy = g.entity("n-cy", "Cy")
    head = await g.write(entities=(cy,), facts=(fact("f1", ada, bob), fact("f2", bob, cy)))
    ended = fact("f3", ada, cy, valid_ms=NOW - 9, invalid_ms=NOW)
    later = fact("f4", ada, cy, valid_ms=NOW + 1)
    gone = fact("f5", cy, ada, expired_ms=NOW)
    now = await g.write(facts=(ended, later, gone))
    first = await g.store.links(g.id, NOW, 0, 1)
    found = [(row.fact_uuid, row.source_uuid, row.target_uuid, row.current) for row in first.rows]
    wanted = [("f1", ada.uuid, bob.uuid, True), ("f2", bob.uuid, cy.uuid, True)]
    assert (found, first.more, first.upto_rev) == (wanted, True, head.rev)
    rest = await g.store.links(g.id, NOW, first.upto_rev, MANY)
    found_rest = [(row.fact_uuid, row.current) for row in rest.rows]
    assert found_rest == [("f3", False), ("f4", False), ("f5", False)]
    assert (rest.more, rest.upto_rev) == (False, now.rev)
    assert (await g.store.links(g.sibling().id, NOW, 0, 9)).rows == ()


async def test_what_is_removed_takes_its_words_along(g: Scratch) -> None:
    """A fact that is removed for good is in no summary any more, an entity neither in a name; it is no member
    any more."""
    ada, bob = await g.pair()
    known = fact("f1", ada, bob)
    await g.write(facts=(known,))
    await _published(g, (ada.uuid, bob.uuid), facts=(known,))
    await g.write(remove_facts=(tombstone(known),))
    assert [row[:2] for row in await _names(g)] == [("name 0", "")]
    await g.write(remove_entities=(bob.uuid,))
    assert await _names(g) == [("name 0", "", (ada.uuid,))]
    await g.write(remove_entities=(ada.uuid,))
    assert await _names(g) == [("", "", ())]


async def test_what_lost_words_is_told_no_more(g: Scratch) -> None:
    """Without being removed: a fact in summaries, a hub in names too; a member that is no hub in neither."""
    ada, bob = await g.pair()
    known = fact("f1", ada, bob)
    await g.write(facts=(known,))
    await _published(g, (ada.uuid, bob.uuid), facts=(known,))
    members = tuple(sorted((ada.uuid, bob.uuid)))
    await g.write(entities=(replace(bob, summary="less"),), unsaid=(bob.uuid, "nobody"))
    assert await _names(g) == [("name 0", known.fact, members)]
    await g.write(facts=(replace(known, fact="less"),), unsaid=("f1",))
    assert await _names(g) == [("name 0", "", members)]
    await g.write(entities=(replace(ada, summary="less"),), unsaid=(ada.uuid,))
    assert await _names(g) == [("", "", members)]


async def test_a_deleted_group_takes_its_builds_along(g: Scratch) -> None:
    """Neither builds nor communities are left, keys are free, and a lease on a build is lost."""
    ada, bob = await g.pair()
    over = await _published(g, (ada.uuid, bob.uuid))
    await _requested(g, Claim("BuildCommunities", "k", "h", NOW))
    lease = await _drafted(g, (ada.uuid,))
    await g.store.delete_group(g.id, LATER)
    assert await _names(g) == []
    assert await g.store.build(g.id, over.build_id) is None
    assert await g.store.build(g.id, lease.build_id) is None
    assert await _open(g) is None
    assert not await g.store.renew_build(lease)
    with pytest.raises(LeaseLost):
        await g.store.publish(lease, LATER)
    assert (await _requested(g, Claim("BuildCommunities", "k", "other", NOW))).state == BuildState.PENDING
    assert await _names(g) == []
