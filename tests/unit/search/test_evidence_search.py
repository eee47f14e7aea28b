"""The default recipe over whole groups: what it takes from where, filters, and rows that move."""

from collections.abc import Iterable, Mapping, Sequence

import pytest

from bench.retrieval_shelf import Shelf
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Entity, Episode, Fact, Mention, RoleType, Source
from kgsvc.search.engine import Engine
from kgsvc.search.filters import NONE, Filters
from kgsvc.search.plans import Scope, default_plan
from kgsvc.search.ranking.belonging import FEW
from kgsvc.search.results import GraphHit, GraphQuery
from kgsvc.search.settings import SearchSettings
from tests.unit.search.feed import NOW, Stopped, engine, fact

MINUTE = 60_000
YEAR = 365 * 86_400_000


def text(uuid: str, body: str, at_ms: int = NOW - YEAR, group: str = "g") -> Episode:
    return Episode(uuid, group, body, Source.TEXT, at_ms, at_ms)


def message(uuid: str, body: str, at_ms: int) -> Episode:
    return Episode(uuid, "g", body, Source.MESSAGE, at_ms, at_ms, role_type=RoleType.USER, role="Ann")


async def graph(
    episodes: Sequence[Episode], facts: Iterable[Fact] = (), names: Mapping[str, Sequence[str]] | None = None
) -> Engine:
    """Groups of episodes, facts and, by episode, entities that are named."""
    shelf = Shelf()
    for group in {episode.group_id for episode in episodes}:
        named = [(e, name) for e, entities in (names or {}).items() for name in entities]
        delta = GraphDelta(
            group,
            NOW,
            entities=tuple(
                Entity(name, group, name, NOW, labels=("Person",)) for name in {n for _, n in named}
            ),
            facts=tuple(each for each in facts if each.group_id == group),
            mentions=tuple(Mention(f"{e}{name}", group, e, name, NOW) for e, name in named),
        )
        await shelf.put([each for each in episodes if each.group_id == group], delta, None)
    return engine(shelf, None, SearchSettings(), Stopped())


async def found(
    search: Engine,
    question: str,
    scope: Scope = Scope.EPISODES,
    filters: Filters = NONE,
    groups: tuple[str, ...] = ("g",),
    results: int = 10,
) -> list[GraphHit]:
    query = GraphQuery(groups, question, (default_plan(scope),), results, filters)
    (answer,) = await search.search(query)
    return list(answer.hits)


def uuids(hits: Iterable[GraphHit]) -> list[str]:
    return [hit.item.uuid if isinstance(hit.item, Fact) else hit.item.episode.uuid for hit in hits]  # type: ignore[union-attr]


async def test_the_second_hop_is_found_though_it_shares_no_word_with_the_question() -> None:
    episodes = [
        text("film", "The Zone was directed by Ada Park"),
        text("home", "Ada Park came from Montreal"),
    ]
    episodes += [text(f"other{n}", f"Person {n} came from Rome") for n in range(3)]
    names = {"film": ["Ada Park"], "home": ["Ada Park"], "other0": ["Rome"], "other1": ["Rome"]}
    hits = await found(await graph(episodes, names=names), "birthplace director zone")
    assert uuids(hits) == ["film", "home"]
    assert [hit.score for hit in hits] == [1.0, 0.5]
    assert hits[1].found_by == ()


async def test_an_answer_is_found_beside_its_question() -> None:
    episodes = [
        message("1", "What do you research?", NOW - 9 * MINUTE),
        message("2", "Lichens!", NOW - 8 * MINUTE),
    ]
    episodes.append(message("3", "Good night", NOW + 2 * 60 * MINUTE))
    hits = await found(await graph(episodes), "Who does research?")
    assert uuids(hits) == ["1", "2"]
    assert [hit.score for hit in hits] == [1.0, 0.3]


async def test_a_named_time_lifts_what_is_from_it() -> None:
    june, july = 1_686_000_000_000, 1_688_900_000_000
    search = await graph([text("a", "They went camping", july), text("b", "They went camping", june)])
    assert uuids(await found(search, "camping")) == ["a", "b"]
    assert uuids(await found(search, "camping in June 2023")) == ["b", "a"]


async def test_facts_follow_their_episodes_even_those_that_no_method_finds() -> None:
    episodes = [
        text("film", "The Zone was directed by Ada Park"),
        text("home", "Ada Park came from Montreal"),
    ]
    facts = [
        fact("f1", "Ada Park directed The Zone", episodes=("film",)),
        fact("f2", "Ada Park came from Montreal", episodes=("home",)),
        fact("f3", "Somebody likes tea", "g", "some", "tea", episodes=("gone",)),
    ]
    search = await graph(episodes, facts, {"film": ["Ada Park"], "home": ["Ada Park"]})
    hits = await found(search, "the zone", Scope.FACTS)
    assert uuids(hits) == ["f1", "f2"]
    assert [len(hit.found_by) for hit in hits] == [1, 0]


async def test_facts_lift_their_episodes() -> None:
    episodes = [text("a", "She did"), text("b", "She did not")]
    search = await graph(episodes, [fact("f", "Ann plays chess", episodes=("b",))])
    assert uuids(await found(search, "chess")) == ["b"]


async def test_filters_hold_whatever_leads_there() -> None:
    episodes = [text("old", "red car", NOW - 2 * YEAR), text("new", "red car", NOW - YEAR)]
    facts = [
        fact("f1", "Ann drives a red car", episodes=("old",), created_ms=NOW - 9),
        fact("f2", "Ann sold it", name="SOLD", episodes=("old",), created_ms=NOW - 9),
        fact("f3", "Ann drove a red car", episodes=("new",), expired_ms=NOW - 1, created_ms=NOW - 9),
    ]
    search = await graph(episodes, facts, {"old": ["Ann"], "new": ["Ann"]})
    before = Filters(known_at_ms=NOW - YEAR - 1)
    assert uuids(await found(search, "red car", filters=before)) == ["old"]
    assert set(uuids(await found(search, "red car", Scope.FACTS))) == {"f1", "f2"}
    assert uuids(await found(search, "red car", Scope.FACTS, Filters(relations=frozenset({"SOLD"})))) == [
        "f2"
    ]
    nobody = Filters(entity_types=frozenset({"Place"}))
    assert await found(search, "red car", Scope.FACTS, nobody) == []
    assert await found(search, "red car", Scope.EPISODES, nobody) == []


async def test_what_is_best_is_best_of_all_groups() -> None:
    episodes = [text("a", "green tea"), text("b", "green tea and green cups", group="h"), text("c", "cups")]
    hits = await found(await graph(episodes), "green tea", groups=("g", "h", "nobody"))
    assert len(hits) == 2
    assert max(hit.score for hit in hits) == 1.0
    assert min(hit.score for hit in hits) < 1.0


@pytest.mark.parametrize("scope", [Scope.FACTS, Scope.EPISODES])
async def test_nothing_fits(scope: Scope) -> None:
    search = await graph([text("a", "green tea")], [fact("f", "Ann likes tea", episodes=("a",))])
    assert await found(search, "zebra", scope) == []
    assert await found(search, "zebra", scope, groups=("nobody",)) == []


async def test_the_second_half_of_an_answer_follows_the_first() -> None:
    """Told in the same message about the same person, or about whom the first half leads to."""
    episodes = [
        text("both", "Hana's tutor is Mr Sato. She has exams in June"),
        text("far", "Sato: Kita School"),
    ]
    episodes += [text(f"other{n}", f"The tutor of class {n}") for n in range(20)]
    facts = [
        fact("f1", "Hana's tutor is Mr Sato", "g", "Hana", "Sato", episodes=("both",)),
        fact("f2", "She has exams in June", "g", "Hana", "June", episodes=("both",)),
        fact("f3", "He teaches at Kita School", "g", "Sato", "Kita", episodes=("far",)),
        fact("f4", "He likes tea", "g", "Bo", "tea", episodes=("far",)),
    ]
    facts += [
        fact(f"o{n}", f"The tutor of class {n}", "g", f"t{n}", f"c{n}", episodes=(f"other{n}",))
        for n in range(20)
    ]
    hits = await found(await graph(episodes, facts), "Who is Hana's tutor?", Scope.FACTS, results=5)
    assert uuids(hits)[0] == "f1"
    assert {"f2", "f3"} <= set(uuids(hits))
    assert "f4" not in uuids(hits)


async def test_what_many_facts_share_belongs_to_none() -> None:
    episodes = [text("hit", "Hana plays chess")]
    facts = [fact("f1", "Hana plays chess", "g", "Hana", "chess", episodes=("hit",))]
    facts += [fact(f"o{n}", f"thing {n}", "g", "Hana", f"t{n}", episodes=(f"e{n}",)) for n in range(FEW)]
    assert uuids(await found(await graph(episodes, facts), "chess", Scope.FACTS)) == ["f1"]


async def test_a_day_in_a_question_says_when_and_not_what() -> None:
    """What held then comes before what names the day, though that has two more words of the question."""
    day = 1_697_800_000_000  # 20 October 2023
    episodes = [
        text("job", "I am working at Larder Foods", day - YEAR),
        text("report", "On 20 October the council published a report", day + 1),
    ]
    facts = [
        fact(
            "held",
            "Ann is working at Larder Foods",
            episodes=("job",),
            valid_ms=day - YEAR,
            invalid_ms=day + 9 * 86_400_000,
        ),
        fact("other", "The council published a report on 20 October", episodes=("report",), valid_ms=day),
    ]
    search = await graph(episodes, facts)
    hits = await found(search, "Where was I working on 20 October?", Scope.FACTS)
    assert uuids(hits)[0] == "held"


async def test_a_role_is_found_by_another_word_for_it() -> None:
    episodes = [
        text("novel", "At the moment I am reading a novel"),
        text("role", "My line manager is Tomas Weil"),
    ]
    search = await graph(episodes)
    assert uuids(await found(search, "Who is my boss at the moment?"))[0] == "role"
