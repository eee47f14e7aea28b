"""What the graph says must be so: changes, ends, corrections and announcements, on each store, with a model
that judges as described and, where a case says so, without one."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kgsvc.commands.cascades import cascade_episode
from kgsvc.commands.facts import retract_fact, update_fact
from kgsvc.domain.facts.amendments import FactInput
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.stores.protocol import Store
from tests.support.core import core_of
from tests.support.stores import REAL
from tests.support.telling import Judge, Saying, World, ms_of

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("any_store", REAL, indirect=True),
]
STATE, ENDS, DENIES = FactKind.STATE, Polarity.ENDS, Polarity.DENIES
Row = tuple[str, str | None, str | None, str | None]  # text, start, end, why it expired

CLINIC = Saying("2024-02-01", "Maya works at Clinic")
BAKERY = Saying("2024-05-01", "Maya works at Bakery", target="Bakery")
LEFT = Saying("2024-05-01", "Maya left Clinic", polarity=ENDS, valid="2024-04-30")
LIKES = Saying("2024-02-01", "Maya likes chess", "LIKES", "chess", kind=STATE)
HATES = Saying("2024-05-01", "Maya hates chess", "DISLIKES", "chess", kind=STATE)
GONE = replace(LEFT, relation="MEMBER_OF", kind=STATE)


@dataclass(frozen=True)
class Case:
    """What is told in this order, and the rows that follow."""

    told: tuple[Saying, ...]
    rows: tuple[Row, ...]
    now: tuple[str, ...]  # what a search finds in the end
    model: bool = True


def replacing(said: Saying, *texts: str, verdict: str = "replaced") -> Saying:
    """The saying with this verdict on known texts."""
    return replace(said, verdicts=dict.fromkeys(texts, verdict))


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
    "who leaves where they work works there no more": Case(
        (CLINIC, GONE),
        (
            ("Maya left Clinic", "?", "2024-04-30", None),
            ("Maya works at Clinic", "2024-02-01", "2024-04-30", "superseded"),
        ),
        (),
        model=False,
    ),
    "who leaves what nothing is known of has been a member": Case(
        (BAKERY, GONE),
        (
            ("Maya left Clinic", "?", "2024-04-30", None),
            ("Maya works at Bakery", "2024-05-01", None, None),
        ),
        ("Maya works at Bakery",),
        model=False,
    ),
    "who hates what they liked likes it no more, until they do again": Case(
        (HATES, LIKES, replace(LIKES, day="2024-08-01", text="Maya likes chess again")),
        (
            ("Maya likes chess", "2024-02-01", "2024-05-01", "superseded"),
            ("Maya hates chess", "2024-05-01", "2024-08-01", "superseded"),
            ("Maya likes chess again", "2024-08-01", None, None),
        ),
        ("Maya likes chess again",),
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


async def test_a_correction_leaves_what_was_known_before(any_store: Store, group: str) -> None:
    """What never was true holds at no time, but it was believed until it was corrected."""
    world = World(any_store, group, Judge())
    graz = Saying("2024-06-01", "Maya lives in Graz", "LIVES_IN", "Graz")
    linz = Saying("2024-05-01", "Maya lives in Linz", "LIVES_IN", "Linz")
    await world.tell(graz)
    before_ms = world.clock.ms
    await world.tell(replacing(linz, graz.text, verdict="untrue"))
    assert await world.holding(valid="2024-07-01") == [linz.text]
    assert await world.holding(valid="2024-05-15") == [linz.text]
    assert await world.holding(known_ms=before_ms) == [graz.text]


async def test_a_cascade_takes_an_end_back(any_store: Store, group: str) -> None:
    world = World(any_store, group, Judge())
    await world.tell(LEFT, CLINIC)
    assert await world.holding(valid="2024-04-01") == [CLINIC.text]
    assert await world.holding() == []
    await cascade_episode(core_of(any_store, clock=world.clock), f"{group}-e0", group)
    assert await world.rows() == [(CLINIC.text, "2024-02-01", None, None)]
    assert await world.holding() == [CLINIC.text]


@pytest.mark.parametrize("told", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one by one"])
async def test_who_left_may_come_back(
    any_store: Store, group: str, told: tuple[int, ...], at_once: bool
) -> None:
    """In whatever order it is told; the end is taken back with the words that tell it."""
    world = World(any_store, group, None)
    again = replace(CLINIC, day="2024-06-01")
    sayings = [(CLINIC, GONE, again)[place] for place in told]
    await (world.tell_at_once(*sayings) if at_once else world.tell(*sayings))
    works = [row for row in await world.rows() if row[0] == CLINIC.text]
    assert works == [
        (CLINIC.text, "2024-02-01", "2024-04-30", "superseded"),
        (CLINIC.text, "2024-06-01", None, None),
    ]
    await cascade_episode(core_of(any_store, clock=world.clock), f"{group}-e{told.index(1)}", group)
    stands = [row for row in await world.rows() if row[3] != "merged"]
    assert stands == [(CLINIC.text, "2024-02-01", None, None)]


async def test_another_end_of_the_first_time_ends_no_second_one(any_store: Store, group: str) -> None:
    world = World(any_store, group, None)
    earlier = replace(GONE, day="2024-07-01", valid="2024-03-31")
    await world.tell(CLINIC, GONE, replace(CLINIC, day="2024-06-01"), earlier)
    works = [row for row in await world.rows() if row[0] == CLINIC.text]
    assert works == [
        (CLINIC.text, "2024-02-01", "2024-03-31", "superseded"),
        (CLINIC.text, "2024-06-01", None, None),
    ]


async def test_an_end_is_the_relation_at_any_time_before_it(any_store: Store, group: str) -> None:
    world = World(any_store, group, Judge())
    await world.tell(LEFT)
    assert await world.holding(valid="2010-01-01") == [LEFT.text]
    assert await world.holding(valid="2024-04-30") == []


async def updated(world: World, text: str) -> None:
    """A caller writes `text` instead of the one fact there is."""
    (fact,) = await world.facts()
    world.clock.ms += 1_000
    await update_fact(core_of(world.store, clock=world.clock), FactInput(fact.uuid, world.group, text))


async def test_an_equal_retelling_does_not_undo_what_a_caller_wrote(any_store: Store, group: str) -> None:
    for judge in (None, Judge()):
        world = World(any_store, f"{group}-{judge is None}", judge)
        await world.tell(CLINIC)
        await updated(world, "Maya runs Clinic")
        await world.tell(CLINIC)
        current = [row for row in await world.rows() if row[3] is None]
        assert ("Maya runs Clinic", "2024-02-01", None, None) in current


async def test_no_end_closes_what_a_caller_wrote(any_store: Store, group: str) -> None:
    world = World(any_store, group, Judge())
    await world.tell(CLINIC)
    await updated(world, "Maya runs Clinic")
    await world.tell(replacing(LEFT, "Maya runs Clinic"))
    assert await world.holding() == ["Maya runs Clinic"]


async def test_what_was_never_true_has_ended_nothing(any_store: Store, group: str) -> None:
    """In another slot neither, nor does what it was corrected to end it."""
    bob = Saying("2024-02-01", "Bob is the CEO of Acme", "CEO_OF", "Acme", source="Bob", kind=STATE)
    carla = Saying("2024-06-01", "Carla took over", "CEO_OF", "Acme", {bob.text: "replaced"}, "Carla")
    for corrected in (False, True):
        world = World(any_store, f"{group}-{corrected}", Judge())
        await world.tell(bob, carla)
        uuid = (await world.facts())[-1].uuid
        core = core_of(any_store, clock=world.clock)
        if corrected:
            world.clock.ms += 1_000
            wanted = FactInput(uuid, world.group, "Carla is the CEO of Acme")
            uuid = (await update_fact(core, wanted)).fact.uuid
        assert bob.text not in await world.holding()
        world.clock.ms += 1_000
        gone = await retract_fact(core, uuid, world.group, "another Carla")
        assert (gone.expired_reason, gone.retract_reason) == ("retracted", "another Carla")
        assert await world.holding() == [bob.text]
        assert gone.expired_ms is not None
        assert await world.holding(known_ms=gone.expired_ms - 1) == [gone.fact]


async def test_who_held_an_office_is_offered_with_who_takes_it(any_store: Store, group: str) -> None:
    """CEO_OF goes from a person to a firm: the target is what the two have in common."""
    world = World(any_store, group, judge := Judge())
    bob = Saying("2024-02-01", "Bob is the CEO of Acme", "CEO_OF", "Acme", source="Bob", kind=STATE)
    carla = Saying("2024-06-01", "Carla took over", "CEO_OF", "Acme", {bob.text: "replaced"}, "Carla")
    await world.tell(bob, carla)
    assert judge.offered[carla.text] == [bob.text]
    assert await world.holding() == [carla.text]


async def test_what_was_set_beside_another_in_a_batch_is_ended(any_store: Store, group: str) -> None:
    """Bakery holds beside Clinic in a slot of its own; what the same batch says of its end finds it there."""
    world = World(any_store, group, Judge())
    also = Saying("2024-03-01", "Maya also works at Bakery", target="Bakery")
    hotel = Saying("2024-05-01", "Maya cooks at Hotel", target="Hotel", verdicts={also.text: "replaced"})
    await world.tell_at_once(CLINIC, also, hotel)
    assert await world.rows() == [
        (CLINIC.text, "2024-02-01", None, None),
        (also.text, "2024-03-01", "2024-05-01", "superseded"),
        (hotel.text, "2024-05-01", None, None),
    ]


JOINS = Saying(
    "2024-06-01",
    "Maya joins Bakery on 1 October",
    target="Bakery",
    verdicts={CLINIC.text: "replaced"},
    valid="2024-10-01",
    now="2024-06-01",
)
EMPLOYED = Saying("2024-02-01", CLINIC.text, now="2024-02-02")


@pytest.mark.parametrize("with_model", [False, True])
async def test_an_announced_job_bounds_the_present_one(
    any_store: Store, group: str, with_model: bool
) -> None:
    world = World(any_store, group, Judge() if with_model else None)
    await world.tell(EMPLOYED)
    before_ms = world.clock.ms
    await world.tell(JOINS)
    assert await world.rows() == [
        (CLINIC.text, "2024-02-01", "2024-10-01", None),
        (JOINS.text, "2024-10-01", None, None),
    ]
    assert await world.holding() == [CLINIC.text]
    assert await world.holding(valid="2024-11-01") == [JOINS.text]
    assert await world.holding(known_ms=before_ms) == [CLINIC.text]
    world.clock.ms = ms_of("2024-10-02")
    assert await world.holding() == [JOINS.text], "the date passes without a write"


@pytest.mark.parametrize("with_model", [False, True])
async def test_what_is_called_off_lifts_the_bound(any_store: Store, group: str, with_model: bool) -> None:
    world = World(any_store, group, Judge() if with_model else None)
    off = Saying(
        "2024-07-01",
        "Maya will not join Bakery",
        target="Bakery",
        verdicts={JOINS.text: "untrue"},
        polarity=DENIES,
        now="2024-07-01",
    )
    await world.tell(EMPLOYED, JOINS, off)
    assert CLINIC.text in await world.holding(valid="2024-11-01")
    assert JOINS.text not in await world.holding(valid="2024-11-01")
    rows = {text: (end, reason) for text, _, end, reason in await world.rows()}
    assert (rows[CLINIC.text], rows[JOINS.text][1]) == ((None, None), "retracted")


@pytest.mark.parametrize("with_model", [False, True])
async def test_what_is_postponed_moves_the_bound(any_store: Store, group: str, with_model: bool) -> None:
    world = World(any_store, group, Judge() if with_model else None)
    later = Saying(
        "2024-07-01",
        "Maya joins Bakery only on 1 December",
        target="Bakery",
        verdicts={JOINS.text: "untrue", CLINIC.text: "replaced"},
        valid="2024-12-01",
        now="2024-07-01",
    )
    await world.tell(EMPLOYED, JOINS, later)
    assert await world.holding(valid="2024-11-01") == [CLINIC.text]
    assert await world.holding(valid="2024-12-02") == [later.text]
    assert (CLINIC.text, "2024-02-01", "2024-12-01", None) in await world.rows()


async def test_what_is_announced_with_a_job_moves_with_its_start(any_store: Store, group: str) -> None:
    """The boss of a job that begins later was told once, and is the boss from then on."""
    world = World(any_store, group, judge := Judge())
    boss = Saying(
        "2024-06-01",
        "Ann will be Maya's boss at Bakery",
        "REPORTS_TO",
        "Ann",
        valid="2024-10-01",
        now="2024-06-02",
    )
    later = Saying(
        "2024-07-01",
        "Maya joins Bakery only on 1 December",
        target="Bakery",
        verdicts={JOINS.text: "moved", boss.text: "moved", CLINIC.text: "replaced"},
        valid="2024-12-01",
        now="2024-07-01",
    )
    await world.tell(EMPLOYED, JOINS, boss)
    before_ms = world.clock.ms
    await world.tell(later)
    assert boss.text in judge.offered[later.text]
    assert (boss.text, "2024-12-01", None, None) in await world.rows()
    assert await world.holding(valid="2024-11-01") == [CLINIC.text]
    assert await world.holding(valid="2024-12-02") == [boss.text, later.text]
    assert await world.holding(valid="2024-11-01", known_ms=before_ms) == [boss.text, JOINS.text]
    await cascade_episode(core_of(any_store, clock=world.clock), f"{group}-e3", group)
    assert await world.holding(valid="2024-11-01") == [boss.text, JOINS.text]


async def test_a_clock_six_seconds_fast_hides_nothing(any_store: Store, group: str) -> None:
    """The reference time of what replaces is six seconds ahead of the service's."""
    world = World(any_store, group, Judge())
    await world.tell(EMPLOYED)
    fast = replace(replacing(BAKERY, CLINIC.text), day="2024-06-01T00:00:06", now="2024-06-01")
    await world.tell(fast)
    assert await world.holding() == [CLINIC.text]
    world.clock.ms += 7_000
    assert await world.holding() == [BAKERY.text]


async def test_the_end_of_a_job_is_not_that_of_what_hangs_on_it(any_store: Store, group: str) -> None:
    """The model names what the person led; the job itself was never told before, and has ended."""
    led = Saying("2024-03-01", "Atlas is led by Maya", "LED_BY", "Maya", source="Atlas")
    left = replace(LEFT, text="Maya's last day at Clinic is 30 April", day="2024-04-15")
    world = World(any_store, group, Judge())
    await world.tell(led, replacing(left, led.text))
    assert await world.rows() == [
        (left.text, "?", "2024-04-30", None),
        (led.text, "2024-03-01", "2024-04-30", "superseded"),
    ]


@pytest.mark.parametrize("at_once", [True, False])
async def test_an_announced_end_of_what_nobody_told_before_is_called_off(
    any_store: Store, group: str, at_once: bool
) -> None:
    """All that is known is that she leaves; then she stays."""
    leaves = Saying("2024-03-01", "Maya leaves Clinic on 30 April", polarity=ENDS, valid="2024-04-30")
    stays = Saying("2024-04-02", "Maya stays at Clinic", verdicts={leaves.text: "goes_on"})
    world = World(any_store, group, judge := Judge())
    await (world.tell_at_once if at_once else world.tell)(leaves, stays)
    assert judge.offered[stays.text] == [leaves.text]
    assert await world.holding() == ["Maya stays at Clinic"]
    assert await world.holding("2024-06-01") == ["Maya stays at Clinic"]


RUNS = Saying("2024-02-01", "Maya works at Clinic until 31 May", invalid="2024-05-31", now="2024-02-01")
LEAVES = Saying(
    "2024-03-01", "Maya leaves Clinic on 31 May", polarity=ENDS, valid="2024-05-31", now="2024-03-01"
)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("until", ["2024-04-30", "2024-08-31"], ids=["earlier", "later"])
@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        pytest.param((RUNS,), "goes_on", id="told with it"),
        pytest.param((RUNS,), "replaced", id="told with it, the model says replaced"),
        pytest.param((EMPLOYED, LEAVES), "goes_on", id="told later"),
        pytest.param((LEAVES,), "goes_on", id="alone"),
    ],
)
async def test_an_announced_end_moves(
    any_store: Store, group: str, known: tuple[Saying, ...], verdict: str, until: str, at_once: bool
) -> None:
    """At each time one holds, and to the end that was told last."""
    text = f"Maya works at Clinic until {until}"
    verdicts = {known[0].text: verdict}
    moved = Saying("2024-04-02", text, invalid=until, verdicts=verdicts, now="2024-04-02")
    world = World(any_store, group, judge := Judge())
    await (world.tell_at_once if at_once else world.tell)(*known, moved)
    assert known[0].text in judge.offered[text]
    assert await world.holding("2024-03-15") == ([] if known == (LEAVES,) else [known[0].text])
    assert await world.holding("2024-04-15") == [text]
    assert await world.holding("2024-05-15") == ([text] if until > "2024-05" else [])
    assert await world.holding("2024-09-01") == []


async def test_an_announced_end_that_is_past_when_the_episodes_arrive_moves(
    any_store: Store, group: str
) -> None:
    """Old messages are sent today, one by one: what they say is compared as it stood then."""
    told = [replace(said, now=None) for said in (EMPLOYED, LEAVES)]
    until = Saying("2024-04-02", "Maya works at Clinic until 31 August", invalid="2024-08-31")
    until = replacing(until, CLINIC.text, verdict="goes_on")
    after = Saying("2024-09-02", "Maya works at Bakery", target="Bakery", verdicts={CLINIC.text: "untrue"})
    world = World(any_store, group, judge := Judge())
    await world.tell(*told, until, after)
    assert judge.offered[until.text] == [CLINIC.text]
    assert CLINIC.text not in judge.offered[after.text]
    assert await world.holding("2024-03-15") == [CLINIC.text]
    assert await world.holding("2024-07-15") == [until.text]
    assert await world.holding("2024-09-15") == [after.text]


@pytest.mark.parametrize("cut", range(5))
async def test_what_went_on_although_its_end_was_announced_is_replaced_later(
    any_store: Store, group: str, cut: int
) -> None:
    """A move that is put off, and comes a week later; told in one commit or in two."""

    def lives(day: str, text: str, home: str, **more: Any) -> Saying:
        return Saying(day, text, "LIVES_IN", home, **more)

    moves = lives("2024-03-01", "Maya moves to Linz on 11 April", "Linz", valid="2024-04-11")
    leaves = lives("2024-03-01", "Maya leaves Graz on 11 April", "Graz", valid="2024-04-11", polarity=ENDS)
    stays = lives("2024-04-09", "Maya still lives in Graz", "Graz", verdicts={leaves.text: "goes_on"})
    not_yet = lives(
        "2024-04-09",
        "Maya does not move on 11 April",
        "Linz",
        polarity=DENIES,
        verdicts={moves.text: "untrue"},
    )
    verdicts = {moves.text: "moved", stays.text: "replaced"}
    moved = lives(
        "2024-04-20", "Maya moved to Linz on 18 April", "Linz", valid="2024-04-18", verdicts=verdicts
    )
    told = [moves, leaves, not_yet, stays, moved]
    world = World(any_store, group, Judge())
    for part in filter(None, (told[:cut], told[cut:])):
        await world.tell_at_once(*part)
    assert await world.rows() == [
        (not_yet.text, "2024-04-09", "2024-04-18", "superseded"),
        (stays.text, "2024-04-09", "2024-04-18", "superseded"),
        (moves.text, "2024-04-11", None, "retracted"),
        (moved.text, "2024-04-18", None, None),
    ]
