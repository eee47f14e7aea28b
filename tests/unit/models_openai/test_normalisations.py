"""The table of normalisations: a wrong value is put right or left out alone, shown and counted."""

import json
from typing import Any

import pytest

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import UNKNOWN, ExtractedEdge, ExtractionRequest
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.domain.model.items import ItemWarning
from kgsvc.models.openai.extractor import shown
from kgsvc.models.openai.settings import ChatModel
from kgsvc.models.openai.validation import Checked, Rejected, validate
from kgsvc.models.protocol import Extracted
from tests.support.scripted_openai import answer, edge, node, says
from tests.unit.models_openai.conftest import ALICE_BODY, Rig, episode, request

NOON = 1_715_947_200_000  # 2024-05-17T12:00:00Z
HOUR = 3_600_000
NAMES = ("Alice", "Acme", "Oslo")
TOLD = ("LIKES", "LIVES_IN", "IS_IN")  # what is said beside the edge that is damaged


def said(nodes: dict[int, dict[str, Any]] | None = None, **changes: Any) -> Checked:
    """Four edges between three nodes, the first edge with these changes, nodes by number with theirs."""
    listed = [{**node(f"n{at + 1}", each), **(nodes or {}).get(at, {})} for at, each in enumerate(NAMES)]
    damaged = {**edge("KNOWS", "Alice knows Acme.", "n1", "n2"), **changes}
    others = [
        edge("LIKES", "Alice likes Acme.", "n1", "n2"),
        edge("LIVES_IN", "Alice lives in Oslo.", "n1", "n3"),
        edge("IS_IN", "Acme is in Oslo.", "n2", "n3"),
    ]
    return validate(answer(listed, [damaged, *others]), Limits())


def first(checked: Checked) -> ExtractedEdge:
    """The damaged edge, after it is seen that the others are whole."""
    assert [each.name for each in checked.extraction.edges[1:]] == list(TOLD)
    return checked.extraction.edges[0]


def test_what_is_right_warns_of_nothing() -> None:
    assert said(valid_at="2024-05-17", keywords=list("abcde"), weight=10).warnings == ()


def test_a_time_without_zone_is_of_utc() -> None:
    for written in ("2024-05-17T12:00:00", "2024-05-17 12:00", "2024-05-17T12:00:00.000"):
        found = said(valid_at=written)
        assert first(found).valid_ms == NOON
        assert found.warnings == (ItemWarning("edges[0].valid_at", "time_without_zone"),)


def test_a_time_with_its_zone_stays_and_a_date_is_of_utc() -> None:
    assert first(said(valid_at="2024-05-17T14:00:00+02:00")).valid_ms == NOON
    assert first(said(valid_at="2024-05-17")).valid_ms == NOON - 12 * HOUR


@pytest.mark.parametrize(
    "written",
    ["2024-02-30", "2024-13-01", "0000-01-01", "0000", "2024-02-30T12:00:00", "2024-05-17T25:00:00Z",
     "2024-05-17T23:59:60Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"],
)  # fmt: skip
def test_a_time_that_no_calendar_has_is_null(written: str) -> None:
    found = said(invalid_at=written)
    assert first(found).invalid_ms is None
    assert found.warnings == (ItemWarning("edges[0].invalid_at", "no_such_time"),)


@pytest.mark.parametrize("empty", ["", "  ", "null", "None"])
def test_an_empty_time_is_null(empty: str) -> None:
    found = said(valid_at=empty)
    assert first(found).valid_ms is None
    assert ItemWarning("edges[0].valid_at", "empty_value") in found.warnings


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"kind": ""}, "kind"),
        ({"weight": None}, "weight"),
        ({"weight": ""}, "weight"),
        ({"keywords": None}, "keywords"),
        ({"qualifiers": None}, "qualifiers"),
        ({"qualifiers": [{"key": "role", "value": ""}]}, "qualifiers[0]"),
        ({"qualifiers": [{"key": " ", "value": "lead"}]}, "qualifiers[0]"),
        ({"attributes": ""}, "attributes"),
    ],
)
def test_an_empty_value_is_as_if_it_were_left_out(changes: dict[str, Any], path: str) -> None:
    found = said(**changes)
    plain = first(said())
    assert first(found) == plain
    assert (plain.kind, plain.weight, plain.qualifiers) == (FactKind.STATE, 1.0, {})
    assert found.warnings == (ItemWarning(f"edges[0].{path}", "empty_value"),)


@pytest.mark.parametrize("field", ["name", "fact", "source_ref", "target_ref", "polarity"])
@pytest.mark.parametrize("empty", ["", " \u200b", None])
def test_an_edge_that_says_nothing_is_dropped(field: str, empty: str | None) -> None:
    """Without a polarity, too: it might be a denial."""
    changes: dict[str, Any] = {field: empty}
    found = said(**changes)
    assert [each.name for each in found.extraction.edges] == list(TOLD)
    assert found.warnings == (ItemWarning(f"edges[0].{field}", "empty_value", dropped=True),)


@pytest.mark.parametrize("empty", ["", None, "\u200b\u00a0"])
def test_a_node_without_a_name_is_dropped_with_its_edges(empty: str | None) -> None:
    nodes = [node("n1", "Alice"), node("n2", "Acme"), node("zz", "?") | {"name": empty}]
    edges = [edge("KNOWS", "Alice knows Acme.", "n1", "n2"), edge("HAS", "Alice has a zz.", "n1", "zz")]
    found = validate(answer(nodes, edges), Limits())
    assert [each.name for each in found.extraction.nodes] == ["Alice", "Acme"]
    assert [each.name for each in found.extraction.edges] == ["KNOWS"]
    assert found.warnings == (
        ItemWarning("nodes[2].name", "empty_value", dropped=True),
        ItemWarning("edges[1].target_ref", "unknown_ref", dropped=True),
    )


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("empty", ["", None, " "])
def test_a_node_without_a_ref_is_found_by_its_place(at: int, empty: str | None) -> None:
    found = said({at: {"ref": empty}})
    assert found.extraction == said().extraction
    assert found.warnings == (ItemWarning(f"nodes[{at}].ref", "empty_value"),)


def test_a_node_without_a_ref_is_found_by_its_name_where_refs_tell_no_place() -> None:
    refs = {0: {"ref": "al"}, 1: {"ref": ""}, 2: {"ref": "n3"}}
    nodes = [{**node(f"n{at + 1}", each), **refs[at]} for at, each in enumerate(NAMES)]
    edges = [edge("KNOWS", "Alice knows Acme.", "al", "acme"), edge("LIKES", "Alice likes it.", "al", "n2")]
    found = validate(answer(nodes, edges), Limits())
    assert [each.name for each in found.extraction.edges] == ["KNOWS"]  # n2 is nobody
    assert [each.name for each in found.extraction.nodes] == list(NAMES)


def test_an_end_before_the_start_is_null() -> None:
    found = said(valid_at="2024-05-02", invalid_at="2024-05-01")
    assert (first(found).invalid_ms, first(found).valid_ms) == (None, NOON - 15 * 24 * HOUR - 12 * HOUR)
    assert found.warnings == (ItemWarning("edges[0].invalid_at", "invalid_before_valid"),)
    assert said(valid_at="2024-05-02", invalid_at="2024-05-02").warnings == ()


@pytest.mark.parametrize(("given", "taken"), [(-0.1, 0.0), (10.5, 10.0), (1e300, 10.0), (-(10**30), 0.0)])
def test_a_weight_out_of_range_is_clamped(given: float, taken: float) -> None:
    found = said(weight=given)
    assert first(found).weight == taken
    assert found.warnings == (ItemWarning("edges[0].weight", "out_of_range"),)


@pytest.mark.parametrize(
    "ref", ["n7", "N_7", "node 12", "#4", "17", "???", "zz", "X", "acme_corp", "someone", "Unknown", "N/A",
            "6b677376-6300-4000-8000-6b6773766300"],
)  # fmt: skip
@pytest.mark.parametrize("field", ["source_ref", "target_ref"])
def test_an_edge_to_no_node_is_dropped_and_its_ref_becomes_no_entity(field: str, ref: str) -> None:
    changes: dict[str, Any] = {field: ref}
    found = said(**changes)
    assert [each.name for each in found.extraction.nodes] == list(NAMES)
    assert [each.name for each in found.extraction.edges] == list(TOLD)
    assert found.warnings == (ItemWarning(f"edges[0].{field}", "unknown_ref", dropped=True),)


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("Bo Li", "Alice knows Bo Li."),
        ("bo", "Alice knows bo."),
        ("someone", "Alice knows SOMEONE."),
        ("東京", "アリスは東京に住む。"),
        ("Apollo 11", "Alice knows the mission."),
        ("Bertram", "Alice knows him."),
    ],
)
def test_an_unlisted_name_becomes_a_node_of_type_unknown(name: str, fact: str) -> None:
    found = said(target_ref=name, fact=fact)
    unlisted = found.extraction.nodes[-1]
    assert (unlisted.name, unlisted.type, first(found).target_ref) == (name, UNKNOWN, unlisted.ref)
    assert found.warnings == (ItemWarning("edges[0].target_ref", "unlisted_name"),)


@pytest.mark.parametrize(("at", "ref"), [(2, "n2"), (2, "n1"), (1, "n1"), (0, "n2"), (0, "n3")])
def test_of_two_nodes_with_one_ref_it_means_the_one_in_its_place(at: int, ref: str) -> None:
    found = said({at: {"ref": ref}})
    assert found.extraction == said().extraction
    assert found.warnings == (ItemWarning(f"nodes[{at}].ref", "repeated"),)


def test_of_two_nodes_with_one_ref_it_means_the_first_where_refs_tell_no_place() -> None:
    nodes = [node("a", "Alice"), node("a", "Acme"), node("b", "Oslo")]
    edges = [edge("LIVES_IN", "Alice lives in Oslo.", "a", "b"), edge("IS_IN", "It is.", "Acme", "b")]
    found = validate(answer(nodes, edges), Limits())
    names = {each.ref: each.name for each in found.extraction.nodes}
    assert [names[each.source_ref] for each in found.extraction.edges] == ["Alice", "Acme"]
    assert found.warnings == (ItemWarning("nodes[1].ref", "repeated"),)


def test_of_two_values_with_one_key_the_first_counts() -> None:
    twice = [{"key": "role", "value": "lead"}, {"key": " role ", "value": "guest"}]
    found = said({0: {"attributes": twice}}, qualifiers=twice)
    assert first(found).qualifiers == found.extraction.nodes[0].attributes == {"role": "lead"}
    assert found.warnings == (
        ItemWarning("nodes[0].attributes[1]", "repeated"),
        ItemWarning("edges[0].qualifiers[1]", "repeated"),
    )


def test_a_fact_from_a_node_to_itself_is_a_property_of_it() -> None:
    found = first(said(target_ref="alice"))
    assert found.source_ref == found.target_ref


def test_of_many_keywords_the_first_five_are_kept() -> None:
    found = said(keywords=["a", "b", "a", "", *"cdefg"] * 20)
    assert first(found).keywords == tuple("abcde")
    assert found.warnings == (ItemWarning("edges[0].keywords", "too_many_keywords"),)


def test_kind_and_polarity_are_known_in_any_case() -> None:
    found = said(kind="Event", polarity="DENIES")
    assert (first(found).kind, first(found).polarity) == (FactKind.EVENT, Polarity.DENIES)
    assert {warning.kind for warning in found.warnings} == {"other_case"}


def test_surrounding_blanks_are_taken_off() -> None:
    found = said(
        {1: {"name": "\tAcme "}}, source_ref=" n1", fact="Alice knows Acme.\n", valid_at=" 2024-05-17 "
    )
    assert (first(found).fact, first(found).valid_ms) == ("Alice knows Acme.", NOON - 12 * HOUR)
    assert found.extraction.nodes[1].name == "Acme"
    assert {warning.kind for warning in found.warnings} == {"surrounding_blanks"}
    assert len(found.warnings) == 4


def test_warnings_name_places_never_values() -> None:
    found = said(
        {0: {"attributes": [{"key": "secret", "value": ""}]}}, target_ref="secret", keywords=["secret"] * 9
    )
    assert found.warnings
    assert not any("secret" in warning.path + warning.kind for warning in found.warnings)


def test_half_of_the_edges_may_go_but_no_more() -> None:
    def of(bad: int) -> Any:
        edges = [
            edge("KNOWS", f"Alice knows Acme {at}.", "n1", "n9" if at < bad else "n2") for at in range(4)
        ]
        return answer([node("n1", "Alice"), node("n2", "Acme")], edges)

    assert len(validate(of(2), Limits()).extraction.edges) == 2
    with pytest.raises(Rejected) as caught:
        validate(of(3), Limits())
    assert caught.value.problems == tuple(
        f"edges[{at}].target_ref is neither a ref of the listed nodes nor a name" for at in range(3)
    )


def test_a_rejected_answer_is_told_what_would_have_been_dropped_too() -> None:
    with pytest.raises(Rejected) as caught:
        said({0: {"name": ""}}, fact="x" * 2_049)
    assert caught.value.problems[:2] == (
        "edges[0].fact is longer than 2048 characters",
        "nodes[0].name is empty",
    )


def test_an_item_shows_a_bounded_number_drops_first() -> None:
    put_right = [ItemWarning(f"edges[{at}].weight", "out_of_range") for at in range(99)]
    dropped = ItemWarning("edges[3].name", "empty_value", dropped=True)
    assert shown([*put_right, dropped]) == (dropped, *put_right[:63])


async def test_warnings_are_counted_and_handed_over_without_another_call(rig: Rig) -> None:
    damaged = answer(
        [node("n1", "Alice"), node("n2", "Acme")],
        [
            edge("WORKS_AT", "Alice works at Acme.", "n1", "n2", valid_at="2024-05-17T12:00:00"),
            edge("KNOWS", "Alice knows somebody.", "n1", "n9"),
        ],
    )
    rig.model.fail(says(json.dumps(damaged)))
    [result] = await rig.extractor().extract([ExtractionRequest(episode(ALICE_BODY))])
    assert isinstance(result, Extracted)
    assert [each.valid_ms for each in result.extraction.edges] == [NOON]
    assert result.warnings == (
        ItemWarning("edges[1].target_ref", "unknown_ref", dropped=True),
        ItemWarning("edges[0].valid_at", "time_without_zone"),
    )
    assert rig.meter.troubles == [("extract", "time_without_zone"), ("extract", "unknown_ref")]
    assert len(rig.model.chats) == 1


async def test_the_path_tells_the_part_of_a_body(rig: Rig) -> None:
    edges = [edge("KNOWS", f"Alice knows {n}.", "n1", "n9" if n == 1 else "n2") for n in range(2)]
    rig.model.plan.script = lambda _: answer([node("n1", "Alice"), node("n2", "Acme")], edges)
    [result] = await rig.extractor(ChatModel(body_chars=20)).extract([request("a" * 19 + "\n\n" + "b" * 15)])
    assert isinstance(result, Extracted)
    assert [warning.path for warning in result.warnings] == [
        "parts[0].edges[1].target_ref",
        "parts[1].edges[1].target_ref",
    ]


async def test_an_answer_that_is_repaired_shows_the_warnings_of_the_repair_alone(rig: Rig) -> None:
    rig.model.fail(says(json.dumps(answer([node("n1", "Alice")], [edge("IS", "Alice is.", "n1", "n9")]))))
    [result] = await rig.extractor().extract([request()])
    assert isinstance(result, Extracted)
    assert result.warnings == ()
    assert rig.meter.troubles == [("extract", "wrong_ids")]
