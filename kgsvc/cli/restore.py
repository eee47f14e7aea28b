"""`kgsvc restore`: a store of what `kgsvc backup` made, without what was erased since."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgsvc.access.audit import note_command
from kgsvc.cli import options
from kgsvc.cli.backup import MODELS, embedded_only
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.config import Settings

if TYPE_CHECKING:
    from kgsvc.commands.core import Core
    from kgsvc.stores.embedded.manifest import Manifest

_WORK = "restoring"  # in the data directory, until all is there


@click.command("restore")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@options.data
@options.as_json
@options.config
def command(folder: Path, data: Path | None, as_json: bool, config: Path | None) -> None:
    """Make the embedded store that store.data_dir names from the backup in DIR. Nothing may be there yet.

    Every file is compared with its SHA-256 and the database is read whole first. What was erased since the
    backup, by the ledger that store.erasure_ledger names, is erased again before the store appears.
    """
    settings = options.loaded(config, store_data_dir=data).settings
    with options.failures(settings):
        manifest, repeated = options.run(_restore(settings, folder))
    note_command(settings.access.audit, "restore", [])
    place = settings.store.data_dir
    if as_json:
        print_json({"created_at": manifest.created_at, "erasures_repeated": repeated, "rows": manifest.rows})
        return
    click.echo(f"{place}: the store as of {manifest.created_at}; {repeated} erasures were carried out again.")
    if settings.store.erasure_ledger is None:
        click.echo("What was erased since is back: store.erasure_ledger names no ledger of erasures.")


async def _restore(settings: Settings, folder: Path) -> tuple[Manifest, int]:
    from kgsvc import backends
    from kgsvc.stores.embedded.manifest import MANIFEST, read_manifest

    embedded_only(settings, "restore")
    manifest = read_manifest(folder)
    _check_versions(settings, manifest)
    await backends.use_digest_key(settings)
    if manifest.digest_key is not None:
        backends.check_digest_key(manifest.digest_key, f"{MANIFEST}: ")
    data = settings.store.data_dir
    was_there = data.exists()
    work = _begun(data)
    try:
        _copied(folder, manifest, work)
        repeated = await _erased(settings, work)
        _put(work, data)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        if not was_there:
            with contextlib.suppress(OSError):  # somebody else uses it meanwhile
                data.rmdir()
        raise
    return manifest, repeated


def _check_versions(settings: Settings, manifest: Manifest) -> None:
    from kgsvc.domain.errors import StoreUnavailable
    from kgsvc.stores.admission import check_schema
    from kgsvc.stores.embedded.manifest import MANIFEST, BackupRefused
    from kgsvc.stores.embedded.schema import SCHEMA_VERSION

    try:
        check_schema("the backup", manifest.schema, SCHEMA_VERSION)
    except StoreUnavailable as error:
        raise BackupRefused(f"{MANIFEST}: {error}") from error
    ledger = settings.store.erasure_ledger
    if manifest.ledger and (ledger is None or not ledger.is_file()):
        where = "store.erasure_ledger names none" if ledger is None else f"there is none at {ledger}"
        raise BackupRefused(
            f"{MANIFEST}: the store had a ledger of erasures, and {where}: without it, what was erased since"
            " would be back (an empty file there stands for no erasures)"
        )


def _begun(data: Path) -> Path:
    """An empty folder to work in, beside where everything goes, so that a rename is enough at the end."""
    if data.exists() and (there := {path.name for path in data.iterdir()} - {_WORK}):
        raise Failure(f"{data} is not empty: it holds {min(there)}")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    work = data / _WORK
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(mode=0o700)
    return work


def _copied(folder: Path, manifest: Manifest, work: Path) -> None:
    from kgsvc.stores.embedded.backup import Held, begin_epochs, verify
    from kgsvc.stores.embedded.connection import FILE_NAME
    from kgsvc.stores.embedded.manifest import MANIFEST, BackupRefused, copy_file

    if FILE_NAME not in manifest.files:
        raise BackupRefused(f"{MANIFEST}: names no {FILE_NAME}")
    for name, stated in manifest.files.items():
        source, target = folder / name, work / name
        if not source.is_file() or source.is_symlink():
            raise BackupRefused(f"{name}: is missing in {folder}")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if copy_file(source, target) != stated:
            raise BackupRefused(f"{name}: is damaged: it does not have the SHA-256 that {MANIFEST} states")
    verify(work / FILE_NAME, Held(manifest.schema, manifest.rows, manifest.digest_key))
    begin_epochs(work / FILE_NAME)


async def _erased(settings: Settings, work: Path) -> int:
    """Erase what was erased since the backup, and finish what was being erased then; how many parts were
    repeated."""
    from kgsvc.commands.erasures import Erasures

    async with _core(settings, work) as core:
        return len(await Erasures(core).settle())


@asynccontextmanager
async def _core(settings: Settings, work: Path) -> AsyncIterator[Core]:
    from kgsvc import backends
    from kgsvc.commands.core import Core
    from kgsvc.commands.ledger import Ledger
    from kgsvc.jobs.activity import ActivityWatch
    from kgsvc.models.embedding import CachingEmbedder
    from kgsvc.observability.metrics import Metrics
    from kgsvc.runtime import SystemClock
    from kgsvc.stores.embedded import EmbeddedStore

    embedder, rng = backends.make_embedder(settings), random.Random()
    store = await EmbeddedStore.open(work)
    try:
        await store.migrate()
        ledger = settings.store.erasure_ledger
        yield Core(
            store=store,
            clock=SystemClock(),
            rng=rng,
            limits=settings.limits,
            metrics=Metrics(),
            activity=ActivityWatch(store, settings.queue.poll_s, rng),
            embedder=None if embedder is None else CachingEmbedder(embedder),
            ledger=None if ledger is None else Ledger(ledger),
        )
    finally:
        await store.close()
        if embedder is not None:
            await embedder.close()


def _put(work: Path, data: Path) -> None:
    """Move everything to its place, the database last: with it the store is there."""
    from kgsvc.stores.embedded.connection import FILE_NAME
    from kgsvc.stores.embedded.manifest import sync_folder

    if (data / FILE_NAME).exists():
        raise Failure(f"{data} is not empty any more: another process made a store there")
    if (work / MODELS).exists():
        (work / MODELS).rename(data / MODELS)
    os.rename(work / FILE_NAME, data / FILE_NAME)
    sync_folder(data)
    shutil.rmtree(work, ignore_errors=True)
