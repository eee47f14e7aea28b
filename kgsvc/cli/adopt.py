"""`kgsvc adopt`."""

from __future__ import annotations

from pathlib import Path

import click

from kgsvc.cli import options
from kgsvc.cli.auditing import note
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.commands.adoption import Adopted, Adopter
from kgsvc.config import Settings
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.runtime import SystemClock


@click.command("adopt")
@options.group
@options.as_json
@options.config
def command(group: str, as_json: bool, config: Path | None) -> None:
    """Take over what Graphiti wrote for a group into the Neo4j that store.neo4j_uri names.

    Opens the store itself, also while a service is running. Nothing is removed; uuids and times stay. If it
    is stopped, run it again: it goes on where it was.
    """
    settings = options.loaded(config, store_kind="neo4j").settings
    with options.failures(settings):
        settings.verify()
        options.run(_adopt(settings, group, as_json))


async def _adopt(settings: Settings, group: str, as_json: bool) -> None:
    from kgsvc import backends  # loads stores and models
    from kgsvc.stores.neo4j import Neo4jStore

    store = await backends.open_store(settings)
    try:
        if not isinstance(store, Neo4jStore):
            raise Failure("only a Neo4j store can hold a graph that Graphiti wrote")
        await store.migrate()
        await backends.agree_on_key(settings, store)
        embedder = backends.make_embedder(settings)
        cached = CachingEmbedder(embedder) if embedder else None
        done = await Adopter(store, cached, SystemClock()).adopt(
            group, (lambda _: None) if as_json else _tell
        )
        if embedder is not None:
            await embedder.close()
    finally:
        await store.close()
    note(settings.access, "adopt", [group])
    if as_json:
        print_json({"episodes": done.episodes, "entities": done.entities, "facts": done.facts})
    else:
        click.echo(
            f"{group}: {done.episodes} episodes, {done.entities} entities, {done.facts} facts taken over."
        )


def _tell(done: Adopted) -> None:
    click.echo(f"  {done.episodes} episodes, {done.entities} entities, {done.facts} facts", err=True)
