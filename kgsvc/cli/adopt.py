"""`kgsvc adopt`: takes over the graph that Graphiti wrote for a group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgsvc.access.audit import note_command
from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json
from kgsvc.config import Settings
from kgsvc.domain.errors import RevisionChanged
from kgsvc.domain.facts.adoption import ForeignFact, adopted, adopted_names
from kgsvc.domain.model.delta import GraphDelta, Guard, NameView
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key
from kgsvc.models.embedding import CachingEmbedder
from kgsvc.runtime import Clock, SystemClock

if TYPE_CHECKING:
    from kgsvc.stores.neo4j import Neo4jStore

_PAGE = 500  # rows in one transaction


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
        await backends.require_writable(store)
        embedder = backends.make_embedder(settings)
        cached = CachingEmbedder(embedder) if embedder else None
        done = await Adopter(store, cached, SystemClock()).adopt(
            group, (lambda _: None) if as_json else _tell
        )
        if embedder is not None:
            await embedder.close()
    finally:
        await store.close()
    note_command(settings.access.audit, "adopt", [group])
    if as_json:
        print_json({"episodes": done.episodes, "entities": done.entities, "facts": done.facts})
    else:
        click.echo(
            f"{group}: {done.episodes} episodes, {done.entities} entities, {done.facts} facts taken over."
        )


def _tell(done: Adopted) -> None:
    click.echo(f"  {done.episodes} episodes, {done.entities} entities, {done.facts} facts", err=True)


@dataclass(frozen=True, slots=True)
class Adopted:
    """How many rows were taken over."""

    episodes: int = 0
    entities: int = 0
    facts: int = 0


class Adopter:
    """Takes over groups page by page. If it is stopped, the next run continues where it was."""

    def __init__(self, store: Neo4jStore, embedder: CachingEmbedder | None, clock: Clock) -> None:
        self._store = store
        self._embedder = embedder
        self._clock = clock

    async def adopt(self, group_id: str, on_progress: Callable[[Adopted], None]) -> Adopted:
        """Everything of the group that is not ours yet; rows that are ours are left alone.

        Uuids, names, texts and both time axes stay. The configured embedder makes new vectors.
        Raises StoreUnavailable, ModelUnavailable.
        """
        done = Adopted()
        while count := await self._store.adopt_episodes(group_id, self._clock.now_ms(), _PAGE):
            done = replace(done, episodes=done.episodes + count)
            on_progress(done)
        while entities := await self._store.foreign_entities(group_id, _PAGE):
            await self._store.take(group_id, [e.uuid for e in entities], ())
            await self._write_entities(group_id, entities)
            done = replace(done, entities=done.entities + len(entities))
            on_progress(done)
        while facts := await self._store.foreign_facts(group_id, _PAGE):
            await self._store.take(group_id, (), [f.uuid for f in facts])
            await self._write_facts(group_id, facts)
            done = replace(done, facts=done.facts + len(facts))
            on_progress(done)
        return done

    async def _write_entities(self, group_id: str, entities: Sequence[Entity]) -> None:
        vectors = await self._vectors(group_id, {e.uuid: e.name for e in entities})
        dated = tuple(replace(e, updated_ms=e.created_ms) for e in entities)

        def delta(view: NameView) -> GraphDelta:
            names = adopted_names(entities, view.by_key)
            return GraphDelta(group_id, self._system_ms(view), entities=dated, names=names, vectors=vectors)

        await self._write(group_id, {name_key(entity.name) for entity in entities}, delta)

    async def _write_facts(self, group_id: str, facts: Sequence[ForeignFact]) -> None:
        vectors = await self._vectors(group_id, {f.uuid: f.fact for f in facts})
        rows = tuple(adopted(group_id, fact) for fact in facts)

        def delta(view: NameView) -> GraphDelta:
            return GraphDelta(group_id, self._system_ms(view), facts=rows, vectors=vectors)

        await self._write(group_id, (), delta)

    async def _write(
        self, group_id: str, keys: Collection[str], delta: Callable[[NameView], GraphDelta]
    ) -> None:
        """Plan and apply a delta until no other write overtakes it."""
        space = self._embedder.space if self._embedder else ""
        while True:
            view = await self._store.names(group_id, keys)
            try:
                await self._store.apply(
                    replace(delta(view), space=space), Guard(view.head.rev, view.head.epoch)
                )
            except RevisionChanged:
                continue
            return

    def _system_ms(self, view: NameView) -> int:
        return max(self._clock.now_ms(), view.head.last_ms + 1)

    async def _vectors(self, group_id: str, texts: dict[str, str]) -> dict[str, bytes]:
        if self._embedder is None:
            return {}
        made = await self._embedder.vectors(set(texts.values()), group_id)
        return {uuid: made[text] for uuid, text in texts.items()}
