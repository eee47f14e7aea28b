"""Secrets never reach a log line: credentials in URIs and bearer tokens are replaced before writing."""

from __future__ import annotations

import re

# Greedy up to the last @ of the word: a password may itself hold @ or /.
_URI_CREDENTIALS = re.compile(r"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s\"'<>]*@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")


def redact(text: str) -> str:
    """`text` with the credentials of URIs and of authorization headers replaced by asterisks."""
    if "@" in text:
        text = _URI_CREDENTIALS.sub(r"\g<scheme>***@", text)
    return _BEARER.sub(r"\1 ***", text)
