"""The scripted model of the cost benchmark understands what Graphiti and kgsvc really ask."""

import os
import warnings
from typing import Any

import pytest

from bench.perfect_reader import PerfectReader
from bench.planted import Corpus, Line, PlantedFact, corpus
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.domain.resolution.decisions import (
    FactQuestion,
    KnownEntity,
    KnownFact,
    NodeQuestion,
    NodeResolution,
    ResolutionRequest,
)
from kgsvc.models.openai.resolver import Answers
from kgsvc.models.openai.validation import validate
from kgsvc.models.prompts import extraction, resolution
from tests.support.scripted_openai import Outcome, Request
from tests.support.scripted_openai.script import episode_text
from tests.support.verdicts import judged

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"  # before the first import
with warnings.catch_warnings(action="ignore"):
    from graphiti_core.prompts import prompt_library
    from graphiti_core.prompts.dedupe_edges import EdgeDuplicate
    from graphiti_core.prompts.dedupe_nodes import NodeResolutions
    from graphiti_core.prompts.extract_edges import ExtractedEdges
    from graphiti_core.prompts.extract_nodes import ExtractedEntities, SummarizedEntities


@pytest.fixture
def planted() -> Corpus:
    return corpus(100)


@pytest.fixture
def reader(planted: Corpus) -> PerfectReader:
    return PerfectReader(planted)


def ask(reader: PerfectReader, schema: str, messages: list[Any]) -> Any:
    """Its answer to such a request."""
    said = [each if isinstance(each, dict) else each.model_dump() for each in messages]
    form = {"type": "json_schema", "json_schema": {"name": schema, "schema": {}}}
    body = {"messages": said, "response_format": form}
    answer = reader(Request("chat", {}, body, episode_text(body)))
    assert not reader.surprises
    return answer


def changed(planted: Corpus) -> tuple[PlantedFact, PlantedFact]:
    """A fact, and the one that took its place."""
    return next(
        (one, other)
        for one in planted.facts.values()
        for other in planted.facts.values()
        if one.relation == "WORKS_AT" and one.end == other.start and planted.conflict(one, other)
    )


def texts(planted: Corpus, fact: PlantedFact) -> list[str]:
    return [t.text for line in planted.lines for t in line.tellings if t.fact == fact.id]


def repeated(planted: Corpus) -> tuple[str, str]:
    """Two texts for one fact."""
    found = (sorted(set(texts(planted, fact))) for fact in planted.facts.values())
    first, second, *_ = next(each for each in found if len(each) > 1)
    return first, second


def graphiti_context(line: Line) -> dict[str, Any]:
    return {
        "episode_content": line.body,
        "previous_episodes": [{"content": "Bob: hello", "timestamp": "2025-01-01T00:00:00Z"}],
        "entity_types": [],
        "custom_extraction_instructions": "",
        "reference_time": line.at,
    }


def test_kgsvc_gets_an_extraction_that_it_accepts(reader: PerfectReader, planted: Corpus) -> None:
    for line in planted.lines:
        episode = Episode("e1", "g", line.body, Source.MESSAGE, line.at_ms, line.at_ms, role=line.role)
        said = extraction.messages(ExtractionRequest(episode), 4_000)
        found = validate(ask(reader, "episode_extraction", said), Limits()).extraction
        assert [node.name for node in found.nodes] == list(planted.names(line).values())
        assert {edge.fact for edge in found.edges} == {telling.text for telling in line.tellings}
    assert {call.kind for call in reader.calls} == {"extract"}


def test_kgsvc_gets_names_and_facts_told_apart(reader: PerfectReader, planted: Corpus) -> None:
    former, current = changed(planted)
    same, again = repeated(planted)
    old, new = texts(planted, former)[0], texts(planted, current)[0]
    nodes = (
        NodeQuestion(0, "NSO", candidates=(0, 1)),
        NodeQuestion(1, "Bob Smith", candidates=(1,)),
        NodeQuestion(2, "Robert J. Smith", peers=(0, 1)),
    )
    facts = (
        FactQuestion(0, again, "R", 1, compare_with=(0, 1)),
        FactQuestion(1, new, "WORKS_AT", 1, compare_with=(0, 1)),
    )
    entities = (KnownEntity(0, "National Survey Office"), KnownEntity(1, "Tara Robert"))
    known = (KnownFact(0, same, "R"), KnownFact(1, old, "WORKS_AT"))
    request = ResolutionRequest("g", nodes, entities, facts, known)
    said = resolution.messages(request, nodes, facts, 4_000)
    found = Answers(nodes, facts, Limits()).read(ask(reader, "resolutions", said))
    assert found.nodes == {
        0: NodeResolution(0, None, "National Survey Office"),
        1: NodeResolution(),
        2: NodeResolution(None, 1),
    }
    assert found.facts == {0: judged(repeats=[0]), 1: judged(replaced=[1])}


def test_graphiti_gets_entities_and_facts(reader: PerfectReader, planted: Corpus) -> None:
    for line in planted.lines:
        context = graphiti_context(line)
        said = prompt_library.extract_nodes.extract_message(context)
        entities = ExtractedEntities(**ask(reader, "ExtractedEntities", said)).extracted_entities
        names = [entity.name for entity in entities]
        assert names == list(planted.names(line).values())
        said = prompt_library.extract_edges.edge({**context, "nodes": [{"name": n} for n in names]})
        edges = ExtractedEdges(**ask(reader, "ExtractedEdges", said)).edges
        assert [edge.fact for edge in edges] == [telling.text for telling in line.tellings]
        assert {name for e in edges for name in (e.source_entity_name, e.target_entity_name)} <= set(names)


def test_graphiti_gets_names_and_facts_told_apart(reader: PerfectReader, planted: Corpus) -> None:
    former, current = changed(planted)
    same, again = repeated(planted)
    old, new = texts(planted, former)[0], texts(planted, current)[0]
    context = graphiti_context(planted.lines[0]) | {
        "extracted_nodes": [{"id": 0, "name": "NSO"}, {"id": 1, "name": "Bob Smith"}],
        "existing_nodes": [
            {"candidate_id": 0, "name": "Tara Robert"},
            {"candidate_id": 1, "name": "National Survey Office"},
        ],
    }
    said = prompt_library.dedupe_nodes.nodes(context)
    found = NodeResolutions(**ask(reader, "NodeResolutions", said)).entity_resolutions
    assert [each.duplicate_candidate_id for each in found] == [1, -1]
    facts = {
        "existing_edges": [{"idx": 0, "fact": same}],
        "edge_invalidation_candidates": [{"idx": 1, "fact": old}],
    }
    for text, duplicates, contradicted in ((again, [0], []), (new, [], [1])):
        said = prompt_library.dedupe_edges.resolve_edge({**facts, "new_edge": text})
        answer = EdgeDuplicate(**ask(reader, "EdgeDuplicate", said))
        assert (answer.duplicate_facts, answer.contradicted_facts) == (duplicates, contradicted)


def test_graphiti_gets_summaries(reader: PerfectReader, planted: Corpus) -> None:
    line = planted.lines[0]
    context = graphiti_context(line) | {"entities": [{"name": line.role, "summary": "Known."}]}
    said = prompt_library.extract_nodes.extract_summaries_batch(context)
    found = SummarizedEntities(**ask(reader, "SummarizedEntities", said)).summaries
    assert found[0].summary.startswith("Known. ")


def test_what_nobody_foresaw_is_refused_and_noted(reader: PerfectReader) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    assert isinstance(reader(Request("chat", {}, body, "Hello")), Outcome)
    assert len(reader.surprises) == 1
    assert not reader.calls
