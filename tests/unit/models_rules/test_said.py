"""What plain sentences claim, and that their words are kept: the tables in said/*.txt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kgsvc.domain.model.graph import FactKind, Polarity, Source
from tests.unit.models_rules.support import NOW, Found, Said, message, read, text_episode

WORDS = {"SAID", "ASKED", "MENTIONED", "MENTIONED_WITH"}
SIGNS = {Polarity.ASSERTS: "+", Polarity.ENDS: "-", Polarity.DENIES: "x"}
TALK = {
    "english": ("Bob", "Alice"),
    "real": ("Bob", "Alice"),
    "scripts": ("木村遥", "山下大輔"),
    "records": ("", ""),
}


def rows(name: str) -> Iterator[tuple[str, str]]:
    """The sentences of a table with what they claim."""
    for row in (Path(__file__).parent / "said" / f"{name}.txt").read_text("utf-8").splitlines():
        if row and not row.startswith("#"):
            text, _, claims = row.rpartition(" |")
            yield text, claims.strip()


def day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()


def told(fact: Said, claim: str) -> str:
    """The fact as the table writes it, as far as the table's own claim says it."""
    ends = f"{fact.source} > {fact.target}" if ">" in claim else fact.source
    text = f"{SIGNS[fact.polarity]}{fact.name} {ends}"
    if "[state]" in claim and fact.kind is FactKind.STATE:
        text += " [state]"
    if " from " in claim and fact.valid_ms is not None:
        text += f" from {day(fact.valid_ms)}"
    if " until " in claim and fact.invalid_ms is not None:
        text += f" until {day(fact.invalid_ms)}"
    return text


def claimed(found: Found) -> list[Said]:
    return [fact for fact in found.facts if fact.name not in WORDS]


def said(text: str, table: str) -> Found:
    if table == "records":
        return read(text_episode(text, Source.JSON))
    speaker, other = TALK[table]
    return read(message(text, speaker), [message("!", other, NOW - 60_000)])


ROWS = [(table, *row) for table in TALK for row in rows(table)]


@pytest.mark.parametrize(("table", "text", "claims"), ROWS, ids=[row[1][:60] for row in ROWS])
def test_a_sentence_claims_what_the_table_says_and_no_more(table: str, text: str, claims: str) -> None:
    wanted = sorted(claim for claim in claims.removesuffix("~").split("; ") if claim)
    facts = claimed(said(text, table))
    assert len(facts) == len(wanted), facts
    for claim in wanted:
        assert claim in [told(fact, claim) for fact in facts]


TEXTS = [row for row in ROWS if row[0] != "records"]


@pytest.mark.parametrize(("table", "text", "claims"), TEXTS, ids=[row[1][:60] for row in TEXTS])
def test_its_words_are_kept(table: str, text: str, claims: str) -> None:
    kept = " ".join(fact.fact for fact in said(text, table).facts).lower()
    words = re.findall(r"[^\W_]{4,}", text.replace("\u00ad", "").lower())
    missing = [word for word in words if word[:4] not in kept]
    assert claims == "~" or not missing, kept
