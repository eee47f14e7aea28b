"""What an episode is about so far: its cast, its entities by name, and the facts found; bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.text import normalise
from kgsvc.models.rules.gazetteer import MEN, WOMEN
from kgsvc.models.rules.text import word_set

_HE = word_set("he him his himself")
_SHE = word_set("she her hers herself")
_THEY = word_set("they them their theirs themselves")
_THINGS = frozenset({"Project", "Organization", "Product", "Work", "Location", "Event"})
_NEAR = 1  # sentences back that "it" and "they" may point
_MOST_RECENT = 50
_JOINERS = "\u200c\u200d\ufe0f"  # not printable, but parts of words and emoji


@dataclass(slots=True)
class Draft:
    """A node in the making. `type` may become more specific, attributes may be added."""

    ref: str
    name: str
    type: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def specify(self, kind: str) -> None:
        """Take a more telling type, if it had none."""
        if kind and self.type in ("Entity", "Topic") and not (self.type == "Topic" and kind == "Person"):
            self.type = kind


class Scene:
    """Collects the nodes and edges of one episode within the bounds of `limits`."""

    def __init__(self, limits: Limits, reference_ms: int, aliases: Mapping[str, str] | None = None) -> None:
        self.limits, self.reference_ms = limits, reference_ms
        self.aliases: dict[str, str] = dict(aliases or {})  # lower-case short name → full name
        self.people: frozenset[str] = frozenset()  # full names of those who talk
        self.speaker: Draft | None = None
        self.listener: Draft | None = None
        self.subject: Draft | None = None  # what a text is about: its title
        self.earlier: Callable[[str], str | None] = lambda kind: None  # names of earlier episodes by type
        self.sentence = 0
        self._nodes: dict[str, Draft] = {}
        self._edges: dict[tuple[str, str, str, str], ExtractedEdge] = {}
        self._recent: list[tuple[int, Draft]] = []
        self._named: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether no further fact fits."""
        return len(self._edges) >= self.limits.edges_per_extraction

    def named(self, name: str, kind: str = "Entity") -> Draft | None:
        """The node of a name, under its full form; remembered for pronouns. None when no more fit."""
        full = self.aliases.get(name.lower(), name)
        draft = self.node(full, "Person" if full in self.people else kind)
        if draft is not None:
            self._named.add(draft.ref)
            self.recall(draft)
        return draft

    def recall(self, draft: Draft) -> None:
        """Let pronouns mean the entity from now on."""
        self._recent.append((self.sentence, draft))
        del self._recent[:-_MOST_RECENT]

    def node(self, name: str, kind: str = "Entity") -> Draft | None:
        """The node called `name`, made if need be. None when none fits, or the name is empty or too long."""
        name = _printable(name)
        key = normalise(name)
        found = self._nodes.get(key)
        if found is not None:
            found.specify(kind)
            return found
        room = len(self._nodes) < self.limits.nodes_per_extraction
        if not key or not room or len(name) > self.limits.name or len(key) > self.limits.name:
            return None
        draft = Draft(f"n{len(self._nodes) + 1}", name, kind)
        self._nodes[key] = draft
        return draft

    def antecedent(self, pronoun: str) -> Draft | None:
        """Whom or what a third-person pronoun means: the latest fitting name of this episode, if any."""
        if pronoun in _HE or pronoun in _SHE:
            other = WOMEN - MEN if pronoun in _HE else MEN - WOMEN
            return self._latest(lambda d: _may_be_person(d) and _given(d) not in other)
        near = [draft for number, draft in self._recent if self.sentence - number <= _NEAR]
        if pronoun in _THEY:
            return next((d for d in reversed(near) if d.type == "Organization"), None)
        if self.subject is not None and self.subject.type != "Person":
            return self.subject
        return next((d for d in reversed(near) if d.type in _THINGS), None)

    def definite(self, kind: str) -> Draft | None:
        """What "the project" means: the one named last here, or else in earlier episodes."""
        if self.subject is not None and self.subject.type == kind:
            return self.subject
        here = next((draft for _, draft in reversed(self._recent) if draft.type == kind), None)
        if here is not None:
            return here
        name = self.earlier(kind)
        return None if name is None else self.named(name, kind)

    def latest_named(self, *but: Draft | None) -> Draft | None:
        """The entity that was named last, other than `but`."""
        return next((draft for _, draft in reversed(self._recent) if draft not in but), None)

    def add(self, edge: ExtractedEdge) -> bool:
        """Keep a fact; False if it does not fit, joins a node to itself or is there already."""
        edge = edge if edge.fact.isprintable() else replace(edge, fact=_printable(edge.fact))
        key = (edge.name, edge.source_ref, edge.target_ref, edge.fact)
        if edge.source_ref == edge.target_ref or self.full or key in self._edges or not edge.fact:
            return False
        if len(edge.fact) > self.limits.fact or len(normalise(edge.fact)) > self.limits.fact:
            return False
        self._edges[key] = edge
        return True

    def extraction(self) -> Extraction:
        """Everything collected: the facts, their ends, and what else was named."""
        edges = tuple(self._edges.values())
        kept = self._named | {ref for edge in edges for ref in (edge.source_ref, edge.target_ref)}
        kept |= {draft.ref for draft in (self.speaker, self.subject) if draft is not None}
        nodes = tuple(
            ExtractedNode(d.ref, d.name, d.type, "", d.attributes)
            for d in self._nodes.values()
            if d.ref in kept or d.attributes
        )
        return Extraction(nodes, edges)

    def _latest(self, fits: Callable[[Draft], bool]) -> Draft | None:
        if self.subject is not None and fits(self.subject):
            return self.subject
        cast = (self.speaker, self.listener)
        fitting = [(number, d) for number, d in self._recent if d not in cast and fits(d)]
        if not fitting or fitting[-1][0] == self.sentence:
            return fitting[-1][1] if fitting else None
        last = fitting[-1][0]  # of an earlier sentence its first name: mostly what it is about
        return next(draft for number, draft in fitting if number == last)


def _printable(text: str) -> str:
    """The text without control characters and lone surrogates, which no store need hold."""
    if text.isprintable():
        return text
    kept = "".join(char if char.isprintable() or char in _JOINERS else " " for char in text)
    return " ".join(kept.split())


def _given(draft: Draft) -> str:
    return draft.name.split(" ", 1)[0].lower()


def _may_be_person(draft: Draft) -> bool:
    return draft.type == "Person" or (draft.type == "Entity" and draft.name[0].isupper())
