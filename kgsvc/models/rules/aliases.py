"""Further names that a sentence defines: "call me Gus", "Harbour Union (HCU)", "MX-40, known as Bob"."""

from __future__ import annotations

import re

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import FactKind
from kgsvc.models.rules import english as en
from kgsvc.models.rules.scene import NodeDraft, Scene

_AFTER = r"(?=[,.:!?;)]|\Z|\n| (?:for short|here|btw|and|at|is|was)\b)"
_ALIAS = rf"[\"'“‘]?(?P<alias>[A-Z][\w&’'-]{{1,20}}?)[\"'”’]?{_AFTER}"
_SIGNS = re.compile(r"[Cc]alls? me|I['’ ]|」|\(|known as|a\.?k\.?a|nicknamed|calls? [A-Z\"“]")
_NEVER = r"(?<!n['’]t )(?<!\bnot )(?<!ever )"  # "don't call me Liz"
_OWN = re.compile(
    rf"\b(?:{_NEVER}[Cc]alls? me|I go by|I['’]m known as) {_ALIAS}"
    r"|「(?P<named>[^「」]{1,12}?)(?:さん|くん|ちゃん)?」(?:で通って|と呼ばれて|と呼んで)"
)
_WORD = r"[A-Z][\w'’&-]{0,30}"
_FULL = rf"(?P<full>{_WORD}(?: (?:of |and |for |the )?{_WORD}){{0,5}})"
_BRACKETED = re.compile(rf"\b(?:The )?{_FULL} \([\"“]?(?P<alias>[A-Z][A-Za-z&]{{1,9}})[\"”]?\)")
_KNOWN_AS = r"(?:also |better |commonly |otherwise )?(?:known as|a\.?k\.?a\.?|nicknamed)"
_THEY_CALL = r"which the [a-z]{2,20} calls?"
_CALLED = re.compile(  # "the Book of St. John (a.k.a. X)" tells of the book
    rf"(?<!of )(?<!\. )\b(?:The )?{_FULL}(?:,| \() ?(?:{_KNOWN_AS}|{_THEY_CALL}) {_ALIAS}"
)


def read_aliases(scene: Scene, sentence: str) -> None:
    """Add the further names that a sentence gives to its speaker and to what it names. Each is a fact
    RENAMED_TO the name that stays shown: the two become one entity."""
    if _SIGNS.search(sentence) is None:
        return
    for match in _OWN.finditer(sentence) if scene.speaker is not None else ():
        alias = match["named"] or match["alias"]
        _add(scene, alias, scene.speaker, sentence)
    for match in (*_CALLED.finditer(sentence), *_BRACKETED.finditer(sentence)):
        initials = "".join(word[0] for word in match["full"].split() if word[0].isupper())
        if match.re is _CALLED or match["alias"].upper() == initials:
            _add(scene, match["alias"], scene.found(match["full"]), sentence)


def _add(scene: Scene, alias: str, full: NodeDraft | None, sentence: str) -> None:
    low = alias.lower()
    ordinary = low in en.CALENDAR or low in en.COMMON or low in en.STOP  # "call me Monday"
    node = None if full is None or ordinary else scene.node(alias, full.type)
    if node is not None and full is not None and node is not full:
        fact = f"{scene.speaker.name}: {sentence}" if scene.speaker is not None else sentence
        ends, now = (node.ref, full.ref), scene.reference_ms
        scene.add(ExtractedEdge("RENAMED_TO", fact, *ends, now, kind=FactKind.EVENT))
