"""How a command ends when it did not do what it was asked. Wrong usage ends with 2, by click."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from kgsvc.config import ConfigError, Loaded, Settings, load
from kgsvc.domain.errors import KgError, StoreUnavailable

T = TypeVar("T")


class Failure(click.ClickException):
    """One sentence on standard error, exit code 1."""

    exit_code = 1


class ItemsParked(Failure):
    """Done, but items are parked: exit code 3."""

    exit_code = 3


PEM = click.Path(dir_okay=False, path_type=Path)
config = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Read settings from this TOML file (or KGSVC_CONFIG).",
)
group = click.option("--group", required=True, help="The group (tenant) to work in.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
store = click.option("--store", type=click.Choice(["embedded", "neo4j"]), help="The store (store.kind).")
data = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the embedded store and of index files, imports and models (store.data_dir).",
)
_CLIENT = (
    click.option("--server", metavar="HOST:PORT", help="The service to talk to (client.server)."),
    click.option(
        "--timeout",
        "timeout_s",
        type=float,
        metavar="SECONDS",
        help="Give up on a call after this many seconds (client.timeout_s).",
    ),
    click.option("--token", help="Token or JWT that says who calls; better in KGSVC_TOKEN (client.token)."),
    click.option("--ca", "tls_ca", type=PEM, help="Authority of the service's certificate (client.tls_ca)."),
    click.option("--cert", "tls_cert", type=PEM, help="Certificate of the caller (client.tls_cert)."),
    click.option("--key", "tls_key", type=PEM, help="Key of that certificate (client.tls_key)."),
)
_CLIENT_FIELDS = ("server", "timeout_s", "token", "tls_ca", "tls_cert", "tls_key")
max_facts = click.option("--max-facts", type=int, help="Most results; default 10.")
center = click.option("--center", metavar="UUID", help="Rank facts near this entity higher.")


def client(function: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that talks to a running service; it gets the `settings` they make."""

    @functools.wraps(function)
    def command(config: Path | None, **others: Any) -> None:
        flags = {f"client_{name}": others.pop(name) for name in _CLIENT_FIELDS}
        function(settings=loaded(config, **flags).settings, **others)

    return config(functools.reduce(lambda made, option: option(made), _CLIENT, command))


def store_or_service(function: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that opens the store itself or, with --server, asks a running service; it gets
    the `settings` that they make, and whether a service is asked (`remote`)."""

    @functools.wraps(function)
    def command(config: Path | None, store: str | None, data: Path | None, **others: Any) -> None:
        flags = {f"client_{name}": others.pop(name) for name in _CLIENT_FIELDS}
        made = loaded(config, store_kind=store, store_data_dir=data, **flags).settings
        function(settings=made, remote=flags["client_server"] is not None, **others)

    every = (config, *_CLIENT, data, store)
    return functools.reduce(lambda made, option: option(made), every, command)


def loaded(config: Path | None, **flags: object) -> Loaded:
    """The settings; a flag `server_listen` sets `server.listen`. Raises Failure."""
    try:
        return load({name.replace("_", ".", 1): value for name, value in flags.items()}, config)
    except ConfigError as error:
        raise Failure(str(error)) from error


def store_place(settings: Settings) -> str:
    """Where the store is, for people."""
    if settings.store.kind == "neo4j":
        return f"store.neo4j_uri is {settings.store.neo4j_uri}"
    return f"store.data_dir is {settings.store.data_dir.absolute()}"


@contextmanager
def failures(settings: Settings) -> Iterator[None]:
    """What starting the service or opening its store raises, as a Failure."""
    try:
        yield
    except StoreUnavailable as error:
        raise Failure(f"{error} ({store_place(settings)})") from error
    except KgError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error


def run(work: Coroutine[Any, Any, T]) -> T:
    """What a command's coroutine returns; Ctrl-C aborts it."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt as error:
        raise click.Abort from error
