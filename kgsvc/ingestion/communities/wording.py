"""Names and summaries composed from what is known, without a model: the same for the same graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgsvc.domain.text import normalise

NAME_CHARS = 80
SUMMARY_CHARS = 500
_NAMED = 3  # hubs in a name
_CUT = "…"


def name_of(hubs: Sequence[str]) -> str:
    """A name from those of the most connected members: "Ada, Acme and Bob", as many as have room."""
    best = _shortened(hubs[0], NAME_CHARS) if hubs else ""
    for count in range(2, min(len(hubs), _NAMED) + 1):
        longer = f"{', '.join(hubs[: count - 1])} and {hubs[count - 1]}"
        if len(longer) > NAME_CHARS:
            break
        best = longer
    return best


def summary_of(sentences: Iterable[str]) -> str:
    """As many whole sentences, each once, as have room; of a first one that has none its beginning."""
    taken: list[str] = []
    seen: set[str] = set()
    room = SUMMARY_CHARS
    for sentence in map(_closed, sentences):
        if not sentence or normalise(sentence) in seen:
            continue
        if len(sentence) <= room:
            taken.append(sentence)
            seen.add(normalise(sentence))
            room -= len(sentence) + 1
        elif not taken:
            return _shortened(sentence, SUMMARY_CHARS)
    return " ".join(taken)


def _closed(sentence: str) -> str:
    """The sentence on one line, with a full stop."""
    plain = " ".join(sentence.split())
    return plain if not plain or plain[-1] in ".!?…。！？" else f"{plain}."


def _shortened(text: str, chars: int) -> str:
    """`text` within `chars`, cut behind a word."""
    if len(text) <= chars:
        return text
    head, space, _ = text[: chars - len(_CUT)].rpartition(" ")
    return (head if space else text[: chars - len(_CUT)]) + _CUT
