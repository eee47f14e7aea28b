"""Vectors of texts: the recent ones are kept; without a model, words are hashed to numbers."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.extraction import Extraction
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.text import remembered, tokens
from kgsvc.models.protocol import Embedder, Vectors
from kgsvc.runtime import EMBEDDED_CHARS, offload

_CACHED_BYTES = 32 * 1024 * 1024


def texts_of(extraction: Extraction) -> set[str]:
    """What is embedded of an extraction: names of nodes, texts of facts."""
    return {n.name.strip() for n in extraction.nodes} | {e.fact.strip() for e in extraction.edges}


class CachingEmbedder:
    """An embedder that keeps the vectors of recently used texts, bounded by bytes: texts recur."""

    def __init__(self, inner: Embedder, cached_bytes: int = _CACHED_BYTES) -> None:
        self._inner = inner
        self._cached_bytes = cached_bytes
        self._cache: OrderedDict[str, bytes] = OrderedDict()  # least recently used first
        self._bytes = 0
        # As of the embedder itself, see Embedder.
        self.space = inner.space
        self.min_cosine = inner.min_cosine
        self.costs_model_calls = inner.costs_model_calls

    async def vectors(self, texts: Collection[str], group_id: str = "") -> dict[str, bytes]:
        """`vectors_and_cost` without the cost."""
        return (await self.vectors_and_cost(texts, group_id))[0]

    async def vectors_and_cost(self, texts: Collection[str], group_id: str) -> tuple[dict[str, bytes], Usage]:
        """Float32 little-endian bytes by text, asking the model only for unknown ones, and what that cost,
        which is counted for the group. Raises StepError."""
        known = {text: self._cache[text] for text in texts if text in self._cache}
        missing = sorted(set(texts) - known.keys())
        fresh, cost = dict[str, bytes](), FREE
        if missing:
            rows, cost = await self._inner.embed(missing, group_id)
            fresh = {text: row.astype("<f4").tobytes() for text, row in zip(missing, rows, strict=True)}
        self._remember(known | fresh)
        return known | fresh, cost

    def forget(self) -> None:
        """Keep no text any more."""
        self._cache.clear()
        self._bytes = 0

    def _remember(self, used: dict[str, bytes]) -> None:
        for text, vector in used.items():
            if text not in self._cache:  # two calls may have asked for the same at once
                self._bytes += len(vector) + 4 * len(text)
            self._cache[text] = vector
            self._cache.move_to_end(text)
        while self._bytes > self._cached_bytes:
            text, vector = self._cache.popitem(last=False)
            self._bytes -= len(vector) + 4 * len(text)


_PLACES = 4  # dimensions of a word itself: two words seldom share all of them
_PIECES_WEIGHT = 0.5  # of all pieces of a word together, beside the word itself
_LIGHT_WEIGHT = 0.2  # of words that are in every text
_SHORTEST, _LONGEST = 3, 5  # characters of a piece
_LONGEST_WORD = 64  # characters of a word that are cut to pieces
_CACHED_WORDS = 65_536

# Words that are in every text. Part of the space "hashing-v1": another list makes another space.
_LIGHT = frozenset(
    tokens("""
a about after again all also am an and any are as at be because been before being between both but by can
could did do does doing don't down during each every few for from further get go had has have having he her
here hers him his how i if in into is it its it's just know like make me more most much my no nor not now of
off on once only or other our out over own really same she should so some such than that the their them then
there these they thing this those through to too under until up us very was we were what when where which
while who whom why will with would yes yet you your i'm i've i'll i'd you're you've we're they're that's
what's hey hi hello thanks thank wow yeah oh okay ok great good nice asked said
""")
)

_Buckets = tuple[NDArray[np.intp], NDArray[np.float32]]


class HashingEmbedder:
    """Implements Embedder by signed feature hashing; the same text gives the same vector everywhere.

    Texts are near that share words, or pieces of words ("colour", "color"); meaning beyond that it does not
    know. A word's weight grows with the logarithm of its count; words that are everywhere weigh little.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 8:
            raise ValueError("a hashing embedder needs at least 8 dimensions")
        self.space = f"hashing-v1-{dimension}"
        self.dimension = dimension
        # Hashed words recognise similar wording only. Lower cosines, fused with BM25 by rank, cost 6 points
        # of recall on chats and 8 on documents.
        self.min_cosine = 0.55
        self.costs_model_calls = False

    async def embed(self, texts: Sequence[str], group_id: str = "") -> tuple[Vectors, Usage]:
        """See Embedder. Large batches run in a thread beside the event loop."""
        return await offload(sum(map(len, texts)) / EMBEDDED_CHARS, self._embed, list(texts)), FREE

    async def close(self) -> None:
        """Nothing to release."""

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            self._fill(row, text)
        return vectors

    def _fill(self, row: NDArray[np.float32], text: str) -> None:
        counts = Counter(tokens(text))
        if not counts:
            return
        found = [_buckets(word, self.dimension) for word in counts]
        weights = [
            values if count == 1 else values * np.float32(1.0 + math.log(count))
            for (_, values), count in zip(found, counts.values(), strict=True)
        ]
        places = np.concatenate([places for places, _ in found])
        sums = np.bincount(places, weights=np.concatenate(weights), minlength=self.dimension)
        length = math.sqrt(float(sums @ sums))
        if length > 0:
            row[:] = sums / length


@remembered(_CACHED_WORDS)
def _buckets(word: str, dimension: int) -> _Buckets:
    """The dimensions that a word touches, and by how much."""
    weights: dict[int, float] = {}
    pieces = list(_pieces(word))
    share = _PIECES_WEIGHT / math.sqrt(len(pieces)) if pieces else 0.0
    whole = [(f"{number}:{word}", 1.0 / math.sqrt(_PLACES)) for number in range(_PLACES)]
    scale = _LIGHT_WEIGHT if word in _LIGHT else 1.0
    for feature, weight in (*whole, *((piece, share) for piece in pieces)):
        place, sign = _hash(feature, dimension)
        weights[place] = weights.get(place, 0.0) + sign * weight * scale
    return (
        np.fromiter(weights.keys(), dtype=np.intp, count=len(weights)),
        np.fromiter(weights.values(), dtype=np.float32, count=len(weights)),
    )


def _pieces(word: str) -> Iterator[str]:
    """Runs of 3 to 5 characters of the word between its borders: "^ca", "cat", "at$", …"""
    bounded = f"^{word[:_LONGEST_WORD]}$"
    for size in range(_SHORTEST, _LONGEST + 1):
        for start in range(len(bounded) - size + 1):
            yield bounded[start : start + size]


def _hash(feature: str, dimension: int) -> tuple[int, float]:
    """A dimension and a sign that depend on the feature alone, on every machine and in every process."""
    digest = int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return (digest >> 1) % dimension, 1.0 if digest & 1 else -1.0
