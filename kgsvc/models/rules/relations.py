"""The table of relations: what verbs and phrases mean, and how facts of each relation conflict (design §3).

A row is `NAME kind [source type>target type] [named] [own] [#keyword …]: patterns [| begins: …] [| ends: …]`.
A pattern is "verb [noun] [preposition]" in base form: "work at", "get job at", "be allergic to"; "be" plus a
participle is the passive ("be hired by"). The first patterns assert the relation. Those of `begins` tell its
beginning ("moved to"), so that they assert it in the past tense too; those of `ends` end it. "<" swaps source
and target: "TechCorp employs Alice" is WORKS_AT from Alice. `named`: the target must be a name ("works at
TechCorp", not "works at night"). `own`: what ends it must be one's own ("sold my car"). A verb in no row
becomes an event named after it (relation_name).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.text import word_list, word_set
from kgsvc.models.rules.verbs import third_person, verb

_LONGEST_NAME = 64  # characters of a relation's name
_ROWS = """
# work
WORKS_AT functional Person>Organization named #employer #job: work at; work for; work as at; be employed at;
    be employed by; be employed with; < employ | begins: join; get job at; get job with; start at; start job
    at; land job at; accept job at; accept offer from; take job at; be hired by; be recruited by; < hire; <
    recruit; move to work at; accept position at | ends: leave; quit; resign from; be fired from; be fired by;
    be laid off from; be laid off by; retire from; leave job at; quit job at; lose job at; < fire; < lay off;
    depart from; part with
WORKS_AS state Person> #profession #job: work as; serve as
WORKS_IN state Person>: work in
WORKS_WITH state: work with; collaborate with; work alongside; partner with
WORKS_ON state: work on
REPORTS_TO functional Person>Person named: report to
LEADS state #leader #lead: lead; head; head up; be lead of; be leader of; be head of; be in charge of; be
    responsible for; supervise; chair; direct team | begins: take over | ends: step down from; hand over
MANAGES state: manage; oversee; be manager of
OWNS state own #owner: own; possess | ends: sell; give away; lose; donate
FOUNDED event: found; co-found; establish; set up; be founder of; be co-founder of
ACQUIRED event: acquire; take over company
MEMBER_OF state: be member of; belong to; be part of | ends: leave group
VOLUNTEERS_AT state: volunteer at; volunteer for; volunteer with; volunteer in
TEACHES state: teach; tutor; coach
# homes and places
LIVES_IN functional Person>Location named #home #residence: live in; live at; reside in; reside at; be settled
    in; dwell in | begins: move to; move into; relocate to; settle in; settle down in; move back to; emigrate
    to; immigrate to | ends: move out of; move away from; move from
LIVES_WITH state: live with | begins: move in with
IS_FROM state Person>Location named: be from; come from; hail from
GREW_UP_IN state Person>Location: grow up in; be raised in
LOCATED_IN state >Location named: be located in; be located at; be located on; be situated in; be based in; be
    headquartered in; be in; lie in; lie on; stand in
BORN_IN functional Person>Location named: be born in; be born at; be born near
DIED_IN functional Person>Location named: die in; die at
BURIED_IN functional Person>Location named: be buried in; be buried at
# people
MARRIED_TO functional Person>Person named #spouse #wife #husband: be married to | begins: marry; get married
    to; wed; tie knot with | ends: divorce; be divorced from; separate from; be separated from
DATES state Person>Person named: date; go out with | ends: break up with; split up with; split with; dump
ENGAGED_TO functional Person>Person named: be engaged to | begins: get engaged to
FRIENDS_WITH state: be friends with; be close to; be friend of | begins: become friends with
KNOWS state >Person named: know
MET event: meet; meet with; meet up with; run into; bump into
SUPPORTS state: support; root for; be fan of
ADMIRES state: admire; look up to; respect
# tastes and states of mind
LIKES state #likes #favorite: like; love; enjoy; adore; be fond of; be keen on; be passionate about; be into;
    be crazy about; be big fan of; be huge fan of; be love with; dig
DISLIKES state: hate; dislike; detest; loathe; be tired of; be sick of
PREFERS state: prefer
INTERESTED_IN state: be interested in; be curious about
AFRAID_OF state: fear; be afraid of; be scared of; be terrified of
ALLERGIC_TO state: be allergic to; be intolerant to
WANTS state: want; wish for; need; crave; hope for; dream of; dream about; aspire to
BELIEVES_IN state: believe in; trust; trust in
# having and doing
HAS state: have; have got; feature; include; contain; consist of
USES state: use; rely on; run on | ends: drop; abandon
DEPENDS_ON state: depend on
SPEAKS state Person>: speak; be fluent in
PLAYS state: play | ends: give up
STUDIES state Person>: study; major in; be majoring in
STUDIES_AT state Person>: study at; attend; be educated at; be student at; be enrolled at; be enrolled in |
    begins: enroll in; enroll at; start at school | ends: drop out of
GRADUATED_FROM event: graduate from; earn degree from; receive degree from; get degree from
COLLECTS state: collect
DRIVES state: drive
COSTS functional: cost
PRACTICES state: practice; practise; be training for
# works and their makers
DIRECTED event >Work: direct
WROTE event: write; author; co-write; pen; be writer of; be author of
PRODUCED event: produce; be producer of
COMPOSED event: compose; score
STARS_IN event >Work: star in; act in; appear in; debut in; < star; < feature
CREATED event: create; make; build; design; develop; invent
PUBLISHED event: publish; release; launch
BASED_ON state: be based on; be adapted from; be inspired by; be based upon
KNOWN_FOR state: be known for; be famous for; be noted for; be remembered for
KNOWN_AS state: be known as; be called; be named; be nicknamed; be titled; go by
SET_IN state >Location: be set in; take place in
# events
WENT_TO event: go to; travel to; fly to; head to; drive to; take trip to; go on trip to; be off to
VISITED event: visit
BOUGHT event: buy; purchase; order
SOLD event: sell
ADOPTED event: adopt
WON event: win; be awarded; earn; receive
LOST event: lose
LEARNED event: learn; take class in; take lessons in
JOINED event: join; sign up for
LEFT event: leave
ATTENDED event: go to conference; take part in; participate in; come to
PLANS event: plan; plan for; plan on; prepare for; look forward to
SHARED event: share; show; post
GAVE event: give; donate; hand; offer
RECEIVED event: get; obtain
READ event: read; finish reading
WATCHED event: watch
TALKED_WITH event: talk to; talk with; speak to; speak with; chat with; call
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """A row of the table; `source` and `target` are node types, "" for any."""

    name: str
    kind: FactKind
    source: str
    target: str
    named: bool
    own: bool
    keywords: tuple[str, ...]


# Nouns that say what one thing is to another: "my boss is Carol", "the capital of France is Paris". One at a
# time: another one takes its place.
SINGLE_ROLES = word_set("""
boss manager supervisor husband wife spouse partner girlfriend boyfriend fiance fiancee mother father mom dad
ceo cto cfo coo president chairman chairwoman chair director leader head captain owner capital mayor king
queen minister deadline birthday name nickname surname age job occupation profession title position role
hometown address phone email number budget status password nationality height weight salary location
headquarters homepage website version priority due launch start end release anniversary goal employer
therapist doctor landlord roommate major theme motto currency population language color colour food drink
movie film song book band artist author sport game animal season place city country subject hobby series show
restaurant dish meal date time venue room office schedule
""")
# Of these the date is the value: the fact holds from when it is said.
DATED_ROLES = word_set("""
deadline birthday anniversary due launch start end release date time schedule meeting wedding exam appointment
interview flight party
""")
# Verbs that lead over to another one and say more than it does; other leading verbs ("start", "keep") do not.
_LEADING = {
    **dict.fromkeys(word_list("plan intend aim expect consider think look promise agree decide"), "PLANS"),
    **dict.fromkeys(word_list("want wish need dream hope"), "WANTS"),
    **dict.fromkeys(word_list("like love enjoy adore fancy"), "LIKES"),
    **dict.fromkeys(word_list("hate dislike avoid"), "DISLIKES"),
}
ENDING = word_set("stop quit finish give use")  # "gave up smoking", "used to smoke"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one pattern of the table says: its row, and in which sense."""

    relation: Relation
    ends: bool = False
    onset: bool = False
    turned: bool = False


def _relation(head: str) -> Relation:
    name, kind, *more = head.split()
    source, _, target = next((word for word in more if ">" in word), "").partition(">")
    keywords = tuple(word[1:] for word in more if word.startswith("#"))
    return Relation(name, FactKind(kind), source, target, "named" in more, "own" in more, keywords)


def _meanings(relation: Relation, patterns: str) -> Iterator[tuple[tuple[str, ...], Meaning]]:
    """The patterns of a row in lemmas, with what each says."""
    for part in patterns.split("|"):
        sense, _, listed = part.rpartition(":")
        for pattern in map(str.strip, listed.split(";")):
            turned, ends, onset = pattern.startswith("<"), sense.strip() == "ends", sense.strip() == "begins"
            yield _in_lemmas(pattern.removeprefix("<").split()), Meaning(relation, ends, onset, turned)


def _in_lemmas(words: list[str]) -> tuple[str, ...]:
    """ "be hired by" as clauses have it: be, hire, by."""
    form = verb(words[1]) if words[0] == "be" and len(words) > 1 else None
    if form is not None and form.participle:
        words[1] = form.lemma
    return tuple(words)


BY_NAME: dict[str, Relation] = {}
_INDEX: defaultdict[tuple[str, ...], list[Meaning]] = defaultdict(list)
for _row in re.split(r"\n(?=\w)", re.sub(r"(?m)^#.*\n", "", _ROWS).strip()):
    _head, _, _patterns = _row.partition(":")
    BY_NAME[_head.split()[0]] = _relation(_head)
    for _words, _meaning in _meanings(BY_NAME[_head.split()[0]], _patterns):
        _INDEX[_words].append(_meaning)


def meanings(*words: str) -> Sequence[Meaning]:
    """What the table says about a verb with its noun and preposition (empty ones left out)."""
    return _INDEX.get(tuple(word for word in words if word), ())


def leading_relation(via: Sequence[str], tense: str) -> str:
    """What "want to …", "love …ing", "be going to …" state as such; "" where the last verb tells."""
    going = bool(via) and via[0] == "go" and tense == "progressive"
    found = _LEADING.get(via[0], "") if via else ""
    return found or ("PLANS" if going or tense == "future" else "")


def relation_name(lemma: str, *more: str) -> str:
    """A name for a verb without a row: ("paint",) → PAINTS, ("sign", "up", "for") → SIGNS_UP_FOR."""
    return screaming(" ".join((third_person(lemma), *(word for word in more if word))))


def screaming(words: str) -> str:
    """ "first name" or "firstName" → FIRST_NAME; at least one letter or digit, else RELATES_TO."""
    pieces: list[str] = []
    previous = ""
    for char in words:
        if char.isupper() and previous.islower():
            pieces.append("_")
        pieces.append(char.upper() if char.isalnum() and char.isascii() else "_")
        previous = char
    name = "_".join(part for part in "".join(pieces).split("_") if part)[:_LONGEST_NAME].strip("_")
    if not name:
        return "RELATES_TO"
    return name if name[0].isalpha() else f"HAS_{name}"
