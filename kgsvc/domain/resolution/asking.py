"""One request for everything that a micro-batch needs decided, and what its answers mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgsvc.domain.facts.slots import SUPERSEDED
from kgsvc.domain.model.delta import NameView
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Ontology, of_type
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key, slot_of
from kgsvc.domain.names.meanings import BatchItem, renames_of, specific, types_differ
from kgsvc.domain.names.namesakes import plain
from kgsvc.domain.names.similarity import (
    adds_figures,
    figures_conflict,
    identities,
    may_be_called,
    numerals_differ,
)
from kgsvc.domain.resolution import comparing, full_names, questions
from kgsvc.domain.resolution.comparing import ComparedFact, fitting
from kgsvc.domain.resolution.decisions import (
    SAME,
    BatchFact,
    Decisions,
    FactDecision,
    FactQuestion,
    FactResolution,
    Judged,
    KnownEntity,
    KnownFact,
    KnownRef,
    KnownType,
    NameCandidates,
    NameDecision,
    NameTarget,
    NodeQuestion,
    Place,
    ResolutionRequest,
    Resolutions,
    StoredFact,
    Verdict,
)
from kgsvc.domain.resolution.full_names import Compared
from kgsvc.domain.resolution.questions import NewName


@dataclass(frozen=True, slots=True)
class _Same:
    """What a new name is said to mean, with what it goes by."""

    meant: NameTarget
    names: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(slots=True)
class Inquiry:
    """Builds the request. `decided` is what needs no question: facts of the same words."""

    group_id: str
    view: NameView
    candidates: NameCandidates
    names: Sequence[NewName]  # undecided ones
    known: Decisions
    ontology: Ontology = field(default_factory=Ontology)
    decided: dict[Place, FactDecision] = field(default_factory=dict)
    compared: Compared = field(default_factory=lambda: Compared({}, {}))  # what new names were compared with
    _places: list[Place] = field(default_factory=list)
    _edges: list[ExtractedEdge] = field(default_factory=list)  # at `_places`
    _refs: list[KnownRef] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)  # of `_refs`
    _entities: list[str] = field(default_factory=list)
    _asked: list[NewName] = field(default_factory=list)
    _near: dict[str, list[Entity]] = field(default_factory=dict)
    _peers: dict[str, list[str]] = field(default_factory=dict)
    _place_of: dict[str, Place] = field(default_factory=dict)
    _repetitions: dict[Place, BatchFact] = field(default_factory=dict)  # of words stated earlier in the batch
    _new: dict[str, NewName] = field(default_factory=dict)  # `names` by key
    _renamed: dict[str, set[str]] = field(default_factory=dict)  # by name key, those at the other side

    def request(self, items: Sequence[BatchItem]) -> ResolutionRequest | None:
        """None: there is nothing to ask."""
        ordered = questions.in_order(items)
        self._new = {new.key: new for new in self.names}
        for rename in renames_of(items):
            for key, other in (rename.keys, rename.keys[::-1]):
                self._renamed.setdefault(key, set()).add(other)
        nodes, entities = self._nodes(ordered)
        known: list[KnownFact] = []
        asked = list(self._facts(ordered, known))
        if not nodes and not asked:
            return None
        bodies = tuple(item.episode.body for item in ordered)
        return ResolutionRequest(
            self.group_id, nodes, entities, tuple(asked), tuple(known), bodies, self._offered_types(asked)
        )

    def _offered_types(self, asked: Sequence[FactQuestion]) -> tuple[KnownType, ...]:
        offered = {name for question in asked for name in question.fact_types}
        return tuple(
            KnownType(each.name, each.description)
            for each in self.ontology.fact_types
            if each.name in offered
        )

    def _nodes(self, items: Sequence[BatchItem]) -> tuple[tuple[NodeQuestion, ...], tuple[KnownEntity, ...]]:
        """Questions about names, and the entities that they may mean; `items` are in order."""
        near = {new.key: questions.ranked(new.name, self.candidates) for new in self.names}
        peers = questions.peers(self.names, self.candidates.near_names)
        questions.add_identities(self.names, self.candidates, near, peers)
        questions.add_speakers(self.names, items, self.view, near, peers)
        self.compared = Compared({key: {e.uuid for e in found} for key, found in near.items()}, peers)
        near, peers = self._near, self._peers = questions.of_same_numerals(
            self.names, self.candidates, near, peers
        )
        wanted = {key for key in near if near[key] or peers[key]}.union(*(peers[k] for k in peers))
        self._asked = [new for new in self.names if new.key in wanted]
        ids = {new.key: n for n, new in enumerate(self._asked)}
        places = {item.episode.uuid: n for n, item in enumerate(items)}
        entities = {e.uuid: e for new in self._asked for e in near[new.key]}
        self._entities = sorted(entities)
        idx = {uuid: n for n, uuid in enumerate(self._entities)}
        nodes = tuple(
            NodeQuestion(
                ids[new.key],
                plain(new.name),
                new.node.type,
                new.context,
                tuple(idx[e.uuid] for e in near[new.key]),
                tuple(sorted(ids[key] for key in peers[new.key])),
                places[new.item.episode.uuid],
            )
            for new in self._asked
        )
        known = tuple(
            KnownEntity(
                idx[e.uuid],
                e.name,
                e.labels[0] if e.labels else "Entity",
                questions.about(e),
                questions.aliases_of(e, self.candidates.names),
            )
            for e in (entities[uuid] for uuid in self._entities)
        )
        return nodes, known

    def _facts(self, items: Sequence[BatchItem], known: list[KnownFact]) -> Iterator[FactQuestion]:
        """Questions about facts, those that they are compared with appended to `known`."""
        facts = (fact for fact in self.candidates.facts if fact.expired_reason in (None, SUPERSEDED))
        before = [comparing.stored(fact, self.candidates.labels) for fact in facts]
        numbers: dict[str, int] = {}
        for item in items:
            nodes = {node.ref: node for node in item.extraction.nodes}
            for index, edge in enumerate(item.extraction.edges):
                place = (item.episode.uuid, index)
                source, target = nodes[edge.source_ref], nodes[edge.target_ref]
                new = self._new_fact(edge, source, target, item.episode.reference_ms)
                if place not in self.known.facts and (offered := self._compared(place, new, before)):
                    for old in offered:
                        if old.ref is not None and old.number not in numbers:
                            numbers[old.number] = len(known)
                            self._refs.append(old.ref)
                            self._texts.append(old.text)
                            known.append(old.known(numbers[old.number]))
                    self._places.append(place)
                    self._edges.append(edge)
                    types = fitting(
                        self.ontology, edge.name, self._types(source.name, source.type), new.types
                    )
                    yield FactQuestion(
                        len(self._places) - 1,
                        edge.fact,
                        edge.name,
                        item.episode.reference_ms,
                        edge.valid_ms,
                        edge.invalid_ms,
                        tuple(dict.fromkeys(numbers[old.number] for old in offered)),
                        edge.polarity,
                        tuple(each.name for each in types),
                    )
                before.insert(0, self._for_later(place, BatchFact(edge, source.name, target.name), new))

    def _for_later(self, place: Place, own: BatchFact, new: ComparedFact) -> ComparedFact:
        """What later facts of the batch are compared with; a repeated one stands for what it repeats."""
        decision = self.decided.get(place) or self.known.facts.get(place)
        self._place_of.setdefault(repr(own), place)
        return replace(new, ref=(decision and decision.led_back_to) or own)

    def _compared(
        self, place: Place, new: ComparedFact, before: Sequence[ComparedFact]
    ) -> list[ComparedFact]:
        """What the fact is compared with; nothing where the same words are known."""
        before = [old for old in before if not old.is_over(new.stated_ms)]
        same = comparing.exact(new, before)
        if same is None:
            return comparing.compared(new, before)
        if same.ref is not None and same.slot != new.slot:
            self.decided[place] = FactDecision(same.ref)
        elif isinstance(same.ref, BatchFact):
            self._repetitions[place] = same.ref
        return []

    def _new_fact(
        self, edge: ExtractedEdge, source: ExtractedNode, target: ExtractedNode, stated_ms: int
    ) -> ComparedFact:
        sources, targets = self._meanings(source.name), self._meanings(target.name)
        decided = len(sources) == len(targets) == 1
        words = comparing.distinctive_words(edge.fact, source.name, target.name)
        return ComparedFact(
            None,
            edge.fact,
            edge.name,
            edge.kind,
            edge.polarity,
            sources,
            targets,
            words,
            slot_of(edge.kind, min(sources), edge.name, min(targets), edge.qualifiers) if decided else "",
            self._types(target.name, target.type),
            valid_ms=edge.valid_ms,
            invalid_ms=edge.invalid_ms,
            stated_ms=stated_ms,
            about=words
            if source.ref == target.ref
            else comparing.distinctive_words(target.name, source.name),
        )

    def _types(self, name: str, extracted: str) -> frozenset[str]:
        """The type it was extracted with, and those of the entity that it is known to mean."""
        key = name_key(name)
        decision = self.known.names.get(key)
        meant = self.candidates.entities.get(decision.uuid) if decision and decision.uuid else None
        entity = self.view.by_key.get(key, meant)
        return specific([extracted, *(entity.labels if entity else ())])

    def _meanings(self, name: str) -> frozenset[str]:
        """What a name may mean; the other name of a rename in the batch means the same."""
        key = name_key(name)
        return self._own_meanings(key).union(*map(self._own_meanings, self._renamed.get(key, ())))

    def _own_meanings(self, key: str) -> frozenset[str]:
        entity = self.view.by_key.get(key)
        if entity is not None:
            return frozenset({entity.uuid})
        decision = self.known.names.get(key)
        if decision is not None:
            found = self.view.by_key.get(name_key(decision.name))
            return frozenset({decision.uuid or (found.uuid if found else name_key(decision.name))})
        return frozenset({key, *self._possible(key)})

    def _possible(self, key: str) -> set[str]:
        """What a new name may mean, as uuids and name keys. A person is compared with other people of whom
        nothing in the names says so; their facts are not therefore its own."""
        new = self._new.get(key)
        if new is None:
            return set()
        known = {e.uuid: (e.name, *self.candidates.names.get(e.uuid, ())) for e in self._near.get(key, ())}
        known |= {peer: (self._new[peer].name,) for peer in self._peers.get(key, ())}
        if new.node.type != "Person":
            return set(known)
        same = {e.uuid for e in self._near.get(key, ()) if new.identities & identities(e.attributes).keys()}
        same |= {peer for peer in known if peer in self._new and new.identities & self._new[peer].identities}
        return same | {ref for ref, names in known.items() if any(may_be_called(new.name, n) for n in names)}

    def decisions(self, answers: Resolutions) -> Decisions:
        """What the answers mean, also where they say that something is new. Those about facts that repeat one
        another are led back to the first."""
        names = {new.key: self._name(n, new, answers) for n, new in enumerate(self._asked)}
        facts: dict[Place, FactDecision] = {}
        for n, place in enumerate(self._places):
            facts[place] = self._decision(n, answers.facts[n], facts)
        for place, repeated in self._repetitions.items():
            same = self._first(repeated, facts)
            if same != repeated:
                facts[place] = FactDecision(same)
        return Decisions(names, facts)

    def _decision(self, n: int, answer: FactResolution, facts: Mapping[Place, FactDecision]) -> FactDecision:
        edge = self._edges[n]
        same: tuple[KnownRef, Verdict] | None = None
        judged: dict[str, Judged] = {}  # by what they are about, as `_place_of` has it
        for idx, (answered, since_ms) in answer.verdicts.items():
            ref = self._first(self._refs[idx], facts)
            verdict = _by_figures(answered, edge, self._texts[idx])
            if verdict in SAME:
                same = (ref, verdict)
            else:
                judged[repr(ref)] = Judged(ref, verdict, since_ms)
        others = tuple(each for each in judged.values() if same is None or each.ref != same[0])
        if same is not None:
            return FactDecision(same[0], others, None, same[1], by_model=True)
        return FactDecision(None, others, self._told_as(n, answer.fact_type), by_model=True)

    def _first(self, ref: KnownRef, facts: Mapping[Place, FactDecision]) -> KnownRef:
        """What a fact of the batch repeats, if it is decided to repeat something; else itself, as what it was
        decided to state."""
        place = self._place_of.get(repr(ref)) if isinstance(ref, BatchFact) else None
        decision = facts.get(place) if place else None
        if decision is None or isinstance(ref, StoredFact):
            return ref
        if decision.led_back_to is not None:
            return decision.led_back_to
        return ref if decision.told_as is None else replace(ref, edge=decision.told_as)

    def _told_as(self, n: int, name: str | None) -> ExtractedEdge | None:
        found = None if name is None else self.ontology.fact_type(name)
        edge = self._edges[n]
        return None if found is None or edge.name == name else of_type(edge, found)

    def _name(self, n: int, new: NewName, answers: Resolutions) -> NameDecision:
        answer = answers.nodes[n]
        known = [n for n in (answer.entity, *answer.also_known) if n is not None]
        peers = [n for n in (answer.node, *answer.also_new) if n is not None]
        same = [*map(self._as_known, known), *map(self._as_peer, peers)]
        if not same or numerals_differ(new.name, same[0].names):
            own = "" if same else full_names.full_name(new.name, answer.full_name, ())
            return NameDecision(new.name, None, own)
        first, *others = same
        also = [
            each
            for each in others
            if not numerals_differ(new.name, each.names) and not types_differ(first.types, each.types)
        ]
        full = full_names.full_name(new.name, answer.full_name, first.names)
        if not full and questions.is_fuller(new, first.meant.name):
            full = new.name
        return NameDecision(first.meant.name, first.meant.uuid, full, tuple(each.meant for each in also))

    def _as_known(self, idx: int) -> _Same:
        entity = self.candidates.entities[self._entities[idx]]
        names = (entity.name, *self.candidates.names.get(entity.uuid, ()))
        return _Same(NameTarget(entity.name, entity.uuid), names, entity.labels)

    def _as_peer(self, n: int) -> _Same:
        peer = self._asked[n]
        return _Same(NameTarget(peer.name), (peer.name,), (peer.node.type,))


def _by_figures(verdict: Verdict, new: ExtractedEdge, known: str) -> Verdict:
    """A fact does not repeat another from which it differs in a figure, but for an end that comes at another
    time; more figures are more detail."""
    if verdict is Verdict.GOES_ON and new.invalid_ms is not None:
        return verdict
    if verdict in SAME and figures_conflict(new.fact, known):
        return Verdict.REPLACED
    if verdict is Verdict.REPEATS and adds_figures(new.fact, known):
        return Verdict.REWORDS
    return verdict
