"""Mail (RFC 5322 with MIME): who writes to whom, when and about what, then the text, without attachments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from importlib.util import find_spec

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, UnreadFile

_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_DEPTH = 20  # parts within parts
_SOFT = re.compile(r"(?m)(?<=[^ \n])(?<!\n--) \n(?![>\n ]|-- $)")  # where a line goes on (RFC 3676)
_FORWARDED = "message/rfc822"


def read_mail(data: bytes, limits: ReadingLimits) -> DocumentText:
    """A head of From, To, Cc, Date and Subject, and the text below it; the subject is the title. A mail that
    is forwarded as a part of its own is quoted. Raises UnreadFile."""
    message = BytesParser(policy=compat32).parsebytes(data)
    if not (message["From"] or message["Subject"]):
        raise UnreadFile("is no mail: it begins with neither From nor Subject")
    text = _whole(message, limits).replace("\0", "")
    if len(text) > limits.text_chars:
        raise UnreadFile(f"holds more than {limits.text_chars:,} characters of text")
    return DocumentText(text, title=_field(message, "Subject") or None)


def _whole(message: Message[str, str], limits: ReadingLimits) -> str:
    head = [f"{name}: {value}" for name in _FIELDS if (value := _field(message, name))]
    said = "\n\n".join(each for part in _texts(message, limits, 0) if (each := part.strip()))
    return "\n".join(head) + f"\n\n{said}\n"


def _field(message: Message[str, str], name: str) -> str:
    """The value in one line; as it stands where it cannot be decoded."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    value = _decoded(str(raw).encode(errors="surrogateescape"), "utf-8")
    with suppress(ValueError, LookupError, MessageError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.split())


def _texts(part: Message[str, str], limits: ReadingLimits, depth: int) -> Iterator[str]:
    """What a part says to its reader."""
    if depth > _DEPTH:
        raise UnreadFile(f"has more than {_DEPTH} parts within parts")
    parts = part.get_payload() if part.is_multipart() else []
    inner = [each for each in parts if isinstance(each, Message)] if isinstance(parts, list) else []
    kind = part.get_content_type()
    if kind == "multipart/alternative":
        yield next(filter(str.strip, _alternatives(inner, limits, depth)), "")
    elif kind == _FORWARDED and inner:
        yield _quoted(inner[0], limits, depth)
    elif inner:
        for each in inner:
            yield from _texts(each, limits, depth + 1)
    elif kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
        yield _read(part, kind, limits)


def _alternatives(inner: list[Message[str, str]], limits: ReadingLimits, depth: int) -> Iterator[str]:
    """The same text in several formats, plain text first."""
    for each in sorted(inner, key=lambda each: each.get_content_type() != "text/plain"):
        yield "\n\n".join(_texts(each, limits, depth + 1))


def _quoted(forwarded: Message[str, str], limits: ReadingLimits, depth: int) -> str:
    said = "\n\n".join(_texts(forwarded, limits, depth + 1)).strip()
    head = f"On {_field(forwarded, 'Date')}, {_field(forwarded, 'From')} wrote:"
    return "\n".join([head, *(f"> {line}" for line in (_field(forwarded, "Subject"), "", *said.split("\n")))])


def _read(part: Message[str, str], kind: str, limits: ReadingLimits) -> str:
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)  # a part without parts
    if kind == "text/html":
        return _page(data, part.get_content_charset("utf-8"), limits)
    text = _decoded(data, part.get_content_charset("utf-8")).replace("\r\n", "\n")
    return _SOFT.sub(" ", text) if part.get_param("format") == "flowed" else text


def _page(data: bytes, charset: str, limits: ReadingLimits) -> str:
    if find_spec("selectolax") is None:
        raise UnreadFile(
            "holds HTML alone, which an extra reads that is not installed: pip install 'kgsvc[documents]'"
        )
    from kgsvc.documents.reading.html import seen

    return seen(_decoded(data, charset), limits).text


def _decoded(data: bytes, charset: str) -> str:
    """As the part says, or as most mail programs mean it that name no charset, or a wrong one."""
    for each in (charset, "utf-8"):
        with suppress(LookupError, UnicodeDecodeError):
            return data.decode(each)
    return data.decode("cp1252", errors="replace")
