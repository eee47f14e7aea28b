"""Facts and the episodes that tell them, in both directions."""

from typing import cast

from kgsvc.search.index.arrays import Arrays
from kgsvc.search.index.links import NameLinks


def test_both_directions() -> None:
    links = NameLinks()
    links.put(7, ["b", "a"])
    links.put(3, ["a"])
    assert links.of_rows((7, 3, 5)) == [("b", "a"), ("a",), ()]
    assert [links.rows_of(uuid) for uuid in ("a", "b", "c")] == [[3, 7], [7], []]


def test_rows_are_written_again_and_freed() -> None:
    links = NameLinks()
    links.put(1, ["a", "b"])
    links.put(1, ["b"])
    assert (links.rows_of("a"), links.rows_of("b")) == ([], [1])
    links.clear(1)
    links.clear(1)
    assert (links.of_rows([1]), links.rows_of("b"), links.nbytes) == ([()], [], 0)


def test_an_episode_named_twice_tells_once() -> None:
    links = NameLinks()
    links.put(1, ["a", "b", "a"])
    assert links.of_rows([1]) == [("a", "b")]
    links.clear(1)
    assert links.rows_of("a") == []


def test_what_was_frozen_is_the_same_and_goes_on_changing() -> None:
    links = NameLinks()
    links.put(0, ["a", "b"])
    links.put(1, ["b"])
    for row, names in ((3, ["c"]), (4, ["a", "d"]), (2, []), (3, ["b"])):
        frozen = links.freeze()()
        read = NameLinks()
        read.take(cast(Arrays, frozen))
        rows = range(6)
        assert read.of_rows(rows) == links.of_rows(rows)
        for name in "abcd":
            assert read.rows_of(name) == links.rows_of(name)
            assert read.count_of(name) == len(links.rows_of(name))
        links = read
        links.put(row, names)
        links.put(row + 1, ["x"])
        links.clear(row + 1)
    assert links.of_rows(range(6)) == [("a", "b"), ("b",), (), ("b",), (), ()]
