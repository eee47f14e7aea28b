"""The rules for running text: every sentence of substance becomes at least one fact on the scene."""

from __future__ import annotations

from collections.abc import Sequence

from kgsvc.domain.extraction import ExtractedEdge
from kgsvc.domain.model import FactKind
from kgsvc.llm.offline.cast import Cast
from kgsvc.llm.offline.clauses import Clause
from kgsvc.llm.offline.lexicon import KIN
from kgsvc.llm.offline.phrases import CONJ, GEN, MARK, NAME, NOUN, POSS, SUB
from kgsvc.llm.offline.profiles import life_dates
from kgsvc.llm.offline.reading import Reading, leading
from kgsvc.llm.offline.relations import SINGLE_ROLES, screaming
from kgsvc.llm.offline.scene import Draft, Scene
from kgsvc.llm.offline.sentences import LONGEST, sentences_of
from kgsvc.llm.offline.statements import Statement, statements_of
from kgsvc.llm.offline.times import Time
from kgsvc.llm.offline.topics import content_words, salient_topic

SAID, ASKED, MENTIONED = "SAID", "ASKED", "MENTIONED"
_SUBSTANCE = 3  # content words that make a sentence worth a fact even if it names nothing
_SAID_WEIGHT, _ASKED_WEIGHT = 0.5, 0.3
_ROLE_NOUNS = KIN | SINGLE_ROLES


def read_text(scene: Scene, text: str, cast: Cast) -> None:
    """Add what `text` says to the scene; its speaker, listener and subject are the scene's."""
    sentences = sentences_of(text)
    ordinary = {word for sentence in sentences for word in sentence.split() if word.islower()}
    silent: list[Reading] = []
    for sentence in sentences:
        if scene.full:
            return
        scene.sentence += 1
        reading = Reading(sentence, scene, cast.known, ordinary, cast.titles)
        if not _Sentence(reading).run():
            silent.append(reading)
    if scene.speaker is not None and len(silent) == len(sentences) > 0:
        _small_talk(scene, silent)


def _small_talk(scene: Scene, readings: Sequence[Reading]) -> None:
    """Sentences that are too slight one by one make one fact together, if there is anything in them."""
    if sum(content_words(reading.units) for reading in readings) < _SUBSTANCE:
        return
    richest = max(readings, key=lambda reading: content_words(reading.units))
    _Sentence(richest).remark(" ".join(reading.sentence for reading in readings)[:LONGEST])


class _Sentence:
    def __init__(self, reading: Reading) -> None:
        self.reading, self.scene = reading, reading.scene

    def run(self) -> bool:
        """Add the facts of the sentence; False if there is none in it."""
        self._kin()
        self._life()
        return self._clauses() or self._remark()

    def _add(
        self,
        name: str,
        fact: str,
        source: Draft,
        target: Draft,
        kind: FactKind = FactKind.EVENT,
        valid_ms: int | None = None,
        weight: float = 1.0,
    ) -> bool:
        edge = ExtractedEdge(name, fact, source.ref, target.ref, valid_ms, None, kind, weight=weight)
        return self.scene.add(edge)

    def _kin(self) -> None:
        """ "my brother Tom", "Alice's manager Bob": who is what to whom."""
        units = self.reading.units
        for at in range(2, len(units)):
            if units[at].tag != NAME or units[at - 1].tag != NOUN or units[at - 1].low not in _ROLE_NOUNS:
                continue
            first = at - 2
            while first > 0 and units[first].tag == NOUN:
                first -= 1
            owner_at = first if units[first].tag == POSS else first - 1 if units[first].tag == GEN else -1
            owner, who = self.reading.meant.get(owner_at), self.reading.meant.get(at)
            if owner is None or who is None or owner is who:
                continue
            role = units[at - 1].low
            kind = FactKind.FUNCTIONAL if role in SINGLE_ROLES else FactKind.STATE
            who.specify("Person" if role in KIN else "")
            fact = f"{owner.name}'s {role} is {who.name}."
            self._add(screaming(f"HAS_{role}"), fact, owner, who, kind, self.scene.reference_ms)

    def _life(self) -> None:
        for relation, fact, who, when in life_dates(self.reading):
            what = "birth" if relation == "BORN_ON" else "death"
            event = self.scene.node(f"{what} of {who.name}", "Event")
            if event is not None:
                self._add(relation, fact, who, event, FactKind.EVENT, when)

    def _clauses(self) -> bool:
        """Facts of the clauses that state something; each takes the words up to the next one's."""
        spoken: list[tuple[Clause, list[Statement]]] = []
        borders = self._borders()
        for clause, (first, after) in zip(self.reading.clauses, borders, strict=True):
            found = statements_of(self.reading, clause, self._times(first, after))
            if found:
                spoken.append((clause, found))
        if any(not clause.subordinate for clause, _ in spoken):
            spoken = [(c, f) for c, f in spoken if not c.subordinate or f[0].kind is not FactKind.EVENT]
        added = False
        starts = dict(zip(map(id, self.reading.clauses), borders, strict=True))
        for index, (clause, found) in enumerate(spoken):
            first = starts[id(clause)][0] if index else 0
            after = starts[id(spoken[index + 1][0])][0] if index + 1 < len(spoken) else len(self.reading.units)
            for number, statement in enumerate(found):
                text = self._words(clause, statement, first, after, number)
                added = self._keep(statement, text) or added
        return added

    def _borders(self) -> list[tuple[int, int]]:
        """The units that belong to each clause: up to the first mark or conjunction before the next."""
        units, clauses = self.reading.units, self.reading.clauses
        borders: list[tuple[int, int]] = []
        first = 0
        for index, clause in enumerate(clauses):
            after = len(units)
            if index + 1 < len(clauses):
                following = max(clauses[index + 1].start, clause.end)
                after = next((i for i in range(clause.end, following) if units[i].tag in _BORDERS), following)
            borders.append((first, after))
            first = after
        return borders

    def _times(self, first: int, after: int) -> Sequence[Time]:
        """The times between two units; those in brackets are dates of life or of works."""
        units = self.reading.units
        found: list[Time] = []
        depth = 0
        for index, unit in enumerate(units[:after]):
            depth += (unit.low == "(") - (unit.low == ")")
            if index >= first and unit.time is not None and depth <= 0:
                found.append(unit.time)
        return found

    def _words(self, clause: Clause, statement: Statement, first: int, after: int, number: int) -> str:
        """The fact in words: the clause with its surroundings; for further objects the subject and object."""
        if number and statement.tail is not None:
            return self._short(clause, statement)
        own = clause.subject is not None and not clause.inherited and clause.subject.first >= first
        if own:
            return self.reading.text(leading(self.reading, first, clause.start), after)
        subject = self._subject_words(clause, statement)
        start = clause.verb.first
        text = self.reading.text(start, after)
        first_unit = self.reading.units[start]
        if first_unit.tag != NAME:
            text = text[:1].lower() + text[1:]
        if not clause.verb.finite:
            return f"{subject} {self._be(clause)} {text}"
        return f"{subject} {_AUXILIARY.get(first_unit.low, '')}{text}"

    def _short(self, clause: Clause, statement: Statement) -> str:
        tail = statement.tail
        assert tail is not None
        if tail.apposition:
            return f"{statement.source.name} is {self.reading.text(tail.phrase.first, tail.phrase.after)}"
        subject = self._subject_words(clause, statement)
        first = clause.verb.first if not clause.inherited else clause.start
        verb = self.reading.text(first, clause.verb.after).strip()
        if not clause.verb.finite:
            verb = f"{self._be(clause)} {verb}"
        prep = f"{tail.prep} " if tail.prep else ""
        particle = f"{clause.verb.particle} " if clause.verb.particle and clause.verb.particle != tail.prep else ""
        return f"{subject} {verb} {particle}{prep}{self.reading.text(tail.phrase.first, tail.phrase.after)}"

    def _be(self, clause: Clause) -> str:
        """The auxiliary for "a school located in Bourbon", "directed by X"."""
        lasting = clause.verb.lemma in _LASTING or not clause.verb.passive
        past = any(unit.low in ("was", "were") for unit in self.reading.units[: clause.start])
        return "is" if lasting and not past else "was"

    def _subject_words(self, clause: Clause, statement: Statement) -> str:
        if clause.subject is not None:
            return self.reading.text(clause.subject.first, clause.subject.after)
        return self.scene.speaker.name if self.scene.speaker is not None else statement.source.name

    def _keep(self, statement: Statement, text: str) -> bool:
        fact = finished(text)
        edge = ExtractedEdge(
            statement.name,
            fact,
            statement.source.ref,
            statement.target.ref,
            statement.valid_ms,
            statement.invalid_ms,
            statement.kind,
            statement.polarity,
            keywords=statement.keywords,
            weight=statement.weight,
        )
        return self.scene.add(edge)

    # sentences that fit no pattern

    def _remark(self) -> bool:
        """Keep the sentence itself, from its speaker, if it names something or has substance."""
        substance = content_words(self.reading.units)
        if substance - len(self.reading.names) < 1:
            return False
        if substance < _SUBSTANCE and self._first_named() is None:
            return False
        return self.remark()

    def remark(self, words: str = "") -> bool:
        """Add the sentence, or `words` around it, as what its speaker said."""
        reading, scene = self.reading, self.scene
        named = self._first_named()
        source = scene.speaker or scene.subject or scene.latest_named(named) or self._topic()
        target = named if named is not None and named is not source else self._topic(source)
        target = target or scene.listener
        if source is None or target is None:
            return False
        name, weight = (ASKED, _ASKED_WEIGHT) if reading.question else (SAID, _SAID_WEIGHT)
        if scene.speaker is None:
            name = MENTIONED
        fact = f"{source.name} said: {words}" if words else self._quoted(source)
        return self._add(name, fact, source, target, FactKind.EVENT, self._when(), weight)

    def _first_named(self) -> Draft | None:
        """The first thing the sentence is about that has a name; whom it only addresses comes last."""
        addressed = None
        for index, unit in enumerate(self.reading.units):
            draft = self.reading.meant.get(index) if unit.tag == NAME else None
            if draft is None or draft is self.scene.speaker:
                continue
            if not self.reading.is_vocative(index):
                return draft
            addressed = addressed or draft
        return None if self._topic_words() else addressed

    def _topic_words(self) -> str:
        return salient_topic(self.reading.units, self.reading.sentence)

    def _topic(self, but: Draft | None = None) -> Draft | None:
        topic = self._topic_words()
        if not topic:
            return None
        draft = self.scene.node(topic, "Topic")
        return draft if draft is not but else None

    def _quoted(self, source: Draft) -> str:
        reading = self.reading
        count = len(reading.units)
        if self.scene.speaker is None:
            text = reading.text(leading(reading, 0, count), count)
            return finished(text if source.name.lower() in text.lower() else f"{source.name}: {text}")
        if reading.question:
            return f"{source.name} asked: {reading.sentence}"
        text = finished(reading.text(leading(reading, 0, count), count))
        if reading.staged:
            return f"{source.name} {text[:1].lower()}{text[1:]}"
        long = len(text) > self.scene.limits.fact - len(source.name) - 10
        text = reading.sentence if long else text
        return text if text.startswith(source.name) else f"{source.name} said: {text}"

    def _when(self) -> int | None:
        reference = self.scene.reference_ms
        begins = (time.begin_ms for time in self.reading.times if time.role != "for")
        return next((ms for ms in begins if ms is not None and ms <= reference), None)


def finished(text: str) -> str:
    """A sentence that reads alone: a capital first, a full stop last."""
    text = text.strip().rstrip(_TRAILING).lstrip(_LEADING)
    if not text:
        return ""
    return f"{text[0].upper()}{text[1:]}" + ("" if text[-1] in ".!?…)\"”'" and text[-1] != ")" else ".")


_BORDERS = frozenset({MARK, CONJ, SUB})
_LASTING = frozenset("locate base situate set know headquarter own call name operate title".split())
_AUXILIARY = {"been": "has ", "gonna": "is "}
_TRAILING = " ,;:-–—!.&"
_LEADING = " ,;:-–—!.)&"
