"""What a text says of its subject the way an encyclopaedia does: who made a work and plays in it, when and
where somebody was born and died. Each becomes a short sentence beside the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.claims import BEHIND
from kgsvc.models.rules.days import make_day, ms_of
from kgsvc.models.rules.english import ROLES, WORK_WORDS
from kgsvc.models.rules.marking import Line, is_mark
from kgsvc.models.rules.scene import Drafted, NodeDraft, Scene, Told

_MADE = {"directed": "DIRECTED", "written": "WROTE", "composed": "COMPOSED", "produced": "PRODUCED"}
_MADE |= {"co-directed": "DIRECTED", "co-written": "WROTE", "co-produced": "PRODUCED"}
_MADE |= {"founded": "FOUNDED", "starring": "STARS_IN"}
_VERBS = "|".join(_MADE)
_PEOPLE = r"(?P<people>N\d+(?: , N\d+){0,9}(?:(?: ,)? (?:and|&) N\d+)?)(?![^ ])"
_MAKERS = re.compile(
    rf"(?<![^ ])(?P<verbs>(?:{_VERBS})(?: (?:, )?(?:(?:and|&) )?(?:{_VERBS})){{0,3}}) "
    rf"(?:in T\d+ )?(?:by )?{_PEOPLE}"
)
_OTHER = re.compile(r" (?:of|about|story|sequel|remake|based|adapted|adaptation|novel by|for|from)(?![^ ])")
_HEAD = re.compile(r"(?:N\d+|it|he|she|the (?:film|book|novel|song|album|series))(?![^ ])")
_IS = re.compile(r"(?<![^ ])(?:is|was) (?=(?:an?|the|one) )")
_BRACKET = re.compile(r"\( ([^()]{1,300}) \)")
_BORN = re.compile(r"(?<![^ ])born (?:N\d+ [;,] )?(?:on |in )?(T\d+|\d{4})(?![^ ]| or)")
_BORN_IN = re.compile(r"(?<![^ ])born (?:(?:on |in )?(?:T\d+|\d{4}) (?:, )?)?in (N\d+)(?![^ ])")
_LIVED = re.compile(r"(?:^|; )(T\d+|\d{4}) [–-] (T\d+|\d{4})$")
_DIED = re.compile(r" died (?:on |in )?(T\d+)(?![^ ])")


def told_of(line: Line, scene: Scene) -> Iterator[Told]:
    """The facts of a sentence about the text's subject, each with a short sentence that says it."""
    text, head = line.text, _HEAD.match(line.text)
    who = scene.subject
    if who is None or not line.sentence.startswith(who.name.split()[0]):
        who = who if head is None or head[0][0] != "N" else line.name(head[0])
        who = None if head is None else who
    if who is None or scene.speaker is not None:
        return
    found = _IS.search(text)
    start = found.end() if found else 0
    before = text[: found.start()] if found else text
    marks = re.split(r" (?:by|of|in|on|with|who|that|about|best|known|,) ", text[start:], maxsplit=1)[
        0
    ].split(" ")
    kind = next((mark for mark in marks if mark in WORK_WORDS), "") if found else ""
    role = max((n for n, mark in enumerate(marks) if mark in ROLES), default=0) if found else 0
    if who.type != "Work" and (who.type == "Person" or role):
        who.type = "Person"
        first = line.at(start)
        is_ = f"The {line.words(first + 1, first + role + 1)} {who.name}" if role else who.name
        yield from _life(line, who, before, is_)
    elif who.type == "Work" or kind:
        who.type = "Work"
        yield from _made(line, who, start, f"The {kind} {who.name}" if kind else who.name)
    else:
        yield from _made(line, who, start, who.name, ("founded",))


def _made(
    line: Line, who: NodeDraft, start: int, is_: str, verbs: tuple[str, ...] = tuple(_MADE)
) -> Iterator[Told]:
    for match in _MAKERS.finditer(line.text, start):
        if _OTHER.search(line.text, start, match.start()):
            return
        for name in _people(line, match):
            for verb in match["verbs"].split():
                if verb in verbs:
                    said = "has" if verb == "starring" else f"was {verb} by"
                    yield _event(_MADE[verb], name, who, None, f"{is_} {said} {name.name}.")


def _life(line: Line, who: NodeDraft, before: str, is_: str) -> Iterator[Told]:
    """What stands in brackets behind a name, "was born" and "died"."""
    aside = _BRACKET.search(before)
    inside = aside[1] if aside else line.text if " born " in line.text[:80] else ""
    born, lived, died = _BORN.search(inside), _LIVED.search(inside), _DIED.search(line.text[:40])
    if begun := born or lived:
        yield _dated(line, who, "BORN_ON", f"{is_} was born", begun[1])
    if ended := (lived and lived[2]) or (died and died[1]):
        yield _dated(line, who, "DIED_ON", f"{is_} died", ended)
    place = _BORN_IN.search(inside)
    target = line.name(place[1]) if place else None
    if target is not None:
        draft = Drafted("BORN_IN", FactKind.FUNCTIONAL, who, target)
        yield draft, f"{is_} was born in {target.name}."


def _dated(line: Line, who: NodeDraft, relation: str, begun: str, mark: str) -> Told:
    """A birth or death at a time, or in a year that is no mark."""
    time = None if mark.isdigit() else line.time(mark)
    day = make_day(int(mark)) if time is None else None
    words = (
        mark if time is None else line.sentence[time.start : time.end].removeprefix("on ").removeprefix("in ")
    )
    joint = "on" if re.search(r"\b\d{1,2}\b", words) else "in"
    begin = time.begin_ms if time is not None else day and ms_of(day)
    return _event(relation, who, who, begin, f"{begun} {joint} {words}.")


def _event(relation: str, source: NodeDraft, target: NodeDraft, when: int | None, words: str) -> Told:
    return Drafted(relation, FactKind.EVENT, source, target, valid_ms=when), words


def _people(line: Line, match: re.Match[str]) -> Iterator[NodeDraft]:
    marks = [mark for mark in match["people"].split(" ") if is_mark(mark)]
    behind = match.string[match.end("people") + 1 :].split(" ", 1)[0]
    if behind and behind not in BEHIND and behind[0] not in "TA":
        marks.pop()  # more of the name than is known
    for draft in map(line.name, marks):
        if draft is not None and draft.name not in ("Jr", "Sr"):
            yield draft
