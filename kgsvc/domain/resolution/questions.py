"""Which names and facts of a batch are new, which are decided by rule, which are for a model to decide.

Rules decide what is exact or a spelling (similarity.py) and facts of the same words between the same two.
A question is asked only where there is something to compare with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from types import MappingProxyType
from typing import Any

from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedNode
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names.meanings import BatchItem, renames_of
from kgsvc.domain.names.namesakes import exclude, is_marked, is_of_conversation, plain
from kgsvc.domain.names.similarity import (
    asked_tokens,
    families,
    id_term,
    identities,
    identities_in,
    name_tokens,
    numerals_differ,
    own_ids,
    spellings,
    told_identities,
)
from kgsvc.domain.resolution.decisions import CandidateQuery, Decisions, NameCandidates, NameDecision
from kgsvc.domain.resolution.record_ids import RecordIds

CANDIDATES = 8  # entities that one name is compared with
PEER_BYTES = 1_000  # of other new names that one is compared with for a token that they share
_PEERS_READ = 128  # of them, by each token
_CONTEXT_CHARS = 300
_LATE_MS = 24 * 60 * 60 * 1000
_SOURCES = 3  # candidates for a name, by each of its tokens and by similarity, whose facts are read too
_NOTHING: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewName:
    """A name that nothing in the graph bears yet, with its first node in the batch; `renamed` is the entity
    of which the batch says that it is or was called so."""

    key: str
    name: str
    node: ExtractedNode
    item: BatchItem
    renamed: Entity | None = None

    @property
    def context(self) -> str:
        """What its episode states about it."""
        refs = {node.ref for node in self.item.extraction.nodes if name_key(node.name) == self.key}
        facts = [e.fact for e in self.item.extraction.edges if {e.source_ref, e.target_ref} & refs]
        return _with_identities(self.node.summary or " ".join(facts), self.node.attributes)

    @property
    def identities(self) -> frozenset[str]:
        """What it is known by beside its name, as search terms."""
        return identities_in(plain(self.name)).union(identities(self.node.attributes), id_term(self.name))


def _with_identities(text: str, attributes: Mapping[str, Any]) -> str:
    known = told_identities(attributes)[:_CONTEXT_CHARS]
    return f"{text[: _CONTEXT_CHARS - len(known)]} ({known})".strip() if known else text[:_CONTEXT_CHARS]


def about(entity: Entity) -> str:
    """What a model is told of it."""
    known = told_identities(entity.attributes)[:_CONTEXT_CHARS]
    return f"{entity.summary} ({known})".strip() if known else entity.summary


def in_order(items: Iterable[BatchItem]) -> list[BatchItem]:
    """By reference time."""
    return sorted(items, key=lambda item: (item.episode.reference_ms, item.episode.uuid))


def new_names(items: Sequence[BatchItem], view: NameView, decided: Decisions) -> list[NewName]:
    """Names of the batch that are neither known nor decided, by first use."""
    found: dict[str, NewName] = {}
    renamed = _renamed(items, view)
    for item in in_order(items):
        for node in item.extraction.nodes:
            key = name_key(node.name)
            if key not in view.by_key and key not in decided.names and key not in found:
                found[key] = NewName(key, node.name.strip(), node, item, renamed.get(key))
    return list(found.values())


def _renamed(items: Sequence[BatchItem], view: NameView) -> dict[str, Entity]:
    """The known entity at the other side of a rename, by name key."""
    found: dict[str, Entity] = {}
    for rename in renames_of(items):
        for key, other in (rename.keys, rename.keys[::-1]):
            if other in view.by_key:
                found.setdefault(key, view.by_key[other])
    return found


def query(
    names: Sequence[NewName],
    items: Sequence[BatchItem],
    view: NameView,
    facts: bool,
    near: Mapping[str, tuple[str, ...]] = _NOTHING,
) -> CandidateQuery:
    """What to read for them, `near` being entities by name key; with `facts` also those that the batch's
    facts are compared with."""
    tokens = {token for new in names for token in asked_tokens(new.name) | new.identities}
    tokens |= {token for new in names for id in own_ids(new.node.attributes) for token in name_tokens(id)}
    uuids = {uuid for found in near.values() for uuid in found}
    uuids |= {new.renamed.uuid for new in names if new.renamed}
    if not facts:
        return CandidateQuery(tokens, uuids=uuids)
    ends = [ends for item in items for ends in _known_ends(item, view)]
    pairs = {pair for one, other in ends if one and other for pair in ((one, other), (other, one))}
    near_ends = [found[:_SOURCES] for found in near.values()]
    sources = {end for each in ends for end in each if end}.union(*near_ends)
    targets = {end for each in ends for end in each if end}  # the same may be told from the other end
    return CandidateQuery(
        tokens,
        sources,
        pairs,
        told_per_token=_SOURCES,
        uuids=uuids,
        targets=targets,
        held_at_ms=_told_before(items),
    )


def _told_before(items: Sequence[BatchItem]) -> int | None:
    """Where old episodes arrive now, the time of the first: what had not ended then may since have, by what
    was announced."""
    first_ms = min(item.episode.reference_ms for item in items)
    arrived_ms = max(item.episode.created_ms for item in items)
    return first_ms if arrived_ms - first_ms > _LATE_MS else None


def _known_ends(item: BatchItem, view: NameView) -> Iterable[tuple[str | None, str | None]]:
    known = {n.ref: view.by_key.get(name_key(n.name)) for n in item.extraction.nodes}
    for edge in item.extraction.edges:
        source, target = known[edge.source_ref], known[edge.target_ref]
        yield (source.uuid if source else None, target.uuid if target else None)


def ranked(name: str, candidates: NameCandidates) -> list[Entity]:
    """Entities that share tokens with the name, the rarest tokens and most of them first; then those near it,
    for which room is kept."""
    scores: dict[str, float] = {}
    for token in asked_tokens(name):
        for uuid in candidates.by_token.get(token, ()):
            scores[uuid] = scores.get(uuid, 0.0) + 1 / len(candidates.by_token[token])
    best = sorted(scores, key=lambda uuid: (-round(scores[uuid], 9), uuid))
    found = _with_near(best, candidates.near.get(name_key(name), ()))
    return [candidates.entities[uuid] for uuid in found if uuid in candidates.entities]


def _with_near(best: Sequence[str], near: Sequence[str]) -> list[str]:
    kept = best[:CANDIDATES]
    others = [each for each in near if each not in kept]
    return [*kept[: CANDIDATES - len(others)], *others]


def by_rule(names: Sequence[NewName], candidates: NameCandidates) -> dict[str, NameDecision]:
    """Names that are spellings of known ones, or renames of them, or spellings of one another: then the first
    used counts."""
    decided: dict[str, NameDecision] = {}
    ids = RecordIds(candidates.entities.values())
    for new in names:
        known = {e.uuid: [e.name, *candidates.names.get(e.uuid, ())] for e in ranked(new.name, candidates)}
        if is_of_conversation(new.name):  # whose it is was decided by that
            decided[new.key] = NameDecision(new.name)
        if is_marked(new.name):  # spelled as another, which it may not be
            continue
        for uuid in spellings([new.name], known).values():
            decided[new.key] = NameDecision(candidates.entities[uuid].name, uuid)
        if (bearer := ids.meant(new.name, new.node)) is not None:
            decided.setdefault(new.key, bearer)
        if new.renamed:
            decided.setdefault(new.key, NameDecision(new.renamed.name, new.renamed.uuid))
    order = {
        new.name: (n, new.key)
        for n, new in enumerate(names)
        if new.key not in decided and not is_marked(new.name)
    }
    for family in families(order):
        first, *others = sorted(family, key=order.__getitem__)
        decided |= {order[name][1]: NameDecision(first) for name in others}
    return decided


class Sharing:
    """Names by their tokens: those of which a question would be asked together with another name."""

    def __init__(self, names: Iterable[NewName] = ()) -> None:
        self._by_token: defaultdict[str, list[NewName]] = defaultdict(list)
        self._by_asked: defaultdict[str, list[NewName]] = defaultdict(list)
        for new in names:
            self.add(new)

    def add(self, new: NewName) -> None:
        """One more."""
        for token in name_tokens(new.name):
            self._by_token[token].append(new)
        for token in asked_tokens(new.name):
            self._by_asked[token].append(new)

    def sharing(self, name: str, each: int | None = None) -> Iterator[NewName]:
        """Those that share a token with it, some more than once; of each token the first `each` added."""
        for token in asked_tokens(name):
            yield from islice(self._by_token.get(token, ()), each)
        for token in name_tokens(name):
            yield from islice(self._by_asked.get(token, ()), each)


def peers(names: Sequence[NewName], near: Mapping[str, tuple[str, ...]] = _NOTHING) -> dict[str, list[str]]:
    """For each new name the keys of earlier ones that share a token with it, the first ones up to PEER_BYTES;
    then those `near` it."""
    found: dict[str, list[str]] = {}
    order: dict[str, int] = {}
    before = Sharing()
    for new in names:
        # The first of all are among the first of each token.
        sharing = {other.key for other in before.sharing(new.name, _PEERS_READ)}
        first = _fitting(sorted(sharing, key=order.__getitem__))
        found[new.key] = [*first, *(k for k in near.get(new.key, ()) if k in order and k not in first)]
        order[new.key] = len(order)
        before.add(new)
    return found


def _fitting(keys: Sequence[str]) -> list[str]:
    """The first ones of PEER_BYTES together."""
    ends = accumulate(len(key.encode()) for key in keys)
    return [key for key, end in zip(keys, ends, strict=True) if end <= PEER_BYTES]


def add_identities(
    names: Sequence[NewName],
    candidates: NameCandidates,
    near: dict[str, list[Entity]],
    peers: Mapping[str, list[str]],
) -> None:
    """Compare names first with what shares an identity and may be the same by its types: the account that is
    known by its number alone. Adds to `near` and `peers`."""
    before: defaultdict[str, list[NewName]] = defaultdict(list)
    for new in names:
        shared: dict[str, Entity] = {}
        for term in sorted(new.identities):
            found = (candidates.entities.get(uuid) for uuid in candidates.by_token.get(term, ()))
            shared |= {e.uuid: e for e in found if e and not exclude(e.labels, [new.node.type])}
            for other in before[term][:CANDIDATES]:
                if other.key not in peers[new.key] and not exclude([other.node.type], [new.node.type]):
                    peers[new.key].append(other.key)
            before[term].append(new)
        others = [each for each in near[new.key] if each.uuid not in shared]
        near[new.key] = [*shared.values(), *others][:CANDIDATES]


def add_speakers(
    names: Sequence[NewName],
    items: Iterable[BatchItem],
    view: NameView,
    near: Mapping[str, list[Entity]],
    peers: Mapping[str, list[str]],
) -> None:
    """Compare short names of people with who speaks in the batch: a nickname shares no token with the name
    that it stands for. Adds to `near` and `peers`."""
    speakers = {name_key(item.episode.role) for item in items if item.episode.role}
    known = [view.by_key[key] for key in sorted(speakers) if key in view.by_key][:CANDIDATES]
    before: list[NewName] = []
    for new in names:
        if _is_short(new):
            near[new.key].extend(each for each in known if each not in near[new.key])
        for other in before:
            short, full = (new, other) if _is_short(new) else (other, new)
            if _is_short(short) and full.key in speakers and other.key not in peers[new.key]:
                peers[new.key].append(other.key)
        before.append(new)


def of_same_numerals(
    names: Sequence[NewName],
    candidates: NameCandidates,
    near: Mapping[str, Sequence[Entity]],
    peers: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[Entity]], dict[str, list[str]]]:
    """Without what a name cannot mean, as it differs in a numeral: contract 5517 is not contract 5544."""
    by_key = {new.key: new.name for new in names}
    entities = {
        new.key: [
            e
            for e in near[new.key]
            if not numerals_differ(new.name, (e.name, *candidates.names.get(e.uuid, ())))
        ]
        for new in names
    }
    others = {
        new.key: [key for key in peers[new.key] if not numerals_differ(new.name, (by_key[key],))]
        for new in names
    }
    return entities, others


def _is_short(new: NewName) -> bool:
    """Whether it may be a nickname."""
    return new.node.type == "Person" and len(new.name.split()) == 1


def is_fuller(new: NewName, known: str) -> bool:
    """Whether a person known by a single name so far has now been called by more: Ana, Anahera Tamati."""
    return new.node.type == "Person" and len(new.name.split()) > 1 and len(known.split()) == 1


def share(one: str, other: str) -> bool:
    """Whether a question would be asked about the two."""
    return bool(asked_tokens(one) & name_tokens(other) or asked_tokens(other) & name_tokens(one))


def aliases_of(entity: Entity, names: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Its other names."""
    keys = dict.fromkeys(map(plain, names.get(entity.uuid, ())))
    return tuple(key for key in keys if key != name_key(entity.name))
