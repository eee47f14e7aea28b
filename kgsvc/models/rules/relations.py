"""The table of relations: what verbs and phrases mean, and how facts of each relation conflict (design §3).

One row a relation. `says` lists what asserts it and `ends` what ends it, as "verb [noun] [preposition]" in
base form: "work at", "get job at", "be allergic to"; "be" plus a participle is the passive ("be hired by").
A leading "<" turns source and target round: "TechCorp employs Alice" is WORKS_AT from Alice. Verbs in no
row become events named after themselves (relation_name).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.text import word_list, word_set
from kgsvc.models.rules.verbs import third_person, verb

_LONGEST_NAME = 64  # characters of a relation's name
STATE, FUNCTIONAL, EVENT = FactKind.STATE, FactKind.FUNCTIONAL, FactKind.EVENT


@dataclass(frozen=True, slots=True)
class Relation:
    """A row. `source` and `target` are the node types it implies ("" for any).

    `onset`: its verbs tell the beginning ("moved to"), so a past tense still asserts it. `named`: the target
    must be a name ("works at TechCorp", not "works at night"). `own`: what ends it must be one's own ("sold
    my car").
    """

    name: str
    kind: FactKind
    says: str
    ends: str = ""
    source: str = ""
    target: str = ""
    named: bool = False
    own: bool = False
    onset: str = ""
    keywords: tuple[str, ...] = ()


TABLE = (
    # work
    Relation(
        "WORKS_AT",
        FUNCTIONAL,
        "work at; work for; work as at; be employed at; be employed by; be employed with; < employ",
        ends="leave; quit; resign from; be fired from; be fired by; be laid off from; be laid off by; "
        "retire from; leave job at; quit job at; lose job at; < fire; < lay off; depart from; part "
        "with",
        onset="join; get job at; get job with; start at; start job at; land job at; accept job at; accept "
        "offer from; take job at; be hired by; be recruited by; < hire; < recruit; move to work at; "
        "accept position at",
        source="Person",
        target="Organization",
        named=True,
        keywords=("employer", "job"),
    ),
    Relation("WORKS_AS", STATE, "work as; serve as", source="Person", keywords=("profession", "job")),
    Relation("WORKS_IN", STATE, "work in", source="Person"),
    Relation("WORKS_WITH", STATE, "work with; collaborate with; work alongside; partner with"),
    Relation("WORKS_ON", STATE, "work on"),
    Relation("REPORTS_TO", FUNCTIONAL, "report to", source="Person", target="Person", named=True),
    Relation(
        "LEADS",
        STATE,
        "lead; head; head up; be lead of; be leader of; be head of; be in charge of; be responsible "
        "for; supervise; chair; direct team",
        ends="step down from; hand over",
        onset="take over",
        keywords=("leader", "lead"),
    ),
    Relation("MANAGES", STATE, "manage; oversee; be manager of"),
    Relation(
        "OWNS", STATE, "own; possess", ends="sell; give away; lose; donate", own=True, keywords=("owner",)
    ),
    Relation("FOUNDED", EVENT, "found; co-found; establish; set up; be founder of; be co-founder of"),
    Relation("ACQUIRED", EVENT, "acquire; take over company"),
    Relation("MEMBER_OF", STATE, "be member of; belong to; be part of", ends="leave group", named=False),
    Relation("VOLUNTEERS_AT", STATE, "volunteer at; volunteer for; volunteer with; volunteer in"),
    Relation("TEACHES", STATE, "teach; tutor; coach"),
    # homes and places
    Relation(
        "LIVES_IN",
        FUNCTIONAL,
        "live in; live at; reside in; reside at; be settled in; dwell in",
        ends="move out of; move away from; move from",
        onset="move to; move into; relocate to; settle in; settle down in; move back to; emigrate to; "
        "immigrate to",
        source="Person",
        target="Location",
        named=True,
        keywords=("home", "residence"),
    ),
    Relation("LIVES_WITH", STATE, "live with", onset="move in with"),
    Relation(
        "IS_FROM", STATE, "be from; come from; hail from", source="Person", target="Location", named=True
    ),
    Relation("GREW_UP_IN", STATE, "grow up in; be raised in", source="Person", target="Location"),
    Relation(
        "LOCATED_IN",
        STATE,
        "be located in; be located at; be located on; be situated in; be based in; be headquartered "
        "in; be in; lie in; lie on; stand in",
        target="Location",
        named=True,
    ),
    Relation(
        "BORN_IN",
        FUNCTIONAL,
        "be born in; be born at; be born near",
        source="Person",
        target="Location",
        named=True,
    ),
    Relation("DIED_IN", FUNCTIONAL, "die in; die at", source="Person", target="Location", named=True),
    Relation(
        "BURIED_IN", FUNCTIONAL, "be buried in; be buried at", source="Person", target="Location", named=True
    ),
    # people
    Relation(
        "MARRIED_TO",
        FUNCTIONAL,
        "be married to",
        ends="divorce; be divorced from; separate from; be separated from",
        onset="marry; get married to; wed; tie knot with",
        source="Person",
        target="Person",
        named=True,
        keywords=("spouse", "wife", "husband"),
    ),
    Relation(
        "DATES",
        STATE,
        "date; go out with",
        ends="break up with; split up with; split with; dump",
        source="Person",
        target="Person",
        named=True,
    ),
    Relation(
        "ENGAGED_TO",
        FUNCTIONAL,
        "be engaged to",
        onset="get engaged to",
        source="Person",
        target="Person",
        named=True,
    ),
    Relation(
        "FRIENDS_WITH", STATE, "be friends with; be close to; be friend of", onset="become friends with"
    ),
    Relation("KNOWS", STATE, "know", target="Person", named=True),
    Relation("MET", EVENT, "meet; meet with; meet up with; run into; bump into"),
    Relation("SUPPORTS", STATE, "support; root for; be fan of"),
    Relation("ADMIRES", STATE, "admire; look up to; respect"),
    # tastes and states of mind
    Relation(
        "LIKES",
        STATE,
        "like; love; enjoy; adore; be fond of; be keen on; be passionate about; be into; be crazy "
        "about; be big fan of; be huge fan of; be love with; dig",
        keywords=("likes", "favorite"),
    ),
    Relation("DISLIKES", STATE, "hate; dislike; detest; loathe; be tired of; be sick of"),
    Relation("PREFERS", STATE, "prefer"),
    Relation("INTERESTED_IN", STATE, "be interested in; be curious about"),
    Relation("AFRAID_OF", STATE, "fear; be afraid of; be scared of; be terrified of"),
    Relation("ALLERGIC_TO", STATE, "be allergic to; be intolerant to"),
    Relation("WANTS", STATE, "want; wish for; need; crave; hope for; dream of; dream about; aspire to"),
    Relation("BELIEVES_IN", STATE, "believe in; trust; trust in"),
    # having and doing
    Relation("HAS", STATE, "have; have got; feature; include; contain; consist of", keywords=()),
    Relation("USES", STATE, "use; rely on; run on", ends="drop; abandon"),
    Relation("DEPENDS_ON", STATE, "depend on"),
    Relation("SPEAKS", STATE, "speak; be fluent in", source="Person"),
    Relation("PLAYS", STATE, "play", ends="give up"),
    Relation("STUDIES", STATE, "study; major in; be majoring in", source="Person"),
    Relation(
        "STUDIES_AT",
        STATE,
        "study at; attend; be educated at; be student at; be enrolled at; be enrolled in",
        ends="drop out of",
        onset="enroll in; enroll at; start at school",
        source="Person",
    ),
    Relation(
        "GRADUATED_FROM", EVENT, "graduate from; earn degree from; receive degree from; get degree from"
    ),
    Relation("COLLECTS", STATE, "collect"),
    Relation("DRIVES", STATE, "drive"),
    Relation("COSTS", FUNCTIONAL, "cost"),
    Relation("PRACTICES", STATE, "practice; practise; be training for"),
    # works and their makers
    Relation("DIRECTED", EVENT, "direct", target="Work"),
    Relation("WROTE", EVENT, "write; author; co-write; pen; be writer of; be author of"),
    Relation("PRODUCED", EVENT, "produce; be producer of"),
    Relation("COMPOSED", EVENT, "compose; score"),
    Relation("STARS_IN", EVENT, "star in; act in; appear in; debut in; < star; < feature", target="Work"),
    Relation("CREATED", EVENT, "create; make; build; design; develop; invent"),
    Relation("PUBLISHED", EVENT, "publish; release; launch"),
    Relation("BASED_ON", STATE, "be based on; be adapted from; be inspired by; be based upon"),
    Relation("KNOWN_FOR", STATE, "be known for; be famous for; be noted for; be remembered for"),
    Relation("KNOWN_AS", STATE, "be known as; be called; be named; be nicknamed; be titled; go by"),
    Relation("SET_IN", STATE, "be set in; take place in", target="Location"),
    # events
    Relation(
        "WENT_TO",
        EVENT,
        "go to; travel to; fly to; head to; drive to; take trip to; go on trip to; be off to",
    ),
    Relation("VISITED", EVENT, "visit"),
    Relation("BOUGHT", EVENT, "buy; purchase; order"),
    Relation("SOLD", EVENT, "sell"),
    Relation("ADOPTED", EVENT, "adopt"),
    Relation("WON", EVENT, "win; be awarded; earn; receive"),
    Relation("LOST", EVENT, "lose"),
    Relation("LEARNED", EVENT, "learn; take class in; take lessons in"),
    Relation("JOINED", EVENT, "join; sign up for"),
    Relation("LEFT", EVENT, "leave"),
    Relation("ATTENDED", EVENT, "go to conference; take part in; participate in; come to"),
    Relation("PLANS", EVENT, "plan; plan for; plan on; prepare for; look forward to"),
    Relation("SHARED", EVENT, "share; show; post"),
    Relation("GAVE", EVENT, "give; donate; hand; offer"),
    Relation("RECEIVED", EVENT, "get; obtain"),
    Relation("READ", EVENT, "read; finish reading"),
    Relation("WATCHED", EVENT, "watch"),
    Relation("TALKED_WITH", EVENT, "talk to; talk with; speak to; speak with; chat with; call"),
)

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


def _index() -> dict[tuple[str, ...], tuple[Meaning, ...]]:
    index: dict[tuple[str, ...], tuple[Meaning, ...]] = {}
    for row in TABLE:
        for patterns, ends, onset in (
            (row.says, False, False),
            (row.ends, True, False),
            (row.onset, False, True),
        ):
            for pattern in filter(None, (part.strip() for part in patterns.split(";"))):
                words = _in_lemmas(pattern.removeprefix("<").split())
                meaning = Meaning(row, ends, onset, pattern.startswith("<"))
                index[words] = (*index.get(words, ()), meaning)
    return index


def _in_lemmas(words: list[str]) -> tuple[str, ...]:
    """ "be hired by" as clauses have it: be, hire, by."""
    form = verb(words[1]) if words[0] == "be" and len(words) > 1 else None
    if form is not None and form.participle:
        words[1] = form.lemma
    return tuple(words)


_INDEX = _index()
BY_NAME = {row.name: row for row in TABLE}


def meanings(*words: str) -> tuple[Meaning, ...]:
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
