"""The program that cuts documents, one after the other (kgsvc.documents.cutting is its other end).

Of each, standard input brings a line of JSON {"chunking", "bytes", "pages", "revision", "changed"} and so
many bytes of text; if it is changed, also a line for each former chunk and an empty one. Standard output
takes a line for each chunk, then {} or {"refused": why}. Any other end means that it cannot be cut.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any

from kgsvc.documents import tokens
from kgsvc.documents.chunking import Chunk, Chunking, chunks_of
from kgsvc.documents.confined import confine
from kgsvc.documents.custom import WrongChunks, cut_by
from kgsvc.documents.revisions import OldChunk, resplit
from kgsvc.domain.limits import MIB
from kgsvc.domain.model.keys import digest

_MEMORY_BYTES = 2048 * MIB
_BLOCK = 64 * 1024


def blocks(source: IO[bytes], count: int) -> Iterator[bytes]:
    """The next `count` bytes."""
    while count:
        block = source.read(min(count, _BLOCK))
        if not block:
            raise EOFError
        count -= len(block)
        yield block


def cut(asked: dict[str, Any], source: IO[bytes]) -> Iterable[tuple[Chunk, str | None]]:
    """The chunks of the document, and of each the former chunk with the same content."""
    chunking, pages = Chunking(**asked["chunking"]), asked["pages"]
    pieces = codecs.iterdecode(blocks(source, asked["bytes"]), "utf-8")
    if not asked["changed"] and not chunking.chunker:
        return ((chunk, None) for chunk in chunks_of(pieces, chunking, pages))
    text = "".join(pieces)
    former, old = {}, []
    while asked["changed"] and (line := source.readline().strip()):
        uuid, content, own, count = json.loads(line)
        former[content] = uuid
        old.append(OldChunk(content, content[own:], count))
    if chunking.chunker:
        chunks: Iterable[Chunk] = cut_by(chunking, text, pages)
    else:
        chunks = resplit(old, text, chunking, pages) if old else chunks_of([text], chunking, pages)
    return ((chunk, former.get(chunk.content)) for chunk in chunks)


def main() -> None:
    """Cut what stands on standard input, until it ends."""
    confine(_MEMORY_BYTES)
    tokens.load()
    for line in sys.stdin.buffer:
        asked, end = json.loads(line), {}
        try:
            for chunk, kept in cut(asked, sys.stdin.buffer):
                at = [chunk.start, chunk.end, chunk.own_start, chunk.tokens, chunk.page, chunk.last_page]
                key = digest(*asked["revision"], chunk.content)
                sys.stdout.write(json.dumps([*at, chunk.headings, key, kept]) + "\n")
        except WrongChunks as error:
            end = {"refused": str(error)}
        sys.stdout.write(json.dumps(end) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
