"""Whether a question asks about the past: by its words, in English, German and Japanese.

Words such as "previous" or "no longer" say so whatever else stands there. A verb in the past says little
beside a word such as "now".
"""

from __future__ import annotations

import re
from dataclasses import replace

from kgsvc.search.filters import Filters
from kgsvc.search.times import named_times, words_of_times

_CHARS = 1_000  # of a question that are looked at
_WORD = re.compile(r"[^\W\d_]+(?:['’]t)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PHRASES = re.compile(
    r"(?ix) \b(?: before(?=\W*\Z|\s+(?:that|then|this|the\ (?:current|present|new|latest))\b)"
    r"|used\ to|back\ then|at\ first|no\ longer|any\ more|had\ been|in\ the\ past|nicht\ mehr"
    r"|last\ (?:week|month|year|spring|summer|autumn|fall|winter)"
    r"|letzte[nrs]?\ (?:woche|monat|jahr|frühling|sommer|herbst|winter)"
    r"|vor\ (?:\w{1,20}\ )?(?:jahr|monat|woche|tag)(?:en|e|n)? )\b"
    r"|以前|(?<![名駅午手直])前[はのにも]|かつて|当時|昔|元々|もともと|最初は|先月|先週|昨年|去年|昨日|もう\w{0,12}?(?:ない|ません)"
)
_ALWAYS = _words(
    "previous previously prior former formerly earlier originally initially anymore ago yesterday "
    "früher früherer frühere früheren früheres vorher vorherige vorherigen vorheriger zuvor damals "
    "damalige damaligen damaliger ehemals ehemalige ehemaligen ehemaliger einst vormals ursprünglich "
    "ursprüngliche anfangs zunächst gestern"
)
_NOW = _words(
    "now current currently still today nowadays presently latest jetzt heute derzeit derzeitige "
    "derzeitigen aktuell aktuelle aktuellen aktueller momentan gegenwärtig zurzeit noch inzwischen"
)
_NOW_PHRASES = re.compile(
    r"(?i)\b(?:these days|at present|at the moment|so far)\b"
    r"|今(?!まで)|現在|最新|(?<![てでし])いま(?![すしせ])"
)

_AUXILIARY = _words("was were did had wasn't weren't didn't hadn't wasn’t weren’t didn’t hadn’t")
_ASKING = {"who": 1, "what": 1, "which": 2, "whose": 2, "many": 2}  # how soon behind it a verb may stand
_IRREGULAR = _words(
    "ran led owned held wrote taught paid said told met gave took went came left kept knew made bought "
    "sold chose began became lost won spoke drove flew stood sat grew wore drew built sent spent "
    "brought found got saw ate broke rode slept thought fell felt heard cost"
)
_PRESENT = _words("is are am be been being has have do does can will should must")

# Function words that tell the two languages apart.
_ENGLISH_WORDS = _words("the a an of to for who what which whose where when how did does is are has")
_GERMAN_WORDS = _words(
    "der die das den dem des ein eine einen ist sind hat habe haben wer wie wo wann wem wen wohin woher "
    "warum wessen welche welcher welches welchen welchem ich wir uns er sie es nicht im am von mit und "
    "für auf zu sich"
)
_GERMAN = _words(
    "war waren warst wart wurde wurden wurdest hatte hatten hattest hieß hießen gab gaben ging gingen "
    "kam kamen trug sprach verließ begann schrieb fuhr fuhren lag lagen stand hielt traf bekam verlor "
    "gewann trank zog zogen"
)
_PRETERITE = re.compile(r"[a-zäöüß]{2,}(?:[^aeiouäöüh]|[td]e)ten?")  # wohnte, leiteten
_NO_PRETERITE = _words(
    "bitte heute erste ersten letzte letzten nächste nächsten beste besten möchte möchten könnte "
    "könnten sollte sollten müsste müssten dürfte wollte hätte hätten alte alten gute guten weiteste "
    "meiste meisten geplante geplanten bekannte bekannten welche älteste ältesten neueste neuesten "
    "größte größten späteste früheste höchste konkrete gesamte gesamten genannte genannten verwandten "
    "bestimmte bestimmten arbeiten leiten kosten raten warten halten enthalten erhalten starten testen "
    "vertreten bieten anbieten beraten bewerten verwalten berichten"
)
_HAVE = _words("habe hast hat haben habt")
_BE = _words("bin bist ist sind seid")
_PARTICIPLE = re.compile(r"[a-zäöüß]*ge[a-zäöüß]{2,}(?:t|en)|(?:be|ver|ent|er|zer)[a-zäöüß]{3,}(?:t|en)")
_MOVED = re.compile(
    r"[a-zäöüß]*(?:gezogen|gegangen|gekommen|geworden|gewesen|gefahren|geflogen|geblieben|gestorben|gewechselt|gereist"
    r"|gestiegen|getreten|passiert|geschehen)"
)
_JAPANESE = re.compile(
    r"(?:でし|だっ|まし|なかっ)た|[っいしきえけせてねべめれげりちびみん]だ?た(?=の|ん|か|[?？。\s]|時|とき|頃|ころ|人|店|会社|\Z)"
    r"|[んい]だ(?=の|[?？]|とき|時|頃|人)"
)


def of_question(filters: Filters, question: str) -> Filters:
    """The filters of a question: where it asks about the past and they say nothing of when facts must hold,
    facts that have ended count too; where it names a month or a day, those that held then."""
    if not filters.unasked or not asks_past(question):
        return filters
    return replace(filters, past=tuple(each for each in named_times(question) if each.month))


def words_of_when(question: str, filters: Filters) -> str:
    """The words by which a question says of when it asks: they are not what it asks about. Those of times are
    it only where filters say so, too; else a text may have them."""
    text = question[:_CHARS]
    times = words_of_times(text) if filters.past or filters.true_at_ms is not None else ""
    now = [word for word in _WORD.findall(text) if word.lower() in _NOW]
    phrases = [match.group() for match in _NOW_PHRASES.finditer(text)]
    return " ".join([times, *now, *phrases])


def asks_past(question: str) -> bool:
    """Whether a question is worded about the past."""
    text = question[:_CHARS]
    spelled = _WORD.findall(text)
    words = [word.lower() for word in spelled]
    if _PHRASES.search(text) or not _ALWAYS.isdisjoint(words):
        return True
    if not _NOW.isdisjoint(words) or _NOW_PHRASES.search(text):
        return False
    if _JAPANESE.search(text):
        return True
    german = sum(map(_GERMAN_WORDS.__contains__, words)) > sum(map(_ENGLISH_WORDS.__contains__, words))
    return _in_german(spelled, words) if german else _in_english(words)


def _in_english(words: list[str]) -> bool:
    """Was, did, had; or "who led", "which team led": a verb in the past soon behind the asking word."""
    if not _AUXILIARY.isdisjoint(words):
        return True
    if not _PRESENT.isdisjoint(words):
        return False
    soon = ((at + _ASKING[word], words) for at, word in enumerate(words) if word in _ASKING)
    return any(_told(word) for at, words in soon for word in words[at : at + 2])


def _told(word: str) -> bool:
    return word in _IRREGULAR or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))


def _in_german(spelled: list[str], words: list[str]) -> bool:
    """Wohnte; hat gewohnt; ist gezogen. Nouns begin with a capital."""
    if not _GERMAN.isdisjoint(words):
        return True
    small = [word for word in spelled if word[0].islower()]
    if not _HAVE.isdisjoint(words) and any(map(_PARTICIPLE.fullmatch, small)):
        return True
    if not _BE.isdisjoint(words) and any(map(_MOVED.fullmatch, small)):
        return True
    return any(_PRETERITE.fullmatch(word) and word not in _NO_PRETERITE for word in small)
