"""What the graph says must be so: changes, ends, corrections and announcements, on each store, with a model
that judges as described and, where a case says so, without one."""

from dataclasses import dataclass

import pytest

from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.stores.protocol import Store
from tests.support.stores import REAL
from tests.support.telling import Judge, Saying, World

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("any_store", REAL, indirect=True),
]
STATE, ENDS, DENIES = FactKind.STATE, Polarity.ENDS, Polarity.DENIES
Row = tuple[str, str | None, str | None, str | None]  # text, start, end, why it expired

CLINIC = Saying("2024-02-01", "Maya works at Clinic")
BAKERY = Saying("2024-05-01", "Maya works at Bakery", target="Bakery")
LEFT = Saying("2024-05-01", "Maya left Clinic", polarity=ENDS, valid="2024-04-30")


@dataclass(frozen=True)
class Case:
    """What is told in this order, and the rows that follow."""

    told: tuple[Saying, ...]
    rows: tuple[Row, ...]
    now: tuple[str, ...]  # what a search finds in the end
    model: bool = True


def replacing(said: Saying, *texts: str, verdict: str = "replaced") -> Saying:
    """The saying with this verdict on known texts."""
    return Saying(
        said.day,
        said.text,
        said.relation,
        said.target,
        dict.fromkeys(texts, verdict),
        said.source,
        said.kind,
        said.polarity,
        said.valid,
        said.invalid,
        said.now,
    )


CASES = {
    "what the model does not name holds beside it": Case(
        (CLINIC, Saying("2024-05-01", "Maya also works at Bakery", target="Bakery")),
        (
            ("Maya works at Clinic", "2024-02-01", None, None),
            ("Maya also works at Bakery", "2024-05-01", None, None),
        ),
        ("Maya also works at Bakery", "Maya works at Clinic"),
    ),
    "two texts of one slot hold both": Case(
        (
            Saying("2024-02-01", "Maya works on the backend of Atlas", "WORKS_ON", "Atlas", kind=STATE),
            Saying("2024-03-01", "Maya writes its documentation too", "WORKS_ON", "Atlas", kind=STATE),
        ),
        (
            ("Maya works on the backend of Atlas", "2024-02-01", None, None),
            ("Maya writes its documentation too", "2024-03-01", None, None),
        ),
        ("Maya works on the backend of Atlas", "Maya writes its documentation too"),
    ),
    "what is replaced ends where the new begins": Case(
        (CLINIC, replacing(BAKERY, CLINIC.text)),
        (
            ("Maya works at Clinic", "2024-02-01", "2024-05-01", "superseded"),
            ("Maya works at Bakery", "2024-05-01", None, None),
        ),
        ("Maya works at Bakery",),
    ),
    "what is replaced ends since when the model says": Case(
        (
            CLINIC,
            Saying(
                BAKERY.day,
                BAKERY.text,
                target="Bakery",
                verdicts={CLINIC.text: ("replaced", "2024-04-10")},
            ),
        ),
        (
            ("Maya works at Clinic", "2024-02-01", "2024-04-10", "superseded"),
            ("Maya works at Bakery", "2024-05-01", None, None),
        ),
        ("Maya works at Bakery",),
    ),
    "a correction with an earlier reference time wins": Case(
        (
            Saying("2024-06-01", "Maya lives in Graz", "LIVES_IN", "Graz"),
            Saying(
                "2024-05-01",
                "Maya lives in Linz, not in Graz",
                "LIVES_IN",
                "Linz",
                {"Maya lives in Graz": "untrue"},
            ),
        ),
        (
            ("Maya lives in Linz, not in Graz", "2024-05-01", None, None),
            ("Maya lives in Graz", "2024-06-01", None, "retracted"),
        ),
        ("Maya lives in Linz, not in Graz",),
    ),
    "hearsay without a date does not close a dated fact": Case(
        (
            Saying("2024-06-01", "Maya lives in Linz", "LIVES_IN", "Linz", valid="2024-05-03"),
            Saying(
                "2024-06-20",
                "Maya was still driving in from Graz",
                "LIVES_IN",
                "Graz",
                {"Maya lives in Linz": "newer"},
            ),
        ),
        (
            ("Maya was still driving in from Graz", "?", "2024-05-03", None),
            ("Maya lives in Linz", "2024-05-03", None, None),
        ),
        ("Maya lives in Linz",),
    ),
    "an end told before its start is one row with it": Case(
        (LEFT, CLINIC),
        (("Maya works at Clinic", "2024-02-01", "2024-04-30", "superseded"),),
        (),
    ),
    "an end of which no start is known is the relation until then": Case(
        (LEFT,),
        (("Maya left Clinic", "?", "2024-04-30", None),),
        (),
    ),
    "an end closes what was offered, whatever it is called": Case(
        (
            CLINIC,
            Saying("2024-03-01", "Maya heads the ward of Clinic", "HEADS", "Ward", kind=STATE),
            replacing(LEFT, CLINIC.text, "Maya heads the ward of Clinic"),
        ),
        (
            ("Maya works at Clinic", "2024-02-01", "2024-04-30", "superseded"),
            ("Maya heads the ward of Clinic", "2024-03-01", "2024-04-30", "superseded"),
        ),
        (),
    ),
    "a rent that a model calls a repeat is not lost": Case(
        (
            Saying("2024-02-01", "Maya pays a rent of 1,200", "PAYS_RENT", "Flat", kind=STATE),
            Saying(
                "2024-06-01",
                "Maya pays a rent of 1,350",
                "PAYS_RENT",
                "Flat",
                {"Maya pays a rent of 1,200": "repeats"},
                kind=STATE,
            ),
        ),
        (
            ("Maya pays a rent of 1,200", "2024-02-01", "2024-06-01", "superseded"),
            ("Maya pays a rent of 1,350", "2024-06-01", None, None),
        ),
        ("Maya pays a rent of 1,350",),
    ),
    "added detail takes over and ends nothing": Case(
        (
            CLINIC,
            Saying(
                "2024-03-01",
                "Maya works at Clinic as a nurse in the ward",
                verdicts={CLINIC.text: "rewords"},
            ),
        ),
        (
            ("Maya works at Clinic", "2024-02-01", None, "updated"),
            ("Maya works at Clinic as a nurse in the ward", "2024-02-01", None, None),
        ),
        ("Maya works at Clinic as a nurse in the ward",),
    ),
    "without a model a side job of the past ends nothing": Case(
        (
            Saying("2024-02-01", "Maya works at Clinic", valid="2020-01-01"),
            Saying(
                "2024-03-01",
                "Maya worked at Bakery on the side",
                target="Bakery",
                valid="2022-01-01",
                invalid="2023-12-31",
            ),
        ),
        (
            ("Maya works at Clinic", "2020-01-01", None, None),
            ("Maya worked at Bakery on the side", "2022-01-01", "2023-12-31", None),
        ),
        ("Maya works at Clinic",),
        model=False,
    ),
    "without a model the rule of a functional relation stands": Case(
        (CLINIC, BAKERY),
        (
            ("Maya works at Clinic", "2024-02-01", "2024-05-01", "superseded"),
            ("Maya works at Bakery", "2024-05-01", None, None),
        ),
        ("Maya works at Bakery",),
        model=False,
    ),
    "what is denied is kept as denied": Case(
        (CLINIC, Saying("2024-05-01", "Maya never worked at Clinic", polarity=DENIES)),
        (
            ("Maya works at Clinic", "2024-02-01", "2024-05-01", "superseded"),
            ("Maya never worked at Clinic", "2024-05-01", None, None),
        ),
        ("Maya never worked at Clinic",),
        model=False,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_what_is_told_makes_these_rows(any_store: Store, group: str, case: Case) -> None:
    world = World(any_store, group, Judge() if case.model else None)
    await world.tell(*case.told)
    assert await world.rows() == list(case.rows)
    assert await world.holding() == list(case.now)
