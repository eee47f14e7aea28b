"""Spec 004 §16 "Bitemporal logic" and §15: searches know only what is valid now and not expired."""

from typing import Literal

from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1 import types_pb2 as typ
from tests.acceptance.saying import APR, FEB, JAN, MAR, MAY, fact, telling
from tests.support.client import CALL_S, Client, granted
from tests.support.store_spec import StoreSpec, dumped

ENGINEER = fact("WORKS_AT", "Alice", "Acme", "Alice is an engineer at Acme")
DIRECTOR = fact("WORKS_AT", "Alice", "Acme", "Alice is a director at Acme")


async def found(client: Client, group: str, query: str = "Alice") -> list[str]:
    """The texts of all facts that a search finds."""
    return sorted(each.fact for each in await client.search(group, query, max_facts=100))


async def edge(client: Client, group: str, uuid: str) -> typ.FactResult:
    """GetEntityEdge: a fact, expired or not."""
    given = ret.GetEntityEdgeInput(uuid=uuid, group_id=group)
    request = ret.GetEntityEdgeRequest(input=given)
    return granted(await client.retrieval.GetEntityEdge(request, timeout=CALL_S)).output


def ms(
    result: typ.FactResult, field: Literal["valid_at", "invalid_at", "created_at", "expired_at"]
) -> int | None:
    """A time of a fact in milliseconds; None where it is absent."""
    return getattr(result, field).ToMilliseconds() if result.HasField(field) else None


async def test_a_contradiction_expires_the_older_fact(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, ENGINEER)])
    (older,) = await client.search(group, "Alice")
    assert (ms(older, "invalid_at"), ms(older, "expired_at")) == (None, None)
    await client.ingest(group, [telling(APR, DIRECTOR)])
    (newer,) = await client.search(group, "Alice")
    assert newer.fact == "Alice is a director at Acme"
    history = await edge(client, group, older.uuid)
    assert history.fact == "Alice is an engineer at Acme"
    assert ms(history, "invalid_at") == APR, "it held until the other began to"
    assert ms(history, "expired_at") == ms(newer, "created_at"), "superseded when the other was written"
    assert ms(history, "created_at") == ms(older, "created_at")


async def test_a_contradiction_told_late_does_not_win(client: Client, group: str) -> None:
    await client.ingest(group, [telling(APR, DIRECTOR)])
    (current,) = await client.search(group, "Alice")
    await client.ingest(group, [telling(JAN, ENGINEER)])
    assert await client.search(group, "Alice") == [current]


async def test_arrival_order_does_not_decide_what_is_current(
    client: Client, group: str, spec: StoreSpec
) -> None:
    home = [fact("LIVES_IN", "Alice", city, kind="functional") for city in ("Oslo", "Bonn", "Rome")]
    told = [telling(at, each, uuid=f"at-{at}") for at, each in zip((JAN, MAR, MAY), home, strict=True)]
    shapes = []
    for number, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 2, 0])):
        name = f"{group}-{number}"
        for index in order:
            await client.ingest(name, [told[index]])
        assert await found(client, name) == ["Alice lives in Rome"]
        dump = await dumped(spec, name)
        shapes.append(sorted((f.fact, f.start_ms, f.invalid_ms, f.episodes) for f in dump.facts))
    assert shapes[0] == shapes[1] == shapes[2]
    assert [end for _, _, end, _ in shapes[0]] == [MAY, MAR, None]  # Bonn, Oslo, Rome


async def test_a_functional_relation_has_one_target_at_a_time(client: Client, group: str) -> None:
    first = fact("LIVES_IN", "Alice", "Oslo", kind="functional")
    second = fact("LIVES_IN", "Alice", "Bonn", kind="functional")
    other = fact("LIVES_IN", "Bruno", "Oslo", kind="functional")
    await client.ingest(group, [telling(JAN, first), telling(FEB, second), telling(FEB, other)])
    assert await found(client, group, "Alice Bruno lives") == ["Alice lives in Bonn", "Bruno lives in Oslo"]


async def test_facts_with_other_targets_hold_side_by_side(client: Client, group: str) -> None:
    await client.ingest(
        group, [telling(JAN, fact("LIKES", "Alice", "chess")), telling(FEB, fact("LIKES", "Alice", "jazz"))]
    )
    assert await found(client, group) == ["Alice likes chess", "Alice likes jazz"]


async def test_events_never_expire_one_another(client: Client, group: str) -> None:
    met = [fact("MET", "Alice", "Bruno", f"Alice met Bruno {where}", kind="event") for where in "abc"]
    await client.ingest(group, [telling(JAN + n, each) for n, each in enumerate(met)])
    assert await found(client, group) == [f"Alice met Bruno {where}" for where in "abc"]


async def test_an_ended_relation_is_no_longer_found(client: Client, group: str) -> None:
    await client.ingest(group, [telling(JAN, ENGINEER)])
    (older,) = await client.search(group, "Alice")
    left = fact("WORKS_AT", "Alice", "Acme", "Alice left Acme", polarity="ends", valid_at="2024-03-01")
    await client.ingest(group, [telling(APR, left)])
    assert "Alice is an engineer at Acme" not in await found(client, group)
    history = await edge(client, group, older.uuid)
    assert ms(history, "invalid_at") == 1_709_251_200_000, "the day it ended, not the day it was told"
    assert history.HasField("expired_at")


async def test_the_same_told_again_while_it_holds_is_one_fact(client: Client, group: str) -> None:
    await client.ingest(group, [telling(FEB, ENGINEER, uuid="b")])
    (once,) = await client.search(group, "Alice")
    await client.ingest(group, [telling(MAR, ENGINEER, uuid="c"), telling(JAN, ENGINEER, uuid="a")])
    (twice,) = await client.search(group, "Alice")
    assert twice.uuid == once.uuid
    assert list(twice.episodes) == ["a", "b", "c"]
    assert ms(twice, "created_at") == ms(once, "created_at")
    assert twice.reference_time.ToMilliseconds() == JAN, "known to hold since the earliest telling"


async def test_the_same_told_again_after_it_ended_is_another_fact(client: Client, group: str) -> None:
    stated = {"valid_at": "2024-01-01", "invalid_at": "2024-02-01"}
    spell = fact("WORKS_AT", "Alice", "Acme", "Alice works at Acme", **stated)
    again = fact("WORKS_AT", "Alice", "Acme", "Alice works at Acme", valid_at="2024-03-01")
    await client.ingest(group, [telling(JAN, spell), telling(MAY, again)])
    (current,) = await client.search(group, "Alice")
    assert ms(current, "valid_at") == 1_709_251_200_000
    assert not current.HasField("invalid_at")


async def test_overlapping_intervals_of_different_facts_both_hold(client: Client, group: str) -> None:
    one = fact("WORKS_AT", "Alice", "Acme", valid_at="2023-01-01", invalid_at="2100-01-01")
    two = fact("WORKS_AT", "Alice", "Globex", valid_at="2024-01-01", invalid_at="2101-01-01")
    await client.ingest(group, [telling(JAN, one), telling(FEB, two)])
    facts = {each.fact: each for each in await client.search(group, "Alice")}
    assert sorted(facts) == ["Alice works at Acme", "Alice works at Globex"]
    assert ms(facts["Alice works at Acme"], "invalid_at") == 4_102_444_800_000
    assert not facts["Alice works at Acme"].HasField("expired_at")


async def test_a_fact_of_the_future_is_not_yet_found(client: Client, group: str) -> None:
    planned = fact("MOVES_TO", "Alice", "Rome", valid_at="2100-01-01")
    await client.ingest(group, [telling(JAN, planned, ENGINEER)])
    assert await found(client, group, "Alice Rome") == ["Alice is an engineer at Acme"]


async def test_a_fact_that_ended_is_not_found_but_kept(client: Client, group: str, spec: StoreSpec) -> None:
    past = fact("STUDIED_AT", "Alice", "Bonn", valid_at="2010-01-01", invalid_at="2014-01-01")
    await client.ingest(group, [telling(JAN, past, ENGINEER)])
    assert await found(client, group, "Alice Bonn") == ["Alice is an engineer at Acme"]
    (ended,) = (each for each in (await dumped(spec, group)).facts if each.name == "STUDIED_AT")
    kept = await edge(client, group, ended.uuid)
    assert (ms(kept, "valid_at"), ms(kept, "invalid_at")) == (1_262_304_000_000, 1_388_534_400_000)
    assert not kept.HasField("expired_at"), "it ended in the world; nobody contradicted it"


async def test_system_time_grows_with_every_change_of_a_group(client: Client, group: str) -> None:
    for number in range(5):
        await client.ingest(group, [telling(JAN, fact("LIKES", "Alice", f"thing {number}"))])
    facts = sorted(await client.search(group, "Alice"), key=lambda each: each.target_name)
    created = [each.created_at.ToMilliseconds() for each in facts]
    assert len(set(created)) == 5
    assert created == sorted(created)


async def test_a_future_end_does_not_hide_a_fact(client: Client, group: str) -> None:
    lasting = fact("WORKS_AT", "Alice", "Acme", valid_at="2020-01-01", invalid_at="2100-01-01")
    await client.ingest(group, [telling(JAN, lasting)])
    assert await found(client, group) == ["Alice works at Acme"]


async def test_at_one_time_what_stands_later_in_the_call_is_current(client: Client, group: str) -> None:
    """Spec 004 §6: nothing else tells two statements of one time apart, whatever their uuids are."""
    home = {city: fact("LIVES_IN", "Alice", city, kind="functional") for city in ("Oslo", "Bonn")}
    for name, uuids in (("up", ("a", "b")), ("down", ("b", "a"))):
        items = [telling(JAN, home[city], uuid=uuid) for city, uuid in zip(home, uuids, strict=True)]
        await client.ingest(f"{group}-{name}", items)
        assert await found(client, f"{group}-{name}") == ["Alice lives in Bonn"], name
