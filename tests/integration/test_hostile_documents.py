"""Long and hostile documents through a real server: each fails alone, and its memory stays small."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from kgsvc.v1 import documents_pb2 as doc
from tests.support import hostile
from tests.support.client import DONE_S, Client, timestamp
from tests.support.service import Service
from tests.support.store_spec import StoreSpec

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="NOT TESTED: the memory of a process is read from /proc"
    ),
]
JAN = 1_704_067_200_000
MIB = 1024 * 1024
MOST = 400 * MIB
PIECE = 2 * MIB
AT_ONCE = 4
# Nothing is read by a model or by rules here: what counts is what documents themselves cost.
SETTINGS = {
    "server.role": "api",
    "reading.deadline_s": "10",
    "reading.file_bytes": str(8 * MIB),
    "reading.memory_bytes": str(256 * MIB),
    "reading.text_chars": str(4 * MIB),
}


def peak(service: Service) -> int:
    """The most memory that the server has held, in bytes."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


async def stream(
    client: Client, group: str, **documents: Iterable[bytes]
) -> list[doc.StreamDocumentsResponse]:
    """The answers to documents, each given by its path and its pieces."""

    async def parts() -> AsyncIterator[doc.StreamDocumentsRequest]:
        for path, pieces in documents.items():
            about: dict[str, Any] = {"path": path, "reference_time": timestamp(JAN)}
            kind = {"text": ""} if path.endswith(".long") else {"data": b""}
            yield doc.StreamDocumentsRequest(group_id=group, document=doc.DocumentItem(**about, **kind))
            for piece in pieces:
                yield doc.StreamDocumentsRequest(group_id=group, more=piece)
            yield doc.StreamDocumentsRequest(group_id=group, last=True)

    call = client.ingestion.StreamDocuments(parts(), timeout=4 * DONE_S)
    return [response async for response in call]


def long_text(number: int, pieces: int) -> Iterable[bytes]:
    """A text of so many pieces of which no two lines are equal."""
    line = 0
    for _ in range(pieces):
        held = bytearray()
        while len(held) < PIECE:
            line += 1
            held += (
                f"Line {line} of {number} tells of 港 {line * 7919 % 104729} and what came of it.\n".encode()
            )
        yield bytes(held)


async def test_long_texts_at_once_are_not_held_in_memory(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    async with (
        Service(store_spec.settings | SETTINGS, tmp_path) as service,
        Client(service.address) as client,
    ):
        answers = await asyncio.gather(
            *(stream(client, group, **{f"{n}.long": long_text(n, 30)}) for n in range(2))
        )
        for (answer,) in answers:
            assert answer.document.new_chunks > 10_000, str(answer.error)
        again = list(long_text(0, 30))
        (same,) = await stream(client, group, **{"0.long": again})
        assert same.document.arrival == doc.DOCUMENT_ARRIVAL_UNCHANGED
        (changed,) = await stream(client, group, **{"0.long": [b"Another line.\n", *again]})
        assert (changed.document.arrival, changed.document.new_chunks) == (doc.DOCUMENT_ARRIVAL_REVISED, 1)
        assert peak(service) < MOST


async def test_two_hundred_hostile_files_fail_alone(
    store_spec: StoreSpec, group: str, tmp_path: Path
) -> None:
    """Each with an error that names it and says why; good ones between them go in."""
    files = [file for file in hostile.many(seed=17, count=206) if file.data]
    assert len(files) >= 200
    good = {"good.pdf": hostile.a_pdf(), "good.docx": hostile.a_docx(), "good.md": b"# Good\n\nWords."}

    async def some(client: Client, mine: list[hostile.Hostile]) -> None:
        sent = {
            file.name: [file.data[at : at + PIECE] for at in range(0, len(file.data), PIECE)] for file in mine
        }
        paths = list(sent)
        for at, (name, data) in enumerate(good.items(), 1):
            sent[name] = [data]
            paths.insert(at * len(mine) // 4 + at, name)
        streamed = await stream(client, group, **{path: sent[path] for path in paths})
        by_path = dict(zip(paths, streamed, strict=True))
        for file in mine:
            answer = by_path[file.name]
            assert answer.error.error_code == "INVALID_ARGUMENT", file.name
            reasons = [violation.description for violation in answer.error.field_violations]
            assert any(re.match(f"{re.escape(file.name)}: (?:{file.reason})", why) for why in reasons), str(
                reasons
            )
        assert all(by_path[name].document.document_id for name in good)

    async with (
        Service(store_spec.settings | SETTINGS, tmp_path) as service,
        Client(service.address) as client,
    ):
        await asyncio.gather(*(some(client, files[part::AT_ONCE]) for part in range(AT_ONCE)))
        assert peak(service) < MOST
