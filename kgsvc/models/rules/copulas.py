"""The facts of a clause: what it is about, its polarity and its times; and the facts of clauses with "be"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.models.rules.clauses import Argument, Clause
from kgsvc.models.rules.lexicon import KIN, VAGUE, kind_of_class
from kgsvc.models.rules.reading import Reading, Referent, referent
from kgsvc.models.rules.relations import (
    BY_NAME,
    DATED_ROLES,
    ENDING,
    SINGLE_ROLES,
    leading_relation,
    meanings,
    screaming,
)
from kgsvc.models.rules.scene import NodeDraft
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.times import Time

PLANS = "PLANS"
_STATIVE = (FactKind.STATE, FactKind.FUNCTIONAL)


@dataclass(frozen=True, slots=True)
class ClauseFact:
    """A fact about two nodes, not yet in words. `tail` is the argument that it is about, if the clause has
    several ("likes tea and coffee" gives two facts)."""

    name: str
    kind: FactKind
    source: NodeDraft
    target: NodeDraft
    polarity: Polarity = Polarity.ASSERTS
    valid_ms: int | None = None
    invalid_ms: int | None = None
    keywords: tuple[str, ...] = ()
    weight: float = 1.0
    tail: Argument | None = None


class Stated:
    """A clause, what its subject and arguments stand for, and the times that belong to it."""

    def __init__(self, reading: Reading, clause: Clause, subject: Referent, times: Sequence[Time]) -> None:
        self.reading, self.clause, self.subject, self.times = reading, clause, subject, times
        self.scene, self.verb = reading.scene, clause.verb
        self.found: list[tuple[Argument, Referent]] = [
            (argument, referent(reading, argument.phrase)) for argument in clause.arguments
        ]

    def source(self) -> NodeDraft | None:
        """The subject as a node: something named or somebody's; a plain topic only in prose."""
        subject, scene = self.subject, self.scene
        if subject.named is None and subject.owner is None and scene.speaker is not None:
            return None
        if subject.part and subject.owner is not None:
            return scene.node(f"{subject.owner.name}'s {subject.head}"[: scene.limits.name], "Topic")
        source = subject.node(scene)
        if source is not None and source.type == "Person" and subject.named is None:
            scene.recall(source)  # "my sister …. She …"
        return source

    def statement(
        self,
        name: str,
        kind: FactKind,
        source: NodeDraft,
        target: NodeDraft,
        argument: Argument | None,
        polarity: Polarity = Polarity.ASSERTS,
        onset: bool = False,
    ) -> ClauseFact:
        """The statement with the interval that the clause's times give it."""
        relation = BY_NAME.get(name)
        valid, invalid = self._interval(name, kind, polarity, onset)
        keywords = relation.keywords if relation is not None else ()
        return ClauseFact(name, kind, source, target, polarity, valid, invalid, keywords, tail=argument)

    def polarity(self) -> Polarity:
        """Whether the clause says that something holds, ended, or does not hold."""
        stops = bool(set(self.verb.via) & ENDING)
        if stops != self.verb.negated:
            return Polarity.ENDS if stops or self.no_longer() else Polarity.DENIES
        return Polarity.ASSERTS

    def no_longer(self) -> bool:
        """ "no longer", "not … anymore"."""
        lows = [unit.low for unit in self.reading.units[self.clause.start : self.clause.end + 4]]
        return self.verb.no_longer or "anymore" in lows or ("any" in lows and "more" in lows)

    def _interval(
        self, name: str, kind: FactKind, polarity: Polarity, onset: bool
    ) -> tuple[int | None, int | None]:
        """When the fact begins to hold and when it ceases to, as far as the clause says so."""
        reference, stative = self.scene.reference_ms, kind in _STATIVE
        past = self.verb.tense in ("past", "participle")
        now = reference if stative and (onset or not past) else None
        time = self._time()
        if time is None or name == PLANS:
            return (now if polarity is Polarity.ASSERTS else None), None
        if polarity is not Polarity.ASSERTS:
            return (None if time.role == "for" else _not_after(time.begin_ms, reference)), None
        finish = time.finish_ms if stative else None
        if time.role == "for":
            return (None if past else time.begin_ms), None
        if time.role == "range":
            return time.begin_ms, finish
        if time.role == "until":
            return now, finish
        begin = time.begin_ms if past or self.verb.tense == "perfect" else time.ahead_ms
        return (begin if stative else _not_after(begin, reference)), None

    def _time(self) -> Time | None:
        """The time that counts: the first one, durations last."""
        possible = [time for time in self.times if time.begin_ms is not None]
        return min(possible, key=lambda time: time.role == "for", default=None)


def _not_after(begin_ms: int | None, reference_ms: int) -> int | None:
    """An event to come has no beginning yet: it would be hidden as not yet valid."""
    return begin_ms if begin_ms is not None and begin_ms <= reference_ms else None


_ARTICLES = ("a", "an", "one")
_MOODS = word_set("""
happy glad excited proud sorry sure ready okay ok fine good great grateful thankful thrilled pumped stoked
amazing awesome cool fun hard tough easy important true nice lovely lucky surprised right wrong able back off
interesting beautiful wonderful incredible rewarding inspiring special busy
""")

_MOVING = word_set("move change shift push extend postpone reschedule set bring")

_Found = tuple[Argument, Referent]


def copula_statements(stated: Stated) -> Iterator[ClauseFact]:
    """The statements of a clause whose verb is "be"."""
    if leading_relation(stated.verb.via, stated.verb.tense):
        return
    objects = [(argument, found) for argument, found in stated.found if argument.prep == ""]
    role = _role(stated.subject, objects)
    if role:
        yield from _role_statements(stated, role, objects)
        return
    source = stated.source()
    if source is None or stated.subject.part or not objects:
        return
    yield from _complements(stated, source, objects)


def moved_statements(stated: Stated) -> Iterator[ClauseFact]:
    """ "The deadline moved to March 1": a new value of the role."""
    subject, verb = stated.subject, stated.verb
    if subject.owner is None or subject.last_word not in DATED_ROLES or verb.lemma not in _MOVING:
        return
    if subject.named is None and not verb.negated and verb.tense not in ("unsure", "future"):
        yield from _role_statements(stated, subject.head, [])


def _is_listed(stated: Stated, first: Referent) -> bool:
    """Whether the table knows "be <complement> <preposition>" ("be allergic to")."""
    prepositions = [argument.prep for argument, _ in stated.found if argument.prep]
    prepositions += ["of"] if first.part else []
    return any(meanings("be", first.last_word, preposition) for preposition in prepositions)


def _role(subject: Referent, objects: list[_Found]) -> str:
    """ "boss" where the subject is somebody's boss, "deadline" where it is a project's deadline."""
    if subject.owner is None or subject.named is not None or not subject.head:
        return ""
    tells = subject.last_word in SINGLE_ROLES - KIN or _is_favorite(subject)
    return subject.head if tells or any(found.named for _, found in objects) else ""


def _is_favorite(subject: Referent) -> bool:
    return subject.head.lower().startswith(("favorite", "favourite"))


def _role_statements(stated: Stated, role: str, objects: list[_Found]) -> Iterator[ClauseFact]:
    owner, last = stated.subject.owner, stated.subject.last_word
    if owner is None:
        return
    single = last in SINGLE_ROLES or _is_favorite(stated.subject)
    kind = FactKind.FUNCTIONAL if single else FactKind.STATE
    dated = not any(found.named or found.head for _, found in objects)  # a date, a number: the value
    targets: list[tuple[Argument | None, NodeDraft | None]] = [
        (argument, found.node(stated.scene)) for argument, found in objects if found.named or found.head
    ]
    if not targets:
        targets = [(None, _anchor(stated, owner, role))]
    for argument, target in targets:
        if target is not None and target is not owner:
            name, polarity = screaming(f"HAS_{role}"), stated.polarity()
            statement = stated.statement(name, kind, owner, target, argument, polarity)
            if dated or last in DATED_ROLES:  # a date is no beginning: the fact holds from when it is said
                statement = replace(statement, valid_ms=stated.scene.reference_ms, invalid_ms=None)
            yield statement


def _anchor(stated: Stated, owner: NodeDraft, role: str) -> NodeDraft | None:
    """The other end where the value is a date or a number: who says so, or the dated thing itself."""
    scene = stated.scene
    if scene.speaker is not None and scene.speaker is not owner:
        return scene.speaker
    return scene.node(f"{owner.name} {role}"[: scene.limits.name], "Value")


def _complements(stated: Stated, source: NodeDraft, objects: list[_Found]) -> Iterator[ClauseFact]:
    first = objects[0][1]
    classes = stated.reading.units[objects[0][0].phrase.first].low in _ARTICLES
    for argument, found in objects:
        if _is_listed(stated, found):
            continue
        if not argument.apposition and not (argument.joined and found.named is not None):
            yield from _is(stated, source, argument, found, classes)
        elif first.part and argument.joined == "and" and found.named not in (None, source):
            # "the son of Karl and Maria": of both
            for statement in _is(stated, source, argument, replace(first, owner=found.named), classes):
                yield replace(statement, tail=None)


def _is(
    stated: Stated, source: NodeDraft, argument: Argument, found: Referent, classes: bool
) -> Iterator[ClauseFact]:
    """`classes`: the list of complements began with an article ("a writer, director and poet")."""
    article, polarity = stated.reading.units[argument.phrase.first].low, stated.polarity()
    if found.owner is not None and found.head and (found.part or found.named is None):
        yield from _is_role_of(stated, source, argument, found, article)
        return
    target = found.node(stated.scene)
    if target is None or target is source:
        return
    if found.named is not None:
        if source.type != "Person" or found.named.type != "Person":
            yield stated.statement("IS", FactKind.STATE, source, target, argument, polarity)
        return
    several = found.last_word.endswith("s") and " " in found.head
    if article in _ARTICLES or (argument.joined and classes) or several:
        source.specify(kind_of_class(found.last_word))
        yield stated.statement("IS_A", FactKind.STATE, source, target, argument, polarity)
        if kind_of_class(found.last_word) == "Person":
            yield from _employment(stated, source)
    elif not _is_mood(stated, argument):
        yield stated.statement("IS", FactKind.STATE, source, target, argument, polarity)


def _is_role_of(
    stated: Stated, source: NodeDraft, argument: Argument, found: Referent, article: str
) -> Iterator[ClauseFact]:
    """ "Carol is the CEO of TechCorp", "Tom is my brother": HAS_CEO, HAS_BROTHER of the owner."""
    role, owner = found.last_word, found.owner
    if role in VAGUE or owner is None or owner is source:
        return
    single = role in SINGLE_ROLES and not (found.part and article in _ARTICLES)
    kind = FactKind.FUNCTIONAL if single else FactKind.STATE
    yield stated.statement(screaming(f"HAS_{role}"), kind, owner, source, argument, stated.polarity())


def _is_mood(stated: Stated, argument: Argument) -> bool:
    """ "so happy", "ready", "surprised": a mood of the moment or a participle, no lasting state."""
    last = stated.reading.units[argument.phrase.after - 1].low
    return last in _MOODS or last.endswith(("ed", "ing"))


def _employment(stated: Stated, source: NodeDraft) -> Iterator[ClauseFact]:
    """ "is an engineer at TechCorp"."""
    if stated.subject.named is None:
        return
    for argument, found in stated.found:
        employs = found.named is not None and found.named.type in ("Organization", "Entity")
        if argument.prep in ("at", "with") and found.named is not None and employs:
            job = (FactKind.FUNCTIONAL, source, found.named, argument, stated.polarity())
            yield stated.statement("WORKS_AT", *job)
