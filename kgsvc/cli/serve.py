"""`kgsvc serve`, and each of its processes where it has several."""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgsvc.cli import options
from kgsvc.cli.main import installed_version
from kgsvc.cli.options import Failure
from kgsvc.config import Settings
from kgsvc.processes import cores, suited

if TYPE_CHECKING:
    from kgsvc.announcement import Running


@click.command("serve")
@options.store
@options.data
@click.option(
    "--listen", metavar="HOST:PORT", help="Address to listen on; port 0 takes a free one (server.listen)."
)
@click.option(
    "--role", type=click.Choice(["api", "worker", "all"]), help="Answer calls, ingest, or both (server.role)."
)
@click.option(
    "--processes",
    type=int,
    metavar="N",
    help="N processes on one port. With --role all the larger half answers calls, the others ingest;"
    " by default one each where there are two cores (server.processes).",
)
@click.option(
    "--insecure",
    is_flag=True,
    default=None,
    help="Listen where other machines reach it without TLS or without credentials (server.insecure).",
)
@options.config
def command(
    store: str | None,
    data: Path | None,
    listen: str | None,
    role: str | None,
    processes: int | None,
    insecure: bool | None,
    config: Path | None,
) -> None:
    """Run the service until SIGTERM or Ctrl-C, then finish running calls and batches.

    All other settings come from the file given by --config or from variables KGSVC_SECTION_FIELD.
    """
    settings = options.loaded(
        config,
        store_kind=store,
        store_data_dir=data,
        server_listen=listen,
        server_role=role,
        server_processes=processes,
        server_insecure=insecure,
    ).settings
    serve(settings, announce)


def serve(settings: Settings, say: Callable[[Running, Settings], None]) -> None:
    """Run the service until a signal; `say` is told what runs where, by which settings. Raises Failure."""
    settings = suited(settings, cores())
    if settings.server.processes > 1:
        from kgsvc.processes import run
    else:
        from kgsvc.app import run  # loads every room

    with options.failures(settings):
        run(settings, lambda service: say(service, settings))


def _callers(settings: Settings) -> str:
    access = settings.access
    known = {"tokens and certificates": access.file, "JWTs": access.jwt_keys}
    return ", ".join(kind for kind, source in known.items() if source is not None) or "anybody"


def _metrics(address: str | None, wanted: str) -> str:
    if address is None:
        return "off"
    taken = address.rpartition(":")[2] != wanted.rpartition(":")[2] != "0"
    return f"http://{address}/metrics{f' ({wanted} is taken)' if taken else ''}"


def announce(service: Running, settings: Settings) -> None:
    """Say what runs where, and what to try."""
    place = settings.store.neo4j_uri if settings.store.kind == "neo4j" else f"{settings.store.data_dir}/"
    rows = {
        "store": f"{service.store.kind} {service.store.version} at {place}",
        "extractor": service.extractor,
        "embedder": service.embedder or "none: search by keyword alone",
        "role": settings.server.role,
        "processes": str(settings.server.processes),
        "callers": _callers(settings),
        "http": service.http_address or "off",
        "metrics": _metrics(service.metrics_address, settings.server.metrics_listen),
    }
    where = f"listening on {service.address}" if service.address else "working on the queue"
    click.echo(f"kgsvc {installed_version()} {where}")
    for name, value in rows.items():
        click.echo(f"  {name:<10} {value}")
    if service.address and settings.server.tls_cert is None:
        click.echo(f"Try: grpcurl -plaintext {service.address} kgsvc.v1.AdminService/Healthcheck")
    elif service.address:
        click.echo(f"Try: grpcurl -cacert CA.pem {service.address} kgsvc.v1.AdminService/Healthcheck")


def member() -> int:
    """A process of `kgsvc serve --processes N`: serves like any other until a signal or the parent's end; its
    exit code.

    Standard input brings the settings, then news of other processes (siblings.py), and ends when the parent
    does. Standard output takes one line of JSON: what runs here, or why nothing does; then news for others.
    """
    from kgsvc import app  # loads every room

    try:
        settings: Settings = pickle.load(sys.stdin.buffer)
    except EOFError:
        return 0  # the parent is gone already
    try:
        with options.failures(settings):
            pipes = (sys.stdin.fileno(), sys.stdout.fileno())
            app.run(settings, lambda service: _say(service.to_json()), parent=pipes)
    except Failure as failure:
        _say(json.dumps({"failed": failure.message}))
        return failure.exit_code
    return 0


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody hears it: the end of standard input says so too
        print(line, flush=True)
