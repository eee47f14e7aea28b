"""The state of reading one episode: who speaks, the entities by name, and the facts so far; all bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.text import normalise
from kgsvc.models.protocol import Trouble
from kgsvc.models.rules.english import MEN, STOP, WOMEN
from kgsvc.models.rules.sections import Sections
from kgsvc.models.rules.text import word_set

_HE = word_set("he him his himself")
_SHE = word_set("she her hers herself")
_PART = 4 * 1024  # characters; each part of a longer body has room for as many names and facts as a model's
_MOST_RECENT = 50
_JOINERS = "\u200c\u200d\ufe0f"  # not printable, but parts of words and emoji


_AUTHOR = re.compile(r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]*\.?)?(?: (?:[a-z]{2,3} )?[A-Z][^\W\d_]+){1,2}")


def _type_of_source(source: str) -> str:
    """Where a text comes from is its author by name, else a document; what only looks like a name may be
    either."""
    first = source.split(" ", 1)[0].lower()
    if _AUTHOR.fullmatch(source) is None or first in STOP:
        return "Document"
    return "Person" if first in MEN | WOMEN else "Entity"


@dataclass(slots=True)
class NodeDraft:
    """A node in the making. `type` may become more specific, attributes may be added."""

    ref: str
    name: str
    type: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def specify(self, kind: str) -> None:
        """Take a more telling type, if it had none."""
        if kind and self.type in ("Entity", "Topic"):
            self.type = kind


class Drafted(NamedTuple):
    """A statement without its words."""

    relation: str
    kind: FactKind
    source: NodeDraft
    target: NodeDraft
    polarity: Polarity = Polarity.ASSERTS
    valid_ms: int | None = None
    invalid_ms: int | None = None


Told = tuple[Drafted, str]  # a statement and its words


class Scene:
    """Collects the nodes and edges of one episode. The bounds of `limits` are those of each part of it."""

    def __init__(self, limits: Limits, reference_ms: int, chars: int) -> None:
        self.limits = limits
        self.reference_ms = self._told_ms = reference_ms  # now, as the words mean it: the day of a heading
        self._sections = Sections()
        parts = 1 + chars // _PART
        self._most_nodes = parts * limits.nodes_per_extraction
        self._most_edges = parts * limits.edges_per_extraction
        self.aliases: dict[str, str] = {}  # lower-case short name → full name
        self.people: frozenset[str] = frozenset()  # full names of those who talk
        self.speaker: NodeDraft | None = None
        self.listener: NodeDraft | None = None  # the only other one who talks
        self.addressed: NodeDraft | None = None  # who spoke before
        self.subject: NodeDraft | None = None  # what a text is about: its title
        self.source = ""  # where a text without title and speaker is from
        self.headings: list[str] = []  # above it, in the document that it is a chunk of
        self.replies_to = ""  # what a message answers or corrects
        self.sentence = 0
        self.earlier: Callable[[str], str | None] = lambda kind: None  # names of earlier episodes by type
        self._nodes: dict[str, NodeDraft] = {}
        self._lost: set[str] = set()  # lists in which something found no room any more
        self._edges: dict[tuple[str, str, str, str], ExtractedEdge] = {}
        self._recent: list[tuple[int, NodeDraft]] = []
        self._named: set[str] = set()

    def head(self, level: int, title: str) -> None:
        """A heading, of level 1 or deeper: what stands below is of the day that it names."""
        self._sections.enter(level, title)
        day = self.section_day()
        self.reference_ms = self._told_ms if day is None else day

    def section_day(self) -> int | None:
        """The day that the headings above give, if they name one."""
        return self._sections.day(self._told_ms)

    def full_name(self, name: str) -> str:
        """The name that a short one stands for here."""
        return self.aliases.get(name.lower(), name)

    def named(self, name: str, kind: str = "Entity") -> NodeDraft | None:
        """The node of a name, under its full form; remembered for pronouns. None when no more fit."""
        full = self.full_name(name)
        draft = self.node(full, "Person" if full in self.people else kind)
        if draft is not None:
            self._named.add(draft.ref)
            self.recall(draft)
        return draft

    def recall(self, draft: NodeDraft) -> None:
        """Let pronouns mean the entity from now on."""
        self._recent.append((self.sentence, draft))
        del self._recent[:-_MOST_RECENT]

    def node(self, name: str, kind: str = "Entity") -> NodeDraft | None:
        """The node called `name`, made if need be. None when none fits, or the name is empty or too long."""
        name = printable(name)
        key = normalise(name)
        found = self._nodes.get(key)
        if found is not None:
            found.specify(kind)
            return found
        if not key:
            return None
        if len(self._nodes) >= self._most_nodes:
            self._lost.add("nodes")
            return None
        if len(name) > self.limits.name or len(key) > self.limits.name:
            return None
        draft = NodeDraft(f"n{len(self._nodes) + 1}", name, kind)
        self._nodes[key] = draft
        return draft

    def found(self, name: str) -> NodeDraft | None:
        """The node called `name`, if there is one."""
        return self._nodes.get(normalise(printable(name)))

    def antecedent(self, pronoun: str) -> NodeDraft | None:
        """Whom "he" or "she" means: the latest person named here, if only one was since the last sentence
        but one; "it" is what the text is about."""
        if pronoun in _HE or pronoun in _SHE:
            other = WOMEN - MEN if pronoun in _HE else MEN - WOMEN
            return self._person(other)
        return self.subject if self.subject is not None and self.subject.type != "Person" else None

    def _person(self, other: frozenset[str]) -> NodeDraft | None:
        if self.subject is not None and self.subject.type == "Person" and _given(self.subject) not in other:
            return self.subject
        named = {d.ref for _, d in self._recent if d.type in ("Person", "Entity")}
        if self.speaker is None and len(named) > 1:
            return None  # a book tells of more people than the one named last
        cast = (self.speaker, self.listener)
        near = [(n, d) for n, d in self._recent if self.sentence - n <= 1 and d not in cast]
        fitting = [(n, d) for n, d in near if _given(d) not in other]
        people = {d.ref: d for _, d in fitting if d.type == "Person"}
        others = {d.ref: d for n, d in fitting if n < self.sentence and d.type == "Entity"}
        found = people or (others if self.speaker is not None else {})
        return next(iter(found.values())) if len(found) == 1 else None

    def definite(self, kind: str) -> NodeDraft | None:
        """What "the project" means: the one named last here, or else in earlier episodes."""
        if self.subject is not None and self.subject.type == kind:
            return self.subject
        here = next((draft for _, draft in reversed(self._recent) if draft.type == kind), None)
        name = None if here is not None else self.earlier(kind)
        return here if name is None else self.named(name, kind)

    def topic(self, but: Collection[NodeDraft]) -> NodeDraft | None:
        """What was named last that is no person, place or company."""
        things = ("Entity", "Event", "Product", "Project")
        return next((d for _, d in reversed(self._recent) if d.type in things and d not in but), None)

    def origin(self) -> NodeDraft | None:
        """Whose words these are: the speaker, else what the text is about, else where it is from."""
        known = self.speaker or self.subject
        return self.node(self.source, _type_of_source(self.source)) if self.source and not known else known

    def heard(self) -> NodeDraft | None:
        """To whom the speaker talks, or who spoke before."""
        return self.listener or self.addressed if self.speaker is not None else None

    def add(self, edge: ExtractedEdge) -> bool:
        """Keep a fact; False if it does not fit or is there already. One from a node to itself states a
        property of it, or words that name nothing else."""
        edge = edge if edge.fact.isprintable() else replace(edge, fact=printable(edge.fact))
        key = (edge.name, edge.source_ref, edge.target_ref, edge.fact)
        if key in self._edges or not edge.fact:
            return False
        if max(len(edge.fact), len(normalise(edge.fact))) > self.limits.fact:
            return False
        if len(self._edges) >= self._most_edges:
            self._lost.add("edges")
            return False
        self._edges[key] = edge
        return True

    def warnings(self) -> tuple[ItemWarning, ...]:
        """That some names or facts were left out, because there were too many for the length of the text."""
        return tuple(ItemWarning(path, Trouble.BEYOND_LIMIT, dropped=True) for path in sorted(self._lost))

    def extraction(self) -> Extraction:
        """The facts, the nodes at their ends, and all other named nodes."""
        edges = tuple(self._edges.values())
        kept = self._named | {ref for edge in edges for ref in (edge.source_ref, edge.target_ref)}
        kept |= {draft.ref for draft in (self.speaker, self.subject) if draft is not None}
        nodes = tuple(
            ExtractedNode(d.ref, d.name, d.type, "", d.attributes)
            for d in self._nodes.values()
            if d.ref in kept or d.attributes
        )
        return Extraction(nodes, edges)


def printable(text: str) -> str:
    """The text without control characters and lone surrogates, which no store need hold."""
    if text.isprintable():
        return text
    kept = "".join(char if char.isprintable() or char in _JOINERS else " " for char in text)
    return " ".join(kept.split())


def _given(draft: NodeDraft) -> str:
    return draft.name.split(" ", 1)[0].lower()
