"""A mail in one text: its head says who writes, to whom and when; what it quotes says somebody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header, make_header
from email.utils import getaddresses, parseaddr, parsedate_to_datetime
from typing import NamedTuple

from kgsvc.models.rules import english as en

_FIELD = re.compile(r"([A-Za-z][A-Za-z-]{1,30})[ \t]*:[ \t]*(.*)")
_BESIDE = frozenset({"to", "subject", "date", "sent", "cc"})  # one of these makes a head of "From: ..."
_LINES = 60  # of a head
_CHARS = 300  # of a name with its address
_ANSWERS = re.compile(r"(?i)(?:(?:re|fwd?|aw|wg|antw)(?:\[\d{1,3}\])?[ \t]*:[ \t]*)+")  # before a subject
_TECHNICAL = re.compile(r"from|to|b?cc|subject|date|sent|sender|received|importance|.*-.*")
_DEPTH = 5  # quotations within quotations
_QUOTES = re.compile(
    r"(?m)^(?:>[ \t]?)?(?:On\b(?P<on>.{2,120}(?:\n.{0,80})?)\bwrote|Am\b.{2,80}\bschrieb(?P<von>.{2,120}))"
    r":[ \t]*\n"
    r"(?P<said>(?:>.*(?:\n|\Z)|[ \t]*\n(?=[ \t\n]*>))+)"
)
_NO_PERSON = re.compile(  # what stands before the @ where a firm writes
    r"(?:no|do)[._-]?(?:not)?[._-]?reply|info|support|billing|invoices?|news(?:letter)?|notifications?|hello|team"
    r"|contact|sales|admin|service|office|mail|accounts?|orders?"
)
_LAST_NAME = re.compile(r"(?<![^\s,])(?:(?!AM|PM)[^\W\d_][\w.'’-]{0,40} ){0,3}[^\W\d_][\w.'’-]{0,40}\Z")
_ADDRESS = re.compile(r"[A-Za-z]{2,30}(?:[._-][A-Za-z]{2,30})?@\S{3,80}")


class MailPart(NamedTuple):
    """What somebody writes; None: a heading that names the day."""

    writer: str | None
    text: str


def parts_of_mail(body: str) -> list[MailPart]:
    """The day, then what the writer says, then what is quoted; nothing for what is no mail of a person."""
    head, text = _head(body)
    writer = _writer(head.get("from", ""))
    if writer is None or _BESIDE.isdisjoint(head):
        return []
    said = list(_said(writer, text, 0))
    first = "\n\n".join(each for each in (*_above(head), said[0].text) if each)
    return [*_day(head.get("date") or head.get("sent") or ""), MailPart(writer, first), *said[1:]]


def _above(head: dict[str, str]) -> list[str]:
    """What the head says itself: to whom, about what, and what no mail program writes ("Budget: 40k")."""
    subject = _ANSWERS.sub("", head.get("subject", ""), count=1)
    title = ": ".join(each for each in (_to(head.get("to", "")), subject) if each)
    more = [f"{key.capitalize()}: {value}" for key, value in head.items() if not _TECHNICAL.fullmatch(key)]
    return [title, "\n".join(more)]


def _head(body: str) -> tuple[dict[str, str], str]:
    """The fields of the head in lower case, and what stands behind the empty line that ends it."""
    fields: dict[str, str] = {}
    lines = body.split("\n", _LINES)
    key = ""
    for number, line in enumerate(lines[:_LINES]):
        found = _FIELD.match(line)
        if found and not line[0].isspace():
            key = found[1].lower()
            fields.setdefault(key, found[2].strip())
        elif key and line.strip() and line[0].isspace():
            fields[key] = f"{fields[key]} {line.strip()}".strip()
        elif line.strip():
            break
        else:
            return fields, "\n".join(lines[number:]).strip("\n")
    return {}, body


def _writer(field: str) -> str | None:
    """The person that a field names: by the name beside the address, or by what stands before its @."""
    name, address = parseaddr(field[:_CHARS])
    if _NO_PERSON.fullmatch(address.partition("@")[0].lower()):
        return None
    if not name and "@" not in field:
        name = field
    elif not name and _ADDRESS.fullmatch(address):
        name = " ".join(part.capitalize() for part in re.split(r"[._-]", address.partition("@")[0]))
    try:
        name = str(make_header(decode_header(name)))
    except (ValueError, LookupError, MessageError):
        return None
    last, comma, first = name.partition(", ")
    return _person(f"{first} {last}" if comma else name)


def _person(name: str) -> str | None:
    """The name, if it is a person's."""
    name = " ".join(name.strip("'\" ").split())
    words = set(name.lower().split())
    known = name.partition(" ")[0].lower() in en.GIVEN_NAMES
    likely = " " in name and name[0].isupper() and en.type_of(name) == "Entity"
    return name if known or (likely and words.isdisjoint(en.COMMON | en.PLACES)) else None


def _to(field: str) -> str:
    named = [name or address for name, address in getaddresses([field[:_CHARS]])]
    return f"To {', '.join(filter(None, named)) or field}" if field else ""


def _day(field: str) -> list[MailPart]:
    try:
        return [MailPart(None, f"# {parsedate_to_datetime(field).date().isoformat()}")]
    except (ValueError, OverflowError):
        return []


def _quoted(lead: str) -> str | None:
    """Who is quoted, by the words before "wrote": "Tue, 3 Nov 2026 at 9:14 AM Ann Holm <ann@example.org>"."""
    named = _LAST_NAME.search(" ".join(lead.partition("<")[0].split()))
    return _person(named[0]) if named else None


def _said(writer: str, text: str, depth: int) -> Iterator[MailPart]:
    """What the writer says in front of what is quoted and behind it, then the quotations."""
    quoted: list[MailPart] = []

    def part(match: re.Match[str]) -> str:
        who = _quoted(match["on"] or match["von"])
        if who is None or depth == _DEPTH:
            return match[0]
        words = "\n".join(line.removeprefix(">").removeprefix(" ") for line in match["said"].split("\n"))
        quoted.extend(_said(who, words.strip("\n"), depth + 1))
        return "\n"

    own = _QUOTES.sub(part, text).strip("\n")
    yield MailPart(writer, own)
    yield from (each for each in quoted if each.text)
