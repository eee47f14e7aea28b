"""What a text says of its subject the way an encyclopaedia does: who made a work and who plays in it, when and
where somebody was born and died, whose child they are, what they do, where something lies. Such a sentence
states several things at once, around any title and any aside: each becomes a short sentence beside the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.claims import BEHIND, Drafted
from kgsvc.models.rules.lexicon import KIN, ORGANISATION_WORDS, PLACE_WORDS, ROLES, WORK_WORDS
from kgsvc.models.rules.marking import Line, is_mark
from kgsvc.models.rules.relations import screaming
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.times import make_day, ms_of

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
_WORKS = WORK_WORDS | word_set("films novels books plays musical comic sitcom sequel remake based adapted")
_WORK_HEAD = r"the (?:film|movie|book|novel|song|album|series|play)"
_HEAD = re.compile(rf'(?:" )?(?P<name>N\d+|it|he|she|{_WORK_HEAD})(?: ")?(?![^ ])')
_IS = re.compile(r"(?<![^ ])(?P<verb>is|was) (?=(?:an?|the|one) )")
_ASIDES = ("(", ",", "-", "or")  # with which what stands between a name and "is" begins
_OTHERS = word_set("who whose which that where 's but")
_BRACKET = re.compile(r"\( ([^()]{1,300}) \)")
_BORN = re.compile(r"(?<![^ ])born (?:N\d+ [;,] |in N\d+(?: , N\d+)* )?(?:on |in |, )?(T\d+)(?![^ ])")
_BORN_IN = re.compile(r"(?<![^ ])born (?:on |in )?T\d+ (?:, )?in (N\d+)(?![^ ])")
_LIVED = re.compile(r"(?:^|; )(?:(T\d+)|(?:c \. )?\d+) [–-] (?:(T\d+)|\d+)$")
_YEARS = re.compile(r"(\d{4}) ?[–-] ?(\d{4})")
_DIED = re.compile(r" died (?:on |in )?(T\d+)(?![^ ])")
_CHILD = re.compile(
    rf"(?:the|an?|one) (?:[a-z-]+ ){{0,3}}?(?P<role>{'|'.join(KIN)}) of {_PEOPLE.replace('{0,9}', '{0,1}')}"
)
_NO_ROLE = word_set(
    "who whose which that where known best of from in for at with during born . ; ( – active noted"
)
_SITES = ORGANISATION_WORDS | PLACE_WORDS | word_set("located village hamlet municipality commune situated")
_LIES = re.compile(rf"(?<![^ ])(?:{'|'.join(_SITES)}) in (N\d+)(?![^ ])")

Told = tuple[Drafted, str]


def told_of(line: Line, scene: Scene) -> Iterator[Told]:
    """The facts of a sentence about one subject, each with a short sentence that says it."""
    head = _HEAD.match(line.text)
    who, end = (_subject(head["name"], line, scene), head.end()) if head else (None, 0)
    subject = scene.subject
    if subject is not None and scene.sentence == 1 and who is not subject:
        opens = line.sentence.startswith(subject.name.split()[0])
        who, end = (subject, 0) if opens else (None, 0)
    if who is not None:
        yield from _Sentence(line, who, end).told()


def _subject(text: str, line: Line, scene: Scene) -> NodeDraft | None:
    if text[0] == "N":
        return line.names[int(text[1:])]
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
        if role:
            self.who.specify("Person")
            kind = FactKind.STATE if self.verb == "is" else FactKind.EVENT
            yield Drafted("HAS_OCCUPATION", kind, self.who, self.who), f"{self.who.name} {self.verb} {role}."
        child = _CHILD.match(self.text, self.defined) if self.defined else None
        if child:
            relation = screaming(f"HAS_{child['role']}")
            for name in self._people(child):
                yield (
                    Drafted(relation, FactKind.STATE, name, self.who),
                    f"{name.name}'s {child['role']} {self.verb} {self.who.name}.",
                )
        person = bool(role or child) or self.who.type == "Person"
        yield from self._life(person)
        if not person:
            yield from self._made()
            lies = _LIES.search(self.text, self.defined) if self.verb == "is" else None
            place = self.line.names[int(lies[1][1:])] if lies else None
            if place is not None and place is not self.who:
                draft = Drafted("LOCATED_IN", FactKind.FUNCTIONAL, self.who, place)
                yield draft, f"{self.who.name} is in {place.name}."

    def _role(self) -> str:
        """ "a German film director and writer": what somebody is, up to the last word for it."""
        marks = self.text[self.defined :].split(" ")
        stop = next((n for n, mark in enumerate(marks) if mark in _NO_ROLE), len(marks))
        if marks[stop : stop + 1] == ["of"]:  # "an actor and founder of X"
            stop = max((n for n in range(stop) if marks[n] in (",", "and")), default=0)
        last = next((n for n in range(stop - 1, -1, -1) if marks[n] in ROLES), -1)
        if (
            last < 0
            or marks[0] not in ("a", "an")
            or any(mark[0] == "T" and is_mark(mark) for mark in marks[:last])
        ):
            return ""
        first = self.line.at(self.defined)
        return self.line.words(first, first + last + 1)

    def _life(self, person: bool) -> Iterator[Told]:
        aside = _BRACKET.search(self.text, self.end, self.defined or self.end + 300)
        inside = aside[1] if aside and (self.defined or aside.start() == self.end + 1) else ""
        if not inside and self.text.startswith(" was born", self.end):
            inside = self.text[self.end :].split(" and ")[0]
        born, lived, years = _BORN.search(inside), _LIVED.search(inside), None
        place, died = _BORN_IN.search(inside), _DIED.match(self.text, self.end)
        if born:
            yield from self._dated("BORN_ON", "was born", born[1])
        elif lived and lived[1] and person:
            yield from self._dated("BORN_ON", "was born", lived[1])
        elif person and is_mark(inside) and inside[0] == "T":
            years = _YEARS.fullmatch(self._words(inside))
        if place and (target := self.line.names[int(place[1][1:])]):
            draft = Drafted("BORN_IN", FactKind.FUNCTIONAL, self.who, target)
            yield draft, f"{self.who.name} was born in {target.name}."
        if lived and lived[2] and (person or born):
            yield from self._dated("DIED_ON", "died", lived[2])
        if died and person:
            yield from self._dated("DIED_ON", "died", died[1])
        for year, name, verb in (
            zip(years.groups(), ("BORN_ON", "DIED_ON"), ("was born", "died")) if years else ()
        ):
            day = make_day(int(year))
            draft = Drafted(name, FactKind.EVENT, self.who, self.who)
            yield draft._replace(valid_ms=ms_of(day) if day else None), f"{self.who.name} {verb} in {year}."

    def _words(self, mark: str) -> str:
        time = self.line.times[int(mark[1:])]
        return self.line.sentence[time.start : time.end]

    def _dated(self, relation: str, verb: str, mark: str) -> Iterator[Told]:
        time, words = self.line.times[int(mark[1:])], self._words(mark)
        words = re.sub(r"^(?:on|in) ", "", words)
        joint = "on" if re.search(r"\b\d{1,2}\b", words) else "in"
        draft = Drafted(relation, FactKind.EVENT, self.who, self.who, valid_ms=time.begin_ms)
        yield draft, f"{self.who.name} {verb} {joint} {words}."

    def _made(self) -> Iterator[Told]:
        for match in (*_MAKERS.finditer(self.text, self.end), *_STARS.finditer(self.text, self.end)):
            if not self._is_its_own(match):
                continue
            for name in self._people(match):
                for verb in (each for each in match["verbs"].split() if each in _MADE):
                    draft = Drafted(_MADE[verb], FactKind.EVENT, name, self.who)
                    yield draft, f"{self.who.name} was {verb} by {name.name}."
                if match["verbs"][0] == "s":
                    yield (
                        Drafted("STARS_IN", FactKind.EVENT, name, self.who),
                        f"{name.name} stars in {self.who.name}.",
                    )

    def _is_its_own(self, match: re.Match[str]) -> bool:
        """Whether it is the sentence's subject that was made, not another thing that it names."""
        before = self.text[self.defined or self.end : match.start()].split()
        works = [mark for mark in before if mark in _WORKS]
        if not self.defined:
            return (
                match["verbs"] == "stars"
                and not before
                or before in (["was"], ["is"])
                or ("was" in before and before[-1] in ("and", "was") and not works)
            )
        known = self.who.type == "Work" or (works and works[0] in WORK_WORDS) or match["verbs"] == "founded"
        if known and works:
            self.who.specify("Work")
        return bool(known) and (before[-1] == "and" or len(works) < 2)

    def _people(self, match: re.Match[str]) -> Iterator[NodeDraft]:
        marks = [mark for mark in match["people"].split(" ") if is_mark(mark)]
        behind = self.text[match.end("people") + 1 :].split(" ", 1)[0]
        if behind and behind not in BEHIND and behind[0] not in "TA":
            marks.pop()  # more of the name than is known
        for mark in marks:
            draft = self.line.names[int(mark[1:])]
            if draft is not None and draft is not self.who:
                yield draft
