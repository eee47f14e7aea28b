"""Which words of episodes are put before a language model: short episodes whole, of long ones what fits.

A long answer or a chat that is one text holds much that has nothing to do with a question. It is taken apart
into passages, its lines or some sentences each; those with the question's words come before the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.domain.model.graph import Episode, RoleType, Source
from kgsvc.domain.text import idf, tokens
from kgsvc.domain.wrapping import unwrapped
from kgsvc.search.query import Term

WHOLE_CHARS = 500  # an episode up to this size is told whole or not at all
PASSAGE_CHARS = 250  # about, where lines are longer
SHORT_CHARS = 120  # lines are put together up to this size
_EARLY = 2  # how slowly episodes count less by rank, the first ones least
_NEXT_TO = 0.4  # of a passage's score that the ones before and behind it get: answers repeat few words,
_ANSWERS = 1.0  # least of all those behind a question
_ASKING = re.compile(r"[?？]")
_UNMATCHED = 0.05  # of its episode's relevance, for a passage without any of the question's words
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_PIECES = re.compile(r".{1,500}(?:(?=\s)|(?<=[,;}\]、])|$)|.{1,500}")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class SpokenEpisode:
    """An episode taken apart, as it was said but for line breaks, which are spaces."""

    episode: Episode
    speaker: str  # in front of the first passage; "": nobody
    passages: tuple[str, ...]
    title: str = ""  # of the document that it is a chunk of

    def text(self, which: Sequence[int]) -> str:
        """The speaker, or the title unless the first passage has it, and the passages named, ascending; `…`
        where some are left out."""
        parts = [self.speaker] if self.speaker else []
        if self.title and which and self.title not in self.passages[which[0]]:
            parts.append(f"{self.title}:")
        for at, place in enumerate(which):
            if place != (which[at - 1] + 1 if at else 0):
                parts.append("…")
            parts.append(self.passages[place])
        if which and which[-1] + 1 < len(self.passages):
            parts.append("…")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Choice:
    """A passage by its episode's place and its own."""

    episode: int
    passage: int


def taken_apart(episode: Episode) -> SpokenEpisode:
    """The passages of an episode."""
    body, speaker = episode.body, ""
    if episode.source is Source.MESSAGE and episode.role_type is not None:
        role = f"{episode.role or ''}({episode.role_type.value}):"
        if body.startswith(role):
            speaker, body = _speaker(episode), body[len(role) :]
    title = _line(episode.name or "") if episode.source is Source.DOCUMENT else ""
    whole = len(body) <= WHOLE_CHARS
    return SpokenEpisode(episode, _line(speaker), (_line(body),) if whole else tuple(_passages(body)), title)


def _speaker(episode: Episode) -> str:
    """Users speak by their names; of others it is told what they are."""
    kind = "" if episode.role_type in (None, RoleType.USER) else f" ({episode.role_type})"
    return f"{episode.role or 'user'}{kind}:"


def ranked(told: Sequence[SpokenEpisode], terms: Sequence[Term]) -> list[Choice]:
    """All passages, the best first. Episodes come best first."""
    scores = iter(_scores([passage for each in told for passage in each.passages], terms))
    choices: list[tuple[float, int, int]] = []
    for place, each in enumerate(told):
        own = _with_neighbours([next(scores) for _ in each.passages], each.passages)
        best = max(own, default=0.0) or 1.0
        relevance = 1 / (_EARLY + place)
        for at, score in enumerate(own):
            share = 1.0 if len(own) == 1 else max(score / best, _UNMATCHED / (1 + at))
            choices.append((-relevance * share, place, at))
    return [Choice(place, at) for _, place, at in sorted(choices)]


def _scores(passages: Sequence[str], terms: Sequence[Term]) -> list[float]:
    """How passages fit by words; what many of them hold counts little."""
    wanted = {term.text: term.weight for term in terms}
    counts = [Counter(each for each in tokens(passage) if each in wanted) for passage in passages]
    holding = Counter(term for each in counts for term in each)
    worth = {term: wanted[term] * idf(n, len(passages)) for term, n in holding.items()}
    return [sum(worth[term] * count / (count + 1) for term, count in each.items()) for each in counts]


def _with_neighbours(scores: Sequence[float], passages: Sequence[str]) -> list[float]:
    lent = [_ANSWERS if _ASKING.search(passage) else _NEXT_TO for passage in passages]
    before = [0.0, *(score * share for score, share in zip(scores, lent, strict=True))]
    behind = [*(_NEXT_TO * score for score in scores[1:]), 0.0]
    return [score + max(around) for score, *around in zip(scores, before, behind, strict=False)]


def _passages(body: str) -> list[str]:
    """Lines, short ones together; of long ones some sentences each; of long sentences pieces."""
    found: list[str] = []
    room = 0  # in the last one
    for line in unwrapped(body).splitlines():
        room = min(room, SHORT_CHARS - len(found[-1])) if found else 0
        for part in (piece for sentence in _SENTENCES.split(line) for piece in _pieces(_line(sentence))):
            if len(part) < room:
                found[-1] = f"{found[-1]} {part}"
            else:
                found.append(part)
            room = PASSAGE_CHARS - len(found[-1])
    return found


def _pieces(sentence: str) -> list[str]:
    """A sentence, cut between words or behind a comma where it is too long to be one passage."""
    return [piece.strip() for piece in _PIECES.findall(sentence)]


def _line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()
