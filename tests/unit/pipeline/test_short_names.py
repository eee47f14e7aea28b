"""What short names mean without a model: the only one of the group that bears a fitting longer name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import RoleType, Source
from kgsvc.pipeline.preparing import PreparedItem
from tests.unit.pipeline.test_resolving import Bench, Model, names

TOM = {"Tom Weber": {"tom weber", "tom"}}


async def spoken(bench: Bench, *messages: tuple[str, Extraction]) -> None:
    """Messages of speakers, in one batch."""
    lease, items = await bench.works(*(said for _, said in messages))
    works = [
        PreparedItem(
            replace(
                w.item,
                episode=replace(w.item.episode, source=Source.MESSAGE, role_type=RoleType.USER, role=role),
            ),
            w.stage,
        )
        for w, (role, _) in zip(items, messages, strict=True)
    ]
    await bench.committer.commit(lease, works)
    await bench.store.release(lease)


@pytest.mark.parametrize("together", [False, True])
async def test_a_first_name_means_the_only_speaker_of_that_name(together: bool) -> None:
    bench = Bench(None)
    said = ("Tom Weber", names("Tom Weber")), ("Ann", names("Ann", "Tom"))
    if together:
        await spoken(bench, *said)
    else:
        for each in said:
            await spoken(bench, each)
    assert await bench.entities() == {**TOM, "Ann": {"ann"}}


async def test_who_is_found_by_a_first_name_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(None)
    await spoken(bench, ("Tom Weber", names("Tom Weber")))
    read, asked = bench.store.names, []

    async def counted(group_id: str, keys: Collection[str], uuids: Collection[str] = ()) -> NameView:
        asked.append(sorted(keys))
        return await read(group_id, keys, uuids)

    monkeypatch.setattr(bench.store, "names", counted)
    await spoken(bench, ("Ann", names("Ann", "Tom")))
    assert asked == [["ann", "tom"]]
    assert await bench.entities() == {**TOM, "Ann": {"ann"}}


async def test_of_two_people_with_one_first_name_neither_is_meant() -> None:
    bench = Bench(None)
    await spoken(bench, ("Tom Weber", names("Tom Weber")), ("Ann", names("Ann", "Tom Baker")))
    await spoken(bench, ("Ann", names("Ann", "Tom")))
    assert {"Tom", "Tom Weber", "Tom Baker"} < (await bench.entities()).keys()


async def test_who_never_spoke_is_not_meant_nor_is_what_is_no_person() -> None:
    bench = Bench(None)
    await bench.commit(names("Tom Weber"))
    await bench.commit(names("Tom"))
    assert {"Tom", "Tom Weber"} == (await bench.entities()).keys()
    bench = Bench(None)
    await spoken(bench, ("Jordan Ito", names("Jordan Ito")))
    await bench.commit(Extraction((ExtractedNode("n", "Jordan", "Location"),)))
    assert {"Jordan", "Jordan Ito"} == (await bench.entities()).keys()


async def test_a_model_is_asked_instead() -> None:
    model = Model()
    bench = Bench(model)
    await spoken(bench, ("Tom Weber", names("Tom Weber")))
    await spoken(bench, ("Ann", names("Ann", "Tom")))
    assert [[q.name for q in request.nodes] for request in model.requests] == [["Tom"]]


Told = tuple[str, str, str]  # name, type, what is stated about it


def told(*named: Told) -> Extraction:
    """Names of these types, with sentences about them."""
    nodes = tuple(ExtractedNode(f"n{n}", name, kind) for n, (name, kind, _) in enumerate(named))
    edges = tuple(
        ExtractedEdge("SAID", fact, f"n{n}", f"n{n}") for n, (_, _, fact) in enumerate(named) if fact
    )
    return Extraction(nodes, edges)


@pytest.mark.parametrize(
    ("known", "named"),
    [
        (("Hana Brook", "Person", ""), ("Hana", "Entity", "")),
        (("Hana Brook", "Person", ""), ("Brook", "Person", "Brook mends pumps.")),
        (("Hana Brook", "Person", ""), ("Hana B.", "Entity", "")),
        (("Hana Brook", "Person", ""), ("H. Brook", "Entity", "")),
        (("Hana Lucy Brook", "Person", ""), ("Hana Brook", "Person", "")),
        (("Hana Brook", "Person", ""), ("Dr Brook", "Person", "")),
        (("Dr Brook", "Person", ""), ("Brook", "Person", "")),
        (("Hana Brook", "Entity", ""), ("Hana", "Person", "")),
        (("Mr Hana Brook", "Person", ""), ("Hana Brook", "Person", "")),
        (("Hana Brook", "Person", ""), ("hana.brook@mill.example", "Person", "")),
    ],
)
async def test_a_short_name_means_the_only_one_that_it_can_stand_for(known: Told, named: Told) -> None:
    bench = Bench(None)
    await bench.commit(told(known))
    await bench.commit(told(named))
    found = await bench.entities()
    assert len(found) == 1
    assert found.keys() <= {known[0], named[0]}


@pytest.mark.parametrize(
    ("known", "named"),
    [
        (("Hana Brook", "Person", ""), ("Hana", "Person", "My neighbour Hana has a drill.")),
        (("Hana Brook", "Person", ""), ("Hana", "Person", "Another Hana called.")),
        (("Hana Brook", "Person", ""), ("Hana", "Person", "Hana, a plumber, came by.")),
        (("Hana Brook", "Person", ""), ("Hana", "Person", "Hana, Ben's sister, runs too.")),
        (("Hana Brook", "Person", ""), ("Mrs Brook", "Person", "")),
        (("Hana Brook", "Person", ""), ("Hana", "Organization", "")),
        (("Hana", "Person", ""), ("Hana Brook", "Person", "Hana Brook joins us.")),
        (("Perth University", "Organization", ""), ("Perth", "Entity", "")),
        (("Kiln Lane Studios", "Organization", ""), ("Kiln Lane", "Entity", "Kiln Lane rang.")),
        (("Kiln", "Entity", "I left Kiln."), ("Kiln Engineering", "Organization", "")),
        (("Larch Transparency Center", "Organization", ""), ("Larch", "Organization", "Larch made it.")),
        (("Larch Corp", "Organization", ""), ("Larch Transparency Center", "Organization", "")),
        (("Larch Server", "Entity", "The Larch Server runs."), ("Server", "Entity", "Server stopped.")),
        (("Larch Presentation Foundation", "Organization", ""), ("Larch", "Entity", "Larch rang.")),
        (("Project Vienna", "Project", ""), ("Vienna", "Location", "")),
        (("Kestrel Labs", "Organization", ""), ("Project Kestrel", "Project", "")),
        (("Mr Brook", "Person", ""), ("Mrs Brook", "Person", "")),
        (("Hana Brook", "Person", ""), ("@", "Entity", "")),
        (("Oamaru Joinery", "Organization", ""), ("Oamaru", "Entity", "I live in Oamaru.")),
        (
            ("Renault Kangoo", "Entity", "We bought a used Renault Kangoo."),
            ("Renault", "Entity", "Renault rang."),
        ),
        (("Tay Bridge", "Location", ""), ("Tay", "Entity", "Tay froze.")),
        (("Tay Greyhound Trust", "Entity", ""), ("Tay", "Entity", "Tay froze.")),
        (("Hana Brook", "Entity", ""), ("Hana", "Entity", "")),
    ],
)
async def test_where_words_or_types_part_two_names_they_stay_two(known: Told, named: Told) -> None:
    bench = Bench(None)
    await bench.commit(told(known))
    await bench.commit(told(named))
    assert (await bench.entities()).keys() == {known[0], named[0]}


async def test_a_usual_nickname_means_who_speaks_whichever_comes_first() -> None:
    for order in (("Barnaby Reed", "Barney"), ("Barney", "Barnaby Reed")):
        bench = Bench(None)
        for name in order:
            await spoken(bench, (name if " " in name else "Ann", names("Ann", name)))
        found = await bench.entities()
        assert found == {"Barnaby Reed": {"barnaby reed", "barney"}, "Ann": {"ann"}}, order


async def test_two_who_speak_under_different_names_are_two() -> None:
    bench = Bench(None)
    await spoken(bench, ("Tom Weber", names("Tom Weber")), ("Tom", names("Tom")))
    assert (await bench.entities()).keys() == {"Tom", "Tom Weber"}


async def test_who_was_told_of_long_ago_is_meant_only_where_the_full_name_stands_too() -> None:
    for days, body, count in ((20, "", 1), (80, "", 2), (80, "Present: Hana Brook. Hana left.", 1)):
        bench = Bench(None)
        await bench.commit(told(("Hana Brook", "Person", "Hana Brook sang.")))
        lease, items = await bench.works(told(("Hana", "Person", "Hana left.")))
        later = items[0].item.episode.reference_ms + days * 24 * 3_600_000
        episode = replace(items[0].item.episode, reference_ms=later, body=body)
        work = PreparedItem(replace(items[0].item, episode=episode), items[0].stage)
        await bench.committer.commit(lease, [work])
        await bench.store.release(lease)
        assert len(await bench.entities()) == count, days


async def test_a_list_of_names_is_nobodys_full_name() -> None:
    bench = Bench(None)
    await spoken(bench, ("Sage, Phoenix, Viper", names("Sage, Phoenix, Viper", "Sage")))
    assert (await bench.entities()).keys() == {"Sage, Phoenix, Viper", "Sage"}


async def test_facts_of_who_speaks_are_not_compared_with_those_of_a_name_that_does_not_fit() -> None:
    """The model is asked whether both are one, since a nickname may share nothing with the name."""
    speaker = "Anahera Pohatu"

    def told(who: str, relation: str) -> Extraction:
        people = tuple(ExtractedNode(name, name, "Person") for name in dict.fromkeys((speaker, who)))
        edge = ExtractedEdge(relation, f"{who} {relation} Acme", who, "Acme")
        return Extraction((*people, ExtractedNode("Acme", "Acme")), (edge,))

    bench = Bench(model := Model())
    await spoken(bench, (speaker, told(speaker, "LEADS")))
    await spoken(bench, (speaker, told("Zed", "HEADS")))
    (request,) = model.requests
    assert [(each.name, each.candidates) for each in request.nodes] == [("Zed", (0,))]
    assert [entity.name for entity in request.entities] == [speaker]
    assert list(request.facts) == []
