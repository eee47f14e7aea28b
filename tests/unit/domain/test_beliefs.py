"""What a fact was held to be before its row changed."""

from dataclasses import replace

from kgsvc.domain.facts.beliefs import MOST, as_known_at, remembering
from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.graph import Fact
from tests.unit.search.feed import fact


def written(**more: object) -> Fact:
    return fact("f", "works there", created_ms=100, reference_ms=50, **more)


def expired(was: Fact, at_ms: int, end_ms: int) -> Fact:
    changed = replace(was, invalid_ms=end_ms, expired_ms=at_ms, expired_reason="superseded")
    return remembering(was, replace(changed, invalid_before_ms=was.invalid_ms), at_ms)


def test_an_expiry_alone_says_what_was_before() -> None:
    now = expired(written(invalid_ms=90), 200, 80)
    assert now.beliefs == ()
    assert as_known_at(now, 199) == replace(now, invalid_ms=90, expired_ms=None, expired_reason=None)
    assert as_known_at(now, 200) == as_known_at(now, None) == now


def test_what_holds_again_was_held_to_be_over() -> None:
    over = expired(written(), 200, 80)
    back = replace(over, invalid_ms=None, expired_ms=None, expired_reason=None, invalid_before_ms=None)
    back = remembering(over, back, 300)
    assert [as_known_at(back, ms).invalid_ms for ms in (199, 200, 299, 300)] == [None, 80, 80, None]
    assert [as_known_at(back, ms).expired_ms for ms in (199, 200, 299, 300)] == [None, 200, 200, None]
    assert as_known_at(back, 250).expired_reason == "superseded"


def test_an_earlier_expiry_is_not_forgotten_by_a_later_one() -> None:
    over = expired(written(), 200, 80)
    replaced = remembering(over, replace(over, expired_ms=300, expired_reason="updated"), 300)
    assert [as_known_at(replaced, ms).expired_ms for ms in (199, 200, 300)] == [None, 200, 300]


def test_a_bound_a_start_and_words() -> None:
    bounded = remembering(written(), replace(written(), invalid_ms=90), 200)
    dated = remembering(bounded, replace(bounded, valid_ms=10), 300)
    worded = remembering(dated, replace(dated, fact="worked there"), 400)
    told = [(as_known_at(worded, ms)) for ms in (150, 250, 350, 450)]
    assert [each.invalid_ms for each in told] == [None, 90, 90, 90]
    assert [each.start_ms for each in told] == [50, 50, 10, 10]
    assert [each.fact for each in told] == ["works there"] * 3 + ["worked there"]


def test_what_nobody_could_read_is_no_belief() -> None:
    made = written()
    assert remembering(made, replace(made, invalid_ms=90), made.created_ms).beliefs == ()
    once = remembering(made, replace(made, invalid_ms=90), 200)
    assert remembering(once, replace(once, invalid_ms=80), 200).beliefs == once.beliefs


def test_what_is_no_part_of_a_belief_leaves_them_alone() -> None:
    made = written(valid_ms=10, beliefs=(Belief(150, None, 50),))
    assert remembering(made, replace(made, reference_ms=20, weight=0.1), 300).beliefs == made.beliefs


def test_the_oldest_beliefs_are_dropped() -> None:
    one = written()
    for ms in range(200, 200 + MOST + 9):
        one = remembering(one, replace(one, invalid_ms=ms), ms)
    assert len(one.beliefs) == MOST
    assert as_known_at(one, 0).invalid_ms == 208, "of older times the oldest kept one is told"
