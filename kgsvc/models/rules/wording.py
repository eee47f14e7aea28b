"""Claims in other words: in the third person, and with the date that their speaker meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kgsvc.models.rules.claims import FoundClause
from kgsvc.models.rules.english import FORMS, third_person
from kgsvc.models.rules.marking import MarkedLine
from kgsvc.models.rules.scene import Scene, Told
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.times import find_times

_ALONE = word_set("I me my mine myself we us our ours you your yours")
_PRONOUNS = _ALONE | word_set("he she it they him her them his their its this that these those there")
_BETWEEN = word_set("still also now just then always never really often")
_BARE = word_set("do am 'm have 've are 're were")
_SHOWN = {"'m": "is", "am": "is", "have": "has", "'ve": "has", "do": "does", "'ll": "will", "'re": "is"}


def restated(line: MarkedLine, each: FoundClause, scene: Scene) -> str:
    """The clause in the third person, where only its subject need change for that; else ""."""
    marks = line.text.split(" ")
    first, after = each.first, each.after
    while first < after and marks[first] in (",", "and", "but", "so", "then"):
        first += 1
    at, behind = each.subject
    if at > first and _PRONOUNS.isdisjoint(marks[first:after]) and each.who.name in line.words(first, after):
        return line.words(first, after)
    if at != first or not _ALONE.isdisjoint(marks[behind:after]):
        return ""
    if marks[at:behind] != marks[at : at + 1] or marks[at][0] != "N":
        later = marks[behind + 2 : after]
        if not _BARE.isdisjoint(later) or any(_goes_on(later, n) for n in range(len(later))):
            return ""
    return _with_subject(line, each, scene, marks, (first, after))


def _with_subject(
    line: MarkedLine, each: FoundClause, scene: Scene, marks: list[str], extent: tuple[int, int]
) -> str:
    (at, behind), (first, after) = each.subject, extent
    subject = marks[at:behind]
    rest = line.words(behind, after)
    text = ""
    if not subject and (form := FORMS.get(marks[first])):  # elided
        verb = line.words(first, first + 1)
        shown = third_person(marks[first]) if form.base and not form.past else f"{verb[:1].lower()}{verb[1:]}"
        text = f"{each.who.name} {shown}{line.sentence[line.ends[first] : line.ends[after - 1]]}"
    elif subject == ["I"]:
        text = _third_person(line, each.who.name, marks, behind, after)
    elif subject in (["he"], ["she"]):
        space = " " if line.starts[behind] > line.ends[at] else ""  # none in "he's"
        text = f"{each.who.name}{space}{rest}"
    elif subject == [marks[first]] and subject[0][0] == "N":
        text = line.words(first, after)
    elif subject[:1] == ["my"] and subject[-1][0] != "N" and scene.speaker is not None:
        text = f"{scene.speaker.name}'s {line.words(at + 1, after)}"
    return text


def _goes_on(marks: list[str], at: int) -> bool:
    """ "… and work at": a second verb that would have to agree too."""
    if marks[at] not in ("and", "&", "but", ","):
        return False
    at += 1
    while at < len(marks) and marks[at] in _BETWEEN:
        at += 1
    form = FORMS.get(marks[at]) if at < len(marks) else None
    return form is not None and form.base and not form.past


def _third_person(line: MarkedLine, name: str, marks: list[str], behind: int, after: int) -> str:
    at = behind
    while at < after and (
        marks[at].endswith("ly") or marks[at] in ("now", "also", "still", "just", "no", "longer")
    ):
        at += 1
    if at >= after:
        return ""
    form = FORMS.get(marks[at])
    if marks[at] in _SHOWN:
        verb = _SHOWN[marks[at]]
    elif form is not None and form.base and not form.past:
        verb = third_person(marks[at])
    else:
        verb = line.words(at, at + 1)
    middle = line.words(behind, at)
    tail = line.sentence[line.ends[at] : line.ends[after - 1]]
    return f"{name} {middle + ' ' if middle else ''}{verb}{tail}"


# "wait, I meant 9 July" gives what the same speaker told right before its other date, if that was one value.
_CUE = r"(?:(?:oh|ah|oops|sorry|wait|no|correction|actually|hang on|my mistake|scratch that|[,:.!-]) )*"
_MEANT = re.compile(rf"{_CUE}I meant (?:(?:it|that|'s|is|was|on) )*(?P<new>T\d+)(?= [.,;!-]|$)")


def redated(line: MarkedLine, scene: Scene, before: Callable[[], Sequence[Told]]) -> Iterator[Told]:
    """The value with its other date, where a sentence gives one; `before` tells what was claimed."""
    meant = _MEANT.match(line.text)
    told = before() if meant is not None else ()
    if meant is None or len(told) != 1 or not told[0][0].relation.startswith("HAS_"):
        return
    draft, words = told[0]
    source, target = (scene.node(each.name, each.type) for each in (draft.source, draft.target))
    dates, time = find_times(words, scene.reference_ms), line.time(meant["new"])
    if len(dates) == 1 and source is not None and target is not None:
        said = line.sentence[time.start : time.end].removeprefix("on ")
        was = words[dates[0].start : dates[0].end]
        new = words.replace(was, f"on {said}" if was.startswith("on ") else said)
        yield draft._replace(source=source, target=target, valid_ms=scene.reference_ms), new
