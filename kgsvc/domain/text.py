"""Normalisation and tokens: one function for every store, hash and match (design §3 and §5)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from threading import Lock

from snowballstemmer import stemmer

NORMALISER_VERSION = 1  # stored with the graph; a change means rebuilding keys
TOKENISER_VERSION = 1

# CJK ideographs, kana and hangul have no spaces between words: they become overlapping bigrams.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff々〆"
_RUNS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)*")
_ASCII_RUNS = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")  # the same, lower-case
_IS_CJK = re.compile(rf"[{_CJK}]")
_stem = stemmer("english")
_stemming = Lock()  # it works on itself, and indexes are made in several threads


def normalise(text: str) -> str:
    """The form in which names and facts are compared: NFKC, casefold, single spaces, stripped."""
    return " ".join(_folded(text).split())


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def normalise_body(text: str) -> str:
    """The form in which bodies are hashed: NFC and unified line ends only, since case matters in JSON."""
    return unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")


def is_cjk(text: str) -> bool:
    """Whether `text` begins with a character of a script written without spaces."""
    return _IS_CJK.match(text) is not None


@lru_cache(maxsize=65_536)
def _stemmed(run: str) -> str:
    word = run.replace("’", "'").removesuffix("'s").replace("'", "")
    with _stemming:
        return str(_stem.stemWord(word))


def tokens(text: str) -> list[str]:
    """Search terms of `text` in order, with repetitions.

    Latin words are stemmed; a CJK run becomes its overlapping bigrams and its last character.
    """
    folded = _folded(text)
    if folded.isascii():
        return [_stemmed(run) for run in _ASCII_RUNS.findall(folded)]
    found: list[str] = []
    for run in _RUNS.findall(folded):
        if _IS_CJK.match(run):
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
            found.append(run[-1])
        else:
            found.append(_stemmed(run))
    return found


def query_terms(text: str, bound: int = 256) -> list[str]:
    """Distinct terms of a query, at most `bound`: the first ones in order, the same for every store.

    A lone CJK character stays one term; it matches a run's last character, and by prefix any bigram.
    """
    return list(dict.fromkeys(tokens(text)))[:bound]
