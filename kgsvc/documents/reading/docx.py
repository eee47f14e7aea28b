"""DOCX: paragraphs, headings, lists and tables in their order. What Word hides or has deleted is left out."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import docx
from docx.document import Document
from docx.opc.constants import NAMESPACE
from docx.oxml import parse_xml
from docx.oxml.ns import nsmap, qn
from lxml.etree import ErrorTypes, XMLSyntaxError

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, UnreadFile
from kgsvc.documents.reading.markdown import Container, Markdown, item, quote
from kgsvc.domain.limits import MIB

_MOST_PARTS = 10_000
_MOST_COLUMNS = 64
_BODY = "word/document.xml"
_PARAGRAPH, _TABLE, _ROW, _CELL, _RUN = (qn(f"w:{name}") for name in ("p", "tbl", "tr", "tc", "r"))
# Deleted or moved away, how things look, and what stands there a second time for old programs.
_PASSED_OVER = frozenset(
    map(qn, ("w:del", "w:moveFrom", "w:pPr", "w:tblPr", "w:trPr", "w:tcPr", "w:sectPr"))
) | {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
_LETTERS = {"footnote": "", "endnote": "e"}  # before the numbers of each kind of note
_NOTES = {qn(f"w:{kind}Reference"): letter for kind, letter in _LETTERS.items()}
# The namespaces of what Word saves as "Strict Open XML", and those that readers know.
_STRICT = {
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": NAMESPACE.OFC_RELATIONSHIPS.encode(),
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": nsmap["w"].encode(),
}
_TEXTS = {qn("w:tab"): "\t", qn("w:br"): "\n", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}


def read_docx(data: bytes, limits: ReadingLimits) -> DocumentText:
    """The text of a document's body, and its title. Raises Refused; other errors mean that it is damaged."""
    _check_archive(data, limits)
    try:
        document = docx.Document(_transitional(data))
    except XMLSyntaxError as error:
        if error.code == ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        raise
    if document.element.getroottree().docinfo.internalDTD is not None:
        raise UnreadFile("declares entities of its own, which no DOCX may")
    body = _Body(document, limits.text_chars)
    body.read(document.element.body)
    for number, note in _notes(document):
        body.out.paragraph(f"[^{number}]: {note}")
    text = body.out.text()
    if not text:
        raise UnreadFile("holds no text")
    return DocumentText(text, title=document.core_properties.title.strip() or None)


def _check_archive(data: bytes, limits: ReadingLimits) -> None:
    """Refuse what is no DOCX, and an archive that would unpack to too much, before anything is unpacked."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
    if len(parts) > _MOST_PARTS:
        raise UnreadFile(f"is an archive of {len(parts):,} files; at most {_MOST_PARTS:,} are read")
    if any(part.flag_bits & 1 for part in parts):
        raise UnreadFile("is encrypted: save it without its password")
    if _BODY not in {part.filename for part in parts} and "[Content_Types].xml" not in archive.NameToInfo:
        raise UnreadFile("is an archive, and no DOCX")
    size, most = sum(part.file_size for part in parts), limits.memory_bytes // 2
    if size > most:
        raise UnreadFile(f"unpacks to {size / MIB:,.0f} MiB; at most {most / MIB:,.0f} MiB are read")


def _transitional(data: bytes) -> io.BytesIO:
    """The archive in the namespaces that most programs write."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "_rels/.rels" not in archive.NameToInfo or next(iter(_STRICT)) not in archive.read("_rels/.rels"):
            return io.BytesIO(data)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as other:
            for part in archive.infolist():
                content = archive.read(part)
                for strict, usual in _STRICT.items() if part.filename.endswith((".xml", ".rels")) else ():
                    content = content.replace(strict, usual)
                other.writestr(part.filename, content)
    return made


class _Body:
    """Writes the body of a document."""

    def __init__(self, document: Document, most_chars: int) -> None:
        self.out = Markdown(most_chars)
        self._styles = {style.style_id: style for style in document.styles}
        self._bullets = _bullets(document)
        self._counts: dict[tuple[str, int], int] = {}  # the last number of each list and level
        self._code: list[str] = []  # lines of the code that is open

    def read(self, body: Any) -> None:
        """Write everything in `body`."""
        for block in _blocks(body):
            if block.tag == _TABLE:
                self._end_code()
                self.out.table(list(_rows(block)))
            else:
                self._paragraph(block)
        self._end_code()

    def _paragraph(self, paragraph: Any) -> None:
        text = _text(paragraph)
        style = self._style(paragraph)
        if any(word in style for word in ("code", "preformatted")):
            self._code.append(text)
            return
        self._end_code()
        level = self._heading_level(paragraph, style)
        if level is not None:
            self.out.heading(min(level, 6), text)
        elif text.strip():
            self.out.paragraph(text, self._containers(paragraph, style))

    def _end_code(self) -> None:
        if any(map(str.strip, self._code)):
            self.out.code("\n".join(self._code))
        self._code = []

    def _style(self, paragraph: Any) -> str:
        """The style's name in small letters: Word's own styles have English names in every language."""
        found = self._styles.get(paragraph.style or "")
        return (found.name or "").lower() if found is not None else ""

    def _heading_level(self, paragraph: Any, style: str) -> int | None:
        if style == "title":
            return 1
        if style.startswith("heading ") and style[8:].isdigit():
            return int(style[8:])
        outline = _value(paragraph, "w:pPr/w:outlineLvl")
        return int(outline) + 1 if outline in list("012345678") else None

    def _containers(self, paragraph: Any, style: str) -> list[Container]:
        if style in {"quote", "intense quote", "block text"}:
            return [quote()]
        number = self._numbering(paragraph)
        if number is None:
            return [item("-")] if style.startswith(("list bullet", "list number")) else []
        list_id, level = number
        self._counts = {key: n for key, n in self._counts.items() if key[0] != list_id or key[1] <= level}
        self._counts[number] = self._counts.get(number, 0) + 1
        marker = "-" if number in self._bullets else f"{self._counts[number]}."
        return [*[Container("  ", "  ") for _ in range(level)], item(marker)]

    def _numbering(self, paragraph: Any) -> tuple[str, int] | None:
        """The list of a paragraph and its level there, from 0: its own, else that of its style."""
        found = self._styles.get(paragraph.style or "")
        for holder in (paragraph, found.element if found is not None else None):
            if holder is not None and (list_id := _value(holder, "w:pPr/w:numPr/w:numId")):
                level = _number(_value(holder, "w:pPr/w:numPr/w:ilvl"), 0)
                return None if list_id == "0" else (list_id, min(level, 8))
        return None


def _bullets(document: Document) -> set[tuple[str, int]]:
    """The lists and their levels that have bullets instead of numbers."""
    if not any(rel.reltype.endswith("/numbering") for rel in document.part.rels.values()):
        return set()
    numbering = document.part.numbering_part.element
    kinds = {
        abstract.get(qn("w:abstractNumId")): {
            _number(level.get(qn("w:ilvl")), 0): _value(level, "w:numFmt")
            for level in abstract.iterchildren(qn("w:lvl"))
        }
        for abstract in numbering.iterchildren(qn("w:abstractNum"))
    }
    return {
        (number.get(qn("w:numId")), level)
        for number in numbering.iterchildren(qn("w:num"))
        for level, kind in kinds.get(_value(number, "w:abstractNumId"), {}).items()
        if kind in {"bullet", "none"}
    }


def _notes(document: Document) -> Iterator[tuple[str, str]]:
    """Numbers and texts of footnotes and endnotes; what Word keeps there for itself, lines between text and
    notes, has a type."""
    for rel in document.part.rels.values():
        kind = rel.reltype.rpartition("/")[2].removesuffix("s")
        if kind in _LETTERS and not rel.is_external:
            for note in parse_xml(rel.target_part.blob).iterchildren(qn(f"w:{kind}")):
                if note.get(qn("w:type")) is None:
                    text = " ".join(map(_text, note.iter(_PARAGRAPH)))
                    yield f"{_LETTERS[kind]}{note.get(qn('w:id'))}", " ".join(text.split())


def _blocks(element: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, also inside of content controls and insertions."""
    for child in element:
        if child.tag in {_PARAGRAPH, _TABLE}:
            yield child
        elif child.tag not in _PASSED_OVER:
            yield from _blocks(child)


def _rows(table: Any) -> Iterator[list[str]]:
    for row in table.iterchildren(_ROW):
        cells: list[str] = []
        for cell in row.iter(_CELL):
            # Else it is of a table within, whose text is in its cell.
            if next(cell.iterancestors(_ROW)) is row:
                width = min(_number(_value(cell, "w:tcPr/w:gridSpan"), 1), _MOST_COLUMNS)
                cells += [" ".join(map(_text, cell.iter(_PARAGRAPH))), *[""] * (width - 1)]
        yield cells


def _text(paragraph: Any) -> str:
    return "".join(_pieces(paragraph))


def _pieces(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag == qn("w:t"):
            yield child.text or ""
        elif child.tag in _NOTES:
            yield f"[^{_NOTES[child.tag]}{child.get(qn('w:id'))}]"
        elif child.tag in _TEXTS:
            yield _TEXTS[child.tag]
        elif child.tag not in _PASSED_OVER and not (child.tag == _RUN and _is_hidden(child)):
            yield from _pieces(child)


def _is_hidden(run: Any) -> bool:
    mark = run.find("w:rPr/w:vanish", nsmap)
    return mark is not None and mark.get(qn("w:val")) not in {"0", "false", "off"}


def _value(element: Any, path: str) -> str | None:
    """What the element at `path` below says."""
    found = element.find(path, nsmap)
    return None if found is None else found.get(qn("w:val"))


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and re.fullmatch(r"\d{1,9}", text) else default
