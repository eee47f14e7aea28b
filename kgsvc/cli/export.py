"""`kgsvc export` and `kgsvc import`: a group as JSON lines, between stores."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from kgsvc.access.audit import note_command
from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.config import Settings
from kgsvc.runtime import SystemClock

_TELL_S = 2.0


@click.command("export")
@click.argument("group")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--no-vectors", is_flag=True, help="Leave out vectors: for a store with another embedder.")
@options.as_json
@options.store_or_service
def command(
    group: str, file: Path, no_vectors: bool, as_json: bool, settings: Settings, remote: bool
) -> None:
    """Write all of GROUP to FILE as JSON lines (docs/export.schema.json), for `kgsvc import`.

    Opens the store itself, also while a service is running, or with --server has a running service export.
    Nothing may be written to the group meanwhile. FILE appears when it is whole. If it is stopped, run it
    again: it goes on where it was.
    """
    if file.exists():
        raise Failure(f"{file} is there already")
    with options.failures(settings):
        if remote:
            counts = options.run(_fetch(settings, group, file, not no_vectors))
        else:
            settings.verify()
            counts = options.run(_export(settings, group, file, not no_vectors))
            note_command(settings.access.audit, "export", [group])
    _say(group, counts, as_json, f"written to {file}")


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@options.as_json
@options.store_or_service
def imported(file: Path, as_json: bool, settings: Settings, remote: bool) -> None:
    """Make the group that FILE holds, which `kgsvc export` has written. It may come from another store.

    Opens the store itself, also while a service is running, or with --server has a running service import.
    All of FILE is checked first: nothing is written if anything in it is wrong. A group that has content is
    never changed. If it is stopped, run it again: it goes on where it was.
    """
    with options.failures(settings):
        if remote:
            group, counts = options.run(_send(settings, file))
        else:
            settings.verify()
            group, counts = options.run(_import(settings, file))
            note_command(settings.access.audit, "import", [group])
    _say(group, counts, as_json, "imported")


def _say(group: str, counts: Counter[str], as_json: bool, done: str) -> None:
    if as_json:
        print_json({"group": group, "rows": dict(counts)})
        return
    told = ", ".join(f"{counts[kind]:,} {name}" for kind, name in _NAMES.items() if counts[kind])
    click.echo(f"{group}: {told or 'nothing'} {done}.")


_NAMES = {
    "episode": "episodes",
    "entity": "entities",
    "fact": "facts",
    "document": "documents",
    "merge": "merges and splits",
}


async def _export(settings: Settings, group: str, file: Path, with_vectors: bool) -> Counter[str]:
    from kgsvc import backends  # loads stores and models
    from kgsvc.cli.main import installed_version
    from kgsvc.commands.transfer.exporting import export

    store = await backends.open_store(settings)
    try:
        await store.migrate()
        await backends.agree_on_key(settings, store)
        header = {"kgsvc": installed_version(), "exported_ms": SystemClock().now_ms()}
        return await export(store, group, file, header, with_vectors, _row_teller())
    finally:
        await store.close()


async def _import(settings: Settings, file: Path) -> tuple[str, Counter[str]]:
    from kgsvc import backends
    from kgsvc.commands.transfer.importing import import_file

    store = await backends.open_store(settings)
    try:
        await store.migrate()
        await backends.agree_on_key(settings, store)
        await backends.require_writable(store)
        checked = await import_file(store, file, settings.limits, SystemClock(), _row_teller())
        return checked.header.group_id, checked.counts
    finally:
        await store.close()


async def _fetch(settings: Settings, group: str, file: Path, with_vectors: bool) -> Counter[str]:
    from kgsvc.cli.transfers import fetch

    return await fetch(settings.client, group, file, with_vectors, _teller())


async def _send(settings: Settings, file: Path) -> tuple[str, Counter[str]]:
    from kgsvc.cli.transfers import send

    return await send(settings.client, file, _teller())


def _teller() -> Callable[[str], None]:
    """Says now and then how far it is."""
    said = time.monotonic()

    def tell(far: str) -> None:
        nonlocal said
        if time.monotonic() - said >= _TELL_S:
            said = time.monotonic()
            click.echo(f"  {far}", err=True)

    return tell


def _row_teller() -> Callable[[int], None]:
    """Says now and then how many rows are done."""
    tell = _teller()
    return lambda rows: tell(f"{rows:,} rows")
