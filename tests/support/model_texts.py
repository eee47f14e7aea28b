"""Entities and episodes by revision (SearchStore.text_changes), in the model store."""

from kgsvc.domain.model.delta import GraphDelta
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
    group.found = (group.found | episodes).difference(delta.remove_episodes)


def text_changes(group: Group, after: tuple[int, str], limit: int, max_bytes: int) -> TextChanges:
    """See SearchStore; everything up to and with `after` is read."""
    later = sorted(((rev, uuid), kind) for (kind, uuid), rev in group.text_rev.items() if (rev, uuid) > after)
    present = [(place, kind) for place, kind in later if _is_there(group, kind, place[1])]
    full = []
    for kind in (ENTITY, EPISODE):
        full += [place for place, k in present if k == kind][limit - 1 : limit]
    total = 0
    for place in [place for place, kind in present if kind == EPISODE][:limit]:
        total += len(group.items[place[1]].episode.body.encode())
        if total > max_bytes:
            full.append(place)
    end = (group.rev + 1, "")
    upto = min([end, *full])
    page = [(kind, place[1]) for place, kind in later if place <= upto]
    there = [each for each in page if _is_there(group, *each)]
    gone = sorted(each for each in page if each not in there)
    return TextChanges(
        group.head,
        tuple(_entity(group, uuid) for kind, uuid in there if kind == ENTITY),
        tuple(_episode(group, uuid) for kind, uuid in there if kind == EPISODE),
        tuple(uuid for kind, uuid in gone if kind == ENTITY),
        tuple(uuid for kind, uuid in gone if kind == EPISODE),
        upto_rev=upto[0] - 1,
        more=upto < end,
        upto_uuid=upto[1],
    )


def _is_there(group: Group, kind: str, uuid: str) -> bool:
    return uuid in (group.entities if kind == ENTITY else group.found)


def _entity(group: Group, uuid: str) -> IndexedEntity:
    space, vector = group.vectors.get(uuid, ("", None))
    names = sorted(key for key, owner in group.names.items() if owner == uuid)
    return IndexedEntity(group.entities[uuid], tuple(names), space, vector)


def _episode(group: Group, uuid: str) -> IndexedEpisode:
    named = sorted(entity for episode, entity in group.mentions if episode == uuid)
    space, passages = group.passages.get(uuid, ("", None))
    return IndexedEpisode(group.items[uuid].episode, tuple(named), space, passages)
