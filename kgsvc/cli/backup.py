"""`kgsvc backup`: the embedded store as of one moment, in a folder, while a service goes on with it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from kgsvc.access.audit import note_command
from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.config import Settings

MODELS = "models"  # in the data directory: what `kgsvc model fetch` put there
_OWN = {"kgsvc.db", "kgsvc.db-journal", "manifest.json", MODELS}  # what a backup that was cut short may leave
_MIB = 1024 * 1024


@click.command("backup")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@options.data
@options.as_json
@options.config
def command(folder: Path, data: Path | None, as_json: bool, config: Path | None) -> None:
    """Copy the embedded store that store.data_dir names to DIR, which is missing or empty.

    Services may go on meanwhile: DIR holds what was committed at one moment. It is read back before the
    command says that it is done, and appears only then. `kgsvc restore` makes a store of it again.
    """
    settings = options.loaded(config, store_data_dir=data).settings
    with options.failures(settings):
        made = _backup(settings, folder, time.time_ns() // 1_000_000)
    note_command(settings.access.audit, "backup", [])
    if as_json:
        print_json(made)
        return
    size, rows = sum(each["bytes"] for each in made["files"].values()), made["rows"]
    click.echo(
        f"{folder}: {size / _MIB:,.1f} MiB as of {made['created_at']}, with {rows['episodes']:,} episodes,"
        f" {rows['entities']:,} entities and {rows['facts']:,} facts."
    )
    if made["digest_key"]:
        click.echo("Keep the digest key (store.digest_key) too, elsewhere: it is not in it.")


def embedded_only(settings: Settings, command_name: str) -> None:
    """Raises Failure."""
    if settings.store.kind != "embedded":
        raise Failure(
            f"`kgsvc {command_name}` is for the embedded store; of Neo4j use neo4j-admin"
            " (docs/operations.md, Backups)"
        )


def _backup(settings: Settings, folder: Path, now_ms: int) -> dict[str, Any]:
    from kgsvc.stores.embedded.manifest import sync_folder

    embedded_only(settings, "backup")
    if folder.exists() and any(folder.iterdir()):
        raise Failure(f"{folder} is not empty")
    partial = folder.with_name(f"{folder.name}.partial")
    remove_partial(partial)
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial.mkdir(mode=0o700)
    try:
        made = _fill(settings, partial, now_ms)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_folder(folder.parent)
    return made


def remove_partial(partial: Path) -> None:
    """What a command that was cut short left there. Raises Failure for anything else."""
    if not partial.exists():
        return
    if foreign := {path.name for path in partial.iterdir()} - _OWN:
        raise Failure(f"{partial} holds {min(foreign)}, which is of no backup: remove it")
    shutil.rmtree(partial)


def _fill(settings: Settings, partial: Path, now_ms: int) -> dict[str, Any]:
    import apsw

    from kgsvc.cli.main import installed_version
    from kgsvc.stores.embedded.backup import copy_store
    from kgsvc.stores.embedded.connection import FILE_NAME
    from kgsvc.stores.embedded.manifest import (
        Manifest,
        copy_file,
        sum_of_file,
        sync_folder,
        utc,
        write_manifest,
    )

    data = settings.store.data_dir
    held = copy_store(data, partial / FILE_NAME, _tell)
    files = {FILE_NAME: sum_of_file(partial / FILE_NAME)}
    for path in _beside(settings):
        name = path.relative_to(data)
        (partial / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files[name.as_posix()] = copy_file(path, partial / name)
    manifest = Manifest(
        created_at=utc(now_ms),
        kgsvc=installed_version(),
        sqlite=apsw.sqlite_lib_version(),
        schema=held.schema,
        digest_key=held.digest_key,
        ledger=settings.store.erasure_ledger is not None,
        files=files,
        rows=held.rows,
    )
    write_manifest(partial, manifest)
    sync_folder(partial)
    return asdict(manifest)


def _beside(settings: Settings) -> Iterator[Path]:
    """Files of models. What else lies in the data directory is made anew, or is no part of the store; keys
    and the ledger of erasures are left out wherever they lie."""
    store, access = settings.store, settings.access
    secret = {path.resolve() for path in (store.digest_key, store.erasure_ledger, access.file) if path}
    for path in sorted((store.data_dir / MODELS).rglob("*")):
        if path.is_file() and not path.is_symlink() and path.resolve() not in secret:
            yield path


def _tell(copied: int, pages: int) -> None:
    if copied < pages:
        click.echo(f"  {copied / pages:.0%}", err=True)
