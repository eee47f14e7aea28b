"""Sentences of other scripts and languages than English: what they name, and for Japanese some relations.

Their words are kept as they are. Names are told by quotes, titles such as さん, endings such as 部 and
株式会社, capitals where a script has them.
"""

from __future__ import annotations

import re

from kgsvc.models.rules.claims import Drafted
from kgsvc.models.rules.japanese import KANJI, Japanese, japanese_times
from kgsvc.models.rules.scene import NodeDraft, Scene
from kgsvc.models.rules.text import listed, word_set

# What is written in katakana and names nothing, and places of Japan: names by themselves.
_LOANWORDS = listed("loanwords", word_set)
_PLACES = listed("japanese_places", word_set)
_LETTERS = re.compile(r"[^\W\d_]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_GERMAN = word_set(
    "der die das und ist ich nicht ein eine mit seit wir zieht auf im den dem zu für bei unser jetzt"
)
_FRENCH = word_set("le la les et est je ne pas un une avec depuis nous du des dans pour au à passe sur")
_SPANISH = word_set("el los y es yo una con desde nosotros del en para por que vivo trabajo mi")


def foreign(sentence: str) -> bool:
    """Whether a sentence is not to be read as English."""
    if sentence.isascii() and len(sentence) < 20:
        return False
    letters = _LETTERS.findall(sentence) if not sentence.isascii() else []
    if letters and sum(char > "\u024f" for char in letters) * 3 > len(letters):
        return True
    words = sentence.lower().replace("'", " ").split()
    return any(
        sum(word in known for word in words) * 4 > len(words) for known in (_GERMAN, _FRENCH, _SPANISH)
    )


_PERSON = r"[\u4e00-\u9fff々]{1,4}|[ァ-ヶー]{2,8}|[ぁ-ん]{1,3}(?=ちゃん)"
_PLACE = "|".join(sorted(_PLACES, key=len, reverse=True))
_NAMES = re.compile(
    rf"「(?P<quoted>[^「」、。？！\s]{{1,15}})」|『(?P<titled>[^『』。]{{1,30}})』|“(?P<marked>[^”]{{1,15}})”"
    rf"|(?P<person>{_PERSON})(?:さん|くん|ちゃん|氏|様|先輩|先生|小姐)"
    rf"|(?P<company>株式会社{KANJI}{{1,10}}|{KANJI}{{1,10}}(?:株式会社|銀行|大学|印刷|病院|公司)"
    r"|(?:(?<=^)|(?<=[、。\s]))[ぁ-ん]{2,4}堂)"
    rf"|(?P<event>{KANJI}{{1,8}}(?:まつり|祭り?|旅行|大会|総会|見本市|展示会|説明会|合宿)(?![\u4e00-\u9fff]))"
    rf"|(?P<branch>(?:{_PLACE})(?:本|支)?(?:店|支社|営業所|工場)(?!長))"
    rf"|(?P<unit>{KANJI}{{1,6}}(?:部|室|課)(?![\u4e00-\u9fff]))"
    rf"|(?P<place>{_PLACE})"
    r"|(?P<latin>(?:[A-ZÀ-ÞА-ЯΑ-Ω][\w'’-]+)(?:\ [A-ZÀ-ÞА-ЯΑ-Ω][\w'’-]+){0,3})"
    r"|(?P<loan>(?<![\u4e00-\u9fffァ-ヶー])[ァ-ヶー]{3,12}(?:・[ァ-ヶー]{2,12}){0,2})"
    r"|(?P<korean>[\uac00-\ud7af]{2,4})\ ?(?:씨|님)"
)
_TITLE = re.compile(r"(?:さん|くん|氏)\Z")
_QUOTED_SPEECH = re.compile(r"「[^「」]*[、。？！][^「」]*」")
_KINDS = {"person": "Person", "company": "Organization", "unit": "Organization", "place": "Location"}
_KINDS |= {"korean": "Person", "event": "Event", "branch": "Organization"}
_BEFORE_CAPITAL = word_set("in nach aus bei frau herr à en projet projet de con")


def read_foreign(sentence: str, scene: Scene) -> tuple[list[NodeDraft], list[Drafted], int | None]:
    """The names of a sentence, what it claims, and the day that it tells of."""
    heard = [match.span() for match in _QUOTED_SPEECH.finditer(sentence)]
    names: list[tuple[int, int, NodeDraft]] = []
    for match in _NAMES.finditer(sentence):
        if any(start <= match.start() < end for start, end in heard):
            continue
        draft = _named(sentence, match, scene)
        if draft is not None:
            names.append((*match.span(), draft))
    drafts = [draft for _, _, draft in names]
    if not _KANA.search(sentence):
        return drafts, [], None
    times = japanese_times(sentence, scene.reference_ms)
    told = next((ms for _, _, ms in times if ms <= scene.reference_ms), None)
    return drafts, list(Japanese(sentence, scene, names, times).claims()), told


def _named(sentence: str, match: re.Match[str], scene: Scene) -> NodeDraft | None:
    kind = str(match.lastgroup)
    text = _TITLE.sub("", match[kind]) or match[kind]
    if kind == "latin" and not _is_name(sentence, match, text):
        return None
    if kind == "loan" and text in _LOANWORDS:
        return None
    if kind == "person" and not sentence[: match.start()].endswith("の"):
        fitting = [name for name in scene.people if name.startswith(text) or name.endswith(text)]
        text = fitting[0] if len(fitting) == 1 else text
    return scene.named(text, _KINDS.get(kind, "Entity"))


def _is_name(sentence: str, match: re.Match[str], text: str) -> bool:
    """Capitals tell a name inside a sentence, or where several words have one; German nouns have them too."""
    words = sentence[: match.start()].split()
    before = words[-1].lower() if words else ""
    if " " in text:
        return True
    german = not _GERMAN.isdisjoint(sentence.lower().split())
    return bool(before) and (not german or before in _BEFORE_CAPITAL) and before[-1:] not in ".!?"
