"""How names are searched for and compared: tokens, nicknames, spellings, numbers, identities. Pure.

Nicknames are English ones; they widen the search for a name, they decide nothing.

Identities (an id, a number, an e-mail or another address) are attributes of an entity ("account number") or
words of a name ("Account 4711-0815"), by which a thing is known whatever it is called. They too only
widen the search; whether two are one is for a model to say.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.namesakes import WITH_NAME, is_speaker, plain
from kgsvc.domain.text import is_cjk, normalise, remembered, tokens

# The full form first.
_NICKNAMES = (
    "abigail abby", "albert al bert", "alexander alex sasha", "alexandra alex sandra sasha",
    "alfred alf fred",
    "andrew andy drew", "anthony tony", "barbara barb", "benjamin ben benny", "catherine cathy kate katie",
    "charles charlie chuck", "christina chris tina", "christopher chris", "daniel dan danny", "david dave",
    "deborah deb debbie", "donald don", "dorothy dot", "edward ed eddie ned ted", "eleanor ellie nell",
    "elizabeth beth betty eliza liz lizzie", "eugene gene", "frances fran", "francis frank", "frederick fred",
    "gabriel gabe", "gerald gerry jerry", "gregory greg", "harold hal harry", "henry hal hank harry",
    "isabella bella", "jacob jake", "james jim jimmy jamie", "janet jan", "jennifer jen jenny",
    "jessica jess", "john jack johnny", "jonathan jon", "joseph joe joey", "joshua josh", "judith judy",
    "katherine kate kathy katie kit", "kathleen kathy", "kenneth ken", "laurence larry", "lawrence larry",
    "leonard len leo", "margaret maggie meg peggy", "matthew matt", "maximilian max", "michael mick mike",
    "nathaniel nate nathan", "nicholas nick", "olivia liv", "pamela pam", "patricia pat patty tricia",
    "patrick pat", "peter pete", "philip phil", "rachel rach", "raymond ray", "rebecca becca becky",
    "richard dick rich rick", "robert bob bobby rob robbie", "ronald ron", "samantha sam", "samuel sam",
    "stephanie steph", "stephen steve", "steven steve", "stuart stu", "susan sue susie", "theodore ted theo",
    "thomas tom tommy", "timothy tim", "victoria tori vicky", "vincent vince", "walter walt",
    "william bill billy liam will", "zachary zach",
    "augustine gus", "augustus gus", "barnaby barney", "bartholomew bart", "beatrice bea trixie",
    "bernard bernie", "bridget bridie", "cassandra cass cassie", "caroline caro carrie", "clifford cliff",
    "cornelius con neil", "douglas doug", "edmund ed ned ted", "emily em emmy", "felicity fliss flick",
    "fergus gus", "florence flo florrie", "francesca fran frankie", "geoffrey geoff", "georgina georgie",
    "gwendolen gwen", "harriet hattie", "henrietta hetty etta", "jacqueline jackie", "jeremy jem jerry",
    "julian jules", "juliet jules", "leopold leo", "louisa lou", "lucinda lucy cindy", "malcolm mal",
    "martha mattie", "mildred millie", "montgomery monty", "penelope penny", "philippa pip pippa",
    "priscilla cilla", "reginald reg reggie", "roderick rod roddy", "rosemary rose rosie",
    "sebastian seb bas", "sophia sophie", "stanley stan", "tabitha tabby",
    "theodora dora theo", "tobias toby", "valerie val", "veronica ronnie", "vivian viv", "winifred winnie",
)  # fmt: skip


def _nicknames() -> dict[str, frozenset[str]]:
    related: dict[str, set[str]] = {}
    for line in _NICKNAMES:
        formal, *short = line.split()
        for nickname in short:
            related.setdefault(nickname, set()).add(formal)
            related.setdefault(formal, set()).add(nickname)
    return {name: frozenset(others) for name, others in related.items()}


RELATED = _nicknames()


THRESHOLD = 0.9  # of the Jaccard index of shingles
MIN_LENGTH = 6  # letters and digits
MIN_ENTROPY = 2.0  # bits a letter: "aaabbb" has 1, "boston" 2.25

_ROUNDING = 1e-9
_SMALL = frozenset({"and", "for", "of", "the"})
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "herr", "frau"})
_STEM = 3  # letters of a short form
_INITIALS = 3  # words from which on a name may go by its initials
_LONGEST = 64  # code points of a token
_WORDS = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_ROMAN = re.compile(r"(?=[ivxlcdm])m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand"
    " first second third fourth fifth sixth seventh eighth ninth tenth junior senior jr sr"
)
_NUMBER_WORDS = frozenset(_NUMBERS.split())
_ARTICLES = frozenset({"the", "a", "an"})


@remembered(16_384)
def folded(name: str) -> str:
    """Words of letters and digits without accents and leading articles, one space apart."""
    # Classes from 200 are accents; below are marks that make another letter, as the voiced kana's.
    apart = unicodedata.normalize("NFKD", normalise(name))
    plain = "".join(c for c in apart if unicodedata.combining(c) < 200)
    words = _WORDS.findall(unicodedata.normalize("NFC", plain.replace("'", "").replace("’", "")))
    while len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return " ".join(words)


def name_tokens(name: str) -> frozenset[str]:
    """The search terms of a name: its tokens, all of it as one word, the initials of a long one."""
    flat = folded(name)
    words = [word for word in flat.split() if word not in _SMALL]
    initials = "".join(word[0] for word in words) if len(words) >= _INITIALS else ""
    written = (*tokens(flat), *tokens(flat.replace(" ", "")), *tokens(initials))
    return frozenset(token[:_LONGEST] for token in written)


def asked_tokens(name: str) -> frozenset[str]:
    """The tokens to look for: those of the name, of the full forms of nicknames in it and the reverse."""
    wider = {other for word in folded(name).split() for other in RELATED.get(word, ())}
    return name_tokens(name).union(*(tokens(other) for other in wider))


def may_be_called(person: str, other: str) -> bool:
    """Whether the letters of two names of people allow that they mean one: each part of the shorter, or an
    initial or short form of it, is in the longer. Symmetric."""
    one, two = ([w for w in folded(name).split() if w not in _TITLES] for name in (person, other))
    short, full = sorted((one, two), key=len)
    return bool(short) and all(any(_may_stand_for(part, word) for word in full) for part in short)


def _may_stand_for(one: str, word: str) -> bool:
    """Barney for Barnaby, Gus for Fergus, Ana for Anahera, J for John; either way round."""
    short, full = sorted((one, word), key=len)
    if full.startswith(short) or full in RELATED.get(short, ()) or short[:_STEM] == full[:_STEM]:
        return True
    letters = iter(full)
    shortened = short[0] == full[0] and all(letter in letters for letter in short)
    return len(short) >= _STEM and (short in full or shortened)


@remembered(16_384)
def marks(name: str) -> tuple[tuple[str, int], ...]:
    """What sets otherwise equal names apart: numerals (also in words and Roman) and lone letters."""
    flat = folded(name)
    found = Counter(_DIGITS.findall(flat))
    for word in flat.split():
        if word in _NUMBER_WORDS or (len(word) == 1 and not is_cjk(word)) or _ROMAN.fullmatch(word):
            found[word] += 1
    return tuple(sorted(found.items()))


def numerals_differ(name: str, others: Collection[str]) -> bool:
    """Whether the name has numerals and each of the others has different ones: then they are two things."""
    mine = sorted(_DIGITS.findall(folded(name)))
    theirs = [sorted(_DIGITS.findall(folded(other))) for other in others]
    return bool(mine) and bool(theirs) and all(figures and figures != mine for figures in theirs)


def figures_differ(names: Collection[str], others: Collection[str]) -> bool:
    """Whether some of the names have figures and some of the others have, but none the same."""
    mine, theirs = _figures(names), _figures(others)
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def figures_conflict(text: str, other: str) -> bool:
    """Whether each of two sentences has a figure that the other has not."""
    mine, theirs = _in_text(text), _in_text(other)
    return bool(mine - theirs) and bool(theirs - mine)


def adds_figures(text: str, other: str) -> bool:
    """Whether a sentence has figures that another lacks."""
    return bool(_in_text(text) - _in_text(other))


def _in_text(text: str) -> set[str]:
    return {figure.lstrip("0") for figure in _DIGITS.findall(folded(text.replace(",", "")))}


def _figures(names: Collection[str]) -> set[tuple[str, ...]]:
    return {tuple(sorted(_DIGITS.findall(folded(name)))) for name in names} - {()}


def similar(one: str, other: str) -> bool:
    """Whether two names are spellings of one another. Symmetric."""
    first, second = folded(one), folded(other)
    shingles, others = _shingles(first), _shingles(second)
    squeezed = first.replace(" ", "") == second.replace(" ", "")
    if not squeezed and min(len(shingles), len(others)) < THRESHOLD * max(len(shingles), len(others)):
        return False  # they cannot share enough: most pairs end here
    if marks(one) != marks(other) or not (_telling(first) and _telling(second)):
        return False
    return squeezed or len(shingles & others) >= THRESHOLD * len(shingles | others)


@remembered(16_384)
def _telling(flat: str) -> bool:
    letters = flat.replace(" ", "")
    if len(letters) < MIN_LENGTH:
        return False
    counts = Counter(letters).values()
    return -sum(n / len(letters) * math.log2(n / len(letters)) for n in counts) >= MIN_ENTROPY


@remembered(16_384)
def _shingles(flat: str) -> frozenset[str]:
    padded = f" {flat} "
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def spellings(names: Sequence[str], known: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Names that are spellings of something known: name → its id in `known` (id → its names).

    Only where exactly one known thing is alike: with two, nothing tells which.
    """
    found: dict[str, str] = {}
    for name in names:
        alike = [each for each, spelled in known.items() if any(similar(name, s) for s in spelled)]
        if len(alike) == 1:
            found[name] = alike[0]
    return found


def families(names: Collection[str]) -> list[list[str]]:
    """Names in groups of spellings of one another, each sorted; names alike to none are left out.

    Likeness is followed from name to name, so that the groups do not depend on the order of `names`.
    """
    ordered = sorted(set(names))
    keys = _sharing_keys(ordered)
    by_key: defaultdict[Hashable, list[str]] = defaultdict(list)
    for name in ordered:
        for key in keys[name]:
            by_key[key].append(name)
    found: list[list[str]] = []
    placed: set[str] = set()
    for name in ordered:
        family = [] if name in placed else [name]
        for member in family:  # grows while it is walked
            placed.add(member)
            near = {other for key in keys[member] for other in by_key[key]} - placed
            alike = [other for other in near if similar(member, other)]
            placed.update(alike)
            family.extend(alike)
        if len(family) > 1:
            found.append(sorted(family))
    return found


def _sharing_keys(names: Collection[str]) -> dict[str, list[Hashable]]:
    """For each name some keys, of which two that are similar have one in common: the name in one word, and
    its rarest shingles, so many that who has none of them lacks too much of it."""
    counts = Counter(shingle for name in names for shingle in _shingles(folded(name)))
    found: dict[str, list[Hashable]] = {}
    for name in names:
        flat = folded(name)
        ranked = sorted(_shingles(flat), key=lambda shingle: (counts[shingle], shingle))
        rarest = ranked[: len(ranked) - math.ceil(THRESHOLD * len(ranked) - _ROUNDING) + 1]
        shared: list[Hashable] = [flat.replace(" ", ""), *((marks(name), shingle) for shingle in rarest)]
        found[name] = shared if _telling(flat) else []
    return found


_IDENTITY = "="  # before an identity among the search terms of names, which are letters and digits
_KINDS = "email mail phone telephone tel mobile fax iban isbn url uri website homepage handle username login"
_ANYWHERE = frozenset(_KINDS.split())  # in the name of an attribute
_AT_ITS_END = frozenset({"id", "number", "no", "nr", "address", "account", "serial"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WRITTEN_APART = re.compile(r"[\s()\[\]-]+|^https?://(?:www\.)?|/+$|^#")
_OWN = frozenset({"id", "number", "no", "nr"})
_SHORTEST = 4  # characters; not longer than a token
_FIGURES = 4  # of a word of a name
_IDENTITIES = 32  # of one entity
_UNTOLD = frozenset({"none", "null", "unknown", "n/a"})


def identities(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The search terms of those attributes that tell who or what it is, each with the attribute's name."""
    found: dict[str, str] = {}
    for name, value in sorted(attributes.items()):
        for each in _texts(value) if _tells(name) else ():
            term = _term(each)
            if term and len(found) < _IDENTITIES:
                found.setdefault(term, name)
    return found


def lost_identities(before: Entity, after: Entity) -> set[str]:
    """The search terms of attributes by which an entity is found no more."""
    lost = identities(before.attributes).keys() - identities(after.attributes).keys()
    return lost - identities_in(after.name)


def identities_in(name: str) -> frozenset[str]:
    """The search terms of words of a name that look like a number or an address, of runs of them together."""
    words = [word.strip(".,;:()<>#") for word in normalise(name).split()]
    runs = ("".join(run) for numbers, run in groupby(words, _has_digits) if numbers)
    return frozenset(term for each in (*words, *runs) if _is_figures(each) and (term := _term(each)))


def identity_terms(word: str) -> frozenset[str]:
    """The search term of a word that may be an id: one with a figure, or an address."""
    term = _term(word) if "@" in word or _has_digits(word) else ""
    return frozenset({term} if term else ())


def own_ids(attributes: Mapping[str, Any]) -> frozenset[str]:
    """The search terms of the ids that are its own; a customer's number among those of an order is none."""
    own = [each for name, value in attributes.items() if name.lower() in _OWN for each in _texts(value)]
    return frozenset[str]().union(*map(id_term, own))


def id_term(name: str) -> frozenset[str]:
    """The search term of a name that is nothing but an id: one word with letters and figures, or of at least
    five figures."""
    words = plain(name).split()
    if len(words) != 1 or not _has_digits(name) or (name.isdigit() and len(name) <= _FIGURES):
        return frozenset()
    return identity_terms(words[0])


def told_identities(attributes: Mapping[str, Any]) -> str:
    """The attributes that tell who or what it is, in words."""
    names = dict.fromkeys(identities(attributes).values())
    return ", ".join(f"{name}: {'; '.join(_texts(attributes[name]))}" for name in names)


def search_terms(delta: GraphDelta) -> set[tuple[str, str]]:
    """By which terms entities are found from here on: (term, entity uuid)."""
    found = {(term, uuid) for key, uuid in delta.names.items() for term in name_terms(key)}
    found |= {(WITH_NAME, entity.uuid) for entity in delta.entities if is_speaker(entity)}
    return found | {(term, e.uuid) for e in delta.entities for term in identities(e.attributes)}


def name_terms(key: str) -> frozenset[str]:
    """By which terms whatever bears a name is found."""
    return name_tokens(key) | identities_in(key)


def _tells(attribute: str) -> bool:
    words = [word.lower() for word in _WORD.findall(attribute)]
    words = [word if word in _AT_ITS_END else word.removesuffix("s") for word in words]
    return bool(words) and (words[-1] in _AT_ITS_END or not _ANYWHERE.isdisjoint(words))


def _texts(value: Any) -> Iterator[str]:
    """The values that can be compared."""
    values: Iterable[Any] = value if isinstance(value, list) else (value,)
    for each in values:
        if isinstance(each, float) and each.is_integer():
            yield str(int(each))
        elif isinstance(each, (str, int)) and not isinstance(each, bool):
            yield str(each)


def _term(text: str) -> str:
    """Empty where it is too short, too long, or says nothing."""
    flat = _WRITTEN_APART.sub("", normalise(text))
    fits = _SHORTEST <= len(flat) <= _LONGEST and flat not in _UNTOLD
    return _IDENTITY + flat if fits else ""


def _has_digits(word: str) -> bool:
    return any(each.isdigit() for each in word)


def _is_figures(word: str) -> bool:
    return "@" in word or sum(each.isdigit() for each in word) >= _FIGURES
