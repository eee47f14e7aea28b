"""Entities and episodes by revision (SearchStore.text_changes), in the model store."""

from __future__ import annotations

from kgsvc.domain.delta import GraphDelta
from kgsvc.stores.search_protocol import IndexedEntity, IndexedEpisode, TextChanges
from tests.support.model_rows import Group

ENTITY, EPISODE = "entity", "episode"


def touch_texts(group: Group, delta: GraphDelta) -> None:
    """Called before the delta is written, at its revision."""
    entities = delta.vectors.keys() - {fact.uuid for fact in delta.facts}
    entities |= {entity.uuid for entity in delta.entities} | set(delta.names.values())
    entities |= set(delta.remove_entities)
    known = group.entities.keys() | {entity.uuid for entity in delta.entities} | set(delta.remove_entities)
    episodes = {mention.episode_uuid for mention in delta.mentions} | set(delta.found)
    episodes |= {episode for episode, _ in delta.remove_mentions}
    episodes |= {episode for episode, entity in group.mentions if entity in delta.remove_entities}
    episodes = {uuid for uuid in episodes if uuid in group.items} | set(delta.remove_episodes)
    group.text_rev |= {(ENTITY, uuid): group.rev for uuid in entities & known}
    group.text_rev |= {(EPISODE, uuid): group.rev for uuid in episodes}
    if delta.forgets:
        group.communities_rev = group.rev
    group.found = (group.found | episodes).difference(delta.remove_episodes)


def text_changes(group: Group, after_rev: int, limit: int, max_bytes: int) -> TextChanges:
    """See SearchStore."""
    later = sorted((rev, kind, uuid) for (kind, uuid), rev in group.text_rev.items() if rev > after_rev)
    full = [
        present[limit - 1]
        for kind in (ENTITY, EPISODE)
        if len(present := [rev for rev, k, uuid in later if k == kind and _is_there(group, k, uuid)]) >= limit
    ]
    said = [(rev, uuid) for rev, kind, uuid in later if kind == EPISODE and _is_there(group, kind, uuid)]
    total = 0
    for rev, uuid in said[:limit]:
        total += len(group.items[uuid].episode.body.encode())
        if total > max_bytes:
            full.append(rev)
    upto_rev = min(full, default=group.rev)
    page = [(kind, uuid) for rev, kind, uuid in later if rev <= upto_rev]
    there = [each for each in page if _is_there(group, *each)]
    gone = sorted(each for each in page if each not in there)
    return TextChanges(
        group.head,
        tuple(_entity(group, uuid) for kind, uuid in there if kind == ENTITY),
        tuple(_episode(group, uuid) for kind, uuid in there if kind == EPISODE),
        tuple(uuid for kind, uuid in gone if kind == ENTITY),
        tuple(uuid for kind, uuid in gone if kind == EPISODE),
        upto_rev,
        more=upto_rev < group.rev,
    )


def _is_there(group: Group, kind: str, uuid: str) -> bool:
    return uuid in (group.entities if kind == ENTITY else group.found)


def _entity(group: Group, uuid: str) -> IndexedEntity:
    space, vector = group.vectors.get(uuid, ("", None))
    names = sorted(key for key, owner in group.names.items() if owner == uuid)
    return IndexedEntity(group.entities[uuid], tuple(names), space, vector)


def _episode(group: Group, uuid: str) -> IndexedEpisode:
    named = sorted(entity for episode, entity in group.mentions if episode == uuid)
    return IndexedEpisode(group.items[uuid].episode, tuple(named))
