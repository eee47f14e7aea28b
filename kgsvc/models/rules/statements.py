"""From clauses to facts: which relation a clause states, and between whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.models.rules.clauses import Argument, Clause
from kgsvc.models.rules.copulas import PLANS, ClauseFact, Stated, copula_statements, moved_statements
from kgsvc.models.rules.lexicon import PLACES, Tag, is_word
from kgsvc.models.rules.reading import Reading, Referent, referent
from kgsvc.models.rules.relations import (
    BY_NAME,
    ENDING,
    Meaning,
    leading_relation,
    meanings,
    relation_name,
    screaming,
)
from kgsvc.models.rules.scene import NodeDraft
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.times import Time

_MOST_ARGUMENTS = 4  # of a verb without a row
# Groups that one joins and leaves without working there.
_GROUPS = word_set("""
club team gym band group party program programme class course league choir society community army church
""")
# A past tense of these is nothing over: who was born in Paris still is.
_TIMELESS = word_set("IS_A BORN_IN DIED_IN BURIED_IN BASED_ON KNOWN_FOR KNOWN_AS GREW_UP_IN")


def statements_of(reading: Reading, clause: Clause, times: Sequence[Time]) -> list[ClauseFact]:
    """What the clause states, given the times that belong to it; nothing if it is unsure or unclear."""
    if clause.unsure or _is_existential(reading, clause):
        return []
    subject = _subject(reading, clause)
    if subject is None or subject.empty:
        return []
    stated = Stated(reading, clause, subject, times)
    if clause.verb.lemma == "be" and not clause.verb.passive:
        return [*copula_statements(stated), *_Verbal(stated).statements()]
    return list(moved_statements(stated)) or list(_Verbal(stated).statements())


def _is_existential(reading: Reading, clause: Clause) -> bool:
    """ "there is a cat"."""
    around = reading.units[max(0, clause.verb.first - 1) : clause.verb.after]
    return clause.verb.lemma == "be" and any(unit.low == "there" for unit in around)


def _subject(reading: Reading, clause: Clause) -> Referent | None:
    """Whom the clause is about; the speaker where chat leaves "I" out ("Went to Paris")."""
    if clause.subject is not None:
        return referent(reading, clause.subject)
    speaks = clause.verb.tense in ("past", "perfect", "progressive") or reading.staged
    speaks = speaks or reading.units[clause.verb.first].low in ("been", "gonna")
    speaker = reading.scene.speaker
    return Referent(named=speaker) if clause.dropped and speaks and speaker is not None else None


class _Verbal:
    """What "X verbs Y" states: what the table says, else an event named after the verb."""

    def __init__(self, stated: Stated) -> None:
        self.stated, self.verb, self.scene = stated, stated.verb, stated.scene
        self.stops = bool(set(self.verb.via) & ENDING)
        self.leads = leading_relation(self.verb.via, self.verb.tense)

    def statements(self) -> Iterator[ClauseFact]:
        source = self.stated.source()
        if source is None:
            return
        listed, compound, before = False, False, ""
        for index, (argument, found) in enumerate(self.stated.found):
            if argument.apposition:
                yield from self._apposition(index, argument, found)
            elif not argument.prep and self._is_compound(found.last_word):
                before, compound = found.last_word, True
            else:
                for statement in self._listed(source, argument, found, before):
                    listed = True  # "allergic to peanuts": "is to peanuts" would not read
                    yield replace(statement, tail=None) if compound else statement
                before = found.last_word or before
        if not listed:
            yield from self._unlisted(source)

    def _apposition(self, index: int, argument: Argument, found: Referent) -> Iterator[ClauseFact]:
        """ "Project Phoenix, a cloud migration": the one is the other."""
        named = self.stated.found[index - 1][1].named if index else None
        if named is None or found.named is not None or found.owner is not None:
            return
        target = found.node(self.scene)
        if target is not None:
            now = self.scene.reference_ms
            yield ClauseFact("IS_A", FactKind.STATE, named, target, valid_ms=now, weight=0.8, tail=argument)

    # verbs of the table

    def _start(self) -> tuple[str, ...]:
        """The verb as the table writes it."""
        verb = self.verb
        lemma = "have" if verb.lemma == "get" and verb.tense == "perfect" else verb.lemma  # "I've got"
        return ("be", lemma) if verb.passive else (lemma,)

    def _is_compound(self, word: str) -> bool:
        """Whether an object is part of the verb: "got married to", "lost my job at"."""
        if not word:
            return False
        prepositions = {argument.prep for argument, _ in self.stated.found if argument.prep}
        start = (*self._start(), self.verb.particle, word)
        return any(meanings(*start, preposition) for preposition in prepositions)

    def _listed(
        self, source: NodeDraft, argument: Argument, found: Referent, before: str
    ) -> Iterator[ClauseFact]:
        """The first sense of the table that suits the argument."""
        for meaning in self._meanings(argument, found, before):
            target = self._target(meaning, argument, found)
            if target is None or target is source:
                continue
            statement = self._in_sense(meaning, source, target, argument)
            if statement is None:
                continue
            if statement.valid_ms is not None and statement.valid_ms > self.scene.reference_ms:
                yield self.stated.statement(PLANS, FactKind.EVENT, source, target, argument)
            yield statement
            return

    def _meanings(self, argument: Argument, found: Referent, before: str) -> Iterator[Meaning]:
        if self.leads and self.verb.via:
            return
        verb, preposition = self.verb, argument.prep
        start = self._start()
        if found.part and not preposition:
            yield from meanings(*start, verb.particle, found.last_word, "of")
        if before and preposition:
            yield from meanings(*start, verb.particle, before, preposition)
        if verb.passive and preposition == "by":
            yield from meanings("be", verb.lemma, "by")
            for meaning in meanings(verb.lemma):
                yield replace(meaning, turned=not meaning.turned)
        yield from meanings(*start, verb.particle if verb.particle != preposition else "", preposition)

    def _target(self, meaning: Meaning, argument: Argument, found: Referent) -> NodeDraft | None:
        """The node at the other end, if it is what the relation asks for."""
        relation = meaning.relation
        if meaning.ends and relation.own:
            own = found.owner is not None and found.owner is self.stated.subject.named
            plain = own and found.named is None and not found.part and found.head
            return self.scene.node(found.head, "Topic") if plain else None
        if (relation.named or relation.kind is FactKind.FUNCTIONAL) and not _is_named(argument, found):
            return None
        wanted = relation.source if meaning.turned else relation.target
        if found.named is None and relation.named and not found.part:
            target = self.scene.node(found.head.title(), wanted or "Entity")
        else:
            target = found.node(self.scene)
        if target is None or not _fits(target, wanted, relation.named):
            return None
        if relation.name == "WORKS_AT" and target.name.lower().split()[-1] in _GROUPS:
            return None
        target.specify(wanted)
        return target

    def _in_sense(
        self, meaning: Meaning, source: NodeDraft, target: NodeDraft, argument: Argument
    ) -> ClauseFact | None:
        relation, kind = meaning.relation, meaning.relation.kind
        if meaning.turned:
            source, target = target, source
        polarity = self._polarity(meaning)
        if polarity is None:
            return None
        source.specify(relation.source)
        if self.verb.tense == "future" and kind is FactKind.EVENT:
            return self.stated.statement(PLANS, kind, source, target, argument)
        statement = self.stated.statement(
            relation.name, kind, source, target, argument, polarity, meaning.onset
        )
        over = self.verb.tense == "past" and not self.verb.via and polarity is Polarity.ASSERTS
        over = over and not meaning.onset and relation.name not in _TIMELESS
        if over and statement.invalid_ms is None:  # "lived in Rome": it happened, and says nothing of today
            return replace(statement, kind=FactKind.EVENT)
        return statement

    def _polarity(self, meaning: Meaning) -> Polarity | None:
        """Asserts, ends or denies; None where the sentence says neither ("did not leave")."""
        negated = self.verb.negated
        if meaning.ends:
            return None if negated or self.stops or self.verb.tense == "future" else Polarity.ENDS
        if negated and (self.stops or meaning.onset or meaning.relation.kind is FactKind.EVENT):
            return None
        return self.stated.polarity()

    # other verbs

    def _unlisted(self, source: NodeDraft) -> Iterator[ClauseFact]:
        if self.verb.lemma in ("be", "do") and not self.verb.via:
            return
        found = self.stated.found
        unit = self.stated.reading.units[self.verb.after - 1]
        doing = bool(self.leads and unit.tag == Tag.VERB and unit.form is not None and unit.form.ing)
        if doing and not (found and not found[0][0].prep):  # "loves hiking in the Alps"
            yield from self._event(source, self.scene.node(unit.low, "Topic"), None)
            return
        for argument, referred in found[:_MOST_ARGUMENTS]:
            if not argument.apposition and not (argument.prep and argument is not found[0][0]):
                yield from self._event(source, referred.node(self.scene), argument)

    def _event(
        self, source: NodeDraft, target: NodeDraft | None, argument: Argument | None
    ) -> Iterator[ClauseFact]:
        if target is None or target is source:
            return
        verb, preposition = self.verb, argument.prep if argument is not None else ""
        if self.leads:
            yield from self._led(source, target, argument)
            return
        name = relation_name(verb.lemma, verb.particle if verb.particle != preposition else "", preposition)
        if verb.passive and preposition == "by":
            name, source, target = relation_name(verb.lemma), target, source
        elif verb.passive:
            name = screaming(f"is {self.stated.reading.units[verb.after - 1].low} {preposition}")
        stopped = self.stops and "finish" not in verb.via and not verb.negated
        if stopped or (verb.negated and not self.stops and self.stated.no_longer()):
            yield self.stated.statement(name, FactKind.STATE, source, target, argument, Polarity.ENDS)
        elif not verb.negated:
            yield self.stated.statement(name, FactKind.EVENT, source, target, argument)

    def _led(self, source: NodeDraft, target: NodeDraft, argument: Argument | None) -> Iterator[ClauseFact]:
        """ "wants to visit Paris": WANTS."""
        kind = BY_NAME[self.leads].kind
        if not self.verb.negated or kind is not FactKind.EVENT:
            polarity = self.stated.polarity()
            yield self.stated.statement(self.leads, kind, source, target, argument, polarity)


def _is_named(argument: Argument, found: Referent) -> bool:
    """A name, a part of a named thing, or a single unknown word without article: "at google"."""
    if found.named is not None or found.part:
        return True
    head = found.head.lower()
    bare = argument.phrase.after - argument.phrase.first == 1 and bool(argument.prep)
    return bare and bool(head) and (head in PLACES or not is_word(head))


def _fits(draft: NodeDraft, wanted: str, named: bool) -> bool:
    """Whether a node may be what a relation asks for."""
    if not wanted or draft.type in (wanted, "Entity"):
        return True
    if draft.type == "Topic":
        return not named
    return wanted == "Work" or (wanted == "Project" and not named)
