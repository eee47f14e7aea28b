"""A damaged or hostile file fails alone: with an error that names it and says why, within its limits."""

import asyncio
import random
import re
import resource
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Sequence
from typing import Any

import pytest

from kgsvc.documents.reading import DocumentText, Reader, ReadingLimits, Unreadable
from tests.support import hostile
from tests.support.hostile import Hostile

MIB = 1024 * 1024
LIMITS = ReadingLimits(file_bytes=8 * MIB, deadline_s=10, memory_bytes=256 * MIB, text_chars=4 * MIB)
GOOD = (("good.pdf", hostile.a_pdf), ("good.docx", hostile.a_docx), ("good.md", lambda: b"# Good\n\nWords."))


def peak_bytes(who: int) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit


async def outcome(reader: Reader, name: str, data: bytes) -> DocumentText | Unreadable:
    try:
        return await reader.read(data, name)
    except Unreadable as error:
        return error


async def all_fail_alone(files: Sequence[Hostile]) -> None:
    """Good files among them go in; every process stays within its limit, and this one grows by little."""
    reader, before = Reader(LIMITS), peak_bytes(resource.RUSAGE_CHILDREN)
    good = [await outcome(reader, name, make()) for name, make in GOOD]
    own = peak_bytes(resource.RUSAGE_SELF)
    step = 10
    for start in range(0, len(files), step):
        part = files[start : start + step]
        answers = await asyncio.gather(
            *(outcome(reader, file.name, file.data) for file in part),
            *(outcome(reader, name, make()) for name, make in GOOD),
        )
        for file, answer in zip(part, answers, strict=False):
            assert isinstance(answer, Unreadable), file.name
            assert answer.name == file.name
            assert re.match(file.reason, answer.reason), str(answer)
        assert answers[len(part) :] == good
    # A new process begins with what this one holds, the files of the test among it.
    largest = peak_bytes(resource.RUSAGE_SELF)
    assert peak_bytes(resource.RUSAGE_CHILDREN) <= max(before, largest, LIMITS.memory_bytes)
    assert largest - own < 64 * MIB


async def test_each_kind_of_bad_file_fails_alone() -> None:
    await all_fail_alone(list(hostile.each_kind(seed=1)))


@pytest.mark.slow
async def test_two_hundred_bad_files_fail_alone() -> None:
    await all_fail_alone(list(hostile.many(seed=17, count=200)))


@pytest.mark.slow
async def test_flipped_bytes_are_read_or_refused() -> None:
    for file in hostile.flipped(seed=23, count=60):
        answer = await outcome(Reader(LIMITS), file.name, file.data)
        assert isinstance(answer, DocumentText) or answer.name == file.name


async def test_a_file_that_takes_too_long_is_given_up_in_time() -> None:
    name, make, _ = hostile.GREEDY[1]
    limits = ReadingLimits(deadline_s=1)
    begin = time.monotonic()
    answer = await outcome(Reader(limits), name, make(random.Random(1)))
    assert str(answer) == f"{name}: takes longer than 1 s to read"
    assert time.monotonic() - begin < 5


async def test_a_cancelled_reading_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = asyncio.get_running_loop().create_future()
    really_start = asyncio.create_subprocess_exec

    async def start(*words: Any, **options: Any) -> Process:
        process = await really_start(*words, **options)
        started.set_result(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    reading = asyncio.create_task(Reader().read(b"<div>" * 1_000_000 + b"x", "deep.html"))
    process = await started
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert process.returncode == -signal.SIGKILL
