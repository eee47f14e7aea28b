"""CommunityStore: builds under leases, drafts nobody sees, replacement at once."""

from __future__ import annotations

import uuid as uuids
from dataclasses import replace

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
from kgsvc.stores.conformance.samples import (
    MANY,
    NOW,
    entity,
    equal,
    expect,
    fact,
    pair,
    present,
    refused,
    tombstone,
    write,
)
from kgsvc.stores.protocol import Store
from kgsvc.stores.search_protocol import IndexedCommunity

LATER = NOW + 1_000


async def _requested(store: Store, group_id: str, claim: Claim | None = None) -> CommunityBuild:
    request = BuildRequest(group_id, str(uuids.uuid4()), NOW)
    (build,) = await store.request_builds([request], claim)
    return build


async def _open(store: Store, group_id: str, now_ms: int = LATER) -> BuildWork | None:
    """The group's build as `open_builds` shows it."""
    works = await store.open_builds(now_ms, MANY)
    return next((work for work in works if work.group_id == group_id), None)


async def _leased(store: Store, group_id: str, owner_id: str = "worker-a") -> BuildLease:
    seen = present(await _open(store, group_id), "open_builds: of a requested build")
    return present(await store.claim_build(seen, owner_id, LATER), "claim_build: as just seen")


async def _published(store: Store, group_id: str, *members: tuple[str, ...]) -> BuildLease:
    """A build from request to publication, a community for each of `members`."""
    await _requested(store, group_id)
    lease = await _leased(store, group_id)
    await _drafted(store, lease, *members)
    uuid = lease.build_id[:8]
    described = [Described(f"{uuid}-{n}", f"name {n}", f"summary {n}") for n in range(len(members))]
    await store.describe(lease, described, LATER)
    await store.publish(lease, LATER)
    return lease


async def _drafted(
    store: Store, lease: BuildLease, *members: tuple[str, ...], facts: tuple[str, ...] = ()
) -> None:
    uuid = lease.build_id[:8]
    drafts = [Draft(f"{uuid}-{n}", each, each[:1], facts) for n, each in enumerate(members)]
    await store.put_drafts(lease, drafts)
    await store.end_drafts(lease, len(drafts), LATER)


async def _names(store: Store, group_id: str) -> list[tuple[str, str, tuple[str, ...]]]:
    page = await store.communities(group_id, MANY, "", None)
    return [(each.name, each.summary, each.member_uuids) for each in page.rows]


async def a_group_has_one_build_at_a_time(store: Store, group_id: str) -> None:
    """A group that is being built keeps its build; an unknown build is not found."""
    first = await _requested(store, group_id)
    equal((first.state, first.communities, first.summarised), (BuildState.PENDING, 0, 0), "request_builds")
    equal(await _requested(store, group_id), first, "request_builds: while one is open")
    equal(await store.build(group_id, first.build_id), first, "build: by id")
    equal(await store.build(group_id, "no-such-build"), None, "build: unknown")
    equal(await store.build(group_id + "-2", first.build_id), None, "build: in another group")
    await store.publish(await _leased(store, group_id), LATER)
    expect((await _requested(store, group_id)).build_id != first.build_id, "request_builds: after the first")


async def a_key_keeps_its_build(store: Store, group_id: str) -> None:
    """A known key gives its build even after that is over; with other input it is a Conflict, and then
    nothing of the call is recorded."""
    claim = Claim("BuildCommunities", "k", "h", NOW)
    first = await _requested(store, group_id, claim)
    await store.publish(await _leased(store, group_id), LATER)
    again = await _requested(store, group_id, claim)
    equal((again.build_id, again.state), (first.build_id, BuildState.COMPLETED), "request_builds: known key")
    other = Claim("BuildCommunities", "k", "other", NOW)
    fresh = BuildRequest(group_id + "-2", "b-2", NOW)
    asked = store.request_builds([fresh, BuildRequest(group_id, "b-1", NOW)], other)
    await refused(Conflict, asked, "request_builds: a key with other input")
    equal(await store.build(group_id + "-2", "b-2"), None, "request_builds: recorded beside a Conflict")


async def a_build_is_leased_once(store: Store, group_id: str) -> None:
    """Two claims of the same sight: one wins. A renewal spoils an older sight. Who lost cannot write."""
    await _requested(store, group_id)
    seen = present(await _open(store, group_id), "open_builds")
    first = present(await store.claim_build(seen, "worker-a", LATER), "claim_build")
    equal((first.attempt, first.drafted, first.created_ms), (1, False, NOW), "claim_build: lease")
    equal(await store.claim_build(seen, "worker-b", LATER), None, "claim_build: of an older sight")
    held = present(await _open(store, group_id), "open_builds: of a build that is held")
    expect(await store.renew_build(first), "renew_build: held")
    equal(await store.claim_build(held, "worker-b", LATER), None, "claim_build: after a renewal")
    seen = present(await _open(store, group_id), "open_builds")
    second = present(await store.claim_build(seen, "worker-b", LATER), "claim_build: of a lapsed lease")
    equal((second.attempt, second.token > first.token), (2, True), "claim_build: taken over")
    expect(not await store.renew_build(first), "renew_build: lost")
    await store.release_build(first, LATER)
    for call in (
        store.put_drafts(first, [Draft("c", (), (), ())]),
        store.end_drafts(first, 0, LATER),
        store.describe(first, [], LATER),
        store.clear_drafts(first),
        store.publish(first, LATER),
        store.fail_build(first, "late", LATER, None),
    ):
        await refused(LeaseLost, call, "a write under a lost lease")
    expect(await store.renew_build(second), "renew_build: after writes of a loser")


async def attempts_are_counted_until_it_gets_on(store: Store, group_id: str) -> None:
    """A failed attempt is due again at its time with its reason; a release takes the attempt back; progress
    begins the count anew; without a next time it is FAILED."""
    build = await _requested(store, group_id)
    first = await _leased(store, group_id)
    await store.fail_build(first, "no model", LATER, LATER + 5)
    failed = present(await store.build(group_id, build.build_id), "build")
    equal((failed.state, failed.reason), (BuildState.PENDING, "no model"), "fail_build: to be tried again")
    equal(await _open(store, group_id, LATER + 4), None, "open_builds: before its time")
    seen = present(await _open(store, group_id, LATER + 5), "open_builds: at its time")
    second = present(await store.claim_build(seen, "worker-a", LATER), "claim_build")
    equal(second.attempt, 2, "claim_build: attempt after a failure")
    await store.release_build(second, LATER)
    seen = present(await _open(store, group_id, LATER + 5), "open_builds: after a release")
    third = present(await store.claim_build(seen, "worker-a", LATER), "claim_build")
    equal(third.attempt, 2, "claim_build: attempt after a release")
    await store.end_drafts(third, 0, LATER)
    await store.fail_build(third, "no model", LATER, LATER)
    fourth = await _leased(store, group_id)
    equal((fourth.attempt, fourth.drafted), (2, True), "claim_build: after progress and a failure")
    await store.fail_build(fourth, "gave up", LATER, None)
    over = present(await store.build(group_id, build.build_id), "build")
    equal((over.state, over.reason, over.updated_ms), (BuildState.FAILED, "gave up", LATER), "fail_build")
    equal(await _open(store, group_id, LATER + MANY), None, "open_builds: of a build that failed")


async def drafts_wait_unseen(store: Store, group_id: str) -> None:
    """Drafts come back by uuid until they are described, with progress in the build; they are listed only
    once published; described ones survive a change of hands."""
    ada, bob = await pair(store, group_id)
    build = await _requested(store, group_id)
    lease = await _leased(store, group_id)
    await store.put_drafts(lease, [Draft("c-0", (ada.uuid,), (), ())])
    await store.clear_drafts(lease)
    await store.put_drafts(lease, [Draft("c-2", (bob.uuid, "nobody"), (bob.uuid,), ("f",), by_model=True)])
    await store.put_drafts(lease, [Draft("c-1", (ada.uuid,), (ada.uuid,), ())])
    await store.put_drafts(lease, [Draft("c-1", (bob.uuid,), (), ())])
    await store.end_drafts(lease, 2, LATER)
    wanted = [Draft("c-1", (), (ada.uuid,), ()), Draft("c-2", (), (bob.uuid,), ("f",), by_model=True)]
    equal(await store.drafts(lease, 9), wanted, "drafts")
    equal(await store.drafts(lease, 1), wanted[:1], "drafts: limited")
    await store.describe(lease, [Described("c-1", "one", "first", b"\0\0\x80?", "s")], LATER)
    await store.describe(lease, [Described("c-1", "again", "twice")], LATER)
    now = present(await store.build(group_id, build.build_id), "build")
    equal((now.state, now.communities, now.summarised), (BuildState.RUNNING, 2, 1), "build: progress")
    equal(await _names(store, group_id), [], "communities: before publish")
    other = await _leased(store, group_id, "worker-b")
    expect(other.drafted, "claim_build: does not tell that the drafts are there")
    equal(await store.drafts(other, 9), wanted[1:], "drafts: after a change of hands")
    await store.describe(other, [Described("c-2", "two", "second")], LATER)
    await store.publish(other, LATER)
    both = tuple(sorted((ada.uuid, bob.uuid)))
    wanted_rows = [("one", "first", both), ("two", "second", (bob.uuid,))]
    equal(await _names(store, group_id), wanted_rows, "communities: published")
    done = present(await store.build(group_id, build.build_id), "build")
    equal((done.state, done.reason), (BuildState.COMPLETED, None), "build: published")


async def the_last_publication_is_listed(store: Store, group_id: str) -> None:
    """Pages hold the communities of the build published last, by uuid; a page of an earlier build is empty
    and names the present one. A failed build changes nothing."""
    ada, bob = await pair(store, group_id)
    none = CommunityPage(None, ())
    equal(await store.communities(group_id, 9, "", None), none, "communities: before any build")
    first = await _published(store, group_id, (ada.uuid,), (bob.uuid,))
    page = await store.communities(group_id, 1, "", None)
    equal((page.build_id, page.more, len(page.rows)), (first.build_id, True, 1), "communities: first page")
    row = page.rows[0]
    equal((row.member_count, row.group_id, row.created_ms), (1, group_id, NOW), "communities: a row")
    rest = await store.communities(group_id, 9, row.uuid, first.build_id)
    equal((rest.more, [each.name for each in rest.rows]), (False, ["name 1"]), "communities: second page")
    second = await _published(store, group_id, (ada.uuid, bob.uuid))
    page = await store.communities(group_id, 9, row.uuid, first.build_id)
    equal((page.build_id, page.rows), (second.build_id, ()), "communities: a page of an earlier build")
    before = await _names(store, group_id)
    equal(len(before), 1, "communities: replaced")
    await _requested(store, group_id)
    lease = await _leased(store, group_id)
    await _drafted(store, lease, (bob.uuid,))
    await store.fail_build(lease, "no luck", LATER, None)
    equal(await _names(store, group_id), before, "communities: after a failed build")


async def searches_are_fed_all_at_once(store: Store, group_id: str) -> None:
    """Communities come with the revision that publishing takes, and again, without the words of what went,
    when something is removed from the graph."""
    ada, bob = await pair(store, group_id)
    told = fact("f1", ada, bob)
    before = await write(store, group_id, facts=(told,))
    await _requested(store, group_id)
    lease = await _leased(store, group_id)
    await _drafted(store, lease, (ada.uuid,), facts=(told.uuid,))
    (draft,) = await store.drafts(lease, MANY)
    await store.describe(lease, [Described(draft.uuid, "Club", "Ada met Bob", b"1234", "s:1")], LATER)
    equal((await store.text_changes(group_id, 0, MANY)).communities, None, "text_changes: drafts")
    await store.publish(lease, LATER)
    after = (await store.heads([group_id]))[group_id]
    expect(after.rev > before.rev, "publish: takes a revision")
    found = await store.text_changes(group_id, before.rev, MANY)
    wanted = IndexedCommunity(draft.uuid, "Club", "Ada met Bob", lease.created_ms, "s:1", b"1234")
    equal(found.communities, (wanted,), "text_changes: communities")
    (shown,) = await store.communities_of(group_id, [draft.uuid, "nobody"])
    equal((shown.uuid, shown.name, shown.member_uuids), (draft.uuid, "Club", (ada.uuid,)), "communities_of")
    await write(store, group_id, entities=(replace(ada, summary="x"),))
    equal((await store.text_changes(group_id, after.rev, MANY)).communities, None, "text_changes: a write")
    await write(store, group_id, remove_facts=(tombstone(told),))
    found = await store.text_changes(group_id, after.rev, MANY)
    equal(found.communities, (replace(wanted, summary=""),), "text_changes: after a removal")
    equal(await store.communities_of(group_id + "-2", [draft.uuid]), [], "communities_of: another group")


async def newcomers_join_once(store: Store, group_id: str) -> None:
    """A group with communities is behind until its changes are followed; entities are added under what was
    seen, once; a publication begins anew."""
    ada, bob = await pair(store, group_id)
    first = await _published(store, group_id, (ada.uuid,))
    home = f"{first.build_id[:8]}-0"
    now = (await store.heads([group_id]))[group_id]
    seen = present(await _behind(store, group_id), "behind: after a publication")
    equal((seen.build_id, seen.rev), (first.build_id, 0), "behind")
    equal(await store.placements(group_id, [ada.uuid, bob.uuid, "x"]), {ada.uuid: home}, "placements")
    expect(await store.join(seen, now.rev, {bob.uuid: home, "x": home, ada.uuid: "x"}), "join: as just seen")
    equal(await _behind(store, group_id), None, "behind: of a group that was followed")
    equal((await _names(store, group_id))[0][2], (ada.uuid, bob.uuid), "communities: after a join")
    cy = entity(group_id, "n-cy", "Cy")
    head = await write(store, group_id, entities=(cy,))
    later = present(await _behind(store, group_id), "behind: after a change")
    equal(later.rev, now.rev, "behind: revision")
    expect(not await store.join(seen, head.rev + 1, {cy.uuid: home}), "join: of an older sight")
    second = await _published(store, group_id, (ada.uuid,))
    expect(not await store.join(later, head.rev, {cy.uuid: home}), "join: to communities of an earlier build")
    equal(await store.placements(group_id, [bob.uuid, cy.uuid]), {}, "placements: in a later build")
    anew = present(await _behind(store, group_id), "behind: after the next publication")
    equal((anew.build_id, anew.rev), (second.build_id, 0), "behind: after the next publication")
    await store.delete_group(group_id, LATER)
    equal(await _behind(store, group_id), None, "behind: of a deleted group")
    expect(not await store.join(anew, head.rev, {}), "join: in a deleted group")


async def _behind(store: Store, group_id: str) -> Behind | None:
    return next((each for each in await store.behind(MANY) if each.group_id == group_id), None)


async def links_are_read_by_revision(store: Store, group_id: str) -> None:
    """Every fact comes once for each page its revision falls into, with its ends and whether it holds."""
    ada, bob = await pair(store, group_id)
    cy = entity(group_id, "n-cy", "Cy")
    head = await write(store, group_id, entities=(cy,), facts=(fact("f1", ada, bob), fact("f2", bob, cy)))
    ended = fact("f3", ada, cy, valid_ms=NOW - 9, invalid_ms=NOW)
    later = fact("f4", ada, cy, valid_ms=NOW + 1)
    gone = fact("f5", cy, ada, expired_ms=NOW)
    now = await write(store, group_id, facts=(ended, later, gone))
    first = await store.links(group_id, NOW, 0, 1)
    found = [(row.fact_uuid, row.source_uuid, row.target_uuid, row.current) for row in first.rows]
    wanted = [("f1", ada.uuid, bob.uuid, True), ("f2", bob.uuid, cy.uuid, True)]
    equal((found, first.more, first.upto_rev), (wanted, True, head.rev), "links: first page")
    rest = await store.links(group_id, NOW, first.upto_rev, MANY)
    found_rest = [(row.fact_uuid, row.current) for row in rest.rows]
    equal(found_rest, [("f3", False), ("f4", False), ("f5", False)], "links: of what does not hold")
    equal((rest.more, rest.upto_rev), (False, now.rev), "links: last page")
    equal((await store.links(group_id + "-2", NOW, 0, 9)).rows, (), "links: of an unknown group")


async def what_is_removed_takes_its_words_along(store: Store, group_id: str) -> None:
    """A fact that is removed for good is in no summary any more, an entity neither in a name; it is no member
    any more."""
    ada, bob = await pair(store, group_id)
    known = fact("f1", ada, bob)
    await write(store, group_id, facts=(known,))
    await _requested(store, group_id)
    lease = await _leased(store, group_id)
    await _drafted(store, lease, (ada.uuid, bob.uuid), facts=("f1",))
    uuid = f"{lease.build_id[:8]}-0"
    await store.describe(lease, [Described(uuid, "Ada and Bob", known.fact)], LATER)
    await store.publish(lease, LATER)
    await write(store, group_id, remove_facts=(tombstone(known),))
    equal([row[:2] for row in await _names(store, group_id)], [("Ada and Bob", "")], "communities: summary")
    await write(store, group_id, remove_entities=(bob.uuid,))
    row = ("Ada and Bob", "", (ada.uuid,))
    equal(await _names(store, group_id), [row], "communities: a member that is no hub is removed")
    await write(store, group_id, remove_entities=(ada.uuid,))
    equal(await _names(store, group_id), [("", "", ())], "communities: a hub is removed")


async def what_lost_words_is_told_no_more(store: Store, group_id: str) -> None:
    """Without being removed: a fact in summaries, a hub in names too; a member that is no hub in neither."""
    ada, bob = await pair(store, group_id)
    known = fact("f1", ada, bob)
    await write(store, group_id, facts=(known,))
    await _requested(store, group_id)
    lease = await _leased(store, group_id)
    await _drafted(store, lease, (ada.uuid, bob.uuid), facts=("f1",))
    described = Described(f"{lease.build_id[:8]}-0", "Ada and Bob", known.fact)
    await store.describe(lease, [described], LATER)
    await store.publish(lease, LATER)
    members = tuple(sorted((ada.uuid, bob.uuid)))
    await write(store, group_id, entities=(replace(bob, summary="less"),), unsaid=(bob.uuid, "nobody"))
    whole = ("Ada and Bob", known.fact, members)
    equal(await _names(store, group_id), [whole], "communities: a member lost words")
    await write(store, group_id, facts=(replace(known, fact="less"),), unsaid=("f1",))
    equal(await _names(store, group_id), [("Ada and Bob", "", members)], "communities: a fact lost words")
    await write(store, group_id, entities=(replace(ada, summary="less"),), unsaid=(ada.uuid,))
    equal(await _names(store, group_id), [("", "", members)], "communities: a hub lost words")


async def a_deleted_group_takes_its_builds_along(store: Store, group_id: str) -> None:
    """Neither builds nor communities are left, keys are free, and a lease on a build is lost."""
    ada, bob = await pair(store, group_id)
    over = await _published(store, group_id, (ada.uuid, bob.uuid))
    await _requested(store, group_id, Claim("BuildCommunities", "k", "h", NOW))
    lease = await _leased(store, group_id)
    await _drafted(store, lease, (ada.uuid,))
    await store.delete_group(group_id, LATER)
    equal(await _names(store, group_id), [], "communities: of a deleted group")
    equal(await store.build(group_id, over.build_id), None, "build: of a deleted group")
    equal(await store.build(group_id, lease.build_id), None, "build: open, of a deleted group")
    equal(await _open(store, group_id), None, "open_builds: of a deleted group")
    expect(not await store.renew_build(lease), "renew_build: of a deleted group")
    await refused(LeaseLost, store.publish(lease, LATER), "publish: in a deleted group")
    fresh = await _requested(store, group_id, Claim("BuildCommunities", "k", "other", NOW))
    equal(fresh.state, BuildState.PENDING, "request_builds: in a group deleted before")
    equal(await _names(store, group_id), [], "communities: of the group's next life")
