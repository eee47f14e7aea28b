"""From a text to facts: every sentence is read, and what fits no pattern is kept as what somebody said."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.clauses import Clause
from kgsvc.models.rules.copulas import ClauseFact
from kgsvc.models.rules.lexicon import KIN, PETS, STOP, Tag
from kgsvc.models.rules.reading import Reading, content_words, salient_topic
from kgsvc.models.rules.relations import SINGLE_ROLES, screaming
from kgsvc.models.rules.scene import Cast, NodeDraft, Scene
from kgsvc.models.rules.statements import statements_of
from kgsvc.models.rules.text import LONGEST, sentences_of
from kgsvc.models.rules.times import DAY_MS, Time, make_day, ms_of
from kgsvc.models.rules.wording import FactWording, finished

SAID, ASKED, MENTIONED = "SAID", "ASKED", "MENTIONED"
_SUBSTANCE = 3  # content words that make a sentence worth a fact even if it names nothing
_WEIGHTS = {SAID: 0.5, MENTIONED: 0.5, ASKED: 0.3}


class Remarks:
    """Keeps the sentences of one text that fit no pattern as what somebody said."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.slight: list[Reading] = []

    def add(self, reading: Reading, wording: FactWording) -> None:
        """Keep a sentence if it names something or has enough content words; else remember it as slight."""
        substance = content_words(reading.units)
        dated = any(time.begin_ms is not None for time in reading.times)
        telling = substance >= _SUBSTANCE or dated or _named(reading, self.scene)[0] is not None
        if not telling or substance <= len(reading.names) or not self._keep(reading, wording, ""):
            self.slight.append(reading)

    def finish(self, sentences: int) -> None:
        """Make one fact of a message that has only slight sentences, if these have enough content words."""
        if self.scene.speaker is None or len(self.slight) != sentences or not self.slight:
            return
        substance = [content_words(reading.units) for reading in self.slight]
        if sum(substance) >= _SUBSTANCE:
            richest = self.slight[substance.index(max(substance))]
            words = " ".join(reading.sentence for reading in self.slight)[:LONGEST]
            self._keep(richest, FactWording(richest), words)

    def _keep(self, reading: Reading, wording: FactWording, words: str) -> bool:
        scene = self.scene
        named, addressed = _named(reading, scene)
        source = scene.speaker or scene.subject or scene.latest_named(named) or self._topic(reading)
        target = named if named is not source else None
        target = target or self._topic(reading, source) or addressed or scene.listener
        if source is None or target is None:
            return False
        name = SAID if scene.speaker is not None else MENTIONED
        name = ASKED if scene.speaker is not None and reading.question else name
        fact = f"{source.name} said: {words}" if words else self._fact(reading, wording, source)
        when, weight = self._when(reading), _WEIGHTS[name]
        edge = ExtractedEdge(name, fact, source.ref, target.ref, when, kind=FactKind.EVENT, weight=weight)
        return scene.add(edge)

    def _topic(self, reading: Reading, but: NodeDraft | None = None) -> NodeDraft | None:
        topic = salient_topic(reading.units, reading.sentence)
        draft = self.scene.node(topic, "Topic") if topic else None
        return draft if draft is not but else None

    def _fact(self, reading: Reading, wording: FactWording, source: NodeDraft) -> str:
        """The sentence so that it reads alone, with who says it or what it is about."""
        text = finished(wording.whole())
        if len(text) + len(source.name) + 10 > self.scene.limits.fact:
            text = reading.sentence  # long names in place of many pronouns
        if self.scene.speaker is None:
            return text if source.name.lower() in text.lower() else f"{source.name}: {text}"
        if reading.question:
            return f"{source.name} asked: {reading.sentence}"
        if reading.staged:
            return f"{source.name} {text[:1].lower()}{text[1:]}"
        return text if text.startswith(source.name) else f"{source.name} said: {text}"

    def _when(self, reading: Reading) -> int | None:
        """The first time of the sentence that is not in the future."""
        begins = (time.begin_ms for time in reading.times if time.role != "for")
        return next((ms for ms in begins if ms is not None and ms <= self.scene.reference_ms), None)


def _named(reading: Reading, scene: Scene) -> tuple[NodeDraft | None, NodeDraft | None]:
    """The first name that the sentence is about, and the first that it only addresses; not the speaker's."""
    addressed: NodeDraft | None = None
    for index, unit in enumerate(reading.units):
        draft = reading.meant.get(index) if unit.tag in (Tag.NAME, Tag.UH) else None
        if draft is None or draft is scene.speaker:
            continue
        if not reading.is_vocative(index):
            return draft, addressed
        addressed = addressed or draft
    return None, addressed


_FIELD = re.compile(r"([A-Z][A-Za-z]{1,20}(?: [A-Za-z]{1,20}){0,2}):\s+(\S.{0,79})\Z")


def read_field(reading: Reading) -> bool:
    """Add the fact of a line such as "Owner: Maria Lopez"; False if it is none, or there is no title."""
    scene, match = reading.scene, _FIELD.match(reading.sentence)
    if match is None or scene.subject is None or scene.speaker is not None:
        return False
    key, value = match[1].lower(), match[2].rstrip(" .")
    if key.split(" ", 1)[0] in STOP or key in scene.subject.name.lower() or not value:
        return False
    named = next((reading.meant[at] for at, unit in enumerate(reading.units) if at in reading.meant), None)
    target = named if named is not None and named.name == value else None
    target = target or scene.node(f"{key}: {value}", "Value")
    if target is None:
        return False
    fact = f"{scene.subject.name}'s {key} is {value}."
    now, kind = scene.reference_ms, FactKind.FUNCTIONAL
    edge = ExtractedEdge(screaming(f"HAS_{key}"), fact, scene.subject.ref, target.ref, now, None, kind)
    return scene.add(edge)


LifeEvents = Iterator[tuple[str, str, NodeDraft, int | None]]  # relation, fact, who, when
_YEAR = re.compile(r"\d{4}")
_SPAN = 14  # units that the brackets may take


def life_dates(reading: Reading) -> LifeEvents:
    """The birth and death that stand in brackets after a name: "(born 3 May 1950)", "(1893–1964)"."""
    units = reading.units
    for at in range(len(units) - 2):
        if units[at].tag == Tag.NAME and units[at + 1].low == "(":
            draft = reading.meant.get(at)
            if draft is not None:
                yield from _dates(reading, at + 2, draft)
                return


def _dates(reading: Reading, first: int, draft: NodeDraft) -> LifeEvents:
    units = reading.units
    after = next((i for i in range(first, min(first + _SPAN, len(units))) if units[i].low == ")"), None)
    if after is None:
        return
    inside = units[first:after]
    times = [unit.time for unit in inside if unit.tag == Tag.TIME and unit.time is not None]
    if not times or any(unit.tag == Tag.VERB and unit.low not in ("born", "died") for unit in inside):
        return
    words = {unit.low for unit in inside}
    events = [("BORN_ON", "was born"), ("DIED_ON", "died")]
    if words & {"born", "died", "b", "d"}:
        events = events[:1] if words & {"born", "b"} else events[1:]
    elif len(times) == 1 and times[0].role != "range":
        return
    if len(times) == 1 and times[0].role == "range":
        yield from _range(reading, draft, times[0])
        return
    for (relation, verb), time in zip(events, times, strict=False):
        if time.begin_ms is not None:
            yield relation, f"{draft.name} {verb} {_when(reading, time)}.", draft, time.begin_ms


def _range(reading: Reading, draft: NodeDraft, time: Time) -> LifeEvents:
    """Both from a range of years."""
    years = _YEAR.findall(reading.sentence[time.start : time.end])
    if len(years) == 2:
        yield "BORN_ON", f"{draft.name} was born in {years[0]}.", draft, time.begin_ms
        died = make_day(int(years[1]))
        yield "DIED_ON", f"{draft.name} died in {years[1]}.", draft, None if died is None else ms_of(died)


def _when(reading: Reading, time: Time) -> str:
    words = reading.sentence[time.start : time.end]
    length = (time.finish_ms or 0) - (time.begin_ms or 0)
    return f"on {words}" if length == DAY_MS else f"in {words}"


_ROLE_NOUNS = KIN | SINGLE_ROLES
_BORDERS = frozenset({Tag.MARK, Tag.CONJ, Tag.SUB})


def read_text(scene: Scene, text: str, cast: Cast) -> None:
    """Add what `text` says to the scene; its speaker, listener and subject are the scene's."""
    sentences = sentences_of(text)
    ordinary = {word for sentence in sentences for word in sentence.split() if word.islower()}
    remarks = Remarks(scene)
    for sentence in sentences:
        if scene.full:
            return
        scene.sentence += 1
        reading = Reading(sentence, scene, cast.known, ordinary, cast.titles)
        wording = FactWording(reading)
        if not _Sentence(reading, wording).state():
            remarks.add(reading, wording)
    remarks.finish(len(sentences))


class _Sentence:
    """Puts the facts that a sentence states onto its scene."""

    def __init__(self, reading: Reading, wording: FactWording) -> None:
        self.reading, self.wording, self.scene = reading, wording, reading.scene

    def state(self) -> bool:
        """Add what the sentence states; False if its clauses state nothing."""
        if read_field(self.reading):
            return True
        self._roles()
        self._life()
        return self._clauses()

    def _roles(self) -> None:
        """ "my brother Tom", "Alice's manager Bob": who is what to whom."""
        units = self.reading.units
        for at in range(2, len(units)):
            if (
                units[at].tag == Tag.NAME
                and units[at - 1].tag == Tag.NOUN
                and units[at - 1].low in _ROLE_NOUNS
            ):
                owner, who = self._owner(at - 2), self.reading.meant.get(at)
                if owner is not None and who is not None:
                    self._role(owner, units[at - 1].low, who)

    def _owner(self, at: int) -> NodeDraft | None:
        """Whose the noun behind unit `at` is: "my younger", "Alice's"."""
        units = self.reading.units
        while at > 0 and units[at].tag == Tag.NOUN:
            at -= 1
        owner = at if units[at].tag == Tag.POSS else at - 1 if units[at].tag == Tag.GEN else -1
        return self.reading.meant.get(owner)

    def _role(self, owner: NodeDraft, role: str, who: NodeDraft) -> None:
        kind = FactKind.FUNCTIONAL if role in SINGLE_ROLES else FactKind.STATE
        who.specify("Person" if role in KIN - PETS else "")
        fact = f"{owner.name}'s {role} is {who.name}."
        now = self.scene.reference_ms
        self.scene.add(ExtractedEdge(screaming(f"HAS_{role}"), fact, owner.ref, who.ref, now, None, kind))

    def _life(self) -> None:
        for relation, fact, who, when in life_dates(self.reading):
            what = "birth" if relation == "BORN_ON" else "death"
            event = self.scene.node(f"{what} of {who.name}", "Event")
            if event is not None:
                self.scene.add(ExtractedEdge(relation, fact, who.ref, event.ref, when, None, FactKind.EVENT))

    def _clauses(self) -> bool:
        """Add the facts of the clauses; the text of each goes up to the next clause that states something."""
        spoken: list[tuple[int, Clause, list[ClauseFact]]] = []
        for clause, (first, after) in zip(self.reading.clauses, self._borders(), strict=True):
            times = [time for index, time in self.reading.free_times.items() if first <= index < after]
            found = statements_of(self.reading, clause, times)
            if found:
                spoken.append((first, clause, found))
        if any(not clause.subordinate for _, clause, _ in spoken):
            spoken = [entry for entry in spoken if not _is_aside(entry[1], entry[2])]
        if not spoken:
            return False
        ends = [first for first, _, _ in spoken[1:]] + [len(self.reading.units)]
        added = False
        for index, ((first, clause, found), after) in enumerate(zip(spoken, ends, strict=True)):
            for number, statement in enumerate(found):
                text = self._words(clause, statement, (first if index else 0, after), number)
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
                last = max(clauses[index + 1].start, clause.end)
                after = next((i for i in range(clause.end, last) if units[i].tag in _BORDERS), last)
            borders.append((first, after))
            first = after
        return borders

    def _words(self, clause: Clause, statement: ClauseFact, extent: tuple[int, int], number: int) -> str:
        """The text of a fact: the whole clause for the first object, a short sentence for each other."""
        apposed = statement.tail is not None and statement.tail.apposition
        speaker = self.scene.speaker if clause.subject is None and not apposed else None
        subject = speaker or statement.source
        if number and statement.tail is not None:
            return self.wording.short(clause, statement.tail, subject)
        return self.wording.clause(clause, *extent, subject)

    def _keep(self, statement: ClauseFact, text: str) -> bool:
        fact = finished(text)
        if not _names(fact, statement.source.name):  # "the launch": whose
            fact = f"{statement.source.name}: {fact}"
        if len(fact) > self.scene.limits.fact:  # long names in place of many pronouns
            fact = f"{statement.source.name}: {self.reading.sentence}"
        return self.scene.add(
            ExtractedEdge(
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
        )


def _names(fact: str, name: str) -> bool:
    """Whether any word of a name is in a fact."""
    low = fact.lower()
    return any(word in low for word in name.lower().split())


def _is_aside(clause: Clause, found: list[ClauseFact]) -> bool:
    """ "when I saw it" states no fact of its own beside a main clause."""
    return clause.subordinate and found[0].kind is FactKind.EVENT
