"""A changed document keeps the chunks that did not change: one inserted word does not shift every window."""

import time
from collections.abc import Sequence

import pytest

from kgsvc.documents.chunking import Chunk, Chunking, split
from kgsvc.documents.revisions import OldChunk, resplit

CHUNKINGS = [Chunking(120, 20), Chunking(120, 20, "exact"), Chunking(120, 0)]
PARAGRAPHS = [
    f"Paragraph {number} tells what happened on day {number} of the journey. "
    + f"There were {number * 7} people and {number * 13} animals on the road. " * 3
    for number in range(100)
]
TEXT = "\n\n".join(PARAGRAPHS)


def own(chunk: Chunk) -> str:
    return chunk.content[chunk.own_start - chunk.start :]


def old(chunks: Sequence[Chunk]) -> list[OldChunk]:
    return [OldChunk(each.content, own(each), each.tokens) for each in chunks]


def changed(chunking: Chunking, before: str, after: str) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks of `after` as a revision of `before`, and those of them that are not among the old ones."""
    first = split(before, chunking)
    second = resplit(old(first), after, chunking)
    assert "".join(map(own, second)) == after
    assert all(each.content == after[each.start : each.end] for each in second)
    assert all(each.tokens <= chunking.token_size * 1.25 for each in second)
    known = {each.content for each in first}
    return second, [each for each in second if each.content not in known]


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("text", [TEXT, "a" * 5_000, "", " ", "word " * 115, "# One\n\n" + TEXT[:3_000]])
def test_the_same_text_has_the_same_chunks(chunking: Chunking, text: str) -> None:
    chunks = split(text, chunking, [0, 100])
    assert resplit(old(chunks), text, chunking, [0, 100]) == chunks
    counted_anew = [OldChunk(each.content, own(each)) for each in chunks]
    assert [own(each) for each in resplit(counted_anew, text, chunking)] == [*map(own, chunks)]


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_a_word_at_the_very_start_is_one_chunk_to_read_again(chunking: Chunking) -> None:
    _, new = changed(chunking, TEXT, "First " + TEXT)
    assert [each.own_start for each in new] == [0]


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_of_one_changed_paragraph_only_the_chunks_that_hold_it_differ(chunking: Chunking) -> None:
    after = "\n\n".join([*PARAGRAPHS[:50], PARAGRAPHS[50].replace("animals", "mules"), *PARAGRAPHS[51:]])
    chunks, new = changed(chunking, TEXT, after)
    assert 1 <= len(new) <= 3
    assert all("mules" in each.content for each in new)
    assert len(chunks) == len(split(TEXT, chunking))


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_several_edits_at_once_each_cost_their_chunks(chunking: Chunking) -> None:
    paragraphs = list(PARAGRAPHS)
    paragraphs[10] += " More of it."
    del paragraphs[40]
    paragraphs.insert(70, "A new paragraph, which was not there.")
    _, new = changed(chunking, TEXT, "\n\n".join(paragraphs))
    assert 3 <= len(new) <= 6


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_what_comes_between_two_chunks_goes_into_the_one_behind_it(chunking: Chunking) -> None:
    place = split(TEXT, chunking)[4].end
    chunks, new = changed(chunking, TEXT, TEXT[:place] + "Oh. " + TEXT[place:])
    assert len(new) == 1
    assert own(new[0]).startswith("Oh. ")
    assert len(chunks) == len(split(TEXT, chunking))


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_a_document_that_grows_by_lines_does_not_become_a_chunk_for_each(chunking: Chunking) -> None:
    text, chunks = TEXT, split(TEXT, chunking)
    for number in range(40):
        text += f"\nLine {number} of what came later."
        after = resplit(old(chunks), text, chunking)
        assert len({each.content for each in after} - {each.content for each in chunks}) <= 2
        chunks = after
    assert len(chunks) <= len(split(text, chunking)) + 3


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_moved_paragraphs_are_found_where_they_stand_now(chunking: Chunking) -> None:
    chunks = split(TEXT, chunking)
    begin, end = chunks[5].own_start, chunks[20].end
    _, new = changed(chunking, TEXT, TEXT[end:] + TEXT[begin:end] + TEXT[:begin])
    assert len(new) <= 5


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_chunks_with_equal_text_keep_their_places(chunking: Chunking) -> None:
    text = "The same line again and again.\n" * 400
    assert not changed(chunking, text, text * 2)[1]
    chunks, new = changed(chunking, text, text[:6_200] + "Another. " + text[6_200:])
    assert len(new) <= 4
    assert len({each.own_start for each in chunks}) == len(chunks)


def test_a_chunk_grows_by_a_quarter_before_it_is_cut_in_two() -> None:
    chunking = CHUNKINGS[0]
    text, chunks = TEXT, split(TEXT, chunking)
    count, most = len(chunks), 0
    for number in range(40):
        text = f"Also {number} " + text
        chunks = resplit(old(chunks), text, chunking)
        most = max(most, *(each.tokens for each in chunks))
    assert 120 < most <= 150
    assert chunks[0].tokens < 120 < chunks[1].tokens
    assert len(chunks) == count + 1


def test_headings_and_pages_are_those_of_the_new_text() -> None:
    chunking = CHUNKINGS[0]
    first = split("# Old\n\n" + TEXT, chunking)
    after = "# New\n\n" + TEXT
    second = resplit(old(first), after, chunking, [0, 4_000])
    assert {each.headings for each in second} == {(), ("New",)}
    assert {each.page for each in second if each.start >= 4_000} == {2}


def test_chunks_too_large_for_the_settings_of_now_are_cut_anew() -> None:
    before = split(TEXT, Chunking(600, 50))
    after = resplit(old(before), TEXT, CHUNKINGS[0])
    assert "".join(map(own, after)) == TEXT
    assert max(each.tokens for each in after) <= 150


def test_another_text_is_cut_like_a_new_one() -> None:
    chunking = CHUNKINGS[0]
    other = "".join(f"Nothing of {number} is what it was. " for number in range(500))
    _, new = changed(chunking, TEXT, other)
    assert [own(each) for each in new][:-2] == [own(each) for each in split(other, chunking)][: len(new) - 2]


@pytest.mark.parametrize("hostile", [False, True])
def test_thousands_of_changes_in_megabytes_do_not_take_long(hostile: bool) -> None:
    line = "The same line again and again.\n" if hostile else ""
    lines = [
        line or f"Line {number} of {number * number} tells something else.\n" for number in range(60_000)
    ]
    before = "".join(lines)
    chunks = old(split(before, Chunking(300, 30)))
    for number in range(0, len(lines), 30):
        lines[number] = f"Changed {number}.\n"
    began = time.process_time()
    after = resplit(chunks, "".join(lines), Chunking(300, 30))
    assert time.process_time() - began < 20
    assert "".join(map(own, after)) == "".join(lines)
