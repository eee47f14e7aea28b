"""Chunks are the document, whatever it holds, and a revision keeps what it can."""

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from kgsvc.documents.chunking import Chunk, Chunking, chunks_of, split
from kgsvc.documents.revisions import resplit
from kgsvc.documents.tokens import count_tokens
from tests.unit.documents.test_revisions import old, own

WORDS = st.sampled_from(
    [
        *("word", " ", "  ", "\n", "\n\n", "\r\n", "\f", ". ", "。", "日本語", "文", "1234567", "_"),
        *("👨‍👩‍👧‍👦", "🇯🇵", "🧠", "e\u0301", "\u0301", "a\u200d", "\U0001f3ff"),
        *("# Title\n", "## Part\n", "Title\n===\n", "```\n", "~~~", "| a | b |\n", "|---|---|\n", "    x\n"),
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=8), max_size=120).map("".join)


@st.composite
def chunkings(draw: st.DrawFn) -> Chunking:
    size = draw(st.integers(1, 60))
    kind: Literal["near", "exact"] = draw(st.sampled_from(["near", "exact"]))
    return Chunking(size, draw(st.integers(0, size - 1)), kind)


def assert_sound(chunks: list[Chunk], text: str, most: float) -> None:
    assert "".join(map(own, chunks)) == text
    for chunk in chunks:
        assert chunk.content == text[chunk.start : chunk.end] != ""
        assert chunk.start <= chunk.own_start <= chunk.end
        # What cannot be cut, such as an emoji of many tokens, may be more than a tiny window allows.
        assert chunk.tokens <= most or len(own(chunk)) <= 32


@given(TEXTS, chunkings(), st.lists(st.integers(0, 500), max_size=5).map(sorted))
@settings(max_examples=150, deadline=None)
def test_own_parts_end_to_end_are_the_document(text: str, chunking: Chunking, pages: list[int]) -> None:
    chunks = split(text, chunking, pages)
    assert_sound(chunks, text, chunking.token_size)
    if chunking.boundaries == "near":
        assert all(each.tokens == count_tokens(each.content) for each in chunks)
    for chunk in chunks:
        assert chunk.page == (sum(page <= chunk.start for page in pages) or None)
        assert chunk.last_page == (sum(page < chunk.end for page in pages) or None)


@given(st.lists(TEXTS, max_size=8), chunkings(), st.integers(1, 300))
@settings(max_examples=100, deadline=None)
def test_a_stream_has_the_same_chunks_however_it_is_cut(
    parts: list[str], chunking: Chunking, repeated: int
) -> None:
    pieces = parts * repeated if len(parts) < 3 else parts
    assert list(chunks_of(iter(pieces), chunking)) == split("".join(pieces), chunking)


@given(TEXTS, TEXTS, TEXTS, TEXTS, chunkings())
@settings(max_examples=150, deadline=None)
def test_a_revision_is_the_new_document_and_then_stays(
    head: str, cut: str, put: str, tail: str, chunking: Chunking
) -> None:
    before, after = head + cut + tail, head + put + tail
    chunks = split(before, chunking)
    assert resplit(old(chunks), before, chunking) == chunks
    second = resplit(old(chunks), after, chunking)
    assert_sound(second, after, chunking.token_size * 1.25)
    assert [own(each) for each in resplit(old(second), after, chunking)] == [own(each) for each in second]
