"""Resolutions by a model: exactly one for each question, with numbers that were offered to it.

Nothing is guessed: a missing, doubled or unknown id, or a number that was not offered, rejects the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, TypeVar

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.graph import FREE, Usage
from kgsvc.domain.resolution.decisions import (
    SAME,
    FactQuestion,
    FactResolution,
    NodeQuestion,
    NodeResolution,
    ResolutionRequest,
    Resolutions,
    Verdict,
)
from kgsvc.models.openai import values
from kgsvc.models.openai.chat import AnswerForm, Chat, ChatTask, ChatUser, together
from kgsvc.models.openai.transport import batches
from kgsvc.models.openai.validation import Rejected, arrays, structure
from kgsvc.models.openai.values import Bad
from kgsvc.models.prompts import resolution as prompts
from kgsvc.models.protocol import Operation, Resolved, Trouble

_NUMBER = {"type": "integer"}
_NUMBER_OR_NULL = {"type": ["integer", "null"]}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_PROBLEMS = 12
_FACT_FIELDS = frozenset({"id", "verdicts"})
_NODE_FIELDS = frozenset({"id", "same_as_known", "same_as_new", "also_known", "also_new", "full_name"})


def schema(typed: bool) -> dict[str, Any]:
    """The form of an answer; `typed`: some question offers fact types."""
    node = structure(
        id=_NUMBER,
        same_as_known=_NUMBER_OR_NULL,
        same_as_new=_NUMBER_OR_NULL,
        also_known=arrays(_NUMBER),
        also_new=arrays(_NUMBER),
        full_name=_TEXT_OR_NULL,
    )
    fact_type = {"fact_type": _TEXT_OR_NULL} if typed else {}
    verdict = {"type": "string", "enum": [str(each) for each in Verdict]}
    judged = structure(idx=_NUMBER, verdict=verdict, since=_TEXT_OR_NULL)
    fact = structure(id=_NUMBER, verdicts=arrays(judged), **fact_type)
    return structure(nodes=arrays(node), facts=arrays(fact))


Question = TypeVar("Question", NodeQuestion, FactQuestion)
Found = TypeVar("Found")


def validate(
    answer: object, nodes: Sequence[NodeQuestion], facts: Sequence[FactQuestion], limits: Limits
) -> Resolutions:
    """The resolutions that `answer` holds. Raises Rejected."""
    try:
        root = values.fields(answer, {"nodes", "facts"})
    except Bad as bad:
        raise Rejected(f"the answer {bad.field} {bad.problem}", kind=Trouble.MALFORMED) from None
    problems: list[str] = []
    found = Resolutions(
        _each("nodes", root["nodes"], nodes, lambda q, raw: _node(q, raw, limits), problems),
        _each("facts", root["facts"], facts, _fact, problems),
    )
    if problems:
        raise Rejected(*problems[:_PROBLEMS], kind=Trouble.WRONG_IDS)
    return found


def _each(
    path: str,
    raw: object,
    questions: Sequence[Question],
    read: Callable[[Question, Any], Found],
    problems: list[str],
) -> dict[int, Found]:
    open_questions = {question.id: question for question in questions}
    found: dict[int, Found] = {}
    try:
        for at, entry in enumerate(values.listed(raw, path, len(questions))):
            try:
                question = open_questions.pop(_id(entry, open_questions))
                found[question.id] = read(question, entry)
            except Bad as bad:
                problems.append(f"{path}[{at}].{bad.field} {bad.problem}")
    except Bad as bad:
        problems.append(f"{path} {bad.problem}")
    if open_questions:
        problems.append(f"{path} must answer every id exactly once, {len(open_questions)} are missing")
    return found


def _id(entry: object, open_questions: dict[int, Any]) -> int:
    given = entry.get("id") if isinstance(entry, dict) else None
    if type(given) is not int or given not in open_questions:
        raise Bad("id", "is not an id that is asked about, or is answered twice")
    return given


def _node(question: NodeQuestion, raw: Any, limits: Limits) -> NodeResolution:
    given = values.fields(raw, _NODE_FIELDS)
    entity = _offered(given["same_as_known"], "same_as_known", question.candidates)
    node = _offered(given["same_as_new"], "same_as_new", question.peers)
    if entity is not None and node is not None:
        raise Bad("same_as_new", "must be null where same_as_known is not")
    also_known = _several(given, "also_known", question.candidates, entity)
    also_new = _several(given, "also_new", question.peers, node)
    if also_known and entity is None:
        raise Bad("also_known", "must be empty where same_as_known is null")
    if also_new and entity is None and node is None:
        raise Bad("also_new", "must be empty where both same_as_known and same_as_new are null")
    name = given["full_name"]
    full = None if name is None else values.text(name, "full_name", limits.name) or None
    return NodeResolution(entity, node, full, also_known, also_new)


def _fact(question: FactQuestion, raw: Any) -> FactResolution:
    wanted = _FACT_FIELDS | ({"fact_type"} if question.fact_types else set())
    given = values.fields(raw, wanted, {"fact_type"})
    fact_type = given.get("fact_type")
    if fact_type is not None and fact_type not in question.fact_types:
        raise Bad("fact_type", "is not among the types offered to this question")
    verdicts: dict[int, tuple[Verdict, int | None]] = {}
    for entry in values.listed(given["verdicts"], "verdicts", len(question.compare_with)):
        said = values.fields(entry, {"idx", "verdict", "since"})
        idx = _offered(said["idx"], "verdicts", question.compare_with)
        if idx is None or idx in verdicts:
            raise Bad("verdicts", "holds null, or one known fact twice")
        verdicts[idx] = (
            values.choice(said["verdict"], "verdict", Verdict),
            values.instant(said["since"], "since"),
        )
    # A fact repeats one other at most; a duplicate does not contradict what it repeats (spec 002, 003).
    if sum(verdict in SAME for verdict, _ in verdicts.values()) > 1:
        raise Bad("verdicts", f"holds more than one of {', '.join(sorted(SAME))}")
    return FactResolution(verdicts, fact_type)


def _several(
    given: Mapping[str, Any], field: str, offered: Sequence[int], but: int | None
) -> tuple[int, ...]:
    """The numbers of a list, each once, ascending, without `but`."""
    listed = values.listed(given[field], field, len(offered))
    numbers = {_offered(number, field, offered) for number in listed}
    if None in numbers:
        raise Bad(field, "holds null")
    return tuple(sorted(number for number in numbers if number is not None and number != but))


def _offered(number: object, field: str, offered: Sequence[int]) -> int | None:
    if number is None:
        return None
    if type(number) is not int or number not in offered:
        raise Bad(field, "is not among the numbers offered to this question")
    return number


QUESTIONS = 60  # at most so many nodes, and so many facts, in one call
_CHARS = 40_000  # at most so many of all nodes of one call, and of all its facts
_FORM = AnswerForm("resolutions", schema(typed=False))
_TYPED_FORM = AnswerForm("resolutions", schema(typed=True))

Part = tuple[Sequence[NodeQuestion], Sequence[FactQuestion]]


class OpenAIResolver(ChatUser):
    """A Resolver (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat, limits: Limits) -> None:
        super().__init__(chat)
        self._limits = limits

    async def resolve(self, request: ResolutionRequest) -> Resolved:
        """See Resolver. More than 60 questions of a kind, or very long ones, take several calls at once."""
        calls = [self._ask(request, nodes, facts) for nodes, facts in _parts(request)]
        answers = await together(calls, lambda answer: answer[1])
        nodes = {id: found for answer, _ in answers for id, found in answer.nodes.items()}
        facts = {id: found for answer, _ in answers for id, found in answer.facts.items()}
        return Resolved(Resolutions(nodes, facts), sum((usage for _, usage in answers), FREE))

    async def _ask(
        self, request: ResolutionRequest, nodes: Sequence[NodeQuestion], facts: Sequence[FactQuestion]
    ) -> tuple[Resolutions, Usage]:
        messages = prompts.messages(request, nodes, facts, self._chat.settings.context_chars)
        read = partial(validate, nodes=nodes, facts=facts, limits=self._limits)
        form = _TYPED_FORM if any(fact.fact_types for fact in facts) else _FORM
        return await self._chat.ask(ChatTask(Operation.RESOLVE, request.group_id, messages, form, read))


def _parts(request: ResolutionRequest) -> Iterator[Part]:
    """The questions of each call: usually there is one call."""
    entities = {entity.idx: len(entity.name) + len(entity.summary) for entity in request.entities}
    known = {fact.idx: len(fact.fact) for fact in request.known_facts}

    def node_size(node: NodeQuestion) -> int:
        return len(node.name) + len(node.context) + sum(entities[idx] for idx in node.candidates)

    def fact_size(fact: FactQuestion) -> int:
        return len(fact.fact) + sum(known[idx] for idx in fact.compare_with)

    yield from zip_longest(
        batches(request.nodes, node_size, QUESTIONS, _CHARS),
        batches(request.facts, fact_size, QUESTIONS, _CHARS),
        fillvalue=(),
    )
