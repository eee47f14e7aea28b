"""One sentence: its tagged units, its clauses, and what names, pronouns and noun phrases refer to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kgsvc.models.rules.clauses import Clause, clauses_of
from kgsvc.models.rules.lexicon import (
    COMMON,
    DEMONYMS,
    FIRST_PERSON,
    KIN,
    PETS,
    PLACES,
    SECOND_PERSON,
    STOP,
    THIRD_PERSON,
    VAGUE,
    Tag,
    type_of,
)
from kgsvc.models.rules.names import Name, find_names
from kgsvc.models.rules.phrases import Phrase, Unit, units_of
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.text import word_list, word_set, words_of
from kgsvc.models.rules.times import Time, find_times
from kgsvc.models.rules.verbs import verb

_DEFINITE = {
    "project": "Project",
    "company": "Organization",
    "firm": "Organization",
    "startup": "Organization",
}
_OF_SUBJECT = {  # "the film": only what the text is about, never the last one named
    **dict.fromkeys(word_list("film movie series album book novel song show play opera game"), "Work"),
    **dict.fromkeys(word_list("school university club band organization museum team"), "Organization"),
    **dict.fromkeys(word_list("city town village island municipality river"), "Location"),
}


class Reading:
    """One sentence in its scene. Reading it registers what it names."""

    def __init__(
        self,
        sentence: str,
        scene: Scene,
        known: Collection[str] = (),
        ordinary: Collection[str] = (),
        titles: Sequence[str] = (),
    ) -> None:
        # "[shares a photo]" tells what the speaker does
        self.staged = sentence[:1] == "[" and sentence[-1:] == "]"
        sentence = sentence[1:-1] if self.staged else sentence
        self.sentence, self.scene = sentence, scene
        words = words_of(sentence)
        self.names: Sequence[Name] = find_names(sentence, words, known, ordinary, titles)
        self.times: Sequence[Time] = find_times(sentence, scene.reference_ms)
        self.units: list[Unit] = units_of(words, self.names, self.times)
        self.question = sentence.rstrip("\"'”’) ").endswith("?")
        self.meant: dict[int, NodeDraft] = {}  # unit → entity, for names, pronouns and "the project"
        self._resolve()
        self.clauses: list[Clause] = [] if self.question else clauses_of(self.units)
        self.free_times = dict(self._free_times())  # by unit

    def _free_times(self) -> Iterator[tuple[int, Time]]:
        """The times outside brackets; inside they are dates of life or of works."""
        depth = 0
        for index, unit in enumerate(self.units):
            depth += (unit.low == "(") - (unit.low == ")")
            if unit.time is not None and depth <= 0:
                yield index, unit.time

    def is_vocative(self, index: int) -> bool:
        """Whether a name only addresses somebody: "Thanks, Bob!", "Hey Bob, …"."""
        before = self.units[index - 1] if index else None
        after = self.units[index + 1] if index + 1 < len(self.units) else None
        opens = before is None or before.tag in (Tag.UH, Tag.MARK)
        closes = after is None or after.tag == Tag.MARK
        return opens and closes and (before is not None or after is not None)

    def _resolve(self) -> None:
        for index, unit in enumerate(self.units):
            draft = None
            if unit.tag == Tag.NAME and unit.name is not None:
                draft = self.scene.named(unit.name.text, self._type(index, unit.name))
            elif unit.tag in (Tag.PRON, Tag.POSS):
                draft = self._person(index, unit.low)
            elif unit.tag == Tag.NOUN and self._is_definite(index):
                draft = self._definite(unit.low)
            if draft is not None:
                self.meant[index] = draft
                if draft is self.scene.listener and unit.tag == Tag.NAME and self.is_vocative(index):
                    self.units[index] = unit._replace(tag=Tag.UH)

    def _type(self, index: int, name: Name) -> str:
        before = self.units[index - 1].low if index else ""
        return type_of(name.text, name.quoted, before)

    def _person(self, index: int, low: str) -> NodeDraft | None:
        if low in FIRST_PERSON:
            return self.scene.speaker
        if low in SECOND_PERSON:
            return self.scene.listener
        if low == "it" and index and self.units[index - 1].tag != Tag.MARK:  # an object, or "it is nice that"
            return None
        draft = self.scene.antecedent(low) if low in THIRD_PERSON else None
        if draft is not None:
            self.scene.recall(draft)
        return draft

    def _definite(self, low: str) -> NodeDraft | None:
        if low in _DEFINITE:
            return self.scene.definite(_DEFINITE[low])
        subject = self.scene.subject
        return subject if subject is not None and subject.type == _OF_SUBJECT.get(low) else None

    def _is_definite(self, index: int) -> bool:
        return index > 0 and self.units[index - 1].low in ("the", "our", "this", "my")


def leading(reading: Reading, first: int, after: int) -> int:
    """Where the statement itself begins: after "Yeah,", "Hey Bob," and conjunctions."""
    units = reading.units
    while first < after:
        unit = units[first]
        following = units[first + 1] if first + 1 < after else None
        aside = unit.tag == Tag.UH and (
            following is None or following.tag not in (Tag.TO, Tag.NOUN, Tag.VERB, Tag.PREP)
        )
        if not aside and unit.tag not in (Tag.MARK, Tag.CONJ) and unit.low not in ("so", "then"):
            break
        first += 1
    return first


CONTAINERS = word_set("photograph photography image screenshot series group pair cup glass piece copy type")
_LEADS = frozenset({Tag.DET, Tag.POSS, Tag.NUM, Tag.GEN})
_LONGEST_TOPIC = 4  # words of a topic


def topic_of(units: Sequence[Unit], sentence: str) -> str:
    """What a noun phrase without a name is about: its nouns, without articles and numbers; "" if vague.

    Of "3 senior team members" that is "senior team members"; of "a bunch of new songs" "new songs".
    """
    words: list[str] = []
    for unit in units:
        if unit.tag == Tag.NOUN:
            words.append(_written(unit, sentence))
        elif unit.tag == Tag.GEN and words:
            words[-1] += "'s"
        elif unit.low == "of" and all(word.lower() in VAGUE or word.lower() in CONTAINERS for word in words):
            words = []
        elif unit.low == "of":
            break
    while words and words[0].lower() in STOP:
        words.pop(0)
    if all(word.lower() in VAGUE or len(word) < 2 for word in words):
        return ""
    return " ".join(words[-_LONGEST_TOPIC:])


def salient_topic(units: Sequence[Unit], sentence: str) -> str:
    """The most telling run of nouns in a sentence; failing that its longest word that is no stop word."""
    best, best_score = "", 0.0
    at = 0
    while at < len(units):
        end = at
        before = units[at - 1].tag if at else ""
        while (
            end < len(units)
            and units[end].tag == Tag.NOUN
            and (before in _LEADS or not _only_verb(units[end].low))
        ):
            end += 1
        if end > at:
            topic = topic_of(units[at:end], sentence)
            score = min(3, end - at) + (0.5 if before in _LEADS else 0.0)
            if topic and score > best_score:
                best, best_score = topic, score
        at = max(end, at + 1)
    return best or _longest_word(units, sentence)


def content_words(units: Sequence[Unit]) -> int:
    """How many words carry content: nouns, names and full verbs that are not vague."""
    return sum(
        unit.low not in VAGUE and len(unit.low) > 1
        for unit in units
        if unit.tag in (Tag.NOUN, Tag.VERB) or unit.name is not None
    )


def _only_verb(low: str) -> bool:
    """A verb that the reading took for a noun: "get creative"."""
    form = verb(low)
    return form is not None and not form.ing and low not in COMMON and low.removesuffix("s") not in COMMON


def _written(unit: Unit, sentence: str) -> str:
    """As written where capitals mean something (LGBTQ, iPhone), else in lower case."""
    text = sentence[unit.start : unit.end]
    return text if unit.low in DEMONYMS or any(char.isupper() for char in text[1:]) else text.lower()


def _longest_word(units: Sequence[Unit], sentence: str) -> str:
    words = [_written(unit, sentence) for unit in units if unit.tag == Tag.NOUN]
    words = [word for word in words if word.lower() not in VAGUE and len(word) > 2]
    return max(words, key=len, default="")


_OF_PROJECTS = word_set("deadline launch release milestone kickoff budget")  # "the deadline": of the project
_LONGEST = 80  # characters of a made-up name


@dataclass(frozen=True, slots=True)
class Referent:
    """`named` is the thing itself if it has a name; `head` says what it is, `owner` whose.

    "my brother Tom": named Tom, head "brother", owner the speaker. "Tom's car": owner Tom, head "car".
    "the capital of France": owner France, head "capital", `part` true. "a red car": head "red car".
    """

    named: NodeDraft | None = None
    owner: NodeDraft | None = None
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

    def node(self, scene: Scene) -> NodeDraft | None:
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
    if after - first == 1 and units[first].tag == Tag.PRON:
        return Referent(named=reading.meant.get(first))
    for at in range(first + 1, after - 1):
        if units[at].low == "of":
            return _with_of(reading, Phrase(first, at), Phrase(at + 1, after))
    for at in range(first + 1, after - 1):
        if units[at].tag == Tag.GEN:
            owner = referent(reading, Phrase(first, at))
            return _owned(reading, owner.named or owner.node(reading.scene), Phrase(at + 1, after))
    if units[first].tag in (Tag.POSS, Tag.PRON):
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


def _owned(reading: Reading, owner: NodeDraft | None, rest: Phrase) -> Referent:
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
        if units[at].tag == Tag.NAME or (units[at].tag == Tag.NOUN and at in reading.meant)
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
