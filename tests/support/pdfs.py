"""Writes small PDFs by hand: text in Helvetica, of several sizes, on as many pages as wanted."""

from collections.abc import Sequence
from dataclasses import dataclass

_LEFT, _TOP = 72, 760


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a page; `space` is what is left free above it, `bullet` the size of a bullet in front."""

    text: str
    size: int = 11
    space: int = 0
    bullet: int = 0


def pdf_of(
    pages: Sequence[Sequence[Row]], title: str = "", trailer: str = "", extra: Sequence[bytes] = ()
) -> bytes:
    """A PDF of these pages. `trailer` and the objects of `extra` (from number 4 on) go in as they are."""
    first = 4 + len(extra)
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        *extra,
    ]
    for number, page in enumerate(pages):
        content = _content(page)
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 842] /Contents {first + 2 * number + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        ]
    objects.append(f"<< /Title ({title}) >>".encode())
    return _file(objects, f"/Root 1 0 R /Info {len(objects)} 0 R {trailer}")


def _content(page: Sequence[Row]) -> bytes:
    parts, height = [], _TOP
    for row in page:
        height -= row.space + row.size + 3
        text = row.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        if row.bullet:
            parts.append(f"BT /F1 {row.bullet} Tf {_LEFT - 9} {height} Td (•) Tj ET")
        parts.append(f"BT /F1 {row.size} Tf {_LEFT} {height} Td ({text}) Tj ET")
    return "\n".join(parts).encode("cp1252")


def _file(objects: Sequence[bytes], trailer: str) -> bytes:
    written, offsets = b"%PDF-1.7\n", []
    parts = [written]
    length = len(written)
    for number, body in enumerate(objects, 1):
        offsets.append(length)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, body))
        length += len(parts[-1])
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, entries)
    end = f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{length}\n%%EOF\n".encode()
    return b"".join([*parts, table, end])
