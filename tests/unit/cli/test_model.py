"""`kgsvc model fetch`: the pinned files, whole or not at all, from a folder or a server."""

import functools
import hashlib
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kgsvc.cli import model
from kgsvc.cli.main import cli
from tests.support.local_model import local_model

BODIES = {"config.json": b"{}", "model.onnx": b"weights" * 200_000}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files, which are the pinned ones."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name, body in BODIES.items():
        (folder / name).write_bytes(body)
    pins = {name: (len(body), hashlib.sha256(body).hexdigest()) for name, body in BODIES.items()}
    monkeypatch.setattr(model, "FILES", pins)
    return folder


def serving(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def address(source: Path) -> Iterator[str]:
    yield from serving(source)


def fetch(source: str | Path, to: Path) -> Result:
    return CliRunner().invoke(cli, ["model", "fetch", "--from", str(source), "--to", str(to)])


def test_a_server_and_a_folder_give_the_same_files(source: Path, address: str, tmp_path: Path) -> None:
    for number, each in enumerate((str(source), address)):
        to = tmp_path / f"to{number}"
        said = fetch(each, to)
        assert said.exit_code == 0, said.output
        assert f'models.local_path = "{to}"' in said.output
        assert {path.name: path.read_bytes() for path in to.iterdir()} == BODIES
    again = fetch(tmp_path / "gone", to)
    assert again.output.count("there already") == len(BODIES), "nothing is read again"


@pytest.mark.parametrize("body", [b"other" * 200_000, BODIES["model.onnx"] + b"more", b"", None])
def test_another_file_is_not_taken(source: Path, address: str, tmp_path: Path, body: bytes | None) -> None:
    if body is None:
        (source / "model.onnx").unlink()
    else:
        (source / "model.onnx").write_bytes(body)
    to = tmp_path / "to"
    said = fetch(address, to)
    assert said.exit_code == 1
    assert [path.name for path in to.iterdir()] == ["config.json"]
    assert "Traceback" not in said.output


def test_other_schemes_and_servers_that_are_not_there_are_said(source: Path, tmp_path: Path) -> None:
    for place in (f"file://{source}", "ftp://127.0.0.1/x", "http://127.0.0.1:9/"):
        said = fetch(place, tmp_path / "to")
        assert said.exit_code == 1
        assert said.output.startswith("Error: ")


def test_the_model_itself_is_fetched(tmp_path: Path) -> None:
    for address in serving(local_model()):
        said = fetch(address, tmp_path / "to")
        assert said.exit_code == 0, said.output
    assert sorted(path.name for path in (tmp_path / "to").iterdir()) == sorted(model.FILES)
