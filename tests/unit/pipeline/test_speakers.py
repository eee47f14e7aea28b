"""A first name means who speaks, without a model, where exactly one full name of the group fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgsvc.domain.model.extraction import ExtractedNode, Extraction
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
