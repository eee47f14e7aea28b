"""Mails in one text: who says what, to whom and when."""

import random

import pytest

from kgsvc.domain.model.graph import Source
from kgsvc.models.rules.mails import MailPart, parts_of_mail
from tests.unit.models_rules.support import read, text_episode

HEAD = "From: {}\nTo: Karl Weiss <karl@example.org>\nSubject: Re: Pallets\n"
HEAD += "Date: Tue, 2 May 2023 09:14:22 +0000\n\n"
ANNA = "Anna Holm <anna@example.org>"


@pytest.mark.parametrize(
    ("sender", "writer"),
    [
        (ANNA, "Anna Holm"),
        ('"Holm, Anna" <anna@example.org>', "Anna Holm"),
        ("Anna", "Anna"),
        ("anna.holm@example.org", "Anna Holm"),
        ("=?utf-8?q?J=C3=B8rgen?= Dahl <j@example.org>", "Jørgen Dahl"),
        ("Li Wei <li@example.org>", "Li Wei"),
        ("GitHub <noreply@example.org>", None),
        ("Acme Billing <billing@example.org>", None),
        ("Lumen Labs <x@example.org>", None),
        ("notifications@example.org", None),
        ("=?utf-8?b?%%%?= <x@example.org>", None),
    ],
)
def test_a_person_writes_it(sender: str, writer: str | None) -> None:
    parts = parts_of_mail(HEAD.format(sender) + "The wheel is mended.")
    assert parts[1:] == (
        [] if writer is None else [MailPart(writer, "To Karl Weiss: Pallets\n\nThe wheel is mended.")]
    )


@pytest.mark.parametrize(
    ("lead", "quoted"),
    [
        ("On Tue, May 2, 2023 at 9:14 AM Karl Weiss <karl@example.org> wrote:", "> Does Friday work?"),
        ("On Mon, 1 May 2023 at 08:00, Karl Weiss\n<karl@example.org> wrote:\n", "> Does Friday work?\n>\n"),
        ("> On Monday, Karl Weiss wrote:", "> Does Friday work?"),
        ("Am 1. Mai 2023 um 09:14 schrieb Karl Weiss <karl@example.org>:\n", "> Does Friday work?"),
    ],
)
def test_what_is_quoted_says_who_wrote_it(lead: str, quoted: str) -> None:
    body = f"{HEAD.format(ANNA)}It does.\n\n{lead}\n{quoted}\n"
    assert parts_of_mail(body)[1:] == [
        MailPart("Anna Holm", "To Karl Weiss: Pallets\n\nIt does."),
        MailPart("Karl Weiss", "Does Friday work?"),
    ]


def test_what_the_head_says_itself_is_kept() -> None:
    head = f"From: {ANNA}\nTo: Karl Weiss <karl@example.org>, li@example.org\nBudget: 40k\nX-Mailer: y\n\n"
    assert [part.text for part in parts_of_mail(f"{head}Hello.")] == [
        "To Karl Weiss, li@example.org\n\nBudget: 40k\n\nHello."
    ]


def test_quotations_within_quotations_have_their_own_writers() -> None:
    body = "Yes.\n\nOn Monday, Karl Weiss wrote:\n> Friday?\n>\n> On Sunday, Li Wei wrote:\n>> When?\n"
    said = [(part.writer, part.text) for part in parts_of_mail(HEAD.format(ANNA) + body)[2:]]
    assert said == [("Karl Weiss", "Friday?"), ("Li Wei", "When?")]


@pytest.mark.parametrize("source", [Source.TEXT, Source.DOCUMENT])
def test_a_mail_is_what_its_writer_says_on_its_day(source: Source) -> None:
    body = "I moved to Bergen yesterday.\n\nOn Monday, Karl Weiss wrote:\n> I live in Kiel.\n"
    found = read(text_episode(HEAD.format(ANNA) + body, source))
    homes = [(f.source, f.target, f.valid_ms) for f in found.facts if f.name == "LIVES_IN"]
    day = 1_682_899_200_000  # 1 May 2023
    assert homes == [("Anna Holm", "Bergen", day), ("Karl Weiss", "Kiel", day + 86_400_000)]
    assert {node.type for node in found.extraction.nodes if node.name in ("Anna Holm", "Karl Weiss")} == {
        "Person"
    }


@pytest.mark.parametrize(
    "text",
    [
        "From: Anna Holm",
        "From: Anna Holm\nthe wheel is mended",
        "From: Berlin\nTo: Kiel\n\nA ticket.",
        "I got a mail.\nFrom: Anna Holm\nTo: Karl\n\nHello.",
        "From: Anna Holm\nTo: Karl\n" + "Xy: z\n" * 100 + "\nHello.",
    ],
)
def test_other_texts_are_no_mail(text: str) -> None:
    assert parts_of_mail(text) == []


@pytest.mark.parametrize("field", ["(" * 5_000, "<" * 5_000, '"' * 5_001, "a@" * 3_000, "=?x?y?z?=" * 500])
def test_hostile_fields_end(field: str) -> None:
    for name in ("From", "To", "Date", "Subject"):
        head = {"From": ANNA, "To": "Karl", name: field}
        parts_of_mail("\n".join(f"{key}: {value}" for key, value in head.items()) + "\n\nHello.")


def test_scrambled_mails_end() -> None:
    rng = random.Random(5)
    pieces = [
        "On ",
        "Karl Weiss",
        " wrote:",
        "\n",
        "> ",
        ">",
        "Am ",
        " schrieb ",
        "Date: ",
        "99999",
        "<a@b.c>",
        ", ",
    ]
    for _ in range(300):
        parts_of_mail(HEAD.format(ANNA) + "".join(rng.choice(pieces) for _ in range(200)))
