"""The text that is put before a language model: its lines, its bounds, its order."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.model.beliefs import Belief
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Polarity, RoleType, Source
from kgsvc.search.context.composing import Material, composed_lines
from kgsvc.search.context.lines import HANDLE_CHARS, numbered, told
from kgsvc.search.context.passages import PASSAGE_CHARS, WHOLE_CHARS, taken_apart
from kgsvc.search.query import parse
from tests.unit.search.feed import fact, patient

MINUTE, DAY = 60_000, 86_400_000
JAN_1, MAR_1 = 1_704_067_200_000, 1_709_251_200_000  # of 2024
ANY = 10**6


def entity(name: str, summary: str = "", *labels: str) -> Entity:
    return Entity(name, "g", name, 0, summary, labels=labels)


def episode(body: str, at_ms: int = JAN_1, uuid: str = "e") -> Episode:
    return Episode(uuid, "g", body, Source.TEXT, at_ms, 0)


def turn(role: str, says: str, at_ms: int, role_type: RoleType = RoleType.USER) -> Episode:
    body = f"{role}({role_type.value}): {says}"
    return Episode(f"{role}{at_ms}", "g", body, Source.MESSAGE, at_ms, 0, role_type=role_type, role=role)


def composed(material: Material, chars: int) -> str:
    return told(composed_lines(material, chars))


def lines(material: Material, chars: int = ANY) -> list[str]:
    return composed(material, chars).splitlines()


# -- what was said -----------------------------------------------------------------------------------------


def test_turns_are_told_in_order_of_time_under_their_times() -> None:
    said = [
        turn("Ada", "I moved.", JAN_1 + DAY + 61 * MINUTE),
        turn("Bo", "Hello!", JAN_1 + DAY),
        turn("Lamp", "It is late.", JAN_1 + DAY + 62 * MINUTE, RoleType.ASSISTANT),
        turn("Ada", "Bye.", JAN_1 + 2 * DAY),
    ]
    assert lines(Material(episodes=said)) == [
        "# Sources",
        "## 2024-01-02 Tue",
        "- Bo: Hello!",
        "## 2024-01-02 Tue 01:01",
        "- Ada: I moved.",
        "- Lamp (assistant): It is late.",
        "## 2024-01-03 Wed",
        "- Ada: Bye.",
    ]


def test_the_most_relevant_turns_are_in_and_each_once() -> None:
    said = [turn("Ada", f"turn {n:03}", JAN_1 + (7 * n % 100) * MINUTE) for n in range(100)]
    told = lines(Material(episodes=[*said, *said[:5]]), 600)
    turns = [line for line in told if line.startswith("- ")]
    assert len("\n".join(told)) > 570
    assert {line[-3:] for line in turns} == {f"{n:03}" for n in range(len(turns))}, "the best ones"
    places = [7 * int(line[-3:]) % 100 for line in turns]
    assert places == sorted(places), "in the order in which they were said"


def test_of_a_long_text_the_passages_with_the_words_of_the_question_are_told() -> None:
    lengthy = [f"Line {n} tells of nothing at all that anybody would ever want to know." for n in range(40)]
    lengthy[20] = "The stopcock is under the sink, behind the red bucket of the plumber, says Ada to Bo."
    body = "\n".join(lengthy)
    (line,) = lines(Material(episodes=[episode(body)], terms=parse("Where is the stopcock?")), 150)[2:]
    assert line.startswith("- … ")
    assert line.endswith(" …")
    assert lengthy[20] in line
    whole = composed(Material(episodes=[episode(body)]), ANY)
    assert whole.splitlines()[2] == "- " + " ".join(lengthy), "all of it, where there is room"


@pytest.mark.parametrize("length", [1, WHOLE_CHARS, WHOLE_CHARS + 1, 10 * WHOLE_CHARS])
@pytest.mark.parametrize("text", ["x", "one two, ", "One. Two! ", "a\n\nb\n", "一二。三", "{},"])
def test_an_episode_is_taken_apart_without_loss(text: str, length: int) -> None:
    body = (text * length)[:length]
    told = taken_apart(episode(body))
    assert "".join("".join(told.passages).split()) == "".join(body.split())
    assert len(told.passages) == 1 or max(map(len, told.passages)) <= 2 * PASSAGE_CHARS
    assert length > WHOLE_CHARS or len(told.passages) == 1


def test_a_chunk_names_its_document_where_its_words_do_not() -> None:
    first = replace(
        episode("# Mill meeting\n\nThe wheel turns."), source=Source.DOCUMENT, name="Mill meeting"
    )
    later = replace(first, uuid="later", body="The wheel was mended.", reference_ms=first.reference_ms + 1)
    told = lines(Material(episodes=[first, later]), ANY)
    assert told[2:] == ["- # Mill meeting The wheel turns.", "- Mill meeting: The wheel was mended."]


def test_lines_that_were_full_are_not_taken_apart() -> None:
    filler = (
        "Nobody said a word about it for the whole of that long winter in\nthe valley behind the hill. " * 9
    )
    body = f"{filler}\nThe owner, whom all had known for years, sold the mill to Globex\nof Oslo. {filler}"
    (line,) = lines(Material(episodes=[episode(body)], terms=parse("Who bought the mill?")), 250)[2:]
    assert "sold the mill to Globex of Oslo." in line


# -- facts -------------------------------------------------------------------------------------------------


def test_what_answers_a_question_stands_beside_it() -> None:
    """Few answers repeat the words of their question; other passages that do repeat them come later."""
    talk = [
        "Ann: Which flowers do you have in mind for the sunny garden beds?",
        "Bo: How about lavender and coneflowers, they come back each and every year without any work.",
        *(
            f"Ann: My {n}. neighbour keeps a large dog that barks at whoever walks along the fence."
            for n in range(6)
        ),
        "Bo: The garden beds of my aunt are so much larger than all of yours and mine put together.",
    ]
    told = lines(
        Material(episodes=[episode("\n".join(talk))], terms=parse("Which flowers for the garden beds?")), 240
    )
    assert "lavender" in " ".join(told)


def test_a_question_is_no_fact() -> None:
    asked = [
        fact("f1", "What are your favourites?"),
        fact("f2", "どこですか？"),
        fact("f3", "Ann likes tea."),
    ]
    assert [line for line in lines(Material(asked)) if line.startswith("- ")] == [
        "- Ann likes tea. (stated 2023-11-14T22:13:19Z)"
    ]


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"valid_ms": JAN_1}, "since 2024-01-01"),
        ({"valid_ms": JAN_1 + 34_200_999}, "since 2024-01-01T09:30:00Z"),
        ({"valid_ms": JAN_1, "invalid_ms": MAR_1}, "2024-01-01 to 2024-03-01"),
        ({"invalid_ms": MAR_1, "reference_ms": JAN_1}, "until 2024-03-01"),
        ({"invalid_ms": MAR_1 - 1, "reference_ms": JAN_1}, "until 2024-02-29"),
        ({"reference_ms": JAN_1}, "stated 2024-01-01"),
        ({"valid_ms": -62_135_596_800_000}, "since 0001-01-01"),
        ({"valid_ms": 253_402_300_799_999}, "since 9999-12-31T23:59:59Z"),
    ],
)
def test_a_fact_says_when_it_holds(times: dict[str, Any], says: str) -> None:
    assert lines(Material([fact("f", "Ada works at Acme.", **times)])) == [
        "# Facts",
        f"- Ada works at Acme. ({says})",
    ]


def test_an_end_that_was_learned_later_is_not_told_of_earlier() -> None:
    ended = fact("f", "Ada works.", valid_ms=JAN_1, invalid_ms=MAR_1, expired_ms=MAR_1 + DAY)
    assert lines(Material([ended], known_at_ms=MAR_1))[1] == "- Ada works. (since 2024-01-01)"
    assert lines(Material([ended], known_at_ms=MAR_1 + DAY))[1] == "- Ada works. (2024-01-01 to 2024-03-01)"


def test_words_and_ends_are_those_that_were_known() -> None:
    bound = Belief(MAR_1, JAN_1, JAN_1, JAN_1 + DAY, fact="Ada may work.")
    reopened = fact("f", "Ada works.", valid_ms=JAN_1, beliefs=(bound,))
    assert lines(Material([reopened], known_at_ms=MAR_1))[1] == "- Ada works. (since 2024-01-01)"
    told = lines(Material([reopened], known_at_ms=MAR_1 - 1))[1]
    assert told == "- Ada may work. (2024-01-01 to 2024-01-02)"


@pytest.mark.parametrize(
    ("text", "times", "told"),
    [
        ("Ada works at Acme.", {}, False),
        ("Ada works at Acme.", {"valid_ms": JAN_1}, False),
        ("Ada works at Acme.", {"valid_ms": JAN_1 - DAY}, True),
        ("Ada works at Acme.", {"invalid_ms": MAR_1}, True),
        ("Ada's desk at Acme faces north.", {}, True),
        ("Ada works at Acme.", {"episodes": ("another",)}, True),
    ],
)
def test_a_fact_is_told_where_the_words_of_its_episodes_do_not_say_it(
    text: str, times: dict[str, Any], told: bool
) -> None:
    said = turn("Ada", "I work at Acme now, and it is raining.", JAN_1)
    more: dict[str, Any] = {"reference_ms": JAN_1, "episodes": (said.uuid,)}
    stated = fact("f", text, **(more | times))
    assert ("# Facts" in lines(Material([stated], episodes=[said]))) is told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Ada works at Acme.", "- Not so: Ada works at Acme. (stated 2024-01-01)"),
        ("Ada doesn't work at Acme.", "- Ada doesn't work at Acme. (stated 2024-01-01)"),
    ],
)
def test_what_is_denied_never_reads_as_if_it_were_so(text: str, says: str) -> None:
    denied = fact("f", text, reference_ms=JAN_1, polarity=Polarity.DENIES)
    assert lines(Material([denied]))[1] == says


def test_a_fact_whose_words_come_to_be_told_has_no_line_of_its_own() -> None:
    said = [turn("Ada", f"It was number {n}, I think.", JAN_1 + n * MINUTE) for n in range(40)]
    facts = [fact(f"f{n}", f"It was number {n}.", episodes=(said[n].uuid,)) for n in range(40)]
    for chars in range(100, 1_500, 50):
        told = "\n".join(lines(Material(facts, episodes=said), chars))
        assert all(told.count(f"number {n}") <= 1 for n in range(10, 40)), "each once"


def test_what_was_withdrawn_says_so_and_what_was_superseded_says_until_when() -> None:
    ended: dict[str, Any] = {"valid_ms": JAN_1, "invalid_ms": MAR_1, "expired_ms": MAR_1}
    reasons = ("superseded", "retracted")
    told = lines(Material([fact(f"f{r}", r, expired_reason=r, **ended) for r in reasons]))[1:]
    assert told == [
        "- superseded (2024-01-01 to 2024-03-01)",
        "- retracted (2024-01-01 to 2024-03-01; withdrawn 2024-03-01)",
    ]


# -- entities and the whole --------------------------------------------------------------------------------


def test_each_kind_has_its_heading_and_each_entry_a_line() -> None:
    found = Material(
        [fact("f", "Ada\n# Facts\nworks.", valid_ms=JAN_1)],
        [entity("Ada", "An\nengineer.", "Person"), entity("Acme", "", "Entity")],
        [Community("c", "g", "Staff", "They\twork.", 0, 0, ())],
        [episode("Ada:\n\n# Sources\n I work.", MAR_1)],
    )
    assert lines(found) == [
        "# Sources",
        "## 2024-03-01 Fri",
        "- Ada: # Sources I work.",
        "# Facts",
        "- Ada # Facts works. (since 2024-01-01)",
        "# Entities",
        "- Ada (Person): An engineer.",
        "- Acme",
        "# Communities",
        "- Staff: They work.",
    ]
    assert composed(Material(), ANY) == ""


def test_a_summary_is_told_as_far_as_it_adds_something() -> None:
    said = [turn("Ada", "I work at Acme as an engineer, and I love it.", JAN_1)]
    ends = [
        entity("Ada Lovelace", "Ada works at Acme. Her cat has three legs."),
        entity("Acme", "It has a roof."),
    ]
    told = lines(Material(episodes=said, ends=ends, terms=parse("Who is Ada?")))
    assert told[-2:] == ["# Entities", "- Ada Lovelace: Her cat has three legs."]
    nothing = [entity("Ada Lovelace", "Ada works at Acme.")]
    assert "# Entities" not in lines(Material(episodes=said, ends=nothing, terms=parse("Who is Ada?")))
    asked = lines(Material(episodes=said, entities=nothing, terms=parse("Who is Ada?")))
    assert asked[-2:] == ["# Entities", "- Ada Lovelace"]


def test_every_kind_has_its_share_where_there_is_too_much() -> None:
    many = Material(
        [fact(f"f{n}", f"fact {n:03}", valid_ms=JAN_1) for n in range(100)],
        [entity(f"entity {n:03}") for n in range(100)],
        episodes=[episode(f"episode {n:03}", uuid=f"e{n}") for n in range(100)],
    )
    text = composed(many, 1_000)
    assert 1_000 - 40 < len(text) <= 1_000, "the share of communities is not lost"
    told = text.splitlines()
    kinds = {kind: [line for line in told if line.startswith(f"- {kind}")] for kind in ("fact", "entity")}
    kinds["episode"] = [line for line in told if line.startswith("- episode")]
    assert kinds["fact"] == [f"- fact {n:03} (since 2024-01-01)" for n in range(len(kinds["fact"]))]
    assert kinds["entity"] == [f"- entity {n:03}" for n in range(len(kinds["entity"]))]
    assert len("\n".join(kinds["episode"])) > 700
    assert min(map(len, kinds.values())) > 3


def test_every_line_but_headings_knows_what_it_tells_of() -> None:
    said, works, ann = episode("Nothing."), fact("f", "Ann works"), entity("ann", "Ann leads.")
    group = Community("c", "g", "Staff", "All.", 0, 0, ())
    told = composed_lines(Material([works], [ann], [group], [said]), ANY)
    assert [(line.text, line.of) for line in told] == [
        ("# Sources", None),
        ("## 2024-01-01 Mon", None),
        ("Nothing.", said),
        ("# Facts", None),
        ("Ann works (stated 2023-11-14T22:13:19Z)", works),
        ("# Entities", None),
        ("ann: Ann leads.", ann),
        ("# Communities", None),
        ("Staff: All.", group),
    ]


def test_of_lines_with_one_text_the_best_is_told() -> None:
    told = composed_lines(Material([fact("b", "Ann works"), fact("a", "Ann works")]), ANY)
    assert [line.of.uuid for line in told if line.of] == ["b"]


def test_what_does_not_fit_is_left_out_and_shorter_ones_are_in() -> None:
    found = Material(entities=[entity("a" * 50), entity("b" * 5), entity("c" * 5)])
    assert lines(found, len("# Entities\n- bbbbb\n- ccccc")) == ["# Entities", "- bbbbb", "- ccccc"]
    assert lines(found, len("# Entities\n- bbbbb\n- ccccc") - 1) == ["# Entities", "- bbbbb"]
    assert lines(found, len("# Entities\n- bbbbb") - 1) == []


_TEXTS = st.lists(st.text(max_size=60), max_size=12)


@patient
@given(_TEXTS, _TEXTS, _TEXTS, st.integers(0, 700))
def test_it_is_never_too_long_and_always_the_same(
    facts: list[str], entities: list[str], episodes: list[str], chars: int
) -> None:
    found = Material(
        [fact(f"f{n}", text) for n, text in enumerate(facts)],
        [entity(f"n{n}", text) for n, text in enumerate(entities)],
        episodes=[episode(text * 20, JAN_1 + n * 40 * MINUTE, f"e{n}") for n, text in enumerate(episodes)],
    )
    text = composed(found, chars)
    assert len(text) <= chars
    assert text == composed(found, chars)
    whole = len(composed(found, ANY))
    assert len(composed(found, whole)) == whole, "all of it where it fits"
    with_handles = "\n".join(numbered(composed_lines(found, chars, HANDLE_CHARS)))
    assert len(with_handles) <= chars, "handles count too"
