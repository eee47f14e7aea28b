"""Text as the rules read it: cleaned, cut into sentences and words; word lists written as plain text."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple, TypeVar

T = TypeVar("T")


def word_list(text: str) -> tuple[str, ...]:
    """The words of `text` in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())


def name_set(text: str) -> frozenset[str]:
    """The names of `text`, which commas part."""
    return frozenset(" ".join(name.split()) for name in text.split(",")) - {""}


@cache
def _lists() -> Mapping[str, str]:
    return tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text("utf-8"))


def listed(name: str, read: Callable[[str], T]) -> T:
    """A list of words.toml."""
    return read(_lists()[name])


def mapping(text: str) -> dict[str, str]:
    """What the pairs "key:value" of `text` say."""
    return dict(pair.split(":") for pair in text.split())


def numbered(text: str, start: int) -> dict[str, int]:
    """The words of `text` with their numbers; words joined by "/" have the same."""
    return {word: n for n, words in enumerate(text.split(), start) for word in words.split("/")}


LONGEST = 1_000  # characters of a sentence; a longer one is cut
MOST = 2_000  # lines of a transcript that are looked for
READ = 128 * 1024  # characters that are searched for relations; beyond, words are kept as they are
_UNSEEN = re.compile("[\u200b\u2060\ufeff\u00ad]")  # zero-width spaces and soft hyphens


def cleaned(text: str) -> str:
    """The text composed (NFC), without characters that nobody sees."""
    return text if text.isascii() else _UNSEEN.sub("", unicodedata.normalize("NFC", text))


# The mark of a note stands right behind a sentence and begins the next one: "He left.12 The mill stood."
_NOTE = r"(?:(?<=[a-z][.!?])|(?<=[.!?][\"”’)]))\d{1,4}\s+[\"“]?[A-Z]"
_END = re.compile(
    rf"[.!?…。！？]++[\"'”’)\]]*+(?=\s|[^\x00-\x7f]|\Z|{_NOTE})"
    r"|\n+|\s(?=\[)|(?<=\])\s|(?<!\d)\s[–—]\s(?=[A-Z])"
)
_ABBREVIATIONS = listed("abbreviations", word_set)
_INITIALS = re.compile(r"(?:[a-z]\.){1,3}[a-z]")  # of "W.J. Reddin"
_MIDDLE_NAME = re.compile(r"[A-Z][a-z]+ I\Z")  # of "David I. Lehn"
_DEGREES = word_set("ph.d m.sc b.sc d.phil")
_NO_INITIALS = word_set("a.m p.m u.s u.k u.s.a u.n e.u d.c b.c a.d")
_BRACKETS = 120  # characters: a full stop in brackets no longer than this ends no sentence
_LAST_WORD = re.compile(r"[^\s(\[\"]+\Z")
_NUMBERED = re.compile(r"\d{1,2}")
_BULLET = re.compile(r"(?:[-*•>#]+|\d{1,2}[.)])\s+")


_DRAWN = frozenset("|-: \t\r")  # what the line below the head of a table is made of
_FENCES = ("```", "~~~")
_CLOSED = ".:!?。：！？"
_HEADING = re.compile(r"#{1,6}\s")


class Paragraph(NamedTuple):
    """Sentences that stand together. A block of code is one of them; headings, of level 1 and deeper, get a
    colon, since they are kept with what stands behind them."""

    sentences: list[str]
    heading: int = 0
    code: bool = False


_ADDRESS = r"[^()\s]{0,500}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?"
_LINK = re.compile(
    rf"!?\[([^\[\]\n]{{0,300}})\]\({_ADDRESS}(?: \"[^\"\n]{{0,300}}\")?\)"
    r"|(?<![\w.,!?\]])\[([^\[\]\n]{0,300}[^\W\d_]{2}[^\[\]\n]{0,300})\]\[[^\[\]\n]{0,80}\]"
)


def paragraphs_of(text: str) -> Iterator[Paragraph]:
    """The paragraphs of Markdown or plain text, without lines that only draw: below the head of a table."""
    code: list[str] | None = None
    said: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        fence = bare.startswith(_FENCES)
        if code is not None and not fence:
            code += [f"`{bare}`"] if bare else []
            continue
        heading = _HEADING.match(line)
        if said and (fence or heading or not bare):
            yield Paragraph(sentences_of("\n".join(said)))
            said = []
        if fence:
            if code:
                yield Paragraph([" ".join(code)], code=True)
            code = [] if code is None else None
        elif heading:
            yield Paragraph(sentences_of(titled(line)), heading=len(heading[0]) - 1)
        elif bare and not ("--" in bare and _DRAWN.issuperset(bare)):
            said.append(line)
    if code:
        yield Paragraph([" ".join(code)], code=True)
    if said:
        yield Paragraph(sentences_of("\n".join(said)))


def titled(line: str) -> str:
    """A heading with the colon behind which the words below it stand."""
    title = line.rstrip(" \t\r#")
    return f"{title}:" if title and title[-1] not in _CLOSED else title


def unlinked(text: str) -> str:
    """Markdown with the text of its links in place of them, of those around pictures too."""
    for _ in range(2):
        text = _LINK.sub(r"\1\2", text) if "](" in text or "][" in text else text
    return text


def sentences_of(text: str) -> list[str]:
    """The sentences of `text` in order, without outer space, bullets and emphasis."""
    return list(_pieces(text.replace("**", "")))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(text):
        if match[0][0] == "." and _continues(text, start, match):
            continue
        yield from _bounded(text[start : match.end()])
        start = match.end()
    yield from _bounded(text[start:])


def _continues(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether this full stop belongs to an abbreviation, an initial or stands in brackets."""
    ahead = text[max(start, match.start() - 12) : match.start()]
    before = _LAST_WORD.search(ahead)
    word = before[0].lower() if before else ""
    if text[match.start() - len(word) - 1 : match.start() - len(word)] == "\n" and _NUMBERED.fullmatch(word):
        return True
    initial = len(word) == 1 and word.isalpha() and (word != "i" or _MIDDLE_NAME.search(ahead) is not None)
    initial = initial or (_INITIALS.fullmatch(word) is not None and word not in _NO_INITIALS)
    degree = word in _DEGREES and text[match.end() : match.end() + 2].strip().islower()
    if len(match[0]) == 1 and (word in _ABBREVIATIONS or initial or degree):
        return True
    opened = text.rfind("(", max(start, match.start() - _BRACKETS), match.start())
    return opened > text.rfind(")", start, match.start())


def _bounded(piece: str) -> Iterator[str]:
    """`piece` itself, or cut at a mark or a space where it is too long."""
    piece = piece.strip()
    bullet = _BULLET.match(piece)
    at = bullet.end() if bullet and len(piece) > bullet.end() else 0
    while len(piece) - at > LONGEST:
        middle, end = at + LONGEST // 2, at + LONGEST
        cut = max(piece.rfind(mark, middle, end) for mark in ("; ", ", ", " ")) + 1 or end
        yield piece[at:cut].strip()
        at = cut
    if piece[at:].strip():
        yield piece[at:].strip()


# Each alternative begins with another character or repeats with a separator that its words exclude.
_TOKEN = re.compile(
    r"https?://[^\s<>\"]+"
    r"|(?:[A-Z]\.){2,}"
    r"|\d+(?:[.,:/]\d+)+"
    r"|[^\W_]+(?:[-'’´ʻ.@&+_/][^\W_]+)*[+#]{0,2}"
    r"|\.{2,}|--+|([^\w\s])\1{2,}|[^\w\s]|_+"
)
_CLITIC = re.compile(r"(?i)(n['’]t|['’](?:s|m|re|ve|ll|d))\Z")
_SLANG = {
    **{"im": ("i", "'m"), "ive": ("i", "'ve"), "cannot": ("can", "not")},
    **{f"{stem}nt": (stem, "n't") for stem in ("do", "did", "does", "is", "was", "ca", "wo")},
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
