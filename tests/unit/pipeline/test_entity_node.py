"""What a caller says of an entity against what extractions say of it (docs/contract.md)."""

import pytest

from kgsvc.commands.core import Core, until_applied
from kgsvc.commands.entities import EntityInput, upsert
from kgsvc.domain.errors import Conflict, Overloaded, RevisionChanged
from kgsvc.domain.model.delta import GroupHead, NameView
from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Entity, Episode, Source
from kgsvc.domain.names.entities import resolve
from kgsvc.domain.names.meanings import BatchItem
from tests.support.core import core_of


def _view(*entities: Entity, **aliases: str) -> NameView:
    by_uuid = {entity.uuid: entity for entity in entities}
    names = {entity.name.lower(): entity.uuid for entity in entities} | aliases
    return NameView(
        GroupHead("g", rev=3, last_ms=50), {key: by_uuid[uuid] for key, uuid in names.items()}, by_uuid
    )


def _written(view: NameView, wanted: EntityInput) -> Entity:
    delta = upsert(view, wanted, 100)
    assert delta is not None
    return delta.entities[0]


def test_later_extractions_do_not_change_what_a_caller_set() -> None:
    asserted = _written(_view(), EntityInput("e", "g", "Ann", "asserted", {"role": "boss"}))
    episode = Episode("ep", "g", "text", Source.TEXT, 10**15, 1)
    node = ExtractedNode("n", "ANN", "Person", "extracted", {"role": "clerk", "age": 3})
    resolved = resolve(_view(asserted), "g", [BatchItem(episode, Extraction((node,)), 1)], 200)
    merged = resolved.by_key["ann"]
    assert (merged.name, merged.summary) == ("Ann", "asserted")
    assert merged.attributes == {"role": "boss", "age": 3}


def test_new_name_is_put_and_an_alias_is_taken_back_without() -> None:
    ann = Entity("e", "g", "Ann", 1)
    renamed = upsert(_view(ann), EntityInput("e", "g", "Anna"), 100)
    assert renamed is not None
    assert renamed.names == {"anna": "e"}
    back = upsert(_view(ann, anna="e"), EntityInput("e", "g", "Anna"), 100)
    assert back is not None
    assert back.names == {}


def test_owner_of_the_name_refuses_another_uuid() -> None:
    with pytest.raises(Conflict):
        upsert(_view(Entity("e", "g", "Ann", 1)), EntityInput("f", "g", "aNN"), 100)


async def test_contention_gives_up_with_a_delay() -> None:
    tries = 0

    async def overtaken(_core: Core) -> None:
        nonlocal tries
        tries += 1
        raise RevisionChanged

    with pytest.raises(Overloaded):
        await until_applied(overtaken)(core_of(None))
    assert tries == 20
