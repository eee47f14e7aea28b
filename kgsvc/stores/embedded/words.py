"""The words of facts as numbers, one narrow row a fact, for searches of groups that are not in memory.

A word is 64 bits, little-endian: the hash of a term with the lowest bit 0, or of the character that a CJK
term begins with and the lowest bit 1 (what a lone character of a query matches). Those of the names of both
ends stand apart, since renaming an entity changes them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b

import apsw

from kgsvc.domain.fact_terms import firsts, own_text
from kgsvc.domain.model import Fact
from kgsvc.domain.text import tokens
from kgsvc.stores.embedded.sql import Row

_NEVER = 2**63 - 1


def term_word(term: str) -> bytes:
    """The word of a term."""
    return _word(term, 0)


def prefix_word(char: str) -> bytes:
    """The word of all terms that begin with a CJK character, itself included."""
    return _word(char, 1)


def words(text: str) -> bytes:
    """The words of a text: those of its terms, with repetitions, and of what CJK terms begin with."""
    terms = tokens(text)
    found = b"".join(map(term_word, terms))
    return found if text.isascii() else found + b"".join(map(prefix_word, firsts(terms)))


def write_words(db: apsw.Connection, ids: Mapping[str, int], facts: Iterable[Fact]) -> None:
    """The rows of facts as they are written. Called by apply."""
    db.executemany(
        """
        INSERT INTO fact_words (id, start_ms, until_ms, own, source, target) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET start_ms = excluded.start_ms, until_ms = excluded.until_ms,
            own = excluded.own, source = excluded.source, target = excluded.target
        """,
        [_row(ids[fact.uuid], fact) for fact in facts],
    )


def rename_words(db: apsw.Connection, renamed: Mapping[int, str]) -> None:
    """Facts of entities that have other names now, by entity id. Called by apply."""
    values = [(words(name), entity_id) for entity_id, name in renamed.items()]
    db.executemany(
        "UPDATE fact_words SET source = ? WHERE id IN (SELECT id FROM facts WHERE source_id = ?)", values
    )
    db.executemany(
        "UPDATE fact_words SET target = ? WHERE id IN (SELECT id FROM facts WHERE target_id = ?)", values
    )


def _row(row_id: int, fact: Fact) -> Row:
    until_ms = _NEVER if fact.invalid_ms is None else fact.invalid_ms
    if fact.expired_ms is not None:
        until_ms = fact.start_ms  # an empty span: never seen
    names = _name_words(fact.source_name), _name_words(fact.target_name)
    return (row_id, fact.start_ms, until_ms, words(own_text(fact)), *names)


_name_words = lru_cache(maxsize=4_096)(words)  # names come again and again


@lru_cache(maxsize=32_768)
def _word(text: str, kind: int) -> bytes:
    number = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return (number & ~1 | kind).to_bytes(8, "little")
