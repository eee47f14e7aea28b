"""Who speaks in an episode, and with whom (spec 004 §4.2.1: a body reads `role(role_type): content`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice

from kgsvc.domain.extraction import ExtractionRequest
from kgsvc.domain.model import Episode, Source
from kgsvc.llm.offline.lexicon import COMMON, MONTHS, STOP, WEEKDAYS
from kgsvc.llm.offline.sentences import MOST, READ

_ROLE_TYPES = ("user", "assistant", "system")
_TYPED_PREFIX = re.compile(r"[ \t]*+([^\n:]{0,300}?)[ \t]?\((user|assistant|system)\):[ \t]?")
_NAME = r"[^\W\d_][\w.'’-]{0,40}(?: [^\W\d_][\w.'’-]{0,40}){0,3}"
_PLAIN_PREFIX = re.compile(rf"[ \t]*+({_NAME}):[ \t]+")
_LINE_PREFIX = re.compile(rf"(?m)^[ \t]*+({_NAME}):[ \t]+")
_PREFIX_BOUND = 400  # characters that a speaker's prefix may take
_ORDINARY = COMMON | STOP | MONTHS.keys() | WEEKDAYS.keys()
_NARRATORS = frozenset({"document", "narrator", "article", "page", "text", "file", "note", "transcript"})


@dataclass(frozen=True, slots=True)
class Turn:
    """A stretch of text and its speaker; None: nobody in particular (prose)."""

    speaker: str | None
    content: str


def turns_of(episode: Episode) -> list[Turn]:
    """What is said in the episode, by whom. A transcript in one body gives several turns."""
    prefix, content = _split_prefix(episode)
    if episode.source is Source.MESSAGE or episode.role or episode.role_type:
        speaker = (episode.role or "").strip() or prefix or str(episode.role_type or "user")
        return [Turn(None if speaker.lower() in _NARRATORS else speaker, content)]
    lines = _transcript(episode.body)
    return lines or [Turn(prefix, content)]


def speaker_of(episode: Episode) -> str | None:
    """The speaker of a message, without looking at its content; None for prose and JSON."""
    if episode.source is not Source.MESSAGE and not episode.role and not episode.role_type:
        return None
    return turns_of(replace(episode, body=episode.body[:_PREFIX_BOUND]))[0].speaker


def participants_of(request: ExtractionRequest) -> tuple[str, ...]:
    """Everyone who speaks in the episode and the earlier ones, in order of appearance, latest last."""
    found: dict[str, None] = {}
    for episode in request.previous:
        speaker = speaker_of(episode)
        if speaker:
            found.setdefault(speaker)
    for turn in turns_of(request.episode):
        if turn.speaker:
            found.setdefault(turn.speaker)
    return tuple(found)


def _split_prefix(episode: Episode) -> tuple[str | None, str]:
    """The speaker that the body's own prefix names, and the body without it."""
    body = episode.body
    typed = _TYPED_PREFIX.match(body)
    if typed and (episode.role is None or typed[1].strip() in ("", episode.role.strip())):
        return typed[1].strip() or typed[2], body[typed.end() :]
    plain = _PLAIN_PREFIX.match(body)
    if plain and (plain[1] == episode.role or plain[1].lower() in _ROLE_TYPES):
        return plain[1], body[plain.end() :]
    if plain and episode.source is Source.MESSAGE and not episode.role and _is_name(plain[1]):
        return plain[1], body[plain.end() :]
    return None, body


def _transcript(body: str) -> list[Turn]:
    """Turns of a text in which at least two lines begin with `Name:`; otherwise none."""
    starts = [m for m in islice(_LINE_PREFIX.finditer(body[:READ]), MOST) if _is_name(m[1])]
    if len(starts) < 2 or body[: starts[0].start()].strip():
        return []
    ends = [m.start() for m in starts[1:]] + [len(body)]
    return [Turn(m[1], body[m.end() : end].strip()) for m, end in zip(starts, ends, strict=True)]


def _is_name(text: str) -> bool:
    words = text.lower().split()
    if text.lower() in _ROLE_TYPES:
        return True
    return text[0].isupper() and not any(word in _ORDINARY for word in words)
