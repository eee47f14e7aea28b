"""What each tool does: calls of the service, and its answers as text for a model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import grpc

from kgsvc.cli.agents import arguments as args
from kgsvc.cli.chats import timestamp
from kgsvc.cli.client import CallRefused, Service, accepted
from kgsvc.cli.entity import entity_as_lines, history_as_lines, known
from kgsvc.cli.show import day, facts_as_lines, place_of, printable
from kgsvc.v1 import admin_pb2 as adm
from kgsvc.v1 import documents_pb2 as doc
from kgsvc.v1 import ingestion_pb2 as ing
from kgsvc.v1 import retrieval_pb2 as ret
from kgsvc.v1.types_pb2 import (
    ITEM_STATE_PARKED,
    ROLE_TYPE_USER,
    SOURCE_TEXT,
    EpisodeItem,
    FactResult,
    MemoryMessage,
    Message,
)

_WAIT_S = 10.0  # for a text to be read; reading goes on without anybody waiting
_UNDERSTOOD = 10  # facts among which those of a new text are looked for
_FACTS = 50  # of an entity, or of the resource
_LATEST = 20  # texts of the resource
_SHOWN = 2_000  # characters of a text word for word
_QUERY_CHARS = 1_000  # of each of the latest texts, to find what is known about them
_CONTEXT_ALONE = "input.only_need_context"  # refused without it: there is no model
_SCOPES = {
    "facts": None,
    "episodes": ret.SEARCH_SCOPE_EPISODES,
    "documents": ret.SEARCH_SCOPE_CHUNKS,
}


@dataclass(frozen=True, slots=True)
class Memory:
    """A group of the service, as one caller sees it. Everything raises CallRefused."""

    service: Service
    group: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    async def remember(self, given: args.Remember) -> str:
        """Store a text, wait a while until it is read, and tell what was understood."""
        added = await self._add(given, timestamp(given.happened_at or self.now()))
        uuid, there = added.items[0].uuid, added.items[0].duplicate
        stored = f"Stored as episode {uuid}{', which the memory had already' if there else ''}"
        try:
            item = await self._read(added.receipt_id, min(_WAIT_S, self.service.timeout_s / 2))
            if item is None:
                return f"{stored}; it is still being read."
            facts = [] if item.state == ITEM_STATE_PARKED else await self._near(given.text)
        except CallRefused as error:  # it is stored all the same
            return f"{stored}. What was understood cannot be told: {error.code}: {error.said}"
        if item.state == ITEM_STATE_PARKED:
            reason = f"{printable(item.reason)}; an operator can start it again with `kgsvc retry`"
            raise CallRefused(f"{stored}, but it could not be read: {reason}", "PARKED")
        lines = [*facts_as_lines(fact for fact in facts if uuid in fact.episodes)]
        return "\n".join([f"{stored}.", *(["Understood:"] if lines else []), *lines])

    async def _add(self, given: args.Remember, time: Any) -> Any:
        if given.said_by is None:
            item = EpisodeItem(source=SOURCE_TEXT, body=given.text, reference_time=time)
            episodes = ing.AddEpisodesInput(group_id=self.group, items=[item])
            request = ing.AddEpisodesRequest(input=episodes)
            return (await self.service.call(self.service.ingestion.AddEpisodes, request)).output
        said = Message(role_type=ROLE_TYPE_USER, role=given.said_by, content=given.text, timestamp=time)
        messages = ing.AddMessagesInput(group_id=self.group, messages=[said])
        call = self.service.ingestion.AddMessages
        return (await self.service.call(call, ing.AddMessagesRequest(input=messages))).output

    async def _read(self, receipt_id: str, within_s: float) -> Any:
        """The only item of a receipt once it is done; None: it takes longer."""
        wanted = ing.WatchReceiptRequest(input=ing.WatchReceiptInput(receipt_id=receipt_id))
        watch = self.service.ingestion.WatchReceipt(wanted, metadata=self.service.metadata)
        item, done = None, False
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    async for response in watch:
                        told = accepted(response).output
                        item, done = next(iter(told.items), item), told.done
        except grpc.aio.AioRpcError as error:
            raise self.service.failure(error) from error
        finally:
            watch.cancel()
        return item if done else None

    async def _near(self, text: str) -> list[FactResult]:
        wanted = ret.SearchGraphInput(
            group_ids=[self.group], query=text[:_QUERY_CHARS], max_results=_UNDERSTOOD
        )
        call = self.service.retrieval.SearchGraph
        found = (await self.service.call(call, ret.SearchGraphRequest(input=wanted))).output
        return [hit.fact for hit in found.facts]

    async def recall(self, given: args.Recall) -> str:
        """What a search finds."""
        wanted = ret.SearchGraphInput(
            group_ids=[self.group],
            query=given.query,
            search_type=_SCOPES[given.look_in],
            max_results=given.limit,
            filters=_filters(given.true_at, given.known_at),
        )
        call = self.service.retrieval.SearchGraph
        found = (await self.service.call(call, ret.SearchGraphRequest(input=wanted))).output
        return "\n".join(_found_as_lines(found)) or f"Nothing found in the {given.look_in} of this memory."

    async def ask(self, given: args.Ask) -> str:
        """An answer in words with what it cites; without a model, what bears on the question."""
        wanted = ret.AskInput(
            group_ids=[self.group],
            question=given.question,
            filters=_filters(given.true_at, given.known_at),
        )
        try:
            return "\n".join(_answer_as_lines(await self._asked(wanted)))
        except CallRefused as error:
            if [field for field, _ in error.fields] != [_CONTEXT_ALONE]:
                raise
        wanted.only_need_context = True
        context = (await self._asked(wanted)).context or "Nothing."
        return f"This service has no model that writes answers. What bears on the question:\n{context}"

    async def _asked(self, wanted: ret.AskInput) -> ret.AskResult:
        service = self.service
        stream = service.retrieval.Ask(
            ret.AskRequest(input=wanted), timeout=service.timeout_s, metadata=service.metadata
        )
        result = ret.AskResult()
        try:
            async for response in stream:
                result = accepted(response).output.result
        except grpc.aio.AioRpcError as error:
            raise service.failure(error) from error
        return result

    async def correct(self, given: args.Correct) -> str:
        """Another wording of a fact, or none: it was never true."""
        if given.text is None:
            return await self._retract(given)
        wanted = adm.UpdateFactInput(
            uuid=given.fact, group_id=self.group, fact=given.text, reason=given.reason
        )
        request = adm.UpdateFactRequest(input=wanted)
        done = (await self.service.call(self.service.admin.UpdateFact, request)).output
        return "\n".join([done.message, *facts_as_lines([done.new_edge])])

    async def _retract(self, given: args.Correct) -> str:
        wanted = adm.RetractFactInput(uuid=given.fact, group_id=self.group, reason=given.reason or "")
        request = adm.RetractFactRequest(input=wanted)
        done = (await self.service.call(self.service.admin.RetractFact, request)).output
        return "\n".join([done.message, *history_as_lines([done.edge])])

    async def forget(self, given: args.Forget) -> str:
        """One thing less."""
        admin, group = self.service.admin, self.group
        match given.kind:
            case "fact":
                fact = adm.DeleteEntityEdgeInput(uuid=given.id, group_id=group)
                request = adm.DeleteEntityEdgeRequest(input=fact)
                return (await self.service.call(admin.DeleteEntityEdge, request)).output.message
            case "episode":
                episode = adm.DeleteEpisodeInput(uuid=given.id, group_id=group, cascade=True)
                gone = await self.service.call(admin.DeleteEpisode, adm.DeleteEpisodeRequest(input=episode))
                counts = f"{gone.output.facts_removed} facts and {gone.output.entities_removed} entities"
                return f"{gone.output.message}; {counts} went with it"
            case "document":
                document = doc.DeleteDocumentInput(document_id=given.id, group_id=group)
                wanted = doc.DeleteDocumentRequest(input=document)
                return (await self.service.call(admin.DeleteDocument, wanted)).output.message

    async def history(self, given: args.History) -> str:
        """The facts before and after one."""
        wanted = ret.GetFactHistoryInput(uuid=given.fact, group_id=self.group)
        call = self.service.retrieval.GetFactHistory
        found = (await self.service.call(call, ret.GetFactHistoryRequest(input=wanted))).output
        return "\n".join(history_as_lines(found.facts))

    async def entity(self, given: args.Entity) -> str:
        """All that is known of a thing."""
        return "\n".join(entity_as_lines(await known(self.service, given.name, self.group, _FACTS)))

    async def read(self) -> str:
        """The resource: what was told lately, and what is known about it."""
        wanted = ret.GetEpisodesInput(group_id=self.group, last_n=_LATEST)
        request = ret.GetEpisodesRequest(input=wanted)
        told = (await self.service.call(self.service.retrieval.GetEpisodes, request)).output.episodes
        if not told:
            return "This memory is empty."
        messages = [
            MemoryMessage(
                role_type=ROLE_TYPE_USER, content=each.body[:_QUERY_CHARS], timestamp=each.reference_time
            )
            for each in told
        ]
        about = ret.GetMemoryInput(group_id=self.group, messages=messages, max_facts=_FACTS)
        call = self.service.retrieval.GetMemory
        facts = (await self.service.call(call, ret.GetMemoryRequest(input=about))).output.facts
        for fact in facts:
            fact.ClearField("score")
        texts = [f"  {day(each.reference_time)} · {_text(each.body)} · episode {each.uuid}" for each in told]
        return "\n".join(["Told lately, oldest first:", *texts, "Known about it:", *facts_as_lines(facts)])


def _filters(true_at: datetime | None, known_at: datetime | None) -> ret.SearchFilters:
    return ret.SearchFilters(
        valid_as_of=None if true_at is None else timestamp(true_at),
        known_as_of=None if known_at is None else timestamp(known_at),
    )


def _found_as_lines(found: ret.SearchGraphOutput) -> Iterator[str]:
    yield from facts_as_lines(hit.fact for hit in found.facts)
    for rank, told in enumerate(found.episodes, 1):
        yield f"{rank:>3}. {_text(told.episode.body)}"
        yield f"     {day(told.episode.reference_time)} · episode {told.episode.uuid}"
    for rank, part in enumerate(found.chunks, 1):
        yield f"{rank:>3}. {_text(part.chunk.content)}"
        yield f"     {place_of(part.chunk)} · document {printable(part.chunk.full_doc_id)}"


def _answer_as_lines(result: ret.AskResult) -> Iterator[str]:
    yield "\n".join(map(printable, result.answer.split("\n")))
    if not result.known:
        yield "(The memory does not hold the answer.)"
    if result.truncated:
        yield "(The answer broke off at the model's limit.)"
    for cited in result.citations:
        kind = ret.CitationKind.Name(cited.kind).removeprefix("CITATION_KIND_").lower()
        yield f"[{cited.number}] {_text(cited.text)} · {kind} {cited.uuid}"


def _text(text: str) -> str:
    """A text on one line, so that nothing in it passes for a line of ours."""
    line = printable(text)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
