"""Text: normalisation, tokens, their keys and words. One place for every store and hash."""

from __future__ import annotations

import math
import re
import unicodedata
from base64 import b32encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from threading import Lock
from typing import Any, ParamSpec, TypeVar, cast

from Stemmer import Stemmer

P = ParamSpec("P")
T = TypeVar("T")
_forgetters: list[Callable[[], None]] = []


def remembered(size: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`lru_cache` for functions of stored texts: `forget_texts` empties it."""

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(maxsize=size)(function)
        _forgetters.append(cached.cache_clear)
        return cast("Callable[P, T]", cached)

    return wrap


def forget_texts() -> None:
    """Empty the caches of functions of texts in this process: something was erased."""
    for forget in _forgetters:
        forget()


NORMALISER_VERSION = 1  # stored with the graph; a change means rebuilding keys
TOKENISER_VERSION = 1

# CJK ideographs, kana and hangul have no spaces between words: they become overlapping bigrams.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff々〆"
_RUNS = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)*")
_ASCII_RUNS = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")  # the same, lower-case
_IS_CJK = re.compile(rf"[{_CJK}]")
# Unicode's Default_Ignorable_Code_Point: soft hyphens, zero-width and direction marks, fillers, selectors,
# tags.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_stem = Stemmer("english", 0)  # without a cache of its own, which would keep erased words
_stemming = Lock()  # it works on itself, and indexes are made in several threads


def normalise(text: str) -> str:
    """The form in which names and facts are compared: NFKC, casefold, single spaces, stripped, without
    characters that nobody sees."""
    return " ".join((text.lower() if text.isascii() else _folded(_INVISIBLE.sub("", text))).split())


def has_invisible(text: str) -> bool:
    """Whether `text` holds a character that nobody sees, and so may look like another text."""
    return not text.isascii() and _INVISIBLE.search(text) is not None


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


def _stems(runs: Iterable[str]) -> list[str]:
    """Numbers and words of other scripts have no English suffix: they would push words out of the cache."""
    return [_stem_of(run) if "a" <= run[-1] <= "z" else _plain(run) for run in runs]


def _plain(run: str) -> str:
    return run if run.isalnum() else run.replace("’", "'").replace("'", "")


@remembered(65_536)
def _stem_of(run: str) -> str:
    word = run.replace("’", "'").removesuffix("'s").replace("'", "")
    with _stemming:
        return str(_stem.stemWord(word))


def tokens(text: str) -> list[str]:
    """Search terms of `text` in order, with repetitions.

    Latin words are stemmed; a CJK run becomes its overlapping bigrams and its last character.
    """
    return _stems(_runs(text))


def _runs(text: str) -> list[str]:
    """Latin words, not stemmed yet, and what CJK runs become."""
    folded = _folded(text)
    if folded.isascii():
        return _ASCII_RUNS.findall(folded)
    found: list[str] = []
    for run in _RUNS.findall(folded):
        if _IS_CJK.match(run):
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
            found.append(run[-1])
        else:
            found.append(run)
    return found


def query_terms(text: str, bound: int = 256) -> list[str]:
    """Distinct terms of a query, at most `bound`: the first ones in order, the same for every store.

    A lone CJK character stays one term; it matches a run's last character, and by prefix any bigram.
    """
    return list(dict.fromkeys(tokens(text)))[:bound]


def firsts(terms: list[str]) -> list[str]:
    """What a lone CJK character of a query matches by prefix: the first characters of the CJK terms, with
    repetitions."""
    return [term[0] for term in terms if is_cjk(term)]


@dataclass(frozen=True, slots=True)
class KeyedText:
    """A text as keys: those of its terms with repetitions, then those of `firsts`."""

    keys: tuple[str, ...]
    length: int  # how many of them are terms


class GroupKeys:
    """Terms as keys that are one group's own, in one epoch of it.

    A key is 9 characters of [a-z2-7], beginning with a letter that tells terms from prefixes: no analyzer
    or query parser of an engine takes it apart, and no group's keys lead to another group's facts.
    """

    def __init__(self, group_id: str, epoch: int) -> None:
        self._salt = blake2b(f"{epoch}\n{group_id}".encode(), digest_size=32).digest()

    def of_term(self, term: str) -> str:
        """The key of a term."""
        return _key(self._salt, term, "t")

    def of_prefix(self, char: str) -> str:
        """The key of all terms that begin with a CJK character, itself included."""
        return _key(self._salt, char, "p")

    def of_text(self, text: str) -> KeyedText:
        """The keys of a text."""
        terms = tokens(text)
        prefixes = map(self.of_prefix, firsts(terms))
        return KeyedText((*map(self.of_term, terms), *prefixes), len(terms))


@remembered(32_768)
def _key(salt: bytes, term: str, kind: str) -> str:
    """40 bits of a keyed hash: two words of a group hardly ever share a key, and then only count as one."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), key=salt, digest_size=5).digest()
    return kind + b32encode(digest).decode().lower()


K1 = 1.2  # how fast repetitions of a term stop counting
B = 0.4  # how much long facts are held back, 0 to 1; facts are short, and 0.75 did worse in trials


def idf(holding: int, facts: int) -> float:
    """What a term is worth that `holding` of a group's facts hold."""
    return math.log(1 + (facts - holding + 0.5) / (holding + 0.5))


N = TypeVar("N")  # a number, or an array of them


def gain(count: N, length: N) -> N:
    """What a term of worth 1 adds by BM25 to the score of a text that holds it `count` times; its length is
    told as a multiple of the mean. For arrays too."""
    counts, lengths = cast(Any, count), cast(Any, length)
    return cast(N, counts * (K1 + 1) / (counts + (K1 * (1 - B) + K1 * B * lengths)))


# Words are texts as numbers that are stored and read again without looking at the text. A word is 64 bits,
# little-endian: the hash of a term with the lowest bit 0, or of the character that a CJK term begins with and
# the lowest bit 1 (what a lone character of a query matches).


def term_word(term: str) -> bytes:
    """The word of a term."""
    return _word(term, 0)


def prefix_word(char: str) -> bytes:
    """The word of all terms that begin with a CJK character, itself included."""
    return _word(char, 1)


@remembered(32_768)
def _word(text: str, kind: int) -> bytes:
    number = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return (number & ~1 | kind).to_bytes(8, "little")


def words(text: str) -> bytes:
    """The words of a text: those of its terms, with repetitions, and of what CJK terms begin with."""
    terms = tokens(text)
    found = b"".join(map(_word, terms, repeat(0)))
    return found if text.isascii() else found + b"".join(map(prefix_word, firsts(terms)))
