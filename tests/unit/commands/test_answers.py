"""Handles that a model wrote become numbered citations, or are dropped and counted."""

from hypothesis import given
from hypothesis import strategies as st

from kgsvc.commands.answers import CitationReader
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.search.context.lines import ContextLine, citable, numbered

LINES = [ContextLine(f"line {n}", Episode(f"e{n}", "g", "b", Source.TEXT, 0, 0)) for n in range(1, 13)]


def read(text: str, size: int = 1_000) -> tuple[str, list[str], CitationReader]:
    """What is told of a text that comes in pieces of this size, and the pieces."""
    reader = CitationReader(LINES)
    pieces = [reader.feed(text[at : at + size]) for at in range(0, len(text), size)]
    pieces.append(reader.finish())
    assert reader.told == "".join(pieces)
    return reader.told, pieces, reader


def test_numbers_count_what_is_cited_in_its_order() -> None:
    told, _, reader = read("A [7]. B [3][7], C [12].")
    assert told == "A [1]. B [2][1], C [3]."
    assert [(each.number, each.line.text) for each in reader.cited] == [
        (1, "line 7"),
        (2, "line 3"),
        (3, "line 12"),
    ]
    assert [[told[a:b] for a, b in each.places] for each in reader.cited] == [
        ["[1]", "[1]"],
        ["[2]"],
        ["[3]"],
    ]


def test_lists_and_ranges_are_read_as_the_handles_that_they_name() -> None:
    assert read("A [3, 7]. B [ 3 ; 12 ]. C [1-2].")[0] == "A [1][2]. B [1][3]. C [4][5]."


def test_what_names_no_line_is_taken_out_and_counted() -> None:
    told, _, reader = read("A [13], B [0]. C [3][99]. D [99999999999].")
    assert (told, reader.dropped) == ("A, B. C [1]. D.", 4)


def test_other_brackets_stay() -> None:
    text = "A [b] [-1] [] [3b] [1.5] array[x] [[3]"
    told, _, reader = read(text)
    assert told == text.replace("[3]", "[1]")
    assert reader.dropped == 0


def test_what_may_be_a_handle_waits_for_its_end() -> None:
    reader = CitationReader(LINES)
    assert reader.feed("Ann [") == "Ann"
    assert reader.feed("1") == ""
    assert reader.feed("2] and") == " [1] and"
    assert reader.feed(" [not") == " [not"
    assert reader.feed(" so [1") == " so"
    assert reader.finish() == " [1", "no end, no handle"


def test_half_a_character_waits_for_its_other_half() -> None:
    reader = CitationReader(LINES)
    assert reader.feed("a\ud83d") == "a"
    assert reader.feed("\ude00b") == "\U0001f600b"
    assert reader.feed("\ud83d") == ""
    assert reader.finish() == "\ufffd"
    assert reader.told == "a\U0001f600b\ufffd"


@given(st.text(alphabet="a [](),;-0123\n\ud83d\ude00猫", max_size=60), st.integers(1, 9))
def test_it_matters_not_how_an_answer_is_cut(text: str, size: int) -> None:
    told, _, whole = read(text)
    parts, _, cut = read(text, size)
    assert parts == told
    assert (cut.cited, cut.dropped) == (whole.cited, whole.dropped)
    parts.encode()
    for each in cut.cited:
        assert {parts[start:end] for start, end in each.places} == {f"[{each.number}]"}


def test_handles_count_the_lines_that_are_no_headings() -> None:
    lines = [ContextLine("# Sources"), LINES[4], ContextLine("# Facts"), LINES[2]]
    assert numbered(lines) == ["# Sources", "[1] line 5", "# Facts", "[2] line 3"]
    assert citable(lines) == [LINES[4], LINES[2]]
