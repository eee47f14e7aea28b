"""Documents are cut in a process of its own, as they would be here; what goes wrong there stays there."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from kgsvc.documents import confined
from kgsvc.documents.chunking import Chunk, Chunking, split
from kgsvc.documents.cutting import CutChunk, Cutters, FormerChunk, Uncut
from kgsvc.documents.revisions import OldChunk, resplit
from kgsvc.documents.textfile import TextFile
from kgsvc.domain.model.keys import digest

SMALL = Chunking(60, 10)
TEXT = "# Häuser\n\n" + "\n\n".join(
    f"Paragraph {n} tells of 日本 👨‍👩‍👧 and {n * 7} geese." for n in range(80)
)
PACKAGE = """
def lines(text, chunking):
    at = 0
    for line in text.splitlines(keepends=True):
        yield max(at - 3, 0), at + len(line)
        at += len(line)

def gaps(text, chunking):
    yield 0, 5
    yield 7, len(text)

def short(text, chunking):
    yield 0, 5

def whole(text, chunking):
    yield 0, len(text)

def fails(text, chunking):
    raise KeyError(text)
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """The processes that were started."""
    seen: list[Process] = []
    start = confined.start

    async def noted(*args: str, **kwargs: int) -> Process:
        seen.append(await start(*args, **kwargs))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(confined, "start", noted)
    return seen


async def former(chunks: Sequence[Chunk]) -> AsyncIterator[FormerChunk]:
    for number, each in enumerate(chunks):
        yield FormerChunk(f"u{number}", each.content, each.own_start - each.start, each.tokens)


def seen(chunks: Sequence[Chunk | CutChunk]) -> list[tuple[object, ...]]:
    return [(c.start, c.end, c.own_start, c.tokens, c.page, c.last_page, tuple(c.headings)) for c in chunks]


async def cut(cutters: Cutters, text: str, old: AsyncIterator[FormerChunk] | None = None) -> list[CutChunk]:
    made = TextFile.of(text)
    try:
        return await cutters.cut(made, (0, 100), ("book", 1), old)
    finally:
        made.close()


async def test_chunks_are_those_that_would_be_made_here(started: list[Process]) -> None:
    cutters = Cutters(SMALL)
    first = split(TEXT, SMALL, (0, 100))
    cut_first = await cut(cutters, TEXT)
    assert seen(cut_first) == seen(first)
    assert [each.key for each in cut_first] == [digest("book", 1, each.content) for each in first]
    changed = TEXT.replace("40 tells", "40 lies")
    second = resplit(
        [OldChunk(c.content, c.content[c.own_start - c.start :], c.tokens) for c in first],
        changed, SMALL, (0, 100),
    )  # fmt: skip
    cut_second = await cut(cutters, changed, former(first))
    assert seen(cut_second) == seen(second)
    known = {each.content: f"u{number}" for number, each in enumerate(first)}
    assert [each.kept for each in cut_second] == [known.get(each.content) for each in second]
    assert len(started) == 1, "one process cuts one document after the other"
    await cutters.close()
    assert started[0].returncode == -signal.SIGKILL


async def test_a_process_that_is_killed_costs_one_document(started: list[Process]) -> None:
    cutters = Cutters(SMALL)

    async def killing() -> AsyncIterator[FormerChunk]:
        os.kill(started[0].pid, signal.SIGKILL)
        await started[0].wait()
        for each in range(10_000):
            yield FormerChunk("u", "words " * each, 0, each)

    with pytest.raises(Uncut, match="was killed"):
        await cut(cutters, TEXT, killing())
    assert seen(await cut(cutters, TEXT)) == seen(split(TEXT, SMALL, (0, 100)))
    assert len(started) == 2
    await cutters.close()


async def test_an_error_of_whoever_gives_the_former_chunks_comes_through(started: list[Process]) -> None:
    cutters = Cutters(SMALL)

    async def failing() -> AsyncIterator[FormerChunk]:
        yield FormerChunk("u", "words", 0, 1)
        raise LookupError

    with pytest.raises(LookupError):
        await cut(cutters, TEXT, failing())
    assert started[0].returncode == -signal.SIGKILL
    await cutters.close()


async def test_a_process_that_has_nothing_to_do_ends(started: list[Process]) -> None:
    cutters = Cutters(SMALL, idle_s=0.0)
    await cut(cutters, "Words.")
    assert await started[0].wait() == -signal.SIGKILL
    assert seen(await cut(cutters, "Words.")) == seen(split("Words.", SMALL, (0, 100)))
    await cutters.close()


async def test_one_that_was_killed_while_it_rested_costs_no_document(started: list[Process]) -> None:
    cutters = Cutters(SMALL)
    await cut(cutters, "Words.")
    started[0].kill()
    await started[0].wait()
    assert seen(await cut(cutters, "Words.")) == seen(split("Words.", SMALL, (0, 100)))
    await cutters.close()


async def test_a_cancelled_call_ends_its_process(started: list[Process]) -> None:
    cutters, waits = Cutters(SMALL), asyncio.Event()

    async def waiting() -> AsyncIterator[FormerChunk]:
        waits.set()
        await asyncio.Event().wait()
        yield FormerChunk("u", "words", 0, 1)

    running = asyncio.create_task(cut(cutters, TEXT, waiting()))
    await waits.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert started[0].returncode == -signal.SIGKILL


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with chunkers."""
    (tmp_path / "cutters.py").write_text(PACKAGE)
    about = tmp_path / "cutters-1.dist-info"
    about.mkdir()
    names = ("lines", "gaps", "short", "whole", "fails")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cutters\nVersion: 1\n")
    rows = "".join(f"{name} = cutters:{name}\n" for name in names)
    (about / "entry_points.txt").write_text(f"[kgsvc.chunkers]\n{rows}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.usefixtures("package")
async def test_a_chunker_of_ones_own_cuts_instead() -> None:
    cutters = Cutters(Chunking(60, 10, chunker="lines"))
    lines = "one\ntwo\nthree\n"
    chunks = await cut(cutters, lines)
    assert [(each.start, each.own_start, each.end) for each in chunks] == [(0, 0, 4), (1, 4, 8), (5, 8, 14)]
    old = [Chunk(lines[c.start : c.end], c.start, c.end, c.own_start, c.tokens, (), 1, 1) for c in chunks]
    again = await cut(cutters, lines + "four\n", former(old))
    assert [each.kept for each in again] == ["u0", "u1", "u2", None]
    await cutters.close()


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gaps", "the chunker gaps gave 7 to 3938 where the text goes on at 5"),
        ("short", "the chunker short left out the text from 5 on"),
        ("whole", "the chunker whole made a chunk of .* tokens, at most 75"),
        ("fails", "the chunker fails failed: KeyError$"),
        ("other", "there is no chunker other"),
    ],
)
async def test_what_a_chunker_does_wrong_is_said(name: str, why: str) -> None:
    cutters = Cutters(Chunking(60, 10, chunker=name))
    with pytest.raises(Uncut, match=why.replace("3938", str(len(TEXT)))):
        await cut(cutters, TEXT)
    await cutters.close()
