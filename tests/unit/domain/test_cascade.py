"""What the graph is without one episode."""

from dataclasses import replace

from kgsvc.domain.facts.amendments import Without, withdrawn, without_episode
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.facts.slots import refolded
from kgsvc.domain.model.delta import SlotView
from kgsvc.domain.model.graph import Closure, Entity, Evidence, Fact, FactKind
from kgsvc.domain.model.keys import slot_of
from kgsvc.domain.names.forgetting import removable, without_words

NOW = 1_000
LATER = [(2, "e2", "Ann runs Acme"), (3, "e3", "Ann heads Acme")]


def fact(uuid: str, text: str, *told: tuple[int, str], relation: str = "WORKS_AT", **fields: object) -> Fact:
    """A row that episodes state at times."""
    evidence = tuple(Evidence(at, at, episode) for at, episode in told)
    slot = slot_of(FactKind.STATE, "a", relation, "b", {})
    made = Fact(
        uuid, "g", relation, text, "a", "b", "Ann", "Acme", NOW, told[0][0], slot, "",
        episodes=tuple(episode for _, episode in told), evidence=evidence,
    )  # fmt: skip
    return replace(made, **fields)  # type: ignore[arg-type]


def folded(*facts: Fact) -> list[Fact]:
    """The rows as they are stored."""
    rows = {each.uuid: each for each in facts}
    return list((rows | refolded("g", facts, SlotView(), NOW)).values())


def after(before: list[Fact], episode: str = "bad") -> tuple[dict[str, Fact], Without]:
    """The rows without the episode."""
    done = without_episode(SlotView(tuple(before)), episode, NOW + 1)
    rows = {each.uuid: each for each in before} | {each.uuid: each for each in done.facts}
    return {u: f for u, f in rows.items() if u not in {stone.uuid for stone in done.removed}}, done


def test_what_it_alone_ended_is_current_again() -> None:
    before = folded(fact("old", "Ann works at Acme", (1, "e1")), fact("lie", "Ann left", (5, "bad")))
    assert {each.uuid: each.expired_reason for each in before} == {"old": "superseded", "lie": None}
    rows, done = after(before)
    assert list(rows) == ["old"]
    old = rows["old"]
    assert (old.expired_ms, old.invalid_ms, old.expired_by_fact, old.expired_by_episode) == (None,) * 4
    assert (done.restored, [stone.uuid for stone in done.removed]) == (1, ["lie"])


def test_what_others_say_too_stays_without_it() -> None:
    before = folded(
        fact("old", "Ann works at Acme", (1, "e1")), fact("new", "Ann leads Acme", (5, "bad"), (7, "e2"))
    )
    rows, done = after(before)
    assert (rows["old"].expired_by_fact, rows["old"].expired_by_episode) == ("new", "e2")
    assert (rows["old"].invalid_ms, rows["new"].start_ms, rows["new"].episodes) == (7, 7, ("e2",))
    assert (done.restored, done.removed) == (0, ())


def test_what_others_said_in_other_words_is_told_in_theirs() -> None:
    before = fact("f", "Ann OWNS everyone", (1, "bad"), keywords=("owns",), attributes={"how": "wholly"})
    later = [Evidence(at, at, episode, said=words) for at, episode, words in LATER]
    before = replace(before, episodes=("bad", "e2", "e3"), evidence=(*before.evidence, *later))
    rows, done = after([before])
    (left,) = rows.values()
    assert (left.fact, left.keywords, left.attributes) == ("Ann runs Acme", (), {})
    assert [e.said for e in left.evidence] == ["", "Ann heads Acme"]
    assert (left.episodes, done.reworded) == (("e2", "e3"), {"f": "Ann runs Acme"})


def test_words_that_another_used_too_stay() -> None:
    before = fact("f", "Ann runs Acme", (1, "bad"), (3, "e3"))
    told = Evidence(2, 2, "e2", said="Ann heads Acme")
    before = replace(before, episodes=("bad", "e2", "e3"), evidence=tuple(sorted((*before.evidence, told))))
    rows, done = after([before])
    assert (rows["f"].fact, done.reworded) == ("Ann runs Acme", {})


def test_a_tombstone_keeps_nobody_from_saying_it() -> None:
    (stone,) = after(folded(fact("lie", "Ann left", (5, "bad"))))[1].removed
    assert stone.fact == ""


def test_a_closure_of_another_slot_goes_with_it() -> None:
    closed = fact("old", "Ann works at Acme", (1, "e1"), closures=(Closure(5, 5, "lie", "bad"),))
    before = folded(closed, fact("lie", "Ann quit Acme", (5, "bad"), relation="QUIT"))
    assert before[0].expired_by_fact == "lie"
    rows, done = after(before)
    assert (rows["old"].closures, rows["old"].expired_ms, done.restored) == ((), None, 1)


def test_a_closure_stays_where_others_tell_what_closed() -> None:
    closed = fact("old", "Ann works at Acme", (1, "e1"), closures=(Closure(5, 5, "quit", "bad"),))
    before = folded(closed, fact("quit", "Ann quit Acme", (5, "bad"), (9, "e2"), relation="QUIT"))
    rows, done = after(before)
    assert rows["old"].closures == (Closure(9, 9, "quit", "e2"),)
    assert (rows["old"].invalid_ms, rows["old"].expired_by_episode, done.restored) == (9, "e2", 0)


def test_a_start_moves_back_with_what_moved_it() -> None:
    moves = Closure(50, 2, "job", "bad", moves=True)
    boss = fact("boss", "Bo will be Ann's boss", (1, "e1"), relation="REPORTS_TO", closures=(moves,))
    told = replace(boss.evidence[0], start_ms=9, stated_valid_ms=9)
    boss = replace(boss, evidence=(told,), valid_ms=50, reference_ms=1)
    before = folded(boss, fact("job", "Ann joins Acme later", (50, "bad")))
    assert next(each for each in before if each.uuid == "boss").start_ms == 50
    rows, _ = after(before)
    assert (rows["boss"].start_ms, rows["boss"].closures) == (9, ())


def test_rows_that_a_caller_replaced_go_or_stay_with_their_episodes() -> None:
    gone = fact("a1", "Ann works", (1, "bad"), expired_ms=NOW, expired_reason="updated", expired_by_fact="a2")
    kept = fact("b1", "x", (1, "bad"), (2, "e2"), relation="R", expired_ms=NOW, expired_reason="updated")
    before = folded(gone, fact("a2", "Ann leads", (1, "bad"), asserted=True), kept)
    rows, _ = after(before)
    assert {uuid: each.episodes for uuid, each in rows.items()} == {"b1": ("e2",)}
    assert rows["b1"].expired_reason == "updated"


def test_an_episode_without_traces_changes_nothing() -> None:
    before = folded(fact("f", "Ann works at Acme", (1, "e1")))
    assert after(before)[1] == Without((), (), 0)
    assert without_episode(SlotView(), "bad", NOW) == Without((), (), 0)


def test_attributes_and_summary_that_it_gave_go() -> None:
    stamps = {"name": "1/bad", "summary": "1/bad", "a.age": "1/bad", "a.city": "2/e2"}
    ann = Entity("a", "g", "Ann", 1, "a liar", {"age": 3, "city": "Oslo"}, stamps=stamps)
    left = without_words(ann, "bad", NOW)
    assert (left.summary, left.attributes, left.updated_ms) == ("", {"city": "Oslo"}, NOW)
    assert left.stamps == {"name": "1/bad", "a.city": "2/e2"}
    assert without_words(ann, "e3", NOW) is ann


def test_entities_of_callers_stay() -> None:
    found, asserted = (Entity(u, "g", u, 1, stamps={"name": s}) for u, s in (("x", "1/e"), ("y", "")))
    assert removable([found, asserted, Entity("z", "g", "z", 1)]) == [found]


def revised(
    before: list[Fact], chunk: str = "bad", heirs: tuple[str, ...] = ("new",)
) -> tuple[dict[str, Fact], Without]:
    """The rows once the chunk's document has a text without it."""
    done = withdrawn(SlotView(tuple(before)), chunk, heirs, NOW + 1)
    return {each.uuid: each for each in before} | {each.uuid: each for each in done.facts}, done


def test_what_a_withdrawn_chunk_alone_stated_expires_and_stays() -> None:
    rows, done = revised(folded(fact("f", "Ann works at Acme", (1, "bad"))))
    assert (rows["f"].expired_ms, rows["f"].expired_reason) == (NOW + 1, "withdrawn")
    assert (rows["f"].episodes, done.removed) == (("bad",), ())
    assert as_known_at(rows["f"], NOW).expired_ms is None


def test_what_a_withdrawn_chunk_alone_ended_is_current_again() -> None:
    rows, done = revised(
        folded(fact("old", "Ann works at Acme", (1, "e1")), fact("lie", "Ann left", (5, "bad")))
    )
    assert (rows["old"].expired_ms, rows["lie"].expired_reason, done.restored) == (None, "withdrawn", 1)


def test_what_had_ended_before_stays_as_it_was() -> None:
    before = folded(fact("old", "Ann works at Acme", (1, "bad")), fact("now", "Ann left", (5, "e1")))
    rows, done = revised(before)
    assert rows == {each.uuid: each for each in before}
    assert done == Without((), (), 0)


def test_a_chunk_of_the_present_text_takes_over_with_the_time() -> None:
    rows, _ = revised(folded(fact("f", "Ann works at Acme", (1, "bad"), (7, "new"))))
    assert (rows["f"].episodes, rows["f"].start_ms, rows["f"].expired_ms) == (("new",), 1, None)


def test_what_an_episode_says_too_is_told_from_then_on_alone() -> None:
    rows, _ = revised(folded(fact("f", "Ann works at Acme", (1, "bad"), (7, "e1"))))
    assert (rows["f"].episodes, rows["f"].start_ms, rows["f"].expired_ms) == (("e1",), 7, None)


def test_without_slots_nothing_is_withdrawn() -> None:
    assert withdrawn(SlotView(), "bad", (), NOW) == Without((), (), 0)
