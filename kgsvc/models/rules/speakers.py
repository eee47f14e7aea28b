"""Who speaks: the turns of an episode, the people of a conversation and their short names, titles of texts.

A body may begin with its speaker: `role(role_type): content`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice

from kgsvc.domain.facts.amendments import quoted_question, quoted_words
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Episode, RoleType, Source, without_source_url
from kgsvc.models.rules import english as en
from kgsvc.models.rules.days import MONTHS, WEEKDAYS
from kgsvc.models.rules.exports import parts_of_chat
from kgsvc.models.rules.mails import parts_of_mail
from kgsvc.models.rules.names import find_names
from kgsvc.models.rules.rolls import people_listed
from kgsvc.models.rules.scene import Scene
from kgsvc.models.rules.text import MOST, READ, cleaned, sentences_of, word_set, words_of

_ROLE_TYPES = ("user", "assistant", "system")
_TYPED_PREFIX = re.compile(r"[ \t]*+([^\n:]{0,300}?)[ \t]?\((user|assistant|system)\):[ \t]?")
_NAME = r"[^\W\d_][\w.'’-]{0,40}(?: [^\W\d_][\w.'’-]{0,40}){0,3}"
_PLAIN_PREFIX = re.compile(rf"[ \t]*+({_NAME}):[ \t]+")
_STAMP = r"(?:\[?\d[\d.,:/ \t-]{4,24}(?:[AaPp][Mm])?\]?(?: -)? )?"  # when, in an exported chat
_LINE_PREFIX = re.compile(rf"(?m)^[ \t]*+{_STAMP}({_NAME}):[ \t]+")
_PREFIX_BOUND = 400  # characters that a speaker's prefix may take
_LISTED = 200  # people of lists that are looked for in a text
_ORDINARY = en.COMMON | en.STOP | MONTHS.keys() | WEEKDAYS.keys()
_NARRATORS = frozenset({"document", "narrator", "article", "page", "text", "file", "note", "transcript"})
_LABELS = word_set(  # what minutes put before a line as they put names
    "absent action actions agenda agreed attendees chair conclusion consensus date decided decision issue"
    " discussion location motion next note outcome participants present proposal proposed question regrets"
    " resolved resolution scribe subject subtopic summary time todo topic update vote"
)
_TALK = 4  # lines of speakers
_LABELLED = re.compile(r"[A-Za-z]{4,12}")
_ALONE = re.compile(r"(#{1,6}) +(\S.*)")
_HEADED = re.compile(r"(?m)^#{1,6} ")
_GOES_ON = re.compile(r"(?m)^[ \t]*(?:\.{3}|…)[ \t]*")  # the speaker of the line before does


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A stretch of text and its speaker; None: nobody in particular (prose)."""

    speaker: str | None
    content: str
    within: bool = False  # a document of several turns: it has no title of its own


def turns_of(episode: Episode) -> list[SpokenTurn]:
    """What is said in the episode, by whom. A transcript in one body gives several turns."""
    prefix, content = _split_prefix(episode)
    if episode.source is Source.MESSAGE or episode.role or episode.role_type:
        speaker = (episode.role or "").strip() or prefix or str(episode.role_type or "user")
        shared = speaker.split(", ")  # "Ann, Ben": a chat of theirs in one body
        lines = _transcript(content, least=1) if len(shared) > 1 else []
        if lines and lines[0].speaker in shared:
            return lines
        return [SpokenTurn(None if speaker.lower() in _NARRATORS else speaker, content)]
    if parts := parts_of_mail(episode.body) or parts_of_chat(episode.body):
        return [SpokenTurn(part.writer, part.text, within=True) for part in parts]
    minutes = episode.source is Source.DOCUMENT
    return (_minutes if minutes else _transcript)(episode.body) or [SpokenTurn(prefix, content)]


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


def _transcript(body: str, least: int = 2) -> list[SpokenTurn]:
    """Turns of a text in which at least `least` lines begin with `Name:`; otherwise none."""
    starts = [m for m in islice(_LINE_PREFIX.finditer(body[:READ]), MOST) if _is_speaker_name(m[1])]
    if len(starts) < least or body[: starts[0].start()].strip():
        return []
    ends = [m.start() for m in starts[1:]] + [len(body)]
    return [SpokenTurn(m[1], body[m.end() : end].strip()) for m, end in zip(starts, ends, strict=True)]


def _minutes(body: str) -> list[SpokenTurn]:
    """Turns of a document in which at least every second line begins with `Name:`, but for headings, labels
    and lines that go on with the one before; otherwise none. In a list of terms, each has a line. What stands
    before the first speaker does not count where some speak again and again."""
    prefixes = list(islice(_LINE_PREFIX.finditer(body[:READ]), MOST))
    once = _single_words(m[1] for m in prefixes)
    spoken = [m for m in prefixes if _is_speaker_name(m[1]) and m[1] not in once]
    labelled = [m for m in prefixes if _is_label(m[1]) or m[1] in once]
    headed = list(islice(_HEADED.finditer(body[:READ]), MOST))
    again = len({m[1] for m in spoken}) * 2 <= len(spoken) >= _TALK
    begin = spoken[0].start() if again else 0
    others = sum(m.start() >= begin for m in (*headed, *labelled)) + len(_GOES_ON.findall(body, begin))
    if len(spoken) < 2 or len(spoken) * 2 < len(re.findall(r"(?m)^.*\S", body[begin:])) - others:
        return []
    starts = sorted([*spoken, *labelled, *headed], key=lambda m: m.start())
    first, *ends = [*(m.start() for m in starts), len(body)]
    turns = [SpokenTurn(None, body[:first].strip(), within=True)]
    said = {m.start() for m in spoken}
    for m, end in zip(starts, ends, strict=True):
        speaker = m[1] if m.start() in said else None
        text = body[m.end() if speaker else m.start() : end].strip()
        turns.append(SpokenTurn(speaker, _GOES_ON.sub("", text), within=True))
    return [turn for turn in turns if turn.content]


def _single_words(prefixes: Iterable[str]) -> Set[str]:
    """Where people stand with their full names, a word that stands but once is none: "Clarification:"."""
    counts = Counter(prefixes)
    if sum(count for name, count in counts.items() if " " in name) * 2 < counts.total():
        return set()
    rare = {name for name, count in counts.items() if count == 1 and " " not in name}
    return {name for name in rare if name.lower() not in en.GIVEN_NAMES}


def heading_of(turn: SpokenTurn) -> tuple[int, str] | None:
    """Level and words of a heading between turns, if it is all there is; None: there is more, or none."""
    found = _ALONE.fullmatch(turn.content) if turn.within and turn.speaker is None else None
    return (len(found[1]), found[2]) if found else None


def _is_label(text: str) -> bool:
    return _LABELLED.fullmatch(text) is not None and text.lower() in _LABELS


def _is_speaker_name(text: str) -> bool:
    if text.lower() in _ROLE_TYPES:
        return True
    if _is_label(text):
        return False
    words = text.lower().split()
    return text[0].isupper() and _ORDINARY.isdisjoint(words) and en.FORMS.get(words[-1]) is None


_FULL_NAME = re.compile(r"\b[A-Z][\w'’-]{1,30}(?: (?:[A-Z]\. )?[A-Z][\w'’-]{1,30}){1,3}")
_INITIALLED = re.compile(r"\b[A-Z]\.(?: ?[A-Z]\.?){0,3} [A-Z][\w'’-]{2,30}")
_HEADING = re.compile(r"\s*# ")
_FURTHER = re.compile(r"\n# ")
_HONOURED = re.compile(rf"(?i)\A(?:the )?(?:(?:{'|'.join(en.HONORIFICS)})\.? )+")
_TITLE_END = re.compile(r"\. |\n+")
_LONGEST_TITLE = 200
_OPENING = 150  # characters in which the first sentence's own name is looked for
_BRACKETS = re.compile(r" ?\([^()]{1,80}\)\Z")
_SMALL = word_set("of the a an and in on at to for from with de la le von van der du del & vs or")
_SHORTEST_NICKNAME = 3
_LATER_MS = 24 * 3600 * 1000  # after which nobody answers
_CORRECTS = re.compile(
    r"(?i)(?:oh |oops |ah )?(?:no, |(?:wait|sorry|correction|scratch that|make that|typo|i meant)\b"
    r"|\W{0,4}\S{1,20} sorry\b)"
)
_SCANNED = 4_000  # characters of an earlier episode that are searched for what "the project" means
_LIVED = re.compile(r"\((?:born|[^()]*\d{4})")
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
    listed: tuple[str, ...] = ()  # people, in lists of them
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
    body = cleaned(request.episode.body[:READ])
    people = people_listed(body) if request.episode.source is Source.DOCUMENT else ()
    listed = tuple(islice(dict.fromkeys(people), _LISTED))
    full = [*participants, *_full_names(body), *listed]
    held = {(name[0], name.rsplit(" ", 1)[-1]) for name in full}  # "A. Holm" may be Ann Holm
    others = (name for name in _INITIALLED.findall(body) if (name[0], name.rsplit(" ", 1)[-1]) not in held)
    aliases = {short: name for short, name in short_names([*full, *others]).items() if name in full}
    aliases.update(_nicknames(participants, aliases.keys()))
    known = frozenset(name.lower() for name in full) | aliases.keys()
    return Cast(participants, aliases, known, request.previous, listed)


def enter(scene: Scene, cast: Cast, turn: SpokenTurn, episode: Episode, before: str | None = None) -> str:
    """Put speaker, listener and title of a turn on the scene; returns what is left to read. `before`: who
    else spoke last in the same text."""
    scene.aliases, scene.people = cast.aliases, frozenset(cast.participants)
    scene.earlier, scene.speaker = cast.earlier, None
    if turn.speaker:
        person = episode.role_type in (None, RoleType.USER)
        scene.speaker = scene.node(turn.speaker, "Person" if person else "Entity")
    others = [name for name in cast.participants if name != turn.speaker]
    last = before or (others[-1] if others and (cast.previous or len(others) == 1) else None)
    scene.addressed = scene.node(last, "Person") if last and scene.speaker is not None else None
    scene.listener = scene.addressed if len(others) == 1 else None
    scene.source, scene.headings = _origin(episode)
    scene.replies_to = _replied(cast, turn, episode)
    return turn.content if turn.speaker or turn.within else _entitle(scene, cast, turn.content, episode)


def _origin(episode: Episode) -> tuple[str, list[str]]:
    """What the text is from, and the headings above it: those of a chunk begin with its document's title."""
    source = (episode.name or episode.source_description or "").strip()
    if episode.source is not Source.DOCUMENT:
        return source, [source]
    path = without_source_url(episode.source_description or source).strip().split(" › ")
    title = episode.name or path[0]
    return title, [title, *(heading for heading in path if heading != title)]


def _replied(cast: Cast, turn: SpokenTurn, episode: Episode) -> str:
    """What a message answers or corrects, without which its words say nothing: the question before it, or the
    speaker's own last words."""
    last = cast.previous[-1] if cast.previous and turn.speaker else None
    corrects = _CORRECTS.match(turn.content) is not None
    if last is None or not (corrects or last.body.rstrip().endswith(("?", "？"))):
        return ""
    if last.source is not Source.MESSAGE or episode.reference_ms - last.reference_ms > _LATER_MS:
        return ""
    before = turns_of(last)[-1]
    if before.speaker == turn.speaker:
        own = " ".join(before.content.split())
        return quoted_words(own) if corrects and len(own) <= _LONGEST_TITLE else ""
    asked = sentences_of(before.content)[-1]
    return quoted_question(asked) if asked.endswith(("?", "？")) and len(asked) <= _LONGEST_TITLE else ""


def _names_of(kind: str, episodes: Iterable[Episode]) -> Iterator[str]:
    for episode in episodes:
        text = episode.body[:_SCANNED]
        for name in reversed(find_names(text, words_of(text))):
            if en.type_of(name.text, name.quoted) == kind:
                yield name.text


def _full_names(body: str) -> list[str]:
    """People's names of several words, as far as they begin with a given name."""
    found = (match[0] for match in _FULL_NAME.finditer(body))
    return [name for name in dict.fromkeys(found) if en.type_of(name) == "Person" and _is_one(name.split())]


def _is_one(words: Sequence[str]) -> bool:
    """Not the label of a picture and the sentence behind it, "Ann Holm Ann is"."""
    return words[0] != words[-1]


def short_names(full: Iterable[str]) -> dict[str, str]:
    """First and last words of full names, where they point to one name only."""
    ends = ((part.lower(), name) for name in full for part in (*name.split()[:1], *name.split()[-1:]))
    return _unique(ends, en.PLACES | en.HONORIFICS)


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
    return short not in en.COMMON and short not in en.STOP and en.FORMS.get(short) is None


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
    person = scene.subject.type == "Person" or (
        scene.subject.type == "Entity" and _LIVED.search(rest[:_OPENING])
    )
    personal = person and all(part[0].isupper() for part in parts)
    for part in (parts[0], parts[-1]) if personal and len(parts) in (2, 3, 4) else ():
        if _is_name(part.lower()) and len(part) > 2:
            cast.aliases.setdefault(part.lower(), title)
    return rest


def _type_of_title(title: str, short: str) -> str:
    inside = title[len(short) :].lower()
    if any(word in en.WORK_WORDS for word in inside.strip(" ()").split()):
        return "Work"
    return "Person" if _PERSON_BRACKETS.search(inside) else en.type_of(short)


def _opening_name(text: str, short: str) -> list[str]:
    """The fuller name that the first sentence begins with: "Shawn Adam Levy (born …"."""
    opening = text[:_OPENING]
    names = find_names(opening, words_of(opening))
    if (
        names
        and names[0].first == 0
        and _plain(names[0].text.split()[0]) == _plain(short.split(maxsplit=1)[0])
    ):
        return [names[0].text]
    return []


def _title_of(content: str, episode: Episode) -> tuple[str, str]:
    """A title and the text after it: a heading line, or a name with which the text then begins."""
    heading = _HEADING.match(content)
    if heading is None and episode.source is Source.DOCUMENT:
        return "", content  # a chunk may begin anywhere
    if heading and _FURTHER.search(content, heading.end()):
        return "", content  # of several parts, of which each has a title
    begin = heading.end() if heading else 0
    for match in _TITLE_END.finditer(content, begin, begin + _LONGEST_TITLE):
        title, rest = content[begin : match.start()].strip(), content[match.end() :]
        short = _BRACKETS.sub("", title)
        again = (
            bool(short)
            and len(short.split()) <= 12
            and _plain(_HONOURED.sub("", rest[:_OPENING])[: 2 * len(short)]).startswith(_plain(short))
        )
        if again or (_is_title(short) and ("\n" in match[0] or rest.startswith(short.split()[0]))):
            return title, rest
    name = (episode.name or "").strip()
    if episode.source in (Source.TEXT, Source.DOCUMENT) and _is_title(name) and name in content:
        return name, content
    return "", content


def _plain(text: str) -> str:
    """Letters without their accents."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


def _is_title(text: str) -> bool:
    """Capitalised throughout, small words aside, and without the marks of a sentence."""
    words = text.split()
    if not words or len(words) > 12 or text[-1] in ":;,.!?" or not words[0][0].isupper():
        return False
    return all(not word[0].isalpha() or word[0].isupper() or word.lower() in _SMALL for word in words)
