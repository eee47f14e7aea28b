"""A graph that is the same in every store and every run, and everything that may be asked of it.

Two groups of people, their talk and what is stated about them: English and Japanese, superseded, expired and
announced facts, vectors of words, communities. All words come from one seed, all uuids from a counter.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.communities import BuildRequest, Described, Draft
from kgsvc.domain.model.graph import Entity, Episode, Fact, RoleType, Source, Usage, keyword_text
from kgsvc.domain.text import tokens
from kgsvc.models.protocol import Rated, Vectors
from kgsvc.search.filters import NONE, Filters, Span
from kgsvc.search.plans import RECIPES, Recipe
from kgsvc.stores.protocol import Store
from tests.support.samples import MANY, NOW, Scratch, fact, present

DAY = 86_400_000
DIMENSION = 16
SPACE = "pinned:16"
QUERIES = (
    "Who has the red piano?",
    "What did Bea say about the boat in October 2025?",
    "京都の東京タワー and 茶",
    "Cy letter garden",
)
_PEOPLE = ("Ann", "Bea", "Cy", "Dee", "Eli", "Fay", "Gus", "京子")
_THINGS = ("piano", "boat", "letter", "garden", "tea", "東京タワー", "kite", "clock", "lamp", "茶碗")
_COLOURS = ("red", "green", "old", "new", "lost", "borrowed", "small")
_VERBS = ("sold", "found", "painted", "repaired", "promised", "wrote about", "forgot")


def vector(text: str) -> NDArray[np.float32]:
    """Of the words of a text, each a direction of its own; of unit length."""
    words = [np.random.default_rng(crc32(each.encode())).normal(size=DIMENSION) for each in tokens(text)]
    summed = np.sum(words, axis=0) if words else np.ones(DIMENSION)
    unit: NDArray[np.float32] = (summed / np.linalg.norm(summed)).astype("<f4")
    return unit


class WordVectors:
    """An Embedder of `vector`."""

    space = SPACE
    dimension = DIMENSION
    min_cosine = 0.1
    costs_model_calls = False

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        """See Embedder."""
        return np.array([vector(text) for text in texts], np.float32), Usage()

    async def close(self) -> None:
        """Nothing is held."""


class ByLength:
    """A CrossEncoder that rates longer texts higher."""

    costs_model_calls = False

    async def rate(self, query: str, texts: Sequence[str], group_id: str = "") -> Rated:
        """See CrossEncoder."""
        return Rated(tuple(min(100, len(text)) for text in texts), Usage())

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class Case:
    """What is asked beside a query."""

    name: str
    filters: Filters = NONE
    center: str | None = None
    origins: tuple[str, ...] = ()


CASES = (
    Case("plain"),
    Case("centered", center="0-n3"),
    Case("walking", origins=("0-n1", "1-n2")),
    Case("typed", Filters(entity_types=frozenset({"Poet"}))),
    Case("related", Filters(relations=frozenset({"SOLD", "FOUND"}))),
    Case("true then", Filters(true_at_ms=NOW - 3 * DAY)),
    Case("known then", Filters(known_at_ms=NOW + 15)),
    Case("ended", Filters(invalid=Span(NOW - 9 * DAY, NOW))),
)


async def fill(store: Store, prefix: str) -> tuple[str, str]:
    """Write the corpus into two groups, whose ids begin with `prefix`."""
    ids = f"{prefix}-0", f"{prefix}-1"
    for number, group_id in enumerate(ids):
        await _fill(Scratch(store, group_id), number)
    return ids


async def _fill(g: Scratch, number: int) -> None:
    rng = random.Random(number)
    nodes = [_entity(g, number, n, name) for n, name in enumerate((*_PEOPLE, *_THINGS))]
    made = [_episode(g, rng, number, n) for n in range(60)]
    await g.accepted(*made)
    facts = [_fact(rng, number, n, nodes, made) for n in range(150)]
    named = sorted({(e, end) for f in facts for e in f.episodes for end in (f.source_uuid, f.target_uuid)})
    told = {e.uuid: tuple(f.uuid for f in facts if e.uuid in f.episodes) for e in made}
    texts = {f.uuid: keyword_text(f) for f in facts} | {e.uuid: e.name for e in nodes}
    await g.write(
        entities=tuple(nodes),
        facts=tuple(facts),
        mentions=tuple(g.mention(episode, entity) for episode, entity in named),
        episode_edges={uuid: each for uuid, each in told.items() if each},
        vectors={uuid: vector(text).tobytes() for uuid, text in texts.items()},
        space=SPACE,
        found=tuple(e.uuid for e in made),
    )
    await _publish(g, number)


def _entity(g: Scratch, number: int, n: int, name: str) -> Entity:
    labels = ("Entity", "Poet") if n % 3 == 0 else ("Entity",)
    return g.entity(f"{number}-n{n}", name, labels=labels, summary=f"{name} is known for number {n}.")


def _words(rng: random.Random) -> str:
    return f"{rng.choice(_VERBS)} the {rng.choice(_COLOURS)} {rng.choice(_THINGS)}"


def _episode(g: Scratch, rng: random.Random, number: int, n: int) -> Episode:
    name = rng.choice(_PEOPLE)
    more = " ".join(_words(rng) for _ in range(rng.randrange(1, 5)))
    body, at = f"{name} {more} on day {n}", (n - 30) * DAY // 24
    if n % 5 == 0:
        return g.episode(f"{number}-e{n:02}", body=body, at=at)
    said = {"source": Source.MESSAGE, "role": name, "role_type": RoleType.USER}
    return g.episode(f"{number}-e{n:02}", body=f"{name}(user): {body}", at=at, **said)


def _fact(rng: random.Random, number: int, n: int, nodes: Sequence[Entity], told: Sequence[Episode]) -> Fact:
    verb = rng.choice(_VERBS)
    person, thing = rng.choice(nodes[: len(_PEOPLE)]), rng.choice(nodes)
    episodes = tuple(sorted({rng.choice(told).uuid for _ in range(rng.choice((1, 1, 2)))}))
    start = NOW - rng.randrange(10) * DAY - n
    made = fact(
        f"{number}-f{n:03}",
        person,
        thing,
        f"{person.name} {verb} the {rng.choice(_COLOURS)} {thing.name} {'again ' * (n % 4)}as told {n}",
        name=verb.upper().replace(" ", "_"),
        reference_ms=start,
        valid_ms=start,
        created_ms=NOW + n % 30,
        episodes=episodes,
    )
    if n % 11 == 0:
        return replace(made, invalid_ms=start + DAY)
    if n % 13 == 0:
        ended = {"invalid_ms": NOW + 5, "expired_ms": NOW + 20, "expired_reason": "superseded"}
        return replace(made, **ended)  # type: ignore[arg-type]
    return replace(made, valid_ms=NOW + 999 * DAY) if n % 17 == 0 else made


async def _publish(g: Scratch, number: int) -> None:
    """Two communities, of the first people and of the first things."""
    await g.store.request_builds([BuildRequest(g.id, f"{g.id}-build", NOW)])
    work = next(each for each in await g.store.open_builds(NOW, MANY) if each.group_id == g.id)
    lease = present(await g.store.claim_build(work, "worker", NOW))
    members = [tuple(f"{number}-n{n}" for n in range(first, first + 4)) for first in (0, len(_PEOPLE))]
    drafts = [Draft(f"{number}-c{n}", each, each[:1], ()) for n, each in enumerate(members)]
    await g.store.put_drafts(lease, drafts)
    await g.store.end_drafts(lease, len(drafts), NOW)
    for n, draft in enumerate(drafts):
        name, people = f"{_COLOURS[n]} {_THINGS[n]}", " ".join(_PEOPLE[n : n + 3])
        told = Described(draft.uuid, name, f"{people} and {_THINGS[n + 2]}", vector(name).tobytes(), SPACE)
        await g.store.describe(lease, [told], NOW)
    await g.store.publish(lease, NOW)


def asked() -> Iterator[tuple[Recipe, str, Case]]:
    """Every recipe with every case; where nothing else is asked every query, else two of them."""
    for recipe in RECIPES:
        for case in CASES:
            for query in QUERIES if case.name == "plain" else QUERIES[:2]:
                yield recipe, query, case
