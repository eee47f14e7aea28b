"""From clauses to facts: which relation a clause states, between whom, since when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.model import FactKind, Polarity
from kgsvc.llm.offline.clauses import Argument, Clause, Phrase
from kgsvc.llm.offline.gazetteer import PLACES, kind_of_class
from kgsvc.llm.offline.lexicon import KIN, VAGUE, is_word
from kgsvc.llm.offline.phrases import NAME, NOUN, POSS, VERB
from kgsvc.llm.offline.reading import Reading
from kgsvc.llm.offline.referents import Referent, referent
from kgsvc.llm.offline.relations import (
    BY_NAME,
    DATED_ROLES,
    DISLIKING,
    ENDING,
    LIKING,
    PLANNING,
    SINGLE_ROLES,
    STARTING,
    WANTING,
    Meaning,
    Relation,
    meanings,
    relation_name,
    screaming,
)
from kgsvc.llm.offline.scene import Draft
from kgsvc.llm.offline.times import Time
from kgsvc.llm.offline.topics import topic_of

_GROUP_WORDS = frozenset(
    "club team gym band group party program programme class course league choir society community army church".split()
)
_MOVING = frozenset("move change shift push extend postpone reschedule set bring".split())
_STATIVE = (FactKind.STATE, FactKind.FUNCTIONAL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact about two nodes, not yet in words. `tail` is the phrase that the words must end with, if other
    than the clause's ("likes tea and coffee" gives two facts)."""

    name: str
    kind: FactKind
    source: Draft
    target: Draft
    polarity: Polarity = Polarity.ASSERTS
    valid_ms: int | None = None
    invalid_ms: int | None = None
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    tail: Argument | None = None


def statements_of(reading: Reading, clause: Clause, times: Sequence[Time]) -> list[Statement]:
    """What the clause states, given the times that belong to it; nothing if it is unsure or unclear."""
    if clause.unsure or clause.verb.tense == "unsure" or _is_existential(reading, clause):
        return []
    subject = _subject(reading, clause)
    if subject is None:
        return []
    clausal = _Clausal(reading, clause, subject, times)
    if clause.verb.lemma == "be" and not clause.verb.passive:
        return list(clausal.copula()) or list(clausal.relations())
    return list(clausal.relations())


def _is_existential(reading: Reading, clause: Clause) -> bool:
    """ "there is a cat"."""
    first = max(0, clause.verb.first - 1)
    return clause.verb.lemma == "be" and any(u.low == "there" for u in reading.units[first : clause.verb.after])


def _subject(reading: Reading, clause: Clause) -> Referent | None:
    if clause.dropped:
        verb = clause.verb
        speaks = verb.tense in ("past", "perfect", "progressive") or reading.staged
        speaks = speaks or reading.units[verb.first].low in ("been", "gonna")
        return Referent(named=reading.scene.speaker) if speaks and reading.scene.speaker else None
    if clause.subject is None:
        return None
    found = referent(reading, clause.subject)
    return None if found.empty else found


class _Clausal:
    def __init__(self, reading: Reading, clause: Clause, subject: Referent, times: Sequence[Time]) -> None:
        self.reading, self.clause, self.subject, self.times = reading, clause, subject, times
        self.scene = reading.scene
        self.verb = clause.verb
        self.found: list[tuple[Argument, Referent]] = [
            (argument, referent(reading, argument.phrase)) for argument in clause.arguments
        ]

    # "X is Y"

    def copula(self) -> Iterator[Statement]:
        """Roles and classes: "my boss is Carol", "Carol is the CEO of TechCorp", "Bob is a nurse"."""
        if self.verb.via and self.verb.via[-1] not in STARTING:
            return
        objects = [(a, r) for a, r in self.found if a.prep == ""]
        role = self._role(self.subject, objects)
        if role:
            yield from self._role_statements(role, objects)
            return
        source = self._source()
        if source is None or self.subject.part:
            return
        if objects and self._has_meaning(objects[0]):
            return
        first = objects[0][1] if objects else None
        for argument, found in objects:
            if argument.apposition or (argument.joined and found.named is not None):
                if first is not None and first.part and argument.joined == "and" and found.named is not source:
                    for statement in self._is(source, argument, replace(first, owner=found.named)):
                        yield replace(statement, tail=None)
                continue
            yield from self._is(source, argument, found)

    def _has_meaning(self, first: tuple[Argument, Referent]) -> bool:
        """Whether the table knows "be <complement> <preposition>"."""
        word = first[1].last_word
        preps = [a.prep for a, _ in self.found if a.prep] + (["of"] if first[1].part else [])
        return any(meanings("be", word, prep) for prep in preps)

    def _role(self, subject: Referent, objects: list[tuple[Argument, Referent]]) -> str:
        """ "boss" where the subject is somebody's boss, "deadline" where it is a project's deadline."""
        if subject.owner is None or subject.named is not None or not subject.head:
            return ""
        tells = subject.last_word in SINGLE_ROLES - KIN or "favorite" in subject.head.lower()
        return subject.head if tells or any(found.named for _, found in objects) else ""

    def _role_statements(self, role: str, objects: list[tuple[Argument, Referent]]) -> Iterator[Statement]:
        owner = self.subject.owner
        last = self.subject.last_word
        assert owner is not None
        kind = FactKind.FUNCTIONAL if last in SINGLE_ROLES or "favorite" in role.lower() else FactKind.STATE
        targets = [(a, r.node(self.scene)) for a, r in objects if r.named is not None or r.head]
        if not targets and (last in DATED_ROLES or self.times):
            anchor = self.scene.speaker if self.scene.speaker is not owner else None
            anchor = anchor or self.scene.node(f"{owner.name} {role}"[: self.scene.limits.name], "Topic")
            targets = [(None, anchor)]  # type: ignore[list-item]
        for argument, target in targets:
            if target is not None and target is not owner:
                name = screaming(f"HAS_{role}")
                stated = self._dated(self._statement(name, kind, owner, target, argument))
                yield stated

    def _dated(self, statement: Statement) -> Statement:
        """The date is the value, not the beginning: such a fact holds from when it is said."""
        if self.subject.last_word in DATED_ROLES or not self.found:
            return replace(statement, valid_ms=self.scene.reference_ms, invalid_ms=None)
        return statement

    def _is(self, source: Draft, argument: Argument, found: Referent) -> Iterator[Statement]:
        if found.owner is not None and found.head and (found.part or found.named is None):
            last = found.last_word
            kind = FactKind.FUNCTIONAL if last in SINGLE_ROLES else FactKind.STATE
            if found.part and self._article(argument) in ("a", "an", "one"):
                kind = FactKind.STATE
            owner = found.owner
            if last not in VAGUE and owner is not source:
                yield self._statement(screaming(f"HAS_{last}"), kind, owner, source, argument)
            return
        target = found.node(self.scene)
        if target is None or target is source:
            return
        if found.named is not None:
            if source.type != "Person" or found.named.type != "Person":
                yield self._statement("IS", FactKind.STATE, source, target, argument)
            return
        article = self._article(argument)
        name = "IS_A" if article in ("a", "an", "one") or argument.joined or self._counted(found) else "IS"
        if name == "IS_A":
            source.specify(kind_of_class(found.last_word))
        if name == "IS" and self._feeling(argument):
            return
        yield self._statement(name, FactKind.STATE, source, target, argument)
        yield from self._employment(source)

    def _employment(self, source: Draft) -> Iterator[Statement]:
        """ "is an engineer at TechCorp"."""
        for argument, found in self.found:
            if argument.prep in ("at", "with") and found.named is not None and self._fits_job(found.named):
                yield self._statement("WORKS_AT", FactKind.FUNCTIONAL, source, found.named, argument)

    def _fits_job(self, draft: Draft) -> bool:
        return draft.type in ("Organization", "Entity") and self.subject.named is not None

    def _counted(self, found: Referent) -> bool:
        return found.last_word.endswith("s") and len(found.head.split()) > 1

    def _feeling(self, argument: Argument) -> bool:
        """ "so happy", "ready": a mood of the moment, or an adverb, no lasting state."""
        phrase = argument.phrase
        units = self.reading.units[phrase.first : phrase.after]
        return len(units) > 0 and (units[-1].low in _MOODS or units[-1].low.endswith(("ed", "ing")))

    def _article(self, argument: Argument) -> str:
        return self.reading.units[argument.phrase.first].low

    # "X verbs Y"

    def relations(self) -> Iterator[Statement]:
        """What the table says about the verb and each argument; else an event named after the verb."""
        source = self._source()
        if source is None:
            return
        made = False
        before = ""
        for argument, found in self.found:
            if argument.apposition:
                yield from self._apposition(argument, found)
                continue
            if not argument.prep and self._compounds(found.last_word):
                before = found.last_word
                continue
            for statement in self._meant(source, argument, found, before):
                made = True
                yield statement
            before = found.last_word or before
        if not made:
            yield from self._unlisted(source)

    def _compounds(self, word: str) -> bool:
        """Whether an object is part of the verb: "got married to", "lost my job at"."""
        if not word:
            return False
        start = ("be", self.verb.lemma) if self.verb.passive else (self.verb.lemma,)
        preps = {argument.prep for argument, _ in self.found if argument.prep}
        return any(meanings(*start, self.verb.particle, word, prep) for prep in preps)

    def _source(self) -> Draft | None:
        """The subject as a node: something named or somebody's; of plain topics only in prose."""
        subject = self.subject
        if subject.named is None and subject.owner is None and self.scene.speaker is not None:
            return None
        if subject.part and subject.owner is not None:
            return self.scene.node(f"{subject.owner.name}'s {subject.head}"[: self.scene.limits.name], "Topic")
        source = subject.node(self.scene)
        if source is not None and source.type == "Person" and subject.named is None:
            self.scene.recall(source)  # "my sister …. She …"
        return source

    def _apposition(self, argument: Argument, found: Referent) -> Iterator[Statement]:
        """ "Project Phoenix, a cloud migration": the one is the other."""
        index = next(i for i, (a, _) in enumerate(self.found) if a is argument)
        named = self.found[index - 1][1].named if index else None
        target = found.node(self.scene) if found.head and found.named is None else None
        if named is not None and target is not None and found.owner is None:
            yield Statement(
                "IS_A", FactKind.STATE, named, target, valid_ms=self.scene.reference_ms, tail=argument, weight=0.8
            )

    def _meant(self, source: Draft, argument: Argument, found: Referent, before: str) -> Iterator[Statement]:
        for meaning in self._meanings(argument, found, before):
            target = self._target(meaning, argument, found)
            if target is None or target is source:
                continue
            stated = self._from_meaning(meaning, source, target, argument)
            if stated is None:
                continue
            if stated.valid_ms is not None and stated.valid_ms > self.scene.reference_ms:
                yield self._statement("PLANS", FactKind.EVENT, source, target, argument)
            yield stated
            return

    def _meanings(self, argument: Argument, found: Referent, before: str) -> Iterator[Meaning]:
        verb, prep = self.verb, argument.prep
        if verb.via and self._leads_over():
            return
        lemma = "have" if verb.lemma == "get" and verb.tense in ("perfect",) and not prep else verb.lemma
        start = ("be", lemma) if verb.passive else (lemma,)
        if found.part and prep == "":
            yield from meanings(*start, verb.particle, found.last_word, "of")
        if before and prep:
            yield from meanings(*start, verb.particle, before, prep)
        if verb.passive and prep == "by":
            for meaning in (*meanings("be", lemma, "by"), *meanings(lemma)):
                turned = meaning.turned if meaning in meanings("be", lemma, "by") else not meaning.turned
                yield replace(meaning, turned=turned)
        if verb.particle != prep:
            yield from meanings(*start, verb.particle, prep)
        else:
            yield from meanings(*start, prep)

    def _leads_over(self) -> bool:
        return self.verb.via[-1] in (PLANNING | WANTING | LIKING | DISLIKING) - STARTING - {"use"} and not (
            self.verb.via[-1] == "go"
        )

    def _target(self, meaning: Meaning, argument: Argument, found: Referent) -> Draft | None:
        relation = meaning.relation
        if meaning.ends and relation.own and found.owner is not self.subject.named:
            return None
        if meaning.ends and relation.own and found.owner is not None and found.named is None and not found.part:
            return self.scene.node(found.head, "Topic") if found.head else None
        if (relation.named or relation.kind is FactKind.FUNCTIONAL) and not self._is_named(argument, found):
            return None
        wanted = relation.source if meaning.turned else relation.target
        if found.named is None and relation.named and not found.part:
            target = self.scene.node(found.head.title(), wanted or "Entity")
        else:
            target = found.node(self.scene)
        if target is None or not _fits(target, wanted, relation.named):
            return None
        if relation.name == "WORKS_AT" and target.name.lower().split()[-1] in _GROUP_WORDS:
            return None
        target.specify(wanted)
        return target

    def _is_named(self, argument: Argument, found: Referent) -> bool:
        """A name, a part of a named thing, or a single unknown word without article: "at google"."""
        if found.named is not None or found.part:
            return True
        head = found.head.lower()
        bare = argument.phrase.after - argument.phrase.first == 1 and bool(argument.prep)
        return bare and bool(head) and (head in PLACES or not is_word(head))

    def _from_meaning(
        self, meaning: Meaning, source: Draft, target: Draft, argument: Argument
    ) -> Statement | None:
        relation = meaning.relation
        if meaning.turned:
            source, target = target, source
        polarity = self._polarity(meaning)
        if polarity is None:
            return None
        source.specify(relation.source if polarity is not None else "")
        kind = relation.kind
        if self.verb.tense == "future" and kind is FactKind.EVENT:
            return self._statement("PLANS", FactKind.EVENT, source, target, argument)
        statement = self._statement(
            relation.name, kind, source, target, argument, polarity, onset=meaning.onset, relation=relation
        )
        if self._is_past_state(relation, meaning, polarity) and statement.invalid_ms is None:
            return replace(statement, kind=FactKind.EVENT)
        return statement

    def _is_past_state(self, relation: Relation, meaning: Meaning, polarity: Polarity) -> bool:
        past = self.verb.tense == "past" and not self.verb.via
        return past and polarity is Polarity.ASSERTS and relation.kind in _STATIVE and not meaning.onset and (
            relation.name not in _TIMELESS
        )

    def _polarity(self, meaning: Meaning) -> Polarity | None:
        """Asserts, ends or denies; None where the sentence says neither ("did not leave")."""
        verb = self.verb
        stops = bool(set(verb.via) & ENDING) or "use" in verb.via
        if meaning.ends:
            return None if verb.negated or stops or verb.tense == "future" else Polarity.ENDS
        if stops:
            return None if verb.negated else Polarity.ENDS
        if not verb.negated:
            return Polarity.ASSERTS
        if meaning.relation.kind is FactKind.EVENT or meaning.onset:
            return None
        return Polarity.ENDS if verb.no_longer or self._anymore() else Polarity.DENIES

    def _anymore(self) -> bool:
        lows = [unit.low for unit in self.reading.units[self.clause.start : self.clause.end + 4]]
        return "anymore" in lows or ("any" in lows and "more" in lows)

    def _unlisted(self, source: Draft) -> Iterator[Statement]:
        """A verb that the table does not know, or a chain like "want to visit"."""
        verb = self.verb
        if verb.lemma in ("be", "do") and not verb.via:
            return
        chained = self._chained_relation()
        for argument, found in self.found[:4]:
            if argument.apposition or (argument.prep and argument is not self.found[0][0]):
                continue
            target = found.node(self.scene)
            if target is None or target is source:
                continue
            stated = self._unlisted_statement(source, target, argument, chained)
            if stated is not None:
                yield stated
        if chained and not self.found:
            topic = self._gerund_topic()
            target = self.scene.node(topic, "Topic") if topic else None
            if target is not None and target is not source:
                stated = self._unlisted_statement(source, target, None, chained)
                if stated is not None:
                    yield stated

    def _unlisted_statement(
        self, source: Draft, target: Draft, argument: Argument | None, chained: str
    ) -> Statement | None:
        verb = self.verb
        if chained:
            relation = BY_NAME[chained]
            if verb.negated and relation.kind is FactKind.EVENT:
                return None
            polarity = Polarity.DENIES if verb.negated else Polarity.ASSERTS
            return self._statement(chained, relation.kind, source, target, argument, polarity)
        prep = argument.prep if argument is not None else ""
        name = relation_name(verb.lemma, verb.particle if verb.particle != prep else "", prep)
        if verb.passive and prep == "by" and not verb.negated:
            return self._statement(relation_name(verb.lemma), FactKind.EVENT, target, source, argument)
        if verb.passive:
            name = screaming(f"is {self._participle()} {prep}")
        stops = bool(set(verb.via) & (ENDING - {"finish"})) or "use" in verb.via
        if stops or verb.no_longer or (verb.negated and self._anymore()):
            return self._statement(name, FactKind.STATE, source, target, argument, Polarity.ENDS)
        if verb.negated:
            return None
        return self._statement("PLANS" if verb.tense == "future" else name, FactKind.EVENT, source, target, argument)

    def _chained_relation(self) -> str:
        """What "want to …", "love …ing", "plan to …" say: WANTS, LIKES, PLANS; "" for other chains."""
        verb = self.verb
        if not verb.via:
            return "PLANS" if verb.tense == "future" else ""
        first = verb.via[0]
        if first == "go" and verb.tense == "progressive":
            return "PLANS"
        if first in LIKING and verb.tense != "unsure":
            return "LIKES"
        if first in WANTING:
            return "WANTS"
        if first in DISLIKING:
            return "DISLIKES"
        return "PLANS" if first in PLANNING - {"go"} or first == "look" else ""

    def _gerund_topic(self) -> str:
        unit = self.reading.units[self.verb.after - 1]
        return unit.low if unit.tag == VERB and unit.form is not None and unit.form.ing else ""

    def _participle(self) -> str:
        return self.reading.units[self.verb.after - 1].low

    def _statement(
        self,
        name: str,
        kind: FactKind,
        source: Draft,
        target: Draft,
        argument: Argument | None,
        polarity: Polarity = Polarity.ASSERTS,
        onset: bool = False,
        relation: Relation | None = None,
    ) -> Statement:
        relation = relation or BY_NAME.get(name)
        valid, invalid = self._interval(name, kind, polarity, onset)
        return Statement(
            name,
            kind,
            source,
            target,
            polarity,
            valid,
            invalid,
            relation.keywords if relation is not None else (),
            tail=argument,
        )

    def _interval(
        self, name: str, kind: FactKind, polarity: Polarity, onset: bool
    ) -> tuple[int | None, int | None]:
        """When the fact begins to hold and when it ceases to, as far as the clause says so."""
        reference = self.scene.reference_ms
        stative = kind in _STATIVE
        past = self.verb.tense in ("past", "participle")
        current = not past or onset
        time = next((t for t in self.times if t.begin_ms is not None and t.role != "for"), None)
        time = time or next((t for t in self.times if t.begin_ms is not None), None)
        if time is None or name == "PLANS":
            return (reference if stative and current and polarity is Polarity.ASSERTS else None), None
        if polarity is not Polarity.ASSERTS:
            return (None if time.role == "for" else _not_after(time.begin_ms, reference)), None
        if time.role == "for":
            return (time.begin_ms if not past else None), None
        if time.role == "range":
            return time.begin_ms, time.finish_ms if stative else None
        if time.role == "until":
            return (reference if current and stative else None), time.finish_ms if stative else None
        begin = time.begin_ms if past or self.verb.tense == "perfect" else time.ahead_ms
        if not stative:
            return _not_after(begin, reference), None
        return begin, None


_TIMELESS = frozenset({"IS_A", "BORN_IN", "DIED_IN", "BURIED_IN", "BASED_ON", "KNOWN_FOR", "KNOWN_AS", "GREW_UP_IN"})
_MOODS = frozenset(
    "happy glad excited proud sorry sure ready okay ok fine good great grateful thankful thrilled pumped stoked "
    "amazing awesome cool fun hard tough easy important true nice lovely lucky surprised right wrong able back off "
    "interesting beautiful wonderful incredible rewarding inspiring special busy".split()
)


def _not_after(begin_ms: int | None, reference_ms: int) -> int | None:
    """An event to come has no beginning yet: it would be hidden as not yet valid."""
    return begin_ms if begin_ms is not None and begin_ms <= reference_ms else None


def _fits(draft: Draft, wanted: str, named: bool) -> bool:
    """Whether a node may be what a relation asks for."""
    if not wanted or draft.type in (wanted, "Entity"):
        return True
    if draft.type == "Topic":
        return not named
    return wanted == "Work" or (wanted == "Project" and not named)
