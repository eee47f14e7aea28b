"""A sentence read once: its units and clauses, whom its pronouns mean, and its words without pronouns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kgsvc.llm.offline.clauses import Clause, clauses_of
from kgsvc.llm.offline.lexicon import FIRST_PERSON, SECOND_PERSON, THIRD_PERSON
from kgsvc.llm.offline.names import Name, find_names, type_of
from kgsvc.llm.offline.phrases import (
    ADV,
    AUX,
    CONJ,
    MARK,
    NAME,
    NEG,
    NOUN,
    LETS_BASE,
    OBJECT_PRONOUNS,
    POSS,
    PREP,
    PRON,
    SUB,
    TIME,
    TO,
    UH,
    VERB,
    Unit,
    units_of,
)
from kgsvc.llm.offline.scene import Draft, Scene
from kgsvc.llm.offline.times import Time, find_times
from kgsvc.llm.offline.verbs import third_person
from kgsvc.llm.offline.words import Word, words_of

_GENITIVE = frozenset("my our your ur his their its mine ours yours hers theirs whose".split())
_SINGULAR = {
    "am": "is",
    "'m": " is",
    "are": "is",
    "'re": " is",
    "were": "was",
    "have": "has",
    "'ve": " has",
    "do": "does",
    "'ll": " will",
    "'d": " would",
    "ai": "is",
    "ca": "can",
    "gonna": "is gonna",
}
_TOLD_ONCE = THIRD_PERSON - {"they", "them", "their"}
_PLURAL_FORMS = frozenset("i me we us you they them".split())
_DEFINITE = {"project": "Project", "company": "Organization", "firm": "Organization", "startup": "Organization"}
_OF_SUBJECT = {  # "the film": only what the text is about, never the last one named
    **dict.fromkeys("film movie series album book novel song show play opera game".split(), "Work"),
    **dict.fromkeys("school university club band organization museum team".split(), "Organization"),
    **dict.fromkeys("city town village island municipality river".split(), "Location"),
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
        self.staged = sentence[:1] == "[" and sentence[-1:] == "]"  # "[shares a photo]": what the speaker does
        sentence = sentence[1:-1] if self.staged else sentence
        self.sentence, self.scene = sentence, scene
        self.words: Sequence[Word] = words_of(sentence)
        self.names: Sequence[Name] = find_names(sentence, self.words, known, ordinary, titles)
        self.times: Sequence[Time] = find_times(sentence, scene.reference_ms)
        self.units: list[Unit] = units_of(self.words, self.names, self.times)
        self.question = sentence.rstrip("\"'”’) ").endswith("?")
        self.meant: dict[int, Draft] = {}  # unit → entity, for names, pronouns and "the project"
        self._resolve()
        self.clauses: list[Clause] = [] if self.question else clauses_of(self.units)
        self._written: dict[int, str] | None = None

    def text(self, first: int, after: int) -> str:
        """Units `first`..`after` as written, with names for pronouns and dates beside relative times."""
        written = self._replacements()
        parts: list[str] = []
        told: set[str] = set()  # who has been named: "Bob said he …" reads better than his name again
        end = self.units[first].start if first < len(self.units) else len(self.sentence)
        for index in range(first, min(after, len(self.units))):
            unit = self.units[index]
            draft = self.meant.get(index)
            again = draft is not None and draft.ref in told and unit.low in _TOLD_ONCE
            plain = self.sentence[unit.start : unit.end]
            parts.append(self.sentence[end : unit.start])
            parts.append(plain if again else written.get(index, plain))
            if draft is not None:
                told.add(draft.ref)
            end = unit.end
        return " ".join("".join(parts).split())

    def is_vocative(self, index: int) -> bool:
        """Whether a name only addresses somebody: "Thanks, Bob!", "Hey Bob, …"."""
        before = self.units[index - 1] if index else None
        after = self.units[index + 1] if index + 1 < len(self.units) else None
        opens = before is None or before.tag in (UH, MARK)
        closes = after is None or after.tag == MARK
        return opens and closes and (before is not None or after is not None)

    def _resolve(self) -> None:
        for index, unit in enumerate(self.units):
            draft = None
            if unit.tag == NAME and unit.name is not None:
                draft = self.scene.named(unit.name.text, self._type(index, unit.name))
            elif unit.tag in (PRON, POSS):
                draft = self._person(index, unit.low)
            elif unit.tag == NOUN and self._is_definite(index):
                draft = self._definite(unit.low)
            if draft is not None:
                self.meant[index] = draft
                if draft is self.scene.listener and unit.tag == NAME and self.is_vocative(index):
                    self.units[index] = unit._replace(tag=UH)

    def _type(self, index: int, name: Name) -> str:
        before = self.units[index - 1].low if index else ""
        after = self.units[index + 1].low if index + 1 < len(self.units) else ""
        return type_of(name.text, name.quoted, before, after)

    def _person(self, index: int, low: str) -> Draft | None:
        if low in FIRST_PERSON:
            return self.scene.speaker
        if low in SECOND_PERSON:
            return self.scene.listener
        if low == "it" and index and self.units[index - 1].tag != MARK:  # an object, or "it is nice that"
            return None
        return self.scene.antecedent(low) if low in THIRD_PERSON else None

    def _definite(self, low: str) -> Draft | None:
        if low in _DEFINITE:
            return self.scene.definite(_DEFINITE[low])
        subject = self.scene.subject
        return subject if subject is not None and subject.type == _OF_SUBJECT.get(low) else None

    def _is_definite(self, index: int) -> bool:
        return index > 0 and self.units[index - 1].low in ("the", "our", "this", "my")

    def _replacements(self) -> dict[int, str]:
        if self._written is None:
            self._written = {}
            for index, unit in enumerate(self.units):
                self._replace(index, unit, self._written)
            self._agree_inherited(self._written)
        return self._written

    def _replace(self, index: int, unit: Unit, written: dict[int, str]) -> None:
        if unit.tag == TIME and unit.time is not None and unit.time.label:
            written[index] = f"{self.sentence[unit.start : unit.end]} ({unit.time.label})"
        draft = self.meant.get(index)
        if draft is None or unit.tag == NAME:
            return
        if unit.tag == NOUN:  # "the project" → Project Phoenix
            written[index] = draft.name
            if self.units[index - 1].low != "my" and not self._modifies(index):
                written[index - 1] = ""
            return
        owner = unit.tag == POSS or unit.low in _GENITIVE or self._owns(index)
        written[index] = f"{draft.name}'s" if owner else draft.name
        if not owner:
            self._agree(index, unit, written)

    def _modifies(self, index: int) -> bool:
        return index + 1 < len(self.units) and self.units[index + 1].tag == NOUN

    def _owns(self, index: int) -> bool:
        following = self.units[index + 1].tag if index + 1 < len(self.units) else ""
        return self.units[index].low == "her" and following in (NOUN, NAME)

    def _agree(self, index: int, pronoun: Unit, written: dict[int, str]) -> None:
        """Put the verb of a replaced subject into the third person."""
        at = index + 1
        while at < len(self.units) and (self.units[at].tag in (ADV, NEG) or self.units[at].low in ("all", "both")):
            if self.units[at].low in ("all", "both"):
                written[at] = ""
            at += 1
        if at >= len(self.units) or self._coordinated(index) or self._is_object(index):
            return
        unit = self.units[at]
        if unit.tag == AUX and unit.low == "'s":
            following = self.units[at + 1] if at + 1 < len(self.units) else None
            has = following is not None and following.low in ("been", "got", "had")
            written[at] = " has" if has else " is"
        elif unit.tag == AUX:
            replacement = _SINGULAR.get(unit.low)
            if replacement is not None and (pronoun.low in _PLURAL_FORMS or replacement[0] == " "):
                written[at] = replacement if at == index + 1 else replacement.strip()
                if replacement[0] == " " and at > index + 1:
                    written[at] = replacement
        elif unit.tag == VERB and pronoun.low in _PLURAL_FORMS and unit.form is not None:
            if unit.form.base and not unit.form.past:
                written[at] = third_person(unit.low)

    def _is_object(self, index: int) -> bool:
        """ "made you think", "for me": no subject whose verb could agree."""
        before = self.units[index - 1] if index else None
        if self.units[index].low in OBJECT_PRONOUNS:
            return True
        return before is not None and (before.tag == PREP or before.low in LETS_BASE)

    def _coordinated(self, index: int) -> bool:
        """ "Bob and I" stay plural."""
        if index < 2 or self.units[index - 1].low not in ("and", "&"):
            return False
        other = self.units[index - 2]
        first = index == 2 or self.units[index - 3].tag in (UH, MARK, SUB, POSS)
        return first and other.tag in (NAME, PRON, NOUN)

    def _agree_inherited(self, written: dict[int, str]) -> None:
        """ "I live in Paris and work at X": the second verb follows the first."""
        subject_bare = False
        for clause in self.clauses:
            verb = clause.verb
            if not clause.inherited:
                subject_bare = clause.subject is not None and self._takes_singular(clause.subject.first)
                subject_bare = subject_bare and verb.bare
                continue
            at = verb.first
            while at < verb.after and self.units[at].tag == ADV:
                at += 1
            unit = self.units[min(at, len(self.units) - 1)]
            form = unit.form
            if subject_bare and unit.tag == VERB and form is not None and form.base and not form.past:
                written[at] = third_person(unit.low)
            elif subject_bare and unit.tag == AUX and unit.low in ("have", "do", "are", "am"):
                written[at] = _SINGULAR[unit.low]

    def _takes_singular(self, index: int) -> bool:
        unit = self.units[index]
        return unit.tag == PRON and unit.low in _PLURAL_FORMS and index in self.meant


def leading(reading: Reading, first: int, after: int) -> int:
    """Where the statement itself begins: after "Yeah,", "Hey Bob," and conjunctions."""
    units = reading.units
    while first < after:
        unit = units[first]
        following = units[first + 1] if first + 1 < after else None
        aside = unit.tag == UH and (following is None or following.tag not in (TO, NOUN, VERB, PREP))
        if not aside and unit.tag not in (MARK, CONJ) and unit.low not in ("so", "then"):
            break
        first += 1
    return first
