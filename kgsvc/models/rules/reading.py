"""A sentence read once: its units and clauses, and whom its names and pronouns mean."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kgsvc.models.rules.clauses import Clause, clauses_of
from kgsvc.models.rules.lexicon import FIRST_PERSON, SECOND_PERSON, THIRD_PERSON
from kgsvc.models.rules.names import Name, find_names, type_of
from kgsvc.models.rules.phrases import CONJ, MARK, NAME, NOUN, POSS, PREP, PRON, TO, UH, VERB, Unit, units_of
from kgsvc.models.rules.scene import Draft, Scene
from kgsvc.models.rules.text import word_list, words_of
from kgsvc.models.rules.times import Time, find_times

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
        self.meant: dict[int, Draft] = {}  # unit → entity, for names, pronouns and "the project"
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
        return type_of(name.text, name.quoted, before)

    def _person(self, index: int, low: str) -> Draft | None:
        if low in FIRST_PERSON:
            return self.scene.speaker
        if low in SECOND_PERSON:
            return self.scene.listener
        if low == "it" and index and self.units[index - 1].tag != MARK:  # an object, or "it is nice that"
            return None
        draft = self.scene.antecedent(low) if low in THIRD_PERSON else None
        if draft is not None:
            self.scene.recall(draft)
        return draft

    def _definite(self, low: str) -> Draft | None:
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
        aside = unit.tag == UH and (following is None or following.tag not in (TO, NOUN, VERB, PREP))
        if not aside and unit.tag not in (MARK, CONJ) and unit.low not in ("so", "then"):
            break
        first += 1
    return first
