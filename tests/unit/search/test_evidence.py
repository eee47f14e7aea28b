"""The ranking of episodes and facts behind the default recipe, by hand-computed cases."""

from collections.abc import Callable, Collection, Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgsvc.search.index.turns import PAUSE_MS, SHARE, Floats, MessageTurns, Rows, turns_of
from kgsvc.search.ranking.episodes import with_hops
from kgsvc.search.ranking.evidence import (
    NOBODY,
    PARTS,
    Fit,
    by_best,
    by_spread,
    fact_scores,
    in_context,
    rounded,
)
from kgsvc.search.times import DAY_MS, Named, Side, from_times, named_times
from tests.unit.search.feed import patient


def floats(*values: float) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def day(text: str) -> int:
    return int(np.datetime64(text, "ms").astype(np.int64))


def dense(scored: tuple[NDArray[np.intp], NDArray[np.float64]]) -> list[float]:
    """Scores by row; each row is named once."""
    rows, scores = scored
    assert len(set(rows.tolist())) == len(rows)
    by_row = np.zeros(int(rows.max(initial=-1)) + 1)
    by_row[rows] = scores
    return list(by_row.tolist())


NONE = np.zeros(3, np.bool_)  # are standing instructions
NOBODY_TALKS = turns_of(np.empty(0, np.intp), np.empty(0, np.int64))


def talk(rows: list[int], times_ms: list[int]) -> MessageTurns:
    return turns_of(np.array(rows, np.intp), np.array(times_ms, np.int64))


def short(rows: Rows) -> Floats:
    """Episodes of one part each."""
    return np.ones(len(rows))


class Names:
    """A Naming of a few episodes, of one part each unless `long` says more."""

    def __init__(self, *named: set[str]) -> None:
        self.named = named
        self.long: dict[int, float] = {}

    def parts(self, rows: Rows) -> Floats:
        return np.array([self.long.get(row, 1.0) for row in rows.tolist()])

    def entities(self, row: int) -> Iterable[str]:
        return sorted(self.named[row])

    def naming(self, entity: str) -> Collection[int]:
        return {row for row, entities in enumerate(self.named) if entity in entities}

    def naming_count(self, entity: str) -> int:
        return len(self.naming(entity))


def test_words_are_shares_of_the_best() -> None:
    assert by_best(floats(4.0, 1.0, 0.0)).tolist() == [1.0, 0.25, 0.0]
    assert by_best(floats(0.0, 0.0)).tolist() == [0.0, 0.0]
    assert by_best(floats()).tolist() == []


def test_meaning_counts_from_the_floor_or_from_where_the_list_was_cut() -> None:
    cosines = floats(0.75, 0.5, 0.25)
    assert by_spread(cosines, 0.0, most=4).tolist() == pytest.approx([1.0, 2 / 3, 1 / 3])
    assert by_spread(cosines, 0.0, most=3).tolist() == [1.0, 0.5, 0.0]
    assert by_spread(cosines, 0.0, most=2).tolist() == [1.0, 0.0, 0.0]
    assert by_spread(cosines, 0.5, most=3).tolist() == [1.0, 0.0, 0.0]
    assert by_spread(floats(0.5), 0.0, most=200).tolist() == [1.0]
    assert by_spread(floats(0.5, 0.5), 0.0, most=2).tolist() == [0.0, 0.0]
    assert by_spread(floats(), 0.0, most=2).tolist() == []


def test_words_facts_and_meaning_are_added() -> None:
    fit = Fit(np.arange(3), floats(1.0, 0.0, 0.2), floats(0.0, 1.0, 0.2), floats(0.0, 0.25, 1.0), NONE, short)
    assert dense(in_context(fit, NOBODY_TALKS)) == [1.0, 1.0, 1.35]


def test_a_standing_instruction_counts_twice() -> None:
    zeros, standing = np.zeros(3), np.array([False, True, False])
    fit = Fit(np.arange(3), floats(1.0, 0.6, 0.0), zeros, zeros, standing, short)
    assert dense(in_context(fit, NOBODY_TALKS)) == [1.0, 1.2, 0.0]


def test_neighbours_in_a_conversation_lend_a_share() -> None:
    spread = talk([0, 1, 2, 3], [0, 1, 2, 3]).spread(np.array([1]), floats(1.0))
    assert dense(spread) == pytest.approx([0.3, 1.0, 0.3, 0.09])


def test_a_pause_ends_a_conversation_and_documents_have_none() -> None:
    later = PAUSE_MS + 1
    spread = talk([3, 0, 2], [0, PAUSE_MS, PAUSE_MS + later]).spread(np.arange(4), np.ones(4))
    assert dense(spread) == pytest.approx([1.3, 1.0, 1.0, 1.3])


@pytest.mark.parametrize("messages", [0, 1, 2])
def test_a_few_messages_are_a_conversation_too(messages: int) -> None:
    rows = list(range(messages))
    spread = talk(rows, rows).spread(np.arange(messages), np.ones(messages))
    assert dense(spread) == [[], [1.0], [1.3, 1.3]][messages]


def test_order_is_by_time_whatever_the_rows() -> None:
    scores = floats(0.5, 0.25, 1.0)
    there = dense(talk([2, 0, 1], [1, 2, 3]).spread(np.arange(3), scores))
    back = dense(talk([0, 1, 2], [1, 2, 3]).spread(np.arange(3), scores[[2, 0, 1]]))
    assert [there[2], there[0], there[1]] == back


@patient
@given(st.data())
def test_neighbours_of_few_are_those_of_all(data: st.DataObject) -> None:
    """Against the sum over the whole order, written out."""
    gaps = data.draw(st.lists(st.sampled_from([1, PAUSE_MS + 1]), max_size=12))
    spoken = data.draw(st.permutations(range(len(gaps) + 3))).copy()[: len(gaps)]
    scores = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.7]), min_size=16, max_size=16)))
    turns = talk(spoken, np.cumsum(gaps, dtype=np.int64).tolist())
    own, linked = scores[spoken], turns.follows
    expected = scores.copy()
    for at, row in enumerate(spoken):
        for steps in (1, 2):
            if at >= steps and linked[at - steps + 1 : at + 1].all():
                expected[row] += SHARE**steps * own[at - steps]
            if at + steps < len(spoken) and linked[at + 1 : at + steps + 1].all():
                expected[row] += SHARE**steps * own[at + steps]
    given_rows = np.flatnonzero(scores)
    spread = dense(turns.spread(given_rows, scores[given_rows]))
    assert [*spread, *[0.0] * (16 - len(spread))] == expected.tolist()


def test_episodes_from_a_named_time_count_half_as_much_again() -> None:
    inside = np.array([True, False, True])
    zeros = np.zeros(3)
    fit = Fit(np.arange(3), floats(1.0, 1.0, 0.0), zeros, zeros, NONE, short, lambda rows: inside[rows])
    assert dense(in_context(fit, NOBODY_TALKS)) == [1.5, 1.0, 0.0]


def test_length_alone_is_no_merit() -> None:
    """The best of n draws is expected √(2 ln n) spreads above one; a text of one part keeps its score."""
    parts = floats(1.0, np.e**2)
    fit = Fit(np.arange(2), floats(1.0, 1.0), np.zeros(2), np.zeros(2), NONE[:2], lambda rows: parts[rows])
    assert dense(in_context(fit, NOBODY_TALKS)) == pytest.approx([1.0, 1.0 / (1.0 + 2.0 * PARTS)])


def test_a_long_episode_keeps_less_of_a_loan() -> None:
    names = Names({"Ada"}, {"Ada"}, {"Ada"})
    names.long[2] = float(np.e**2)
    assert raised([1.0, 0.0, 0.0], first(0), names) == pytest.approx([1.0, 0.25, 0.25 / (1.0 + 2.0 * PARTS)])


def first(*rows: int) -> Callable[[Rows, Floats], dict[int, float]]:
    """Seeds of the first hop; nobody lends on."""
    left = [list(rows), []]
    return lambda there, scores: {row: float(scores[list(there).index(row)]) for row in left.pop(0)}


def raised(
    scores: Iterable[float], best: Callable[[Rows, Floats], dict[int, float]], names: Names
) -> list[float]:
    """Scores by row after the hops; rows with a score of 0 are not given."""
    every = np.array(list(scores))
    rows = np.flatnonzero(every)
    return dense(with_hops(rows, every[rows], best, names, names.parts))


def test_a_seed_lends_by_how_few_share_the_name() -> None:
    names = Names({"Ada", "film"}, {"Ada"}, {"film"}, {"film"}, {"Bo"})
    assert raised([1.0, 0.0, 0.25, 0.0, 0.5], first(0), names) == [1.0, 0.5, 0.5, 0.25, 0.5]


def test_of_several_loans_the_largest_counts_and_seeds_lend_one_another() -> None:
    names = Names({"Ada", "Bo"}, {"Bo"}, {"Ada", "Bo"})
    assert raised([1.0, 0.5, 0.0], first(0, 1), names) == [1.0 + 0.125, 0.5 + 0.25, 0.5]
    assert raised([1.0, 0.5, 0.0], first(1, 0), names) == [1.0 + 0.125, 0.5 + 0.25, 0.5]


def test_what_was_lent_is_lent_on() -> None:
    def highest(rows: Rows, scores: Floats) -> dict[int, float]:
        return {int(rows[scores.argmax()]): float(scores.max())}

    names = Names({"Ada"}, {"Ada", "Bo"}, {"Bo", "Cy"}, {"Cy"})
    assert raised([1.0], highest, names) == [1.0, 0.5, 0.25], "two hops, not three, and not back"


def test_a_name_that_is_everywhere_leads_nowhere() -> None:
    assert max(raised([1.0] * 101, first(0), Names(*[{"all"}] * 101))) == 1.0
    assert max(raised([1.0] * 100, first(0), Names(*[{"all"}] * 100))) == pytest.approx(1 + 0.5 / 99)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What happened on 2023-05-07?", [Named(2023, 5, 7)]),
        ("What did she paint on October 13, 2023?", [Named(2023, 10, 13)]),
        ("Who came on the 3rd of June, 2023?", [Named(2023, 6, 3)]),
        ("Where was he between August 11 and August 15 2023?", [Named(None, 8, 11), Named(2023, 8, 15)]),
        ("What did they do in July 2023?", [Named(2023, 7, None)]),
        ("When did she go camping in June?", [Named(None, 6, None)]),
        ("before August 3", [Named(None, 8, 3, Side.BEFORE)]),
        ("How often in 2022?", [Named(2022, None, None)]),
        ("since 2023-02", [Named(2023, 2, None, Side.SINCE)]),
        ("Who may march in an order of 12345?", []),
        ("Wo war sie am 5. Mai 2023?", [Named(2023, 5, 5)]),
        ("Was kostete es im März?", [Named(None, 3, None)]),
        ("2024年3月5日と11月", [Named(2024, 3, 5), Named(None, 11, None)]),
        ("2024年に何がありましたか", [Named(2024, None, None)]),
        ("in \u017feptember or \uff15 \u017fept 2020", [Named(2020, None, None)]),  # long s, wide 5
        ("February 30, 2023 and 2023-13-01", []),
    ],
)
def test_times_are_read_from_questions(question: str, named: list[Named]) -> None:
    assert named_times(question) == named


def test_no_more_times_than_a_question_can_mean() -> None:
    assert len(named_times("in 2020 " * 100)) == 8


@pytest.mark.parametrize(
    ("named", "inside"),
    [
        (Named(2023, 6, 3), [False, True, True, False, False]),
        (Named(2023, 6, None), [False, True, True, True, False]),
        (Named(None, 6, None), [True, True, True, True, False]),
        (Named(2022, None, None), [True, False, False, False, False]),
        (Named(2023, None, None), [False, True, True, True, True]),
    ],
)
def test_a_time_reaches_a_week_further(named: Named, inside: list[bool]) -> None:
    days = ["2022-06-20", "2023-06-03", "2023-06-10", "2023-06-30", "2023-12-01"]
    times = np.array([day(each) for each in days])
    assert from_times([named], times, int(times.max())).tolist() == inside


def test_times_of_any_year_end_somewhere() -> None:
    ancient = np.array([-62_135_596_800_000, day("2023-06-03") + DAY_MS - 1])
    latest = int(ancient.max())
    assert from_times(named_times("in June"), ancient, latest).tolist() == [False, True]
    assert from_times(named_times("in June"), ancient[:1], -62_135_596_800_000).tolist() == [False]
    assert from_times(named_times("in June"), np.empty(0, np.int64), latest).tolist() == []


def test_facts_follow_their_best_episode_and_share_it() -> None:
    own, order = floats(0.0, 1.0, 0.5, 0.0), np.array([1, 2, 0, 3])
    follows, episodes = np.array([0, 0, 0, NOBODY]), floats(2.0, 1.0)
    scores = fact_scores(own, order, follows, episodes)
    assert scores.tolist() == [3.0 / 3, 1.5 + 3.0, 1.5 * 0.5**2 + 3.0 / 2, 0.0]


def test_facts_alone_or_nothing_at_all() -> None:
    nobody = np.array([NOBODY, NOBODY])
    assert fact_scores(floats(0.0, 2.0), np.array([1, 0]), nobody, floats()).tolist() == [0.0, 1.5]
    nothing = np.empty(0, np.intp)
    assert fact_scores(floats(), nothing, nothing, floats(1.0)).tolist() == []


@patient
@given(
    st.lists(st.one_of(st.floats(0, 5), st.integers(0, 9_999).map(lambda n: n * 1e-4 + 5e-10)), max_size=9)
)
def test_rounding_is_that_of_round(values: list[float]) -> None:
    assert rounded(np.array(values, np.float64), 9).tolist() == [round(value, 9) for value in values]
