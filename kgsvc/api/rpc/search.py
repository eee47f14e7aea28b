"""SearchFacts and GetMemory, SearchGraph; the sources of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from google.protobuf.message import Message

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.api.rpc.queries import read_context_tokens, read_fact_bounds, read_query
from kgsvc.commands.core import Core
from kgsvc.commands.provenance import Provenance, SourceText
from kgsvc.commands.search import WantedSearch, facts_provenance, search_facts, search_graph
from kgsvc.domain.errors import LimitExceeded, Violation
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, RoleType
from kgsvc.search.engine import Engine
from kgsvc.search.index.episodes import FoundEpisode
from kgsvc.search.index.nodes import FoundEntity
from kgsvc.search.plans import Method, Reason, Reranker, Scope
from kgsvc.search.results import GraphHit, Hit, ScopeAnswer
from kgsvc.v1 import retrieval_pb2, types_pb2

_pb = retrieval_pb2
_SCOPE_NUMBERS = mapping.enum_numbers(_pb.SearchScope, "SEARCH_SCOPE_", Scope)
_METHOD_NUMBERS = mapping.enum_numbers(_pb.SearchMethod, "SEARCH_METHOD_", Method)
_RERANKER_NUMBERS = mapping.enum_numbers(_pb.Reranker, "RERANKER_", Reranker)
_REASON_NUMBERS = mapping.enum_numbers(_pb.RerankerReason, "RERANKER_REASON_", Reason)
_ENVELOPE_BYTES = 1_024  # of a response without its output


class SearchRpcs:
    """The RPCs that search."""

    def __init__(self, core: Core, search: Engine) -> None:
        self._core = core
        self._search = search
        self.rpcs: Rpcs = {
            "SearchFacts": Unary(self._search_facts),
            "GetMemory": Unary(self._get_memory),
            "SearchGraph": Unary(self._search_graph),
        }

    def _search_facts(self, sent: retrieval_pb2.SearchFactsInput, check: RequestCheck) -> Operation:
        group_ids = check.group_ids("input.group_ids", sent.group_ids)
        query = check.required_text("input.query", sent.query, check.limits.query)
        max_facts, center = read_fact_bounds(sent, check)

        async def run() -> Reply:
            hits = await search_facts(self._core, self._search, group_ids, query, max_facts, center)
            return Reply(retrieval_pb2.SearchFactsOutput(facts=fact_results(hits)))

        return run

    def _get_memory(self, sent: retrieval_pb2.GetMemoryInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        bounded = enumerate(check.bounded("input.messages", sent.messages))
        lines = [_line(check, f"input.messages[{i}].", message) for i, message in bounded]
        max_facts, center = read_fact_bounds(sent, check)
        most = check.limits.query

        async def run() -> Reply:
            asked = memory_query(lines, most)
            hits = await search_facts(self._core, self._search, [group_id], asked, max_facts, center)
            output = retrieval_pb2.GetMemoryOutput(facts=fact_results(hits))
            if sent.include_provenance:
                sources = await facts_provenance(self._core, hits, room_of(self._core, output))
                output.provenance.CopyFrom(provenance_message(sources))
            return Reply(output)

        return run

    def _search_graph(self, sent: retrieval_pb2.SearchGraphInput, check: RequestCheck) -> Operation:
        wanted = WantedSearch(
            read_query(sent, check), read_context_tokens(sent, check), sent.include_provenance
        )

        async def run() -> Reply:
            query = replace(wanted.query, ends_s=current_call.get().ends_s)
            filling = _Filling(self._core, sent.include_scores, query.filters.known_at_ms)
            await search_graph(self._core, self._search, replace(wanted, query=query), filling)
            return Reply(filling.output)

        return run


class _Filling:
    """The output of SearchGraph, as far as it is known."""

    def __init__(self, core: Core, scores: bool, known_at_ms: int | None) -> None:
        self.output = retrieval_pb2.SearchGraphOutput()
        self._core = core
        self._scores = scores
        self._known_at_ms = known_at_ms

    @property
    def room(self) -> int:
        return room_of(self._core, self.output)

    def take_results(
        self, answers: Sequence[ScopeAnswer], chunks: Sequence[tuple[SourceText, GraphHit]]
    ) -> None:
        self.output = _output(answers, self._scores, self._known_at_ms)
        for source, hit in chunks:
            by = _found_by(hit, self._scores)
            self.output.chunks.add(chunk=first_place(source), score=hit.score, found_by=by)

    def take_context(self, context: str) -> None:
        self.output.context = context

    def take_provenance(self, sources: Provenance) -> None:
        self.output.provenance.CopyFrom(provenance_message(sources))


def _line(check: RequestCheck, path: str, message: types_pb2.MemoryMessage) -> str:
    check.time(message, path, "timestamp")
    return memory_line(
        check.enum(f"{path}role_type", message.role_type, mapping.ROLE_TYPES, RoleType.USER),
        check.optional_text(message, path, "role", check.limits.role),
        check.body(f"{path}content", message.content),
    )


def memory_line(role_type: RoleType, role: str | None, content: str) -> str:
    """A message in the query of GetMemory."""
    return f"{role_type.value}({role or ''}): {content}\n"


def memory_query(lines: Iterable[str], most: int) -> str:
    """What GetMemory searches for. Raises LimitExceeded when it is longer than `most` characters."""
    query = "".join(lines)
    if len(query) > most:
        problem = f"make a query of {len(query)} characters, at most {most} are allowed"
        raise LimitExceeded(f"messages {problem}", [Violation("messages", problem)])
    return query


def room_of(core: Core, output: Message) -> int:
    """How many bytes a response with `output` has left."""
    return max(0, core.limits.response_bytes - _ENVELOPE_BYTES - output.ByteSize())


def fact_results(hits: Sequence[Hit]) -> list[types_pb2.FactResult]:
    """Facts with their scores."""
    return [mapping.fact_result(hit.fact, hit.score) for hit in hits]


def _output(
    results: Sequence[ScopeAnswer], with_scores: bool, known_at_ms: int | None
) -> retrieval_pb2.SearchGraphOutput:
    """The results, scope by scope; facts as they were known then."""
    output = retrieval_pb2.SearchGraphOutput(ran=map(run_message, results))
    for answer in results:
        for hit in answer.hits if answer.scope is not Scope.CHUNKS else ():
            _add(output, hit, with_scores, known_at_ms)
    if len(results) == 1:
        output.search_type = _SCOPE_NUMBERS[results[0].scope]
    output.count = sum(len(answer.hits) for answer in results)
    output.message = "1 result" if output.count == 1 else f"{output.count} results"
    return output


def run_message(answer: ScopeAnswer) -> retrieval_pb2.ScopeRun:
    """How a scope was searched."""
    return retrieval_pb2.ScopeRun(
        scope=_SCOPE_NUMBERS[answer.scope],
        methods=[_METHOD_NUMBERS[method] for method in answer.methods],
        reranker=_RERANKER_NUMBERS[answer.reranker],
        reason=None if answer.reason is None else _REASON_NUMBERS[answer.reason],
        from_store=answer.from_store,
    )


def _add(
    output: retrieval_pb2.SearchGraphOutput, hit: GraphHit, with_scores: bool, known_at_ms: int | None
) -> None:
    by = _found_by(hit, with_scores)
    if isinstance(hit.item, FoundEntity):
        output.nodes.add(node=_node(hit.item), score=hit.score, found_by=by)
    elif isinstance(hit.item, FoundEpisode):
        output.episodes.add(episode=mapping.episode(hit.item.episode), score=hit.score, found_by=by)
    elif isinstance(hit.item, Community):
        output.communities.add(community=mapping.community(hit.item), score=hit.score, found_by=by)
    else:
        fact = as_known_at(hit.item, known_at_ms)
        output.facts.add(fact=mapping.fact_result(fact), score=hit.score, found_by=by)


def _node(hit: FoundEntity) -> types_pb2.EntityNode:
    node = mapping.entity_node(hit.entity, hit.aliases)
    node.summary_facts[:] = hit.summary_facts
    return node


def _found_by(hit: GraphHit, with_scores: bool) -> list[retrieval_pb2.FoundBy]:
    if not with_scores:
        return []
    return [
        retrieval_pb2.FoundBy(method=_METHOD_NUMBERS[by.method], rank=by.rank, score=by.score)
        for by in hit.found_by
    ]


def provenance_message(provenance: Provenance) -> retrieval_pb2.Provenance:
    """Entities, chunks, episodes and their texts."""
    chunks = (each for each in provenance.sources if each.document is not None)
    episodes = (each for each in provenance.sources if each.document is None)
    return retrieval_pb2.Provenance(
        entities=[_entity(entity, score) for entity, score in provenance.entities],
        chunks=[entry for chunk in chunks for entry in _chunk(chunk)],
        episodes=map(_episode, episodes),
        source_texts=texts_of(provenance.sources),
        left_out=provenance.left_out,
    )


def texts_of(sources: Iterable[SourceText]) -> list[str]:
    """Their texts, each once."""
    return list(dict.fromkeys(each.episode.body for each in sources))


def _entity(entity: Entity, score: float) -> retrieval_pb2.ProvenanceEntity:
    return retrieval_pb2.ProvenanceEntity(
        uuid=entity.uuid,
        entity_name=entity.name,
        score=score,
        description=entity.summary,
        group_id=entity.group_id,
    )


def first_place(chunk: SourceText) -> retrieval_pb2.ProvenanceChunk:
    """A chunk where its document first holds it."""
    return next(_chunk(chunk))


def _chunk(source: SourceText) -> Iterator[retrieval_pb2.ProvenanceChunk]:
    """An entry for each place; one without a place if the present text has none."""
    episode, document = source.episode, source.document
    assert document is not None
    whose = retrieval_pb2.ProvenanceChunk(
        chunk_id=episode.uuid,
        full_doc_id=document.document_id,
        content=episode.body,
        title=document.title,
        group_id=episode.group_id,
    )
    if not source.places:
        yield whose
    for order, place in source.places:
        entry = retrieval_pb2.ProvenanceChunk(
            chunk_order_index=order,
            tokens=place.tokens,
            start=place.start,
            end=place.end,
            page=place.page,
            headings=place.headings,
            last_page=place.last_page,
        )
        entry.MergeFrom(whose)
        yield entry


def _episode(source: SourceText) -> retrieval_pb2.ProvenanceEpisode:
    shown = mapping.episode(source.episode)
    return retrieval_pb2.ProvenanceEpisode(
        uuid=shown.uuid,
        name=source.episode.name,
        source=shown.source,
        reference_time=shown.reference_time,
        content=shown.body,
        group_id=shown.group_id,
    )
