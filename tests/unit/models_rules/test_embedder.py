"""The hashing embedder: stable, normalised, near for texts that share words or parts of words."""

from __future__ import annotations

import numpy as np
import pytest

from kgsvc.domain.model.graph import Usage
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.models.protocol import Embedder


async def cosine(one: str, other: str) -> float:
    """How near two texts are."""
    vectors, _ = await HashingEmbedder().embed([one, other])
    return float(vectors[0] @ vectors[1])


def test_the_space_names_kind_version_and_dimension() -> None:
    embedder: Embedder = HashingEmbedder(64)
    assert (embedder.space, embedder.dimension, embedder.costs_model_calls) == ("hashing-v1-64", 64, False)
    with pytest.raises(ValueError, match="dimensions"):
        HashingEmbedder(1)


async def test_vectors_are_unit_rows_of_single_precision() -> None:
    vectors, usage = await HashingEmbedder().embed(["Alice works at TechCorp.", "東京に住む", "a"])
    assert (vectors.shape, vectors.dtype.name, usage) == ((3, 256), "float32", Usage())
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_a_text_without_words_is_all_zero() -> None:
    vectors, _ = await HashingEmbedder().embed(["", "   ", "?!", "word"])
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-5)
    none, _ = await HashingEmbedder().embed([])
    assert none.shape == (0, 256)


async def test_the_space_does_not_drift() -> None:
    vectors, _ = await HashingEmbedder(16).embed(["Alice Chen works at TechCorp"])
    pinned = [
        0.0359, -0.3589, 0.1745, -0.1125, 0.0620, 0.2692, -0.0896, 0.1761, 0.1485, 0.0538, -0.2969,
        -0.6868, -0.1485, -0.1207, -0.3001, 0.0000,
    ]  # fmt: skip
    assert vectors[0].tolist() == pytest.approx(pinned, abs=1e-4)


async def test_order_and_case_do_not_matter_and_repetition_counts_less_and_less() -> None:
    assert await cosine("red apple", "Apple RED") == pytest.approx(1.0, abs=1e-5)
    assert await cosine("apple apple pear", "apple pear") > 0.9


async def test_shared_words_are_near_and_shared_pieces_a_little() -> None:
    same = await cosine("Caroline went to a support group", "Which support group did Caroline join")
    other = await cosine("Caroline went to a support group", "The quarterly budget was approved")
    assert same > 0.4 > other + 0.2
    assert await cosine("kickboxing", "kickboxer") > await cosine("kickboxing", "gardening") + 0.1


async def test_words_that_are_everywhere_weigh_little() -> None:
    assert await cosine("where is the garden", "what is the river") < 0.35


async def test_large_batches_leave_the_loop_free_and_give_the_same_vectors() -> None:
    texts = [f"Person {number} lives in town {number % 7}" for number in range(500)]
    embedder = HashingEmbedder()
    together, _ = await embedder.embed(texts)
    alone, _ = await embedder.embed(texts[123:124])
    await embedder.close()
    assert np.array_equal(together[123], alone[0])
