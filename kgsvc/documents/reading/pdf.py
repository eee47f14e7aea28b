"""PDF: the text of every page, its lines joined to paragraphs; headings by the size of their letters."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pypdfium2
import pypdfium2.raw as pdfium

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, UnreadFile
from kgsvc.documents.reading.furniture import PageLine, without_furniture
from kgsvc.documents.reading.markdown import clean, escaped

_PASSWORD, _SECURITY = 4, 5  # what PDFium calls these failures
_END = 4096  # bytes within which a whole file ends
_LARGER = 1.15  # a heading's letters beside those of the text
_HEADING_CHARS = 150
_GAP = 1.2  # times the usual way from a line to the next: a new paragraph
_HYPHEN = "\x02"  # PDFium's sign for a word that was broken at the end of a line


def read_pdf(data: bytes, limits: ReadingLimits) -> DocumentText:
    """The text of all pages. Raises Refused: encrypted, damaged, too many pages, no text."""
    if b"%%EOF" not in data[-_END:]:  # PDFium would make do with what is there
        raise UnreadFile("is cut off: its end is missing")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise UnreadFile(_why(error)) from error
    if len(document) > limits.pages:
        raise UnreadFile(f"has {len(document):,} pages; at most {limits.pages:,} are read")
    pages = list(_pages(document, limits.text_chars))
    if not any(pages):
        raise UnreadFile("holds no text: pages that are images alone need text recognition first")
    title = clean(document.get_metadata_value("Title")).strip()
    return _joined([*_written(pages)], title or None)


def _why(error: pypdfium2.PdfiumError) -> str:
    if error.err_code == _PASSWORD:
        return "is encrypted: save it without its password"
    if error.err_code == _SECURITY:
        return "is encrypted in a way that is not known here"
    return "is damaged: it cannot be opened as a PDF"


def _pages(document: pypdfium2.PdfDocument, most_chars: int) -> Iterator[list[PageLine]]:
    chars = 0
    for number in range(len(document)):
        try:
            page = document[number]
        except pypdfium2.PdfiumError as error:
            raise UnreadFile(f"is damaged: page {number + 1:,} cannot be read") from error
        text_page = page.get_textpage()
        lines = list(_lines(text_page))
        text_page.close()
        page.close()
        chars += sum(len(line.text) for line in lines)
        if chars > most_chars:
            raise UnreadFile(f"holds more than {most_chars:,} characters of text")
        yield lines


def _lines(page: pypdfium2.PdfTextPage) -> Iterator[PageLine]:
    """PDFium has two ways to the text: one cuts characters beyond 16 bits, the other knows no places."""
    placed, whole = (text.split("\r\n") for text in (page.get_text_range(), page.get_text_bounded()))
    texts = whole if len(whole) == len(placed) else placed
    begin = 0
    for line, text in zip(placed, texts, strict=True):
        if text.strip():
            bullet = _BULLET.match(line)  # often of another font than the text behind it
            skipped = bullet.end() if bullet and bullet.end() < len(line) else 0
            inked = [begin + at for at, char in enumerate(line) if at >= skipped and not char.isspace()]
            yield _placed(page, text.replace("\ufffe", _HYPHEN).strip(" \t\r\n\0"), inked or [begin])
        begin += len(line) + 2


def _placed(page: pypdfium2.PdfTextPage, text: str, inked: Sequence[int]) -> PageLine:
    """A line by the places of its letters in the page's text. Of three of them the middle size counts: a line
    may begin or end in other letters, such as those of code."""
    three = (inked[0], inked[len(inked) // 2], inked[-1])
    first, *others = (pdfium.FPDFText_GetCharIndexFromTextIndex(page, place) for place in three)
    _, size, _ = sorted(pdfium.FPDFText_GetFontSize(page, index) for index in (first, *others))
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pdfium.FPDFText_GetCharBox(page, first, left, right, bottom, top)
    return PageLine(text, round(size, 1), left.value, bottom.value)


def _written(pages: Sequence[Sequence[PageLine]]) -> Iterator[str]:
    """Each page as Markdown."""
    sizes = Counter[float]()
    for line in (line for page in pages for line in page):
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0]
    larger = sorted((size for size in sizes if size > body * _LARGER), reverse=True)
    levels = {size: min(level, 6) for level, size in enumerate(larger, 1)}
    leading = _usual_leading(pages)
    for page in without_furniture(pages, body, leading * _GAP):
        yield "\n\n".join(_paragraphs(page, levels, leading))


def _paragraphs(page: Sequence[PageLine], levels: dict[float, int], leading: float) -> Iterator[str]:
    open_lines: list[PageLine] = []
    for line in page:
        if open_lines and _begins(line, open_lines[-1], leading):
            yield _paragraph(open_lines, levels)
            open_lines = []
        open_lines.append(line)
    if open_lines:
        yield _paragraph(open_lines, levels)


def _usual_leading(pages: Sequence[Sequence[PageLine]]) -> float:
    """The way from a line to the next, most often, beside the size of the letters."""
    ways = Counter[float]()
    for before, line in (pair for page in pages for pair in pairwise(page)):
        if line.size and line.size == before.size and line.bottom < before.bottom:
            ways[round((before.bottom - line.bottom) / line.size, 1)] += 1
    return ways.most_common(1)[0][0] if ways else 0.0


def _begins(line: PageLine, before: PageLine, leading: float) -> bool:
    """Whether a line begins a paragraph: other letters, a wider gap, or a place above (another column)."""
    gap = before.bottom - line.bottom
    return (
        line.size != before.size
        or gap > leading * line.size * _GAP
        or gap < -line.size
        or bool(_ITEM.match(line.text))
    )


_BULLET = re.compile(r"[•‣▪◦●\uf000-\uf0ff]\s*")  # the last are those of symbol fonts
_ITEM = re.compile(rf"(?:[-*]|\d{{1,3}}[.)])\s|–\s*|{_BULLET.pattern}")


def _paragraph(lines: Sequence[PageLine], levels: dict[float, int]) -> str:
    text = lines[0].text
    for line in lines[1:]:
        text = text[:-1] + line.text if text.endswith(_HYPHEN) else f"{text} {line.text}"
    text = clean(text.replace(_HYPHEN, ""))
    level = levels.get(lines[0].size)
    if level and len(text) <= _HEADING_CHARS and any(map(str.isalpha, text)):
        return f"{'#' * level} {text}"
    return escaped(re.sub(rf"^{_BULLET.pattern}", "- ", text))


def _goes_on(before: str, page: str) -> bool:
    return page[0].islower() and (before[-1].isalpha() or before[-1] in ",–—")


def _joined(pages: Sequence[str], title: str | None) -> DocumentText:
    """The pages one after the other, and where each begins. A page may begin in the midst of a sentence."""
    parts: list[str] = []
    begins: list[int] = []
    length = 0
    for page in pages:
        before = next(filter(None, reversed(parts)), "")
        gap = "" if not page or not length else " " if _goes_on(before, page) else "\n\n"
        begins.append(length + len(gap))
        parts += [gap, page]
        length += len(gap) + len(page)
    return DocumentText("".join(parts), tuple(begins), title)
