"""Extraction by a model. A text that is too long for one call is read in parts, whose results are merged."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kgsvc.domain.errors import StepError
from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import (
    ANY,
    UNKNOWN,
    ExtractedEdge,
    ExtractedNode,
    Extraction,
    ExtractionRequest,
)
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.model.items import ItemWarning
from kgsvc.domain.text import normalise
from kgsvc.models.openai.chat import AnswerForm, Chat, ChatTask, ChatUser, TooLong, together
from kgsvc.models.openai.transport import Work
from kgsvc.models.openai.validation import NAME, Checked, edge_identity, extraction, validate
from kgsvc.models.prompts import extraction as prompts
from kgsvc.models.prompts.extraction import RequestedParts
from kgsvc.models.protocol import Extracted, Operation, Trouble

_BREAKS = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"\n"),
    re.compile(r"""[.!?…]["'”’)\]]*\s|[。！？]"""),  # sentences
    re.compile(r"\s"),
)


def parts(text: str, chars: int) -> list[str]:
    """`text` in order, in parts of at most `chars` characters: cut between paragraphs, else lines, sentences,
    words, else anywhere. Together they are `text`; parts of white space alone are left out."""
    found: list[str] = []
    while len(text) > chars:
        at = max(_breaks(text, chars // 2, chars), default=chars)
        found.append(text[:at])
        text = text[at:]
    return [part for part in (*found, text) if part.strip()]


def halves(text: str) -> list[str]:
    """Two parts of about the same length."""
    middle = len(text) // 2
    near = _breaks(text, middle * 2 // 3, middle * 4 // 3)
    at = min(near, key=lambda end: abs(end - middle), default=middle)
    return [part for part in (text[:at], text[at:]) if part.strip()]


def _breaks(text: str, first: int, last: int) -> list[int]:
    """Where the best kind of break that occurs between `first` and `last` ends."""
    for kind in _BREAKS:
        ends = [found.end() for found in kind.finditer(text, first, last)]
        if ends:
            return ends
    return []


def merged(extractions: Iterable[Extraction]) -> Extraction:
    """One extraction with one node for each name, numbered n1, n2 …, and each statement once. Each was within
    the limits of one answer; of their sum nothing is left out."""
    nodes: dict[str, ExtractedNode] = {}
    edges: dict[object, ExtractedEdge] = {}
    for each in extractions:
        refs: dict[str, str] = {}
        for node in each.nodes:
            key = normalise(node.name)
            if key in nodes:
                nodes[key] = _completed(nodes[key], node)
            else:
                nodes[key] = replace(node, ref=f"n{len(nodes) + 1}")
            refs[node.ref] = nodes[key].ref
        for edge in each.edges:
            linked = replace(edge, source_ref=refs[edge.source_ref], target_ref=refs[edge.target_ref])
            edges.setdefault(edge_identity(linked), linked)
    return Extraction(tuple(nodes.values()), tuple(edges.values()))


def _completed(first: ExtractedNode, second: ExtractedNode) -> ExtractedNode:
    """The first node, with type, summary and attributes of the second where it has none itself."""
    return replace(
        first,
        type=second.type if first.type in {ANY, UNKNOWN} else first.type,
        summary=first.summary or second.summary,
        attributes=first.attributes or second.attributes,
    )


_EARLIER_CHARS = 500  # of the part before, which are sent with a part
_DIVISIBLE_CHARS = 400  # a shorter part is not divided further
_WARNINGS = 64
_DIVISIONS = 4  # how often a part is halved: into at most 16


@dataclass(frozen=True, slots=True)
class _BodyPart:
    """A body, or a part of one; `earlier` is the end of the text before it, None for a whole body."""

    request: ExtractionRequest
    earlier: str | None = None
    divisions: int = 0
    work: Work = field(default_factory=Work)  # of all parts


class OpenAIExtractor(ChatUser):
    """An Extractor (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat, limits: Limits) -> None:
        super().__init__(chat)
        self._limits = limits
        self.costs_model_calls = True

    async def extract(self, requests: Sequence[ExtractionRequest]) -> list[Extracted | Exception]:
        """One result or StepError for each request, in order (see models/protocol.py)."""
        done = await asyncio.gather(*map(self._extract, requests), return_exceptions=True)
        results: list[Extracted | Exception] = []
        for result in done:
            if isinstance(result, Extracted | Exception):
                results.append(result)
            else:
                raise result
        return results

    async def _extract(self, request: ExtractionRequest) -> Extracted:
        bodies = parts(request.episode.body, self._chat.settings.body_chars) or [request.episode.body]
        whole = _BodyPart(request)
        if len(bodies) == 1:
            return await self._read_part(whole)
        return await self._read_parts(_divided(whole, bodies))

    async def _read_parts(self, divided: Sequence[_BodyPart]) -> Extracted:
        """The merged extraction of all parts. Raises the first StepError, with the cost of all."""
        self._chat.meter.trouble(Operation.EXTRACT, Trouble.SPLIT)
        read = await together(map(self._read_part, divided), lambda result: result.usage)
        usage = sum((result.usage for result in read), FREE)
        warnings = [_below(f"parts[{at}].", result.warnings) for at, result in enumerate(read)]
        found = merged(result.extraction for result in read)
        return Extracted(found, usage, shown(chain(*warnings)))

    async def _read_part(self, part: _BodyPart) -> Extracted:
        try:
            found, usage = await self._ask(part)
        except TooLong as error:
            bodies = halves(part.request.episode.body)
            if part.divisions == _DIVISIONS or len(bodies) < 2 or sum(map(len, bodies)) < _DIVISIBLE_CHARS:
                raise
            try:
                rest = await self._read_parts(_divided(part, bodies))
            except StepError as later:
                later.usage += error.usage
                raise
            return replace(rest, usage=rest.usage + error.usage)
        return await self._reflected(part, found, usage)

    async def _ask(self, part: _BodyPart) -> tuple[Checked, Usage]:
        if self._chat.settings.two_calls:
            return await self._ask_twice(part)
        group_id, asked = part.request.episode.group_id, self._messages(part)
        return await self._counted(
            ChatTask(Operation.EXTRACT, group_id, asked, _form(part), self._validated, work=part.work)
        )

    async def _ask_twice(self, part: _BodyPart) -> tuple[Checked, Usage]:
        """The entities, then the facts between them."""
        found, cost = await self._ask_half(part, RequestedParts.NODES)
        nodes = merged([found.extraction]).nodes  # so that refs are numbered n1, n2 …
        if not nodes:
            return found, cost
        try:
            facts, more = await self._ask_half(part, RequestedParts.EDGES, nodes)
        except StepError as error:
            error.usage += cost
            raise
        extraction = Extraction(nodes, facts.extraction.edges)
        return Checked(extraction, (*found.warnings, *facts.warnings)), cost + more

    async def _ask_half(
        self, part: _BodyPart, asked: RequestedParts, nodes: Sequence[ExtractedNode] = ()
    ) -> tuple[Checked, Usage]:
        known = prompts.shown(nodes)

        def read(answer: object) -> Checked:
            other = {"edges": []} if asked is RequestedParts.NODES else {"nodes": known}
            return self._validated({**answer, **other} if isinstance(answer, dict) else answer)

        request, chars = part.request, self._chat.settings.context_chars
        messages = prompts.messages(request, chars, part.earlier, asked, known)
        half = AnswerForm(f"{NAME}_{asked}", extraction(request.ontology, asked))
        return await self._counted(
            ChatTask(Operation.EXTRACT, request.episode.group_id, messages, half, read, work=part.work)
        )

    async def _counted(self, task: ChatTask[Checked]) -> tuple[Checked, Usage]:
        """The answer, after what was put right or left out in it is counted."""
        checked, usage = await self._chat.ask(task)
        for warning in checked.warnings:
            self._chat.meter.trouble(task.operation, warning.kind)
        return checked, usage

    async def _reflected(self, part: _BodyPart, checked: Checked, usage: Usage) -> Extracted:
        """What was found, with what the configured rounds of reflexion add. A round that fails is the last
        one; what was found so far is kept."""
        found, warnings = checked.extraction, checked.warnings
        for _ in range(self._chat.settings.reflexion_rounds):
            found = merged([found])  # so that refs are numbered n1, n2 …
            try:
                more, cost = await self._look_again(part, found)
            except StepError as error:
                self._chat.meter.trouble(Operation.REFLEXION, Trouble.REFLEXION_LOST)
                return Extracted(found, usage + error.usage, shown(warnings))
            usage += cost
            warnings += _below("reflexion.", more.warnings)
            known, found = found, merged([found, more.extraction])
            if (len(known.nodes), len(known.edges)) == (len(found.nodes), len(found.edges)):
                break
        return Extracted(found, usage, shown(warnings))

    async def _look_again(self, part: _BodyPart, found: Extraction) -> tuple[Checked, Usage]:
        known = prompts.shown(found.nodes)

        def read(answer: object) -> Checked:
            if isinstance(answer, dict) and isinstance(answer.get("nodes"), list):
                answer = {**answer, "nodes": [*known, *answer["nodes"]]}
            return self._validated(answer)

        asked = prompts.reflexion_messages(self._messages(part), found)
        group_id = part.request.episode.group_id
        task = ChatTask(
            Operation.REFLEXION, group_id, asked, _form(part), read, repaired=False, work=part.work
        )
        return await self._counted(task)

    def _messages(self, part: _BodyPart) -> list[dict[str, str]]:
        return prompts.messages(part.request, self._chat.settings.context_chars, part.earlier)

    def _validated(self, answer: object) -> Checked:
        return validate(answer, self._limits)


def shown(warnings: Iterable[ItemWarning]) -> tuple[ItemWarning, ...]:
    """Those that an item shows: at most 64, what was left out before what was put right."""
    return tuple(sorted(warnings, key=lambda warning: not warning.dropped)[:_WARNINGS])


def _below(path: str, warnings: Iterable[ItemWarning]) -> tuple[ItemWarning, ...]:
    return tuple(replace(warning, path=path + warning.path) for warning in warnings)


def _form(part: _BodyPart) -> AnswerForm:
    return AnswerForm(NAME, extraction(part.request.ontology))


def _divided(part: _BodyPart, bodies: Sequence[str]) -> list[_BodyPart]:
    """A part for each of these bodies, into which the body of `part` was cut."""
    found: list[_BodyPart] = []
    before = part.earlier or ""
    for each in bodies:
        request = replace(part.request, episode=replace(part.request.episode, body=each))
        found.append(_BodyPart(request, before[-_EARLIER_CHARS:], part.divisions + 1, part.work))
        before += each
    return found
