"""Whom and what animals somebody has, as a sentence says beside its claims: "my wife Anna", "our dog Rex"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.models.rules import english as en
from kgsvc.models.rules.claims import Claims
from kgsvc.models.rules.patterns import alternatives
from kgsvc.models.rules.relations import screaming
from kgsvc.models.rules.scene import Drafted, Told
from kgsvc.models.rules.shaping import SINGLE_KIN, type_of_kin
from kgsvc.models.rules.tenses import told_at

_DIED = re.compile(r" (?:just |sadly |finally )?(?:died|passed away|was put down)(?= |$)")
_PARTED = re.compile(r"(?:(?:broke|broken|split) up with|divorced) \Z")
_WHICH = "(?:best |old |close |good |older |younger |little |big |twin )?"
_KIN = re.compile(
    rf"(?<![^ ])(?:my|our|(?P<of>N\d+) 's) {_WHICH}(?P<role>{alternatives(en.KIN)}) ,? ?(?P<o>N\d+)(?![^ ])"
)


def asides(claims: Claims) -> Iterator[Told]:
    """A short fact for each, in a line that somebody speaks."""
    line, scene = claims.line, claims.scene
    for match in _KIN.finditer(line.text) if scene.speaker is not None else ():
        target, role = line.name(match["o"]), match["role"]
        whose = line.name(match["of"]) if match["of"] else scene.speaker
        several = role.endswith("s") and role != "boss"  # "my friends Ann, Ben"
        if whose and target and target is not whose and not several and claims.sure(match.start()):
            kind = FactKind.FUNCTIONAL if role in SINGLE_KIN else FactKind.STATE
            target.specify(type_of_kin(role))
            draft = Drafted(screaming(f"HAS_{role}"), kind, whose, target)
            yield _aside(claims, draft, role, match)


def _aside(claims: Claims, draft: Drafted, role: str, match: re.Match[str]) -> Told:
    """Who somebody has, or an animal that is no more."""
    whose, name, now = f"{draft.source.name}'s {role}", draft.target.name, claims.scene.reference_ms
    if type_of_kin(role) == "Animal" and _DIED.match(match.string, match.end("o")):
        over = draft._replace(polarity=Polarity.ENDS, valid_ms=told_at(claims.line.times, now))
        return over, f"{whose} {name} has died."
    if _PARTED.search(match.string, 0, match.start()):
        over = draft._replace(polarity=Polarity.ENDS, valid_ms=told_at(claims.line.times, now))
        return over, f"{whose} is no longer {name}."
    return draft._replace(valid_ms=now), f"{whose} is {name}."
