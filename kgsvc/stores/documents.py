"""Records of documents as the texts that stores keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from kgsvc.domain.model.documents import Document, Place, Revision

_PLAIN = (
    *(
        "document_id",
        "current",
        "title",
        "source_url",
        "author",
        "created_ms",
        "updated_ms",
        "chars",
        "chunks",
    ),
)


def document_text(document: Document) -> str:
    """The record as a JSON object."""
    values: dict[str, Any] = {name: getattr(document, name) for name in _PLAIN}
    values["metadata"] = dict(document.metadata)
    values["revisions"] = [astuple(each) for each in document.revisions]
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def document_of(group_id: str, text: str, is_open: int | bool | None) -> Document:
    """From what `document_text` made. `is_open`: it is not settled, which stores keep beside it."""
    values = json.loads(text)
    revisions = tuple(Revision(*each) for each in values.pop("revisions"))
    return Document(group_id=group_id, revisions=revisions, settled=not is_open, **values)


def places_text(places: Sequence[Place]) -> str:
    """As a JSON list."""
    return json.dumps([place.row() for place in places], ensure_ascii=False, separators=(",", ":"))


def places_of(text: str) -> tuple[Place, ...]:
    """From what `places_text` made; none for an empty text."""
    return tuple(Place.of(row) for row in json.loads(text)) if text else ()
