"""The relations that the rules claim, and the patterns that a clause must fit to claim one.

Few and strong: a clause that fits none states no relation, its words are kept anyway. A row of the table is
`NAME kind [source types>target types]: phrases [| begins: phrases] [| ends: phrases]`. Before types, "!"
means none of them and "=" these alone, nothing of unknown type. A phrase is a verb in base form and what
stands before the name: "work at"; "be" with a participle is the passive. Phrases of `begins` assert the
relation in the past tense too ("moved to"), those of `ends` end it. "<" in front: the relation goes from the
name behind the verb to its subject ("TechCorp hired Dana" is WORKS_AT from Dana).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.english import FORMS, KIN, ROLES

_ROWS = """
WORKS_AT functional Person>Organization: work at; work for; be employed at; be employed by
    | begins: start at; be hired by; < hire
    | ends: resign from; quit; finish at; retire from; be fired from; quit my job at
MEMBER_OF state Person/Organization: be a member of; belong to
    | begins: join; rejoin | ends: leave; pull out of
REPORTS_TO functional Person>Person: report to
LIVES_IN functional Person>Location: live in; reside in
    | begins: move to; move into; move back to; relocate to; settle in; move into a flat in
    | ends: move out of; move away from
LOCATED_IN functional !Person>Location: be based in; be located in; be headquartered in
STAYS_IN state Person>Location: stay in
BORN_IN functional Person>Location: be born in
LED_BY functional Project/Organization/Event>Person: < lead; < head; < be in charge of
    | begins: < take over | ends: < hand over; < step down from
LED_BY functional =Project/Organization/Event>Person: < run; < manage
OWNS state Person/Organization: own | begins: buy | ends: sell
MARRIED_TO functional Person>Person: be married to | begins: marry; get married to | ends: divorce
ENGAGED_TO functional Person>Person: be engaged to | begins: get engaged to
USES state >!Person/Location/Event: use | begins: switch to | ends: stop using
ACQUIRED event Organization>Organization: acquire
FOUNDED event Person>!Person/Location: found
MET event Person>Person: meet; meet with
VISITED event Person>!Person: visit
VISITED event Person>=Location/Event: go to; travel to; fly to
DIRECTED event Person>=Work: direct
WROTE event Person>=Work: write
"""
_ADVERBS = (
    "part-time full-time now also still currently already just finally actually really only both always"
    " recently officially"
)
# Adverbs that leave an assertion what it is; "nearly" and "allegedly" do not.
_UNPLAIN = (
    "usual near hard bare alleged supposed reported apparent probab possib presumab purported potential"
)
_LY = rf"(?!{_UNPLAIN.replace(' ', '|')})[a-z]{{2,12}}ly"
_ADV = rf"(?:(?:{_ADVERBS.replace(' ', '|')}|{_LY}) )*"
_AUX = (
    r"(?P<aux>(?:(?:am|'m|is|'s|are|'re|was|were|be|been|have|'ve|has|had|do|does|did|will|'ll|wo|not|n't|never"
    rf"|no longer|used to|going to|{_ADVERBS.replace(' ', '|')}|{_LY}) ){{0,6}})"
)
_BE = r"(?P<verb>am|'m|is|'s|are|'re|was|were|been|be)"
_NOT = rf"(?P<after>(?:(?:not|n't|no longer|{_ADVERBS.replace(' ', '|')}) ){{0,3}})"


def alternatives(words: Iterable[str]) -> str:
    """A pattern of any of the words."""
    return "|".join(sorted(words, key=len, reverse=True))


_KIN = alternatives(KIN)
_SUBJECT = rf"(?P<s>I|we|he|she|N\d+|(?:my|our) (?:[a-z]{{3,10}} )?(?:{_KIN})(?: N\d+)?)"
_ASIDE = r"(?: ,(?: [^ ,.;]+){1,8} ,)?"
_ELIDED = r"(?:(?<=and )|(?<=, )|(?<=but )|(?<=then )|^)"
_START = rf"(?:{_SUBJECT} |{_ELIDED})"
_OBJECT = r"(?:the |our |my |a |an |that )?(?:project |team )?(?P<o>N\d+)"
_OBJECT += r"(?P<more>(?: , N\d+){0,5}(?:(?: ,)? and N\d+)?)"
# "the former head of", "a vice president of": somebody else is head or president.
_LESS = "former late then future acting vice deputy assistant associate honorary onetime founding"
_LESS = f"and the {_LESS}".replace(" ", " |")
_ROLE = rf"(?P<role>(?:(?!{_LESS} )[a-z][a-z-]{{1,14}} ){{0,3}}(?:{alternatives(ROLES)}))"
_THING = (
    r"(?:drinking |eating |having )?(?:the )?(?P<np>(?:[a-z][a-z-]+|N\d+)(?: (?:[a-z][a-z-]+|N\d+)){0,2}?)"
)
_AND_THING = r"(?: and (?P<np2>[a-z][a-z-]+))?"
_STOPS = r"(?= [.,;!)…]| but| and (?!N)| in\b| on\b| at\b| since| T\d| anymore| any more| now| most|$)"
# "I love the vibe" tells no taste: it is about something here.
_ANY = _THING.replace("(?:the )?", "(?:a |an )?")
# How a value is told, and told anew: "is $5", "was raised from $5 to $6", "slipped to 7 July".
_CHANGED = (
    "raised lowered moved changed extended increased reduced cut dropped pushed postponed delayed brought set"
    " put rose fell went slipped grew climbed goes moves rises slips changes drops"
)
_CHANGING = rf"(?P<changed>{_CHANGED.replace(' ', '|')})"
_CHANGES = rf"{_CHANGING}(?: up| down| back| forward)?(?: from(?: A\d+| \d[\d.,]*| T\d+(?= to))?)?(?: to)?"
_BECOMES = (
    r"(?:(?:(?P<past>was|were)|is|are|will be|has been|have been|:)"
    rf"(?: now)?(?: {_CHANGES}| to)?"
    rf"|{_CHANGES.replace('<changed>', '<moved>')})"
)
_VALUE = r"(?:on |in |for |at |about |around |by )?(?P<value>[TA]\d+|\d[\d.,]*)"
_OWNED = "budget|rent|price|salary|fee|cost|deadline|due date"  # "our budget is $5": the speaker's


@dataclass(frozen=True, slots=True)
class RelationClaim:
    """What a rule claims: between which groups of its match; how: state, begin, end or value."""

    relation: str
    kind: FactKind
    source: str
    target: str
    how: str = "state"
    types: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class RelationRule:
    """A pattern over lines (marking.py) and what it claims. A line without a trigger cannot fit."""

    pattern: re.Pattern[str]
    claims: tuple[RelationClaim, ...]


_Row = tuple[
    str, list[str], tuple[RelationClaim, ...]
]  # a pattern, words one of which it needs, what it claims


def _forms(lemma: str) -> list[str]:
    return [word for word, form in FORMS.items() if form.lemma == lemma and not word.endswith("in")]


def _acting(verb: str) -> tuple[str, list[str]]:
    """The pattern of a verb with its auxiliaries, and its forms."""
    forms = _forms(verb)
    return rf"{_AUX}(?P<verb>{alternatives(forms)}) ", forms


def _phrase(words: str) -> tuple[str, list[str]]:
    """The pattern of a phrase of the table, and the words one of which it needs."""
    verb, _, rest = words.partition(" ")
    rest = f"{rest} " if rest else ""
    start = rf"(?:{_SUBJECT}{_ASIDE} |{_ELIDED})"
    if verb == "be":
        return rf"{start}{_AUX}{_BE} {_NOT}(?:{_ADV}){rest}{_OBJECT}", [rest.split()[0]]
    acting, forms = _acting(verb)
    if rest == "over ":  # "took Project Atlas over"
        between = _OBJECT.replace("<o>", "<o2>").replace("<more>", "<more2>")
        return rf"{_START}{acting}(?:over {_OBJECT}|{between} over)", forms
    return rf"{start}{acting}{_ADV}{rest}{_OBJECT}", forms


def _table() -> Iterator[_Row]:
    rows = re.sub(r"\n {2,}", " ", _ROWS).strip().splitlines()
    for row in rows:
        head, _, phrases = row.partition(": ")
        name, kind, *ends = head.split()
        source, _, target = (ends[0] if ends else ">").partition(">")
        for number, part in enumerate(re.split(r" \| (?=begins|ends)", phrases)):
            how, _, listed = part.partition(": ") if number else ("state", "", part)
            for words in listed.split("; "):
                turned = words.startswith("< ")
                pattern, triggers = _phrase(words.removeprefix("< "))
                pair = ("o", "s") if turned else ("s", "o")
                claim = RelationClaim(name, FactKind(kind), *pair, how.removesuffix("s"), (source, target))
                yield pattern, triggers, (claim,)


# What does not fit a row of phrases: what is claimed, from and to which groups; the words one of which it
# needs, after "=" verbs, whose forms VERB stands for; the pattern with its parts by name, in capitals. The
# order counts: what was understood by one pattern is left alone by those behind it.
_CLAUSES = r"""
LIVES_IN functional s>o end Person>Location & LIVES_IN functional s>p begin Person>Location
    (=move relocate): START VERB TWO
USES state s>o end >!Person/Location/Event & USES state s>p begin >!Person/Location/Event (=switch):
    START VERB TWO
WORKS_AT functional s>o begin Person>Organization (join joins joined):
    START(?P<verb>join|joins|joined|joining) OBJECT as
WORKS_AT functional s>o state Person>Organization (at with): SUBJECT AUX BE (?:at|with) OBJECT(?= since| T\d)
WORKS_AT functional s>o end Person>Organization (last):
    (?P<s>my) last day at OBJECT (?P<verb>is|was|will be)
ROLE functional s>o (of at for on with in):
    SUBJECT AUX BE NOT (?P<article>the |our |a |an )?ROLE (?P<prep>of|at|for|on|with|in) OBJECT
ROLE functional s>o (of at for on):
    (?P<article>the |our )ROLE (?P<prep>of|at|for|on) (?:the )?(?P<o>N\d+) AUX BE NOT (?P<s>N\d+)
HAS functional s>o (my our): (?P<s>my|our) (?:[a-z]+ )?(?P<role>KIN|ROLES|name) AUX BE NOT (?P<o>N\d+)
HAS functional s>o (my our): (?P<o>N\d+) AUX BE NOT (?P<s>my|our) (?:[a-z]+ )?(?P<role>KIN|ROLES)
RENAMED_TO event s>o begin (called renamed known):
    SUBJECT AUX BE (?:now |officially )?(?:called|renamed|renamed to|known as) (?P<o>N\d+)
RENAMED_TO event s>o begin (renamed rename):
    (?:I|we|they|RENAMER) (?P<verb>renamed|rename) (?:the )?(?P<s>N\d+) (?:to|as) (?P<o>N\d+)
LIKES state s>np (=like love enjoy): START VERB ANY
PREFERS state s>np (=prefer): START VERB ANY
DISLIKES state s>np (=hate dislike): START VERB ANY
WANTS state s>np (=want): START VERB ANY
NEEDS state s>np (=need): START VERB ANY
PLAYS state s>np (=play): START VERB SOME
ALLERGIC_TO state s>np (allergic): SUBJECT AUX BE NOT allergic to SOME
PLAYS state s>np end (up playing): SUBJECT AUX (?P<verb>gave up|gives up|stopped playing|quit playing) SOME
"""
_DATED = "visit|meeting|launch|opening|party|wedding|exam|workshop|conference|release|concert|interview|demo"
_VALUES = rf"""
(of for on): (?:the |our |my )?ATTRIBUTE (?:of|for|on) OWNER BECOMES VALUE
('s): (?:the |our )?(?P<s>N\d+) 's ATTRIBUTE BECOMES VALUE
({_OWNED.replace("|", " ")} date):
    (?:the |our )?(?:(?P<s>N\d+|the project|the|our|my) )(?P<attribute>{_OWNED}) BECOMES VALUE
({_OWNED.replace("|", " ")} date): ^(?P<s>)(?P<attribute>{_OWNED}) : (?P<value>[AT]\d+)
(of for): (?P<verb>CHANGING) (?:the |our )?ATTRIBUTE (?:of|for) OWNER (?:to|until|by) VALUE
({_OWNED.replace("|", " ")} date):
    (?P<verb>CHANGING) (?:the |our |my )?(?:(?P<s>N\d+) (?:'s )?)?(?P<attribute>{_OWNED})
    (?:back |up |down )?(?:to|until|by) VALUE
({_DATED.replace("|", " ")}):
    (?:the |our )?(?:[a-z]+ )?(?P<attribute>{_DATED}) (?:of|for|at|to|with|in) OWNER(?: [^ ]+){{0,8}}?
    (?:is|will be|takes place) (?:on |at )?(?P<value>T\d+)
(put puts raised raises cut cuts lowered lowers dropped increased):
    (?P<s>N\d+) (?:put|puts|raised|raises|cut|cuts|lowered|lowers|dropped|increased)
    (?:the |its |their )?THING (?:price )?(?:up |down |back )?to (?P<value>A\d+)
(quote price):
    (?P<s>N\d+) (?:sent|gave|quoted) (?:us )?(?:the |its |their |a )?THING (?:quote|price) :? ?(?P<value>A\d+)
(back up down): (?P<s>N\d+)(?: [^ ]+){{1,4}} the THING (?:is|goes|went) (?:back |up |down )to (?P<value>A\d+)
(due): (?P<s>N\d+) (?:is|are|'s) (?P<attribute>due) (?:at N\d+ )?(?:on |by )?(?P<value>T\d+)
CHARGES (=charge): SUBJECT VERB PRICE
COSTS (=cost): SUBJECT VERB PRICE
PAYS (=pay): SUBJECT VERB PRICE
"""
_PARTS = {
    **{"START": _START, "SUBJECT": _SUBJECT, "AUX": _AUX, "BE": _BE, "NOT": _NOT, "OBJECT": _OBJECT},
    **{"ROLE": _ROLE, "KIN": _KIN, "ROLES": "|".join(ROLES), "RENAMER": _SUBJECT.replace("<s>", "<x>")},
    **{"ATTRIBUTE": "(?P<attribute>[a-z-]{3,20}(?: [a-z]{3,12})?)", "BECOMES": _BECOMES, "VALUE": _VALUE},
    **{"CHANGING": _CHANGED.replace(" ", "|"), "OWNER": r"(?:the |project )*(?P<s>N\d+)"},
    **{"THING": "(?P<thing>[a-z]{3,15})", "PRICE": r"(?:us |me |now |only )?(?P<value>A\d+)"},
    **{"TWO": r"from (?:the )?(?P<o>N\d+) to (?:the )?(?P<p>N\d+)"},
    **{"ANY": _ANY + _AND_THING + _STOPS, "SOME": _THING + _AND_THING + _STOPS},
}
_SPACED = ("START", "AUX", "NOT", "VERB")  # end in a space of their own
_PART = re.compile(rf"\b(?:({'|'.join(_SPACED)}) ?|({'|'.join(_PARTS.keys() - set(_SPACED))})\b)")


def _patterns(table: str) -> Iterator[_Row]:
    """The rows of a table."""
    for row in re.sub(r"\n {2,}", " ", table).strip().splitlines():
        head, _, rest = row.partition("(")
        listed, _, pattern = rest.partition("): ")
        verbs = listed[1:].split() if listed[0] == "=" else ()
        triggers = [form for verb in verbs for form in _forms(verb)] or listed.split()
        parts = _PARTS | {"VERB": rf"{_AUX}(?P<verb>{alternatives(triggers)}) "}
        written = _PART.sub(lambda part, parts=parts: parts[part[1] or part[2]], pattern)  # type: ignore[misc]
        yield written, triggers, tuple(map(_claim, head.split(" & ")))


def _claim(told: str) -> RelationClaim:
    """What the head of a row claims: "LIVES_IN functional s>o end Person>Location". One without a kind claims
    a value; without a name the match tells of which attribute."""
    name, *rest = told.split() or ["VALUE"]
    if not rest:
        return RelationClaim(name, FactKind.FUNCTIONAL, "s", "value", "value")
    kind, ends, how, types = (*rest, *("state", ">")[len(rest) - 2 :])
    (source, target), (one, other) = ends.split(">"), types.split(">")
    return RelationClaim(name, FactKind(kind), source, target, how, (one, other))


def _compiled() -> dict[str, tuple[RelationRule, ...]]:
    by_trigger: defaultdict[str, list[RelationRule]] = defaultdict(list)
    for pattern, triggers, claims in (*_patterns(_CLAUSES), *_patterns(_VALUES), *_table()):
        rule = RelationRule(re.compile(rf"(?<![^ ]){pattern}(?![^ ])"), claims)
        for trigger in dict.fromkeys(triggers):
            by_trigger[trigger].append(rule)
    return {trigger: tuple(rules) for trigger, rules in by_trigger.items()}


_RULES = _compiled()


def rules_for(text: str) -> list[RelationRule]:
    """The rules that a line may fit, those of several relations at once first."""
    found: dict[int, RelationRule] = {}
    for word in text.split(" "):
        for rule in _RULES.get(word, ()):
            found[id(rule)] = rule
    return list(found.values())


_SCREAMING = re.compile(r"[^A-Z0-9]+")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_LONGEST_NAME = 64  # characters of a relation's name


def screaming(words: str) -> str:
    """ "first name", "firstName" → FIRST_NAME."""
    name = _SCREAMING.sub("_", _CAMEL.sub(r"\1_\2", words).upper()).strip("_")[:_LONGEST_NAME].strip("_")
    return name if name[:1].isalpha() else f"R_{name}"[:_LONGEST_NAME].strip("_")
