"""What must be equal after each operation: everything that can be read."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from kgsvc.domain.model.graph import Fact
from kgsvc.domain.model.items import ItemState, ItemStatus
from kgsvc.search.engine import Engine
from kgsvc.search.results import Hit
from kgsvc.stores.protocol import Anchor, EpisodeCut
from kgsvc.stores.search_protocol import Changes, TextChanges
from tests.support.stateful.twins import Comparable, Side, receipt
from tests.support.stateful.words import QUERIES
from tests.support.stateful.world import START, World


async def compare_group(world: World, group_id: str) -> None:
    """Head, dump, items, latest episodes, changes after some revision."""
    rng, agree = world.rng, world.twins.agree
    states = rng.choice(((), (), (ItemState.PARKED,), (ItemState.ACCEPTED, ItemState.COMPLETED)))
    page, latest, place = rng.choice((3, 100, 100)), rng.randrange(1, 12), rng.randrange(9)
    limit = rng.choice((2, 1_000))
    await agree("dump", lambda side: _dump(side, group_id))
    await agree("list_items", lambda side: _items(side, group_id, states, page))
    await agree("changes", lambda side: _changes(world, side, group_id, place, limit))
    await agree("text_changes", lambda side: _text_changes(world, side, group_id, place, limit))
    if rng.random() < 0.25:
        await agree("recent_episodes", lambda side: _recent(side, group_id, latest))
        await agree("previous_episodes", lambda side: _previous(side, group_id, latest))
        await agree("relations", lambda side: side.store.relations(group_id, latest, 3))
        entity = rng.choice([*sorted(world.model.peek(group_id).entities), "nobody"])
        await agree("history", lambda side: _history(side, group_id, entity, f"e{latest:02}", latest))
    for receipt_id in world.some(world.receipts, 1):
        await agree(f"receipt {receipt_id}", partial(_receipt, receipt_id))


async def compare_all(world: World) -> None:
    """Every group and every receipt."""
    for group_id in world.groups:
        await compare_group(world, group_id)
    for receipt_id in world.receipts:
        await world.twins.agree(f"receipt {receipt_id}", partial(_receipt, receipt_id))


async def compare_ranking(world: World, model: Engine, real: Engine) -> None:
    """The same facts in the same order, found through indexes that follow `changes`."""
    center = world.rng.choice([None, *sorted(world.group().entities)])
    await _compare_ranking(world, model, real, center)


async def compare_cold(world: World, model: Engine, cold: Engine) -> None:
    """The same, found without an index in memory."""
    await _compare_ranking(world, model, cold, None)
    assert not any(map(cold.indexes.holds, world.groups)), "a group was loaded"


def _shown(hits: Sequence[Hit]) -> list[Fact]:
    """What was believed before is no part of an answer: a search without an index in memory leaves it out."""
    return [replace(hit.fact, beliefs=()) for hit in hits]


async def _compare_ranking(world: World, model: Engine, real: Engine, center: str | None) -> None:
    for query in world.some(QUERIES, 2):
        wanted = await model.facts(world.groups, query, 8, center, world.now_ms)
        found = await real.facts(world.groups, query, 8, center, world.now_ms)
        assert _shown(found) == _shown(wanted), f"ranking of {query!r} around {center}"
        for left, right in zip(found, wanted, strict=True):
            assert abs(left.score - right.score) < 1e-9, f"score of {left.fact.uuid} for {query!r}"


async def _dump(side: Side, group_id: str) -> Comparable:
    found = await side.store.dump(group_id)
    return {
        "head": side.relative(found.head),
        "episodes": found.episodes,
        "entities": found.entities,
        "names": dict(found.names),
        "facts": found.facts,
        "mentions": found.mentions,
        "edges": {uuid: tuple(facts) for uuid, facts in found.episode_edges.items() if facts},
    }


async def _items(side: Side, group_id: str, states: tuple[ItemState, ...], page: int) -> Comparable:
    rows: list[ItemStatus] = []
    token: str | None = None
    while True:
        found = await side.store.list_items(group_id, states, page, token)
        rows += found.rows
        token = found.next_token
        if token is None:
            return tuple(rows)


async def _changes(world: World, side: Side, group_id: str, place: int, limit: int) -> Comparable:
    """All facts after a revision seen before, page by page; what was removed and is not there again."""
    marks = side.marks[group_id]
    after = marks[place % len(marks)]
    facts: list[Comparable] = []
    removed: set[str] = set()
    page: Changes | None = None
    while page is None or page.more:
        page = await side.store.changes(group_id, after, limit)
        facts += [(f.fact.uuid, f.fact, f.space if f.vector else "", f.vector) for f in page.facts]
        removed |= set(page.removed)
        assert page.upto_rev > after or not page.more, "a page that leads nowhere"
        after = page.upto_rev
    revisions = world.model.peek(group_id).fact_rev
    order = [revisions.get(f[0], -1) for f in facts]
    assert order == sorted(order), "changes are not in order of their revisions"
    known = set(world.model.peek(group_id).removed_rev)
    return (
        tuple(sorted(facts, key=lambda f: f[0])),
        tuple(sorted(removed & known)),
        side.relative(page.head),
        page.upto_rev == page.head.rev,
    )


async def _text_changes(world: World, side: Side, group_id: str, place: int, limit: int) -> Comparable:
    """All entities and episodes after a revision seen before, page by page, and what is gone."""
    marks = side.marks[group_id]
    after = marks[place % len(marks)], ""
    held: dict[tuple[str, str], Comparable] = {}
    page: TextChanges | None = None
    while page is None or page.more:
        page = await side.store.text_changes(group_id, after[0], limit, after_uuid=after[1])
        held |= {("entity", uuid): None for uuid in page.removed_entities}
        held |= {("episode", uuid): None for uuid in page.removed_episodes}
        for one in page.entities:
            held["entity", one.entity.uuid] = (
                one.entity,
                one.names,
                one.space if one.vector else "",
                one.vector,
            )
        held |= {("episode", one.episode.uuid): (one.episode, one.entities) for one in page.episodes}
        upto = page.upto_rev, page.upto_uuid
        assert upto > after or not page.more, "a page that leads nowhere"
        after = upto
    return tuple(sorted(held.items(), key=lambda item: item[0]))


async def _recent(side: Side, group_id: str, latest: int) -> Comparable:
    cut = EpisodeCut(upto=(START + latest, "e05"), max_bytes=200)
    whole = await side.store.recent_episodes(group_id, latest)
    return tuple(whole), tuple(await side.store.recent_episodes(group_id, latest, cut))


async def _previous(side: Side, group_id: str, latest: int) -> Comparable:
    anchors = [Anchor(f"e{latest:02}", START), Anchor(f"e{latest:02}x", START + latest)]
    return await side.store.previous_episodes(group_id, anchors, latest, 7)


async def _history(side: Side, group_id: str, entity: str, episode: str, limit: int) -> Comparable:
    store, episodes = side.store, [episode, "e01", "e02", "nobody"]
    facts = await store.entity_facts(group_id, entity, limit, START)
    naming = await store.entity_episodes(group_id, entity, limit, 60)
    traces = await store.traces(group_id, "e02")
    return (
        tuple(facts),
        tuple(await store.facts(group_id, [fact.uuid for fact in facts])),
        (naming.first_uuid, naming.latest, tuple(await store.entity_names(group_id, entity, limit))),
        tuple(await store.entity_mentions(group_id, entity, limit, episodes)),
        await store.mentions(group_id, entity, episodes),
        await store.sayings(group_id, episode),
        await store.citations(group_id, episodes),
        await store.episode_edges(group_id, episodes),
        (traces.entities, tuple(sorted(await store.unheld(group_id, [entity, "nobody"], episode, ["f"])))),
        tuple(await store.merged(entity, group_id)),
    )


async def _receipt(receipt_id: str, side: Side) -> Comparable:
    return receipt(await side.store.receipt(receipt_id))
