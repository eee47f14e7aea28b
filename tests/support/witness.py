"""A witness of what servers let out: with KGSVC_CANARIES=1 no secret and no text may be in it.

Every server that a test starts then logs at debug level, shows its metrics, writes an audit and gets a key of
the model server that nobody else has; clients note every text that they send and every error that they are
told. At the end of the session logs, metrics, audits, errors and what `kgsvc doctor` prints are searched for
the secrets and for pieces of the texts. Outputs are kept in a folder of the session's own.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from google.protobuf.message import Message
from numpy.typing import NDArray

from kgsvc.observability.logs import JsonFormatter

ON = os.environ.get("KGSVC_CANARIES") == "1"
_DOCTOR_S = 120.0
_PIECE = 24  # characters of a text that show that it was let out
_EVERY = 200  # characters there is one
_SORTS = 6  # of characters in a piece
_PIECES = 50  # of one text
_BLOCK = 4 * 1024 * 1024  # bytes searched at once
_BASE = np.uint64(0x100000001B3)
_LEAST = 12  # characters of what is a text and no word
_NAMES = (
    "_id",
    "_ids",
    "uuid",
    "uuids",
    "_key",
    "_ref",
    "_token",
)  # ends of names of fields that hold no texts


class Witness:
    """Of one session, in one process."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kgsvc-canaries-"))
        self.key = f"sk-{secrets.token_hex(16)}"
        self._password, self._token = f"neo4j-{secrets.token_hex(16)}", f"token-{secrets.token_hex(16)}"
        self.secrets = {self.key, self._password, self._token}
        self._texts: set[str] = set()
        self._errors: list[str] = []
        self._servers = 0
        self._watched: list[Path] = []
        self._said = io.StringIO()
        self._log = logging.StreamHandler(self._said)
        self._log.setFormatter(JsonFormatter())

    def begin(self) -> None:
        """Listen to servers on the loops of tests."""
        logger = logging.getLogger("kgsvc")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(self._log)

    def server(self, settings: dict[str, str]) -> Path:
        """A folder for the outputs of a server, whose settings are changed."""
        self._servers += 1
        folder = self.folder / f"server-{self._servers}"
        folder.mkdir()
        settings["logging.level"] = "debug"
        settings.setdefault("access.audit", str(folder / "audit.jsonl"))
        settings["openai.api_key"] = self.key
        settings["server.metrics_listen"] = settings.get("server.metrics_listen") or "127.0.0.1:0"
        return folder

    def watch(self, output: Path) -> None:
        """A file that a server on the loop of a test writes."""
        self._watched.append(output)

    def sent(self, message: Any) -> None:
        """A client sends this."""
        if isinstance(message, Message):
            self._texts.update(_texts_of(message))

    def told(self, answer: Any) -> None:
        """A client is told this: of envelopes their errors, all of what was raised."""
        if isinstance(answer, grpc.aio.AioRpcError):
            self._errors.append(f"{answer.details()} {answer.trailing_metadata()!r}")
        elif isinstance(answer, Message) and getattr(answer, "error", None) is not None:
            self._errors.append(str(answer.error))  # type: ignore[attr-defined]

    def finish(self) -> list[str]:
        """What was found where; empties the folder."""
        logging.getLogger("kgsvc").removeHandler(self._log)
        (self.folder / "in-process").write_text(self._said.getvalue())
        (self.folder / "errors").write_text("\n".join(self._errors))
        (self.folder / "doctor").write_text(self._doctor())
        pieces = _Pieces({piece for text in self._texts for piece in _pieces(text)})
        outputs = [path for path in self.folder.rglob("*") if path.is_file()]
        problems = [problem for path in outputs for problem in self._in(path, pieces)]
        seen = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        if "openai.base_url" not in (self.folder / "doctor").read_text():
            problems.append("the configuration was not printed")
        if self._texts and not seen:
            problems.append("nothing of any server was watched")
        if not problems:
            shutil.rmtree(self.folder)
        return problems

    def _in(self, path: Path, pieces: _Pieces) -> Iterator[str]:
        said = path.read_bytes()
        for secret in self.secrets:
            if secret.encode() in said:
                yield f"{path}: a secret"
        for piece in pieces.within(said):
            yield f"{path}: {piece!r}"

    def _doctor(self) -> str:
        """What the configuration looks like when it is printed."""
        given = {
            "KGSVC_OPENAI_API_KEY": self.key,
            "KGSVC_OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
            "KGSVC_STORE_NEO4J_PASSWORD": self._password,
            "KGSVC_CLIENT_TOKEN": self._token,
            "KGSVC_STORE_DATA_DIR": str(self.folder / "none"),
        }
        ran = subprocess.run(
            [sys.executable, "-m", "kgsvc", "doctor"],
            env={name: os.environ[name] for name in os.environ if not name.startswith("KGSVC_")} | given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_DOCTOR_S,
            check=False,
        )
        return ran.stdout


class _Pieces:
    """Looks for all pieces in one pass over an output: there may be tens of thousands, and hundreds of
    megabytes. The windows of an output whose hash is that of a piece are compared with it."""

    def __init__(self, pieces: set[str]) -> None:
        self._known: dict[int, list[tuple[bytes, str]]] = {}
        for piece in pieces:
            for shown in {piece, json.dumps(piece, ensure_ascii=False)[1:-1], json.dumps(piece)[1:-1]}:
                data = shown.encode()
                if len(data) >= _LEAST:
                    number = int(_hashes(np.frombuffer(data[:_LEAST], np.uint8))[0])
                    self._known.setdefault(number, []).append((data, piece))
        self._numbers = np.array(sorted(self._known), np.uint64)

    def within(self, said: bytes) -> set[str]:
        """The pieces that an output holds."""
        found: set[str] = set()
        every = np.frombuffer(said, np.uint8)
        for begin in range(0, max(0, len(said) - _LEAST + 1), _BLOCK):
            hashes = _hashes(every[begin : begin + _BLOCK + _LEAST - 1])
            places = np.searchsorted(self._numbers, hashes)
            places[places == len(self._numbers)] = 0
            for at in np.flatnonzero(self._numbers[places] == hashes) if len(self._numbers) else ():
                start = begin + int(at)
                known = self._known[int(hashes[at])]
                found.update(piece for data, piece in known if said.startswith(data, start))
        return found


def _hashes(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Of each window of `_LEAST` bytes."""
    count = len(data) - _LEAST + 1
    hashes = np.zeros(count, np.uint64)
    for at in range(_LEAST):
        hashes = hashes * _BASE + data[at : at + count]
    return hashes


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, max(1, len(text) - _PIECE), _EVERY)[:_PIECES]:
        piece = text[start : start + _PIECE]
        if (
            " " in piece.strip() and len(set(piece)) > _SORTS
        ):  # else it may be an identifier, or any other text
            yield piece


def _texts_of(message: Message) -> Iterator[str]:
    """The texts in a request: what has several words and is no name of something."""
    for field, value in message.ListFields():
        if field.name.endswith(_NAMES):
            continue
        values = value.values() if isinstance(value, dict) or hasattr(value, "values") else value
        many = values if field.is_repeated else [values]
        for each in many:
            if isinstance(each, Message):
                yield from _texts_of(each)
            elif isinstance(each, str) and len(each) >= _LEAST and " " in each.strip():
                yield each.strip()


class _Unary(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        assert WITNESS is not None
        WITNESS.sent(request)
        call = await continuation(details, request)
        call.add_done_callback(lambda _: asyncio.ensure_future(_note(call)))
        return call


async def _note(call: Any) -> None:
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        answer = error
    except asyncio.CancelledError:
        return
    assert WITNESS is not None
    WITNESS.told(answer)


WITNESS = Witness() if ON else None
INTERCEPTORS: list[Any] = [_Unary()] if ON else []


@pytest.fixture(scope="session", autouse=ON)
def nothing_is_let_out() -> Iterator[None]:
    """Whatever the tests of this session did, no output of a server holds a text or a secret of theirs."""
    assert WITNESS is not None
    WITNESS.begin()
    yield
    problems = WITNESS.finish()
    assert not problems, "\n".join(problems[:50])
