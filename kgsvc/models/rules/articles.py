"""What a text says of its subject the way an encyclopaedia does: who made a work and plays in it, when and
where somebody was born and died, whose child they are, where something lies. Such a sentence states several
things at once, around any title and any aside: each becomes a short sentence beside the words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.claims import BEHIND
from kgsvc.models.rules.days import make_day, ms_of
from kgsvc.models.rules.english import KIN, ORGANISATION_WORDS, PLACE_WORDS, ROLES, WORK_WORDS
from kgsvc.models.rules.marking import Line, is_mark
from kgsvc.models.rules.relations import screaming
from kgsvc.models.rules.scene import Drafted, NodeDraft, Scene, Told
from kgsvc.models.rules.text import word_set

_MADE = {
    **{"directed": "DIRECTED", "co-directed": "DIRECTED", "written": "WROTE", "co-written": "WROTE"},
    **{"composed": "COMPOSED", "produced": "PRODUCED", "co-produced": "PRODUCED", "created": "CREATED"},
    **{"published": "PUBLISHED", "released": "RELEASED", "founded": "FOUNDED", "designed": "DESIGNED"},
}
_VERB = rf"(?:{'|'.join(_MADE)})"
_PEOPLE = r"(?P<people>N\d+(?: , N\d+){0,9}(?:(?: ,)? (?:and|&) N\d+)?)(?![^ ])"
_MAKERS = re.compile(
    rf"(?<![^ ])(?P<verbs>{_VERB}(?: (?:, )?(?:(?:and|&) )?{_VERB}){{0,3}}) "
    rf"(?:in T\d+ )?by (?:the )?(?:(?:{'|'.join(ROLES)}) )?{_PEOPLE}"
)
_STARS = re.compile(rf"(?<![^ ])(?P<verbs>starring|stars) {_PEOPLE}")
_WORKS = WORK_WORDS | word_set("thriller documentary drama comedy sitcom musical comic miniseries")
_SOURCES = word_set("films novels books plays story sequel remake based adapted adaptation script")
_WORK_HEAD = r"the (?:film|movie|book|novel|song|album|series|play)"
_HEAD = re.compile(rf'(?:" )?(?P<name>N\d+|it|he|she|{_WORK_HEAD})(?: ")?(?![^ ]| -)')
_IS = re.compile(r"(?<![^ ])(?P<verb>is|was) (?=(?:an?|the|one) )")
_ASIDES = ("(", ",", "-", "or")  # with which what stands between a name and "is" begins
_OTHERS = word_set("who whose which that where 's but")
_BRACKET = re.compile(r"\( ([^()]{1,300}) \)")
_BORN = re.compile(
    r"(?<![^ ])born (?:N\d+ [;,] |in N\d+(?: , N\d+)* )?(?:on |in |, )?(T\d+|\d{4})(?![^ ]| or)"
)
_BORN_IN = re.compile(r"(?<![^ ])born (?:on |in )?(?:T\d+|\d{4}) (?:, )?in (N\d+)(?![^ ])")
_LIVED = re.compile(r"(?:^|; )(?:(T\d+|\d{4})|c \. \S+) [–-] (?:(T\d+|\d{4})|c \. \S+)$")
_DASH = re.compile(r" ?[–-] ?")
_NOUN_ENDS = re.compile(r" (?:by|of|about|in|on|with|starring|written|directed) ")
_DIED = re.compile(r" died (?:on |in )?(T\d+)(?![^ ])")
_CHILD = re.compile(
    rf"(?:the|an?|one) (?:[a-z-]+ ){{0,3}}?(?P<role>{'|'.join(KIN)}) "
    r"of (?P<people>N\d+(?: and N\d+)?)(?![^ ])"
)
_NO_ROLE = word_set(
    "who whose which that where known best of from in for at with during born . ; ( – active noted by on to"
    " starring written directed produced based"
)
_OF_THINGS_TOO = word_set(
    "client agent driver manager editor host guide member lead head model contact partner"
)
_SITES = ORGANISATION_WORDS | PLACE_WORDS | word_set("located village hamlet municipality commune situated")
_LIES = re.compile(rf"(?<![^ ])(?:{'|'.join(_SITES)}) in (N\d+)(?![^ ])")


def told_of(line: Line, scene: Scene) -> Iterator[Told]:
    """The facts of a sentence about one subject, each with a short sentence that says it."""
    head = _HEAD.match(line.text)
    who, end = (_subject(head["name"], line, scene), head.end()) if head else (None, 0)
    subject = scene.subject
    if subject is not None and scene.sentence == 1 and who is not subject:
        opens = line.sentence.startswith(subject.name.split()[0])
        who, end = (subject, 0) if opens else (who, end)
    if who is not None:
        yield from _Sentence(line, who, end).told()


def _subject(text: str, line: Line, scene: Scene) -> NodeDraft | None:
    if text[0] == "N":
        return line.name(text)
    if text in ("he", "she") and scene.subject is not None:
        return scene.subject if scene.subject.type in ("Person", "Entity") else None
    return scene.antecedent(text if text in ("he", "she") else "it")


class _Sentence:
    """A sentence, whom or what it is about, and what it says that this is: where "is a" ends in `text`."""

    def __init__(self, line: Line, who: NodeDraft, end: int) -> None:
        self.line, self.text, self.who, self.end = line, line.text, who, end
        found = _IS.search(self.text, end)
        gap = self.text[end : found.start()].split() if found else []
        clear = _OTHERS.isdisjoint(gap) and (not gap or gap[0] in _ASIDES or not end)
        self.verb, self.defined = (found["verb"], found.end()) if found and clear else ("", 0)

    def told(self) -> Iterator[Told]:
        """All that it says."""
        role = self._role() if self.defined else ""
        self.name = f"The {role} {self.who.name}" if role else self.who.name
        child = _CHILD.match(self.text, self.defined) if self.defined else None
        if role or child:
            self.who.type = "Person"
        kin = child["role"] if child else ""
        for name in self._people(child) if child else ():
            draft = Drafted(screaming(f"HAS_{kin}"), FactKind.STATE, name, self.who)
            yield draft, f"{name.name}'s {kin} {self.verb} {self.who.name}."
        person = bool(role or child) or (self.who.type == "Person" and not self._work())
        yield from self._life(person)
        if not person:
            yield from self._made()
            lies = _LIES.search(self.text, self.defined) if self.verb == "is" else None
            place = self.line.name(lies[1]) if lies else None
            if place is not None and place is not self.who:
                draft = Drafted("LOCATED_IN", FactKind.FUNCTIONAL, self.who, place)
                yield draft, f"{self.who.name} is in {place.name}."

    def _work(self) -> bool:
        """Whether it says that this is a film, a novel …, whatever the name looks like."""
        noun = _NOUN_ENDS.split(self.text[self.defined :], maxsplit=1)[0]
        return bool(self.defined) and not _WORKS.isdisjoint(noun.split(" "))

    def _role(self) -> str:
        """ "German film director and writer": what somebody is, up to the last word for it."""
        marks = self.text[self.defined :].split(" ")
        ends = (n for n, mark in enumerate(marks) if mark in _NO_ROLE and marks[n - 1] != "-")
        stop = next(ends, len(marks))
        if marks[stop : stop + 1] == ["of"]:  # "an actor and founder of X"
            stop = max((n for n in range(stop) if marks[n] in (",", "and")), default=0)
        roles = [n for n in range(1, stop) if marks[n] in ROLES]
        person = self.who.type == "Person" or any(marks[n] not in _OF_THINGS_TOO for n in roles)
        last = roles[-1] if roles and person else 0
        if not last or marks[0] not in ("a", "an") or any(is_mark(m, "T") for m in marks[:last]):
            return ""
        first = self.line.at(self.defined)
        return self.line.words(first + 1, first + last + 1)

    def _life(self, person: bool) -> Iterator[Told]:
        """What stands in brackets behind a name, "was born" and "died"."""
        aside = _BRACKET.search(self.text, self.end, self.defined or self.end + 300)
        inside = aside[1] if aside and (self.defined or aside.start() == self.end + 1) else ""
        if not inside and self.text.startswith(" was born", self.end):
            inside = self.text[self.end :].split(" and ")[0]
        if is_mark(inside, "T"):
            inside = _DASH.sub(" – ", self._words(inside))  # "1912–1999"
        born, lived, place = _BORN.search(inside), _LIVED.search(inside), _BORN_IN.search(inside)
        died = _DIED.match(self.text, self.end)
        if born or (lived and lived[1] and person):
            yield self._dated("BORN_ON", "was born", born[1] if born else str(lived and lived[1]))
        if place and (target := self.line.name(place[1])):
            draft = Drafted("BORN_IN", FactKind.FUNCTIONAL, self.who, target)
            yield draft, f"{self.name} was born in {target.name}."
        if (lived and lived[2] and (person or born)) or (died and person):
            yield self._dated("DIED_ON", "died", died[1] if died else str(lived and lived[2]))

    def _words(self, mark: str) -> str:
        time = self.line.time(mark)
        return self.line.sentence[time.start : time.end]

    def _dated(self, relation: str, verb: str, mark: str) -> Told:
        """A birth or death at a time, or in a year that is no mark."""
        day = make_day(int(mark)) if mark.isdigit() else None
        begin = self.line.time(mark).begin_ms if not mark.isdigit() else day and ms_of(day)
        words = mark if mark.isdigit() else self._words(mark).removeprefix("on ").removeprefix("in ")
        joint = "on" if re.search(r"\b\d{1,2}(?:st|nd|rd|th)?\b", words) else "in"
        draft = Drafted(relation, FactKind.EVENT, self.who, self.who, valid_ms=begin)
        return draft, f"{self.name} {verb} {joint} {words}."

    def _made(self) -> Iterator[Told]:
        kind = next((mark for mark in self.text[self.defined :].split(" ") if mark in WORK_WORDS), "")
        thing = f"The {kind} {self.who.name}" if kind and self.defined else self.who.name
        for match in filter(self._is_its_own, _MAKERS.finditer(self.text, self.end)):
            for name in self._people(match):
                for verb in filter(_MADE.get, match["verbs"].split()):
                    draft = Drafted(_MADE[verb], FactKind.EVENT, name, self.who)
                    yield draft, f"{thing} was {verb} by {name.name}."
        for match in filter(self._is_its_own, _STARS.finditer(self.text, self.end)):
            for name in self._people(match):
                draft = Drafted("STARS_IN", FactKind.EVENT, name, self.who)
                yield draft, f"{name.name} stars in {self.who.name}."

    def _is_its_own(self, match: re.Match[str]) -> bool:
        """Whether it is the sentence's subject that was made, not another thing that it names."""
        before = self.text[self.defined or self.end : match.start()].split()
        pairs = itertools.pairwise([*before, ""])
        works = [
            mark for mark, behind in pairs if (mark in _WORKS and behind not in _WORKS) or mark in _SOURCES
        ]
        if not self.defined:
            return before in (["was"], ["is"], []) or (
                before[0] == "was" and before[-1] == "and" and not works
            )
        known = self.who.type == "Work" or (works and works[0] in _WORKS) or match["verbs"] == "founded"
        if known and works:
            self.who.type = "Work"
        return bool(known) and (before[-1:] == ["and"] or len(works) < 2)

    def _people(self, match: re.Match[str]) -> Iterator[NodeDraft]:
        marks = [mark for mark in match["people"].split(" ") if is_mark(mark)]
        behind = self.text[match.end("people") + 1 :].split(" ", 1)[0]
        if behind and behind not in BEHIND and behind[0] not in "TA":
            marks.pop()  # more of the name than is known
        for mark in marks:
            draft = self.line.name(mark)
            if draft is not None and draft is not self.who and draft.name not in ("Jr", "Sr"):
                yield draft
