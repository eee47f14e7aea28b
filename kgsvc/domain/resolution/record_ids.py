"""Records that name a thing by its id alone mean the one that has the id, whichever was told first. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kgsvc.domain.model.extraction import ExtractedNode
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.namesakes import exclude
from kgsvc.domain.names.similarity import id_term, own_ids
from kgsvc.domain.resolution.decisions import NameDecision


class RecordIds:
    """Known entities by the ids that they have, and by those that are all their name."""

    def __init__(self, known: Iterable[Entity]) -> None:
        self._by_own: defaultdict[str, list[Entity]] = defaultdict(list)
        self._by_name: defaultdict[str, list[Entity]] = defaultdict(list)
        for entity in known:
            for term in own_ids(entity.attributes):
                self._by_own[term].append(entity)
            for term in id_term(entity.name):
                self._by_name[term].append(entity)

    def meant(self, name: str, node: ExtractedNode) -> NameDecision | None:
        """The one entity that has the id which is the name, or that is known by an id of the node alone and
        gets the name; None: there is none, or several."""
        bearers = _of_type(node, self._by_own, id_term(name))
        if len(bearers) == 1:
            return NameDecision(bearers[0].name, bearers[0].uuid)
        nameless = [] if bearers else _of_type(node, self._by_name, own_ids(node.attributes))
        return NameDecision(nameless[0].name, nameless[0].uuid, name) if len(nameless) == 1 else None


def _of_type(node: ExtractedNode, by_term: Mapping[str, list[Entity]], terms: Iterable[str]) -> list[Entity]:
    """Entities of these terms, each once, whose types allow that the node means them."""
    found = {entity.uuid: entity for term in terms for entity in by_term.get(term, ())}
    return [entity for entity in found.values() if not exclude(entity.labels, [node.type])]
