"""A corpus with planted truth: chat of some weeks in one group, and what a perfect reader makes of each line.

The same for every run of the same count and seed. Facts are told again in other words and by other people,
names are spelled in several ways, people change jobs and move, give up projects, visit places on a date.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bench.planted_names import ORGANISATIONS, PEOPLE, PLACES, PROJECTS, RELATIONS, Relation, Wording

_START = datetime(2025, 1, 6, 9, tzinfo=UTC)
_FULL_NAME = 0.7  # how often a name is spelled in full
_USUAL = 0.8  # how often a wording comes with the relation's usual name
_OF_ONESELF = 0.6
_ACTIONS = {"first": 30, "again": 36, "change": 24, "end": 40}


@dataclass(frozen=True, slots=True)
class Thing:
    """A planted entity; the first spelling is its full name."""

    kind: str  # person, organisation, place, project
    spellings: tuple[str, ...]

    @property
    def name(self) -> str:
        """In full."""
        return self.spellings[0]


@dataclass(frozen=True, slots=True)
class PlantedFact:
    """Something that was told: from `start` to `end` (None: it still holds)."""

    id: int
    relation: str
    source: Thing
    target: Thing
    start: datetime
    end: datetime | None = None
    negates: int | None = None  # the fact that this one says is over


@dataclass(frozen=True, slots=True)
class Telling:
    """A sentence of an episode as a perfect reader writes it down."""

    fact: int
    text: str
    name: str
    source: str  # as spelled in the episode
    target: str
    valid_at: str


@dataclass(frozen=True, slots=True)
class Line:
    """A message with what it tells."""

    role: str
    content: str
    at: datetime
    tellings: tuple[Telling, ...]

    @property
    def body(self) -> str:
        """As an episode."""
        return f"{self.role}(user): {self.content}"

    @property
    def at_ms(self) -> int:
        """When it was said, in milliseconds since the epoch."""
        return int(self.at.timestamp() * 1_000)


@dataclass(slots=True)
class Corpus:
    """The lines in the order of time, and the truth behind them."""

    lines: list[Line] = field(default_factory=list)
    facts: dict[int, PlantedFact] = field(default_factory=dict)
    things: dict[str, Thing] = field(default_factory=dict)  # by normalised spelling
    fact_of: dict[str, int] = field(default_factory=dict)  # by normalised text

    def thing(self, name: str) -> Thing | None:
        """What a name stands for."""
        return self.things.get(_plain(name))

    def told(self, text: str) -> PlantedFact | None:
        """What a fact's text says."""
        known = self.fact_of.get(_plain(text))
        return None if known is None else self.facts[known]

    def conflict(self, one: PlantedFact, other: PlantedFact) -> bool:
        """Whether the two cannot hold at the same time."""
        if one.id in (other.negates, other.id) or one.negates == other.id:
            return one.id != other.id
        functional = RELATIONS[one.relation].kind == "functional"
        slot = (one.relation, one.source, one.negates)
        return functional and slot == (other.relation, other.source, other.negates)

    def names(self, line: Line) -> dict[Thing, str]:
        """What a line names, the speaker first, each by its fullest name there."""
        found: dict[Thing, str] = {}
        for name in (line.role, *(name for t in line.tellings for name in (t.source, t.target))):
            thing = self.things[_plain(name)]
            found[thing] = min(found.get(thing, name), name, key=thing.spellings.index)
        return found

    @property
    def named(self) -> set[Thing]:
        """The things that some line names."""
        return {thing for line in self.lines for thing in self.names(line)}


Slot = tuple[str, Thing, Thing | None]  # relation, source, and target unless there can be one at a time
Chosen = tuple[PlantedFact, tuple[Wording, ...]]


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


class _World:
    """The course of events: each `sentence` moves it on by one."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        kinds = {"person": PEOPLE, "organisation": ORGANISATIONS, "place": PLACES, "project": PROJECTS}
        self.things = {kind: [Thing(kind, each) for each in given] for kind, given in kinds.items()}
        self.corpus = Corpus()
        for thing in (thing for each in self.things.values() for thing in each):
            for spelling in thing.spellings:
                assert self.corpus.things.setdefault(_plain(spelling), thing) is thing
        self.now = _START

    def line(self) -> Line:
        """The next message."""
        self.now += timedelta(hours=self.rng.randint(5, 60), minutes=self.rng.randint(0, 59))
        speaker = self.rng.choice(self.things["person"])
        role = self._spelled(speaker)
        said: list[tuple[str, Telling]] = []
        wanted = self.rng.choice((2, 3, 3, 4))
        while len(said) < wanted:
            slots = {self._slot(self.corpus.facts[telling.fact]) for _, telling in said}
            sentence = self._sentence(speaker, role, slots)
            if sentence is not None:
                said.append(sentence)
        return Line(role, " ".join(text for text, _ in said), self.now, tuple(telling for _, telling in said))

    def _sentence(self, speaker: Thing, role: str, used: set[Slot]) -> tuple[str, Telling] | None:
        """One about what no slot in `used` is about; None where the die found nothing to tell."""
        action = self.rng.choices(list(_ACTIONS), list(_ACTIONS.values()))[0]
        of_oneself = self.rng.random() < _OF_ONESELF
        relation = self.rng.choices(list(RELATIONS.values()), [r.often for r in RELATIONS.values()])[0]
        source = speaker if of_oneself else self.rng.choice(self.things[relation.source])
        if source.kind != relation.source:
            return None
        chosen = self._fact(action, relation, source, used)
        if chosen is None:
            return None
        fact, wordings = chosen
        return self._told(fact, self._wording(wordings), speaker, role)

    def _fact(self, action: str, relation: Relation, source: Thing, used: set[Slot]) -> Chosen | None:
        known = [f for f in self.corpus.facts.values() if f.relation == relation.key and f.source == source]
        holding = [f for f in known if f.end is None and f.negates is None and self._slot(f) not in used]
        if action == "again":
            return (self.rng.choice(holding), relation.first) if holding else None
        if action == "end":
            return self._over(relation, holding)
        if action == "change" and not (holding and relation.change):
            return None
        if action == "first" and relation.kind == "functional" and known:
            return None
        target = self._target(relation, source, known)
        if target is None or used & {(relation.key, source, target), (relation.key, source, None)}:
            return None
        for former in holding if action == "change" else ():
            self._close(former)
        wordings = relation.change if action == "change" else relation.first
        return self._planted(relation, source, target), wordings

    def _over(self, relation: Relation, holding: list[PlantedFact]) -> Chosen | None:
        if not (holding and relation.end):
            return None
        over = self.rng.choice(holding)
        self._close(over)
        return self._planted(relation, over.source, over.target, over.id), relation.end

    def _target(self, relation: Relation, source: Thing, known: list[PlantedFact]) -> Thing | None:
        """Something new: never what was told before of this source, nor a friendship the other way round."""
        taken = {f.target for f in known} | {source}
        taken |= {
            f.source for f in self.corpus.facts.values() if f.relation == relation.key and f.target == source
        }
        free = [thing for thing in self.things[relation.target] if thing not in taken]
        return self.rng.choice(free) if free else None

    def _slot(self, fact: PlantedFact) -> Slot:
        functional = RELATIONS[fact.relation].kind == "functional"
        return (fact.relation, fact.source, None if functional else fact.target)

    def _close(self, fact: PlantedFact) -> None:
        self.corpus.facts[fact.id] = replace(fact, end=self.now)

    def _planted(
        self, relation: Relation, source: Thing, target: Thing, negates: int | None = None
    ) -> PlantedFact:
        event = relation.kind == "event"
        start = self.now - timedelta(days=self.rng.randint(1, 20)) if event else self.now
        start = start.replace(hour=0, minute=0) if event else start
        fact = PlantedFact(len(self.corpus.facts), relation.key, source, target, start, None, negates)
        self.corpus.facts[fact.id] = fact
        return fact

    def _told(self, fact: PlantedFact, wording: Wording, speaker: Thing, role: str) -> tuple[str, Telling]:
        mine = fact.source is speaker and bool(wording.mine)
        spelled = {
            "s": role if mine else self._spelled(fact.source),
            "o": self._spelled(fact.target),
            "d": f"{fact.start.day} {fact.start:%B %Y}",
        }
        text = wording.theirs.format(**spelled)
        assert self.corpus.fact_of.setdefault(_plain(text), fact.id) == fact.id, text
        event = RELATIONS[fact.relation].kind == "event"
        valid_at = f"{fact.start:%Y-%m-%d}" if event else f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
        sentence = wording.mine.format(**spelled) if mine else text
        return sentence, Telling(fact.id, text, wording.name, spelled["s"], spelled["o"], valid_at)

    def _wording(self, wordings: tuple[Wording, ...]) -> Wording:
        usual = [w for w in wordings if w.name == wordings[0].name]
        return self.rng.choice(usual if self.rng.random() < _USUAL else wordings)

    def _spelled(self, thing: Thing) -> str:
        if self.rng.random() < _FULL_NAME:
            return thing.name
        return self.rng.choice(thing.spellings)


def corpus(count: int, seed: int = 7) -> Corpus:
    """`count` messages of two to four sentences."""
    world = _World(seed)
    world.corpus.lines.extend(world.line() for _ in range(count))
    assert len({line.body for line in world.corpus.lines}) == count, "a message is there twice"
    return world.corpus
