"""Everything comes back as it was given: the ontology of a group, and values of every kind in every field."""

from dataclasses import replace
from typing import Any

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Evidence, FactKind, Polarity, RoleType, Source
from kgsvc.domain.model.items import ItemState, Lease
from kgsvc.domain.model.keys import name_key
from kgsvc.stores.protocol import Store
from tests.support.samples import HUGE, MANY, NOW, Scratch, fact


async def test_an_ontology_is_kept_as_it_was_put(g: Scratch) -> None:
    """A later one replaces it; None takes it away; another group has its own."""
    assert await g.store.ontology(g.id) is None
    for yaml in ("entity_types: []\n", "# コメント 🐍\r\n" + "x" * 65_000, ""):
        await g.store.put_ontology(g.id, yaml)
        assert await g.store.ontology(g.id) == yaml
    assert await g.store.ontology(g.sibling().id) is None
    for _ in range(2):
        await g.store.put_ontology(g.id, None)
        assert await g.store.ontology(g.id) is None


async def test_an_ontology_may_come_before_everything_else(g: Scratch) -> None:
    """The group need not exist, takes items afterwards, and counts as one that has content."""
    await g.store.put_ontology(g.id, "a")
    assert g.id in await g.store.group_ids()
    assert await _number(g.store, await g.queued(g.episode("e1"))) > 0
    assert await g.store.ontology(g.id) == "a"


async def test_started_items_tell_the_ontologys_number(g: Scratch) -> None:
    """0 where there never was one; another number after every put, also of the same text and of None."""
    lease = await g.queued(*g.episodes(4, step=1))
    numbers = [await _number(g.store, lease)]
    begun = ["e0"]
    for yaml in ("a", "a", None):
        await g.store.put_ontology(g.id, yaml)
        numbers.append(await _number(g.store, lease, *begun))
        begun.append(f"e{len(begun)}")
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers)


async def test_an_ontology_goes_with_its_group(g: Scratch) -> None:
    """Its number does not come back."""
    await g.accepted(g.episode("e1"))
    await g.store.put_ontology(g.id, "a")
    before = await _number(g.store, await g.leased())
    await g.store.delete_group(g.id, NOW)
    assert await g.store.ontology(g.id) is None
    assert g.id not in await g.store.group_ids()
    await g.store.put_ontology(g.id, "b")
    await g.accepted(g.episode("e1"))
    assert await _number(g.store, await g.leased()) > before


async def test_an_ontology_changes_nothing_else(g: Scratch) -> None:
    """Neither the group's head nor who leases it."""
    lease = await g.queued(g.episode("e1"))
    before = await g.store.heads([g.id])
    await g.store.put_ontology(g.id, "a")
    assert await g.store.heads([g.id]) == before
    assert await g.store.renew([lease]) == [g.id]


async def _number(store: Store, lease: Lease, *begun: str) -> int:
    """The number that the next item tells."""
    (item,) = await store.start_items(lease, NOW, 1, HUGE, begun)
    return item.ontology


TEXTS = (
    "plain",
    "quotes ' \" ` ´ ’ and back\\slash",
    "'; DROP TABLE episode; -- \") RETURN 1 //",
    "line\nbreaks\r\nand\ttabs \u2028 \x7f \x01",
    "emoji 😀👩‍👩‍👧 flag 🇨🇭 astral 𝒳𐍈",
    "漢字 かな 한글 عربى עברית ไทย",
    "e\u0301 is not \u00e9, \ufeff nor is this nothing",
    "${jndi} %s {0} $param {braces} :colon @at",
    " leading and trailing ",
    "1e5",
    "null",
)
# Year 1, before 1970, zero, beyond 32 bits, year 9999, and far outside of what calendars hold.
TIMES = (-62_135_596_800_000, -1, 0, 1, 2**31, 253_402_300_799_999)
FAR = (-31_557_600_000_000_000, 31_557_600_000_000_000)  # a million years ago, and ahead


async def test_any_text_is_kept(g: Scratch) -> None:
    """Bodies, names, roles and descriptions: every character as given, in every read."""
    made = [
        g.episode(f"e{n:02}", at=n, body=t, name=t, role=t, source_description=t) for n, t in enumerate(TEXTS)
    ]
    assert [i.name for i in (await g.accepted(*made)).items] == list(TEXTS)
    assert await g.store.recent_episodes(g.id, 99) == made
    assert [i.episode for i in await g.store.start_items(await g.leased(), NOW, MANY, HUGE, ())] == made


async def test_any_uuid_and_key_is_kept(g: Scratch) -> None:
    """Item uuids, receipt ids and idempotency keys are opaque texts."""
    for text in TEXTS:
        result = await g.accepted(g.episode(text), idempotency_key=text, operation=text)
        again = await g.accepted(g.episode(text), idempotency_key=text, operation=text)
        assert again.receipt_id == result.receipt_id
        assert [i.uuid for i in again.items] == [text]
        assert [e.uuid for e in await g.store.episode(text, g.id)] == [text]
    assert len(await g.store.recent_episodes(g.id, 99)) == len(TEXTS)


async def test_uuids_are_compared_exactly(g: Scratch) -> None:
    """Case, accents and trailing spaces distinguish uuids."""
    uuids = ["e1", "E1", "e1 ", "\u00e91", "e\u03011"]
    result = await g.accepted(*[g.episode(uuid) for uuid in uuids])
    assert [i.duplicate for i in result.items] == [False] * 5
    for uuid in uuids:
        assert [e.uuid for e in await g.store.episode(uuid, g.id)] == [uuid]


async def test_every_field_of_an_episode_is_kept(g: Scratch) -> None:
    """All sources and roles; absent stays absent."""
    made = [
        g.episode("e1", source=Source.MESSAGE, role_type=RoleType.USER, role="Ada", name="n"),
        g.episode("e2", source=Source.MESSAGE, role_type=RoleType.ASSISTANT),
        g.episode("e3", source=Source.MESSAGE, role_type=RoleType.SYSTEM, role=""),
        g.episode("e4", source=Source.JSON, body='{"a": [1, 2.5, null]}', source_description="d"),
        g.episode("e5", source=Source.TEXT, body=""),
    ]
    await g.accepted(*made)
    for one in made:
        (found,) = await g.store.episode(one.uuid, g.id)
        assert found == one
        assert (type(found.source), type(found.role_type)) == (type(one.source), type(one.role_type))


async def test_large_bodies_are_kept(g: Scratch) -> None:
    """A body of 1 MiB and a stage of 1 MiB come back whole."""
    text = "é𝒳漢 a\n"
    body = (text * (2**20 // len(text.encode()) + 1)).encode()[: 2**20].decode(errors="ignore")
    made = g.episode("e1", body=body)
    lease = await g.queued(made)
    stage = bytes(range(256)) * 4096
    await g.started(lease)
    await g.move(lease, ItemState.EXTRACTED, "e1", stage=stage)
    (item,) = await g.due(lease)
    assert (item.episode.body == body and item.stage == stage) is True
    assert ((await g.store.recent_episodes(g.id, 1)) == [made]) is True


async def test_every_field_of_an_entity_is_kept(g: Scratch) -> None:
    """Attributes of any JSON shape, labels in order, stamps; texts as given."""
    attributes: dict[str, Any] = {
        "int": 2**40, "neg": -1, "float": 0.1, "true": True, "none": None, "text": "𝒳 '\"\\", "": "empty key",
        "list": [1, "two", None, [3.5]], "map": {"deep": {"er": []}}, "a.b $c": "odd key",
    }  # fmt: skip
    full = g.entity(
        "n1", "Ada 😀 O'Neil", summary="Line one.\nLine “two”.", attributes=attributes,
        labels=("Person", "Entity", "Odd Label `x`"), source_episode_uuid="e1", created_ms=-5,
        updated_ms=2**41, stamps={"summary": "123/e1", "int": "-5/e2"},
    )  # fmt: skip
    named = [g.entity(f"t{n}", f"{t} {n}", summary=t) for n, t in enumerate(TEXTS)]
    await g.write(entities=(full, *named))
    assert await g.store.entity("n1", g.id) == [full]
    view = await g.store.names(g.id, [name_key(e.name) for e in named])
    assert {e.uuid: e for e in view.by_key.values()} == {e.uuid: e for e in named}


async def test_every_field_of_a_fact_is_kept(g: Scratch) -> None:
    """All fields of a fact, full and empty, by fact, slots, dump and changes."""
    ada, bob = g.entity("n1", "Ada"), g.entity("n2", "Bób 😀")
    full = fact(
        "f1", ada, bob, "Ada's “fact”\nabout Bób 😀", name="WORKS_AT", valid_ms=-1, invalid_ms=2**40,
        expired_ms=2**42, kind=FactKind.FUNCTIONAL, polarity=Polarity.ENDS, qualifiers={"as": "CEO", "": "x"},
        keywords=("b", "a", "b"), weight=0.1, episodes=("e2", "e1"),
        evidence=(Evidence(-1, NOW, "e2", -1, 2**40), Evidence(NOW, NOW, "e1", said="in other words")),
        expired_by_fact="f9", expired_by_episode="e9", expired_reason="superseded", invalid_before_ms=2**43,
        attributes={"asserted": True, "n": [1, {"x": None}]}, reference_ms=-7,
        beliefs=(Belief(NOW, None, -7), Belief(NOW + 1, -1, NOW, 2**40, NOW, "retracted", "as it was told")),
    )  # fmt: skip
    bare = fact("f2", ada, bob, "bare", kind=FactKind.EVENT, polarity=Polarity.DENIES)
    await g.write(entities=(ada, bob), facts=(full, bare))
    for one in (full, bare):
        assert await g.store.fact(one.uuid, g.id) == [one]
        assert list((await g.store.slots(g.id, [one.slot])).facts) == [one]
    assert (await g.store.dump(g.id)).facts == (full, bare)
    changed = sorted((f.fact for f in (await g.store.changes(g.id, 0, 9)).facts), key=lambda f: f.uuid)
    assert changed == [full, bare]
    (found,) = await g.store.fact("f1", g.id)
    assert (type(found.kind), type(found.polarity)) == (FactKind, Polarity)


async def test_any_time_is_kept(g: Scratch) -> None:
    """Reference times from year 1 to 9999, in order; fact times a million years away do no harm."""
    made = [g.episode(f"e{n}", reference_ms=ms) for n, ms in enumerate(TIMES)]
    await g.accepted(*reversed(made))
    assert await g.store.recent_episodes(g.id, 99) == made
    assert await g.started(await g.leased()) == [e.uuid for e in made]
    ada = g.entity("n1", "Ada", created_ms=TIMES[0])
    facts = [
        fact(f"f{n}", ada, ada, valid_ms=ms, invalid_ms=ms + 1, expired_ms=max(ms, 0))
        for n, ms in enumerate((*TIMES, *FAR))
    ]
    await g.write(entities=(ada,), facts=tuple(facts))
    assert (await g.store.dump(g.id)).facts == tuple(facts)


async def test_long_fields_are_kept(g: Scratch) -> None:
    """Texts at the limits of the service: names 512, facts 2,048, summaries 4,096, attributes 64 KiB."""
    ada = g.entity("u" * 128, "名" * 512, summary="𝒳" * 4_096, attributes={"k": "v" * 65_000})
    long = fact("f" * 128, ada, ada, "漢" * 2_048, keywords=tuple(f"keyword {n}" for n in range(200)))
    long = replace(long, episodes=tuple(f"e{n:0100}" for n in range(500)))
    await g.write(entities=(ada,), facts=(long,))
    assert await g.store.entity(ada.uuid, g.id) == [ada]
    assert await g.store.fact(long.uuid, g.id) == [long]
    reason = "r" * 2_000
    await g.parked(g.episode("e1"), reason=reason)
    (row,) = await g.items()
    assert row.reason == reason
