"""Who speaks without a name: one person, then one in each conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import RoleType, Source
from kgsvc.domain.resolution.decisions import (
    FactResolution,
    NodeResolution,
    ResolutionRequest,
    Resolutions,
)
from kgsvc.pipeline.preparing import PreparedItem
from tests.unit.pipeline.test_resolving import GROUP, Bench, Model, says
from tests.unit.pipeline.test_short_names import spoken


async def unnamed(bench: Bench, *messages: tuple[str, str]) -> None:
    """Messages of speakers without a name: the conversation, and what the speaker likes."""
    for conversation, liked in messages:
        lease, (work,) = await bench.works(says("LIKES", f"likes {liked}", "user", liked))
        one = replace(
            work.item.episode,
            source=Source.MESSAGE,
            role_type=RoleType.USER,
            source_description=conversation or None,
        )
        await bench.committer.commit(lease, [PreparedItem(replace(work.item, episode=one), work.stage)])
        await bench.store.release(lease)


async def liked(bench: Bench) -> set[frozenset[str]]:
    """What each of those who are called "user" likes."""
    dump = await bench.store.dump(GROUP)
    users = [each.uuid for each in dump.entities if each.name == "user"]
    return {frozenset(f.target_name for f in dump.facts if f.source_uuid == uuid) for uuid in users}


def together(request: ResolutionRequest) -> Resolutions:
    """Whatever may be one is one."""
    return Resolutions(
        {q.id: NodeResolution(next(iter(q.candidates), None)) for q in request.nodes},
        {q.id: FactResolution() for q in request.facts},
    )


def people(name: str) -> Extraction:
    """An extraction that names a person."""
    return Extraction((ExtractedNode("n", name, "Person"),))


ANN, BOB = ("Ann", people("Ann")), ("Bob", people("Bob"))
MODELS = pytest.mark.parametrize("model", [None, Model(together)], ids=["rules", "model"])


@MODELS
async def test_without_a_name_a_speaker_is_one_person_while_one_at_most_has_a_name(
    model: Model | None,
) -> None:
    bench = Bench(model)
    await spoken(bench, ANN)
    await unnamed(bench, ("chat 1", "jazz"), ("chat 2", "chess"), ("", "tea"))
    assert await liked(bench) == {frozenset({"jazz", "chess", "tea"})}


@MODELS
async def test_where_several_have_names_there_is_one_in_each_conversation(model: Model | None) -> None:
    bench = Bench(model)
    await unnamed(bench, ("chat 1", "jazz"))
    await spoken(bench, ANN, BOB)
    await unnamed(bench, ("chat 2", "chess"), ("chat 1", "tea"), ("chat 3", "golf"), ("chat 2", "rum"))
    assert await liked(bench) == {frozenset(each) for each in (("jazz", "tea"), ("chess", "rum"), ("golf",))}
    assert {"Ann", "Bob"} <= {each.name for each in (await bench.store.dump(GROUP)).entities}


async def test_the_address_of_a_message_makes_no_conversation() -> None:
    bench = Bench(None)
    await spoken(bench, ANN, BOB)
    urls = [f"source_url: https://example.org/{n}" for n in range(3)]
    await unnamed(bench, (f"chat 1, {urls[0]}", "jazz"), (f"chat 1, {urls[1]}", "chess"), (urls[2], "tea"))
    assert await liked(bench) == {frozenset({"jazz", "chess", "tea"})}


async def test_conversations_of_one_batch_are_told_apart_too() -> None:
    bench = Bench(None)
    lease, works = await bench.works(
        says("LIKES", "likes jazz", "user", "jazz"),
        people("Ann"),
        says("LIKES", "likes chess", "user", "chess"),
        people("Bob"),
    )
    spoke = [("chat 1", None), ("chat 1", "Ann"), ("chat 2", None), ("chat 2", "Bob")]
    said = [
        replace(
            work.item.episode,
            source=Source.MESSAGE,
            role_type=RoleType.USER,
            role=role,
            source_description=conversation,
        )
        for work, (conversation, role) in zip(works, spoke, strict=True)
    ]
    await bench.committer.commit(
        lease,
        [PreparedItem(replace(w.item, episode=each), w.stage) for w, each in zip(works, said, strict=True)],
    )
    assert await liked(bench) == {frozenset({"jazz"}), frozenset({"chess"})}


async def test_a_named_thing_called_user_is_nobody_who_speaks() -> None:
    bench = Bench(None)
    await spoken(bench, ANN, BOB)
    await unnamed(bench, ("chat 1", "jazz"))
    await spoken(bench, ("Ann", says("KNOWS", "Ann knows the user", "Ann", "user")))
    dump = await bench.store.dump(GROUP)
    (knows,) = [fact for fact in dump.facts if fact.name == "KNOWS"]
    assert dump.names["user"] == knows.target_uuid
