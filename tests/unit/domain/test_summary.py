"""Summaries: what is current, the latest that fits, cut at a sentence."""

from typing import Any

from kgsvc.domain.facts.summary import SHOWN, lacks, part_of, recomposed, summary_facts
from kgsvc.domain.model.graph import Entity, Fact, SummaryPart

ANN = Entity("a", "g", "Ann", 1, stamps={"name": "1/e"})
NOW = 1_000


def fact(uuid: str, text: str, start_ms: int = 1, **fields: Any) -> Fact:
    """A fact that holds unless `fields` say otherwise."""
    return Fact(uuid, "g", "R", text, "a", "b", "Ann", "B", 1, start_ms, "slot", "key", **fields)


def test_sentences_stand_in_the_order_of_their_time() -> None:
    made = recomposed(ANN, [fact("f2", "Ann left!", 5), fact("f1", "Ann works at Acme", 3)], (), NOW)
    assert made.summary == "Ann works at Acme.\nAnn left!"
    assert summary_facts(made) == ("f1", "f2")
    assert made.updated_ms == NOW


def test_what_ceases_to_hold_leaves() -> None:
    made = recomposed(ANN, [fact("f1", "Ann works at Acme"), fact("f2", "Ann leads Acme", 5)], (), NOW)
    assert (
        recomposed(made, [fact("f1", "Ann works at Acme", expired_ms=9)], (), NOW).summary
        == "Ann leads Acme."
    )
    assert recomposed(made, [], {"f2"}, NOW).summary == "Ann works at Acme."
    assert recomposed(made, [fact("f1", "Ann works at Acme", invalid_ms=NOW)], {"f2"}, NOW).summary == ""
    assert recomposed(made, [fact("f3", "Ann moves to Rome", NOW + 1)], (), NOW) is made


def test_the_latest_that_fit_are_shown_whole() -> None:
    facts = [fact(f"f{n:02}", f"Ann said {n:02} " + "x" * 87, n) for n in range(20)]
    made = recomposed(ANN, facts, (), NOW)
    assert len(made.summary) <= SHOWN
    assert summary_facts(made) == ("f16", "f17", "f18", "f19")
    assert len(made.summary_parts) == 9, "some more are kept than are shown"
    fewer = recomposed(made, [], {"f18", "f19"}, NOW)
    assert summary_facts(fewer) == ("f14", "f15", "f16", "f17")
    assert not lacks(made, fewer)
    assert lacks(made, recomposed(made, [], {f"f{n}" for n in range(13, 20)}, NOW))


def test_a_long_text_is_cut_at_a_sentence() -> None:
    assert part_of(fact("f", "One. Two is 3.5 long. " + "x" * SHOWN)).text == "One. Two is 3.5 long."
    assert part_of(fact("f", "word " * 200)).text == ("word " * 99).strip() + "."
    assert len(part_of(fact("f", "x" * 900)).text) <= SHOWN
    assert part_of(fact("f", "文。" * 300)).text == "文。" * 250


def test_a_sentence_is_said_once() -> None:
    made = recomposed(ANN, [fact("f1", "Ann sings", 1), fact("f2", "Ann sings", 2)], (), NOW)
    assert (made.summary, summary_facts(made)) == ("Ann sings.", ("f2",))


def test_a_callers_text_stays() -> None:
    own = Entity("a", "g", "Ann", 1, "by hand", stamps={"summary": "99999999999999999/"})
    made = recomposed(own, [fact("f1", "Ann sings")], (), NOW)
    assert (made.summary, summary_facts(made)) == ("by hand", ())
    assert [part.key for part in made.summary_parts] == ["f1"]


def test_a_summary_that_came_with_the_graph_is_a_part() -> None:
    made = Entity("a", "g", "Ann", 1, "from elsewhere")
    for n in range(3):
        made = recomposed(made, [fact(f"f{n}", f"Ann sings {n}", 5 + n)], (), NOW)
    assert made.summary == "from elsewhere.\nAnn sings 0.\nAnn sings 1.\nAnn sings 2."
    assert summary_facts(made) == ("f0", "f1", "f2")


def test_what_an_episode_says_of_the_entity_is_one_part() -> None:
    told = Entity("a", "g", "Ann", 1, "a singer", stamps={"summary": f"{10**15 + 5:017d}/e1"})
    made = recomposed(told, [fact("f1", "Ann sings", 9)], (), NOW)
    assert made.summary == "a singer.\nAnn sings."
    assert made.summary_parts[0] == SummaryPart(5, "episode:e1", "a singer.")
    assert summary_facts(made) == ("f1",)
