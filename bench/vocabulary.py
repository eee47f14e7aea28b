"""Words, names and their vectors, the same in every process and on every machine.

Words are made of syllables and come by Zipf's law, names of a first and a last name. A text's vector is the
sum of random vectors of its words, names weighing more: texts are near that speak of the same things. It
takes microseconds, so that a million facts can be embedded, and a model server is never what is measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.text import tokens

DIMENSION = 384
MODEL = "words"  # the name under which the model server serves these vectors
SPACE = f"openai-{MODEL}-{DIMENSION}"  # as kgsvc names them
_NAME_WEIGHT = 3.0
_LIGHT_WEIGHT = 0.2
_LIGHT = frozenset(
    {"what", "who", "does", "did", "have", "to", "do", "with", "the", "and", "about", "a", "say"}
)
_WORDS = 20_000
_FIRST = [
    *("Ada", "Ben", "Cora", "Dan", "Eva", "Finn", "Gina", "Hugo", "Iris", "Jon", "Kira", "Leo", "Mona"),
    *("Nils", "Olga", "Paul", "Rosa", "Sven", "Tara", "Uwe", "Vera", "Walt", "Xenia", "Yuri", "Zoe"),
    *("Amir", "Bela", "Chen", "Dana", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Kofi", "Lena", "Milo"),
]
_ONSETS = [
    *("b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "kl", "l"),
    *("m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w", "z"),
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ou"]
_CODAS = ("", "l", "n", "r", "s", "t", "nd", "sk")


def zipf(share: float) -> int:
    """A rank from 0 on; `share`, evenly distributed in [0, 1), makes rank r about as frequent as 1 / r."""
    return int(float(_WORDS) ** share) - 1


@lru_cache(maxsize=_WORDS)
def word(rank: int) -> str:
    """The word of a rank; the more frequent ones are shorter."""
    made = ""
    number = rank
    for _ in range(2 if rank < 800 else 3):
        number, onset = divmod(number, len(_ONSETS))
        number, vowel = divmod(number, len(_VOWELS))
        made += _ONSETS[onset] + _VOWELS[vowel]
    return made + _CODAS[rank % len(_CODAS)]


def person(number: int) -> str:
    """A name; different numbers have different ones."""
    family, first = divmod(number, len(_FIRST))
    return f"{_FIRST[first]} {word(family * 7 % _WORDS).capitalize()}{_ending(family)}"


def _ending(family: int) -> str:
    return ("", "son", "berg", "ova", "ini", "sen")[family // _WORDS % 6]


def embedded(texts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors, a row each; zeros for a text without words."""
    rows = np.zeros((len(texts), DIMENSION), np.float32)
    for number, text in enumerate(texts):
        for part in text.split():
            rows[number] += _direction(part)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


class WordEmbedder:
    """These vectors, as loaders ask for them."""

    space = SPACE

    async def embed(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], None]:
        """See kgsvc.models.protocol.Embedder."""
        return embedded(texts), None


@lru_cache(maxsize=65_536)
def _direction(part: str) -> NDArray[np.float32]:
    """Of a text's part between blanks."""
    weight = _LIGHT_WEIGHT if part.lower() in _LIGHT else _NAME_WEIGHT if part[0].isupper() else 1.0
    terms = [_of_term(term) for term in tokens(part)]
    total = np.sum(terms, axis=0, dtype=np.float32) if terms else np.zeros(DIMENSION, np.float32)
    return np.asarray(total * np.float32(weight), np.float32)


def _of_term(term: str) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(DIMENSION, np.float32) / np.float32(DIMENSION**0.5)
