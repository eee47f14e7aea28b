"""What a noun phrase stands for: a named thing, something of somebody's, or a topic."""

from __future__ import annotations

from dataclasses import dataclass

from kgsvc.llm.offline.gazetteer import PLACES
from kgsvc.llm.offline.lexicon import KIN, PETS
from kgsvc.llm.offline.lists import word_set
from kgsvc.llm.offline.noun_phrases import Phrase
from kgsvc.llm.offline.phrases import GEN, NAME, NOUN, POSS, PRON
from kgsvc.llm.offline.reading import Reading
from kgsvc.llm.offline.scene import Draft, Scene
from kgsvc.llm.offline.topics import CONTAINERS, topic_of

_OF_PROJECTS = word_set("deadline launch release milestone kickoff budget")  # "the deadline": of the project
_LONGEST = 80  # characters of a made-up name


@dataclass(frozen=True, slots=True)
class Referent:
    """`named` is the thing itself if it has a name; `head` says what it is, `owner` whose.

    "my brother Tom": named Tom, head "brother", owner the speaker. "Tom's car": owner Tom, head "car".
    "the capital of France": owner France, head "capital", `part` true. "a red car": head "red car".
    """

    named: Draft | None = None
    owner: Draft | None = None
    head: str = ""
    part: bool = False

    @property
    def empty(self) -> bool:
        """Whether it stands for nothing that could be a node."""
        return self.named is None and not self.head and self.owner is None

    @property
    def last_word(self) -> str:
        """The noun itself: "brother" of "younger brother"."""
        return self.head.rsplit(" ", 1)[-1].lower()

    def node(self, scene: Scene) -> Draft | None:
        """The node for it, made if need be."""
        if self.named is not None:
            return self.named
        if self.owner is not None and (self.part or not self.head):
            return self.owner
        if self.owner is not None:
            kind = "Person" if self.last_word in KIN - PETS else "Topic"
            return scene.node(f"{self.owner.name}'s {self.head[:_LONGEST]}", kind)
        if not self.head:
            return None
        if self.head.lower() in PLACES and len(self.head) > 3:
            return scene.node(self.head.title(), "Location")
        return scene.node(self.head[:_LONGEST], "Topic")


def referent(reading: Reading, phrase: Phrase) -> Referent:
    """What the phrase stands for in its sentence."""
    units, first, after = reading.units, phrase.first, phrase.after
    if after - first == 1 and units[first].tag == PRON:
        return Referent(named=reading.meant.get(first))
    for at in range(first + 1, after - 1):
        if units[at].low == "of":
            return _with_of(reading, Phrase(first, at), Phrase(at + 1, after))
    for at in range(first + 1, after - 1):
        if units[at].tag == GEN:
            owner = referent(reading, Phrase(first, at))
            return _owned(reading, owner.named or owner.node(reading.scene), Phrase(at + 1, after))
    if units[first].tag in (POSS, PRON):
        return _owned(reading, reading.meant.get(first), Phrase(first + 1, after))
    return _plain(reading, phrase)


def _head(reading: Reading, first: int, after: int) -> str:
    return topic_of(reading.units[first:after], reading.sentence)


def _with_of(reading: Reading, left: Phrase, right: Phrase) -> Referent:
    head = _head(reading, left.first, left.after)
    whole = referent(reading, right)
    if not head or head.lower() in CONTAINERS:  # "one of Bob's friends", "a lot of music"
        return whole
    owner = whole.named or whole.owner
    if owner is None:
        return Referent(head=head)
    return Referent(owner=owner, head=head, part=True)


def _owned(reading: Reading, owner: Draft | None, rest: Phrase) -> Referent:
    inner = _plain(reading, rest)
    if inner.named is not None:
        return Referent(named=inner.named, owner=owner, head=inner.head)
    if inner.owner is not None:  # "my TechCorp badge"
        return inner
    return Referent(owner=owner, head=inner.head) if owner is not None else inner


def _plain(reading: Reading, phrase: Phrase) -> Referent:
    units = reading.units
    naming = [
        at
        for at in range(phrase.first, phrase.after)
        if units[at].tag == NAME or (units[at].tag == NOUN and at in reading.meant)
    ]
    if not naming:
        head = _head(reading, phrase.first, phrase.after)
        owner = None
        if head.lower() in _OF_PROJECTS and units[phrase.first].low == "the":
            owner = reading.scene.definite("Project")
        return Referent(owner=owner, head=head)
    last = naming[-1]
    named = reading.meant.get(last)
    behind = _head(reading, last + 1, phrase.after)
    if behind:
        return Referent(owner=named, head=behind, part=True)
    return Referent(named=named, head=_head(reading, phrase.first, naming[0]))
