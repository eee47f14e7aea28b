"""The embedder that runs a model on this machine: one space, unit rows, the same vector in any company."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from kgsvc.domain.errors import ModelUnavailable
from kgsvc.domain.model.graph import Usage
from kgsvc.models.protocol import Embedder
from tests.support.local_model import local_model

pytest.importorskip("fastembed", reason="NOT TESTED WITH A LOCAL MODEL: the extra kgsvc[local] is not here")

from kgsvc.models.local import LocalEmbedder


@pytest.fixture(scope="module")
def folder() -> Path:
    return local_model()


@pytest.fixture
async def embedder(folder: Path) -> AsyncIterator[LocalEmbedder]:
    local = LocalEmbedder(folder)
    yield local
    await local.close()


async def test_the_space_names_model_and_dimension(embedder: Embedder) -> None:
    assert (embedder.space, embedder.dimension) == ("local-all-MiniLM-L6-v2-384", 384)
    assert not embedder.costs_model_calls


async def test_vectors_are_unit_rows_of_single_precision(embedder: LocalEmbedder) -> None:
    vectors, usage = await embedder.embed(["Alice works at TechCorp.", "東京に住む", "a " * 2_000])
    assert (vectors.shape, vectors.dtype.name, usage) == ((3, 384), "float32", Usage())
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


async def test_a_text_without_words_is_all_zero(embedder: LocalEmbedder) -> None:
    vectors, _ = await embedder.embed(["", "?!", "word"])
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([0.0, 0.0, 1.0], abs=1e-5)
    none, _ = await embedder.embed([])
    assert none.shape == (0, 384)


async def test_meaning_is_near_without_a_common_word(embedder: LocalEmbedder) -> None:
    vectors, _ = await embedder.embed(["She adopted a puppy.", "He got a young dog.", "Rates rose by 2 %."])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


async def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(embedder: LocalEmbedder) -> None:
    texts = ["short", "a somewhat longer text about nothing in particular", *map(str, range(40))]
    together, _ = await embedder.embed(texts)
    alone = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    assert np.array_equal(together, np.concatenate([rows for rows, _ in alone]))


async def test_a_folder_that_is_not_there_is_unavailable_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no folder"):
        await LocalEmbedder(tmp_path / "absent").embed(["word"])
    assert os.listdir(tmp_path) == []


async def test_a_folder_without_a_model_is_unavailable(tmp_path: Path, folder: Path) -> None:
    shutil.copy(folder / "tokenizer.json", tmp_path)
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        await LocalEmbedder(tmp_path).embed(["word"])


def test_a_model_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="knows no model nobody/nothing"):
        LocalEmbedder(tmp_path, "nobody/nothing")
