"""Intervals and contradictions (docs/design/time.md)."""

import itertools
from dataclasses import replace

import pytest

from kgsvc.domain.facts.statements import KEPT, EdgeStatement, EdgeWording, Ending, thinned
from kgsvc.domain.facts.timeline import fold
from kgsvc.domain.model.graph import EARLIEST_MS, ENDED, LASTS, Closure, Evidence, FactKind, Polarity

A, E, D = Polarity.ASSERTS, Polarity.ENDS, Polarity.DENIES


def said(
    text: str,
    target: str,
    start: int,
    end: int | None = None,
    polarity: Polarity = A,
    reference: int | None = None,
    episode: str = "",
    says: str = "",
) -> EdgeStatement:
    wording = EdgeWording("WORKS_AT", text, "alice", target, FactKind.FUNCTIONAL, polarity)
    at = start if reference is None else reference
    says = ENDED if polarity is E else says
    own = text if says else ""
    return EdgeStatement(wording, Evidence(start, at, episode or f"{text}@{start}", start, end, own, says))


def undated(text: str, target: str, reference: int) -> EdgeStatement:
    """A statement that it holds, without a word since when."""
    stated = said(text, target, reference)
    return replace(stated, evidence=replace(stated.evidence, stated_valid_ms=None))


def untrue(text: str, target: str, reference: int) -> Ending:
    """The finding that what was stated until then was never true."""
    return Ending((text, target, A.value), Closure(0, reference, "f", "e-out", retracts=True))


def moved(text: str, target: str, to: int, reference: int) -> Ending:
    """The finding that what was announced until then begins at another time."""
    return Ending((text, target, A.value), Closure(to, reference, "f", "e-out", moves=True))


def ending(text: str, target: str, at: int, reference: int | None = None, by: str = "f") -> Ending:
    """A contradiction from outside the slot."""
    return Ending((text, target, A.value), Closure(at, at if reference is None else reference, by, "e-out"))


def intervals(*entries: EdgeStatement | Ending) -> list[tuple[str, int, int | None]]:
    statements = [entry for entry in entries if isinstance(entry, EdgeStatement)]
    endings = [entry for entry in entries if isinstance(entry, Ending)]
    rows = fold(statements, endings)
    return sorted((row.wording.fact, row.start_ms, row.end_ms) for row in rows if not row.withdrawn_by)


# Late arrival is every case with its entries in another order: each order must give the same.
CASES: dict[str, tuple[list[EdgeStatement | Ending], list[tuple[str, int, int | None]]]] = {
    "one": ([said("acme", "a", 1)], [("acme", 1, None)]),
    "before: it had ended when the other began": (
        [said("acme", "a", 1, 3), said("globex", "g", 5)],
        [("acme", 1, 3), ("globex", 5, None)],
    ),
    "touching: it ended at the instant at which the other began": (
        [said("acme", "a", 1, 5), said("globex", "g", 5)],
        [("acme", 1, 5), ("globex", 5, None)],
    ),
    "overlapping: the later one closes the earlier": (
        [said("acme", "a", 1, 9), said("globex", "g", 5)],
        [("acme", 1, 5), ("globex", 5, None)],
    ),
    "open: the later one closes the earlier": (
        [said("acme", "a", 1), said("globex", "g", 5)],
        [("acme", 1, 5), ("globex", 5, None)],
    ),
    "said later of an earlier time: the later start counts, not the later statement": (
        [said("acme", "a", 5), said("globex", "g", 1, reference=9)],
        [("acme", 5, None), ("globex", 1, 5)],
    ),
    "same text while it holds joins": ([said("acme", "a", 1), said("acme", "a", 5)], [("acme", 1, None)]),
    "same text after it had ended is a new interval": (
        [said("acme", "a", 1, 3), said("acme", "a", 5)],
        [("acme", 1, 3), ("acme", 5, None)],
    ),
    "another between two equal ones splits them": (
        [said("acme", "a", 1), said("globex", "g", 3), said("acme", "a", 5)],
        [("acme", 1, 3), ("acme", 5, None), ("globex", 3, 5)],
    ),
    "same instant: the later statement is current": (
        [said("acme", "a", 1, reference=2), said("globex", "g", 1, reference=1)],
        [("acme", 1, None), ("globex", 1, 1)],
    ),
    "same instant, said again later still: it stands again": (
        [
            said("acme", "a", 5),
            said("globex", "g", 5, reference=6),
            said("acme", "a", 5, reference=7, episode="again"),
        ],
        [("acme", 5, None), ("globex", 5, 5)],
    ),
    "same instant and reference: that of the lowest episode is current": (
        [said("acme", "a", 1, episode="e2"), said("globex", "g", 1, episode="e1")],
        [("acme", 1, 1), ("globex", 1, None)],
    ),
    "ended": (
        [said("acme", "a", 1), said("left acme", "a", 4, polarity=E)],
        [("acme", 1, 4)],
    ),
    "denied": (
        [said("acme", "a", 1), said("not at acme", "a", 4, polarity=D)],
        [("acme", 1, 4), ("not at acme", 4, None)],
    ),
    "the end of something else changes nothing": (
        [said("globex", "g", 1), said("left acme", "a", 4, polarity=E)],
        [("globex", 1, None), ("left acme", EARLIEST_MS, 4)],
    ),
    "re-hired": (
        [said("acme", "a", 1), said("left acme", "a", 4, polarity=E), said("acme", "a", 7)],
        [("acme", 1, 4), ("acme", 7, None)],
    ),
    "ended, told twice: the first end counts": (
        [
            said("acme", "a", 1),
            said("left acme", "a", 4, polarity=E),
            said("acme no more", "a", 6, polarity=E, reference=4),
        ],
        [("acme", 1, 4)],
    ),
    "ended, corrected: of two dates that told later counts": (
        [
            said("acme", "a", 1),
            said("left acme", "a", 4, polarity=E, reference=8),
            said("acme until 6", "a", 6, polarity=E, reference=9),
        ],
        [("acme", 1, 6)],
    ),
    "another began while the end came later: the stated end counts": (
        [said("acme", "a", 1), said("globex", "g", 4), said("left acme", "a", 6, polarity=E)],
        [("acme", 1, 6), ("globex", 4, None)],
    ),
    "announced, then put off: it holds from the later date": (
        [
            said("globex", "g", 1),
            said("acme soon", "a", 10, reference=5),
            said("acme later", "a", 20, reference=6),
        ],
        [("acme later", 20, None), ("globex", 1, 20)],
    ),
    "announced, then brought forward": (
        [
            said("globex", "g", 1),
            said("acme soon", "a", 20, reference=5),
            said("acme sooner", "a", 10, reference=6),
        ],
        [("acme sooner", 10, None), ("globex", 1, 10)],
    ),
    "announced, then told again before it came: it holds from the announced date": (
        [
            said("globex", "g", 1),
            said("acme soon", "a", 10, reference=5),
            undated("acme soon", "a", 6),
            undated("acme soon", "a", 12),
        ],
        [("acme soon", 10, None), ("globex", 1, 10)],
    ),
    "told without a date, then announced: both count": (
        [undated("acme soon", "a", 4), said("acme soon", "a", 10, reference=5)],
        [("acme soon", 4, None)],
    ),
    "announced, then called off: it never held and bounds nothing": (
        [
            said("globex", "g", 1),
            said("acme soon", "a", 10, reference=5),
            said("not acme", "a", 6, polarity=D),
        ],
        [("globex", 1, None), ("not acme", 6, None)],
    ),
    "announced, then called off as an end": (
        [
            said("globex", "g", 1),
            said("acme soon", "a", 10, reference=5),
            said("acme off", "a", 6, polarity=E),
        ],
        [("globex", 1, None)],
    ),
    "an announced end, called off": (
        [
            said("acme", "a", 1),
            said("left acme", "a", 10, polarity=E, reference=5),
            said("acme", "a", 6, says=LASTS, episode="stays"),
        ],
        [("acme", 1, None)],
    ),
    "an announced end, put off": (
        [
            said("acme", "a", 1),
            said("left acme", "a", 10, polarity=E, reference=5),
            said("left later", "a", 20, polarity=E, reference=6),
        ],
        [("acme", 1, 20)],
    ),
    "a restatement does not lift an announced end": (
        [
            said("acme", "a", 1),
            said("left acme", "a", 10, polarity=E, reference=5),
            said("acme", "a", 6, episode="again"),
        ],
        [("acme", 1, 10)],
    ),
    "never true: what was stated until then is gone, whatever its time": (
        [said("acme", "a", 5), untrue("acme", "a", 6), said("globex", "g", 1)],
        [("globex", 1, None)],
    ),
    "never true, stated again afterwards: it stands": (
        [said("acme", "a", 5), untrue("acme", "a", 6), said("acme", "a", 8)],
        [("acme", 8, None)],
    ),
    "announced, and moved: it begins then, and what it ended lasts until then": (
        [said("acme", "a", 1), said("globex", "g", 9, reference=2), moved("globex", "g", 12, 4)],
        [("acme", 1, 12), ("globex", 12, None)],
    ),
    "moved twice: the finding told last counts": (
        [said("acme", "a", 9, reference=1), moved("acme", "a", 12, 2), moved("acme", "a", 7, 4)],
        [("acme", 7, None)],
    ),
    "announced anew after it was moved: the announcement counts": (
        [
            said("acme", "a", 9, reference=1),
            moved("acme", "a", 12, 2),
            said("acme", "a", 15, reference=4),
        ],
        [("acme", 15, None)],
    ),
    "moved, and told without a date before: it holds from the other start": (
        [said("acme", "a", 9, reference=1), undated("acme", "a", 3), moved("acme", "a", 12, 4)],
        [("acme", 12, None)],
    ),
    "what had begun when it was told does not move": (
        [said("acme", "a", 5), moved("acme", "a", 12, 6)],
        [("acme", 5, None)],
    ),
    "moved behind its announced end: the end moves along": (
        [said("acme", "a", 9, 11, reference=1), moved("acme", "a", 20, 4)],
        [("acme", 20, 22)],
    ),
    "open at the left: no start stated, the reference time counts": (
        [said("acme", "a", 4, 4), said("globex", "g", 5)],
        [("acme", 4, 4), ("globex", 5, None)],
    ),
    "told with its end: it closes nothing": (
        [said("acme", "a", 1), said("globex", "g", 3, 4), said("initech", "i", 6)],
        [("acme", 1, 6), ("globex", 3, 4), ("initech", 6, None)],
    ),
    "told with their ends: both stand": (
        [said("acme", "a", 1, 9), said("globex", "g", 1, 9)],
        [("acme", 1, 9), ("globex", 1, 9)],
    ),
    "denied, then ended, then re-hired": (
        [
            said("not at acme", "a", 2, polarity=D),
            said("left acme", "a", 4, polarity=E),
            said("acme", "a", 7),
        ],
        [("acme", 7, None), ("left acme", EARLIEST_MS, 4), ("not at acme", 2, 7)],
    ),
    "from outside, within: it ends then": (
        [said("acme", "a", 1, 9), ending("acme", "a", 5)],
        [("acme", 1, 5)],
    ),
    "from outside, open at the right: it ends then": (
        [said("acme", "a", 1), ending("acme", "a", 5)],
        [("acme", 1, 5)],
    ),
    "from outside, after its end: it is left alone": (
        [said("acme", "a", 1, 3), ending("acme", "a", 5)],
        [("acme", 1, 3)],
    ),
    "from outside, touching its end: it is left alone": (
        [said("acme", "a", 1, 5), ending("acme", "a", 5)],
        [("acme", 1, 5)],
    ),
    "from outside, before its start: it is left alone": (
        [said("acme", "a", 5), ending("acme", "a", 3)],
        [("acme", 5, None)],
    ),
    "from outside, same instant, said later: it never held": (
        [said("acme", "a", 5, reference=5), ending("acme", "a", 5, reference=6)],
        [("acme", 5, 5)],
    ),
    "from outside, same instant, said at the same time: it is left alone": (
        [said("acme", "a", 5), ending("acme", "a", 5)],
        [("acme", 5, None)],
    ),
    "from outside, same instant, said again later still: it stands": (
        [
            said("acme", "a", 5, reference=5),
            ending("acme", "a", 5, reference=6),
            said("acme", "a", 5, reference=7, episode="again"),
        ],
        [("acme", 5, None)],
    ),
    "from outside, twice: the earlier one counts": (
        [said("acme", "a", 1), ending("acme", "a", 7, by="g"), ending("acme", "a", 5)],
        [("acme", 1, 5)],
    ),
    "from outside, said again afterwards: a new interval": (
        [said("acme", "a", 1), ending("acme", "a", 5), said("acme", "a", 8)],
        [("acme", 1, 5), ("acme", 8, None)],
    ),
    "from outside, of what another had closed before": (
        [said("acme", "a", 1), said("globex", "g", 3), ending("acme", "a", 5)],
        [("acme", 1, 3), ("globex", 3, None)],
    ),
    "from outside, then another: its start closes nothing": (
        [said("acme", "a", 1), ending("acme", "a", 3), said("globex", "g", 5)],
        [("acme", 1, 3), ("globex", 5, None)],
    ),
    "a stated end counts from whichever statement gave it": (
        [said("acme", "a", 1), said("acme", "a", 2, 6)],
        [("acme", 1, 6)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_in_every_order_of_arrival(name: str) -> None:
    statements, expected = CASES[name]
    for order in itertools.permutations(statements):
        assert intervals(*order) == expected


def test_the_closing_statement_is_named() -> None:
    rows = fold([said("acme", "a", 1, episode="e1"), said("globex", "g", 5, episode="e2")])
    assert rows[0].closed_by is rows[1]
    assert rows[0].closed_by_episode == "e2"


def test_what_ended_as_it_began_is_closed_by_what_begins_then() -> None:
    rows = fold([said("acme", "a", 4, 4), said("globex", "g", 4, reference=5)])
    assert rows[0].closed_by is rows[1]


def test_a_joined_row_keeps_every_episode() -> None:
    [row] = fold([said("acme", "a", 5, episode="late"), said("acme", "a", 1, episode="early")])
    assert [evidence.episode_uuid for evidence in row.evidence] == ["early", "late"]


def test_a_closure_is_kept_by_the_row_even_where_something_earlier_closed_it() -> None:
    closed = ending("acme", "a", 5)
    rows = fold([said("acme", "a", 1), said("globex", "g", 3)], [closed])
    assert rows[0].closures == [closed.closure]
    assert rows[0].closed_by is rows[1]
    assert rows[1].closures == []


def test_a_moved_row_keeps_what_was_told_and_what_moved_it() -> None:
    announced, found = said("acme", "a", 9, reference=1), moved("acme", "a", 12, 4)
    [row] = fold([announced], [found])
    assert (row.start_ms, row.evidence, row.closures) == (12, [announced.evidence], [found.closure])


def test_who_closed_it_from_outside_is_named() -> None:
    [row] = fold([said("acme", "a", 1)], [ending("acme", "a", 5, by="f9")])
    assert isinstance(row.closed_by, Closure)
    assert (row.closed_by.by_fact, row.closed_by_episode) == ("f9", "e-out")


def test_what_is_said_again_and_again_to_have_ended_is_kept_in_part() -> None:
    """And what is kept folds to the same row."""
    told = [
        said("acme", "a", 1),
        *(said(f"left {n}", "a", 9, polarity=E, reference=n + 9) for n in range(999)),
    ]
    [row] = fold(told)
    kept = [
        EdgeStatement(
            row.wording if not each.says else replace(row.wording, polarity=E, fact=each.said), each
        )
        for each in thinned(row.evidence, 1.0)
    ]
    assert len(kept) <= 2 * KEPT + 2
    [again] = fold(kept)
    assert (again.start_ms, again.end_ms) == (row.start_ms, row.end_ms) == (1, 9)
