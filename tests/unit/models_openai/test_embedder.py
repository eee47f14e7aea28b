"""The embedder through the real client against a scripted server."""

import base64
import json
import struct
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI

from kgsvc.domain.errors import ModelOff, ModelOutputInvalid, ModelUnavailable
from kgsvc.domain.model.graph import Usage
from kgsvc.models.protocol import Embedder
from tests.support.scripted_openai import hanging, rate_limited, reply_body, status
from tests.unit.models_openai.conftest import KEY, Rig


def _body(*vectors: Any, **more: Any) -> str:
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return json.dumps({"data": data, **more})


async def _embed(rig: Rig, body: str, texts: list[str]) -> np.ndarray:
    rig.model.fail(reply_body(body), endpoint="embeddings")
    vectors, _ = await rig.embedder(dimension=2).embed(texts)
    return vectors


async def test_unit_vectors_in_order(rig: Rig) -> None:
    embedder: Embedder = rig.embedder()
    vectors, usage = await embedder.embed(["red apple", "green apple", "blue sky"])
    assert vectors.shape == (3, 64)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert usage.calls == len(rig.model.embeddings) == 1
    assert usage.prompt_tokens > 0


async def test_the_space_names_embedder_model_and_dimension(rig: Rig) -> None:
    embedder: Embedder = rig.embedder(dimension=48)
    assert (embedder.space, embedder.dimension) == ("openai-vec-48", 48)
    assert embedder.costs_model_calls


async def test_dimensions_are_asked_for_only_where_configured(rig: Rig) -> None:
    await rig.embedder().embed(["a"])
    vectors, _ = await rig.embedder(dimension=16, send_dimensions=True).embed(["a"])
    assert vectors.shape == (1, 16)
    assert [call.body.get("dimensions") for call in rig.model.embeddings] == [None, 16]


async def test_equal_texts_are_sent_once_and_wordless_ones_never(rig: Rig) -> None:
    vectors, _ = await rig.embedder().embed(["same", "", "same", " \n", "?!", "other"])
    assert rig.model.embeddings[0].body["input"] == ["same", "other"]
    assert np.array_equal(vectors[0], vectors[2])
    assert not vectors[[1, 3, 4]].any()
    assert vectors[5].any()


async def test_nothing_to_embed_asks_nobody(rig: Rig) -> None:
    vectors, usage = await rig.embedder().embed([])
    assert vectors.shape == (0, 64)
    assert usage == Usage()
    assert rig.model.requests == []


async def test_batches_are_bounded_by_texts_and_by_characters(rig: Rig) -> None:
    texts = ["a1", "b2", "c3", "d" * 50, "e5"]
    vectors, usage = await rig.embedder(batch_texts=2, batch_chars=20).embed(texts)
    assert [call.body["input"] for call in rig.model.embeddings] == [["a1", "b2"], ["c3"], ["d" * 50], ["e5"]]
    assert usage.calls == 4
    alone, _ = await rig.embedder().embed(["e5"])
    assert np.array_equal(vectors[4], alone[0])


async def test_plain_lists_of_numbers_are_understood(rig: Rig) -> None:
    vectors = await _embed(rig, _body([3, 4.0], [0, -2]), ["x", "y"])
    assert np.allclose(vectors, np.array([[0.6, 0.8], [0.0, -1.0]]))


async def test_vectors_are_ordered_by_their_index(rig: Rig) -> None:
    body = json.dumps({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]})
    assert np.array_equal(await _embed(rig, body, ["x", "y"]), [[1, 0], [0, 1]])


async def test_429_and_timeout_heal(rig: Rig) -> None:
    rig.model.fail(rate_limited(retry_after="2"), endpoint="embeddings")
    rig.model.fail(status(500), endpoint="embeddings")
    vectors, _ = await rig.embedder().embed(["text"])
    assert vectors[0].any()
    assert rig.pauses == [2.0, 0.0]
    assert len(rig.model.embeddings) == 3


async def test_persistent_failure_is_model_unavailable(rig: Rig) -> None:
    rig.model.fail(status(401), endpoint="embeddings", times=None)
    with pytest.raises(ModelUnavailable, match="credentials") as caught:
        await rig.embedder().embed(["my PIN is 4711"])
    assert KEY not in str(caught.value)
    assert "4711" not in str(caught.value)


_NAN = base64.b64encode(struct.pack("<2f", float("nan"), 1.0)).decode()
_HUGE = base64.b64encode(struct.pack("<2f", 3e38, 3e38)).decode()


async def test_huge_but_finite_numbers_are_normalised(rig: Rig) -> None:
    assert np.allclose(await _embed(rig, _body(_HUGE), ["x"]), [[2**-0.5, 2**-0.5]])


@pytest.mark.parametrize(
    "body",
    [
        "", "[]", "{}", '{"data": {}}', '{"data": [7]}', _body(), _body([1, 0], [0, 1]),
        _body([1, 2, 3]), _body([]), _body([[1, 0]]), _body(["1", "0"]), _body([True, False]),
        _body([1e39, 0]), _body([10**400, 0]), _body([0, 0]), _body(None), _body("not base64!"),
        _body("AAAA"), _body(_NAN), _body([1, 0]).replace('"index": 0', '"index": 1'),
        _body([1, 0]).replace('"index": 0', '"index": "0"'), _body([1, 0]).replace("1", "NaN"),
    ],
)  # fmt: skip
async def test_hostile_or_wrong_answers_are_rejected(rig: Rig, body: str) -> None:
    with pytest.raises(ModelOutputInvalid):
        await _embed(rig, body, ["x"])


async def test_a_repeated_index_is_rejected(rig: Rig) -> None:
    with pytest.raises(ModelOutputInvalid, match="are numbered wrongly"):
        await _embed(rig, _body([1, 0], [0, 1]).replace('"index": 1', '"index": 0'), ["x", "y"])


async def test_a_hanging_server_is_given_up_in_bounds(rig: Rig) -> None:
    rig.model.fail(hanging(), endpoint="embeddings", times=None)
    embedder = rig.embedder_with(timeout_s=0.1, attempts=2)
    with pytest.raises(ModelUnavailable, match="in time"):
        await embedder.embed(["x"])
    assert len(rig.model.embeddings) == 2


async def test_a_server_without_base64_is_asked_for_numbers_from_then_on(rig: Rig) -> None:
    unknown = status(400, None, "Unknown encoding_format: base64.")
    rig.model.plan.script = lambda asked: unknown if asked.body["encoding_format"] == "base64" else None
    embedder = rig.embedder()
    for _ in range(2):
        vectors, usage = await embedder.embed(["red apple"], "g")
        assert vectors.shape == (1, 64)
        assert usage.calls == 1
    assert [call.body["encoding_format"] for call in rig.model.embeddings] == ["base64", "float", "float"]
    assert rig.meter.troubles == [("embed", "unsupported")]
    assert [(what, group) for what, group, _ in rig.meter.usages] == [("embed", "g")] * 2


async def test_a_failure_tells_what_the_parts_before_it_cost(rig: Rig) -> None:
    rig.model.fail(
        reply_body('{"data": [], "usage": {"prompt_tokens": 9}}'), match="two", endpoint="embeddings"
    )
    with pytest.raises(ModelOutputInvalid) as caught:
        await rig.embedder(batch_texts=1).embed(["one", "two"])
    assert caught.value.usage == rig.meter.total
    assert caught.value.usage.calls == 2


async def test_a_model_that_is_switched_off_is_not_asked(rig: Rig) -> None:
    rig.off = True
    with pytest.raises(ModelOff, match="model-off"):
        await rig.embedder().embed(["a"])
    assert rig.model.requests == []
    rig.off = False
    vectors, _ = await rig.embedder().embed(["a"])
    assert vectors.any()


async def test_what_is_switched_off_is_not_tried_again(rig: Rig) -> None:
    rig.model.fail(status(500), endpoint="embeddings", times=None)
    transport = rig.transport()

    async def send(client: AsyncOpenAI) -> Any:
        rig.off = True  # while the first attempt runs
        return await client.embeddings.with_raw_response.create(model="m", input=["a"])

    with pytest.raises(ModelOff):
        await transport.call(send, "g")
    assert len(rig.model.requests) == 1
