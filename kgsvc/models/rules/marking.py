"""A sentence as the patterns see it: one mark for each name, time, amount and word.

"Bob left Acme last Friday, he's been at $5." becomes "N0 left N1 T0 , he 's been at A0 ." Names, times and
amounts are numbered; other words stand in lower case, so that capitals are marks only (and "I").
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kgsvc.models.rules.english import KIN, type_of
from kgsvc.models.rules.names import Name, find_names
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.text import Word, words_of
from kgsvc.models.rules.times import Time, find_times
from kgsvc.models.rules.usage import NameUsage

_NUMBER = r"\d{1,12}(?:[.,]\d{1,12}){0,4}(?:\ ?(?:k|m|bn|million|billion|thousand)\b)?"
AMOUNT = re.compile(
    rf"(?i)(?:[$£€¥]|\b(?:US\$|USD|EUR|GBP|CHF)\ ?)\ ?{_NUMBER}"
    rf"|\b{_NUMBER}\ ?(?:€|£|%|(?:euros?|dollars?|pounds?|yen|francs?|percent|per\ cent|EUR|USD|GBP|CHF)\b)"
)
_MARK = re.compile(r"[NTA]\d+")


@dataclass(slots=True)
class MarkedLine:
    """The marks of a sentence, joined by spaces in `text`; each with where it stands in the sentence."""

    sentence: str
    text: str
    starts: list[int]  # of each mark, in the sentence
    ends: list[int]
    offsets: list[int]  # of each mark, in `text`
    names: list[NodeDraft | None]
    times: list[Time]
    amounts: list[str]

    def at(self, offset: int) -> int:
        """The mark that stands at or behind an offset of `text`."""
        return bisect_left(self.offsets, offset)

    def name(self, mark: str) -> NodeDraft | None:
        """What a mark such as "N0" names; None where that found no room."""
        return self.names[int(mark[1:])]

    def time(self, mark: str) -> Time:
        """The time that a mark such as "T0" stands for."""
        return self.times[int(mark[1:])]

    def words(self, first: int, after: int) -> str:
        """The sentence's own words at the marks `first`..`after`."""
        if first >= after:
            return ""
        return self.sentence[self.starts[first] : self.ends[after - 1]]


def mark(
    sentence: str, scene: Scene, known: Collection[str], usage: NameUsage, titles: Sequence[str]
) -> MarkedLine:
    """The line of a sentence; its names become nodes of the scene."""
    words = words_of(sentence)
    names = {
        name.first: name for name in find_names(sentence, words, known, usage, titles, scene.speaker is None)
    }
    times = find_times(sentence, scene.reference_ms)
    amounts = list(AMOUNT.finditer(sentence)) if any(c.isdigit() for c in sentence) else []
    spans = [(time.start, time.end, f"T{n}") for n, time in enumerate(times)]
    spans += [
        (match.start(), match.end(), f"A{n}")
        for n, match in enumerate(amounts)
        if not any(time.start < match.end() and match.start() < time.end for time in times)
    ]
    line = MarkedLine(sentence, "", [], [], [], [], times, [match[0] for match in amounts])
    _fill(line, words, names, sorted(spans), scene)
    return line


def _fill(
    line: MarkedLine,
    words: Sequence[Word],
    names: dict[int, Name],
    spans: list[tuple[int, int, str]],
    scene: Scene,
) -> None:
    marks: list[str] = []
    at, offset, span = 0, 0, 0
    while at < len(words):
        word = words[at]
        while span < len(spans) and spans[span][1] <= word.start:
            span += 1
        inside = span < len(spans) and spans[span][0] <= word.start < spans[span][1]
        name = names.get(at)
        if inside:
            start, end, text = spans[span]
            after = at + 1
            while after < len(words) and words[after].start < end:
                after += 1
        elif name is not None:
            after = name.after
            start, end = word.start, words[after - 1].end
            text = f"N{len(line.names)}"
            line.names.append(_named(scene, words, at, name))
        else:
            after, start, end = at + 1, word.start, word.end
            text = "I" if word.low == "i" else word.low
        marks.append(text)
        line.starts.append(start)
        line.ends.append(end)
        line.offsets.append(offset)
        offset += len(text) + 1
        at = after
    line.text = " ".join(marks)


def _named(scene: Scene, words: Sequence[Word], at: int, name: Name) -> NodeDraft | None:
    before = words[at - 1].low if at else ""
    kind = "Person" if before in KIN else type_of(name.text, name.quoted, before)
    return scene.named(name.text, kind)


def is_mark(text: str, kinds: str = "NTA") -> bool:
    """Whether a mark stands for a name, time or amount."""
    return text[:1] in kinds and _MARK.fullmatch(text) is not None
