"""`kgsvc migrate`: the schema of the store, made or compared with that of this version."""

from __future__ import annotations

from pathlib import Path

import click

from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.config import Settings


@click.command("migrate")
@click.option("--check", is_flag=True, help="Change nothing: say whether this version can work on the store.")
@options.store
@options.data
@options.as_json
@options.config
def command(check: bool, store: str | None, data: Path | None, as_json: bool, config: Path | None) -> None:
    """Make the schema of a new store, as `kgsvc serve` does when it starts.

    Opens the store itself, also while a service is running. A store with the schema of another version is
    left alone, and what to do about it is said: exit code 1.
    """
    settings = options.loaded(config, store_kind=store, store_data_dir=data).settings
    with options.failures(settings):
        settings.verify()
        found, wanted = options.run(_check(settings) if check else _migrate(settings))
    if as_json:
        print_json({"store": settings.store.kind, "schema": found, "wanted": wanted})
    else:
        click.echo(f"The {settings.store.kind} store has schema {found}, which is that of this version.")


async def _migrate(settings: Settings) -> tuple[int, int]:
    from kgsvc import backends  # loads stores and models

    store = await backends.open_store(settings)
    try:
        found = await store.migrate()
        await backends.agree_on_key(settings, store)
        return found, wanted_schema(settings)
    finally:
        await store.close()


async def _check(settings: Settings) -> tuple[int, int]:
    """Raises Failure: there is no store, or no schema in it; StoreUnavailable: it is another's."""
    from kgsvc import backends
    from kgsvc.stores.admission import check_schema

    if not is_there(settings):
        raise Failure(f"there is no store ({options.store_place(settings)}); `kgsvc migrate` makes one")
    store = await backends.open_store(settings)
    try:
        found, wanted = (await store.info()).schema_version, wanted_schema(settings)
        if not found:
            raise Failure("the store has no schema yet: `kgsvc migrate` or `kgsvc serve` makes it")
        check_schema("the store", found, wanted)
        if bad := await store.bad_indexes():
            more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
            raise Failure(f"missing or not online: {', '.join(bad[:3])}{more}; `kgsvc migrate` may make them")
        return found, wanted
    finally:
        await store.close()


def wanted_schema(settings: Settings) -> int:
    """The version of the schema that this version of kgsvc works on."""
    if settings.store.kind == "neo4j":
        from kgsvc.stores.neo4j.schema import SCHEMA_VERSION as wanted
    else:
        from kgsvc.stores.embedded.schema import SCHEMA_VERSION as wanted
    return wanted


def is_there(settings: Settings) -> bool:
    """Whether opening the store makes nothing: that of an embedded one makes its directory, which of a
    mistyped one would be a store without data, in which all is well."""
    from kgsvc.stores.embedded.connection import FILE_NAME  # loads the engine

    return settings.store.kind != "embedded" or (settings.store.data_dir / FILE_NAME).exists()
