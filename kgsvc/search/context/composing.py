"""A text for a language model to answer from: what was said, verbatim, and what is known beside that.

Passages of the episodes that bear on the question come first, with speaker and time; then facts with their
validity, entities and communities, as far as they say more. An entry is one line, so that no text can pass
for a heading.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.facts.slots import SUPERSEDED
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact, Polarity
from kgsvc.domain.names.meanings import UNSPECIFIC
from kgsvc.domain.text import tokens
from kgsvc.search.context.lines import END_CHARS, MARK, ContextLine, Talk
from kgsvc.search.context.passages import ranked, taken_apart
from kgsvc.search.query import FUNCTION_WORDS, Term

TOKEN_CHARS = 4  # a token is counted as this many characters
# What facts, entities and communities may take before passages take what is left; the rest is for passages.
_FACTS, _ENTITIES, _COMMUNITIES = 0.15, 0.1, 0.1
_SAME = 0.7  # of a text's words, where others that have them say it already
_FEW_CHARS = 100
_LOOKED_AT = 4  # times the room: so much of the best episodes is read
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_QUESTION_MARKS = ("?", "？")
_MIDNIGHT = "T00:00:00Z"
_DAY_MS = 86_400_000
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_NEGATED = re.compile(r"(?i)\b(?:not?|never|neither|cannot|without)\b|n['’]t\b|ない|ません|なく|ず")
Said = Mapping[tuple[str, str], str]  # what is told of episodes, by uuid and group


@dataclass(frozen=True, slots=True)
class Material:
    """What a context is made of, each the best first."""

    facts: Sequence[Fact] = ()
    entities: Sequence[Entity] = ()  # that were asked for
    communities: Sequence[Community] = ()
    episodes: Sequence[Episode] = ()
    ends: Sequence[Entity] = ()  # of facts: told of where the question names them and they add something
    terms: Sequence[Term] = ()  # of the question
    known_at_ms: int | None = None  # facts are told as they were known then


class _Section:
    """Lines under a heading, and which of them are taken."""

    def __init__(self, heading: str, lines: Iterable[ContextLine], mark_chars: int) -> None:
        self._heading = heading
        self._lines = _each_once(lines)
        self._around_chars = mark_chars + END_CHARS
        self._taken: set[int] = set()

    def take(self, room: int) -> int:
        """Take more lines, each if it still fits into `room`; the characters they need."""
        used = 0
        for at, line in enumerate(self._lines):
            cost = len(line.text) + self._around_chars
            cost += 0 if self._taken else len(self._heading) + END_CHARS
            if at not in self._taken and used + cost <= room:
                self._taken.add(at)
                used += cost
        return used

    @property
    def complete(self) -> bool:
        """Whether nothing is left out."""
        return len(self._taken) == len(self._lines)

    def lines(self) -> list[ContextLine]:
        """The lines that were taken, in their order, under the heading."""
        taken = [self._lines[at] for at in sorted(self._taken)]
        return [ContextLine(self._heading), *taken] if taken else []


def _each_once(lines: Iterable[ContextLine]) -> list[ContextLine]:
    """Of lines with one text the first."""
    by_text: dict[str, ContextLine] = {}
    for line in lines:
        by_text.setdefault(line.text, line)
    return list(by_text.values())


def composed_lines(material: Material, chars: int, mark_chars: int = len(MARK)) -> list[ContextLine]:
    """A context of at most `chars` characters, where before each line that is no heading stand
    `mark_chars`. What does not fit is left out; what is shorter may be in."""
    read = [taken_apart(each) for each in _read(material.episodes, _LOOKED_AT * chars)]
    choices = ranked(read, material.terms)
    whole = Talk(read, mark_chars)
    whole.take(choices, chars + 1)
    if whole.holds(choices):
        sections = _sections(material, whole.said(), mark_chars)
        lines = _joined(whole, sections, chars + 1 - whole.chars)
        if all(section.complete for section in sections):
            return lines
    talk = Talk(read, mark_chars)
    talk.take(choices, int((chars + 1) * (1 - _shares(material))))
    talk.take(choices, _left(talk, _sections(material, talk.said(), mark_chars), chars))
    sections = _sections(material, talk.said(), mark_chars)  # anew: what was taken since needs no other line
    return _joined(talk, sections, _left(talk, sections, chars))


def _left(talk: Talk, sections: Iterable[_Section], chars: int) -> int:
    """The room that is left when the sections have taken their shares of what the passages leave."""
    left = chars + 1 - talk.chars
    for section, share in zip(sections, (_FACTS, _ENTITIES, _COMMUNITIES), strict=True):
        left -= section.take(min(left, int((chars + 1) * share)))
    return left


def _shares(material: Material) -> float:
    """What may be taken by others than passages."""
    named = bool(material.entities or material.ends)
    return _FACTS * bool(material.facts) + _ENTITIES * named + _COMMUNITIES * bool(material.communities)


def _sections(material: Material, said: Said, mark_chars: int) -> tuple[_Section, ...]:
    """What is known beside what is said."""
    words = [_words(text) for text in said.values()]
    return (
        _Section("# Facts", _facts(material, said), mark_chars),
        _Section("# Entities", _entities(material, words), mark_chars),
        _Section("# Communities", map(_community, material.communities), mark_chars),
    )


def _joined(talk: Talk, sections: Iterable[_Section], left: int) -> list[ContextLine]:
    """All that was taken, and of the sections what still fits into `left`."""
    lines = talk.lines()
    for section in sections:
        left -= section.take(left)
        lines += section.lines()
    return lines


def _read(episodes: Iterable[Episode], chars: int) -> Iterator[Episode]:
    """The first that have so many characters; bodies may be long."""
    for episode in episodes:
        if chars <= 0:
            return
        yield episode
        chars -= len(episode.body)


# -- facts ---------------------------------------------------------------------------------------------


def _facts(material: Material, said: Said) -> Iterator[ContextLine]:
    """What the passages do not say already. What ends in a question tells nothing."""
    for each in material.facts:
        fact = as_known_at(each, material.known_at_ms)
        if not _told(fact, said) and not fact.fact.rstrip().endswith(_QUESTION_MARKS):
            text = f"{_words_of(fact)} ({_validity(fact, fact.invalid_ms)}{_withdrawn(fact)})"
            yield ContextLine(text, fact)


def _told(fact: Fact, said: Said) -> bool:
    """Whether a passage of its own episodes has its words. Then an end says more, and a start on another day
    (`yesterday`) if the words are few."""
    texts = [said[uuid, fact.group_id] for uuid in fact.episodes if (uuid, fact.group_id) in said]
    dated = fact.valid_ms is not None and fact.valid_ms // _DAY_MS != fact.reference_ms // _DAY_MS
    ended = fact.invalid_ms is not None or fact.expired_ms is not None
    if ended or (dated and len(fact.fact) <= _FEW_CHARS):
        return False
    return _covered(_words(fact.fact), map(_words, texts))


def _words_of(fact: Fact) -> str:
    """What is denied never reads as if it were so."""
    denied = fact.polarity is Polarity.DENIES and not _NEGATED.search(fact.fact)
    return f"Not so: {_line(fact.fact)}" if denied else _line(fact.fact)


def _withdrawn(fact: Fact) -> str:
    if fact.expired_ms is None or fact.expired_reason in (None, SUPERSEDED):
        return ""
    return f"; withdrawn {_time(fact.expired_ms)}"


def _validity(fact: Fact, end_ms: int | None) -> str:
    if fact.valid_ms is not None:
        return _since(fact.valid_ms, end_ms)
    return f"stated {_time(fact.reference_ms)}" if end_ms is None else f"until {_end(end_ms)}"


def _since(start_ms: int, end_ms: int | None) -> str:
    start = _time(start_ms)
    if end_ms is None:
        return f"since {start}"
    end = _end(end_ms)
    return f"on {start}" if start == end else f"{start} to {end}"


# -- entities ------------------------------------------------------------------------------------------


def _entities(material: Material, said: Sequence[Collection[str]]) -> Iterator[ContextLine]:
    """Entities that were asked for, and those that the question names, with what is told nowhere else."""
    asked = {term.text for term in material.terms}
    for entity in material.entities:
        yield _entity(entity, _news(entity.summary, said))
    for entity in material.ends:
        news = _news(entity.summary, said)
        if news and set(tokens(entity.name)) & (asked - FUNCTION_WORDS):
            yield _entity(entity, news)


def _news(summary: str, said: Sequence[Collection[str]]) -> str:
    sentences = (_line(each) for each in _SENTENCES.split(summary))
    return " ".join(each for each in sentences if each and not _covered(_words(each), said))


def _entity(entity: Entity, summary: str) -> ContextLine:
    types = [label for label in entity.labels if label not in UNSPECIFIC]
    name = f"{entity.name} ({', '.join(types)})" if types else entity.name
    return ContextLine(_named(name, summary), entity)


def _community(community: Community) -> ContextLine:
    return ContextLine(_named(community.name, community.summary), community)


def _named(name: str, summary: str) -> str:
    return f"{_line(name)}: {_line(summary)}" if summary else _line(name)


# -- words and times -----------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(tokens(text)) - FUNCTION_WORDS


def _covered(words: Collection[str], texts: Iterable[Collection[str]]) -> bool:
    """Whether one of the texts has nearly all of these words."""
    return any(sum(word in text for word in words) >= _SAME * len(words) for text in texts)


def _line(text: str) -> str:
    return " ".join(text.split())


def _end(ms: int) -> str:
    """What holds until a day is stored with its last millisecond."""
    return _time(ms + 1 - _DAY_MS if (ms + 1) % _DAY_MS == 0 else ms)


def _time(ms: int) -> str:
    """A day, or a time of it to the second, in UTC."""
    moment = _EPOCH + timedelta(seconds=ms // 1_000)
    return moment.isoformat().replace("+00:00", "Z").removesuffix(_MIDNIGHT)
