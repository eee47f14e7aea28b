"""The program that reads one file: its bytes from standard input, its text to standard output.

Its only argument is a JSON object: format, charset and limits. It answers a line of JSON, {"pages", "title"}
with the text after it, or {"refused"}. Any other end means that the file is damaged.
"""

from __future__ import annotations

import json
import logging
import sys

from kgsvc.documents.confined import confine
from kgsvc.documents.reading.formats import DocumentText, Format, ReadingLimits, Refused


def read(kind: Format, data: bytes, charset: str, limits: ReadingLimits) -> DocumentText:
    """The text of `data`. Raises Refused, and whatever the libraries raise."""
    if kind is Format.HTML:
        from kgsvc.documents.reading.html import read_html

        return read_html(data, charset, limits)
    if kind is Format.PDF:
        from kgsvc.documents.reading.pdf import read_pdf

        return read_pdf(data, limits)
    from kgsvc.documents.reading.docx import read_docx

    return read_docx(data, limits)


def main() -> None:
    """Read what stands on standard input."""
    asked = json.loads(sys.argv[1])
    limits = ReadingLimits(**asked["limits"])
    logging.disable()
    confine(limits.memory_bytes, limits.deadline_s)
    try:
        found = read(Format(asked["format"]), sys.stdin.buffer.read(), asked["charset"], limits)
    except Refused as error:
        sys.stdout.write(json.dumps({"refused": str(error)}))
        return
    sys.stdout.buffer.write(json.dumps({"pages": found.pages, "title": found.title}).encode() + b"\n")
    sys.stdout.buffer.write(found.text.encode())


if __name__ == "__main__":
    main()
