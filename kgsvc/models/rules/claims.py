"""What the clauses of one sentence claim: the rules that fit, checked, with tense, negation and times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.models.rules import english as en
from kgsvc.models.rules.marking import MarkedLine, is_mark
from kgsvc.models.rules.relations import RelationClaim, RelationRule, rules_for, screaming
from kgsvc.models.rules.scene import Drafted, NodeDraft, Scene
from kgsvc.models.rules.shaping import Shaped, is_of, several, shaped, type_of_kin
from kgsvc.models.rules.tenses import Tense, begins, begun, ended, gone, nearer, tense_of, told_at
from kgsvc.models.rules.text import listed, word_set
from kgsvc.models.rules.times import Time

# Before a claim: who says so is not sure, or says that others say so.
_UNSURE = listed("unsure", word_set)
_BEFORE = word_set(
    ", ; : . ! ? ( - – — … and but so because since that also then plus btw anyway ps meanwhile"
)
_BEFORE |= (
    {'"', "“"} | en.INTERJECTIONS | word_set("today now yesterday finally so well hello hi hey this morning")
)
BEHIND = en.PREPOSITIONS | listed("behind", word_set)
# Around a claim of a text that nobody speaks: somebody else says so, or a work or legend tells it.
_ELSEWHERE = word_set(
    "if unless according said says saying claimed claims told allegedly reportedly legend tradition myth film"
    " movie novel episode season play scene story series"
)
_QUOTES = ('"', "“", "”")
_GOVERNED = (";", ".", "!", ":", "(", "—", "–", "so", "but")  # what stands behind is no longer "I think that"
_LIKING = word_set("like love need want play prefer")
_STARTS = word_set("I we he she it they you i've there that my our and so")
_AGAIN = re.compile(r"\b(?:anymore|any more|any longer)\b")
_TOPICS = ("PLAYS", "ALLERGIC_TO", "LEARNS", "SPEAKS", "WORKS_AS")
_SAME = {  # one attribute in other words
    **dict.fromkeys(("e-mail", "email address", "e-mail address"), "email"),
    **dict.fromkeys(("date of birth", "birth date", "birthdate"), "birthday"),
    **{"telephone number": "phone number", "time zone": "timezone", "user name": "username"},
}
_GOING_ON = ("PLAYS", "LEARNS", "WORKS_AS")  # "I'm playing tennis" tells of more than now
_NO_THINGS = en.STOP | en.VAGUE | word_set("n't go see being back last game games ropes")
_JOINERS = frozenset({"and", "but", ","})


@dataclass(slots=True)
class FoundClause:
    """A clause that claims something: its marks `first`..`end`, and up to `after` what follows until the next
    one; the subject's own marks, none where it is left out; the statements."""

    first: int
    end: int
    after: int
    subject: tuple[int, int]
    who: NodeDraft
    drafted: list[Drafted]


class Claims:
    """Reads the claims of one line."""

    def __init__(self, line: MarkedLine, scene: Scene) -> None:
        self.line, self.scene = line, scene
        self.marks = line.text.split(" ")

    def found(self) -> list[FoundClause]:
        """The clauses that claim something, in order; each up to where the next begins."""
        taken: list[tuple[int, int, RelationRule, re.Match[str]]] = []
        for rule in rules_for(self.line.text):
            for match in rule.pattern.finditer(self.line.text):
                first, after = self.line.at(match.start()), self.line.at(match.end())
                if self._fits(rule, match, first, after):
                    taken.append((first, after, rule, match))
        taken.sort(key=lambda entry: (entry[0], entry[0] - entry[1]))
        found: list[FoundClause] = []
        for first, after, rule, match in taken:
            following = min((other for other, *_ in taken if other >= after), default=len(self.marks))
            told = self._told((first, after, following), rule, match, found)
            if told is not None:
                found.append(told)
        return self._sliced(found)

    def _sliced(self, found: list[FoundClause]) -> list[FoundClause]:
        found.sort(key=lambda each: each.first)
        ends = [*(following.first for following in found[1:]), len(self.marks)]
        for each, after in zip(found, ends, strict=False):
            each.after = max(each.end, self._without_joiner(after))
        for each in found[:1]:
            each.first = 0
        return found

    def _without_joiner(self, after: int) -> int:
        """Before the "and now" that leads to the clause behind it."""
        if after == len(self.marks):
            return after
        if self.marks[after - 1] in ("now", "then") and self.marks[after - 2] in _JOINERS:
            after -= 1
        while self.marks[after - 1] in _JOINERS:
            after -= 1
        return after

    def sure(self, offset: int, believed: int = 0) -> bool:
        """Whether nothing before a place of the line makes it unsure what is said there."""
        first = self.line.at(offset)
        start = max(believed, self._behind(_GOVERNED, first))
        return _UNSURE.isdisjoint(self.marks[start:first])

    def _plain(self, first: int, after: int) -> bool:
        """Whether a text that nobody speaks says so itself, not a quotation, a source or a work in it."""
        around = (*self.marks[self._behind(_GOVERNED, first) : first], *self.marks[after:])
        quoted = sum(mark in _QUOTES for mark in self.marks[:first]) % 2
        whole = self.marks[0] in _QUOTES and self.marks[-1] in _QUOTES  # a text that is one JSON string
        plain = _ELSEWHERE.isdisjoint(around) and (whole or not quoted)
        return plain or self.scene.speaker is not None

    # whether a match is to be believed

    def _fits(self, rule: RelationRule, match: re.Match[str], first: int, after: int) -> bool:
        before = self.marks[first - 1] if first else ""
        groups = match.groupdict()
        if groups.get("s") in ("my", "our", "the", "the project") or groups.get("attribute"):
            bound = True
        else:
            if before in ("the", "our"):
                before = self.marks[first - 2] if first > 1 else ""
            bound = not before or before in _BEFORE or is_mark(before, "T")
        if before == "and" and first > 1 and is_mark(self.marks[first - 2]) and "s" in groups and groups["s"]:
            lead = self.marks[first - 3] if first > 2 else ""  # "Tom and I lead"
            among = self.marks[first - 2].startswith("N") and (not lead or lead in _BEFORE or lead == "the")
            bound = bound and not among
        if before == "and" and groups.get("s") and self.scene.speaker is None:
            bound = bound and self.marks[first - 2] in (",", ";", ")")  # "Sherries, Ports and Madeiras went"
        if not bound:
            return False
        behind = self.marks[after] if after < len(self.marks) else ""
        name_last = bool(groups.get("o") or groups.get("p")) and is_mark(self.marks[after - 1])
        if name_last and behind and behind not in BEHIND and behind[:1] not in "TA":
            return False
        key = behind == "in" and any(len(mark) == 1 for mark in self.marks[after + 1 : after + 2])
        return behind != "or" and not key  # "the Mass in C"

    def _behind(self, marks: tuple[str, ...], at: int) -> int:
        """Where the part of the sentence begins that the last of `marks` before a place opens."""
        while at > 0 and self.marks[at - 1] not in marks:
            at -= 1
        return at

    # from a match to statements

    def _told(
        self,
        place: tuple[int, int, int],
        rule: RelationRule,
        match: re.Match[str],
        found: list[FoundClause],
    ) -> FoundClause | None:
        """The clause at the marks `place`: its first, the one behind it, the first of the next one."""
        first, after, following = place
        if any(first < each.after and each.first < after for each in found):
            return None
        believed = max((each.after for each in found), default=0)
        sure = self.sure(match.start(), believed) and self._plain(first, after) and _agrees(match)
        subject = self._subject(match, first, found) if sure else None
        if subject is None:
            return None
        who, named = subject
        drafted: list[Drafted] = []
        times, words = self._clause(first, after)
        # "I live in Oslo and joined Acme in May": what lasts has other times than what stands behind it.
        own, _words = self._clause(first, after, following)
        for claim in rule.claims:
            drafted.extend(self._drafted(claim, match, who, own if claim.how == "state" else times, words))
        return FoundClause(first, after, after, named, who, drafted) if drafted else None

    def _subject(
        self, match: re.Match[str], first: int, found: list[FoundClause]
    ) -> tuple[NodeDraft, tuple[int, int]] | None:
        """Who the claim is about, and the marks that name it."""
        groups = match.groupdict()
        text = groups.get("s")
        if text is None:  # "and joined Globex"; "Sold the car": the speaker
            liking = "np" in groups and groups.get("verb") in _LIKING
            if found and first and not liking:
                return found[-1].who, (first, first)
            verb = en.FORMS.get((groups.get("verb") or "").split(" ")[0])
            speaker = self.scene.speaker if first == 0 and verb is not None and verb.past else None
            return None if speaker is None else (speaker, (first, first))
        at = self.line.at(match.start("s"))
        before = found[-1].who if found else None
        same = text in ("he", "she") and before not in (self.scene.speaker, None)
        who = before if same else self._who(text)
        return None if who is None else (who, (at, at + len(text.split(" "))))

    def _who(self, text: str) -> NodeDraft | None:
        if text in ("", "I", "we", "my", "our", "the"):
            return self.scene.speaker or (self.scene.subject if text == "the" else None)
        if text == "the project":
            return self.scene.definite("Project")
        if text in ("he", "she"):
            return self.scene.antecedent(text)
        if text == "it" or text.startswith("the "):
            return self.scene.antecedent("it")
        words = text.split(" ")
        if is_mark(words[-1]):
            return self.line.name(words[-1])
        speaker = self.scene.speaker
        kin = None
        if speaker is not None:
            kin = self.scene.node(f"{speaker.name}'s {words[-1]}", type_of_kin(words[-1]))
        if kin is not None:
            self.scene.recall(kin)
        return kin

    def _clause(self, first: int, after: int, last: int | None = None) -> tuple[list[Time], str]:
        """The times that belong to a clause, from the mark before it to the next clause or to `last`;
        and its words."""
        start = self._behind((";", ".", "and", "but"), first)
        end = after
        while end < (len(self.marks) if last is None else last) and not self._opens(end):
            end += 1
        times = [self.line.time(mark) for mark in self.marks[start:end] if is_mark(mark, "T")]
        return times, self.line.words(start, end).lower()

    def _opens(self, at: int) -> bool:
        """Whether another clause begins at a mark."""
        following = self.marks[at + 1] if at + 1 < len(self.marks) else ""
        bound = self.marks[at] in (",", "and", "so", "because", "where", "who")
        hung = self.marks[at] in ("before", "after") and not is_mark(following, "T")
        return hung or (bound and following in _STARTS) or self.marks[at] in (";", ".", "but", "!", "(")

    def _drafted(
        self, claim: RelationClaim, match: re.Match[str], who: NodeDraft, times: list[Time], words: str
    ) -> Iterator[Drafted]:
        tense = tense_of(match)
        if tense.negated and not tense.over and _AGAIN.search(words):
            tense = replace(tense, over=True)
        if claim.how == "value":
            yield from self._value(claim, match, who, times, tense)
            return
        if claim.how == "told":
            yield self._attribute(match, who, times)
            return
        for target in self._targets(claim, match, who):
            if target is who:
                continue
            ends = (who, target) if claim.source == "s" else (target, who)
            told = shaped(claim, match, words, *ends, spoken=self.scene.speaker is not None)
            timed = told and self._timed(told, tense, times)
            if timed:
                yield timed

    def _targets(self, claim: RelationClaim, match: re.Match[str], who: NodeDraft) -> Iterator[NodeDraft]:
        group, groups = claim.target if claim.target != "s" else claim.source, match.groupdict()
        if group == "np":
            yield from self._things(match, claim.relation, who)
            return
        text = groups.get(group) or groups.get(f"{group}2") or ""
        more = several(groups)
        for word in (*text.split(" "), *more.split(" ")):
            draft = self.line.name(word) if is_mark(word, "N") else None
            if draft is not None:
                yield draft

    def _things(self, match: re.Match[str], relation: str, who: NodeDraft) -> Iterator[NodeDraft]:
        kind = "Requirement" if relation == "NEEDS" else "Preference"
        kind = "Topic" if relation in _TOPICS else kind
        first, second = match["np"], match.groupdict().get("np2")
        behind = match.string[match.end() :].lstrip()[:1]
        cut = behind.isalpha() or (behind == "," and " " in first)  # "going on trips", "mixing milk, eggs"
        if behind == "," and self.scene.speaker is None:
            return  # "plays the simple, humble man"
        doing = first.split(" ")[0].endswith("ing") and (second or cut)
        if self.scene.speaker is None and not is_of(who, "Person") and not is_mark(first, "N"):
            return  # "the board wants a larger role"
        if doing or not _NO_THINGS.isdisjoint(first.split(" ")):
            return
        listed = second and second not in _NO_THINGS and not second.endswith("ing")
        for group in ("np", "np2") if listed else ("np",):
            draft = self._thing(match[group], self.line.at(match.start(group)), kind)
            if draft is not None:
                yield draft

    def _thing(self, text: str, first: int, kind: str) -> NodeDraft | None:
        if is_mark(text, "N"):
            return self.line.name(text)
        return self.scene.node(self.line.words(first, first + len(text.split(" "))), kind)

    def _timed(self, claimed: Shaped, tense: Tense, times: list[Time]) -> Drafted | None:
        """The statement in its time; None where the words claim nothing for sure."""
        claim, source, target = claimed
        draft, now = Drafted(claim.relation, claim.kind, source, target), self.scene.reference_ms
        state, taste = claim.how == "state", claim.target == "np"
        passing = tense.name in ("past", "future")
        passing = passing or (tense.name == "ongoing" and claim.relation not in _GOING_ON)
        if tense.name == "bare" or (taste and state and passing and not tense.over):
            return None
        if claim.how == "end" or tense.stops:
            return None if claim.how != "state" and tense.stops else ended(draft, tense, times, now)
        if tense.over:
            again = taste and not {"but", "again"}.isdisjoint(self.marks)
            over = draft._replace(polarity=Polarity.ENDS, valid_ms=told_at(times, now))
            return over if state and not again else None
        event = claim.kind is FactKind.EVENT
        if tense.negated:
            denied = state and not event and tense.name in ("present", "ongoing")
            return draft._replace(polarity=Polarity.DENIES) if denied else None
        if event and claim.relation != "RENAMED_TO":
            told = tense.name in ("past", "perfect") or claim.source != "s"
            return draft._replace(valid_ms=told_at(times, now)) if told else None
        return begun(draft, tense, times, now, state)

    def _attribute(self, match: re.Match[str], who: NodeDraft, times: list[Time]) -> Drafted:
        """What somebody has one of: to the thing that its value names, if it names one alone."""
        value, behind = match["value"].split(" ")[-1], match.string[match.end() :].strip()
        alone = is_mark(value, "N") and behind[:1] in ("", ".", ",", "!", ";")
        named = self.line.name(value) if alone else None
        when = None if is_mark(value, "T") else begins(times, self.scene.reference_ms, gone)
        valid_ms = self.scene.reference_ms if when is None else when
        attribute = match["attribute"].replace("favourite", "favorite").replace("colour", "color")
        relation = screaming(f"HAS_{_SAME.get(attribute, attribute)}")
        return Drafted(relation, FactKind.FUNCTIONAL, who, named or who, valid_ms=valid_ms)

    def _value(
        self, claim: RelationClaim, match: re.Match[str], who: NodeDraft, times: list[Time], tense: Tense
    ) -> Iterator[Drafted]:
        value, groups = match["value"], match.groupdict()
        if tense.negated or tense.over or (self.scene.speaker is None and not self._is_value(match)):
            return
        others = [name for name in self.line.names if name is not None and name is not who]
        spoken = self.scene.speaker is not None and claim.relation != "VALUE"
        target = others[0] if others and spoken else who
        relation = claim.relation
        if relation == "VALUE":
            attribute = groups.get("attribute") or f"{groups['thing']}_price"
            what = [word for word in attribute.split(" ") if word not in ("date", "day")]
            if not what or what[-1] in _NO_THINGS or (groups.get("past") and not groups.get("changed")):
                return
            relation = "HAS_DEADLINE" if what[-1] == "due" else screaming(f"HAS_{what[-1]}")
        time = self.line.time(value) if value[0] == "T" else None
        if time is not None and time.begin_ms is None:
            return
        when_told = [each for each in times if each is not time and relation != "HAS_BIRTHDAY"]
        moved = en.FORMS.get((groups.get("moved") or "is").split(" ")[0])
        before = groups.get("past") or (moved is not None and moved.past)
        now = self.scene.reference_ms
        if tense.name == "past" and claim.relation != "VALUE":
            yield Drafted(relation, FactKind.EVENT, who, target, valid_ms=told_at(when_told, now))
            return
        when = begins(when_told, now, gone if before else nearer)
        yield Drafted(relation, claim.kind, who, target, valid_ms=now if when is None else when)

    def _is_value(self, match: re.Match[str]) -> bool:
        """Whether what a text says of an attribute is its value: not so "a guide to Python on XP: 7 minutes"
        and "increased 50 per cent"."""
        groups = match.groupdict()
        what = self.line.at(match.start("attribute")) if groups.get("attribute") else 0
        value = self.line.at(match.start("value"))
        grown = groups.get("changed") or groups.get("moved")
        share = self.line.words(value, value + 1).endswith(("%", "cent", "percent"))
        by = share and self.marks[value - 1] != "to" and bool(grown)
        some = self.marks[: self.line.at(match.start())][-1:] == ["of"]  # "eight of its outlets"
        return not (by or some) and (not what or self.line.words(what, what + 1).islower())


def _agrees(match: re.Match[str]) -> bool:
    """Whether verb and subject may belong together: not so in "the group head Han", "Ann's work for Acme"."""
    groups = match.groupdict()
    if groups.get("verb") == "'s" and groups.get("prep") and not groups.get("article"):
        return False  # "Acme's founder and author of"
    form = en.FORMS.get(groups.get("verb") or "")
    if (
        form is None
        or not form.base
        or form.past
        or groups.get("s") in (None, "I", "we", "they", "my", "our")
    ):
        return True
    last = groups["s"].split(" ")[-1]
    if last in en.KIN and (last.endswith("s") or last == "children"):  # "my parents live in Bergen"
        return True
    aux = set((groups.get("aux") or "").split(" "))
    return not aux.isdisjoint(("do", "does", "did", "will", "'ll", "wo", "to"))
