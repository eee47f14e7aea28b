"""Common nouns worth a node: what a phrase without a name is about, and what a sentence is about most."""

from __future__ import annotations

from collections.abc import Sequence

from kgsvc.llm.offline.lexicon import COMMON, DEMONYMS, STOP, VAGUE
from kgsvc.llm.offline.lists import word_set
from kgsvc.llm.offline.phrases import DET, GEN, NOUN, NUM, POSS, VERB, Unit
from kgsvc.llm.offline.verbs import verb

CONTAINERS = word_set(
    """
    photograph photography image screenshot series group pair cup glass piece copy type
    """
)
_LEADS = frozenset({DET, POSS, NUM, GEN})
_LONGEST = 4  # words of a topic


def topic_of(units: Sequence[Unit], sentence: str) -> str:
    """What a noun phrase without a name is about: its nouns, without articles and numbers; "" if vague.

    Of "3 senior team members" that is "senior team members"; of "a bunch of new songs" "new songs".
    """
    words: list[str] = []
    for unit in units:
        if unit.tag == NOUN:
            words.append(_written(unit, sentence))
        elif unit.tag == GEN and words:
            words[-1] += "'s"
        elif unit.low == "of" and all(word.lower() in VAGUE or word.lower() in CONTAINERS for word in words):
            words = []
        elif unit.low == "of":
            break
    while words and words[0].lower() in STOP:
        words.pop(0)
    if all(word.lower() in VAGUE or len(word) < 2 for word in words):
        return ""
    return " ".join(words[-_LONGEST:])


def salient_topic(units: Sequence[Unit], sentence: str) -> str:
    """The most telling run of nouns in a sentence; failing that its longest word that is no stop word."""
    best, best_score = "", 0.0
    at = 0
    while at < len(units):
        end = at
        before = units[at - 1].tag if at else ""
        while (
            end < len(units)
            and units[end].tag == NOUN
            and (before in _LEADS or not _only_verb(units[end].low))
        ):
            end += 1
        if end > at:
            topic = topic_of(units[at:end], sentence)
            score = min(3, end - at) + (0.5 if before in _LEADS else 0.0)
            if topic and score > best_score:
                best, best_score = topic, score
        at = max(end, at + 1)
    return best or _longest_word(units, sentence)


def content_words(units: Sequence[Unit]) -> int:
    """How many words carry content: nouns, names and full verbs that are not vague."""
    return sum(
        unit.low not in VAGUE and len(unit.low) > 1
        for unit in units
        if unit.tag in (NOUN, VERB) or unit.name is not None
    )


def _only_verb(low: str) -> bool:
    """A verb that the reading took for a noun: "get creative"."""
    form = verb(low)
    return form is not None and not form.ing and low not in COMMON and low.removesuffix("s") not in COMMON


def _written(unit: Unit, sentence: str) -> str:
    """As written where capitals mean something (LGBTQ, iPhone), else in lower case."""
    text = sentence[unit.start : unit.end]
    return text if unit.low in DEMONYMS or any(char.isupper() for char in text[1:]) else text.lower()


def _longest_word(units: Sequence[Unit], sentence: str) -> str:
    words = [_written(unit, sentence) for unit in units if unit.tag == NOUN]
    words = [word for word in words if word.lower() not in VAGUE and len(word) > 2]
    return max(words, key=len, default="")
