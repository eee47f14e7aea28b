"""Summaries in a model's words: when they are due, what they are made of, when they go."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from kgsvc.domain.facts.summary import (
    SHOWN,
    SOURCES,
    TEXT,
    has_news,
    is_due,
    recomposed,
    rewritten,
    sources_of,
    still_hold,
    summary_facts,
    with_parts,
)
from kgsvc.domain.model.graph import ENDED, Entity, Evidence, Fact, FactKind, Polarity
from kgsvc.domain.names.forgetting import without_words

ANN = Entity("a", "g", "Ann", 1, stamps={"name": "1/e"})
MAY = 1_809_129_600_000  # 2027-05-01
NOW = 1_000
WIDE = "x" * 47  # a sentence of 60 characters with it


def fact(n: int, text: str | None = None, **fields: Any) -> Fact:
    """A fact of Ann that began at `n`."""
    said = text or f"Ann said {n:02} {WIDE}"
    return replace(Fact(f"f{n:02}", "g", "R", said, "a", "b", "Ann", "B", 1, n, "slot", "key"), **fields)


def knowing(*numbers: int) -> Entity:
    """Ann with these facts."""
    return recomposed(ANN, map(fact, numbers), (), NOW)


def retold(numbers: Iterable[int], text: str = "Ann talks a lot.") -> Entity:
    """Ann with these facts in a model's words."""
    facts = list(map(fact, numbers))
    return rewritten(recomposed(ANN, facts, (), NOW), sources_of("a", facts, NOW), text, NOW)


def test_only_what_exceeds_a_summary_is_due() -> None:
    assert len(knowing(*range(8)).summary) == 8 * 60 + 7 <= SHOWN
    assert not is_due(knowing(*range(8)))
    assert is_due(knowing(*range(9)))


def test_a_callers_own_summary_is_never_due() -> None:
    own = replace(knowing(*range(9)), stamps={"summary": "99999999999999999/"}, summary="by hand")
    assert not is_due(own)
    assert not still_hold(own, sources_of("a", [fact(1)], NOW), {"f01": fact(1)}, NOW)
    left = recomposed(replace(own, rewriting=retold(range(9)).rewriting), [fact(9)], (), NOW)
    assert (left.summary, left.rewriting) == ("by hand", None)


def test_the_text_stands_before_what_is_told_later() -> None:
    ann = recomposed(retold(range(12)), [fact(12), fact(13)], (), NOW)
    assert ann.summary == f"Ann talks a lot.\n{fact(12).fact}.\n{fact(13).fact}."
    assert summary_facts(ann) == tuple(f"f{n:02}" for n in range(14))


def test_it_is_due_again_when_a_quarter_changed_and_has_no_room() -> None:
    ann = retold(range(40), "x" * (TEXT - 1) + ".")
    assert ann.rewriting is not None
    assert ann.rewriting.made_of == SOURCES == 32
    for n in range(40, 47):
        ann = recomposed(ann, [fact(n)], (), NOW)
        assert not is_due(ann), "seven of 32 are less than a quarter"
        assert len(ann.summary) <= SHOWN
    assert is_due(recomposed(ann, [fact(47)], (), NOW))
    short = retold(range(12))
    assert not is_due(recomposed(short, map(fact, range(12, 16)), (), NOW)), "there is room for four more"


def test_few_long_sentences_are_due_too() -> None:
    ann = retold(range(40))
    long = [fact(40 + n, f"Ann wrote {n} " + "y" * 230) for n in range(3)]
    assert is_due(recomposed(ann, long, (), NOW))


@pytest.mark.parametrize(
    "change",
    [
        {"expired_ms": 9},
        {"invalid_ms": 9},
        {"invalid_ms": NOW + 9},
        {"reference_ms": NOW + 9},
        {"fact": "Ann said something else"},
    ],
    ids=["expired", "ended", "ends some day", "not yet", "says something else"],
)
def test_the_text_goes_with_the_first_fact_that_does(change: dict[str, Any]) -> None:
    before = retold(range(12))
    after = recomposed(before, [replace(fact(3), **change)], (), NOW)
    assert "talks" not in after.summary
    assert after.rewriting is not None
    assert after.rewriting.text == ""
    assert fact(11).fact in after.summary, "its own words again"
    assert "f03" not in summary_facts(after)
    assert not is_due(after), "one of twelve"
    assert is_due(recomposed(after, [], {"f05", "f06"}, NOW)), "three of twelve"


def test_the_text_goes_with_a_fact_that_is_removed() -> None:
    assert "talks" not in recomposed(retold(range(12)), [], {"f00"}, NOW).summary


def test_another_episode_that_says_the_same_changes_nothing() -> None:
    before = retold(range(12))
    assert recomposed(before, [replace(fact(3), episodes=("e1", "e2"))], (), NOW) is before


def test_what_a_text_is_made_of() -> None:
    facts = [fact(1), fact(2, invalid_ms=NOW + 9), fact(3, expired_ms=5), fact(4), fact(5, fact(4).fact)]
    shown = [part.key for part in sources_of("a", facts, NOW)]
    assert shown == ["f01", "f02", "f05"], "what holds, each sentence once"
    many = sources_of("a", [fact(n, f"{n:02} " + "z" * 300) for n in range(40)], NOW)
    assert [part.key for part in many] == [f"f{n}" for n in range(31, 40)], "the latest that have room"


def test_a_home_of_long_ago_is_told_beside_the_latest() -> None:
    """What Ann has only one of; not what others have only one of and is Ann."""
    home = fact(1, "Ann lives in Graz", kind=FactKind.FUNCTIONAL)
    led = fact(0, "B is led by Ann", source_uuid="b", target_uuid="a", kind=FactKind.FUNCTIONAL)
    shown = [part.key for part in sources_of("a", [led, home, *map(fact, range(2, 60))], NOW)]
    assert shown == ["f01", *(f"f{n}" for n in range(29, 60))]
    firms = [replace(fact(n), kind=FactKind.FUNCTIONAL) for n in range(40)]
    shown = [part.key for part in sources_of("a", [*firms, *map(fact, range(40, 60))], NOW)]
    assert shown == [f"f{n}" for n in [*range(24, 40), *range(44, 60)]], "half of the places"


def test_what_something_is_not_is_told_while_nothing_is_known_instead() -> None:
    denied = fact(1, "Ann does not live in Linz", name="NOT_LIVES_IN", polarity=Polarity.DENIES)
    assert [part.key for part in sources_of("a", [denied], NOW)] == ["f01"]
    home = fact(2, "Ann lives in Graz", name="LIVES_IN", kind=FactKind.FUNCTIONAL)
    assert [part.key for part in sources_of("a", [denied, home], NOW)] == ["f02"]
    past = replace(home, invalid_ms=NOW)
    assert [part.key for part in sources_of("a", [denied, past], NOW)] == ["f01"]


def test_a_text_may_be_told_while_its_facts_are_as_they_were() -> None:
    facts = {each.uuid: each for each in map(fact, range(12))}
    sources = sources_of("a", facts.values(), NOW)
    assert still_hold(ANN, sources, facts, NOW)
    assert not still_hold(ANN, (), facts, NOW)
    others = [
        replace(fact(3), expired_ms=5),
        replace(fact(3), invalid_ms=NOW + 5),
        replace(fact(3), fact="Ann said more"),
        replace(fact(3), source_uuid="c"),
    ]
    for other in others:
        assert not still_hold(ANN, sources, facts | {"f03": other}, NOW)
    assert not still_hold(ANN, sources, {uuid: facts[uuid] for uuid in list(facts)[1:]}, NOW)


def test_a_text_is_cut_at_a_sentence_and_leaves_room() -> None:
    ann = retold(range(12), "One. " * 200)
    assert ann.rewriting is not None
    assert ann.rewriting.text == ("One. " * 80).strip()
    assert retold(range(12), "Ann  talks\n a lot").summary == "Ann talks a lot."


@pytest.mark.parametrize("text", ["Ann talks since 1999.", "Ann said 03 and 44."])
def test_a_text_with_figures_that_nobody_told_is_none(text: str) -> None:
    assert retold(range(12), text).summary == knowing(*range(12)).summary
    assert retold(range(12), "Ann said 03 and ０４.").summary == "Ann said 03 and ０４."


def test_what_has_an_announced_end_is_told_with_it() -> None:
    """A home until a move in May is the home in March."""
    home = fact(1, "Ann lives in Graz", invalid_ms=MAY)
    (part,) = sources_of("a", [home], NOW)
    assert part.text == "Ann lives in Graz. (– 2027-05-01)"
    assert recomposed(ANN, [home], (), NOW).summary == part.text
    ann = rewritten(ANN, [part], "Ann lives in Graz until 1 May 2027.", NOW)
    assert ann.summary == "Ann lives in Graz until 1 May 2027."
    later = replace(home, invalid_ms=MAY + 30 * 86_400_000)
    assert "until 1 May" not in recomposed(ann, [later], (), NOW).summary, "its end has moved"
    assert sources_of("a", [home], MAY) == ()


def test_of_many_facts_that_began_at_once_the_same_ones_are_shown_again() -> None:
    """The last by uuid are shown, the last by their words are told."""
    facts = [fact(n, f"Ann said {99 - n} {WIDE}", valid_ms=1, reference_ms=1) for n in range(99)]
    ann = recomposed(ANN, facts, (), NOW)
    shown = sources_of("a", facts[-2 * SOURCES :], NOW)
    ann = rewritten(ann, shown, "x" * TEXT, NOW)
    assert is_due(ann)
    assert not has_news(ann, shown)
    assert not has_news(ann, ())


def test_a_model_that_says_nothing_is_not_asked_again_at_once() -> None:
    ann = retold(range(12), "")
    assert ann.summary == knowing(*range(12)).summary
    assert not is_due(recomposed(ann, [fact(12), fact(13)], (), NOW))
    assert is_due(recomposed(ann, map(fact, range(12, 15)), (), NOW))


def test_what_an_episode_said_of_the_entity_is_no_source_and_goes_with_it() -> None:
    facts = list(map(fact, range(12)))
    told = replace(ANN, summary="A liar", stamps={"summary": f"{10**15 + 99:017d}/e1"})
    told = recomposed(told, facts, (), NOW)
    assert told.summary.endswith("A liar.")
    ann = rewritten(told, sources_of("a", facts, NOW), "Ann talks a lot.", NOW)
    assert ann.summary == "Ann talks a lot.\nA liar."
    left = recomposed(without_words(ann, "e1", NOW), [], (), NOW)
    assert left.summary == "Ann talks a lot."
    newer = replace(ann, summary="A poet", stamps={"summary": f"{10**15 + 100:017d}/e2"})
    assert recomposed(newer, [], (), NOW).summary == "Ann talks a lot.\nA poet."


def test_what_an_episode_said_of_the_entity_goes_when_a_fact_of_it_ends() -> None:
    """Not with what it tells as past itself, nor with facts of other episodes."""
    told = replace(ANN, summary="A baker in Graz", stamps={"summary": f"{10**15 + 1:017d}/e1"})
    baker = fact(1, "Ann is a baker", evidence=(Evidence(1, 1, "e1"), Evidence(1, 1, "e2")))
    nurse = fact(3, "Ann was a nurse", invalid_ms=4, evidence=(Evidence(3, 3, "e1", None, 4),))
    sang = fact(
        4, "Ann sang", invalid_ms=5, evidence=(Evidence(4, 4, "e3"), Evidence(5, 5, "e1", says=ENDED))
    )
    ann = recomposed(told, [baker, fact(2, "Ann likes tea"), nurse, sang], (), NOW)
    assert ann.summary == "A baker in Graz.\nAnn is a baker.\nAnn likes tea."
    coming = fact(NOW + 9, "Ann moves to Linz", evidence=(Evidence(NOW + 9, 1, "e1", NOW + 9),))
    assert recomposed(ann, [coming], (), NOW) == ann
    after = recomposed(ann, [replace(baker, invalid_ms=NOW)], (), NOW)
    assert after.summary == "Ann likes tea."
    assert recomposed(after, [fact(6, "Ann runs")], (), NOW).summary == "Ann likes tea.\nAnn runs."


def test_no_composed_sentence_is_taken_for_what_an_episode_said() -> None:
    told = replace(ANN, summary="A singer", stamps={"summary": f"{10**15:017d}/e1"})
    ann = recomposed(told, map(fact, range(20)), (), NOW)
    assert not [part for part in ann.summary_parts if part.key == "episode:e1"], "there is no room for it"
    left = recomposed(ann, [], {f"f{n:02}" for n in range(20)}, NOW)
    assert (left.summary, left.summary_parts) == ("", ())


def test_an_entity_that_is_taken_apart_keeps_none_of_the_models_words() -> None:
    ann = retold(range(12))
    left = with_parts(ann, ann.summary_parts[-2:])
    assert (left.summary, left.rewriting) == (f"{fact(10).fact}.\n{fact(11).fact}.", None)
    own = replace(ANN, summary="by hand", stamps={"summary": "99999999999999999/"})
    assert with_parts(own, ()).summary == "by hand"
