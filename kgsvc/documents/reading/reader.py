"""Reads files. Text and Markdown are only decoded. All others are read in a process of their own: a hostile
file fails alone.

Such a process runs this module as a program, with a JSON object as its only argument: format, charset and
limits. The file's bytes are its standard input. Its standard output is a line of JSON, {"pages", "title"}
with the text after it, or {"refused"}. Any other end means that the file is damaged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from kgsvc.documents import confined
from kgsvc.documents.reading.formats import (
    DocumentText,
    Format,
    ReadingLimits,
    Unreadable,
    UnreadFile,
    charset_of,
    decoded,
    format_of,
)
from kgsvc.domain.limits import MIB
from kgsvc.runtime import REQUEST_BYTES, offload

_BEGINNING = 1024  # bytes by which a format is told
_LIBRARIES = {Format.HTML: "selectolax", Format.PDF: "pypdfium2", Format.DOCX: "docx"}
_PLAIN = {Format.TEXT, Format.MARKDOWN}


class Reader:
    """Reads files within limits, on an event loop that it never blocks."""

    def __init__(self, limits: ReadingLimits | None = None) -> None:
        self._limits = limits or ReadingLimits()
        self._turns = asyncio.Semaphore(self._limits.at_once)

    async def read_file(self, path: Path, name: str | None = None) -> DocumentText:
        """The text of the file at `path`, called `name` in errors. Raises Unreadable."""
        name = name or path.name
        try:
            data = await asyncio.to_thread(_content, path, self._limits.file_bytes + 1)
        except OSError as error:
            raise Unreadable(name, f"cannot be opened: {error.strerror}") from error
        return await self.read(data, name)

    async def read(self, data: bytes | IO[bytes], name: str, media_type: str = "") -> DocumentText:
        """The text of a file with this content, in memory or in an open file. `media_type` tells its format,
        else the end of `name` does.

        Raises Unreadable, with the name and why: an unknown format or one that the content contradicts;
        damaged, encrypted or without text; beyond a limit; read by a library that is not installed.
        """
        try:
            return await self._read(data, name, media_type)
        except UnreadFile as error:
            raise Unreadable(name, str(error)) from error

    async def _read(self, data: bytes | IO[bytes], name: str, media_type: str) -> DocumentText:
        size = size_of(data)
        if size > self._limits.file_bytes:
            raise UnreadFile(f"is larger than {self._limits.file_bytes / MIB:,.0f} MiB")
        beginning = data[:_BEGINNING] if isinstance(data, bytes) else data.read(_BEGINNING)
        if size == len(beginning) and not beginning.strip():
            raise UnreadFile("is empty")
        kind, charset = format_of(name, media_type, beginning), charset_of(media_type)
        if kind in _PLAIN:
            return await offload(size / REQUEST_BYTES, _plain, data, charset, kind)
        if kind in _LIBRARIES and find_spec(_LIBRARIES[kind]) is None:
            raise UnreadFile(
                f"{kind} is read with an extra that is not installed: pip install 'kgsvc[documents]'"
            )
        asked = {"format": kind, "charset": charset, "limits": asdict(self._limits)}
        async with self._turns:
            answer = await self._run(json.dumps(asked), data, kind)
        return await offload(len(answer) / REQUEST_BYTES, _answered, answer)

    async def _run(self, asked: str, data: bytes | IO[bytes], kind: Format) -> bytes:
        program = "kgsvc.documents.reading.reader"
        if not isinstance(data, bytes):
            data.flush()
            os.lseek(data.fileno(), 0, os.SEEK_SET)  # `seek` may only move within what is buffered
        source = PIPE if isinstance(data, bytes) else data
        process = await confined.start(program, asked, stdin=source, stderr=PIPE)
        try:
            async with asyncio.timeout(self._limits.deadline_s):
                answer, complaint = await process.communicate(data if isinstance(data, bytes) else None)
        except TimeoutError:
            raise UnreadFile(self._too_slow()) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise UnreadFile(self._ended(process.returncode, complaint, kind))
        return answer

    def _too_slow(self) -> str:
        return f"takes longer than {self._limits.deadline_s} s to read"

    def _ended(self, code: int, complaint: bytes, kind: Format) -> str:
        """Why a process failed: the last line of a traceback names the error, and then may quote the file."""
        if code == -getattr(signal, "SIGXCPU", 0):
            return self._too_slow()
        last = complaint[-2000:].decode(errors="replace").rstrip().rpartition("\n")[2]
        error = found[1] if (found := re.match(r"(?:\w+\.)*(\w+)", last)) else "no reason given"
        too_much = f"takes more than {self._limits.memory_bytes / MIB:,.0f} MiB of memory to read"
        if error == "MemoryError":
            return too_much
        if code < 0:  # PDFium ends so, for one, when it gets no more memory
            return f"is damaged, or {too_much} ({signal.Signals(-code).name})"
        return f"is damaged, or no {kind} ({error})"


def size_of(data: bytes | IO[bytes]) -> int:
    """How many bytes there are; of a file, which is at its start then."""
    if isinstance(data, bytes):
        return len(data)
    size = data.seek(0, os.SEEK_END)
    data.seek(0)
    return size


def _content(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


def _answered(answer: bytes) -> DocumentText:
    head, _, text = answer.partition(b"\n")
    about = json.loads(head)
    if "refused" in about:
        raise UnreadFile(about["refused"])
    return DocumentText(text.decode(), tuple(about["pages"]), about["title"])


def _plain(data: bytes | IO[bytes], charset: str, kind: Format) -> DocumentText:
    """Text and Markdown as they stand; the title of Markdown is its heading of the first level, if it has
    one: of several each is that of a part."""
    if not isinstance(data, bytes):
        data.seek(0)
        data = data.read()
    if data.isspace():
        raise UnreadFile("is empty")
    text = decoded(data, charset)
    return DocumentText(text, title=_only_heading(text) if kind is Format.MARKDOWN else None)


def _only_heading(text: str) -> str | None:
    """The `# ` line that does not stand in a code fence, unless there are several."""
    fence, found = "", None
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := re.match(r" {0,3}#[ \t]+(.+?)[ \t#]*$", line)):
            if found is not None:
                return None
            found = heading[1]
    return found


def _read_confined(kind: Format, data: bytes, charset: str, limits: ReadingLimits) -> DocumentText:
    """The text of `data`. Raises Refused, and whatever the libraries raise."""
    if kind is Format.HTML:
        from kgsvc.documents.reading.html import read_html

        return read_html(data, charset, limits)
    if kind is Format.MAIL:
        from kgsvc.documents.reading.mail import read_mail

        return read_mail(data, limits)
    if kind is Format.PDF:
        from kgsvc.documents.reading.pdf import read_pdf

        return read_pdf(data, limits)
    from kgsvc.documents.reading.docx import read_docx

    return read_docx(data, limits)


def main() -> None:
    """Read what stands on standard input."""
    asked = json.loads(sys.argv[1])
    limits = ReadingLimits(**asked["limits"])
    logging.disable()
    confined.confine(limits.memory_bytes, limits.deadline_s)
    try:
        found = _read_confined(Format(asked["format"]), sys.stdin.buffer.read(), asked["charset"], limits)
    except UnreadFile as error:
        sys.stdout.write(json.dumps({"refused": str(error)}))
        return
    sys.stdout.buffer.write(json.dumps({"pages": found.pages, "title": found.title}).encode() + b"\n")
    sys.stdout.buffer.write(found.text.encode())


if __name__ == "__main__":
    main()
