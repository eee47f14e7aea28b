"""Texts as numbers that are stored and read again without looking at the text: words.

A word is 64 bits, little-endian: the hash of a term with the lowest bit 0, or of the character that a CJK
term begins with and the lowest bit 1 (what a lone character of a query matches).
"""

from __future__ import annotations

from hashlib import blake2b

from kgsvc.domain.text import firsts, remembered, tokens


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
    found = b"".join(map(term_word, terms))
    return found if text.isascii() else found + b"".join(map(prefix_word, firsts(terms)))
