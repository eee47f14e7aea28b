"""What must be so, and how something is done: "Heron must support CSV", "To open the lid, press both keys".

A requirement or a procedure is an entity named by its own words (spec 000: Requirement, Procedure). Talk is
full of "must" that requires nothing ("I must go", "it must be nice"): a person's duties, guesses and clauses
with pronouns are left as words.
"""

from __future__ import annotations

import re

from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules.claims import Found
from kgsvc.models.rules.english import FORMS, KIN, PRONOUNS
from kgsvc.models.rules.marking import Line
from kgsvc.models.rules.scene import Drafted, NodeDraft, Scene
from kgsvc.models.rules.text import word_set

_SUBJECT = r"(?P<s>we|(?:the )?N\d+|(?:the|all|every|each|our)(?: [a-z-]+){1,3}?)"
_MUST = r"(?:must(?: not| always| never)?|(?:is|are) required to|(?:has|have) to|needs? to have)"
_DEED = r"(?P<deed>(?P<verb>[a-z]+)(?: [^ .;:!?()]+){0,14}?)"
_END = r"(?: [.!])?$"
_REQUIRED = re.compile(rf"{_SUBJECT} (?P<must>{_MUST}) {_DEED}{_END}")
_IS_REQUIRED = re.compile(
    rf"(?P<deed>(?:the |an? )?(?:N\d+|[a-z-]+)(?: [a-z-]+){{0,3}}) (?:is|are) (?:required|mandatory)"
    rf"(?: (?:for|in|by) (?:the )?(?P<s>N\d+)(?: [a-z]+)?)?{_END}"
)
_FIRST_THEN = re.compile(
    rf"first ,? ?(?:you )?{_DEED.replace('<deed>', '<first>')} ,? ?(?:and )?then .{{3,200}}"
)
_TO_DO = re.compile(
    rf"to {_DEED} "
    r"(?::$|, (?:first |just |simply )?(?:you (?:can |must |need to |have to )?)?(?P<do>[a-z]+) .+)"
)
_ALWAYS = re.compile(r"always (?P<verb>[a-z]+) .{3,150} (?:when|before|after|whenever) .{3,150}")
_LONGEST = 120  # characters of the name of a requirement or a procedure
_FEELINGS = word_set(
    "tired excited bored exhausted worried pleased surprised confused delighted shocked thrilled"
)


def intent_of(line: Line, scene: Scene) -> Found | None:
    """The requirement or the procedure that a sentence states, all of it; None if it states none for sure."""
    return _requirement(line, scene) or _procedure(line, scene)


def _requirement(line: Line, scene: Scene) -> Found | None:
    match = _REQUIRED.match(line.text) or _IS_REQUIRED.match(line.text)
    if match is None or not PRONOUNS.isdisjoint(match["deed"].split(" ")):
        return None
    if match.re is _REQUIRED and not _is_deed(match["must"], match["verb"], match["deed"]):
        return None
    subject = match["s"] or ""
    if not KIN.isdisjoint(subject.split(" ")):
        return None
    named = line.name(subject.removeprefix("the ")) if "N" in subject else None
    if named is not None and named.type in ("Person", "Location"):
        return None
    whole = named is None and subject != "we" and match.re is _REQUIRED
    first = 0 if whole else line.at(match.start("deed"))
    return _found(line, scene, "REQUIRES", "Requirement", (first, line.at(match.end("deed"))), named)


def _is_deed(must: str, verb: str, deed: str) -> bool:
    """Whether something is to be done or had: "must be nice" and "must have seen it" are guesses."""
    behind = deed.split(" ")[1] if " " in deed else ""
    if must.startswith("need"):
        return True
    if verb in ("be", "have"):
        form = FORMS.get(behind)
        done = behind == "been" or (form is not None and form.participle)
        return done and behind not in _FEELINGS if verb == "be" else bool(behind) and not done
    return _is_base(verb)


def _procedure(line: Line, scene: Scene) -> Found | None:
    match = _FIRST_THEN.match(line.text) or _TO_DO.match(line.text) or _ALWAYS.match(line.text)
    if match is None:
        return None
    told = match.groupdict()
    if not _is_base(told["verb"]) or not _is_base(told.get("do") or "do"):
        return None
    whole = told.get("deed") is None
    extent = (0, len(line.starts)) if whole else (1, line.at(match.end("deed")))
    if not whole and not PRONOUNS.isdisjoint(match["deed"].split(" ")):
        return None
    return _found(line, scene, "EXPLAINS", "Procedure", extent, None)


def _is_base(word: str) -> bool:
    form = FORMS.get(word)
    return word == "do" or (form is not None and form.base)


def _found(
    line: Line, scene: Scene, relation: str, kind: str, extent: tuple[int, int], who: NodeDraft | None
) -> Found | None:
    name, source = line.words(*extent).strip(" .,:!"), who or scene.origin()
    target = scene.node(name, kind) if len(name) <= _LONGEST else None
    if source is None or target is None or target is source:
        return None
    draft = Drafted(relation, FactKind.STATE, source, target, valid_ms=scene.reference_ms)
    return Found(0, len(line.starts), (0, 1), source, [draft])
