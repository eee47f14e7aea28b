"""Values of one thing that change: what was once so stays known with its dates, what is so stays open. On
each store, with a model that gives no verdicts and without one, whatever is told first."""

from dataclasses import dataclass, replace
from itertools import permutations

import pytest

from kgsvc.domain.model.graph import Polarity
from kgsvc.stores.protocol import Store
from tests.support.stores import REAL
from tests.support.telling import Judge, Saying, World

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("any_store", REAL, indirect=True),
]
ENDS, DENIES = Polarity.ENDS, Polarity.DENIES
UNKNOWN = "?"


def costs(
    day: str,
    text: str,
    valid: str | None = None,
    invalid: str | None = None,
    polarity: Polarity = Polarity.ASSERTS,
    relation: str = "HAS_PRICE",
) -> Saying:
    return Saying(
        day, text, relation, "Falcon", source="Falcon", polarity=polarity, valid=valid, invalid=invalid
    )


NOW_75 = costs("2024-05-02", "Falcon costs 75 since 1 May.", valid="2024-05-01")
UNDATED_75 = costs("2024-05-02", "Falcon costs 75.")
ONCE_60 = costs("2024-06-03", "Falcon cost 60 until 1 May.", invalid="2024-05-01")
DONE = costs("2024-07-02", "Falcon is done since 1 July.", valid="2024-07-01", relation="HAS_STATUS")
REVIEW = costs(
    "2024-07-09", "Falcon was in review until 1 July.", invalid="2024-07-01", relation="HAS_STATUS"
)
NIGHTS = costs("2024-01-10", "Falcon is on the night shift.", valid="2024-01-09", relation="HAS_ROLE")
NURSE = costs("2024-04-09", "Falcon is a nurse.", invalid="2024-04-01", relation="HAS_ROLE")


@dataclass(frozen=True)
class Case:
    told: tuple[Saying, ...]
    rows: tuple[tuple[str, str, str | None], ...]  # text, start, end of what did not expire


CASES = {
    "the old price with its end": Case(
        (NOW_75, ONCE_60), ((ONCE_60.text, UNKNOWN, "2024-05-01"), (NOW_75.text, "2024-05-01", None))
    ),
    "an end in words of its own": Case(
        (NOW_75, costs("2024-06-03", "Falcon no longer costs 60.", valid="2024-05-01", polarity=ENDS)),
        (
            ("Falcon no longer costs 60.", UNKNOWN, "2024-05-01"),
            (NOW_75.text, "2024-05-01", None),
        ),
    ),
    "the old price without a date": Case(
        (UNDATED_75, costs("2024-06-03", "Falcon cost 60 before.", invalid="2024-06-03")),
        (("Falcon cost 60 before.", UNKNOWN, "2024-06-03"), (UNDATED_75.text, "2024-05-02", None)),
    ),
    "a former status": Case(
        (DONE, REVIEW), ((REVIEW.text, UNKNOWN, "2024-07-01"), (DONE.text, "2024-07-01", None))
    ),
    "a former role": Case(
        (NIGHTS, NURSE), ((NURSE.text, UNKNOWN, "2024-04-01"), (NIGHTS.text, "2024-01-09", None))
    ),
    "the end of the value that holds": Case(
        (
            NOW_75,
            costs("2024-09-02", "Falcon cost 75 until 1 September.", invalid="2024-09-01"),
        ),
        ((NOW_75.text, "2024-05-01", "2024-09-01"),),
    ),
    "the denial of another value": Case(
        (NOW_75, costs("2024-06-03", "Falcon does not cost 60.", polarity=DENIES)),
        (("Falcon does not cost 60.", "2024-06-03", None), (NOW_75.text, "2024-05-01", None)),
    ),
    "the denial of the value that holds": Case(
        (NOW_75, costs("2024-06-03", "Falcon does not cost 75.", polarity=DENIES)),
        (("Falcon does not cost 75.", "2024-06-03", None), (NOW_75.text, "2024-05-01", "2024-06-03")),
    ),
    "a price with both ends amid another": Case(
        (
            NOW_75,
            costs("2024-08-01", "Falcon cost 50 in July.", valid="2024-07-01", invalid="2024-08-01"),
        ),
        (("Falcon cost 50 in July.", "2024-07-01", "2024-08-01"), (NOW_75.text, "2024-05-01", None)),
    ),
}


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one by one"])
@pytest.mark.parametrize("model", [True, False], ids=["model", "rules"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_former_value_closes_no_other(
    any_store: Store, group: str, case: Case, model: bool, together: bool
) -> None:
    for n, told in enumerate(permutations(case.told)):
        world = World(any_store, f"{group}-{n}", Judge() if model else None)
        await (world.tell_at_once(*told) if together else world.tell(*told))
        rows = [(text, start, end) for text, start, end, _ in await world.rows()]
        assert rows == sorted(case.rows, key=lambda row: (row[1] != UNKNOWN, row[1], row[0]))


async def test_one_episode_tells_both_values(any_store: Store, group: str) -> None:
    """A statement and its former value in one extraction, in either order."""
    for n, told in enumerate(permutations((NOW_75, ONCE_60))):
        world = World(any_store, f"{group}-{n}", Judge())
        await world.tell_in_one(*told)
        rows = [(text, start, end) for text, start, end, _ in await world.rows()]
        assert rows == list(CASES["the old price with its end"].rows)


async def test_a_verdict_says_which_value_ended(any_store: Store, group: str) -> None:
    """The words of an end may share nothing with those of the value."""
    dear = costs("2024-05-02", "Falcon is sold at the full rate.", valid="2024-05-01")
    over = costs("2024-06-03", "The regular price of Falcon is gone.", valid="2024-06-01", polarity=ENDS)
    after = costs(
        "2024-07-01", "Falcon was at the full rate in May.", valid="2024-05-01", invalid="2024-06-01"
    )
    world = World(any_store, group, Judge())
    await world.tell(dear, replace(over, verdicts={dear.text: "replaced"}), after)
    rows = [(text, start, end) for text, start, end, _ in await world.rows()]
    assert (dear.text, "2024-05-01", "2024-06-01") in rows
    assert over.text not in [text for text, _, _ in rows], "it is told by the row that it ended"


async def test_words_that_name_a_value_stay_whatever_a_verdict_ties_to_them(
    any_store: Store, group: str
) -> None:
    """An end in other words is found to be that of a status of which only the end is known."""
    over = costs("2024-07-02", "Falcon was in review.", invalid="2024-07-01", relation="HAS_STATUS")
    gone = costs(
        "2024-06-03", "The queue is empty.", valid="2024-06-01", polarity=ENDS, relation="HAS_STATUS"
    )
    world = World(any_store, group, Judge())
    await world.tell(over, replace(gone, verdicts={over.text: "replaced"}))
    assert [text for text, start, _, _ in await world.rows() if start == UNKNOWN] == [over.text]
