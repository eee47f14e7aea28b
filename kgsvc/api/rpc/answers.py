"""Ask: an answer in words, with what it rests on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Outputs, Rpcs, ServerStream
from kgsvc.api.rpc.queries import read_filters, read_recipe
from kgsvc.api.rpc.search import provenance_message, room_of, run_message, texts_of
from kgsvc.commands.answers import Answer, Cited, Ground, answered, ground
from kgsvc.commands.core import Core
from kgsvc.commands.provenance import (
    Provenance,
    Room,
    documents_of,
    provenance,
    source_texts,
    sources_of,
)
from kgsvc.commands.search import hits_of, timed
from kgsvc.domain.facts.beliefs import as_known_at
from kgsvc.domain.model.communities import Community
from kgsvc.domain.model.graph import Entity, Episode, Fact
from kgsvc.models.protocol import Answerer
from kgsvc.search.context.composing import TOKEN_CHARS
from kgsvc.search.context.lines import Thing, citable
from kgsvc.search.engine import Engine
from kgsvc.search.index.topk import Key
from kgsvc.search.results import GraphQuery
from kgsvc.v1 import retrieval_pb2

_NO_MODEL = "must be set: this service has no model that writes answers"
_KINDS: Mapping[type, retrieval_pb2.CitationKind.ValueType] = {
    Fact: retrieval_pb2.CITATION_KIND_FACT,
    Episode: retrieval_pb2.CITATION_KIND_EPISODE,
    Entity: retrieval_pb2.CITATION_KIND_ENTITY,
    Community: retrieval_pb2.CITATION_KIND_COMMUNITY,
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a caller asks."""

    query: GraphQuery
    chars: int  # of the context, at most
    context_alone: bool
    with_provenance: bool


class AnswerRpcs:
    """Ask. It writes nothing."""

    def __init__(self, core: Core, search: Engine, answerer: Answerer | None) -> None:
        self._core = core
        self._search = search
        self._answerer = answerer
        self.rpcs: Rpcs = {"Ask": ServerStream(self._ask)}

    def _ask(self, sent: retrieval_pb2.AskInput, check: RequestCheck) -> Outputs:
        """Pieces of the answer, then the whole."""
        asked = _read(sent, check)
        if self._answerer is None and not asked.context_alone:
            check.invalid("input.only_need_context", _NO_MODEL)
        return lambda: self._outputs(asked)

    async def _outputs(self, asked: _Asked) -> AsyncGenerator[retrieval_pb2.AskOutput, None]:
        with timed(self._core):
            query = replace(asked.query, ends_s=current_call.get().ends_s)
            on = await ground(self._search, query, asked.chars)
        result = retrieval_pb2.AskResult(ran=map(run_message, on.found))
        if asked.context_alone or self._answerer is None:
            result.context = on.text
        else:
            now_ms = self._core.clock.now_ms()
            async with aclosing(answered(self._answerer, query, on, now_ms)) as parts:
                async for part in parts:
                    if isinstance(part, Answer):
                        await self._fill(result, part, query.filters.known_at_ms)
                    else:
                        yield retrieval_pb2.AskOutput(piece=part)
        await self._add_sources(result, asked, on)
        yield retrieval_pb2.AskOutput(result=result)

    async def _fill(self, result: retrieval_pb2.AskResult, answer: Answer, known_at_ms: int | None) -> None:
        result.answer, result.known = answer.text, answer.known
        result.dropped_citations, result.truncated = answer.dropped, answer.truncated
        usage = mapping.usage(answer.usage)
        if usage is not None:
            result.usage.CopyFrom(usage)
        things = [each.line.of for each in answer.cited]
        episodes = [(each.uuid, each.group_id) for each in things if isinstance(each, Episode)]
        chunks = await documents_of(self._core, episodes)
        result.citations.extend(_citation(each, chunks, known_at_ms) for each in answer.cited)

    async def _add_sources(self, result: retrieval_pb2.AskResult, asked: _Asked, on: Ground) -> None:
        """The texts that the context is made of; with provenance also whose they are."""
        known_at_ms = asked.query.filters.known_at_ms
        sources = sources_of((line.of for line in citable(on.lines)), known_at_ms)
        room = Room(room_of(self._core, result), copies=2 if asked.with_provenance else 0)
        if asked.with_provenance:
            told = await provenance(self._core, hits_of(on.found), room, known_at_ms, sources)
            result.provenance.CopyFrom(provenance_message(told))
        else:
            told = Provenance(sources=tuple(await source_texts(self._core, sources, room, known_at_ms)))
        result.source_texts.extend(texts_of(told.sources))


def _read(sent: retrieval_pb2.AskInput, check: RequestCheck) -> _Asked:
    limits = check.limits
    default, most = limits.max_facts_default, limits.max_facts_bound
    tokens = check.optional_number(
        sent, "input.", "max_tokens", limits.context_tokens_default, limits.context_tokens_bound
    )
    group_ids = check.group_ids("input.group_ids", sent.group_ids)
    query = GraphQuery(
        group_ids=tuple(dict.fromkeys(group_ids)),
        text=check.required_text("input.question", sent.question, limits.query),
        plans=read_recipe(sent, check),
        max_results=check.optional_number(sent, "input.", "max_results", default, most),
        filters=read_filters(sent, check),
        center=check.optional_uuid(sent, "center_node_uuid"),
        max_bytes=limits.response_bytes,
    )
    return _Asked(query, tokens * TOKEN_CHARS, sent.only_need_context, sent.include_provenance)


def _citation(cited: Cited, chunks: Collection[Key], known_at_ms: int | None) -> retrieval_pb2.Citation:
    thing = cited.line.of
    assert thing is not None, "headings have no handle"
    return retrieval_pb2.Citation(
        number=cited.number,
        kind=_kind(thing, chunks),
        uuid=thing.uuid,
        group_id=thing.group_id,
        places=[retrieval_pb2.CitationPlace(start=start, end=end) for start, end in cited.places],
        text=cited.line.text,
        episodes=as_known_at(thing, known_at_ms).episodes if isinstance(thing, Fact) else (),
    )


def _kind(thing: Thing, chunks: Collection[Key]) -> retrieval_pb2.CitationKind.ValueType:
    if isinstance(thing, Episode) and (thing.uuid, thing.group_id) in chunks:
        return retrieval_pb2.CITATION_KIND_CHUNK
    return _KINDS[type(thing)]
