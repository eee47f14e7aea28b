"""Resolutions by a model: exactly one for each question, with numbers that were offered to it.

Nothing is guessed: an answer with an unknown id or a number that was not offered is left out, and asked for
again as one that is missing is; of two with one id the first counts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any, TypeVar

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
from kgsvc.models.openai import normalisations, values
from kgsvc.models.openai.chat import AnswerForm, Chat, ChatTask, ChatUser, together
from kgsvc.models.openai.transport import batches
from kgsvc.models.openai.validation import NUMBER, Rejected, arrays, one_of, structure
from kgsvc.models.openai.values import BadValue, ExactObject, Instant, a_text
from kgsvc.models.prompts import resolution as prompts
from kgsvc.models.protocol import Operation, Resolved, Trouble

_NUMBER_OR_NULL = {"type": ["integer", "null"]}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_PROBLEMS = 12
_ENTRIES = 240  # of a kind in one reply, those that nobody asked for included


class _Reply(ExactObject):
    nodes: Any
    facts: Any


class _NodeVerdict(ExactObject):
    id: int
    same_as_known: int | None
    same_as_new: int | None
    also_known: list[int]
    also_new: list[int]
    full_name: Annotated[str, a_text("name")] | None


class _Judged(ExactObject):
    idx: int
    verdict: Annotated[Verdict, values.one_of(Verdict)]
    since: Instant


class _Fact(ExactObject):
    id: int
    verdicts: list[_Judged]
    fact_type: str | None = None


def schema(typed: bool) -> dict[str, Any]:
    """The form of an answer; `typed`: some question offers fact types."""
    node = structure(
        id=NUMBER,
        same_as_known=_NUMBER_OR_NULL,
        same_as_new=_NUMBER_OR_NULL,
        also_known=arrays(NUMBER),
        also_new=arrays(NUMBER),
        full_name=_TEXT_OR_NULL,
    )
    fact_type = {"fact_type": _TEXT_OR_NULL} if typed else {}
    judged = structure(idx=NUMBER, verdict=one_of(Verdict), since=_TEXT_OR_NULL)
    fact = structure(id=NUMBER, verdicts=arrays(judged), **fact_type)
    return structure(nodes=arrays(node), facts=arrays(fact))


Question = TypeVar("Question", NodeQuestion, FactQuestion)
Found = TypeVar("Found")
_NULLABLE = ("same_as_known", "same_as_new", "full_name", "fact_type")


class Answers:
    """The answers to the questions of one call. One that cannot be taken counts as not given: it is asked for
    again, and those that could be taken stand, also where the next reply holds others."""

    def __init__(self, nodes: Sequence[NodeQuestion], facts: Sequence[FactQuestion], limits: Limits) -> None:
        self._nodes = {question.id: question for question in nodes}
        self._facts = {question.id: question for question in facts}
        self._limits = limits
        self._found = Resolutions({}, {})
        self.put_right: list[Trouble] = []  # in the last reply; entries that nobody asked for included

    def read(self, reply: object) -> Resolutions:
        """One resolution for each question. Raises Rejected while one is missing."""
        try:
            root = values.read(_Reply, reply)
        except BadValue as bad:
            raise Rejected(f"the answer {bad.field} {bad.problem}", kind=Trouble.MALFORMED) from None
        self.put_right, problems = [], list[str]()
        nodes = self._each("nodes", root.nodes, self._nodes, partial(_node, limits=self._limits), problems)
        facts = self._each("facts", root.facts, self._facts, _fact, problems)
        self._found = Resolutions({**nodes, **self._found.nodes}, {**facts, **self._found.facts})
        missing = [
            f"{path} must answer every id exactly once, {len(left)} are missing"
            for path, left in (
                ("nodes", self._nodes.keys() - self._found.nodes.keys()),
                ("facts", self._facts.keys() - self._found.facts.keys()),
            )
            if left
        ]
        if missing:
            raise Rejected(*[*missing, *problems][:_PROBLEMS], kind=Trouble.WRONG_IDS)
        return self._found

    def _each(
        self,
        path: str,
        raw: object,
        questions: Mapping[int, Question],
        read: Callable[[Question, Any], Found],
        problems: list[str],
    ) -> dict[int, Found]:
        found: dict[int, Found] = {}
        try:
            entries = values.listed(raw, path, _ENTRIES)
        except BadValue as bad:
            problems.append(f"{path} {bad.problem}")
            return found
        seen: set[int] = set()
        for at, entry in enumerate(entries):
            try:
                id = _id(entry, questions)
                if id in seen:
                    self.put_right.append(Trouble.REPEATED)
                    continue
                seen.add(id)
                found[id] = read(questions[id], self._mended(entry))
            except BadValue as bad:
                problems.append(f"{path}[{at}].{bad.field} {bad.problem}")
                self.put_right.append(Trouble.UNKNOWN_REF)
        return found

    def _mended(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The entry with empty values as null, and times as the table of normalisations has them."""
        empty = [
            field for field in _NULLABLE if isinstance(entry.get(field), str) and not entry[field].strip()
        ]
        self.put_right += [Trouble.EMPTY_VALUE] * len(empty)
        mended = {**entry, **dict.fromkeys(empty)}
        if isinstance(entry.get("verdicts"), list):
            mended["verdicts"] = [self._with_time(each) for each in entry["verdicts"]]
        return mended

    def _with_time(self, verdict: object) -> object:
        if not isinstance(verdict, dict) or not isinstance(verdict.get("since"), str):
            return verdict
        since, kind = normalisations.time(verdict["since"].strip())
        self.put_right += [kind] if kind else []
        return {**verdict, "since": since}


def _id(entry: object, asked: Container[int]) -> int:
    given = entry.get("id") if isinstance(entry, dict) else None
    if type(given) is not int or given not in asked:
        raise BadValue("id", "is not an id that is asked about")
    return given


def _node(question: NodeQuestion, raw: Any, limits: Limits) -> NodeResolution:
    given = values.read(_NodeVerdict, raw, limits)
    entity = _offered(given.same_as_known, "same_as_known", question.candidates)
    node = _offered(given.same_as_new, "same_as_new", question.peers)
    if entity is not None and node is not None:
        raise BadValue("same_as_new", "must be null where same_as_known is not")
    also_known = _several(given.also_known, "also_known", question.candidates, entity)
    also_new = _several(given.also_new, "also_new", question.peers, node)
    if also_known and entity is None:
        raise BadValue("also_known", "must be empty where same_as_known is null")
    if also_new and entity is None and node is None:
        raise BadValue("also_new", "must be empty where both same_as_known and same_as_new are null")
    return NodeResolution(entity, node, given.full_name or None, also_known, also_new)


def _fact(question: FactQuestion, raw: Any) -> FactResolution:
    given = values.read(_Fact, raw)
    if question.fact_types and "fact_type" not in given.model_fields_set:
        raise BadValue("fact_type", "is missing")
    if given.fact_type is not None and given.fact_type not in question.fact_types:
        raise BadValue("fact_type", "is not among the types offered to this question")
    verdicts: dict[int, tuple[Verdict, int | None]] = {}
    for said in given.verdicts:
        if said.idx in verdicts:
            raise BadValue("verdicts", "holds one known fact twice")
        _offered(said.idx, "verdicts", question.compare_with)
        verdicts[said.idx] = (said.verdict, said.since)
    # A fact repeats one other: where several say the same already, the first that is named.
    for idx in [idx for idx, (verdict, _) in verdicts.items() if verdict in SAME][1:]:
        del verdicts[idx]
    return FactResolution(verdicts, given.fact_type)


def _several(given: Sequence[int], field: str, offered: Sequence[int], but: int | None) -> tuple[int, ...]:
    """The numbers of a list, each once, ascending, without `but`."""
    for number in given:
        _offered(number, field, offered)
    return tuple(sorted(set(given) - {but}))


def _offered(number: int | None, field: str, offered: Sequence[int]) -> int | None:
    if number is not None and number not in offered:
        raise BadValue(field, "is not among the numbers offered to this question")
    return number


QUESTIONS = 120  # at most so many nodes, and so many facts, in one call
_CHARS = 40_000  # at most so many of all nodes of one call, and of all its facts
_FORM = AnswerForm("resolutions", schema(typed=False))
_TYPED_FORM = AnswerForm("resolutions", schema(typed=True))

Share = tuple[Sequence[NodeQuestion], Sequence[FactQuestion]]


class OpenAIResolver(ChatUser):
    """A Resolver (models/protocol.py) on an OpenAI-compatible server."""

    def __init__(self, chat: Chat, limits: Limits) -> None:
        super().__init__(chat)
        self._limits = limits

    async def resolve(self, request: ResolutionRequest) -> Resolved:
        """See Resolver. More than 120 questions of a kind, or very long ones, take several calls at once."""
        calls = [self._ask(request, nodes, facts) for nodes, facts in _parts(request)]
        answers = await together(calls, lambda answer: answer[1])
        nodes = {id: found for answer, _ in answers for id, found in answer.nodes.items()}
        facts = {id: found for answer, _ in answers for id, found in answer.facts.items()}
        return Resolved(Resolutions(nodes, facts), sum((usage for _, usage in answers), FREE))

    async def _ask(
        self, request: ResolutionRequest, nodes: Sequence[NodeQuestion], facts: Sequence[FactQuestion]
    ) -> tuple[Resolutions, Usage]:
        messages = prompts.messages(request, nodes, facts, self._chat.settings.context_chars)
        answers = Answers(nodes, facts, self._limits)
        form = _TYPED_FORM if any(fact.fact_types for fact in facts) else _FORM
        task = ChatTask(Operation.RESOLVE, request.group_id, messages, form, answers.read)
        found, usage = await self._chat.ask(task)
        for kind in answers.put_right:
            self._chat.meter.trouble(Operation.RESOLVE, kind)
        return found, usage


def _parts(request: ResolutionRequest) -> Iterator[Share]:
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
