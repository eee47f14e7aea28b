"""The model's answer is hostile until proven otherwise."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsvc.domain.limits import DAY_MS, Limits
from kgsvc.domain.model.extraction import UNKNOWN, Extraction
from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.models.openai.validation import ANSWER_CHARS, Rejected, decode, validate
from tests.support.scripted_openai import answer, edge, node

LIMITS = Limits()


def base() -> dict[str, Any]:
    """Two nodes, one edge."""
    return answer([node("n1", "Alice"), node("n2", "Acme")], [edge("KNOWS", "Alice knows Acme.", "n1", "n2")])


def with_node(**changes: Any) -> dict[str, Any]:
    """base() with another first node."""
    given = base()
    given["nodes"][0].update(changes)
    return given


def with_edge(**changes: Any) -> dict[str, Any]:
    """base() with another edge."""
    given = base()
    given["edges"][0].update(changes)
    return given


def read(given: Any) -> Extraction:
    """The whole way: text, JSON, extraction."""
    return validate(decode(json.dumps(given)), LIMITS).extraction


def rejected(given: Any) -> str:
    """Why it is rejected."""
    with pytest.raises(Rejected) as caught:
        read(given)
    return str(caught.value)


def test_everything_given_arrives() -> None:
    given = answer(
        [
            node(
                "n1",
                "Alice",
                type="Person",
                summary="An engineer.",
                attributes=_pairs(age=41, tall=True, x="y"),
            ),
            node("n2", "Acme", type="Organization"),
        ],
        [
            edge(
                "WORKS_AT",
                "Alice no longer works at Acme.",
                "n1",
                "n2",
                valid_at="2024-05-17",
                invalid_at="2025",
                kind="functional",
                polarity="ends",
                qualifiers=_pairs(role="lead"),
                keywords=["work", "change", "work"],
                weight=2.5,
            )
        ],
    )
    extraction = read(given)
    alice, acme = extraction.nodes
    assert (alice.ref, alice.name, alice.type, alice.summary) == ("n1", "Alice", "Person", "An engineer.")
    assert alice.attributes == {"age": 41, "tall": True, "x": "y"}
    assert acme.type == "Organization"
    [fact] = extraction.edges
    assert fact.kind is FactKind.FUNCTIONAL
    assert fact.polarity is Polarity.ENDS
    assert fact.qualifiers == {"role": "lead"}
    assert fact.keywords == ("work", "change")
    assert (fact.weight, fact.valid_ms, fact.invalid_ms) == (2.5, 19_860 * DAY_MS, 20_089 * DAY_MS)


def test_only_what_the_contract_requires_is_required() -> None:
    extraction = read(
        {
            "nodes": [{"ref": "a", "name": "Alice"}, {"ref": "b", "name": "Bo"}],
            "edges": [{"name": "KNOWS", "fact": "Alice knows Bo.", "source_ref": "a", "target_ref": "b"}],
        }
    )
    assert extraction.nodes[0].type == "Entity"
    assert extraction.edges[0].kind is FactKind.STATE
    assert extraction.edges[0].weight == 1.0


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "the answer is not an object"),
        ([], "the answer is not an object"),
        ({"nodes": []}, "the answer.edges is missing"),
        ({"nodes": [], "edges": None}, "the answer.edges is not a list"),
        ({"nodes": [], "edges": [], "notes": ""}, "the answer has a field that the schema does not know"),
        ({"nodes": [7], "edges": []}, "nodes[0] is not an object"),
        (with_node(name=7), "nodes[0].name is not a string"),
        (with_node(name="Al\x00ice"), "nodes[0].name holds control characters or broken Unicode"),
        (with_node(name="Al\x1bice"), "nodes[0].name holds control characters or broken Unicode"),
        (with_node(name="Al\ud800ice"), "nodes[0].name holds control characters or broken Unicode"),
        (with_node(name="x" * 513), "nodes[0].name is longer than 512 characters"),
        (with_node(name="ﷺ" * 500), "nodes[0].name is longer than 512 characters once normalised"),
        (with_node(ref=1), "nodes[0].ref is not a string"),
        (with_node(uuid="x"), "nodes[0] has a field that the schema does not know"),
        (with_node(type="Per\nson\x00"), "nodes[0].type holds control characters or broken Unicode"),
        (with_node(summary="x" * 4097), "nodes[0].summary is longer than 4096 characters"),
        (with_node(attributes={}), "nodes[0].attributes is not a list"),
        (with_node(attributes=[{"key": "a"}]), "nodes[0].attributes[0].value is missing"),
        (
            with_node(attributes=[{"key": "a", "value": {"deep": []}}]),
            "nodes[0].attributes[0].value is not a number",
        ),
        (
            with_node(attributes=[{"key": "a", "value": 10**30}]),
            "nodes[0].attributes[0].value is a number beyond 64 bits",
        ),
        (
            with_node(attributes=[{"key": f"k{at}", "value": "x" * 4000} for at in range(20)]),
            "nodes[0].attributes takes more than 65536 bytes",
        ),
        (with_edge(fact=""), "edges[0].fact is empty"),  # the only edge: more than half of them
        (with_edge(polarity=None), "edges[0].polarity is empty"),
        (with_edge(fact="x" * 2049), "edges[0].fact is longer than 2048 characters"),
        (with_edge(weight=[1]), "edges[0].weight is not a number"),
        (with_edge(weight=True), "edges[0].weight is not a number"),
        (with_edge(kind="forever"), "edges[0].kind is not one of state, functional, event"),
        (with_edge(polarity="maybe"), "edges[0].polarity is not one of asserts, ends, denies"),
        (with_edge(polarity=True), "edges[0].polarity is not a string"),
        (with_edge(keywords=[["a"]]), "edges[0].keywords[0] is not a string"),
        (with_edge(qualifiers=[{"key": "a", "value": 1}]), "edges[0].qualifiers[0].value is not a string"),
        (with_edge(source_uuid="x"), "edges[0] has a field that the schema does not know"),
    ],
)
def test_hostile_or_wrong_values_are_named_not_quoted(given: Any, problem: str) -> None:
    assert rejected(given) == problem


def test_a_value_exactly_at_its_cap_is_fine() -> None:
    assert read(with_node(name="x" * 512)).nodes[0].name == "x" * 512
    assert len(read(with_edge(fact="x" * 2048)).edges[0].fact) == 2048


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes": [], "edges": [], "weight": NaN}',
        '{"nodes": [], "edges": [Infinity]}',
        '{"nodes": [], "nodes": [], "edges": []}',
        '{"nodes": [], "edges": []} and more',
        '```json\n{"nodes": [], "edges": []}\n```',
        '{"nodes": [' + "9" * 10_000 + '], "edges": []}',
        "",
    ],
)
def test_text_that_is_not_one_strict_json_object_is_rejected(text: str) -> None:
    with pytest.raises(Rejected, match="not one valid JSON object"):
        decode(text)


def test_overflowing_floats_are_rejected() -> None:
    text = json.dumps(with_node(attributes=_pairs(age=1))).replace('"value": 1', '"value": 1e999')
    with pytest.raises(Rejected, match="not a finite number"):
        validate(decode(text), LIMITS)


def test_bottomless_nesting_is_rejected() -> None:
    with pytest.raises(Rejected, match="nested too deeply"):
        decode("[" * 200_000)
    assert rejected({"nodes": [[[[[]]]]], "edges": []}) == "nodes[0] is not an object"


def test_a_million_nodes_are_rejected_before_they_are_read() -> None:
    with pytest.raises(Rejected, match="1000000 members where 200 are allowed"):
        validate({"nodes": [None] * 10**6, "edges": []}, LIMITS)
    with pytest.raises(Rejected, match=f"longer than {ANSWER_CHARS}"):
        decode(json.dumps({"nodes": [{}] * 10**6, "edges": []}))


def test_too_many_edges_are_rejected() -> None:
    given = base()
    given["edges"] *= 401
    assert rejected(given) == "the answer.edges has 401 members where 400 are allowed"


def test_at_most_twelve_problems_are_named() -> None:
    with pytest.raises(Rejected) as caught:
        validate({"nodes": [None] * 100, "edges": [None] * 100}, LIMITS)
    assert len(caught.value.problems) == 12


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("WORKS_AT", "WORKS_AT"),
        ("works at", "WORKS_AT"),
        ("worksAt", "WORKS_AT"),
        ("Works-At", "WORKS_AT"),
        ("  works  at\n", "WORKS_AT"),
        ("fährt nach", "FAHRT_NACH"),
        ("A" * 64, "A" * 64),
    ],
)
def test_relation_names_become_screaming_snake_case(given: str, name: str) -> None:
    assert read(with_edge(name=given)).edges[0].name == name


@pytest.mark.parametrize(
    "given", ["", "_", "9_LIVES", "WORKS_AT`]->() DELETE", "働く", "A" * 65, "KNOWS;", "K\x00", "K'--", "🎉"]
)
def test_other_relation_names_are_rejected(given: str) -> None:
    assert rejected(with_edge(name=given)).startswith("edges[0].name ")


@pytest.mark.parametrize(
    ("given", "ms"),
    [
        (None, None),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5+00:00", 1500),
        ("1970-01-01T00:00:00.0019Z", 1),
        ("1969-12-31T23:59:59.9999Z", -1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:00-0500", 0),
        ("1970-01-02", DAY_MS),
        ("1970-02", 31 * DAY_MS),
        ("1971", 365 * DAY_MS),
        ("0001-01-01", -62_135_596_800_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ],
)
def test_times_are_read(given: str | None, ms: int | None) -> None:
    assert read(with_edge(valid_at=given)).edges[0].valid_ms == ms


@pytest.mark.parametrize(
    "given",
    [
        "yesterday", "10000", "+12024-01-01", "-5000", "2024-1-1", "20240517", "2024-05-17T09:30:00Z\x00",
        "2024-05-17T09:30:00+99:99", "２０２４-05-17", "1" * 5000, 1715938200, True, {},
    ],
)  # fmt: skip
def test_times_beyond_the_rules_are_rejected(given: Any) -> None:
    assert rejected(with_edge(valid_at=given)).startswith("edges[0].valid_at ")


def test_an_endpoint_by_name_is_found() -> None:
    extraction = read(with_edge(source_ref=" ALICE ", target_ref="acme"))
    assert (extraction.edges[0].source_ref, extraction.edges[0].target_ref) == ("n1", "n2")
    assert len(extraction.nodes) == 2


def test_an_endpoint_named_but_not_listed_becomes_unknown_once() -> None:
    given = base()
    given["edges"] += [
        edge("KNOWS", "Alice knows Bo Li.", "n1", "Bo Li"),
        edge("LIKES", "Bo Li likes Acme.", "bo  li", "n2"),
    ]
    extraction = read(given)
    assert [(each.name, each.type) for each in extraction.nodes[2:]] == [("Bo Li", UNKNOWN)]
    assert extraction.edges[1].target_ref == extraction.edges[2].source_ref == extraction.nodes[2].ref


def test_an_unknown_endpoint_never_takes_the_ref_of_a_listed_node() -> None:
    given = with_node(ref="Bo")  # the ref "Bo" is Alice
    given["edges"] = [edge("KNOWS", "Acme knows bo.", "n2", "bo")]
    extraction = read(given)
    by_ref = {each.ref: each.name for each in extraction.nodes}
    assert len(by_ref) == len(extraction.nodes) == 3
    assert by_ref[extraction.edges[0].target_ref] == "bo"


@pytest.mark.parametrize(
    "given", ["n3", "N_7", "node 12", "#4", "17", "6b677376-6300-4000-8000-6b6773766300", "???", "-1"]
)
def test_an_index_or_uuid_that_was_not_shown_is_rejected(given: str) -> None:
    assert rejected(with_edge(target_ref=given)) == (
        "edges[0].target_ref is neither a ref of the listed nodes nor a name"
    )


def test_handles_are_recognised_by_the_refs_that_the_answer_uses() -> None:
    given = with_node(ref="person-1")
    given["edges"][0].update(source_ref="person-1", target_ref="person-9")
    assert "neither a ref" in rejected(given)
    given["edges"][0]["target_ref"] = "Apollo 11"
    assert read(given).nodes[-1].name == "Apollo 11"


def test_unknown_nodes_count_towards_the_bound() -> None:
    nodes = [node(f"n{at}", f"Name {at}x") for at in range(200)]
    given = answer(nodes, [edge("KNOWS", "Name 0x knows Somebody Else.", "n0", "Somebody Else")])
    assert rejected(given) == "edges[0].target_ref names a node beyond the 200 allowed"


def test_nodes_of_one_name_become_one_and_complete_each_other() -> None:
    given = answer(
        [
            node("n1", "Alice"),
            node("n2", "ＡＬＩＣＥ", type="Person", summary="An engineer.", attributes=_pairs(age=41)),
            node("n3", "Bo"),
        ],
        [edge("KNOWS", "Alice knows Bo.", "n2", "n3"), edge("KNOWS", "Alice knows Bo.", "n1", "n3")],
    )
    extraction = read(given)
    assert [each.name for each in extraction.nodes] == ["Alice", "Bo"]
    alice = extraction.nodes[0]
    assert (alice.ref, alice.type, alice.summary, alice.attributes) == (
        "n1",
        "Person",
        "An engineer.",
        {"age": 41},
    )
    assert [each.source_ref for each in extraction.edges] == ["n1"]


def test_merged_attributes_stay_within_the_cap() -> None:
    def big(prefix: str) -> list[dict[str, Any]]:
        return [{"key": f"{prefix}{at}", "value": "x" * 4000} for at in range(10)]

    given = answer([node("n1", "Alice", attributes=big("a")), node("n2", "alice", attributes=big("b"))])
    assert rejected(given) == "nodes[1].attributes takes more than 65536 bytes"


def test_the_same_fact_twice_is_one() -> None:
    given = base()
    given["edges"] += [
        {**copy.deepcopy(given["edges"][0]), "fact": " alice KNOWS  acme."},
        {**copy.deepcopy(given["edges"][0]), "valid_at": "2024"},
    ]
    assert len(read(given).edges) == 2


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
_FIELDS = [*node("r", "n"), *edge("n", "f", "s", "t")]


@given(st.sampled_from(_FIELDS), _JSON)
def test_whatever_a_field_holds_the_answer_is_read_or_rejected(field: str, value: Any) -> None:
    given = base()
    for part in (given["nodes"][0], given["edges"][0]):
        if field in part:
            part[field] = value
    try:
        extraction = validate(given, LIMITS).extraction
    except Rejected:
        return
    refs = {each.ref for each in extraction.nodes}
    assert all({each.source_ref, each.target_ref} <= refs for each in extraction.edges)
    json.dumps([dict(each.attributes) for each in extraction.nodes], allow_nan=False).encode()


@given(_JSON)
def test_any_json_but_an_extraction_is_rejected(value: Any) -> None:
    with pytest.raises(Rejected) as caught:
        validate(value, LIMITS)
    assert caught.value.problems


def _pairs(**values: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in values.items()]
