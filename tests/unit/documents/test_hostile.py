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
from dataclasses import dataclass, field
from typing import Any

import pytest

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, Unreadable
from kgsvc.documents.reading.reader import Reader
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


@pytest.mark.slow
async def test_each_kind_of_bad_file_fails_alone() -> None:
    await all_fail_alone(list(hostile.each_kind(seed=1)))


@pytest.mark.soak
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


@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.slow), 2])
async def test_a_file_that_takes_too_much_memory_gets_none(number: int) -> None:
    name, make, _ = hostile.GREEDY[number]
    answer = await outcome(Reader(LIMITS), name, make(random.Random(1)))
    assert "takes more than 256 MiB of memory to read" in str(answer)


@dataclass
class Started:
    """Every process that was started."""

    processes: list[Process] = field(default_factory=list)
    environments: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    first: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    seen, really_start = Started(), asyncio.create_subprocess_exec

    async def start(*words: Any, env: dict[str, str], **options: Any) -> Process:
        seen.processes.append(await really_start(*words, env=env, **options))
        seen.environments.append(env)
        running = sum(process.returncode is None for process in seen.processes)
        seen.most_at_once = max(seen.most_at_once, running)
        seen.first.set()
        return seen.processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    return seen


async def test_no_credential_goes_into_the_process(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGSVC_TOKEN", "geheim")
    monkeypatch.setenv("OPENAI_API_KEY", "geheim")
    assert (await Reader().read(hostile.a_pdf(1), "a.pdf")).pages == (0,)
    assert "geheim" not in started.environments[0].values()


async def test_no_more_files_than_wanted_are_read_at_once(started: Started) -> None:
    reader = Reader(ReadingLimits(at_once=2))
    await asyncio.gather(*(reader.read(b"<p>x", f"{n}.html") for n in range(5)))
    assert (len(started.processes), started.most_at_once) == (5, 2)


async def test_a_cancelled_reading_ends_its_process(started: Started) -> None:
    reading = asyncio.create_task(Reader().read(b"<div>" * 1_000_000 + b"x", "deep.html"))
    await started.first.wait()
    process = started.processes[0]
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert process.returncode == -signal.SIGKILL
