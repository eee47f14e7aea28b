"""Ask in short words, and what a scripted model says to it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kgsvc.models.prompts.retrieval import ANSWER_MARK
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import CALL_S, Client, granted
from tests.support.contract import request_of
from tests.support.scripted_openai import Outcome, ScriptedOpenAI, says

_HANDLE = re.compile(r"\[(\d+)\] (.*)", re.DOTALL)


async def ask(
    client: Client, groups: str | Sequence[str], question: str, **wanted: Any
) -> tuple[list[str], ret.AskResult]:
    """The pieces of an answer, and the answer as a whole, which they are."""
    group_ids = [groups] if isinstance(groups, str) else groups
    request = request_of("Ask", group_ids=group_ids, question=question, **wanted)
    outputs = [granted(each).output async for each in client.retrieval.Ask(request, timeout=CALL_S)]
    *pieces, last = outputs
    assert last.HasField("result")
    assert not last.HasField("piece")
    assert not any(each.HasField("result") for each in pieces)
    told = [each.piece for each in pieces]
    assert "".join(told) == last.result.answer
    return told, last.result


def will_say(model: ScriptedOpenAI, outcome: str | Outcome) -> None:
    """The next answer to a question."""
    model.fail(says(outcome) if isinstance(outcome, str) else outcome, match=f"<{ANSWER_MARK}>")


def questions(model: ScriptedOpenAI) -> list[Mapping[str, Any]]:
    """What the model was asked, with the context that it was shown."""
    return [request.question for request in model.chats if request.question is not None]


def handles(lines: Sequence[str]) -> dict[str, int]:
    """The lines of a context that can be cited, with their handles."""
    found = (_HANDLE.fullmatch(line) for line in lines)
    return {match[2]: int(match[1]) for match in found if match}
