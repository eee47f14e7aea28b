"""Facts and the episodes that tell them, in both directions."""

from kgsvc.search.links import Links


def test_both_directions() -> None:
    links = Links()
    links.put(7, ["b", "a"])
    links.put(3, ["a"])
    assert links.of_rows((7, 3, 5)) == [("b", "a"), ("a",), ()]
    assert [links.rows_of(uuid) for uuid in ("a", "b", "c")] == [[3, 7], [7], []]


def test_rows_are_written_again_and_freed() -> None:
    links = Links()
    links.put(1, ["a", "b"])
    links.put(1, ["b"])
    assert (links.rows_of("a"), links.rows_of("b")) == ([], [1])
    links.clear(1)
    links.clear(1)
    assert (links.of_rows([1]), links.rows_of("b"), links.nbytes) == ([()], [], 0)


def test_an_episode_named_twice_tells_once() -> None:
    links = Links()
    links.put(1, ["a", "b", "a"])
    assert links.of_rows([1]) == [("a", "b")]
    links.clear(1)
    assert links.rows_of("a") == []
