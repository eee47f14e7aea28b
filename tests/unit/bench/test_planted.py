"""The planted corpus: the same every time, told in full, without contradicting itself."""

from bench.planted import corpus
from bench.planted_names import RELATIONS


def test_a_seed_makes_one_corpus_and_another_seed_another() -> None:
    assert corpus(30) == corpus(30)
    assert corpus(30).lines != corpus(30, seed=8).lines


def test_every_fact_is_told_in_its_time_and_some_are_told_again_and_end() -> None:
    planted = corpus(100)
    told = [(telling, line) for line in planted.lines for telling in line.tellings]
    assert {telling.fact for telling, _ in told} == set(planted.facts)
    assert len(told) > len(planted.facts) + 50
    assert sum(fact.end is not None for fact in planted.facts.values()) > 30
    for telling, line in told:
        fact = planted.facts[telling.fact]
        assert planted.told(telling.text) == fact
        assert (planted.thing(telling.source), planted.thing(telling.target)) == (fact.source, fact.target)
        assert fact.start <= line.at
        assert fact.end is None or line.at < fact.end


def test_what_excludes_each_other_never_holds_at_one_time() -> None:
    planted = corpus(100)
    facts = list(planted.facts.values())
    pairs = [(one, other) for one in facts for other in facts if planted.conflict(one, other)]
    assert {one.relation for one, _ in pairs} >= {"WORKS_AT", "LIVES_IN", "LEADS"}
    for one, other in pairs:
        first, second = sorted((one, other), key=lambda fact: fact.start)
        assert first.end is not None
        assert first.end <= second.start
        assert planted.conflict(other, one)


def test_a_line_names_a_thing_once_by_its_fullest_name_there() -> None:
    planted = corpus(100)
    for line in planted.lines:
        names = planted.names(line)
        assert planted.thing(line.role) == next(iter(names))
        said = {name for telling in line.tellings for name in (telling.source, telling.target)} | {line.role}
        assert set(names.values()) <= said
        assert {planted.thing(name) for name in said} == set(names)


def test_an_event_has_a_date_in_its_words() -> None:
    planted = corpus(100)
    for line in planted.lines:
        for telling in line.tellings:
            fact = planted.facts[telling.fact]
            if RELATIONS[fact.relation].kind == "event":
                assert f"{fact.start.day} {fact.start:%B %Y}" in telling.text
                assert telling.valid_at == f"{fact.start:%Y-%m-%d}"
