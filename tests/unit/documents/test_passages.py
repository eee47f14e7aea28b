"""Passages hold all words of a text in their order, and none is too long for a model of embeddings."""

from hypothesis import example, given
from hypothesis import strategies as st

from kgsvc.documents.passages import PASSAGE_BYTES, passages, spoken

words = st.text(st.sampled_from("ab é茶😀。.!?\n"), max_size=40)


@given(st.lists(words, max_size=60).map(" ".join))
@example("a" * 5_000)
@example("\u8336" * 2_000)
@example("\U0001f600" * 1_000)
@example("word " * 1_000)
def test_all_words_in_their_order(text: str) -> None:
    found = passages(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(each.strip() == each and 0 < len(each.encode()) <= PASSAGE_BYTES for each in found)


def test_sentences_stay_whole() -> None:
    sentences = [f"Sentence {n} has a few words that say something about {n}." for n in range(40)]
    found = passages(" ".join(sentences))
    assert len(found) > 2
    assert all(each.endswith(".") and each.startswith("Sentence") for each in found)


def test_cuts_between_words_where_a_sentence_is_too_long() -> None:
    found = passages("wording " * 300)
    assert len(found) > 2
    assert {word for each in found for word in each.split()} == {"wording"}


def test_white_space_is_no_passage() -> None:
    assert passages(" \n\n\t ") == []


def test_a_fact_that_says_nearly_all_stands_for_a_short_text() -> None:
    body = "Ann(user): I moved to Porto last week"
    assert spoken(body, ["Ann: I moved to Porto last week", "Ann moved"]) == [
        "Ann: I moved to Porto last week"
    ]
    assert spoken(body, ["Ann lives in Porto"]) == [body]
    assert spoken(body, []) == [body]


def test_no_fact_stands_for_a_long_text() -> None:
    body = "One more sentence. " * 100
    assert spoken(body, [body]) == passages(body)
