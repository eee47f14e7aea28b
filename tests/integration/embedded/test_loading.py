"""A group that is loaded with the words that are stored holds what one holds that reads its texts."""

import random
from dataclasses import replace

import numpy as np
import pytest

from kgsvc.domain.model.graph import Entity, Fact
from kgsvc.search.index.facts import GroupIndex
from kgsvc.search.index.text_index import MANY
from kgsvc.search.index.topk import Ranked
from kgsvc.search.query import parse
from kgsvc.stores.embedded import EmbeddedStore
from kgsvc.stores.search_protocol import Changes
from tests.support.samples import fact, pair, tombstone, write

WORDS = ("red", "teas", "wine", "東京", "京都", "京", "Ada's", "x1", "WROTE_TO")
QUERIES = ("red tea", "京", "東京 wine", "Bob", "Ada teas x1", "Adele", "wrote")
FACTS = 150


@pytest.mark.parametrize("at_once", [40, 1_000])
async def test_stored_words_find_what_the_texts_find(store: EmbeddedStore, at_once: int) -> None:
    ada, bob = await pair(store, "g")
    rng = random.Random(at_once)
    made = [_some(rng, n, ada, bob) for n in range(FACTS)]
    await write(store, "g", facts=tuple(made[:100]))
    await write(store, "g", facts=tuple(made[100:]))
    stored, read = GroupIndex("g"), GroupIndex("g")
    await _follow(store, stored, read, at_once)
    renamed = replace(ada, name="Adele")
    now = [replace(each, source_name="Adele", fact=f"{each.fact} anew") for each in made[:30]]
    await write(store, "g", entities=(renamed,), facts=tuple(now))
    await write(store, "g", remove_facts=tuple(tombstone(each) for each in made[40:120]))
    await write(store, "g", facts=tuple(made[60:80]))
    await _follow(store, stored, read, at_once)
    fresh = GroupIndex("g")
    await _follow(store, fresh, GroupIndex("g"), 1_000)
    assert _all(fresh) == _all(read)


async def _follow(store: EmbeddedStore, stored: GroupIndex, read: GroupIndex, at_once: int) -> None:
    """Bring both up to date, one of them without the words."""
    more = True
    while more:
        changes = await store.changes("g", stored.rev, at_once)
        assert all(each.words is not None for each in changes.facts)
        stored.apply(changes)
        read.apply(_without_words(changes))
        more = changes.more
    assert _all(stored) == _all(read)
    assert len(stored) == len(read) > MANY


def _without_words(changes: Changes) -> Changes:
    return replace(changes, facts=tuple(replace(each, words=None) for each in changes.facts))


def _all(index: GroupIndex) -> list[list[tuple[float, str]]]:
    every = np.ones(index.rows, np.bool_)
    return [_scores(index.by_keyword(parse(query), every, FACTS)) for query in QUERIES]


def _scores(ranked: list[Ranked]) -> list[tuple[float, str]]:
    return [(low, uuid) for low, uuid, _ in ranked]


def _some(rng: random.Random, n: int, ada: Entity, bob: Entity) -> Fact:
    ends = (ada, bob) if rng.random() < 0.5 else (bob, ada)
    return fact(f"f{n:03}", *ends, " ".join(rng.choices(WORDS, k=rng.randrange(1, 6))), keywords=("a b",))
