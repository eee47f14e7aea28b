"""The state of reading one episode: who speaks, the entities by name, and the facts so far; all bounded.

A body may begin with its speaker: `role(role_type): content` (spec 004 §4.2.1).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractedEdge, ExtractedNode, Extraction, ExtractionRequest
from kgsvc.domain.model.graph import Episode, RoleType, Source
from kgsvc.domain.text import normalise
from kgsvc.models.rules.lexicon import (
    COMMON,
    HONORIFICS,
    MEN,
    MONTHS,
    PLACES,
    STOP,
    WEEKDAYS,
    WOMEN,
    WORK_WORDS,
    type_of,
)
from kgsvc.models.rules.names import find_names
from kgsvc.models.rules.text import MOST, READ, word_set, words_of
from kgsvc.models.rules.verbs import verb

_HE = word_set("he him his himself")
_SHE = word_set("she her hers herself")
_THEY = word_set("they them their theirs themselves")
_THINGS = frozenset({"Project", "Organization", "Product", "Work", "Location", "Event"})
_NEAR = 1  # sentences back that "it" and "they" may point
_MOST_RECENT = 50
_JOINERS = "\u200c\u200d\ufe0f"  # not printable, but parts of words and emoji


@dataclass(slots=True)
class NodeDraft:
    """A node in the making. `type` may become more specific, attributes may be added."""

    ref: str
    name: str
    type: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def specify(self, kind: str) -> None:
        """Take a more telling type, if it had none."""
        if kind and self.type in ("Entity", "Topic") and not (self.type == "Topic" and kind == "Person"):
            self.type = kind


class Scene:
    """Collects the nodes and edges of one episode within the bounds of `limits`."""

    def __init__(self, limits: Limits, reference_ms: int) -> None:
        self.limits, self.reference_ms = limits, reference_ms
        self.aliases: dict[str, str] = {}  # lower-case short name → full name
        self.people: frozenset[str] = frozenset()  # full names of those who talk
        self.speaker: NodeDraft | None = None
        self.listener: NodeDraft | None = None
        self.subject: NodeDraft | None = None  # what a text is about: its title
        self.earlier: Callable[[str], str | None] = lambda kind: None  # names of earlier episodes by type
        self.sentence = 0
        self._nodes: dict[str, NodeDraft] = {}
        self._edges: dict[tuple[str, str, str, str], ExtractedEdge] = {}
        self._recent: list[tuple[int, NodeDraft]] = []
        self._named: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether no further fact fits."""
        return len(self._edges) >= self.limits.edges_per_extraction

    def named(self, name: str, kind: str = "Entity") -> NodeDraft | None:
        """The node of a name, under its full form; remembered for pronouns. None when no more fit."""
        full = self.aliases.get(name.lower(), name)
        draft = self.node(full, "Person" if full in self.people else kind)
        if draft is not None:
            self._named.add(draft.ref)
            self.recall(draft)
        return draft

    def recall(self, draft: NodeDraft) -> None:
        """Let pronouns mean the entity from now on."""
        self._recent.append((self.sentence, draft))
        del self._recent[:-_MOST_RECENT]

    def node(self, name: str, kind: str = "Entity") -> NodeDraft | None:
        """The node called `name`, made if need be. None when none fits, or the name is empty or too long."""
        name = _printable(name)
        key = normalise(name)
        found = self._nodes.get(key)
        if found is not None:
            found.specify(kind)
            return found
        room = len(self._nodes) < self.limits.nodes_per_extraction
        if not key or not room or len(name) > self.limits.name or len(key) > self.limits.name:
            return None
        draft = NodeDraft(f"n{len(self._nodes) + 1}", name, kind)
        self._nodes[key] = draft
        return draft

    def antecedent(self, pronoun: str) -> NodeDraft | None:
        """Whom or what a third-person pronoun means: the latest fitting name of this episode, if any."""
        if pronoun in _HE or pronoun in _SHE:
            other = WOMEN - MEN if pronoun in _HE else MEN - WOMEN
            return self._latest(lambda d: _may_be_person(d) and _given(d) not in other)
        near = [draft for number, draft in self._recent if self.sentence - number <= _NEAR]
        if pronoun in _THEY:
            return next((d for d in reversed(near) if d.type == "Organization"), None)
        if self.subject is not None and self.subject.type != "Person":
            return self.subject
        return next((d for d in reversed(near) if d.type in _THINGS), None)

    def definite(self, kind: str) -> NodeDraft | None:
        """What "the project" means: the one named last here, or else in earlier episodes."""
        if self.subject is not None and self.subject.type == kind:
            return self.subject
        here = next((draft for _, draft in reversed(self._recent) if draft.type == kind), None)
        if here is not None:
            return here
        name = self.earlier(kind)
        return None if name is None else self.named(name, kind)

    def latest_named(self, *but: NodeDraft | None) -> NodeDraft | None:
        """The entity that was named last, other than `but`."""
        return next((draft for _, draft in reversed(self._recent) if draft not in but), None)

    def add(self, edge: ExtractedEdge) -> bool:
        """Keep a fact; False if it does not fit, joins a node to itself or is there already."""
        edge = edge if edge.fact.isprintable() else replace(edge, fact=_printable(edge.fact))
        key = (edge.name, edge.source_ref, edge.target_ref, edge.fact)
        if edge.source_ref == edge.target_ref or self.full or key in self._edges or not edge.fact:
            return False
        if len(edge.fact) > self.limits.fact or len(normalise(edge.fact)) > self.limits.fact:
            return False
        self._edges[key] = edge
        return True

    def extraction(self) -> Extraction:
        """The facts, the nodes at their ends, and all other named nodes."""
        edges = tuple(self._edges.values())
        kept = self._named | {ref for edge in edges for ref in (edge.source_ref, edge.target_ref)}
        kept |= {draft.ref for draft in (self.speaker, self.subject) if draft is not None}
        nodes = tuple(
            ExtractedNode(d.ref, d.name, d.type, "", d.attributes)
            for d in self._nodes.values()
            if d.ref in kept or d.attributes
        )
        return Extraction(nodes, edges)

    def _latest(self, fits: Callable[[NodeDraft], bool]) -> NodeDraft | None:
        if self.subject is not None and fits(self.subject):
            return self.subject
        cast = (self.speaker, self.listener)
        fitting = [(number, d) for number, d in self._recent if d not in cast and fits(d)]
        if not fitting or fitting[-1][0] == self.sentence:
            return fitting[-1][1] if fitting else None
        last = fitting[-1][0]  # of an earlier sentence its first name: mostly what it is about
        return next(draft for number, draft in fitting if number == last)


def _printable(text: str) -> str:
    """The text without control characters and lone surrogates, which no store need hold."""
    if text.isprintable():
        return text
    kept = "".join(char if char.isprintable() or char in _JOINERS else " " for char in text)
    return " ".join(kept.split())


def _given(draft: NodeDraft) -> str:
    return draft.name.split(" ", 1)[0].lower()


def _may_be_person(draft: NodeDraft) -> bool:
    return draft.type == "Person" or (draft.type == "Entity" and draft.name[0].isupper())


_ROLE_TYPES = ("user", "assistant", "system")
_TYPED_PREFIX = re.compile(r"[ \t]*+([^\n:]{0,300}?)[ \t]?\((user|assistant|system)\):[ \t]?")
_NAME = r"[^\W\d_][\w.'’-]{0,40}(?: [^\W\d_][\w.'’-]{0,40}){0,3}"
_PLAIN_PREFIX = re.compile(rf"[ \t]*+({_NAME}):[ \t]+")
_LINE_PREFIX = re.compile(rf"(?m)^[ \t]*+({_NAME}):[ \t]+")
_PREFIX_BOUND = 400  # characters that a speaker's prefix may take
_ORDINARY = COMMON | STOP | MONTHS.keys() | WEEKDAYS.keys()
_NARRATORS = frozenset({"document", "narrator", "article", "page", "text", "file", "note", "transcript"})


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A stretch of text and its speaker; None: nobody in particular (prose)."""

    speaker: str | None
    content: str


def turns_of(episode: Episode) -> list[SpokenTurn]:
    """What is said in the episode, by whom. A transcript in one body gives several turns."""
    prefix, content = _split_prefix(episode)
    if episode.source is Source.MESSAGE or episode.role or episode.role_type:
        speaker = (episode.role or "").strip() or prefix or str(episode.role_type or "user")
        return [SpokenTurn(None if speaker.lower() in _NARRATORS else speaker, content)]
    lines = _transcript(episode.body)
    return lines or [SpokenTurn(prefix, content)]


def speaker_of(episode: Episode) -> str | None:
    """The speaker of a message, without looking at its content; None for prose and JSON."""
    if episode.source is not Source.MESSAGE and not episode.role and not episode.role_type:
        return None
    return turns_of(replace(episode, body=episode.body[:_PREFIX_BOUND]))[0].speaker


def participants_of(request: ExtractionRequest) -> tuple[str, ...]:
    """Everyone who speaks in the episode and the earlier ones, in order of appearance, latest last."""
    speakers = [*map(speaker_of, request.previous), *(turn.speaker for turn in turns_of(request.episode))]
    return tuple(dict.fromkeys(speaker for speaker in speakers if speaker))


def _split_prefix(episode: Episode) -> tuple[str | None, str]:
    """The speaker that the body's own prefix names, and the body without it."""
    body = episode.body
    typed = _TYPED_PREFIX.match(body)
    if typed and (episode.role is None or typed[1].strip() in ("", episode.role.strip())):
        return typed[1].strip() or typed[2], body[typed.end() :]
    plain = _PLAIN_PREFIX.match(body)
    if plain is None:
        return None, body
    named = plain[1] == episode.role or plain[1].lower() in _ROLE_TYPES
    free = episode.source is Source.MESSAGE and not episode.role
    return (plain[1], body[plain.end() :]) if named or (free and _is_speaker_name(plain[1])) else (None, body)


def _transcript(body: str) -> list[SpokenTurn]:
    """Turns of a text in which at least two lines begin with `Name:`; otherwise none."""
    starts = [m for m in islice(_LINE_PREFIX.finditer(body[:READ]), MOST) if _is_speaker_name(m[1])]
    if len(starts) < 2 or body[: starts[0].start()].strip():
        return []
    ends = [m.start() for m in starts[1:]] + [len(body)]
    return [SpokenTurn(m[1], body[m.end() : end].strip()) for m, end in zip(starts, ends, strict=True)]


def _is_speaker_name(text: str) -> bool:
    if text.lower() in _ROLE_TYPES:
        return True
    return text[0].isupper() and _ORDINARY.isdisjoint(text.lower().split())


_FULL_NAME = re.compile(r"\b[A-Z][\w'’-]{1,30}(?: (?:[A-Z]\. )?[A-Z][\w'’-]{1,30}){1,3}")
_HEADING = re.compile(r"\s*#{1,6} ")
_TITLE_END = re.compile(r"\. |\n+")
_LONGEST_TITLE = 200
_OPENING = 150  # characters in which the first sentence's own name is looked for
_BRACKETS = re.compile(r" ?\([^()]{1,80}\)\Z")
_SMALL = word_set("of the a an and in on at to for from with de la le von van der du del & vs or")
_SHORTEST_NICKNAME = 3
_SCANNED = 4_000  # characters of an earlier episode that are searched for what "the project" means
_PERSON_BRACKETS = re.compile(
    r"\b(?:born|footballer|actor|actress|singer|politician|player|bishop|writer|director)\b"
)


@dataclass(slots=True)
class Cast:
    """Participants of the conversation, latest last; short names by lower case; earlier episodes."""

    participants: tuple[str, ...]
    aliases: dict[str, str]
    known: frozenset[str]
    previous: Sequence[Episode] = ()
    titles: tuple[str, ...] = ()
    _found: dict[str, str | None] = field(default_factory=dict)

    def earlier(self, kind: str) -> str | None:
        """The name of the given type that an earlier episode mentioned last ("the project")."""
        if kind not in self._found:
            self._found[kind] = next(_names_of(kind, reversed(self.previous)), None)
        return self._found[kind]


def cast_of(request: ExtractionRequest) -> Cast:
    """The cast of an episode: it knows people by parts of their full names where only one fits."""
    participants = participants_of(request)
    full = [*participants, *_full_names(request.episode.body[:READ])]
    aliases = short_names(full)
    aliases.update(_nicknames(participants, aliases.keys()))
    known = frozenset(name.lower() for name in participants) | aliases.keys()
    return Cast(participants, aliases, known, request.previous)


def enter(scene: Scene, cast: Cast, turn: SpokenTurn, episode: Episode) -> str:
    """Put speaker, listener and title of a turn on the scene; returns what is left to read."""
    scene.aliases, scene.people = cast.aliases, frozenset(cast.participants)
    scene.earlier = cast.earlier
    scene.speaker = None
    if turn.speaker:
        person = episode.role_type in (None, RoleType.USER)
        scene.speaker = scene.node(turn.speaker, "Person" if person else "Entity")
    others = [name for name in cast.participants if name != turn.speaker]
    alone = len(others) == 1 and turn.speaker is not None
    scene.listener = scene.node(others[0], "Person") if alone and scene.speaker else None
    return turn.content if turn.speaker else _entitle(scene, cast, turn.content, episode)


def _names_of(kind: str, episodes: Iterable[Episode]) -> Iterator[str]:
    for episode in episodes:
        text = episode.body[:_SCANNED]
        for name in reversed(find_names(text, words_of(text))):
            if type_of(name.text, name.quoted) == kind:
                yield name.text


def _full_names(body: str) -> list[str]:
    """Names of several words that begin with a given name."""
    found = (match[0] for match in _FULL_NAME.finditer(body))
    return [name for name in dict.fromkeys(found) if name.split(" ", 1)[0].lower() in MEN | WOMEN]


def short_names(full: Iterable[str]) -> dict[str, str]:
    """First and last words of full names, where they point to one name only."""
    ends = ((part.lower(), name) for name in full for part in (*name.split()[:1], *name.split()[-1:]))
    return _unique(ends, PLACES | HONORIFICS)


def _nicknames(participants: Iterable[str], taken: Set[str]) -> dict[str, str]:
    """ "Mel" for Melanie: a beginning of one participant's name only, that is no word."""
    firsts = ((name.split(" ", 1)[0].lower(), name) for name in participants)
    return _unique(
        (
            (first[:length], name)
            for first, name in firsts
            for length in range(_SHORTEST_NICKNAME, min(len(first), 12))
        ),
        taken,
    )


def _unique(claims: Iterable[tuple[str, str]], never: Set[str]) -> dict[str, str]:
    """Full names by short name: short names of only one full name that are no ordinary words."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for short, name in claims:
        names[short].add(name)
    return {
        short: min(full)
        for short, full in names.items()
        if len(full) == 1 and short not in never and _is_name(short)
    }


def _is_name(short: str) -> bool:
    return short not in COMMON and short not in STOP and verb(short) is None


def _entitle(scene: Scene, cast: Cast, content: str, episode: Episode) -> str:
    """Make a text's title its subject, with its short forms as aliases; returns the text after the title."""
    title, rest = _title_of(content, episode)
    short = _BRACKETS.sub("", title)
    scene.subject = scene.node(title, _type_of_title(title, short)) if title else None
    if scene.subject is None:
        return content
    cast.titles = (title, short) if short != title else (title,)
    for other in (short, short.split(",", 1)[0], *_opening_name(rest, short)):
        cast.aliases[other.lower()] = title
    parts = short.split(",", 1)[0].split()
    personal = scene.subject.type in ("Person", "Entity") and all(part[0].isupper() for part in parts)
    for part in (parts[0], parts[-1]) if personal and len(parts) in (2, 3, 4) else ():
        if _is_name(part.lower()) and len(part) > 2:
            cast.aliases.setdefault(part.lower(), title)
    return rest


def _type_of_title(title: str, short: str) -> str:
    inside = title[len(short) :].lower()
    if any(word in WORK_WORDS for word in inside.strip(" ()").split()):
        return "Work"
    return "Person" if _PERSON_BRACKETS.search(inside) else type_of(short)


def _opening_name(text: str, short: str) -> list[str]:
    """The fuller name that the first sentence begins with: "Shawn Adam Levy (born …"."""
    opening = text[:_OPENING]
    names = find_names(opening, words_of(opening))
    if names and names[0].first == 0 and names[0].text.split()[0] == short.split(maxsplit=1)[0]:
        return [names[0].text]
    return []


def _title_of(content: str, episode: Episode) -> tuple[str, str]:
    """A title and the text after it: a heading line, or a name with which the text then begins."""
    heading = _HEADING.match(content)
    begin = heading.end() if heading else 0
    for match in _TITLE_END.finditer(content, begin, begin + _LONGEST_TITLE):
        title, rest = content[begin : match.start()].strip(), content[match.end() :]
        short = _BRACKETS.sub("", title)
        again = bool(short) and rest.startswith(short) and len(short.split()) <= 12
        if again or (_is_title(short) and ("\n" in match[0] or rest.startswith(short.split()[0]))):
            return title, rest
    name = (episode.name or "").strip()
    if episode.source is Source.TEXT and _is_title(name) and name in content:
        return name, content
    return "", content


def _is_title(text: str) -> bool:
    """Capitalised throughout, small words aside, and without the marks of a sentence."""
    words = text.split()
    if not words or len(words) > 12 or text[-1] in ":;,.!" or not words[0][0].isupper():
        return False
    return all(not word[0].isalpha() or word[0].isupper() or word.lower() in _SMALL for word in words)
