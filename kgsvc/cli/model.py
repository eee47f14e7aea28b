"""`kgsvc model`: the files of the model that embeds in the process, checked against pinned hashes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, cast
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import click

from kgsvc.cli import options
from kgsvc.cli.options import Failure

NAME = "all-MiniLM-L6-v2"
# An export to ONNX in float32: size and SHA-256 of each file.
FILES = {
    "config.json": (612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    "special_tokens_map.json": (112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
    "tokenizer_config.json": (350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
    "tokenizer.json": (466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    "model.onnx": (90_322_936, "c5d546dbc484250b30737cd795305c03514c1f4dcce480e78d9fb8ae9671e53b"),
}
_PIECE = 1024 * 1024
_SILENCE_S = 30.0  # after which a server that sends nothing is given up
Open = Callable[[str], BinaryIO]


@click.group("model")
def command() -> None:
    """The model that embeds in the process (the extra kgsvc[local])."""


@command.command("fetch")
@click.option("--from", "source", required=True, metavar="URL|DIR", help="Where the files lie.")
@click.option("--to", type=click.Path(path_type=Path), help=f"Folder (models/{NAME} in store.data_dir).")
@options.config
def fetch(source: str, to: Path | None, config: Path | None) -> None:
    """Get the files of all-MiniLM-L6-v2 in ONNX, from a server that you name or from a folder.

    Each is compared with its pinned hash before it is put in its place; what is there already is not read
    again.
    """
    folder = to or options.loaded(config).settings.store.data_dir / "models" / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (size, digest) in FILES.items():
            if _matches(folder / name, size, digest):
                click.echo(f"{name}: there already")
                continue
            _put(folder / name, _opener(source), size, digest)
            click.echo(f"{name}: {size} bytes")
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        reason = error.reason if isinstance(error, URLError) else error
        raise Failure(f"the model was not fetched: {reason}") from error
    click.echo(f'Set models.embedder = "local" and models.local_path = "{folder.absolute()}".')


def _opener(source: str) -> Open:
    try:
        scheme = urlsplit(source).scheme
    except ValueError as error:
        raise Failure(f"--from is no address: {error}") from error
    if scheme in ("http", "https"):
        base = source.rstrip("/")
        return lambda name: cast(BinaryIO, urlopen(f"{base}/{quote(name)}", timeout=_SILENCE_S))
    if "://" in source:
        raise Failure(f"--from takes http, https or a folder, not {scheme}")
    return lambda name: (Path(source) / name).open("rb")


def _matches(path: Path, size: int, digest: str) -> bool:
    if not path.is_file() or path.stat().st_size != size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == digest


def _put(path: Path, opened: Open, size: int, digest: str) -> None:
    """Write a file whole or not at all. Raises Failure: it is another one; OSError, HTTPException."""
    begun, name = tempfile.mkstemp(prefix=".fetching-", dir=path.parent)
    try:
        with os.fdopen(begun, "wb") as file, opened(path.name) as source:
            if _copied(source, file, size) != digest:
                raise Failure(f"{path.name} is not the pinned file: its SHA-256 is not {digest}")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _copied(source: BinaryIO, file: BinaryIO, size: int) -> str:
    """The hash of what was copied, of no more than one piece beyond `size` bytes."""
    sums, left = hashlib.sha256(), size
    while left >= 0 and (piece := source.read(_PIECE)):
        sums.update(piece)
        file.write(piece)
        left -= len(piece)
    return sums.hexdigest()
