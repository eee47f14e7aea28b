"""Groups of any size for benchmarks of search: who does what with whom, about what, told in episodes.

The same for every run: a fact depends on its group and its number alone, and so a larger group begins with
the facts of a smaller one. Facts are made in blocks, so that a million of them are never in memory at once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from bench.vocabulary import person, word, zipf
from kgsvc.domain.model.graph import Entity, Episode, Evidence, Fact, FactKind, Mention, Source
from kgsvc.domain.model.keys import content_hash, fact_key, mint, slot_of

BLOCK = 500  # facts that are made together
STARTED_MS = 1_600_000_000_000
_STEP_MS = 60_000  # from episode to episode
_FACTS_AN_ENTITY = 5
_FACTS_AN_EPISODE = 4
_EXPIRED_AFTER_MS = 1_000
_RELATIONS = {
    "MANAGES": "manages",
    "ADVISES": "advises",
    "WORKS_WITH": "works with",
    "MET": "met",
    "OWES": "owes a favour to",
    "TEACHES": "teaches",
    "TRADES_WITH": "trades with",
    "WROTE_TO": "wrote to",
    "DISAGREES_WITH": "disagrees with",
    "SUPPLIES": "supplies",
}
_ASKED = (
    "What does {name} have to do with the {word}?",
    "Who {verb} {name} about {word}?",
    "{name} and {other}",
    "What did {name} say about {word} and {more}?",
)


def name_of(number: int) -> str:
    """Of an entity: four people of five, else an organisation."""
    if number % 5 < 4:
        return person(number)
    return f"{word(number * 3 % 20_000).capitalize()} {('Works', 'Labs', 'Council')[number % 3]} {number}"


@lru_cache(maxsize=262_144)
def _uuid(group: str, number: int) -> str:
    return mint("entity", group, str(number))


def entity(group: str, number: int) -> Entity:
    """One entity of a group."""
    return Entity(_uuid(group, number), group, name_of(number), STARTED_MS)


def entities_of(block: int) -> range:
    """The entities that a block is the first to speak of."""
    size = BLOCK // _FACTS_AN_ENTITY
    return range(block * size, (block + 1) * size)


def facts_of(group: str, block: int, expired: float = 0.0) -> list[Fact]:
    """A block of facts, of which a share has expired."""
    rng = random.Random(f"facts/{block}")
    known = entities_of(block).stop
    return [_fact(group, number, known, rng, expired) for number in range(block * BLOCK, (block + 1) * BLOCK)]


def _fact(group: str, number: int, known: int, rng: random.Random, expired: float) -> Fact:
    # Some are spoken of far more than others: density falls with the root of the number.
    source, target = int(known * rng.random() ** 2), int(known * rng.random() ** 2)
    target = target if target != source else (source + 1) % known
    relation = rng.choice(list(_RELATIONS))
    words = [word(zipf(rng.random())) for _ in range(rng.randint(3, 8))]
    text = f"{name_of(source)} {_RELATIONS[relation]} {name_of(target)} about {' '.join(words)} {number}."
    source_uuid, target_uuid = _uuid(group, source), _uuid(group, target)
    told_in = _episode_uuid(group, number // _FACTS_AN_EPISODE)
    at_ms = STARTED_MS + number // _FACTS_AN_EPISODE * _STEP_MS
    slot = slot_of(FactKind.STATE, source_uuid, relation, target_uuid, {})
    made = Fact(
        uuid=mint("fact", group, str(number)),
        group_id=group,
        name=relation,
        fact=text,
        source_uuid=source_uuid,
        target_uuid=target_uuid,
        source_name=name_of(source),
        target_name=name_of(target),
        created_ms=at_ms,
        reference_ms=at_ms,
        slot=slot,
        fact_key=fact_key(slot, target_uuid, at_ms, text),
        episodes=(told_in,),
        evidence=(Evidence(at_ms, at_ms, told_in),),
    )
    if rng.random() >= expired:
        return made
    ended = at_ms + _EXPIRED_AFTER_MS
    return replace(made, invalid_ms=ended, expired_ms=ended, expired_reason="superseded")


def _episode_uuid(group: str, number: int) -> str:
    return mint("episode", group, str(number))


def episodes_of(facts: list[Fact]) -> tuple[list[Episode], list[Mention]]:
    """The episodes that begin among these facts, and whom they name; their bodies are the facts' texts."""
    told: dict[str, list[Fact]] = {}
    for fact in facts:
        told.setdefault(fact.episodes[0], []).append(fact)
    episodes = [_episode(uuid, some) for uuid, some in told.items()]
    return episodes, [mention for uuid, some in told.items() for mention in _mentions(uuid, some)]


def _episode(uuid: str, facts: list[Fact]) -> Episode:
    body = " ".join(fact.fact for fact in facts)
    at_ms = facts[0].reference_ms
    made = Episode(uuid, facts[0].group_id, body, Source.TEXT, at_ms, at_ms)
    return replace(made, content_hash=content_hash(made))


def _mentions(uuid: str, facts: list[Fact]) -> Iterator[Mention]:
    group = facts[0].group_id
    for named in dict.fromkeys(end for fact in facts for end in (fact.source_uuid, fact.target_uuid)):
        yield Mention(mint("mention", group, f"{uuid}/{named}"), group, uuid, named, facts[0].created_ms)


def questions(facts: int, seed: int = 11) -> Iterator[str]:
    """Questions about the first so many facts, without end and hardly ever the same twice."""
    rng = random.Random(f"questions/{seed}")
    known = max(2, facts // _FACTS_AN_ENTITY)
    while True:
        name, other = (name_of(int(known * rng.random() ** 2)) for _ in range(2))
        word_, more = (word(zipf(rng.random())) for _ in range(2))
        verb = rng.choice(list(_RELATIONS.values()))
        yield rng.choice(_ASKED).format(name=name, other=other, word=word_, more=more, verb=verb)
