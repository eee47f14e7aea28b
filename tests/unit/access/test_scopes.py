"""Which groups a pattern reaches, and what a caller may."""

import re

import pytest

from kgsvc.access.scopes import Caller, Principal, Right, covers, scopes_of, spans
from kgsvc.api.access import RIGHTS, address_of
from kgsvc.domain.errors import PermissionDenied
from tests.support.contract import METHODS
from tests.support.documents import REPOSITORY


@pytest.mark.parametrize(
    ("pattern", "group", "reached"),
    [
        ("acme", "acme", True),
        ("acme", "acme2", False),
        ("acme", "acme/team", False),
        ("acme/", "acme/team", True),
        ("acme/", "acme/", True),
        ("acme/", "acme", False),
        ("acme/", "acme2/team", False),
        ("acme/", "Acme/team", False),
        ("acme/", "x/acme/team", False),
        ("acme:", "acme:team", True),
        ("acme:", "acme/team", False),
        ("acm", "acme", False),
        ("acme.", "acme.team", False),
        ("acme*", "acme2", False),
        ("acme/*", "acme/team", False),
        ("*", "anything", True),
        ("*", "", True),
        ("/", "/root", True),
        ("caf\u00e9/", "cafe\u0301/x", False),
        ("acme/", "ac\u200bme/x", False),
    ],
)
def test_a_pattern_reaches_a_group(pattern: str, group: str, reached: bool) -> None:
    assert covers(pattern, group) is reached


def test_the_highest_right_that_reaches_a_group_holds() -> None:
    somebody = Principal("s", {"acme/": Right.READ, "acme/own": Right.ADMIN, "acme/own/": Right.WRITE})
    found = {group: somebody.right_in(group) for group in ("acme/x", "acme/own", "acme/own/x", "other")}
    assert found == {"acme/x": Right.READ, "acme/own": Right.ADMIN, "acme/own/x": Right.WRITE, "other": 0}


def test_a_caller_needs_the_right_in_every_group() -> None:
    writer = Caller(Principal("w", {"a": Right.WRITE, "b": Right.READ}), Right.WRITE)
    writer.require(["a", "a"])
    writer.require_somewhere()
    assert [writer.sees(group) for group in "abc"] == [True, True, False]
    with pytest.raises(PermissionDenied) as caught:
        writer.require(["a", "b"])
    assert "b" not in str(caught.value).split(), "it does not say which group"
    with pytest.raises(PermissionDenied):
        Caller(Principal("w", {"a": Right.WRITE}), Right.ADMIN).require_somewhere()
    with pytest.raises(PermissionDenied):
        Caller(Principal("nobody", {})).require_somewhere()


@pytest.mark.parametrize(
    "given",
    [{"acme/": "write", "shared": "read"}, ["write:acme/", "read:shared"], "write:acme/ read:shared"],
)
def test_scopes_as_they_may_be_written(given: object) -> None:
    assert scopes_of(given) == {"acme/": Right.WRITE, "shared": Right.READ}
    assert scopes_of("read:a:b: admin:a:b:") == {"a:b:": Right.ADMIN}


@pytest.mark.parametrize(
    "given", [None, 1, {"a": "owner"}, {"": "read"}, ["read"], ["a"], {"a": 1}, {"a": ["read"]}, "read"]
)
def test_what_no_scopes_are(given: object) -> None:
    with pytest.raises(ValueError, match=r"right|scope"):
        scopes_of(given)


def test_every_rpc_of_the_contract_says_which_right_it_needs() -> None:
    assert RIGHTS.keys() == METHODS.keys()


def test_the_page_names_the_right_of_every_rpc() -> None:
    text = (REPOSITORY / "docs" / "security.md").read_text()
    for right in Right:
        row = re.search(rf"^\| `{right.name.lower()}` \| (.+) \|$", text, re.MULTILINE)
        assert row is not None
        assert set(re.findall(r"[A-Z]\w+", row[1])) == {
            name for name, need in RIGHTS.items() if need is right
        }


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.0.0.1:4711", "10.0.0.1"),
        ("ipv6:%5B::1%5D:4711", "::/64"),
        ("ipv6:[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"),
        ("ipv6:%5Bfe80::1%25eth0%5D:1", "fe80::/64"),
        ("unix:/run/kgsvc.sock", "/run/kgsvc.sock"),
        ("", ""),
    ],
)
def test_the_address_of_a_peer(peer: str, address: str) -> None:
    assert address_of(peer) == address


@pytest.mark.parametrize(
    "patterns",
    [
        ["*"],
        ["*", "acme/", "b"],
        ["acme"],
        ["acme/", "acme/a", "acme", "acme:"],
        ["b:", "a/", "a/b/", "a/b/c"],
        [],
    ],
)
def test_spans_hold_the_groups_that_patterns_reach_each_once_and_in_order(patterns: list[str]) -> None:
    names = sorted(
        [
            "a/",
            "a/b",
            "a/b/",
            "a/b/c",
            "a0",
            "acme",
            "acme/",
            "acme/a",
            "acme/\U0010fffd",
            "acme0",
            "acme:x",
            "b",
            "b:",
        ]
    )
    found = spans(dict.fromkeys(patterns, Right.READ))
    reached = [name for first, end in found for name in names if first <= name < end]
    assert reached == [name for name in names if any(covers(pattern, name) for pattern in patterns)]
