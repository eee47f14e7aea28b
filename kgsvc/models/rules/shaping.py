"""Which relation a claim states, by its words and its ends: one joins a club or a company."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules import english as en
from kgsvc.models.rules.relations import RelationClaim, screaming
from kgsvc.models.rules.scene import NodeDraft
from kgsvc.models.rules.text import word_set

Shaped = tuple[RelationClaim, NodeDraft, NodeDraft]  # the claim, and what it goes from and to
SINGLE_KIN = word_set("wife husband spouse mother father mom mum dad boss manager mentor fiance fiancee")
_ALSO = re.compile(
    r"\b(?:also|too|as well|part-time|part time|on (?:the )?(?:weekends|side)"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)days"
    r"|besides|additionally|in addition|on top|second job|both|as well as)\b"
)
_GROUPS = word_set(
    "club team gym band group party program programme class course league choir society church"
)
_FIRMS = word_set("inc corp corporation ltd llc gmbh ag plc company bank")
_PETS = word_set("dog cat puppy kitten pet")
_RACES = word_set("marathon race relay triathlon half 5k 10k")
_NAMED = en.GIVEN_NAMES | word_set("assistant ai bot agent")
_ONCE = {  # what is done once, with somebody and to an assembly: "joined the Whigs in a league"
    "MEMBER_OF": re.compile(r" in (?:an?|[a-z]+ing) "),
    "REPORTS_TO": re.compile(r"(?: on T\d+)?(?: ,)? that "),
}


def shaped(
    claim: RelationClaim,
    match: re.Match[str],
    words: str,
    source: NodeDraft,
    target: NodeDraft,
    *,
    spoken: bool,
) -> Shaped | None:
    """The claim with its relation settled, if its ends may be what it asks for. `words`: of the whole
    clause, in lower case; `spoken`: somebody speaks it."""
    groups = match.groupdict()
    once = (behind := _ONCE.get(claim.relation)) and behind.match(match.string, match.end())
    words_of_source = source.name.lower().split()
    # "I'm Bobby", says Bob; and a model writes what others may say
    named = claim.relation == "HAS_NAME" and words_of_source[0] in _NAMED
    raced = claim.relation == "LED_BY" and words_of_source[-1] in _RACES  # "ran the Boston Marathon"
    if once or named or raced:
        return None
    if claim.relation in ("ROLE", "HAS"):
        fitting = all(map(is_of, (source, target), claim.types))
        return _role(claim, groups, words, source, target) if fitting else None
    joined, last = claim.relation == "MEMBER_OF", target.name.lower().split()[-1]
    employs = last not in _GROUPS if spoken else last in _FIRMS
    if joined and target.type == "Organization" and employs:
        kind = FactKind.FUNCTIONAL
        claim = replace(claim, relation="WORKS_AT", kind=kind, types=("Person", "Organization"))
    elif joined:
        place = target.type in ("Location", "Person") or target.name.lower() in en.PLACES
        written = claim.how != "state" and not spoken  # "left Messina"
        if place or (written and target.type == "Entity"):
            return None
    by = " by " in match[0] and claim.how == "begin"  # "is hired by Henry Dahl"
    vague = target.type == "Entity" and not spoken and by
    if vague or not all(map(is_of, (source, target), claim.types)):
        return None
    if claim.relation == "LIVES_IN" and groups.get("s") == "we" and target.type == "Entity":
        return None  # "we moved to Trello"
    for draft, kinds in zip((source, target), claim.types, strict=True):
        if kinds == "Person" and _may_be_person(draft):
            draft.type = kinds
        draft.specify(kinds if kinds.isalpha() else "")
    if claim.kind is FactKind.FUNCTIONAL and (several(groups) or _ALSO.search(words)):
        claim = replace(claim, kind=FactKind.STATE)
    return claim, source, target


def _role(
    claim: RelationClaim,
    groups: dict[str, str | None],
    words: str,
    source: NodeDraft,
    target: NodeDraft,
) -> Shaped | None:
    role = (groups.get("role") or "").split(" ")[-1]
    article, preposition = (groups.get("article") or "").strip(), groups.get("prep")
    if claim.relation == "HAS":
        single = role in SINGLE_KIN or role not in en.KIN
        target.specify(type_of_kin(role) if role in en.KIN else "")
        kind = FactKind.FUNCTIONAL if single else FactKind.STATE
        return replace(claim, relation=screaming(f"HAS_{_one(role)}"), kind=kind), source, target
    if preposition in ("at", "with", "for", "in") and article in ("", "a", "an"):
        if target.type not in ("Organization", "Entity") or source.type not in ("Person", "Entity"):
            return None
        if role in ("student", "pupil", "graduate"):
            return None
        target.specify("Organization")
        source.specify("Person")
        kind = FactKind.STATE if _ALSO.search(words) else FactKind.FUNCTIONAL
        return replace(claim, relation="WORKS_AT", kind=kind), source, target
    single = article in ("", "the", "our") and role != "member"
    kind = FactKind.FUNCTIONAL if single else FactKind.STATE
    turned = replace(claim, relation=screaming(f"HAS_{role}"), kind=kind, source="o", target="s")
    return turned, target, source


def _one(role: str) -> str:
    """ "kids" → kid; a boss is one already."""
    return {"children": "child", "puppies": "puppy"}.get(role) or (
        role[:-1] if role.endswith("s") and not role.endswith("ss") else role
    )


def type_of_kin(role: str) -> str:
    """What one's wife, boss, cat or company is."""
    if role in ("company", "team"):
        return "Organization"
    return "Animal" if _one(role) in _PETS else "Person"


def several(groups: Mapping[str, str | None]) -> str:
    """What stands beside the object: "A, B and C"; but in "Elm Street, Bern" one is in the other."""
    more = groups.get("more") or groups.get("more2") or ""
    return more if " and " in more else ""


def _may_be_person(draft: NodeDraft) -> bool:
    """Of a place whether people are called so, too: Sofia, Charlotte."""
    return draft.type == "Location" and draft.name.lower() in en.GIVEN_NAMES


def is_of(draft: NodeDraft, kinds: str) -> bool:
    """Whether it is of one of these kinds, or after "!" of none. What is of no known kind may be of any but
    after "="; a place or person only if it is written like one."""
    if kinds[:1] in ("!", "="):
        return (draft.type in kinds[1:].split("/")) is (kinds[0] == "=")
    if kinds == "Person" and _may_be_person(draft):
        return True
    if draft.type == "Entity" and kinds == "Location":
        return all(word[1:].islower() for word in re.split("[ -]", draft.name))
    if draft.type == "Entity" and kinds == "Person":
        return not (draft.name.isupper() or any(map(str.isdigit, draft.name)))
    return not kinds or draft.type in ("Entity", *kinds.split("/"))
