"""The model's CandidateStore."""

from collections.abc import Iterable

from kgsvc.domain.model.graph import Fact
from kgsvc.domain.resolution.decisions import (
    EXPIRED_READ,
    FROM_THE_FIRST,
    CandidateQuery,
    NameCandidates,
    VectorPage,
    VectorsAfter,
)
from tests.support.model_intake import ModelQueue
from tests.support.model_rows import Group


class ModelCandidates(ModelQueue):
    """What new names and facts are compared with."""

    async def candidates(self, group_id: str, query: CandidateQuery) -> NameCandidates:
        group = self.peek(group_id)
        by_token: dict[str, tuple[str, ...]] = {}
        for token in set(query.tokens):
            uuids = sorted(
                uuid for each, uuid in group.name_tokens if each == token and uuid in group.entities
            )
            if uuids:
                by_token[token] = tuple(uuids[: query.entities_per_token])
        found = {uuid for uuids in by_token.values() for uuid in uuids}
        found |= group.entities.keys() & set(query.uuids)
        told = {uuid for uuids in by_token.values() for uuid in uuids[: query.told_per_token]}
        facts: dict[str, Fact] = {}
        for source in told.union(query.sources):
            of_source = _latest(group, query.facts_per_source, source)
            facts |= {fact.uuid: fact for fact in of_source}
        for target in told.union(query.targets):
            of_target = [f for f in group.facts.values() if f.target_uuid == target and f.expired_ms is None]
            latest = sorted(of_target, key=_age, reverse=True)[: query.facts_per_target]
            facts |= {fact.uuid: fact for fact in latest}
        if query.held_at_ms is not None:
            for uuid in told.union(query.sources):
                over = [fact for fact in group.facts.values() if fact.source_uuid == uuid]
                facts |= {fact.uuid: fact for fact in _ended_after(over, query.held_at_ms)}
            for uuid in told.union(query.targets):
                over = [fact for fact in group.facts.values() if fact.target_uuid == uuid]
                facts |= {fact.uuid: fact for fact in _ended_after(over, query.held_at_ms)}
        for source, target in query.pairs:
            facts |= {fact.uuid: fact for fact in _latest(group, query.facts_per_pair, source, target)}
        return NameCandidates(
            by_token=by_token,
            entities={uuid: group.entities[uuid] for uuid in found},
            names={uuid: _names(group, uuid)[: query.names_per_entity] for uuid in found},
            facts=tuple(sorted(facts.values(), key=_age, reverse=True)),
            labels={f.target_uuid: group.entities[f.target_uuid].labels for f in facts.values()},
            vectors=_page(group, query.vectors) if query.vectors and group_id in self._groups else None,
        )


def _page(group: Group, after: VectorsAfter) -> VectorPage:
    place = after.place if after.epoch == group.head.epoch else FROM_THE_FIRST
    rows = sorted(
        (group.vector_rev[uuid], uuid, vector)
        for uuid, (space, vector) in group.vectors.items()
        if uuid in group.entities and space == after.space and (group.vector_rev[uuid], uuid) > place
    )[: after.limit]
    if rows:
        place = rows[-1][:2]
    vectors = tuple((uuid, vector) for _rev, uuid, vector in rows)
    return VectorPage(group.head.epoch, place, vectors, more=len(rows) == after.limit)


def _names(group: Group, uuid: str) -> tuple[str, ...]:
    return tuple(sorted(key for key, owner in group.names.items() if owner == uuid))


def _latest(group: Group, limit: int, source: str, target: str | None = None) -> list[Fact]:
    found = [
        fact
        for fact in group.facts.values()
        if fact.source_uuid == source and target in (None, fact.target_uuid) and fact.expired_ms is None
    ]
    return sorted(found, key=_age, reverse=True)[:limit]


def _ended_after(facts: Iterable[Fact], ms: int) -> list[Fact]:
    """Of the facts that expired last those that ended after `ms`."""
    over = sorted(((f.expired_ms, f.uuid, f) for f in facts if f.expired_ms is not None), reverse=True)
    return [
        fact for _, _, fact in over[:EXPIRED_READ] if fact.invalid_ms is not None and fact.invalid_ms > ms
    ]


def _age(fact: Fact) -> tuple[int, str]:
    return (fact.start_ms, fact.uuid)
