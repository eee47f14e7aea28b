"""How often each term occurs in what something is found by."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kgsvc.domain.model.graph import keyword_text
from kgsvc.domain.text import is_cjk, prefix_word, term_word, tokens
from kgsvc.search.index.arrays import Arrays, Frozen
from kgsvc.search.index.word_blocks import COUNT_BITS as _COUNT_BITS
from kgsvc.search.index.word_blocks import MAX_COUNT, Packed, PostingBlock, Rows, WordBlocks

__all__ = ["keyword_counts", "keyword_text"]


def keyword_counts(text: str) -> Counter[str]:
    """How often each term occurs in a keyword text."""
    return Counter(tokens(text))


_TERM_BYTES = 250  # measured: dict entry, term string, array header


class Postings:
    """Inverted index: for each term the rows in ascending order, each with the term's count beside it.

    Row and count share one 32-bit number, so that a posting costs four bytes. At most 2**24 rows. Rows that
    come many at once, with stored words, are in blocks instead; no row is in both.
    """

    def __init__(self) -> None:
        self._lists: dict[str, array[int]] = {}
        self._bigrams: dict[str, set[str]] = {}  # CJK terms of two characters, by the first
        self._postings = 0
        self._last = -1  # the highest row that ever was entered
        self._blocks = WordBlocks()

    def add(self, row: int, counts: Mapping[str, int]) -> None:
        """Enter a fact's terms; the row must not hold any."""
        first = row << _COUNT_BITS
        for term, count in counts.items():
            word = first | (count if count < MAX_COUNT else MAX_COUNT)
            postings = self._lists.get(term)
            if postings is None:
                self._begin(term, word)
            elif row > self._last:
                postings.append(word)
            else:
                postings.insert(bisect_left(postings, word), word)
        self._last = max(self._last, row)
        self._postings += len(counts)

    def add_words(self, rows: Rows, texts: Sequence[bytes]) -> NDArray[np.int64]:
        """Enter the stored words of rows, which must not hold any; how many terms each has."""
        return self._blocks.add(rows, texts)

    def _begin(self, term: str, word: int) -> None:
        self._lists[term] = array("I", (word,))
        if _is_bigram(term):
            self._bigrams.setdefault(term[0], set()).add(term)

    def remove(self, row: int, counts: Mapping[str, int]) -> None:
        """Take out a fact's terms, as they were added."""
        if self._blocks.drop(row):
            return
        for term in counts:
            postings = self._lists[term]
            del postings[bisect_left(postings, row << _COUNT_BITS)]
            if not postings:
                self._forget(term)
        self._postings -= len(counts)

    def find(self, term: str, by_prefix: bool) -> Packed:
        """Postings of a term; by prefix, those of the bigrams that begin with it count as the same term.

        They may be a view, to be let go before anything is added or removed.
        """
        terms = [term, *sorted(self._bigrams.get(term, ()))] if by_prefix else [term]
        found = [np.frombuffer(self._lists[t], np.uint32) for t in terms if t in self._lists]
        word = prefix_word(term) if by_prefix else term_word(term)
        found += self._blocks.find(int.from_bytes(word, "little"))
        if not found:
            return np.empty(0, np.uint32)
        if len(found) == 1:
            return found[0]
        found.sort(key=lambda postings: int(postings[0]))
        together = np.concatenate(found)
        if by_prefix:
            return _summed(together)
        apart = all(one[-1] < next_one[0] for one, next_one in pairwise(found))
        return together if apart else np.sort(together, kind="stable")  # which merges what is in order

    def freeze(self) -> Frozen:
        """See kgsvc.search.index.arrays: the lists become a block."""
        lists = {term: postings.tobytes() for term, postings in self._lists.items()}
        blocks = self._blocks.freeze()
        return lambda: blocks(_block_of(lists))

    def take(self, arrays: Arrays) -> None:
        """What was frozen, in the place of what there is. Raises LookupError."""
        self._lists, self._bigrams, self._postings, self._last = {}, {}, 0, -1
        self._blocks.take(arrays)

    @property
    def nbytes(self) -> int:
        """About what the lists and their terms hold."""
        return self._postings * 5 + len(self._lists) * _TERM_BYTES + self._blocks.nbytes

    def _forget(self, term: str) -> None:
        del self._lists[term]
        if _is_bigram(term):
            rest = self._bigrams[term[0]]
            rest.discard(term)
            if not rest:
                del self._bigrams[term[0]]


def rows_of(packed: Packed) -> NDArray[np.intp]:
    """The rows of postings."""
    return (packed >> _COUNT_BITS).astype(np.intp)


def counts_of(packed: Packed) -> NDArray[np.float64]:
    """The counts of postings."""
    return (packed & MAX_COUNT).astype(np.float64)


def found_at(packed: Packed, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Which of `rows` (their places) the postings name, and with what counts."""
    words = rows.astype(np.uint32) << np.uint32(_COUNT_BITS)
    found = np.minimum(np.searchsorted(packed, words), len(packed) - 1)
    there = packed[found]
    places = np.flatnonzero(there >> np.uint32(_COUNT_BITS) == rows)
    return places, counts_of(there[places])


def _summed(packed: Packed) -> Packed:
    """One posting a row: the counts of several terms added up."""
    rows, place = np.unique(packed >> _COUNT_BITS, return_inverse=True)
    counts = np.minimum(np.bincount(place, weights=counts_of(packed)), MAX_COUNT)
    words: Packed = rows.astype(np.uint32) << np.uint32(_COUNT_BITS) | counts.astype(np.uint32)
    return words


def _block_of(lists: Mapping[str, bytes]) -> PostingBlock | None:
    """Posting lists by the words of their terms, and of what CJK terms begin with."""
    by_word: dict[bytes, Packed] = {}
    begun: dict[str, list[Packed]] = {}
    for term, postings in lists.items():
        packed = np.frombuffer(postings, np.uint32)
        by_word[term_word(term)] = packed
        if is_cjk(term):
            begun.setdefault(term[0], []).append(packed)
    by_word |= {prefix_word(first): _summed(np.concatenate(found)) for first, found in begun.items()}
    if not by_word:
        return None
    order = sorted(by_word, key=lambda word: int.from_bytes(word, "little"))
    every = [by_word[word] for word in order]
    packed = np.concatenate(every)
    begins = np.cumsum([0, *map(len, every)]).astype(np.intp)
    rows = np.unique(packed >> _COUNT_BITS).astype(np.intp)
    return PostingBlock(np.frombuffer(b"".join(order), "<u8"), begins, packed, rows)


def _is_bigram(term: str) -> bool:
    return len(term) == 2 and is_cjk(term)
