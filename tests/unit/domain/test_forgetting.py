"""Names, types and origin of an entity without one of its episodes."""

from dataclasses import replace

import pytest

from kgsvc.domain.model.graph import Entity
from kgsvc.domain.names.entities import given_names
from kgsvc.domain.names.forgetting import Saying, doubtful, forgotten

BOB = Entity(
    "n",
    "g",
    "Robert Smith",
    1,
    labels=("Person", "Villain"),
    source_episode_uuid="bad",
    stamps={"name": "01/bad", "a.x": "01/bad"},
)
OWNED = ["bob", "robert smith", "the crook"]
SAID = Saying(("Robert Smith", "The  Crook"), ("Person", "Villain"), ("Bob",), ("Person",), True, (7, "e2"))


def test_what_only_it_used_is_forgotten() -> None:
    left = forgotten(BOB, SAID, OWNED, "bad", 9)
    assert left.names == ("robert smith", "the crook")
    assert {"crook", "robert", "smith"} <= set(left.tokens)
    assert (left.entity.name, left.entity.labels) == ("Bob", ("Person",))
    assert (left.entity.source_episode_uuid, left.entity.updated_ms) == ("e2", 9)
    assert left.entity.stamps["name"].endswith("007/e2")


def test_what_others_use_stays_in_their_spelling() -> None:
    said = replace(SAID, names=("ROBERT SMITH",), other_names=("Bob", "Robert Smith", "Bob Smith"))
    left = forgotten(replace(BOB, name="ROBERT SMITH"), said, [*OWNED, "bob smith"], "bad", 9)
    assert (left.names, left.tokens, left.entity.name) == ((), (), "Robert Smith")


def test_the_fullest_name_that_is_left_is_taken() -> None:
    said = replace(SAID, other_names=("Bob", "Bobby S", "Bob Smith"))
    left = forgotten(BOB, said, ["bob", "bob smith", "bobby s", "robert smith"], "bad", 9)
    assert (left.entity.name, left.names) == ("Bob Smith", ("robert smith",))
    assert "smith" not in left.tokens


def test_names_that_a_caller_gave_stay() -> None:
    stamps = {**BOB.stamps, **given_names(["The Crook"])}
    assert doubtful(replace(BOB, stamps=stamps), SAID) == {"robert smith"}
    own = replace(BOB, stamps={**stamps, "name": ""})
    assert doubtful(own, SAID) == set()
    left = forgotten(own, SAID, OWNED, "bad", 9)
    assert (left.names, left.entity.name) == ((), "Robert Smith")


@pytest.mark.parametrize("unknown", [replace(SAID, known=False), Saying((), ())])
def test_what_may_have_been_used_stays(unknown: Saying) -> None:
    left = forgotten(BOB, unknown, OWNED, "bad", 9)
    assert (left.names, left.entity.name, left.entity.labels) == ((), BOB.name, BOB.labels)


def test_one_name_is_always_left() -> None:
    left = forgotten(BOB, Saying(SAID.names, ()), ["robert smith", "the crook"], "bad", 9)
    assert (left.entity.name, left.names) == ("Robert Smith", ("the crook",))
    assert left.entity.source_episode_uuid == ""
    assert left.entity.stamps["name"] == "01/"
