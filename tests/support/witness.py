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
import pytest
from google.protobuf.message import Message

from kgsvc.observability.logs import JsonFormatter

ON = os.environ.get("KGSVC_CANARIES") == "1"
_DOCTOR_S = 120.0
_PIECE = 24  # characters of a text that show that it was let out
_EVERY = 200  # characters there is one
_SORTS = 6  # of characters in a piece
_PIECES = 50  # of one text
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
        problems = [
            problem for path in self.folder.rglob("*") if path.is_file() for problem in self._in(path)
        ]
        seen = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        if "openai.base_url" not in (self.folder / "doctor").read_text():
            problems.append("the configuration was not printed")
        if self._texts and not seen:
            problems.append("nothing of any server was watched")
        if not problems:
            shutil.rmtree(self.folder)
        return problems

    def _in(self, path: Path) -> Iterator[str]:
        said = path.read_text(errors="replace")
        for secret in self.secrets:
            if secret in said:
                yield f"{path}: a secret"
        for text in sorted(self._texts):
            for piece in _pieces(text):
                quoted = json.dumps(piece, ensure_ascii=False)[1:-1]
                if piece in said or quoted in said:
                    yield f"{path}: {piece!r}"
                    break

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
