"""Consistency tokens: what is given comes back, and nothing else is taken for one."""

import base64
from collections.abc import Iterator

import pytest

from kgsvc.domain.errors import BadToken
from kgsvc.domain.model.keys import use_key
from kgsvc.stores.consistency import TOKEN_CHARS, decoded, encoded, from_the_leader, may_lag

BOOKMARKS = frozenset({f"FB:kcwQ5t3rPmMvSTWk2U7Hq4oXjMkBKp{n:02}" for n in range(32)})


@pytest.fixture
def keys() -> Iterator[None]:
    yield
    use_key(b"")


def test_a_token_holds_the_bookmarks_in_any_order() -> None:
    assert decoded(encoded(BOOKMARKS)) == BOOKMARKS
    assert encoded(sorted(BOOKMARKS)) == encoded(sorted(BOOKMARKS, reverse=True))
    assert decoded(encoded({"strange: |,\t"})) == {"strange: |,\t"}


def test_that_of_every_connection_fits() -> None:
    assert len(encoded(BOOKMARKS)) <= TOKEN_CHARS


def test_a_token_travels_in_metadata() -> None:
    assert encoded(BOOKMARKS).isascii()
    assert not set(encoded(BOOKMARKS)) & set(' ,;"\r\n')


GOOD = encoded({"FB:kcwQ"})


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        ".",
        GOOD[:-1],
        GOOD + "A",
        GOOD.upper(),
        "0" * 16 + GOOD[16:],
        GOOD[:17] + base64.urlsafe_b64encode(b"FB:other").decode().rstrip("="),
        f"{'0' * 16}.A",
        f"{'0' * 16}._w",
        GOOD + "\n",
        GOOD + "=",
        f"{GOOD}, {GOOD}",
        "\x00" * 40,
        "ü" * 40,
    ],
)
def test_anything_else_is_refused_and_not_quoted(token: str) -> None:
    with pytest.raises(BadToken, match="no token of this service") as caught:
        decoded(token)
    assert len(token) < 4 or token not in str(caught.value)


def test_one_that_is_too_long_is_not_even_read() -> None:
    with pytest.raises(BadToken, match=f"has {TOKEN_CHARS + 1} characters, at most {TOKEN_CHARS}"):
        decoded("0" * (TOKEN_CHARS + 1))


def test_who_has_no_key_can_make_none(keys: None) -> None:
    use_key(b"k" * 32)
    own = encoded({"FB:kcwQ"})
    assert decoded(own) == {"FB:kcwQ"}
    with pytest.raises(BadToken):
        decoded(GOOD)


def test_what_must_be_the_latest_is_asked_of_the_leader() -> None:
    before = may_lag.set(True)
    try:
        with from_the_leader():
            assert not may_lag.get()
        assert may_lag.get()
    finally:
        may_lag.reset(before)
