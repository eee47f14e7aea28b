"""RetractFact: a fact that was never true expires without a successor, and is known of with the reason."""

import asyncio
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.graph_searches import BM25, facts_by, graph
from tests.acceptance.refusals import refused
from tests.acceptance.saying import APR, FEB, JAN, MAR, fact, telling
from tests.acceptance.test_search_context import sections
from tests.support.client import CALL_S, Client, timestamp
from tests.support.communities import built

ACME = fact("WORKS_AT", "Alice", "Acme", kind="functional")
GLOBEX = fact("WORKS_AT", "Alice", "Globex", kind="functional")
LIKES = fact("LIKES", "Alice", "chess")
A, G = ACME["fact"], GLOBEX["fact"]
WHY = "another Alice was meant"


async def told(client: Client, group: str) -> dict[str, str]:
    """Alice works at Acme, then at Globex, by two episodes each; the uuids by text."""
    await client.ingest(group, [telling(JAN, ACME, uuid="one"), telling(FEB, ACME, LIKES, uuid="two")])
    await client.ingest(group, [telling(MAR, GLOBEX, uuid="three"), telling(APR, GLOBEX, uuid="four")])
    alice = await client.get_entity(group, await client.entity_of(group, "Alice"), include_expired=True)
    return {each.fact: each.uuid for each in alice.facts}


async def retract(
    client: Client, group: str, uuid: str, reason: str = WHY, key: str | None = None
) -> typ.FactResult:
    """RetractFact: the fact as it is then."""
    done = await client.ask("RetractFact", key, group_id=group, uuid=uuid, reason=reason)
    edge: typ.FactResult = done.edge
    return edge


def asking(uuid: str, group: str, reason: str = WHY, key: str | None = None) -> adm.RetractFactRequest:
    """A request to retract."""
    given = adm.RetractFactInput(uuid=uuid, group_id=group, reason=reason)
    return adm.RetractFactRequest(idempotency_key=key, input=given)


async def known(client: Client, group: str, **filters: Any) -> list[str]:
    """What a search finds, with filters."""
    given: dict[str, Any] = {"group_ids": [group], "query": "Alice works at Acme or Globex"}
    found = await client.ask("SearchGraph", **given, filters=ret.SearchFilters(**filters))
    return sorted(hit.fact.fact for hit in found.facts)


async def working(client: Client, group: str) -> dict[str, typ.FactResult]:
    """The jobs that a default search finds."""
    return {e.fact: e for e in await client.search(group, "Alice", max_facts=100) if e.name == "WORKS_AT"}


async def test_it_is_found_no_more_and_kept_with_the_reason(client: Client, group: str) -> None:
    uuids = await told(client, group)
    before = await client.get_edge(group, uuids[G])
    gone = await retract(client, group, uuids[G], f" {WHY} ")
    assert (gone.uuid, gone.fact, gone.expired_reason, gone.retract_reason) == (
        uuids[G],
        G,
        "retracted",
        WHY,
    )
    assert gone.HasField("expired_at")
    assert not gone.HasField("expired_by_fact")
    assert not gone.HasField("expired_by_episode")
    assert (list(gone.episodes), list(gone.citations)) == (list(before.episodes), list(before.citations))
    assert await client.get_edge(group, gone.uuid) == gone
    assert G not in await working(client, group)
    assert gone in await client.fact_history(group, gone.uuid)


async def test_what_it_had_ended_holds_again(client: Client, group: str) -> None:
    uuids = await told(client, group)
    assert (await client.get_edge(group, uuids[A])).expired_by_fact == uuids[G]
    await retract(client, group, uuids[G])
    (now,) = (await working(client, group)).values()
    assert (now.uuid, now.fact, now.HasField("invalid_at")) == (uuids[A], A, False)


async def test_a_search_as_of_before_finds_it(client: Client, group: str) -> None:
    gone = await retract(client, group, (await told(client, group))[G])
    until: Timestamp = timestamp(gone.expired_at.ToMilliseconds() - 1)
    assert G in await known(client, group, known_as_of=until)
    assert G not in await known(client, group, known_as_of=gone.expired_at)
    assert G not in await known(client, group, valid_as_of=timestamp(APR)), "it was never true"
    assert G in await known(client, group, valid_as_of=timestamp(APR), known_as_of=until)
    given: dict[str, Any] = {"group_ids": [group], "query": G, "filters": {"known_as_of": until}}
    hits = (await client.ask("SearchGraph", **given)).facts
    (held,) = [hit.fact for hit in hits if hit.fact.fact == G]
    assert (held.expired_reason, held.retract_reason) == ("", ""), "nobody knew"


async def test_summary_context_and_communities_leave_it_out(client: Client, group: str) -> None:
    uuids = await told(client, group)
    alice = await client.entity_of(group, "Alice")
    assert G in (await client.get_entity(group, alice)).node.summary
    await retract(client, group, uuids[G])
    now = await client.get_entity(group, alice)
    assert G not in now.node.summary
    assert A in now.node.summary
    assert uuids[G] not in now.node.summary_facts
    assert G not in {each.fact for each in now.facts}
    found = await graph(client, group, "Alice works", scopes=facts_by(BM25), include_context=True)
    told_by = sections(found.context)
    assert any(A in line for line in told_by["Sources"])
    known_of = [*told_by.get("Facts", ()), *told_by.get("Entities", ())]
    assert not any(G in line for line in known_of), "what was said stays a source"
    asked = typ.MemoryMessage(role_type=typ.ROLE_TYPE_USER, content=G, timestamp=timestamp(APR))
    assert G not in {each.fact for each in await client.memory(group, [asked])}
    await built(client, group)
    found = (await client.ask("ListCommunities", group_id=group)).communities
    assert not any("Globex" in each.summary for each in found)


async def test_told_again_by_a_later_episode_it_is_a_new_fact(client: Client, group: str) -> None:
    uuids = await told(client, group)
    await retract(client, group, uuids[G])
    await client.ingest(group, [telling(MAR, GLOBEX, uuid="again")])
    (new,) = (await working(client, group)).values()
    assert (new.fact, list(new.episodes)) == (G, ["again"])
    assert new.uuid != uuids[G]
    old = await client.get_edge(group, uuids[G])
    assert (old.retract_reason, list(old.episodes)) == (WHY, ["three", "four"])
    assert (await client.get_edge(group, uuids[A])).expired_by_fact == new.uuid
    both = {each.uuid for each in await client.fact_history(group, new.uuid)}
    assert {new.uuid, old.uuid} <= both


async def test_what_was_accepted_before_does_not_bring_it_back(client: Client, group: str) -> None:
    uuids = await told(client, group)
    await client.ask("SetModes", group_id=group, paused=True)
    waiting = await client.add_episodes(group, [telling(APR + 1, GLOBEX, uuid="waits")])
    await retract(client, group, uuids[G])
    await client.ask("SetModes", group_id=group, paused=False)
    await client.wait_receipt(waiting.receipt_id)
    assert list(await working(client, group)) == [A]


async def test_the_same_episode_sent_anew_is_a_duplicate(client: Client, group: str) -> None:
    uuids = await told(client, group)
    await retract(client, group, uuids[G])
    await client.ingest(group, [telling(MAR, GLOBEX, uuid="three")])
    assert list(await working(client, group)) == [A]


async def test_no_fold_brings_it_back(client: Client, group: str) -> None:
    uuids = await told(client, group)
    gone = await retract(client, group, uuids[G])
    await client.ingest(group, [telling(JAN + 1, fact("LIVES_IN", "Alicia", "Oslo"), uuid="other")])
    alice, alicia = [await client.entity_of(group, name) for name in ("Alice", "Alicia")]
    merged = await client.ask("MergeEntityNodes", group_id=group, keep_uuid=alicia, merge_uuid=alice)
    assert list(await working(client, group)) == [A]
    await client.ask("UndoMerge", group_id=group, merge_id=merged.merge_id)
    assert list(await working(client, group)) == [A]
    split = await client.ask("SplitEntityNode", group_id=group, uuid=alice, episode_uuids=["two", "four"])
    assert {each.fact for each in (await working(client, group)).values()} == {A}
    await client.ask("UndoSplit", group_id=group, split_id=split.split_id)
    assert {each.fact for each in (await working(client, group)).values()} == {A}
    await client.ask("DeleteEpisode", group_id=group, uuid="four", cascade=True)
    await client.ask("DeleteEpisode", group_id=group, uuid="one", cascade=True)
    assert {each.fact for each in (await working(client, group)).values()} == {A}
    left = await client.get_edge(group, gone.uuid)
    assert (left.expired_reason, left.retract_reason, list(left.episodes)) == ("retracted", WHY, ["three"])
    assert left.expired_at == gone.expired_at


async def test_a_retracted_correction_does_not_bring_back_what_it_corrected(
    client: Client, group: str
) -> None:
    uuids = await told(client, group)
    corrected = await client.update_fact(group, uuids[G], "Alice works at Globex as a cook", reason="She is")
    gone = await retract(client, group, corrected.new_uuid)
    assert (gone.update_reason, gone.retract_reason, gone.original_fact) == ("She is", WHY, G)
    assert (await client.get_edge(group, uuids[G])).expired_reason == "updated"
    assert list(await working(client, group)) == [A]


async def test_the_first_outcome_is_told_again_by_its_key(client: Client, group: str) -> None:
    uuids = await told(client, group)
    first = await retract(client, group, uuids[G], key="key")
    assert await retract(client, group, uuids[G], key="key") == first
    for other in (asking(uuids[A], group, key="key"), asking(uuids[G], group, "no", "key")):
        assert (await refused(client, "RetractFact", other)).code == "CONFLICT"


async def test_an_expired_fact_cannot_be_retracted(client: Client, group: str) -> None:
    uuids = await told(client, group)
    superseded = await refused(client, "RetractFact", asking(uuids[A], group))
    assert (superseded.code, superseded.fields) == ("CONFLICT", ("input.uuid",))
    await retract(client, group, uuids[G])
    for again in (asking(uuids[G], group), asking(uuids[G], group, "no", "another key")):
        refusal = await refused(client, "RetractFact", again)
        assert (refusal.code, refusal.fields) == ("CONFLICT", ("input.uuid",))
    corrected = adm.UpdateFactInput(uuid=uuids[G], group_id=group, fact="Alice owns Globex")
    refusal = await refused(client, "UpdateFact", adm.UpdateFactRequest(input=corrected))
    assert refusal.code == "CONFLICT"


async def test_unknown_facts_and_missing_reasons_are_named(client: Client, group: str) -> None:
    uuids = await told(client, group)
    assert (await refused(client, "RetractFact", asking("nobody", group))).code == "NOT_FOUND"
    for reason in ("", " \n"):
        refusal = await refused(client, "RetractFact", asking(uuids[G], group, reason))
        assert (refusal.code, refusal.fields) == ("INVALID_ARGUMENT", ("input.reason",))
    assert list(await working(client, group)) == [G]


async def test_of_two_at_once_one_is_in_conflict(client: Client, group: str) -> None:
    uuids = await told(client, group)
    both = [asking(uuids[G], group, why) for why in ("a", "b")]
    calls = [client.admin.RetractFact(each, timeout=CALL_S) for each in both]
    assert sorted(each.error.error_code for each in await asyncio.gather(*calls)) == ["", "CONFLICT"]
