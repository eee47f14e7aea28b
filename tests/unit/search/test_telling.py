"""Facts and the episodes that tell them, in both directions."""

from kgsvc.search.group_index import Telling


def test_both_directions() -> None:
    telling = Telling()
    telling.put(7, ["b", "a"])
    telling.put(3, ["a"])
    assert telling.told_in((7, 3, 5)) == [("b", "a"), ("a",), ()]
    assert [telling.tells(uuid) for uuid in ("a", "b", "c")] == [[3, 7], [7], []]


def test_rows_are_written_again_and_freed() -> None:
    telling = Telling()
    telling.put(1, ["a", "b"])
    telling.put(1, ["b"])
    assert (telling.tells("a"), telling.tells("b")) == ([], [1])
    telling.clear(1)
    telling.clear(1)
    assert (telling.told_in([1]), telling.tells("b"), telling.nbytes) == ([()], [], 0)


def test_an_episode_named_twice_tells_once() -> None:
    telling = Telling()
    telling.put(1, ["a", "b", "a"])
    assert telling.told_in([1]) == [("a", "b")]
    telling.clear(1)
    assert telling.tells("a") == []
