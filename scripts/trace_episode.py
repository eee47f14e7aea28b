"""Print which files of kgsvc an episode passes from AddEpisodes to its commit, in the order it reaches them.

    python scripts/trace_episode.py [--stream] [--most 35]

Serves from an empty directory with the embedded store, rules instead of a model, and counts every file of
kgsvc of which a function is executed in any thread between the arrival of the call and the end of the commit.
Not counted: generated stubs, and bodies of modules and classes that are imported late. Fails with more than
`--most` files outside models/.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import grpc

import kgsvc
from kgsvc.app import running
from kgsvc.config import Models, Server, Settings, StoreSettings
from kgsvc.pipeline.commit import Committer
from kgsvc.v1 import ingestion_pb2, ingestion_pb2_grpc, types_pb2

ROOT = Path(kgsvc.__file__).parent
DEADLINE_S = 30.0
BODY = "Alice Chen works at Acme. She lives in Paris. Bruno Keller knows Alice Chen."


class Recorder:
    """Notes the files of functions that are executed while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.files: dict[str, str] = {}  # by file the first function
        self._known: dict[CodeType, tuple[str, str] | None] = {}

    def profile(self, frame: FrameType, event: str, _given: object) -> None:
        """A profile function, see sys.setprofile."""
        if self.on and event == "call":
            code = frame.f_code
            if code not in self._known:
                self._known[code] = _place(code)
            if (place := self._known[code]) is not None:
                self.files.setdefault(*place)


def _place(code: CodeType) -> tuple[str, str] | None:
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT) or not code.co_flags & 0x02:  # CO_NEWLOCALS: neither module nor class
        return None
    relative = path.relative_to(ROOT)
    return None if relative.parts[0] == "v1" else (str(relative), code.co_qualname)


async def trace(stream: bool) -> dict[str, str]:
    """The files that one episode passes, each with the first function executed in it."""
    recorder, committed = Recorder(), asyncio.Event()
    commit = Committer.commit

    async def watched(self: Committer, *given: Any) -> None:
        await commit(self, *given)
        recorder.on = False
        committed.set()

    threading.setprofile(recorder.profile)
    sys.setprofile(recorder.profile)
    try:
        with tempfile.TemporaryDirectory() as folder, patch.object(Committer, "commit", watched):
            settings = Settings(
                server=Server(listen="127.0.0.1:0", metrics_listen=""),
                store=StoreSettings(kind="embedded", data_dir=Path(folder)),
                models=Models(extractor="offline", embedder="offline"),
            )
            async with (
                running(settings) as service,
                grpc.aio.insecure_channel(str(service.address)) as channel,
                asyncio.timeout(DEADLINE_S),
            ):
                recorder.on = True
                await _send(ingestion_pb2_grpc.IngestionServiceStub(channel), stream)
                await committed.wait()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return recorder.files


async def _send(stub: Any, stream: bool) -> None:
    item = types_pb2.EpisodeItem(name="trace", body=BODY, source=types_pb2.SOURCE_TEXT)
    item.reference_time.FromJsonString("2026-01-01T00:00:00Z")
    if stream:

        async def requests() -> AsyncIterator[ingestion_pb2.StreamEpisodesRequest]:
            yield ingestion_pb2.StreamEpisodesRequest(group_id="trace", episode=item)

        async for _ in stub.StreamEpisodes(requests()):
            pass
        return
    given = ingestion_pb2.AddEpisodesInput(group_id="trace", items=[item])
    await stub.AddEpisodes(ingestion_pb2.AddEpisodesRequest(request_id="trace", input=given))


def main() -> None:
    """Trace and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stream", action="store_true", help="StreamEpisodes instead of AddEpisodes")
    parser.add_argument("--most", type=int, help="fail with more files outside models/")
    options = parser.parse_args()
    files = asyncio.run(trace(options.stream))
    for number, (file, function) in enumerate(files.items(), 1):
        print(f"{number:3} {file:40} {function}")
    outside = sum(not file.startswith("models/") for file in files)
    print(f"{len(files)} files, {outside} of them outside models/")
    if options.most is not None and outside > options.most:
        sys.exit(f"at most {options.most} files outside models/ are wanted")


if __name__ == "__main__":
    main()
