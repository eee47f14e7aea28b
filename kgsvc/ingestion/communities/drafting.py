"""From the facts of a group and its communities to drafts: which members and facts tell of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from kgsvc.domain.communities import Draft, Link, community_uuid
from kgsvc.ingestion.communities.detection import Ends

HUBS = 8
_FACTS_A_HUB = 4
_FACTS = 24
_BY_MODEL_FROM = 3  # members


class Graph:
    """The current facts of a group, collected from pages of links."""

    def __init__(self) -> None:
        self._facts: dict[str, Ends] = {}
        self._uuids: dict[str, str] = {}  # each entity's uuid once, however many facts it has

    def add(self, links: Iterable[Link]) -> None:
        """Take in a page; what is said of a fact last counts. A fact about one entity alone links nothing."""
        for link in links:
            if link.current and link.source_uuid != link.target_uuid:
                self._facts[link.fact_uuid] = (self._one(link.source_uuid), self._one(link.target_uuid))
            else:
                self._facts.pop(link.fact_uuid, None)

    @property
    def facts(self) -> Mapping[str, Ends]:
        """The ends of each current fact."""
        return self._facts

    def _one(self, uuid: str) -> str:
        return self._uuids.setdefault(uuid, uuid)


def drafts_of(
    group_id: str, build_id: str, facts: Mapping[str, Ends], communities: Sequence[Sequence[str]]
) -> list[Draft]:
    """A draft for each community, by uuid. Depends on nothing but its arguments."""
    home = {member: n for n, members in enumerate(communities) for member in members}
    inside: list[dict[str, Ends]] = [{} for _ in communities]
    for uuid in sorted(facts):
        source, target = facts[uuid]
        if home[source] == home[target]:
            inside[home[source]][uuid] = (source, target)
    drafts = [
        _draft(group_id, build_id, members, own) for members, own in zip(communities, inside, strict=True)
    ]
    return sorted(drafts, key=lambda draft: draft.uuid)


def _draft(group_id: str, build_id: str, members: Sequence[str], facts: Mapping[str, Ends]) -> Draft:
    degree = Counter(end for ends in facts.values() for end in ends)
    hubs = sorted(members, key=lambda member: (-degree[member], member))[:HUBS]
    return Draft(
        uuid=community_uuid(group_id, build_id, members),
        members=tuple(sorted(members)),
        hubs=tuple(hubs),
        facts=_telling(hubs, facts, degree),
    )


def _telling(hubs: Sequence[str], facts: Mapping[str, Ends], degree: Counter[str]) -> tuple[str, ...]:
    """Some facts of each hub in turn; of a hub's facts those with the most connected other end first."""
    of_hub: dict[str, list[tuple[int, str]]] = {hub: [] for hub in hubs}
    for uuid, (source, target) in facts.items():
        for hub, other in ((source, target), (target, source)):
            if hub in of_hub:
                of_hub[hub].append((-degree[other], uuid))
    rows = [[uuid for _, uuid in sorted(of_hub[hub])] for hub in hubs]
    chosen: dict[str, None] = {}
    for turn in zip_longest(*rows):
        chosen |= dict.fromkeys(uuid for uuid in turn if uuid is not None)
        if len(chosen) >= min(_FACTS, _FACTS_A_HUB * len(hubs)):
            break
    return tuple(chosen)[:_FACTS]


def give_to_model(drafts: Sequence[Draft], calls_a_draft: int, calls: int) -> list[Draft]:
    """The drafts with the largest of them marked for a model, as many as its calls suffice for."""
    large = [draft for draft in drafts if len(draft.members) >= _BY_MODEL_FROM]
    large.sort(key=lambda draft: (-len(draft.members), draft.uuid))
    chosen = {draft.uuid for draft in large[: calls // calls_a_draft]}
    return [replace(draft, by_model=draft.uuid in chosen) for draft in drafts]
