"""Further names that a text gives itself: "call me Gus", "Harbour Credit Union (HCU)", "EX-07, known as Bob".

Each is a fact RENAMED_TO from the further name to the one that stays shown: the two become one entity.
"""

from __future__ import annotations

import re

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import FactKind
from kgsvc.domain.names.similarity import RELATED, folded
from kgsvc.models.rules.lexicon import NEVER_NAMES
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.text import READ

_AFTER = r"(?=[,.:!?;)]|\Z|\n| (?:for short|here|btw|and|at|is|was)\b)"
_ALIAS = rf"[\"'“‘]?(?P<alias>[A-Z][\w&’'-]{{1,20}}?)[\"'”’]?{_AFTER}"
_OWN = re.compile(
    rf"\b(?:calls? me|I go by|I['’]m known as|(?P<maybe>I['’]m|I am|it['’]s|this is)) {_ALIAS}"
    r"|「(?P<named>[^「」]{1,12}?)(?:さん|くん|ちゃん)?」(?:で通って|と呼ばれて|と呼んで)"
)
_WORD = r"[A-Z][\w'’&-]{0,30}"
_FULL = rf"(?P<full>{_WORD}(?: (?:of |and |for |the )?{_WORD}){{0,5}})"
_INITIALS = re.compile(rf"\b(?:The )?{_FULL} \([\"“]?(?P<alias>[A-Z][A-Za-z&]{{1,9}})[\"”]?\)")
_KNOWN_AS = r"(?:also |better |commonly |otherwise )?(?:known as|a\.?k\.?a\.?|nicknamed)"
_THEY_CALL = r"(?:which|whom|who) (?:\w{1,20} ){1,4}calls?"
_CALLED = re.compile(rf"\b(?:The )?{_FULL}(?:,| \() ?(?:{_KNOWN_AS}|{_THEY_CALL}) {_ALIAS}")
_ENDS = (".", "!", "?", "。", "\n")


def read_aliases(scene: Scene, text: str) -> None:
    """Add the further names that a text gives to its speaker and to what it names."""
    text, speaker = text[:READ], scene.speaker
    for match in _OWN.finditer(text) if speaker is not None else ():
        alias = match["named"] or match["alias"]
        if speaker is not None and (not match["maybe"] or _is_form(alias, speaker.name)):
            _add(scene, alias, speaker, match)
    for match in _CALLED.finditer(text):
        _add(scene, match["alias"], scene.found(match["full"]), match)
    for match in _INITIALS.finditer(text):
        initials = "".join(word[0] for word in match["full"].split() if word[0].isupper())
        if match["alias"].upper() == initials:
            _add(scene, match["alias"], scene.found(match["full"]), match)


def _is_form(alias: str, name: str) -> bool:
    """Whether it is a first name cut short or a usual nickname."""
    first, short = folded(name).partition(" ")[0], folded(alias)
    ends = len(short) > 2 and (first.startswith(short) or first.endswith(short))
    return ends or first in RELATED.get(short, ())


def _add(scene: Scene, alias: str, full: NodeDraft | None, match: re.Match[str]) -> None:
    node = scene.node(alias, full.type) if full is not None and alias.lower() not in NEVER_NAMES else None
    if node is None or full is None or node is full:
        return
    prefix = f"{scene.speaker.name}: " if scene.speaker is not None else ""
    fact = f"{prefix}{_sentence(match)}"[: scene.limits.fact]
    scene.add(ExtractedEdge("RENAMED_TO", fact, node.ref, full.ref, scene.reference_ms, kind=FactKind.EVENT))


def _sentence(match: re.Match[str]) -> str:
    """The sentence in which it stands."""
    text = match.string
    start = max(text.rfind(end, 0, match.start()) for end in _ENDS) + 1
    ends = [at for end in _ENDS if (at := text.find(end, match.end())) >= 0]
    return text[start : min(ends, default=len(text)) + 1].strip()
