"""Where things were read (spec 000): addresses kept in descriptions, citations, citation chains."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgsvc.domain.model import Source

_LABEL = "source_url: "
_ADDRESS = r"https?://[^\s,]+"
_EMBEDDED = re.compile(rf"source_url:\s*(?P<address>{_ADDRESS})")
_WHOLE = re.compile(_ADDRESS)


@dataclass(frozen=True, slots=True)
class Citation:
    """An episode as a source: everything but its body (spec 000, CitationInfo)."""

    episode_uuid: str
    name: str | None
    source: Source
    source_description: str | None
    created_ms: int

    @property
    def source_url(self) -> str | None:
        """The address in its description."""
        return source_url_of(self.source_description)


def is_source_url(text: str) -> bool:
    """Whether `text` is an http or https address that can be told from the description around it."""
    return _WHOLE.fullmatch(text) is not None


def with_source_url(description: str | None, url: str | None) -> str | None:
    """The description that carries the address: there is no field of its own for it (spec 000)."""
    if not url:
        return description
    return f"{description}, {_LABEL}{url}" if description else f"{_LABEL}{url}"


def source_url_of(description: str | None) -> str | None:
    """The first address that a description carries, None if it carries none."""
    found = _EMBEDDED.search(description or "")
    return found["address"] if found else None
