"""A clause in the third person, where only its subject need change for that and the English stays right."""

from __future__ import annotations

from kgsvc.models.rules.claims import Found
from kgsvc.models.rules.marking import Line
from kgsvc.models.rules.scene import Scene
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.verbs import FORMS, third_person

_ALONE = word_set("I me my mine myself we us our ours you your yours")
_PRONOUNS = _ALONE | word_set("he she it they him her them his their its this that these those there")
_BETWEEN = word_set("still also now just then always never really often")
_BARE = word_set("do am 'm have 've are 're were")
_SHOWN = {"'m": "is", "am": "is", "have": "has", "'ve": "has", "do": "does", "'ll": "will", "'re": "is"}


def restated(line: Line, each: Found, scene: Scene) -> str:
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


def _with_subject(line: Line, each: Found, scene: Scene, marks: list[str], extent: tuple[int, int]) -> str:
    (at, behind), (first, after) = each.subject, extent
    subject = marks[at:behind]
    rest = line.words(behind, after)
    text = ""
    if not subject and FORMS.get(marks[first]):  # elided
        text = f"{each.who.name} {rest[:1].lower()}{rest[1:]}"
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


def _third_person(line: Line, name: str, marks: list[str], behind: int, after: int) -> str:
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
