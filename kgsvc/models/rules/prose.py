"""From a text to facts: all its words are kept as they were said; relations stand beside where they are sure.

A sentence that claims something becomes the facts that it claims, each with its part of the words. The others
are kept in passages: a sentence that names something, and what follows until another one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from kgsvc.domain.model.extraction import ExtractedEdge
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.wrapping import unwrapped
from kgsvc.models.rules import english as en
from kgsvc.models.rules.aliases import read_aliases
from kgsvc.models.rules.claims import Claims, FoundClause
from kgsvc.models.rules.kin import asides
from kgsvc.models.rules.marking import MarkedLine, is_mark, mark
from kgsvc.models.rules.scene import Drafted, NodeDraft, Scene, Told
from kgsvc.models.rules.scripts import foreign, read_foreign
from kgsvc.models.rules.speakers import Cast
from kgsvc.models.rules.substance import content, of_themselves
from kgsvc.models.rules.tenses import nearer
from kgsvc.models.rules.text import READ, Paragraph, paragraphs_of, titled, unlinked, words_of
from kgsvc.models.rules.usage import NameUsage, usage_of
from kgsvc.models.rules.wording import redated, restated

SAID, ASKED, MENTIONED = "SAID", "ASKED", "MENTIONED"
BESIDE = "MENTIONED_WITH"  # in a text of which nobody knows who wrote it, by the thing that it is about
_PASSAGE = 220
_PASSAGES = 1_000  # of one text, about; those of a longer text are longer
_SUBSTANCE = 3  # content words that make a message of small talk worth a fact
_REPLY = 300  # characters of an answer that says nothing without its question
_HEADINGS = 4  # above one passage
_TALK = 6  # marks; what is longer and has any content is no small talk
_WEIGHTS = {SAID: 0.8, MENTIONED: 0.8, BESIDE: 0.8, ASKED: 0.4}
_TRAILING = " ,;:-–—&"
_FIRST_WORDS = 6  # by which a text without a name is called, at most


@dataclass(slots=True)
class _Passage:
    """Sentences kept together, what they name, and whether they are worth keeping."""

    sentences: list[str] = field(default_factory=list)
    names: list[NodeDraft] = field(default_factory=list)
    substance: int = 0
    asked: bool = True
    when: int | None = None
    length: int = 0


def read_text(
    scene: Scene, text: str, cast: Cast, before: Callable[[], Sequence[Told]] = tuple
) -> list[Told]:
    """Add what `text` says to the scene; its speaker, listener and subject are the scene's. Returns what its
    clauses claim. `before` gives what those of the speaker's last message did, which this one may correct."""
    document = scene.speaker is None
    text = unwrapped(text)
    text = unlinked(text) if document else text
    end = len(text) if len(text) <= READ else (text.rfind(" ", READ // 2, READ) + 1 or READ)
    paragraphs = list(paragraphs_of(text[:end]))
    latest = cast.previous[-1].body if document and cast.previous else ""
    said = (each for paragraph in paragraphs if not paragraph.code for each in paragraph.sentences)
    usage = usage_of(said, latest, document)
    reader = _ProseReader(scene, cast, usage, len(text), before)
    reader.read(paragraphs)
    reader.keep(" ".join(text[end:].split()))
    return reader.told


class _ProseReader:
    def __init__(
        self, scene: Scene, cast: Cast, usage: NameUsage, chars: int, before: Callable[[], Sequence[Told]]
    ) -> None:
        self.scene, self.cast, self.usage, self.said_before = scene, cast, usage, before
        self.told: list[Told] = []
        self.least = chars // _PASSAGES  # characters of a passage before another one begins
        self.passage = _Passage()
        self.slight: list[str] = []
        self.headings: list[str] = []  # of what comes next
        self.above: list[str] = []  # the headings of a list of people, of which each is kept alone
        self.nameless = ""  # what a text is called that names nothing
        self.before = ""  # a sentence that claims something, right before the one being read
        self.kept = False

    def read(self, paragraphs: Iterable[Paragraph]) -> None:
        """Read the paragraphs in order; none is kept together with the one before, but for headings and what
        announces others."""
        if self.scene.speaker is None:
            self.headings = [titled(title) for title in self.scene.headings[1:]][-_HEADINGS:]
        for paragraph in paragraphs:
            if paragraph.heading:
                self._flush()
                self.scene.head(paragraph.heading, " ".join(paragraph.sentences))
                self.headings = [*self.headings, *paragraph.sentences][-_HEADINGS:]
            elif paragraph.code:
                self._code(paragraph.sentences[0])
            else:
                self._paragraph(paragraph.sentences)
        self._flush()
        self.slight += self.headings
        if not self.kept and self.slight and len(content(" ".join(self.slight))) >= _SUBSTANCE:
            self._state(_Passage(self.slight[:20], substance=_SUBSTANCE, asked=False))

    def _paragraph(self, sentences: Iterable[str]) -> None:
        announced = self.passage.sentences and self.passage.sentences[-1].endswith(":")
        if self.passage.substance >= _SUBSTANCE and self.passage.length >= self.least and not announced:
            self._flush()
        for sentence in sentences:
            self._sentence(sentence)

    def _code(self, block: str) -> None:
        """Keep a block of code together, with the words that announce it."""
        if self.passage.sentences and not self.passage.sentences[-1].endswith(":"):
            self._flush()
        self._begin()
        self.passage.sentences.append(block)
        self.passage.substance += _SUBSTANCE
        self._flush()

    def _begin(self) -> None:
        """Put the headings above a new passage in front of it."""
        if not self.passage.sentences:
            self.passage.sentences, self.headings = self.headings, []

    def _sentence(self, sentence: str) -> None:
        self.scene.sentence += 1
        if len(sentence) < 4 and not any(map(str.isalnum, sentence)):
            return
        if sentence.startswith(self.cast.listed or ("\n",)):
            if self.passage.sentences and self.passage.sentences[-1].endswith(":"):
                self.headings = [self.passage.sentences.pop()]  # "Present:"
            self._flush()
            self.headings = self.headings or self.above
            self.above = [] if "," in sentence else list(self.headings)
        else:
            self.above = []
        if foreign(sentence):
            self._foreign(sentence)
        else:
            self._english(sentence)
        read_aliases(self.scene, sentence)

    def keep(self, words: str) -> None:
        """Keep words that are too many to be searched for relations."""
        if words:
            self._state(_Passage([words], substance=_SUBSTANCE, asked=False))

    def _foreign(self, sentence: str) -> None:
        names, drafted, when = read_foreign(sentence, self.scene)
        if not drafted:
            ideographs = sum("\u4e00" <= char <= "\u9fff" for char in sentence)
            substance = min(_SUBSTANCE, (len(sentence) + ideographs) // 4)
            self._keep(sentence, names, substance, sentence[-1:] in "?？؟", when)
            return
        self._flush()
        for each in drafted:
            self._add(each, f"{self._prefix()}{sentence}")

    def _english(self, sentence: str) -> None:
        titles = (*self.cast.titles, *self.cast.listed)
        line = mark(sentence, self.scene, self.cast.known, self.usage, titles)
        asked = sentence.rstrip("\"')” ").endswith("?")
        claims = Claims(line, self.scene)
        clauses = [] if asked else claims.found()
        if clauses:
            self._flush()
            self.before = sentence
            for each in clauses:
                self._clause(line, each)
            if any(self._says_more(line, each) for each in clauses):
                self._keep(sentence, [], _SUBSTANCE, asked, None)
                self._flush()
        else:
            if self.before and not en.THIRD_PERSON.isdisjoint(line.text.split(" ")[:4]):
                self._meant()
            self.before = ""
            origin = self.scene.origin()
            names = [*self._told_by(sentence), *(draft for draft in line.names if draft is not None)]
            names = [draft for draft in names if draft is not origin]
            if _is_vocative(line) and len(names) == 1 and not self.above:
                names = []
            dated = line.amounts or any(time.begin_ms is not None for time in line.times)
            count = len(content(line.text))
            telling = names or dated or count > 1 or (count and len(line.starts) > _TALK)
            telling = telling or (self.scene.speaker is not None and of_themselves(line.text))
            substance = max(count, _SUBSTANCE) if telling else 0
            self._keep(sentence, names, substance, asked, _when(line, self.scene.reference_ms))
        for drafted, words in () if asked else asides(claims):
            self._add(drafted, words)
        for drafted, words in redated(line, self.scene, lambda: self.told or self.said_before()):
            self._add(drafted, words)
            self.scene.replies_to = ""  # the claim tells what is corrected

    def _told_by(self, sentence: str) -> list[NodeDraft]:
        """Who of a list of people says this: "Ann: the wheel is mended"."""
        name, colon, _words = sentence.partition(": ")
        full = self.cast.aliases.get(name.lower(), name) if colon else ""
        draft = self.scene.node(full, "Person") if full in self.cast.listed else None
        return [] if draft is None else [draft]

    def _says_more(self, line: MarkedLine, each: FoundClause) -> bool:
        """Whether words stand behind an end, which would hang on a closed fact alone."""
        ended = all(draft.polarity is not Polarity.ASSERTS for draft in each.drafted)
        return ended and bool(content(" ".join(line.text.split(" ")[each.end : each.after])))

    def _meant(self) -> None:
        """Put whom "she" means beside the words: the sentence before, or in talk the ends of what it claims,
        since the claim itself may end."""
        if self.scene.speaker is None:
            self._keep(self.before, [], 0, False, None)
        elif self.told and not self.passage.sentences and not self.scene.replies_to:
            draft = self.told[-1][0]
            ends = {draft.source.name: None, draft.target.name: None}
            ends.pop(self.scene.speaker.name, None)
            self.scene.replies_to = f"of {' and '.join(ends)}" if ends else ""

    def _clause(self, line: MarkedLine, each: FoundClause) -> None:
        """The facts of a clause, all with its words."""
        words = restated(line, each, self.scene)
        text = finished(words) if words else f"{self._prefix()}{_trimmed(line.words(each.first, each.after))}"
        for drafted in each.drafted:
            self._add(drafted, text)
            self.told.append((drafted, text))

    def _add(self, each: Drafted, text: str) -> None:
        self.kept = True
        edge = ExtractedEdge(
            each.relation,
            text[: self.scene.limits.fact],
            each.source.ref,
            each.target.ref,
            each.valid_ms,
            each.invalid_ms,
            each.kind,
            each.polarity,
        )
        self.scene.add(edge)

    # words as they were said

    def _keep(
        self, sentence: str, names: list[NodeDraft], substance: int, asked: bool, when: int | None
    ) -> None:
        passage = self.passage
        full = passage.length + len(sentence) > max(_PASSAGE, self.least)
        about = self.scene.subject is not None and substance and passage.substance
        apart = about or (names and passage.names and self.scene.speaker is None)
        announced = bool(passage.sentences) and passage.sentences[-1].endswith(":")
        begins = apart and passage.length >= self.least and not announced
        if passage.sentences and (
            full or begins or (passage.asked != asked and passage.substance and substance)
        ):
            self._flush()
            passage = self.passage
        self._begin()
        passage.sentences.append(sentence)
        passage.length += len(sentence) + 1
        passage.names += names
        passage.substance += substance
        passage.asked = passage.asked and (asked or not substance)
        passage.when = when if passage.when is None else passage.when

    def _flush(self) -> None:
        if self.passage.substance >= _SUBSTANCE or self.passage.names:
            self._state(self.passage)
        else:
            self.slight += self.passage.sentences
        self.passage = _Passage()

    def _state(self, passage: _Passage) -> None:
        """Make a passage a fact from whose words it is to the first that it names."""
        scene = self.scene
        source = scene.origin() or (passage.names[0] if passage.names else None)
        if source is None:
            self.nameless = self.nameless or _beginning(passage.sentences)
            source = scene.node(self.nameless, "Document")
        is_author = scene.subject is None and bool(scene.source)
        if source is None:
            return
        target = next((draft for draft in passage.names if draft is not source), None)
        target = target or scene.heard() or source
        words = _joined(passage.sentences)
        name = MENTIONED if is_author else BESIDE
        if scene.speaker is not None:
            name = ASKED if passage.asked else SAID
        prefix = self._prefix()
        answers = scene.replies_to and len(words) <= _REPLY
        if answers and scene.speaker:
            prefix = f"{prefix.removesuffix(': ')} ({scene.replies_to}): "
        scene.replies_to = ""
        if scene.speaker is None and prefix.removesuffix(": ").lower() in words.lower():
            prefix = ""
        day = scene.section_day()
        room = scene.limits.fact - len(prefix)
        for start in range(0, len(words), room):
            edge = ExtractedEdge(
                name,
                f"{prefix}{words[start : start + room]}",
                source.ref,
                target.ref,
                passage.when if passage.when is not None else day,
                kind=FactKind.EVENT,
                weight=_WEIGHTS[name],
            )
            self.kept = scene.add(edge) or self.kept

    def _prefix(self) -> str:
        origin = self.scene.speaker or self.scene.subject
        return f"{origin.name}: " if origin is not None else ""


def _joined(sentences: Sequence[str]) -> str:
    """The sentences one behind the other, without spaces in scripts that have none; entries of a list, which
    end without a mark, with one between them."""
    sentences = list(filter(None, sentences))  # a heading may be empty
    behind = [*(sentence[0] for sentence in sentences[1:]), ""]
    return "".join(map(_spaced, sentences, behind)).rstrip()


def _spaced(sentence: str, behind: str) -> str:
    """The sentence with what parts it from the next one, which begins with this letter."""
    if sentence[-1] in "。！？":
        return sentence
    return f"{sentence}; " if sentence[-1].isalnum() and behind.isalnum() else f"{sentence} "


def _beginning(sentences: Sequence[str]) -> str:
    """What a text without a name that names nothing is called: its first words, up to the verb or, in a
    table, the border of a cell; those of its first line, if a list begins with it."""
    first = sentences[0].removesuffix(":")
    text = first if first[-1:].isalnum() and " " in first else " ".join(sentences)
    text = next(filter(str.strip, text.split("|")), text)
    words = [word for word in words_of(text[:_PASSAGE]) if word.text[0].isalnum()][:_FIRST_WORDS]
    words = words[1:] if len(words) > 1 and words[0].low in en.DETERMINERS else words
    verbs = (n for n, word in enumerate(words) if n and _is_verb(word.low))
    words = words[: next(verbs, len(words))]
    return text[words[0].start : words[-1].end] if words else text[:_PASSAGE]


def _is_verb(low: str) -> bool:
    form = en.FORMS.get(low)
    return low in en.AUXILIARIES or (form is not None and (form.third or form.past))


def _is_vocative(line: MarkedLine) -> bool:
    """ "Thanks, Carol!": a name that is only addressed."""
    marks = line.text.split(" ")
    at = next((n for n, m in enumerate(marks) if is_mark(m, "N")), -1)
    before, behind = marks[at - 1] if at > 0 else ",", marks[at + 1] if at + 1 < len(marks) else "."
    return at >= 0 and (before == "," or before in en.INTERJECTIONS) and behind in (",", "!", ".", "?", "-")


def _when(line: MarkedLine, now: int) -> int | None:
    """The day that a sentence tells of, the nearest if it has no year; one to come only as a beginning."""
    for time in line.times:
        if time.role in ("for", "until", "before") or time.begin_ms is None:
            continue
        nearest = nearer(time, now)
        if nearest is not None and (nearest <= now or time.role == "since"):
            return nearest
    return None


def _trimmed(words: str) -> str:
    text = words.strip(_TRAILING)
    for joiner in ("and", "but"):
        text = text.removeprefix(f"{joiner} ").removesuffix(f" {joiner}")
    return text


def finished(text: str) -> str:
    """A sentence that reads alone: a capital first, a full stop last."""
    text = text.strip(_TRAILING)
    for joiner in (" and", " but", " so"):
        text = text.removesuffix(joiner).strip(_TRAILING)
    if not text:
        return ""
    return f"{text[0].upper()}{text[1:]}" + ("" if text[-1] in ".!?…\"”'" else ".")
