"""What accepting decides where stores cannot be brought to differ; the rest is in tests/conformance."""

import pytest

from kgsvc.domain.errors import Conflict
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.items import Accepted
from kgsvc.stores.admission import Known, KnownAnswer, KnownReceipt, admit_all, check_delta
from tests.support.samples import NOW, batch, entity, episode, fact


def test_a_receipt_id_that_is_taken_is_refused() -> None:
    call = batch(episode("g", "e1"), receipt_id="r")
    for group_id in ("g", "h"):
        known = Known(0, receipts={"r": KnownReceipt(group_id, 1, NOW)})
        (outcome,), admissions = admit_all([call], known)
        assert isinstance(outcome, Conflict)
        assert (admissions, known.items, known.unfinished) == ([], {}, 0)


def test_a_store_that_repeats_a_call_finds_its_own_receipt() -> None:
    call = batch(episode("g", "e1"), receipt_id="r")
    (outcome,), _ = admit_all([call], Known(0, repeats=True, receipts={"r": KnownReceipt("g", 1, NOW)}))
    assert isinstance(outcome, Accepted)
    (refused,), _ = admit_all([call], Known(0, repeats=True, receipts={"r": KnownReceipt("h", 1, NOW)}))
    assert isinstance(refused, Conflict)


def test_a_key_of_a_graph_change_is_no_call() -> None:
    call = batch(episode("g", "e1"), idempotency_key="k", input_hash="same")
    answer = KnownAnswer("same", NOW + 1, None, ())
    (outcome,), _ = admit_all([call], Known(0, answers={("g", call.operation, "k"): answer}))
    assert isinstance(outcome, Conflict)


def test_calls_share_the_room_in_the_queue() -> None:
    calls = [batch(episode("g", f"e{n}"), queue_items=2) for n in range(3)]
    outcomes, admissions = admit_all(calls, Known(0))
    assert [type(outcome).__name__ for outcome in outcomes] == ["Accepted", "Accepted", "Overloaded"]
    assert [made.place for made in admissions] == [0, 1]


def test_names_and_facts_need_entities_that_exist() -> None:
    ada = entity("g", "n1", "Ada")
    check_delta(GraphDelta("g", NOW, entities=(ada,), names={"ada": "n1"}), (), {"ada": "n1"}, ())
    for wrong in (
        GraphDelta("g", NOW, names={"ada": "n2"}),
        GraphDelta("g", NOW, entities=(ada,), facts=(fact("f1", ada, entity("g", "n2", "Bob")),)),
    ):
        with pytest.raises(Conflict):
            check_delta(wrong, (), {}, ())
