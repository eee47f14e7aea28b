"""Ask where there is no model, or one that fails: which error, and what was sent before it."""

from collections.abc import AsyncGenerator
from typing import Any, cast

import grpc
import pytest

from kgsvc.domain.errors import ModelOutputInvalid, ModelUnavailable, StepError
from kgsvc.domain.model.graph import Episode, Source
from kgsvc.models.protocol import Question, Written
from kgsvc.search.context.lines import ContextLine
from kgsvc.search.engine import Searched
from kgsvc.search.results import GraphQuery
from kgsvc.v1 import envelope_pb2
from kgsvc.v1 import retrieval_pb2 as ret
from tests.support.client import CALL_S, Client
from tests.support.contract import request_of
from tests.support.served import Serve


class Failing:
    """An answerer that writes some words, then fails."""

    def __init__(self, error: StepError) -> None:
        self._error = error

    async def answer(self, question: Question) -> AsyncGenerator[str | Written, None]:
        yield "Ann "
        yield "works."
        raise self._error

    async def close(self) -> None:
        """Nothing."""


class OneLine:
    """A search that finds one episode."""

    async def search_for_context(self, query: GraphQuery) -> Searched:
        return Searched(query, [], cast(Any, None))

    async def context(self, searched: Searched, chars: int, mark_chars: int) -> list[ContextLine]:
        return [ContextLine("Ann works.", Episode("e", "g", "Ann works.", Source.TEXT, 0, 0))]


def asked(**wanted: object) -> ret.AskRequest:
    made: ret.AskRequest = request_of("Ask", group_ids=["g"], question="Where does Ann work?", **wanted)
    return made


async def test_without_a_model_only_the_context_may_be_asked_for(client: Client) -> None:
    (refusal,) = [each async for each in client.retrieval.Ask(asked(), timeout=CALL_S)]
    assert refusal.error.error_code == "INVALID_ARGUMENT"
    assert [each.field for each in refusal.error.field_violations] == ["input.only_need_context"]
    alone = asked(only_need_context=True)
    (answer,) = [each async for each in client.retrieval.Ask(alone, timeout=CALL_S)]
    assert answer.status == envelope_pb2.STATUS_OK
    assert answer.output.result.context == ""


@pytest.mark.parametrize(
    ("error", "says_so"),
    [
        (ModelUnavailable("the model server limits the rate (HTTP 429)", 7_000), "limits the rate"),
        (ModelOutputInvalid("the model refused to answer"), "refused to answer"),
    ],
)
async def test_a_model_that_fails_ends_the_stream_with_a_status(
    error: StepError, says_so: str, serve: Serve
) -> None:
    async with serve(answerer=Failing(error), search=OneLine()) as stack:
        call = stack.client.retrieval.Ask(asked(), timeout=CALL_S)
        pieces: list[Any] = [await call.read(), await call.read()]
        assert "".join(each.output.piece for each in pieces) == "Ann works."
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call.read()
        assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
        assert says_so in str(failed.value.details())
        assert dict(failed.value.trailing_metadata())["kgsvc-error-code"] == "MODEL_UNAVAILABLE"
