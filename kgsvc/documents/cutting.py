"""Documents are cut in processes of their own, which also hold the tokenizer's vocabulary: 80 MB.

A process runs this module as a program. It cuts one document after the other and ends when nothing came for
a while. Of each, its standard input brings a line of JSON {"chunking", "bytes", "pages", "revision",
"changed"} and so many bytes of text; if it is changed, also a line for each former chunk and an empty one.
Its standard output takes a line for each chunk, then {} or {"refused": why}. Any other end means that the
document cannot be cut.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import IO, Any

from kgsvc.documents import confined
from kgsvc.documents.chunking import Chunk, Chunking, WrongChunks, chunks_of, cut_by
from kgsvc.documents.revisions import OldChunk, resplit
from kgsvc.documents.textfile import TextFile
from kgsvc.documents.tokens import load_vocabulary
from kgsvc.domain.errors import KgError
from kgsvc.domain.limits import MIB
from kgsvc.domain.model.keys import digest

_AT_ONCE = 2
_IDLE_S = 10.0
_DEADLINE_S = 300.0  # of one document; 64 MiB take some ten seconds
_LINE_BYTES = 64 * 1024 * 1024  # of an answer, which is a chunk without its text: headings may be long
_MEMORY_BYTES = 2048 * MIB  # of a process
_BLOCK = 64 * 1024
_DIED = "cannot be cut into chunks: it takes too much memory, or the process that cuts was killed"


class Uncut(KgError):
    """A document could not be cut, and why."""


@dataclass(frozen=True, slots=True)
class FormerChunk:
    """A chunk of the present text: `own` is where in `content` its own part begins."""

    uuid: str
    content: str
    own: int
    tokens: int


@dataclass(frozen=True, slots=True)
class CutChunk:
    """A chunk of the new text, as in kgsvc.documents.chunking.Chunk.

    `key` is a digest of the document, its revision and the content; `kept` the uuid of the former chunk with
    the same content, if there is one.
    """

    start: int
    end: int
    own_start: int
    tokens: int
    page: int | None
    last_page: int | None
    headings: tuple[str, ...]
    key: str
    kept: str | None


class Cutters:
    """The processes of a service."""

    def __init__(self, chunking: Chunking | None = None, idle_s: float = _IDLE_S) -> None:
        self._chunking = chunking or Chunking()
        self._idle_s = idle_s
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._idle: list[_Cutter] = []

    async def cut(
        self,
        text: TextFile,
        pages: Sequence[int],
        revision: tuple[str, int],
        former: AsyncIterator[FormerChunk] | None = None,
    ) -> list[CutChunk]:
        """The chunks of the text of a revision (document and number), which `former` had other chunks before.

        Raises Uncut, and what `former` raises.
        """
        asked = {
            "chunking": asdict(self._chunking),
            "bytes": text.size,
            "pages": pages,
            "revision": revision,
            "changed": former is not None,
        }
        async with self._turns:
            cutter = self._rested() or await _Cutter.started()
            done = False
            try:
                async with asyncio.timeout(_DEADLINE_S):
                    found = await cutter.cut(asked, text, former)
                done = True
            except TimeoutError:
                raise Uncut(f"takes longer than {_DEADLINE_S:.0f} s to cut into chunks") from None
            finally:
                if done:
                    self._idle.append(cutter)
                    cutter.rest(self._idle_s, self._forget)
                else:
                    await cutter.end()
        return found

    def _rested(self) -> _Cutter | None:
        """One that rests; not one that was killed meanwhile, which is no fault of the next document."""
        while self._idle:
            if (cutter := self._idle.pop()).runs:
                return cutter
            cutter.stop_resting()
        return None

    def _forget(self, cutter: _Cutter) -> None:
        self._idle.remove(cutter)

    async def close(self) -> None:
        """End those that rest."""
        while self._idle:
            await self._idle.pop().end()


class _Cutter:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._rests: asyncio.TimerHandle | None = None

    @classmethod
    async def started(cls) -> _Cutter:
        program = "kgsvc.documents.cutting"
        return cls(await confined.start(program, stdin=PIPE, stderr=DEVNULL, line_bytes=_LINE_BYTES))

    async def cut(
        self, asked: Mapping[str, Any], text: TextFile, former: AsyncIterator[FormerChunk] | None
    ) -> list[CutChunk]:
        self.stop_resting()
        asking = asyncio.create_task(self._ask(asked, text, former))
        answering = asyncio.create_task(self._answer())
        try:
            await asyncio.gather(asking, answering)
        finally:
            asking.cancel()
            answering.cancel()
            await asyncio.wait([asking, answering])
        return answering.result()

    async def _ask(
        self, asked: Mapping[str, Any], text: TextFile, former: AsyncIterator[FormerChunk] | None
    ) -> None:
        await self._send(json.dumps(asked).encode() + b"\n")
        blocks = text.blocks()
        while block := await asyncio.to_thread(next, blocks, b""):
            await self._send(block)
        if former is not None:
            async for each in former:
                await self._send(json.dumps(astuple(each)).encode() + b"\n")
            await self._send(b"\n")

    async def _send(self, data: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(data)
            await stdin.drain()
        except (ConnectionError, RuntimeError) as error:  # the latter is uvloop's for a pipe that is closed
            raise Uncut(_DIED) from error

    async def _answer(self) -> list[CutChunk]:
        stdout = self._process.stdout
        assert stdout is not None
        found: list[CutChunk] = []
        while True:
            line = await stdout.readline()
            if not line:
                raise Uncut(_DIED)
            row = json.loads(line)
            if isinstance(row, dict):
                if "refused" in row:
                    raise Uncut(row["refused"])
                return found
            start, end, own, tokens, page, last_page, headings, key, kept = row
            found.append(CutChunk(start, end, own, tokens, page, last_page, tuple(headings), key, kept))

    def rest(self, seconds: float, forget: Callable[[_Cutter], None]) -> None:
        """Wait for the next document, but not for longer."""

        def over() -> None:
            forget(self)
            self._process.kill()

        self._rests = asyncio.get_running_loop().call_later(seconds, over)

    @property
    def runs(self) -> bool:
        """Whether the process has not ended."""
        return self._process.returncode is None

    def stop_resting(self) -> None:
        """The end of its rest does nothing any more."""
        if self._rests is not None:
            self._rests.cancel()

    async def end(self) -> None:
        """Kill it, if it still runs."""
        self.stop_resting()
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


def _blocks(source: IO[bytes], count: int) -> Iterator[bytes]:
    """The next `count` bytes."""
    while count:
        block = source.read(min(count, _BLOCK))
        if not block:
            raise EOFError
        count -= len(block)
        yield block


def _cut(asked: dict[str, Any], source: IO[bytes]) -> Iterable[tuple[Chunk, str | None]]:
    """The chunks of the document, and of each the former chunk with the same content."""
    chunking, pages = Chunking(**asked["chunking"]), asked["pages"]
    pieces = codecs.iterdecode(_blocks(source, asked["bytes"]), "utf-8")
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
    confined.confine(_MEMORY_BYTES)
    load_vocabulary()
    for line in sys.stdin.buffer:
        asked, end = json.loads(line), {}
        try:
            for chunk, kept in _cut(asked, sys.stdin.buffer):
                at = [chunk.start, chunk.end, chunk.own_start, chunk.tokens, chunk.page, chunk.last_page]
                key = digest(*asked["revision"], chunk.content)
                sys.stdout.write(json.dumps([*at, chunk.headings, key, kept]) + "\n")
        except WrongChunks as error:
            end = {"refused": str(error)}
        sys.stdout.write(json.dumps(end) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
