"""The groups of the benchmarks are the same at every run, and look like knowledge."""

from itertools import islice
from pathlib import Path

import numpy as np

from bench.knowledge import BLOCK, entities_of, episodes_of, facts_of, name_of, questions
from bench.loading import Loader
from bench.vocabulary import DIMENSION, embedded, person, word
from kgsvc.domain.model.keys import digest
from kgsvc.stores.embedded import EmbeddedStore


def test_a_block_is_the_same_whenever_it_is_made() -> None:
    facts = facts_of("g", 3)
    assert facts == facts_of("g", 3)
    # Figures are comparable between versions as long as this is so.
    assert digest(*(fact.fact for fact in facts)) == "2f8de5ace02739f480132cd65972ae0d128e55cc"
    assert [fact.fact for fact in facts] == [fact.fact for fact in facts_of("other", 3)]
    assert not {fact.uuid for fact in facts} & {fact.uuid for fact in facts_of("other", 3)}


def test_facts_are_distinct_and_between_entities_that_are_known_by_then() -> None:
    facts = [fact for block in range(3) for fact in facts_of("g", block)]
    names = {name_of(number) for block in range(3) for number in entities_of(block)}
    assert len({fact.uuid for fact in facts}) == len({fact.fact for fact in facts}) == 3 * BLOCK
    assert {fact.source_name for fact in facts} | {fact.target_name for fact in facts} <= names
    assert all(fact.source_uuid != fact.target_uuid for fact in facts)


def test_the_share_that_was_asked_for_has_expired() -> None:
    facts = [fact for block in range(4) for fact in facts_of("g", block, expired=0.95)]
    assert 0.92 < sum(fact.expired_ms is not None for fact in facts) / len(facts) < 0.98


def test_episodes_hold_the_facts_that_they_tell() -> None:
    facts = facts_of("g", 0)
    episodes, mentions = episodes_of(facts)
    bodies = {episode.uuid: episode.body for episode in episodes}
    assert all(fact.fact in bodies[fact.episodes[0]] for fact in facts)
    assert {mention.episode_uuid for mention in mentions} == set(bodies)


def test_names_and_words_are_distinct() -> None:
    assert len({word(rank) for rank in range(20_000)}) == 20_000
    assert len({person(number) for number in range(200_000)}) == 200_000


def test_texts_that_speak_of_the_same_are_near() -> None:
    same, asked, other = embedded(
        [
            "Ada Fabat manages Ben Kabal about brebal",
            "What did Ada Fabat say about brebal?",
            "Olga Drabas met Uwe Caban",
        ]
    )
    assert same.shape == (DIMENSION,)
    assert float(same @ asked) > 0.6
    assert float(other @ asked) < 0.3
    assert np.allclose(np.linalg.norm([same, asked, other], axis=1), 1.0, atol=1e-5)
    assert not embedded([""]).any()


def test_questions_are_the_same_at_every_run() -> None:
    first = list(islice(questions(1_000, 5), 20))
    assert first == list(islice(questions(1_000, 5), 20))
    assert first != list(islice(questions(1_000, 6), 20))


async def test_a_group_is_loaded_to_the_size_that_was_asked_for(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path)
    await store.migrate()
    loader = Loader(store, "g", episodes=True)
    await loader.to(100)
    await loader.to(300)
    await loader.to(BLOCK + 20)
    dump = await store.dump("g")
    depth = (await store.activity()).depth
    await store.close()
    assert len(dump.facts) == BLOCK + 20
    assert len(dump.episodes) == (BLOCK + 20) // 4
    assert depth.unfinished == 0
