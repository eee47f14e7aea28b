"""Damaged and hostile files, made by seed: each must fail alone, with an error that says why."""

import io
import random
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import docx

from tests.support.pdfs import Row, pdf_of

_DOCUMENT = "word/document.xml"
_SCHEMA = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file and the beginning of the reason for which it is refused (a regular expression)."""

    name: str
    data: bytes
    reason: str


def a_docx() -> bytes:
    """A whole one."""
    document = docx.Document()
    document.add_heading("Report", 1)
    for number in range(30):
        document.add_paragraph(f"Paragraph {number} says that nothing is wrong with this file.")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def a_pdf(pages: int = 5) -> bytes:
    """A whole one."""
    return pdf_of([[Row(f"Page {number} of a whole file."), Row("It ends here.")] for number in range(pages)])


def with_part(data: bytes, name: str, content: bytes) -> bytes:
    """An archive with one file of it replaced."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part.filename, content if part.filename == name else old.read(part.filename))
    return written.getvalue()


def _archive(parts: dict[str, bytes]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return written.getvalue()


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) // 5, len(data) * 4 // 5)]


def _noise(rng: random.Random, head: bytes = b"") -> bytes:
    return head + rng.randbytes(rng.randrange(500, 5_000))


def _flag_encrypted(data: bytes) -> bytes:
    """The first entry of the archive's directory says that it is encrypted."""
    at = data.index(b"PK\x01\x02") + 8
    return data[:at] + bytes([data[at] | 1]) + data[at + 1 :]


def _encrypted_pdf(rng: random.Random, handler: str) -> bytes:
    words = (rng.randbytes(32).hex(), rng.randbytes(32).hex())
    entry = f"<< /Filter /{handler} /V 1 /R 2 /P -4 /O <{words[0]}> /U <{words[1]}> >>"
    return pdf_of(
        [[Row("secret")]], extra=[entry.encode()], trailer=f"/Encrypt 4 0 R /ID [<{'00' * 16}> <00>]"
    )


def _laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    head = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY l0 "lol">{entities}]>'
    body = f'<w:document xmlns:w="{_SCHEMA}"><w:body><w:p><w:r><w:t>&l11;</w:t></w:r></w:p></w:body>'
    return f"{head}{body}</w:document>".encode()


def _outside(path: str) -> bytes:
    head = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY out SYSTEM "file://{path}">]>'
    body = f'<w:document xmlns:w="{_SCHEMA}"><w:body><w:p><w:r><w:t>&out;x</w:t></w:r></w:p></w:body>'
    return f"{head}{body}</w:document>".encode()


def _nested(depth: int) -> bytes:
    inner = "<w:sdtContent>" * depth + "</w:sdtContent>" * depth
    return f'<w:document xmlns:w="{_SCHEMA}"><w:body>{inner}</w:body></w:document>'.encode()


def _many_paragraphs(count: int) -> bytes:
    body = "<w:p/>" * count
    return f'<w:document xmlns:w="{_SCHEMA}"><w:body>{body}</w:body></w:document>'.encode()


def _flate_bomb(mebibytes: int) -> bytes:
    """A page whose content unpacks to far more than there is memory for."""
    packer = zlib.compressobj(9)
    line = b"BT /F1 9 Tf 72 700 Td (more and more) Tj ET\n" * 25_000
    packed = b"".join(packer.compress(line) for _ in range(mebibytes)) + packer.flush()
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    return pdf_of([[Row("x")]], extra=[stream]).replace(b"/Contents 6 0 R", b"/Contents 4 0 R")


def _deep_mail(depth: int) -> bytes:
    parts = (f'Content-Type: multipart/mixed; boundary="{number}"\n\n--{number}\n' for number in range(depth))
    return b"From: Ann Holm <ann@example.org>\n" + "".join(parts).encode()


DAMAGED = r"is damaged|is cut off"
Make = Callable[[random.Random], bytes]
KINDS: tuple[tuple[str, Make, str], ...] = (
    ("cut.pdf", lambda rng: _cut(a_pdf(40), rng), r"is cut off"),
    ("rubbish.pdf", lambda rng: _noise(rng, b"%PDF-1.7\n") + b"%%EOF", DAMAGED),
    ("header.pdf", lambda rng: b"%PDF-1.4\n%%EOF\n" + b" " * rng.randrange(99), DAMAGED),
    ("locked.pdf", lambda rng: _encrypted_pdf(rng, "Standard"), r"is encrypted: save it without"),
    ("odd-lock.pdf", lambda rng: _encrypted_pdf(rng, "Other"), r"is encrypted in a way"),
    ("endless.pdf", lambda rng: pdf_of([[Row("x")]] * (10_000 + rng.randrange(9))), r"has 10,00\d pages"),
    ("images.pdf", lambda rng: pdf_of([[]] * rng.randrange(1, 9)), r"holds no text"),
    ("no-pages.pdf", lambda rng: pdf_of([]), DAMAGED),
    ("word.pdf", lambda rng: a_docx(), r"is called PDF and holds DOCX"),
    ("page.pdf", lambda rng: b"<html><p>x" + rng.randbytes(9), r"is called PDF and holds something else"),
    ("cut.docx", lambda rng: _cut(a_docx(), rng), DAMAGED),
    ("rubbish.docx", lambda rng: _noise(rng, b"PK\x03\x04"), DAMAGED),
    ("other.docx", lambda rng: _archive({"a.txt": rng.randbytes(99)}), r"is an archive, and no DOCX"),
    ("bomb.docx", lambda rng: _archive({_DOCUMENT: bytes(200 << 20)}), r"unpacks to 200 MiB"),
    ("crowd.docx", lambda rng: _archive({f"word/{n}": b"" for n in range(10_001)}), r"is an archive of 10,0"),
    ("locked.docx", lambda rng: _flag_encrypted(a_docx()), r"is encrypted"),
    (
        "old.docx",
        lambda rng: _noise(rng, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        r"is called DOCX and holds an old",
    ),
    ("rubbish.eml", lambda rng: _noise(rng, b"\n"), r"is no mail"),
    ("deep.eml", lambda rng: _deep_mail(rng.randrange(30, 99)), r"has more than 20 parts within parts"),
    ("abyss.eml", lambda rng: _deep_mail(rng.randrange(5_000, 9_000)), r"has more than 20 parts|is damaged"),
    ("laughs.docx", lambda rng: with_part(a_docx(), _DOCUMENT, _laughs()), r"declares entities|is damaged"),
    (
        "outside.docx",
        lambda rng: with_part(a_docx(), _DOCUMENT, _outside("/etc/hostname")),
        r"declares entities",
    ),
    ("deep.docx", lambda rng: with_part(a_docx(), _DOCUMENT, _nested(rng.randrange(9_000, 99_000))), DAMAGED),
    ("torn.docx", lambda rng: with_part(a_docx(), _DOCUMENT, _noise(rng, b"<w:document>")), DAMAGED),
    ("hollow.docx", lambda rng: with_part(a_docx(), _DOCUMENT, _nested(1)), r"holds no text"),
    ("sheet.docx", lambda rng: a_pdf(), r"is called DOCX and holds PDF"),
    ("note.docx", lambda rng: b"only words", r"is called DOCX and holds something else"),
    (
        "hidden.html",
        lambda rng: b"<p hidden>no</p><script>no</script>" * rng.randrange(1, 99),
        r"holds no text",
    ),
    ("book.html", lambda rng: a_pdf(), r"is called HTML and holds PDF"),
    ("latin.html", lambda rng: b"<p>na\xefve" + b"x" * rng.randrange(99), r"is not UTF-8"),
    ("odd.html", lambda rng: b'<meta charset="klingon"><p>x', r"is written in klingon"),
    ("zero.html", lambda rng: b"<p>x" + bytes(rng.randrange(1, 99)), r"holds NUL"),
    ("latin.txt", lambda rng: b"na\xefve " * rng.randrange(1, 99), r"is not UTF-8"),
    ("wide.txt", lambda rng: ("x" * rng.randrange(1, 99)).encode("utf-16-le"), r"holds NUL"),
    ("half.txt", lambda rng: b"\xff\xfe" + b"x\x00" * rng.randrange(1, 99) + b"x", r"is not UTF-16"),
    (
        "picture.txt",
        lambda rng: _noise(rng, b"\x89PNG\r\n\x1a\n"),
        r"is called plain text and holds an image",
    ),
    ("packed.md", lambda rng: _noise(rng, b"\x1f\x8b"), r"is called Markdown and holds a gzip"),
    ("program.md", lambda rng: _noise(rng, b"\x7fELF"), r"is called Markdown and holds a program"),
    ("empty.md", lambda rng: b" \n" * rng.randrange(9), r"is empty"),
    ("table.xlsx", lambda rng: a_docx(), r"is none of the formats"),
    ("no-suffix", lambda rng: b"words", r"is none of the formats"),
    ("large.txt", lambda rng: b"x" * ((8 << 20) + 1), r"is larger than 8 MiB"),
)
# What takes all the time or memory there is; few of them, since each is let run until its limit.
GREEDY: tuple[tuple[str, Make, str], ...] = (
    ("bomb.pdf", lambda rng: _flate_bomb(600), r"takes (?:more than|longer)|is damaged|holds more than"),
    ("deep.html", lambda rng: b"<div>" * 1_000_000 + b"x", r"takes (?:more than|longer)|is damaged"),
    (
        "hungry.docx",
        lambda rng: with_part(a_docx(), _DOCUMENT, _many_paragraphs(17_000_000)),
        r"takes (?:more than|longer)",
    ),
)


def each_kind(seed: int) -> Iterator[Hostile]:
    """One file of each kind."""
    rng = random.Random(seed)
    for name, make, reason in KINDS:
        yield Hostile(name, make(rng), reason)


def many(seed: int, count: int) -> Iterator[Hostile]:
    """`count` files, every kind among them, the greedy ones once each."""
    rng = random.Random(seed)
    for number in range(count):
        kinds = KINDS if number < count - len(GREEDY) else GREEDY
        name, make, reason = kinds[number % len(kinds)] if kinds is KINDS else kinds[number - count]
        yield Hostile(f"{number:03}-{name}", make(rng), reason)


def flipped(seed: int, count: int) -> Iterator[Hostile]:
    """Whole files with some bytes changed: what is left of them may be readable, or not."""
    rng = random.Random(seed)
    whole = {"flipped.pdf": a_pdf(), "flipped.docx": a_docx()}
    for number in range(count):
        name = list(whole)[number % 2]
        data = bytearray(whole[name])
        for _ in range(rng.randrange(1, 40)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        yield Hostile(f"{number:03}-{name}", bytes(data), "")
