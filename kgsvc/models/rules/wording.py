"""The words of a fact: a piece of its sentence that reads alone, with names in place of pronouns."""

from __future__ import annotations

from kgsvc.models.rules.clauses import Argument, Clause
from kgsvc.models.rules.lexicon import THIRD_PERSON, Tag
from kgsvc.models.rules.phrases import LETS_BASE, OBJECT_PRONOUNS, Unit
from kgsvc.models.rules.reading import Reading, leading
from kgsvc.models.rules.scene import NodeDraft
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.verbs import third_person

_GENITIVE = word_set("my our your ur his their its mine ours yours hers theirs whose")
_PLURAL_FORMS = word_set("i me we us you they them")  # pronouns whose verbs have no -s
_NAMED_ONCE = THIRD_PERSON - {"they", "them", "their"}
_EVERYBODY = ("all", "both")
_SINGULAR = {
    **{"am": "is", "are": "is", "ai": "is", "were": "was", "have": "has", "do": "does"},
    **{"ca": "can", "gonna": "is gonna"},
}
_CONTRACTED = {"'m": " is", "'re": " is", "'ve": " has", "'ll": " will", "'d": " would"}
_LASTING = word_set("locate base situate set know headquarter own call name operate title")
_MISSING = {"been": "has ", "gonna": "is "}  # auxiliaries that chat leaves out
_TRAILING = " ,;:-–—!.&"
_LEADING = " ,;:-–—!.)&"


def finished(text: str) -> str:
    """A sentence that reads alone: a capital first, a full stop last."""
    text = text.strip().rstrip(_TRAILING).lstrip(_LEADING)
    if not text:
        return ""
    ended = text[-1] in "?…\"”'"
    return f"{text[0].upper()}{text[1:]}" + ("" if ended else ".")


class FactWording:
    """Writes pieces of one reading."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.units = reading, reading.units
        self._written: dict[int, str] = {}  # unit → what stands there instead
        for index, unit in enumerate(self.units):
            self._replace(index, unit)
        self._agree_inherited()

    def text(self, first: int, after: int) -> str:
        """Units `first`..`after` with names for pronouns, and dates beside relative times."""
        parts: list[str] = []
        named: set[str] = set()  # "Bob said he …" reads better than his name again
        sentence = self.reading.sentence
        end = self.units[first].start if first < len(self.units) else len(sentence)
        for index in range(first, min(after, len(self.units))):
            unit, draft = self.units[index], self.reading.meant.get(index)
            plain = sentence[unit.start : unit.end]
            again = draft is not None and draft.ref in named and unit.low in _NAMED_ONCE
            parts.append(sentence[end : unit.start])
            parts.append(plain if again else self._written.get(index, plain))
            if draft is not None:
                named.add(draft.ref)
            end = unit.end
        return " ".join("".join(parts).split())

    def whole(self) -> str:
        """The sentence without its interjections."""
        count = len(self.units)
        return self.text(leading(self.reading, 0, count), count)

    def clause(self, clause: Clause, first: int, after: int, subject: NodeDraft) -> str:
        """A clause and what surrounds it: units `first`..`after`; its subject is put in where it has none."""
        if clause.subject is not None and not clause.inherited and clause.subject.first >= first:
            return self.text(leading(self.reading, first, clause.start), after)
        verb = clause.verb
        unit = self.units[verb.first]
        text = self.text(verb.first, after)
        if unit.tag != Tag.NAME:
            text = text[:1].lower() + text[1:]
        helped = _MISSING.get(unit.low, "") if verb.finite else f"{self._be(clause)} "
        return f"{self._subject(clause, subject)} {helped}{text}"

    def short(self, clause: Clause, argument: Argument, subject: NodeDraft) -> str:
        """A clause with one of its arguments only: "Bob likes coffee"."""
        tail = self.text(*argument.phrase)
        if argument.apposition:
            return f"{subject.name} is {tail}"
        verb = clause.verb
        words = [self._subject(clause, subject)]
        if not verb.finite:
            words.append(self._be(clause))
        words.append(self._verb(clause))
        if verb.particle != argument.prep:
            words.append(verb.particle)
        return " ".join(word for word in (*words, argument.prep, tail) if word)

    def _verb(self, clause: Clause) -> str:
        """The verb group, for one person where the clause has several ("my wife and I have")."""
        verb = clause.verb
        unit, subject = self.units[verb.first], clause.subject
        if verb.bare and subject is not None and verb.first not in self._written:
            form = third_person(unit.low) if unit.tag == Tag.VERB else _SINGULAR.get(unit.low)
            if form is not None and self._was_pronoun(subject.first):
                return " ".join((form, self.text(verb.first + 1, verb.after))).strip()
        return self.text(verb.first, verb.after)

    def _subject(self, clause: Clause, subject: NodeDraft) -> str:
        return subject.name if clause.subject is None else self.text(*clause.subject)

    def _be(self, clause: Clause) -> str:
        """The auxiliary for "a school located in Bourbon", "directed by X"."""
        lasting = clause.verb.lemma in _LASTING or not clause.verb.passive
        past = any(unit.low in ("was", "were") for unit in self.units[: clause.start])
        return "is" if lasting and not past else "was"

    def _tag(self, index: int) -> str:
        return self.units[index].tag if 0 <= index < len(self.units) else ""

    # names for pronouns

    def _replace(self, index: int, unit: Unit) -> None:
        if unit.tag == Tag.TIME and unit.time is not None and unit.time.label:
            words = self.reading.sentence[unit.start : unit.end]
            self._written[index] = f"{words} ({unit.time.label})"
        draft = self.reading.meant.get(index)
        if draft is None:
            return
        if unit.tag in (Tag.NAME, Tag.UH):
            if draft.name in self.reading.scene.people:  # a first name or nickname
                self._written[index] = draft.name
        elif (
            unit.tag == Tag.NOUN
        ):  # "the project" → Project Phoenix, "the project deadline" keeps its article
            self._written[index] = draft.name
            if self.units[index - 1].low != "my" and self._tag(index + 1) != Tag.NOUN:
                self._written[index - 1] = ""
        elif unit.tag == Tag.POSS or unit.low in _GENITIVE or self._owns(index):
            self._written[index] = f"{draft.name}'s"
        else:
            self._written[index] = draft.name
            if index + 1 < len(self.units) and self.units[index + 1].low in _EVERYBODY:  # "we all"
                self._written[index + 1] = ""
            if not self._is_object(index) and not self._is_coordinated(index):
                self._agree(index, unit)

    def _owns(self, index: int) -> bool:
        return self.units[index].low == "her" and self._tag(index + 1) in (Tag.NOUN, Tag.NAME)

    def _is_object(self, index: int) -> bool:
        """ "made you think", "for me": no subject whose verb could agree."""
        if self.units[index].low in OBJECT_PRONOUNS:
            return True
        return self._tag(index - 1) == Tag.PREP or (index > 0 and self.units[index - 1].low in LETS_BASE)

    def _is_coordinated(self, index: int) -> bool:
        """ "Bob and I" stay plural."""
        if index < 2 or self.units[index - 1].low not in ("and", "&"):
            return False
        first = index == 2 or self._tag(index - 3) in (Tag.UH, Tag.MARK, Tag.SUB, Tag.POSS)
        return first and self._tag(index - 2) in (Tag.NAME, Tag.PRON, Tag.NOUN)

    # verbs that agree

    def _agree(self, index: int, pronoun: Unit) -> None:
        """Put the verb of a replaced subject into the third person."""
        at = index + 1
        while self._tag(at) in (Tag.ADV, Tag.NEG) or (
            at < len(self.units) and self.units[at].low in _EVERYBODY
        ):
            at += 1
        if at >= len(self.units):
            return
        unit, plural = self.units[at], pronoun.low in _PLURAL_FORMS
        if unit.tag == Tag.AUX and unit.low == "'s":
            following = self.units[at + 1].low if at + 1 < len(self.units) else ""
            self._written[at] = " has" if following in ("been", "got", "had") else " is"
        elif unit.tag == Tag.AUX and unit.low in _CONTRACTED:
            self._written[at] = _CONTRACTED[unit.low]
        elif plural:
            self._singular(at)

    def _singular(self, at: int) -> None:
        unit = self.units[at]
        if unit.tag == Tag.AUX and unit.low in _SINGULAR:
            self._written[at] = _SINGULAR[unit.low]
        elif unit.tag == Tag.VERB and unit.form is not None and unit.form.base and not unit.form.past:
            self._written[at] = third_person(unit.low)

    def _agree_inherited(self) -> None:
        """ "I live in Paris and work at X": the second verb follows the first."""
        bare = False
        for clause in self.reading.clauses:
            if not clause.inherited:
                bare = clause.verb.bare and clause.subject is not None
                bare = bare and self._was_pronoun(clause.subject.first if clause.subject else 0)
            elif bare:
                at = clause.verb.first
                while at + 1 < clause.verb.after and self._tag(at) == Tag.ADV:
                    at += 1
                self._singular(at)

    def _was_pronoun(self, index: int) -> bool:
        unit = self.units[index]
        return unit.tag == Tag.PRON and unit.low in _PLURAL_FORMS and index in self.reading.meant
