"""Documents are cut in processes of their own, which also hold the tokenizer's vocabulary: 80 MB.

A process cuts one document after the other and ends when nothing came for a while.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

from kgsvc.documents import confined
from kgsvc.documents.chunking import Chunking
from kgsvc.documents.textfile import TextFile
from kgsvc.domain.errors import KgError

_AT_ONCE = 2
_IDLE_S = 10.0
_DEADLINE_S = 300.0  # of one document; 64 MiB take some ten seconds
_LINE_BYTES = 64 * 1024 * 1024  # of an answer, which is a chunk without its text: headings may be long
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
    """One process (kgsvc.documents.cutting_program)."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._rests: asyncio.TimerHandle | None = None

    @classmethod
    async def started(cls) -> _Cutter:
        program = "kgsvc.documents.cutting_program"
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
