"""Files of every format become a text in Markdown."""

import importlib.util
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import docx
import pytest
from docx.document import Document
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.text.paragraph import Paragraph

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, Unreadable
from kgsvc.documents.reading.reader import Reader
from tests.support.pdfs import Row, pdf_of

MARKDOWN = (
    "# Trip\r\n\r\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n# no heading\n```\n日本 🚲\n"
)


async def read(data: bytes, name: str, media_type: str = "") -> DocumentText:
    return await Reader().read(data, name, media_type)


def page_at(found: DocumentText, offset: int) -> int:
    """The number, from 1, of the page that holds the character."""
    return sum(begin <= offset for begin in found.pages)


async def refused(data: bytes, name: str, media_type: str = "") -> str:
    with pytest.raises(Unreadable) as caught:
        await read(data, name, media_type)
    assert str(caught.value) == f"{caught.value.name}: {caught.value.reason}"
    return caught.value.reason


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.txt", "folder/B.MD"])
async def test_text_and_markdown_stay_as_they_stand(encoding: str, name: str) -> None:
    found = await read(MARKDOWN.encode(encoding), name)
    assert (found.text, found.pages) == (MARKDOWN, ())
    assert found.title == ("Trip" if name.endswith("MD") else None)


async def test_big_endian_text_is_known_by_its_mark() -> None:
    assert (await read(b"\xfe\xff" + "né".encode("utf-16-be"), "a.txt")).text == "né"


async def test_a_media_type_says_format_and_charset() -> None:
    assert (await read("naïve".encode("latin-1"), "x", "text/plain; charset=ISO-8859-1")).text == "naïve"
    assert (await read(b"<p>x", "a.txt", "text/html")).text == "x"
    assert (await read(b"<p>x", "a.txt", "application/octet-stream")).text == "<p>x"


async def test_text_in_an_unknown_encoding_is_refused_with_the_place() -> None:
    assert await refused(b"na\xefve", "a.txt") == "is not UTF-8, nor UTF-16 with a byte order mark (byte 2)"


async def test_a_title_in_a_code_fence_is_none() -> None:
    found = await read(b"```\n# code\n```\n~~~~\n```\n# code\n~~~~\n# Real #\n", "a.md")
    assert found.title == "Real"


async def test_of_several_headings_of_the_first_level_none_is_the_title_of_all() -> None:
    assert (await read(b"# Acme\n\nx\n\n# Globex\n\ny\n", "a.md")).title is None


PAGE = b"""<!doctype html><html><head><title> A
 page </title><style>p {}</style><script>document.write("<p>never</p>")</script></head><body>
<h1>Trips <em>by</em> bike</h1><p>Ann&nbsp;rode <code>a|b</code>.<br>Then home.<p>Next
<ul><li>one<li>two<ol start=3><li>in<li>inner</ol><li><p>three<p>more</ul>
<blockquote><p>Said.</blockquote>
<table><caption>Costs</caption><tr><th>A<th>B<tr><td>1<td>2|3<p>x<tr><td><table><tr><td>in<td>side</table></table>
<pre><code class="language-python">def f():
    # note
    return "```"
</code></pre><div hidden>never</div><div style="color:red; display: none">never</div>
<template>never</template>
<nav><a href=x>never</a></nav><noscript>never</noscript><!-- never --><input value="never">
<p># no heading</p><dl><dt>Term<dd>Meaning</dl><img alt="a red bike"></body></html>"""

PAGE_TEXT = """# Trips by bike

Ann rode `a|b`.
Then home.

Next

- one
- two
  3. in
  4. inner
- three
  more

> Said.

Costs

| A | B |
| --- | --- |
| 1 | 2\\|3 x |
| in; side |  |

````python
def f():
    # note
    return "```"
````

\\# no heading

Term:

- Meaning

a red bike"""


async def test_html_becomes_what_a_reader_sees() -> None:
    found = await read(PAGE, "page.html")
    assert found.text == PAGE_TEXT
    assert (found.title, found.pages) == ("A page", ())


@pytest.mark.parametrize("begins", [*range(1_015, 1_027), *range(2_039, 2_051)])
async def test_a_charset_at_the_end_of_the_head_is_read_whole_or_not_at_all(begins: int) -> None:
    page = f'<meta name=x content="{"x" * (begins - 39)}"><meta charset="utf-8"><p>naïve</p>'
    assert (await read(page.encode(), "x.html")).text == "naïve"


async def test_html_is_read_in_the_charset_that_it_names() -> None:
    page = '<meta http-equiv=content-type content="text/html; charset=shift_jis"><p>日本</p>'
    assert (await read(page.encode("shift_jis"), "a.html")).text == "日本"
    assert (await read("\ufeff<p>é".encode("utf-16-le"), "a.html")).text == "é"


async def test_lists_nested_deeply_stay_readable() -> None:
    assert (await read(b"<ul><li>" * 500 + b"x", "a.html")).text == "- " * 8 + "x"


def a_book(pages: int) -> bytes:
    return pdf_of(
        [
            [
                Row(f"Chapter {number}", 18),
                Row("Ann went to Paris (by train) with", space=9),
                Row(f"Bob on day {number}."),
                Row("# no heading of its own", space=9),
                Row("1. first"),
                Row("2. second"),
            ]
            for number in range(1, pages + 1)
        ],
        title="The Book",
    )


async def test_every_page_of_a_pdf_is_found_again() -> None:
    found = await read(a_book(60), "book.pdf")
    assert found.title == "The Book"
    assert len(found.pages) == 60
    for number in (1, 2, 31, 60):
        begin = found.pages[number - 1]
        expected = (
            f"# Chapter {number}\n\nAnn went to Paris (by train) with Bob on day {number}.\n\n\\# no heading"
        )
        assert found.text[begin:].startswith(expected)
        assert page_at(found, begin) == number
        assert page_at(found, found.text.index(f"on day {number}.")) == number
    assert found.text.endswith("\n\n1. first\n\n2. second")


async def test_the_lines_of_an_item_belong_together_whatever_its_bullet_is_written_in() -> None:
    item = [Row("Ann went to Paris with", bullet=8), Row("Bob on day 3.")]
    found = await read(pdf_of([[Row("They travelled far."), *item, *item]]), "a.pdf")
    assert found.text == "They travelled far." + "\n\n- Ann went to Paris with Bob on day 3." * 2


def furnished(pages: int) -> bytes:
    """A book with a running title, headings and page numbers."""
    return pdf_of(
        [
            [
                Row("The Book of Mills", 9),
                Row(f"Chapter {number}", 18, space=12),
                Row(f"Ann went to {'Paris' if number % 2 else 'Oslo'} with", space=12),
                Row("her friend Bob."),
                Row(f"{number} of {pages}", 9, space=30),
            ]
            for number in range(1, pages + 1)
        ]
    )


async def test_what_pages_repeat_above_and_below_their_text_is_left_out() -> None:
    found = await read(furnished(6), "book.pdf")
    assert found.text.startswith("# Chapter 1\n\nAnn went to Paris with her friend Bob.\n\n# Chapter 2\n\n")
    assert "of Mills" not in found.text
    assert " of 6" not in found.text


async def test_a_line_that_counts_the_pages_is_left_out_whatever_else_it_says() -> None:
    pages = [
        [Row(f"{word} {n + 7}", 9), Row(f"They saw {word}.", space=30)] for n, word in enumerate("abcdef")
    ]
    assert (await read(pdf_of(pages), "a.pdf")).text == "\n\n".join(f"They saw {word}." for word in "abcdef")


async def test_a_sentence_goes_on_with_the_next_page() -> None:
    found = await read(
        pdf_of([[Row("Ann went with her")], [Row("friend to Oslo.")], [Row("Bob did not.")]]), "a.pdf"
    )
    assert found.text == "Ann went with her friend to Oslo.\n\nBob did not."
    assert [page_at(found, found.text.index(word)) for word in ("Ann", "friend", "Bob")] == [1, 2, 3]


async def test_two_pages_repeat_nothing() -> None:
    found = await read(furnished(2), "book.pdf")
    assert found.text.count("The Book of Mills") == 2
    assert "1 of 2" in found.text


async def test_pages_without_text_keep_their_numbers() -> None:
    found = await read(pdf_of([[], [Row("second.")], [], [Row("fourth.")], []]), "a.pdf")
    assert found.text == "second.\n\nfourth."
    assert [page_at(found, found.text.index(word)) for word in ("second", "fourth")] == [2, 4]
    assert len(found.pages) == 5


async def test_a_pdf_with_more_pages_than_allowed_is_refused() -> None:
    with pytest.raises(Unreadable, match=r"a\.pdf: has 6 pages; at most 5 are read"):
        await Reader(ReadingLimits(pages=5)).read(a_book(6), "a.pdf")


OOXML = b"http://purl.oclc.org/ooxml/"


def note_of(document: Document, paragraph: Paragraph, kind: str, text: str) -> None:
    """A foot- or endnote, as Word writes it beside one that it keeps for itself."""
    notes = (
        f"<w:{kind}s {nsdecls('w')}><w:{kind} w:type='separator' w:id='0'/>"
        f"<w:{kind} w:id='1'><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:{kind}></w:{kind}s>"
    )
    name = f"{kind}s".upper()
    content_type, relation = getattr(CONTENT_TYPE, f"WML_{name}"), getattr(RELATIONSHIP_TYPE, name)
    part = Part(PackURI(f"/word/{kind}s.xml"), content_type, notes.encode(), document.part.package)
    document.part.relate_to(part, relation)
    paragraph._p.append(parse_xml(f"<w:r {nsdecls('w')}><w:{kind}Reference w:id='1'/></w:r>"))


def a_report() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Report"
    document.add_heading("Trips", 0)
    document.add_heading("By bike", 2)
    seen = document.add_paragraph("Ann rode ")
    hidden = seen.add_run("never")
    hidden.font.hidden = True
    seen._p.append(
        parse_xml(f"<w:ins {nsdecls('w')} w:id='1' w:author='a'><w:r><w:t>home.</w:t></w:r></w:ins>")
    )
    seen._p.append(
        parse_xml(
            f"<w:del {nsdecls('w')} w:id='2' w:author='a'><w:r><w:delText>never</w:delText></w:r></w:del>"
        )
    )
    for text, style in (("one", "List Bullet"), ("inner", "List Bullet 2"), ("first", "List Number")):
        document.add_paragraph(text, style=style)
    document.add_paragraph("second", style="List Number")
    document.add_paragraph("Said.", style="Quote")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ("a", "b|c", "1", "2"), strict=True):
        cell.text = text
    document.add_paragraph("# no heading")
    boxed = "<w:sdtContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:sdtContent>"
    document.element.body.insert(-1, parse_xml(f"<w:sdt {nsdecls('w')}>{boxed}</w:sdt>"))
    note_of(document, seen, "footnote", "In May.")
    note_of(document, seen, "endnote", "And June.")
    written = BytesIO()
    document.save(written)
    return written.getvalue()


REPORT_TEXT = """# Trips

## By bike

Ann rode home.[^1][^e1]

- one
- inner
1. first
2. second

> Said.

| a | b\\|c |
| --- | --- |
| 1 | 2 |

\\# no heading

In a box.

[^1]: In May.

[^e1]: And June."""


async def test_docx_keeps_its_order_and_leaves_out_what_word_hides() -> None:
    assert await read(a_report(), "report.docx") == DocumentText(REPORT_TEXT, (), "Report")


async def test_docx_saved_as_strict_open_xml_is_read_as_well() -> None:
    strict = BytesIO()
    with ZipFile(BytesIO(a_report())) as usual, ZipFile(strict, "w") as made:
        for part in usual.namelist():
            content = usual.read(part)
            for kind, rest in ((b"officeDocument", b"relationships"), (b"wordprocessingml", b"main")):
                now = b"http://schemas.openxmlformats.org/" + kind + b"/2006/" + rest
                content = content.replace(now, OOXML + kind + b"/" + rest)
            made.writestr(part, content)
    assert OOXML in ZipFile(strict).read("word/document.xml"), "or it proves nothing"
    assert (await read(strict.getvalue(), "report.docx")).text == REPORT_TEXT


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsvc.documents.reading.reader.find_spec", lambda name: None)
    expected = "PDF is read with an extra that is not installed: pip install 'kgsvc[documents]'"
    assert await refused(a_book(1), "a.pdf") == expected
    assert (await read(b"words", "a.txt")).text == "words"


async def test_files_are_read_by_path_and_named_as_wanted(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A")
    assert (await Reader().read_file(tmp_path / "a.md")).title == "A"
    with pytest.raises(Unreadable, match=r"^notes/b\.md: cannot be opened: No such file or directory$"):
        await Reader().read_file(tmp_path / "b.md", "notes/b.md")


async def test_what_is_larger_than_allowed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(Unreadable, match=r"a\.txt: is larger than 1 MiB"):
        await Reader(ReadingLimits(file_bytes=1024 * 1024)).read_file(tmp_path / "a.txt")


def test_the_libraries_of_the_extra_are_installed_here() -> None:
    assert all(importlib.util.find_spec(name) for name in ("pypdfium2", "selectolax", "docx"))
