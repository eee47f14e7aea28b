"""Which new names are asked about together: the same as comparing each with each, at less cost."""

import random

import pytest

from kgsvc.domain.model.extraction import ExtractedNode, Extraction
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.domain.model.keys import name_key
from kgsvc.domain.names import similarity
from kgsvc.domain.names.meanings import BatchItem
from kgsvc.domain.resolution import questions
from kgsvc.domain.resolution.decisions import NameCandidates, NameDecision
from kgsvc.domain.resolution.full_names import Compared, keeping
from kgsvc.domain.resolution.questions import (
    CANDIDATES,
    PEER_BYTES,
    NewName,
    peers,
    share,
)

WORDS = ("Bob", "Robert", "Smith", "Liz", "Elizabeth", "Acme", "North Sea Company", "NSC", "Oslo", "Hotel")


def new_names(*names: str) -> list[NewName]:
    nodes = [ExtractedNode(name, name) for name in names]
    episode = Episode("e", "g", "body", Source.TEXT, 1, 0)
    item = BatchItem(episode, Extraction(tuple(nodes)), 1)
    return [NewName(name_key(node.name), node.name, node, item) for node in nodes]


def some(count: int) -> list[NewName]:
    rng = random.Random(count)
    return new_names(*{" ".join(rng.sample(WORDS, rng.randint(1, 3))): None for _ in range(count)})


def test_peers_are_those_said_before_that_share_a_token() -> None:
    names = some(60)
    for n, new in enumerate(names):
        sharing = [other.key for other in names[:n] if share(new.name, other.name)]
        assert peers(names)[new.key] == sharing
    assert any(len(found) > CANDIDATES for found in peers(names).values())


def test_peers_are_bounded_by_bytes() -> None:
    names = new_names(*(f"Hotel {n:03}" for n in range(120)), "Hotel end")
    first = [new.key for new in names[: PEER_BYTES // len("hotel 000")]]
    assert peers(names)["hotel end"] == first


def test_near_ones_are_among_them_if_they_were_said_before() -> None:
    names = new_names("Lisbon", "Lisboa", "Porto")
    near = {"lisbon": ("lisboa",), "lisboa": ("lisbon",)}
    assert peers(names, near) == {"lisbon": [], "lisboa": ["lisbon"], "porto": []}


def test_a_full_name_goes_where_a_name_that_it_was_not_compared_with_shares_a_token() -> None:
    names = some(40)
    first, second, *others = [new.key for new in names]
    for full in (*WORDS, "Robert Elizabeth", "Rome"):
        decided = {first: NameDecision("Somebody", None, full), second: NameDecision("Rome", None, full)}
        fits = any(share(full, new.name) for new in names if new.key not in (first, others[0]))
        compared = Compared({}, {first: [others[0]]})
        after = keeping(decided, {first: full}, names, compared, NameCandidates())
        assert after == decided | {first: NameDecision("Somebody", None, "" if fits else full)}


def test_names_are_taken_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    original = similarity.name_tokens

    def counted(name: str) -> frozenset[str]:
        nonlocal count
        count += 1
        return original(name)

    monkeypatch.setattr(questions, "name_tokens", counted)
    names = new_names(*(f"Hotel {n}" for n in range(300)))
    assert len(peers(names)) == 300
    assert count <= 2 * 300
