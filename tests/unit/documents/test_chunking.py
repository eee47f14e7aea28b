"""Documents are cut by tokens, where a reader would pause or exactly by step."""

import time
import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from kgsvc.documents.chunking import Chunk, Chunking, chunks_of, split
from kgsvc.documents.tokens import count_tokens, load_vocabulary, token_starts
from kgsvc.domain.limits import MIB
from tests.unit.documents.test_revisions import own

EXACT = Chunking(40, 10, "exact")
NEAR = Chunking(40, 10)
PROSE = "".join(
    f"Traveller {number} left the town in the morning. It rained, and the road was long! Was it worth it?\n"
    + "\n" * (number % 3 == 0)
    for number in range(100)
)
JAPANESE = "".join(
    f"旅人{number}は朝に町を出た。雨が降り、道は長かった。それでも歩いた！\n" for number in range(100)
)
HOSTILE = {
    "one letter": "a" * MIB,
    "spaces": " " * MIB,
    "line ends": "\n" * MIB,
    "one kanji": "漢" * MIB,
    "many kanji": "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(MIB)),
    "emoji": "👨‍👩‍👧‍👦🏳️‍🌈" * (MIB // 16),
    "marks": "e" + "\u0301" * MIB,
    "flags": "🇯🇵" * (MIB // 8),
    "bars": "|-" * (MIB // 2),
    "fences": "```\n" * (MIB // 4),
    "headings": "#\n" * (MIB // 2),
}


def assert_covers(chunks: Sequence[Chunk], text: str) -> None:
    assert "".join(map(own, chunks)) == text
    for chunk in chunks:
        assert chunk.content == text[chunk.start : chunk.end]
        assert chunk.start <= chunk.own_start <= chunk.end


@pytest.mark.parametrize("text", [PROSE, JAPANESE])
def test_exact_windows_begin_at_every_step_of_the_documents_tokens(text: str) -> None:
    chunks = split(text, EXACT)
    starts = [*token_starts(text).tolist(), len(text)]
    total = len(starts) - 1
    wanted = range(0, total, EXACT.step)
    assert [each.tokens for each in chunks] == [min(40, total - first) for first in wanted]
    assert [(each.start, each.end) for each in chunks] == [
        (starts[first], starts[min(first + 40, total)]) for first in wanted
    ]
    assert_covers(chunks, text)


def test_the_last_exact_window_may_hold_only_what_the_one_before_holds_too() -> None:
    text = " word" * 35
    assert [(each.tokens, own(each)) for each in split(text, EXACT)] == [(35, text), (5, "")]


def test_a_text_longer_than_a_segment_has_the_same_tokens() -> None:
    text = PROSE + JAPANESE * 5
    assert len(text) > 16_384
    assert sum(map(count_tokens, map(own, split(text, Chunking(boundaries="exact"))))) == count_tokens(text)


def test_no_window_ends_inside_of_a_character_of_several_tokens() -> None:
    text = "🧠" * 50 + "👨‍👩‍👧‍👦" * 20 + "🇯🇵" * 30 + "e\u0301" * 50 + "\r\n" * 50
    for chunking in (Chunking(11, 3), Chunking(11, 3, "exact")):
        chunks = split(text, chunking)
        assert_covers(chunks, text)
        for before, chunk in pairwise(chunks):
            assert not chunk.content.startswith(("\u200d", "\u0301", "\n"))
            assert not before.content.endswith(("\u200d", "\r"))
            assert own(chunk).count("🇯") == own(chunk).count("🇵")


@pytest.mark.parametrize("text", [PROSE, JAPANESE])
def test_near_windows_end_with_a_paragraph_or_a_sentence(text: str) -> None:
    chunks = split(text, Chunking(100, 20))
    assert_covers(chunks, text)
    assert all(each.tokens <= 100 and each.tokens == count_tokens(each.content) for each in chunks)
    assert all(each.content.rstrip()[-1] in ".!?。！" for each in chunks)
    assert all(each.content[0] in "TIW旅雨そ" for each in chunks), "the overlap begins with a sentence"
    assert all(each.tokens >= 60 for each in chunks[:-1])


def test_a_full_line_that_goes_on_is_no_end() -> None:
    wrapped = (
        "The mill had stood for years. It was\nsold in spring, and nobody knew why the\nowner had left it. "
        * 9
    )
    chunks = split(wrapped, Chunking(100, 60))
    assert_covers(chunks, wrapped)
    assert all(each.content.rstrip().endswith("left it.") or "years." in each.content[-8:] for each in chunks)
    assert all(each.content.startswith(("The mill", "It was")) for each in chunks)


def test_a_paragraph_is_better_than_a_sentence_and_a_sentence_better_than_a_word() -> None:
    assert own(split(" word" * 32 + ".\n\n" + "One. two three " * 9, NEAR)[0]).endswith(".\n\n")
    assert own(split(" word" * 32 + ". " + "two three " * 9, NEAR)[0]).endswith(". ")
    assert own(split(" word" * 60, NEAR)[0]).endswith(" ")


@pytest.mark.parametrize(
    "block",
    [
        "```python\n# no heading\n" + "x = 1\n\n" * 5 + "```\n",
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 4,
        "a | b\n--|--\n" + "1 | 2\n" * 6,
    ],
)
@pytest.mark.parametrize("before", range(0, 40, 3))
def test_code_and_tables_that_fit_are_not_cut(block: str, before: int) -> None:
    assert count_tokens(block) <= 40
    text = "word " * before + "\n\n" * (before > 0) + block + "\nAnd on. " * 30
    chunks = split(text, NEAR)
    assert_covers(chunks, text)
    assert any(block in each.content for each in chunks)
    assert not any("no heading" in each.headings for each in chunks)


def test_a_table_that_does_not_fit_is_cut_between_rows() -> None:
    chunks = split("| a. b | c |\n|---|---|\n" + "| 1. 2 | some more. And |\n" * 40, NEAR)
    assert all(each.content.endswith("|\n") for each in chunks)


def test_chunks_know_the_headings_above_them() -> None:
    text = (
        "# Trip #\nintro\n\n## Day 1\n" + "We walked. " * 30 + "\n```\n# no heading\n```\n"
        "### Evening\nRest. \n\nDay 2\r\n=====\r\n" + "We sailed. " * 30
    )
    chunks = split(text, NEAR)
    assert chunks[0].headings == ()
    assert chunks[0].content.startswith("# Trip #\n"), "a heading's line stays content"
    assert {each.headings for each in chunks} == {(), ("Trip", "Day 1"), ("Day 2",)}
    assert not any(each.content.rstrip().endswith("=====") for each in chunks), "it stays with what follows"
    last = next(each for each in chunks if "### Evening" in own(each))
    assert last.headings == ("Trip", "Day 1")


@pytest.mark.parametrize(
    ("first", "above"),
    [
        ("Minutes of 2024-05-02", ("Minutes of 2024-05-02", "Topic")),
        ("Sitzung vom 2. Mai 2024", ("Sitzung vom 2. Mai 2024", "Topic")),
        ("Trip of 2024-05-02", ("Topic",)),
        ("Minutes", ("Topic",)),
    ],
)
def test_the_day_of_a_meeting_is_above_all_chunks(first: str, above: tuple[str, ...]) -> None:
    text = f"# Club\n\n## {first}\n\n# Topic\n" + "We talked. " * 60
    assert split(text, NEAR)[-1].headings == above


def test_of_several_days_none_is_above_all_chunks() -> None:
    said = "We talked. " * 30
    text = f"# Minutes of 2024-05-02\n{said}\n# Minutes of 2024-05-09\n{said}\n# Topic\n{said}"
    assert split(text, NEAR)[-1].headings == ("Topic",)


def test_chunks_know_their_page() -> None:
    text = PROSE
    chunks = split(text, NEAR, [0, 500, 500, 1_000])

    def page(offset: int) -> int:
        return 1 if offset < 500 else 3 if offset < 1_000 else 4

    assert [each.page for each in chunks] == [page(each.start) for each in chunks]
    assert [each.last_page for each in chunks] == [page(each.end - 1) for each in chunks]
    assert {each.page for each in split(text, NEAR)} == {None}


def test_nothing_has_no_chunk_and_white_space_has_one() -> None:
    assert split("", NEAR) == split("", EXACT) == []
    (chunk,) = split(" \r\n\f\t ", NEAR)
    assert chunk.content == " \r\n\f\t "


def test_what_looks_like_a_special_token_is_text() -> None:
    (chunk,) = split("<|endoftext|>", NEAR)
    assert chunk.tokens == count_tokens("<|endoftext|>") > 1


def test_an_overlap_as_large_as_the_window_is_refused() -> None:
    with pytest.raises(ValueError, match="an overlap of 40"):
        Chunking(40, 40)
    with pytest.raises(ValueError, match="windows of 0"):
        Chunking(0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("boundaries", ["near", "exact"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_text_takes_long(kind: str, boundaries: str) -> None:
    load_vocabulary()
    began = time.process_time()
    chunks = split(HOSTILE[kind], Chunking(boundaries="near" if boundaries == "near" else "exact"))
    assert time.process_time() - began < 10
    assert "".join(map(own, chunks)) == HOSTILE[kind]
    assert max(each.tokens for each in chunks) <= 1_200


def test_a_long_document_is_not_held_in_memory() -> None:
    load_vocabulary()
    page = PROSE * 4

    def pieces() -> Iterator[str]:
        for _ in range(8 * MIB // len(page)):
            yield page

    tracemalloc.start()
    try:
        total = sum(len(own(each)) for each in chunks_of(pieces(), Chunking()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == 8 * MIB // len(page) * len(page)
    assert peak < 4 * MIB
