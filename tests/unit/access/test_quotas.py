"""Whose quotas a call uses, and how fast a token may call."""

import pytest

from kgsvc.access.quotas import QuotaSettings, Rates, allowances
from kgsvc.access.scopes import ANYBODY, EVERY_GROUP, Principal, Right
from kgsvc.domain.errors import QuotaExceeded
from kgsvc.domain.limits import Counted

ADA = Principal("ada", {EVERY_GROUP: Right.WRITE}, "c1")
BOB = Principal("bob", {EVERY_GROUP: Right.WRITE})


def test_nothing_is_limited_by_default() -> None:
    assert allowances(QuotaSettings(), ADA, "g") == ()
    rates = Rates(QuotaSettings().token_calls_a_second)
    for _ in range(10_000):
        rates.called(ADA, 0.0)


def test_each_limit_names_its_setting_and_whom_it_counts() -> None:
    settings = QuotaSettings(token_items_a_day=5, group_bytes=7, group_model_tokens_a_day=9)
    told = {(a.name, a.subject, a.counted, a.limit) for a in allowances(settings, ADA, "g")}
    assert told == {
        ("quotas.token_items_a_day", "token c1", Counted.ITEMS, 5),
        ("quotas.group_bytes", "group g", Counted.BYTES, 7),
        ("quotas.group_model_tokens_a_day", "group g", Counted.MODEL_TOKENS, 9),
    }
    assert [a.subject for a in allowances(settings, BOB, "g")][-1] == "token bob"
    assert {a.subject for a in allowances(settings, ANYBODY, "g")} == {"group g"}


def test_tokens_that_are_set_aside_grow_with_the_body() -> None:
    settings = QuotaSettings(reserved_tokens=100)
    assert [settings.tokens_for(body) for body in ("", "x" * 50)] == [100, 125]


def test_calls_of_one_second_may_come_at_once_and_then_at_the_rate() -> None:
    rates = Rates(4.0)
    for _ in range(4):
        rates.called(ADA, 10.0)
    with pytest.raises(QuotaExceeded) as caught:
        rates.called(ADA, 10.0)
    assert (caught.value.limit, caught.value.retry_after_ms) == ("quotas.token_calls_a_second", 250)
    rates.called(BOB, 10.0)
    with pytest.raises(QuotaExceeded):
        rates.called(ADA, 10.24)
    rates.called(ADA, 10.25)
    with pytest.raises(QuotaExceeded):
        rates.called(ADA, 10.26)


@pytest.mark.parametrize("a_second", [0.1, 0.5, 3.0, 20.0])
def test_ten_times_the_rate_gets_the_rate(a_second: float) -> None:
    rates, let_in, seconds = Rates(a_second), 0, 100
    for turn in range(int(seconds * a_second * 10)):
        try:
            rates.called(ADA, turn / (a_second * 10))
        except QuotaExceeded:
            continue
        let_in += 1
    assert abs(let_in - seconds * a_second) <= max(1.0, a_second)


def test_tokens_that_were_quiet_longest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsvc.access.quotas._TOKENS", 2)
    rates = Rates(1.0)
    for name in ("a", "b", "c"):
        rates.called(Principal(name, {}), 0.0)
    rates.called(Principal("a", {}), 0.0)
    with pytest.raises(QuotaExceeded):
        rates.called(Principal("c", {}), 0.0)
