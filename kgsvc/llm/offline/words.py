"""Words and marks of a sentence, with their places in it. Linear in the length of the text."""

from __future__ import annotations

import re
from typing import NamedTuple

# Each alternative begins with another character or repeats with a separator that its words exclude.
_TOKEN = re.compile(
    r"https?://[^\s<>\"]+"
    r"|(?:[A-Z]\.){2,}"
    r"|\d+(?:[.,:/]\d+)+"
    r"|[^\W_]+(?:[-'’.@&+_/][^\W_]+)*[+#]{0,2}"
    r"|\.{2,}|--+|([^\w\s])\1{2,}|[^\w\s]|_+"
)
_CLITIC = re.compile(r"(?i)(n['’]t|['’](?:s|m|re|ve|ll|d))\Z")
_SLANG = {
    "im": ("i", "'m"),
    "ive": ("i", "'ve"),
    "dont": ("do", "n't"),
    "didnt": ("did", "n't"),
    "doesnt": ("does", "n't"),
    "isnt": ("is", "n't"),
    "wasnt": ("was", "n't"),
    "cant": ("ca", "n't"),
    "wont": ("wo", "n't"),
    "cannot": ("can", "not"),
}
_IRREGULAR_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
_LONGEST = 200  # characters of one word that rules look at; longer runs are data, not language


class Word(NamedTuple):
    """A token. `low` is its lower case with straight apostrophes; `start`, `end` index the sentence."""

    text: str
    low: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        """Begins with an upper-case letter."""
        return self.text[0].isupper()


def words_of(sentence: str) -> list[Word]:
    """The words and punctuation marks of `sentence`; contractions are split (I|'m, do|n't, Bob|'s)."""
    found: list[Word] = []
    for match in _TOKEN.finditer(sentence):
        text, start, end = match[0], match.start(), match.end()
        low = text.lower()
        if "'" in low or "’" in low:
            _split_clitic(found, text, start, end)
        elif low in _SLANG:
            head, tail = _SLANG[low]
            cut = start + len(head)
            found.append(Word(sentence[start:cut], _IRREGULAR_STEMS.get(head, head), start, cut))
            found.append(Word(sentence[cut:end], tail, cut, end))
        elif end - start <= _LONGEST:
            found.append(Word(text, low, start, end))
    return found


def _split_clitic(found: list[Word], text: str, start: int, end: int) -> None:
    low = text.lower().replace("’", "'")
    match = _CLITIC.search(text[-4:])
    cut = end - len(match[0]) if match else end
    if match is None or cut == start:
        found.append(Word(text, low, start, end))
        return
    head = low[: cut - start]
    tail = low[cut - start :]
    if tail == "n't":
        head = _IRREGULAR_STEMS.get(head, head)
    found.append(Word(text[: cut - start], head, start, cut))
    found.append(Word(text[cut - start :], tail, cut, end))
