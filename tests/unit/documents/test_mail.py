"""Mails as programs send them become a head and a text."""

import textwrap

import pytest

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, Unreadable
from kgsvc.documents.reading.reader import Reader

WHOLE = """\
    Received: from mx.example.org by mail.example.org; Mon, 2 Mar 2026 10:15:03 +0100
    From: =?utf-8?q?J=C3=B6rg_Maier?= <joerg@example.org>
    To: Ann Holm <ann@example.org>,
     Bob Stone <bob@example.org>
    Date: Mon, 02 Mar 2026 10:15:00 +0100
    Subject: Re: The Payments
     project
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary="outer"

    This is a message in MIME format.
    --outer
    Content-Type: multipart/alternative; boundary="inner"

    --inner
    Content-Type: text/html; charset=utf-8
    Content-Transfer-Encoding: base64

    PHA+SGVyZSBpbiBIVE1MLjwvcD4=
    --inner
    Content-Type: text/plain; charset=iso-8859-1; format=flowed
    Content-Transfer-Encoding: quoted-printable

    I moved to M=FCnchen in February and I work at =

    Acme now.=20
    My number is 555-1234.

    --=20
    J=F6rg
    --inner--
    --outer
    Content-Type: text/plain; name="log.txt"
    Content-Disposition: attachment; filename="log.txt"

    never
    --outer
    Content-Type: message/rfc822

    From: Bob Stone <bob@example.org>
    Date: Sun, 01 Mar 2026 09:00:00 +0000
    Subject: Budget

    I live in Oslo.
    --outer--
    """
READ = """\
From: Jörg Maier <joerg@example.org>
To: Ann Holm <ann@example.org>, Bob Stone <bob@example.org>
Date: Mon, 02 Mar 2026 10:15:00 +0100
Subject: Re: The Payments project

I moved to München in February and I work at Acme now. My number is 555-1234.

--\x20
Jörg

On Sun, 01 Mar 2026 09:00:00 +0000, Bob Stone <bob@example.org> wrote:
> Budget
>\x20
> I live in Oslo.
"""
HEAD = b"From: Ann Holm <ann@example.org>\nSubject: Hi\n"


async def read(data: bytes, limits: ReadingLimits | None = None) -> DocumentText:
    return await Reader(limits).read(data, "a.eml")


async def text_of(data: bytes) -> str:
    """The text without the head that `HEAD` gives."""
    return (await read(HEAD + data)).text.partition("Subject: Hi\n\n")[2]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_mail_is_what_its_reader_sees(end: str) -> None:
    found = await read(textwrap.dedent(WHOLE).replace("\n", end).encode())
    assert (found.text, found.title) == (READ, "Re: The Payments project")


async def test_it_is_known_by_its_media_type_too() -> None:
    found = await Reader().read(HEAD + b"\nHello.\n", "attachment", "message/rfc822")
    assert found.text == "From: Ann Holm <ann@example.org>\nSubject: Hi\n\nHello.\n"


async def test_html_is_read_where_there_is_nothing_else() -> None:
    assert await text_of(b"Content-Type: text/html\n\n<p>One<p>Two<script>no</script>") == "One\n\nTwo\n"
    both = (
        b'Content-Type: multipart/alternative; boundary="b"\n\n--b\nContent-Type: text/plain\n\n \n'
        b"--b\nContent-Type: text/html\n\n<p>Words\n--b--\n"
    )
    assert await text_of(both) == "Words\n"


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        (b"text/plain", b"na\xc3\xafve", "naïve"),
        (b"text/plain; charset=us-ascii", b"na\xefve \x93so\x94", "naïve “so”"),
        (b"text/plain; charset=no-such", b"na\xc3\xafve", "naïve"),
        (b"text/plain; charset=zlib", b"plain", "plain"),
        (b"text/plain; charset=shift_jis", "東京".encode("shift_jis"), "東京"),
    ],
)
async def test_text_is_decoded_as_it_says_or_as_it_is_meant(kind: bytes, data: bytes, text: str) -> None:
    assert await text_of(b"Content-Type: " + kind + b"\n\n" + data) == f"{text}\n"


async def test_a_field_that_cannot_be_decoded_stays_as_it_stands() -> None:
    found = await read(b"From: =?no-such?q?Ann?= <ann@example.org>\n\nHi.\0\n")
    assert found.text == "From: =?no-such?q?Ann?= <ann@example.org>\n\nHi.\n"
    assert found.title is None


@pytest.mark.parametrize("data", [b"J\xc3\xb6rg", b"J\xf6rg", b"=?ISO-8859-1?Q?J=F6rg?="])
async def test_a_field_may_be_written_as_it_should_not(data: bytes) -> None:
    assert (await read(b"from: " + data + b" <j@example.org>\n\nHi.\n")).text == (
        "From: Jörg <j@example.org>\n\nHi.\n"
    )


async def refused(data: bytes, limits: ReadingLimits | None = None) -> str:
    with pytest.raises(Unreadable) as caught:
        await read(data, limits)
    return caught.value.reason


async def test_what_is_no_mail_is_refused() -> None:
    assert await refused(b"Just a text.\n") == "is no mail: it begins with neither From nor Subject"
    assert await refused(b"%PDF-1.7\n") == "is called mail and holds PDF"


async def test_a_mail_has_limits() -> None:
    long = HEAD + b"\n" + b"word " * 1_000
    assert await refused(long, ReadingLimits(text_chars=1_000)) == "holds more than 1,000 characters of text"
    parts = "".join(f'Content-Type: multipart/mixed; boundary="{n}"\n\n--{n}\n' for n in range(30))
    assert await refused(HEAD + parts.encode()) == "has more than 20 parts within parts"
    parts = "".join(f'Content-Type: multipart/mixed; boundary="{n}"\n\n--{n}\n' for n in range(3_000))
    assert (await refused(HEAD + parts.encode())).startswith(("has more than", "is damaged, or no mail"))
