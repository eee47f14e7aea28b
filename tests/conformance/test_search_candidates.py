"""ColdSearchStore: searching the facts of a group without an index of it in memory."""

from array import array
from dataclasses import replace
from math import sqrt
from typing import Any

from kgsvc.domain.model.graph import Fact, keyword_text
from kgsvc.domain.text import tokens
from kgsvc.stores.search_protocol import FactCandidate, FactCandidates, FactsAsked
from tests.support.samples import NOW, Scratch, fact, present, tombstone

_SPACE = "conformance:4"
_LATER = NOW + 1000  # when the checks ask


async def test_every_fact_counts_in_the_numbers(g: Scratch) -> None:
    """Facts, their length and how many hold a term describe all facts, those expired and to come too."""
    ada, bob = await g.pair()
    made = (
        fact("f1", ada, bob, "red tea and red wine"),
        fact("f2", ada, bob, "green tea", expired_ms=NOW + 1, expired_reason="retracted"),
        fact("f3", bob, ada, "white wine", valid_ms=_LATER + 1),
        fact("f4", bob, ada, "東京で会う", keywords=("Tea time",), qualifiers={"place": "Kyoto"}),
    )
    await g.write(facts=made)
    found = await _found(g, "red tea wine kyoto absent")
    assert found.facts == 4
    assert found.total_length == sum(len(_terms(each)) for each in made)
    assert _held(found) == {"red": 1, "tea": 3, "wine": 2, "kyoto": 1}
    by_uuid = {each.uuid: each for each in found.keyword}
    assert sorted(by_uuid) == ["f1", "f4"]
    assert _counts(by_uuid["f1"]) == {"red": 2, "tea": 1, "wine": 1}
    assert _counts(by_uuid["f4"]) == {"tea": 1, "kyoto": 1}
    for each in found.keyword:
        assert each.length == len(_terms(each.show()))
    assert _shown(by_uuid["f4"].show()) == _shown(made[3])


async def test_what_is_rewritten_counts_once(g: Scratch) -> None:
    """A fact written again counts as it is now, one that is removed no more."""
    ada, bob = await g.pair()
    first, second = fact("f1", ada, bob, "red tea"), fact("f2", ada, bob, "red wine")
    await g.write(facts=(first, second))
    await g.write(facts=(replace(first, fact="green tea tea"),))
    found = await _found(g, "red tea green")
    assert (found.facts, _held(found)) == (2, {"red": 1, "tea": 1, "green": 1})
    assert found.total_length == len(_terms(second)) + len(_terms(replace(first, fact="green tea tea")))
    await g.write(remove_facts=(tombstone(second),))
    found = await _found(g, "red tea green")
    assert (found.facts, _held(found)) == (1, {"tea": 1, "green": 1})
    assert _uuids(found.keyword) == ["f1"]
    assert _counts(found.keyword[0]) == {"tea": 2, "green": 1}


async def test_only_visible_facts_are_candidates(g: Scratch) -> None:
    """What is not yet or no more valid at the time asked, or expired, is in neither list."""
    ada, bob = await g.pair()
    texts: dict[str, dict[str, Any]] = {
        "now": {"valid_ms": _LATER},
        "ending": {"invalid_ms": _LATER + 1},
        "ended": {"invalid_ms": _LATER},
        "coming": {"valid_ms": _LATER + 1},
        "expired": {"expired_ms": NOW + 1, "expired_reason": "superseded"},
        "told": {},
        "told-later": {"reference_ms": _LATER + 1},
    }
    made = tuple(fact(uuid, ada, bob, f"tea of {uuid}", **more) for uuid, more in texts.items())
    vectors = {each.uuid: _vector(1, n / 100) for n, each in enumerate(made)}
    await g.write(facts=made, vectors=vectors, space=_SPACE)
    found = await _found(g, "tea", _vector(1, 0))
    assert _uuids(found.keyword) == ["ending", "now", "told"]
    assert _uuids(found.semantic) == ["ending", "now", "told"]


async def test_facts_come_with_their_vectors(g: Scratch) -> None:
    """Vectors of the space asked come as they were written; others make no candidates."""
    ada, bob = await g.pair()
    made = [fact(f"f{n}", ada, bob, "tea") for n in range(5)]
    near, far, away = _vector(1, 0.1), _vector(1, 1), _vector(-1, 0)
    await g.write(facts=tuple(made), vectors={"f0": near, "f1": far, "f2": away}, space=_SPACE)
    await g.write(vectors={"f3": _vector(1, 0)}, space="conformance:other")
    found = await _found(g, "tea", _vector(1, 0), min_cosine=0.1)
    cosines = {each.uuid: _cosine(each, _vector(1, 0)) for each in found.semantic if each.uuid != "f2"}
    assert cosines == {"f0": 0.99504, "f1": 0.70711}
    assert _uuids(found.keyword) == [f"f{n}" for n in range(5)]
    found = await _found(g, "tea", _vector(1, 0), all_vectors=True)
    of_keyword = {each.uuid: each.vector for each in found.keyword}
    assert of_keyword == {"f0": near, "f1": far, "f2": away, "f3": None, "f4": None}
    await g.write(vectors={"f0": away}, space=_SPACE)
    found = await _found(g, "", _vector(-1, 0), min_cosine=0.9)
    assert _uuids(found.semantic) == ["f0", "f2"]
    assert found.keyword == ()


async def test_a_lone_character_matches_by_prefix(g: Scratch) -> None:
    """A prefix counts every term that begins with it; the same character as a term only itself."""
    ada, bob = await g.pair()
    made = tuple(
        fact(f"f{n}", ada, bob, text)
        for n, text in enumerate(("東京と東北", "東", "関東", "北東京", "Tokyo"))
    )
    await g.write(facts=made)
    found = await _found(g, "", prefixes=("東",))
    counts = {each.uuid: _counts(each) for each in found.keyword}
    assert counts == {"f0": {"東": 2}, "f1": {"東": 1}, "f2": {"東": 1}, "f3": {"東": 1}}
    assert _held(found) == {"東": 4}
    assert _uuids((await _found(g, "東")).keyword) == ["f1", "f2"]


async def test_a_renamed_end_is_found_by_its_new_name(g: Scratch) -> None:
    """Facts are found by the names that their ends have now."""
    ada, bob = await g.pair()
    made = (fact("f1", ada, bob, "tea"), fact("f2", bob, ada, "wine"), fact("f3", bob, bob, "water"))
    await g.write(facts=made)
    await g.write(entities=(replace(ada, name="Zoe Zoe"),))
    found = await _found(g, "zoe")
    assert [_counts(each) for each in found.keyword] == [{"zoe": 2}] * 2
    assert _uuids(found.keyword) == ["f1", "f2"]
    assert [each.length for each in found.keyword] == [len(_terms(each.show())) for each in found.keyword]
    assert (await _found(g, "ada")).keyword == ()


async def test_expired_facts_do_not_crowd_out_the_others(g: Scratch) -> None:
    """With nearly all facts expired, and those the better matches, the visible ones are found."""
    ada, bob = await g.pair()
    gone: dict[str, Any] = {"expired_ms": NOW + 1, "expired_reason": "superseded"}
    old = tuple(fact(f"x{n}", ada, bob, f"tea tea tea {n}", **gone) for n in range(400))
    live = tuple(fact(f"f{n}", ada, bob, f"tea at a long table {n}") for n in range(8))
    vectors = {each.uuid: _vector(1, n / 10_000) for n, each in enumerate(old)}
    vectors |= {each.uuid: _vector(1, 1 + n / 10) for n, each in enumerate(live)}
    await g.write(facts=old + live, vectors=vectors, space=_SPACE)
    found = await _found(g, "tea", _vector(1, 0), count=8)
    wanted = sorted(each.uuid for each in live)
    assert _uuids(found.keyword) == wanted
    assert _uuids(found.semantic) == wanted
    assert _held(found) == {"tea": 408}
    again = replace(live[0], **gone)
    await g.write(facts=(again, replace(old[0], expired_ms=None, expired_reason=None)))
    found = await _found(g, "tea", _vector(1, 0))
    wanted = sorted({*wanted, "x0"} - {"f0"})
    assert _uuids(found.keyword) == wanted
    assert _uuids(found.semantic) == wanted


async def test_the_best_are_among_the_candidates(g: Scratch) -> None:
    """Of more facts than are wanted the best matches and the nearest come."""
    ada, bob = await g.pair()
    made = tuple(fact(f"f{n:03}", ada, bob, "tea" + " word" * (n % 50)) for n in range(300))
    rare = tuple(fact(f"r{n}", ada, bob, "tea saffron" + " word" * n) for n in range(5))
    vectors = {each.uuid: _vector(1, 0.5 + n / 300) for n, each in enumerate(made)}
    vectors |= {each.uuid: _vector(1, n / 100) for n, each in enumerate(rare)}
    await g.write(facts=made + rare, vectors=vectors, space=_SPACE)
    found = await _found(g, "tea saffron", _vector(1, 0), count=20)
    best = {each.uuid for each in rare}
    assert best <= set(_uuids(found.keyword))
    assert best <= set(_uuids(found.semantic))
    assert len(found.keyword) >= 20
    assert len(found.semantic) >= 20


async def test_a_caller_finds_what_was_committed(g: Scratch) -> None:
    """Every commit is seen by the next search, which tells its revision."""
    ada, bob = await g.pair()
    for n in range(10):
        made = fact(f"f{n}", ada, bob, "tea")
        head = await g.write(facts=(made,), vectors={made.uuid: _vector(1, n)}, space=_SPACE)
        found = await _found(g, "tea", _vector(1, n))
        assert found.head == head
        wanted = [f"f{m}" for m in range(n + 1)]
        assert (_uuids(found.keyword), _uuids(found.semantic)) == (wanted, wanted)


async def test_other_groups_change_nothing(g: Scratch) -> None:
    """What another group says and holds does not move a group's answer."""
    other = g.sibling()
    ada, bob = await g.pair()
    await g.write(
        facts=(fact("f1", ada, bob, "red tea"), fact("f2", ada, bob, "wine")),
        vectors={"f1": _vector(1, 0), "f2": _vector(1, 1)},
        space=_SPACE,
    )
    before = await _found(g, "red wine", _vector(1, 0))
    cat, dan = await other.pair()
    theirs = tuple(fact(f"t{n}", cat, dan, "red red wine wine") for n in range(50))
    await other.write(facts=theirs, vectors={t.uuid: _vector(1, 0) for t in theirs}, space=_SPACE)
    assert _plain(await _found(g, "red wine", _vector(1, 0))) == _plain(before)
    await g.store.delete_group(other.id, NOW + 9)
    assert _plain(await _found(g, "red wine", _vector(1, 0))) == _plain(before)


async def test_a_deleted_group_is_searched_anew(g: Scratch) -> None:
    """Nothing of a deleted group is found or counted, and what comes after is."""
    ada, bob = await g.pair()
    await g.write(facts=(fact("f1", ada, bob, "tea"),), vectors={"f1": _vector(1, 0)}, space=_SPACE)
    await g.store.delete_group(g.id, NOW + 9)
    found = await _found(g, "tea", _vector(1, 0))
    assert (found.facts, found.total_length, _held(found)) == (0, 0, {})
    assert (found.keyword, found.semantic) == ((), ())
    made = fact("f2", ada, bob, "tea")
    again = g.delta(entities=(ada, bob), facts=(made,), vectors={"f2": _vector(1, 1)}, space=_SPACE)
    await g.store.apply(again, await g.guard())
    found = await _found(g, "tea", _vector(1, 0))
    assert (found.facts, _held(found)) == (1, {"tea": 1})
    assert (_uuids(found.keyword), _uuids(found.semantic)) == (["f2"], ["f2"])


async def test_an_unknown_group_is_none(g: Scratch) -> None:
    """A group that was never written to has no answer."""
    asked = FactsAsked(("tea",), (), _vector(1, 0), _SPACE, _LATER, 10)
    assert await g.store.search_candidates(f"{g.id}-unknown", asked) is None


async def test_any_text_is_data(g: Scratch) -> None:
    """Words that would be syntax to an engine are words; the longest query is answered."""
    ada, bob = await g.pair()
    odd = ('say "tea" AND NOT (wine) OR x:y* ~2 ^3 [a TO b] \\ / + - && ||', "it's wine\u0000tea", "😀 tea")
    await g.write(facts=tuple(fact(f"f{n}", ada, bob, text) for n, text in enumerate(odd)))
    more = (f"word{n}" for n in range(220))
    terms = (*dict.fromkeys(tokens(" ".join(odd))), *more, "AND", '"', "f:*", "\\")
    asked = FactsAsked(terms[:256], (), None, "", _LATER, 200)
    assert _uuids(present(await g.store.search_candidates(g.id, asked)).keyword) == ["f0", "f1", "f2"]


async def _found(
    g: Scratch,
    query: str,
    vector: bytes | None = None,
    *,
    prefixes: tuple[str, ...] = (),
    count: int = 200,
    **more: Any,
) -> FactCandidates:
    terms = tuple(dict.fromkeys(tokens(query)))
    asked = FactsAsked(terms, prefixes, vector, _SPACE, _LATER, count, **more)
    return present(await g.store.search_candidates(g.id, asked))


def _vector(*values: float) -> bytes:
    """Four numbers of unit length."""
    norm = sqrt(sum(value * value for value in values))
    return array("f", [*(value / norm for value in values), *([0.0] * (4 - len(values)))]).tobytes()


def _cosine(candidate: FactCandidate, query: bytes) -> float:
    """As the store says, or by the vector; to 5 digits."""
    if candidate.cosine is not None:
        return round(candidate.cosine, 5)
    ours, asked = array("f", candidate.vector or b""), array("f", query)
    return round(sum(a * b for a, b in zip(ours, asked, strict=True)), 5)


def _terms(one: Fact) -> list[str]:
    return tokens(keyword_text(one))


def _uuids(candidates: tuple[FactCandidate, ...]) -> list[str]:
    return sorted(each.uuid for each in candidates)


def _counts(candidate: FactCandidate) -> dict[str, int]:
    return {text: count for text, count in candidate.counts.items() if count}


def _held(found: FactCandidates) -> dict[str, int]:
    return {text: count for text, count in found.frequencies.items() if count}


def _shown(one: Fact) -> Fact:
    return replace(one, slot="", fact_key="", evidence=(), closures=())


def _plain(found: FactCandidates) -> tuple[object, ...]:
    """All of an answer, its lists in one order."""
    lists = (
        sorted((each.uuid, _counts(each), each.length, each.vector) for each in found.keyword),
        sorted((each.uuid, each.vector, each.cosine) for each in found.semantic),
    )
    return (found.head, found.facts, found.total_length, _held(found), *lists)
