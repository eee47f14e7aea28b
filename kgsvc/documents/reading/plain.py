"""Plain text and Markdown: bytes as text, without a change."""

from __future__ import annotations

import codecs
import re

from kgsvc.documents.reading.text import DocumentText, Refused

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What pages that name an old charset mean by it, as browsers read them.
_MEANT = {"iso8859-1": "cp1252", "ascii": "cp1252"}


def read_text(data: bytes, charset: str = "") -> DocumentText:
    """Text as it stands. Raises Refused."""
    return DocumentText(decoded(data, charset))


def read_markdown(data: bytes, charset: str = "") -> DocumentText:
    """Markdown as it stands; its title is its first heading of the first level. Raises Refused."""
    text = decoded(data, charset)
    return DocumentText(text, title=_first_heading(text))


def decoded(data: bytes, charset: str = "") -> str:
    """The text of `data`, by its byte order mark, else by `charset`, else as UTF-8. Raises Refused."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    return _decoded(data, charset or "utf-8")


def _decoded(data: bytes, charset: str) -> str:
    try:
        encoding = codecs.lookup(charset).name
        text = data.decode(_MEANT.get(encoding, encoding))
    except LookupError:
        raise Refused(f"is written in {charset[:40]}, an encoding that is not known here") from None
    except UnicodeDecodeError as error:
        raise Refused(f"is not {_named(encoding)} (byte {error.start:,})") from None
    if "\0" in text:
        raise Refused("holds NUL characters: it is no text, or UTF-16 without a byte order mark")
    return text


def _named(encoding: str) -> str:
    return "UTF-8, nor UTF-16 with a byte order mark" if encoding == "utf-8" else encoding.upper()


def _first_heading(text: str) -> str | None:
    """The first `# ` line that does not stand in a code fence."""
    fence = ""
    for line in text.splitlines():
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := re.match(r" {0,3}#[ \t]+(.+?)[ \t#]*$", line)):
            return heading[1]
    return None
