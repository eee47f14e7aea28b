"""Files as text: plain text, Markdown, HTML, PDF and DOCX become a text in Markdown with its pages and title.

Text and Markdown are only decoded.
Other formats are read by libraries in C, each file in a process of its own.
"""

from kgsvc.documents.reading.formats import (
    SUFFIXES,
    DocumentText,
    Format,
    ReadingLimits,
    Unreadable,
    format_of,
)
from kgsvc.documents.reading.reader import Reader, size_of

__all__ = [
    "SUFFIXES",
    "DocumentText",
    "Format",
    "Reader",
    "ReadingLimits",
    "Unreadable",
    "format_of",
    "size_of",
]
