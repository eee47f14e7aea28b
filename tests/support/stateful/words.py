"""Small vocabularies, so that random operations meet one another, and a tiny embedder."""

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import FactKind, Polarity, Usage
from kgsvc.domain.text import tokens

PEOPLE = ("Ada", "Bob", "Cyd Ångström")
PLACES = ("Acme", "Globex", "東京 Labs")
KINDS = {"WORKS_AT": FactKind.FUNCTIONAL, "LIKES": FactKind.STATE, "VISITED": FactKind.EVENT}
POLARITIES = (Polarity.ASSERTS, Polarity.ASSERTS, Polarity.ASSERTS, Polarity.ENDS, Polarity.DENIES)
QUERIES = ("Where does Ada work?", "globex", "Bob likes 東京", "nothing of the kind")
HOUR = 3_600_000


class TinyEmbedder:
    """A few counts of token hashes: enough for rankings to differ, with ties."""

    space = "tiny-8"
    dimension = 8
    min_cosine = 0.0
    costs_model_calls = False

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[NDArray[np.float32], Usage]:
        """See Embedder."""
        return np.array([self._unit(text) for text in texts], np.float32).reshape(-1, 8), Usage()

    def vector(self, text: str) -> bytes:
        """As stored in a delta."""
        return self._unit(text).tobytes()

    def _unit(self, text: str) -> NDArray[np.float32]:
        counts: NDArray[np.float32] = np.zeros(8, "<f4")
        for token in tokens(text):
            counts[sum(token.encode()) % 8] += 1.0
        length = float(np.linalg.norm(counts))
        return (counts / length).astype("<f4") if length else counts

    async def close(self) -> None:
        """Nothing to release."""


def extraction(rng: random.Random, start_ms: int) -> Extraction:
    """What an episode might say: nothing, a name, or a few statements about overlapping things."""
    nodes: dict[str, ExtractedNode] = {}
    edges: list[ExtractedEdge] = []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        source, target = rng.choice(PEOPLE), rng.choice(PLACES)
        for name, kind in ((source, "Person"), (target, "Organization")):
            nodes[name] = ExtractedNode(name, name, kind, *_details(rng))
        edges.append(_edge(rng, source, target, start_ms))
    if not edges and rng.random() < 0.5:
        name = rng.choice(PEOPLE)
        nodes[name] = ExtractedNode(name, rng.choice((name, name.upper(), f" {name} ")))
    return Extraction(tuple(nodes.values()), tuple(edges))


def _details(rng: random.Random) -> tuple[str, dict[str, int]]:
    return rng.choice(("", "one", "two")), {"k": rng.randrange(3)} if rng.random() < 0.5 else {}


def _edge(rng: random.Random, source: str, target: str, start_ms: int) -> ExtractedEdge:
    relation, polarity = rng.choice(sorted(KINDS)), rng.choice(POLARITIES)
    valid = start_ms + rng.randrange(-3, 12) * HOUR if rng.random() < 0.6 else None
    ends = valid is not None and polarity is Polarity.ASSERTS and rng.random() < 0.3
    return ExtractedEdge(
        relation,
        f"{source} {polarity.value} {relation} {target}{rng.choice(('', ' gladly'))}",
        source,
        target,
        valid_ms=valid,
        invalid_ms=(valid or 0) + rng.randrange(9) * HOUR if ends else None,
        kind=KINDS[relation],
        polarity=polarity,
        keywords=tuple(rng.sample(("work", "city", "joy"), rng.randrange(3))),
        weight=rng.choice((1.0, 0.5)),
    )
