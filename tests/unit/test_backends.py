"""Which former embedders can be had, told by the names of their spaces."""

from dataclasses import replace

import pytest

from kgsvc.backends import make_former
from kgsvc.config import Settings
from kgsvc.config.tree import Models
from kgsvc.models.embedding import HashingEmbedder
from kgsvc.models.openai.embedder import OpenAIEmbedder
from kgsvc.models.openai.settings import Endpoint

OFFLINE = Settings(models=Models(extractor="offline", embedder="offline"))
SERVED = Settings(
    models=Models(extractor="offline", embedder="openai"), openai=Endpoint(base_url="http://127.0.0.1:9/v1")
)


def test_the_offline_one_can_always_be_had() -> None:
    for dimension in (8, 64, 256):
        made = make_former(SERVED, f"hashing-v1-{dimension}")
        assert isinstance(made, HashingEmbedder)
        assert made.dimension == dimension


async def test_one_of_the_model_server_can_be_had_while_that_is_in_use() -> None:
    for settings in (SERVED, replace(SERVED, models=Models(extractor="openai", embedder="offline"))):
        made = make_former(settings, "openai-some/model-v2-768")
        assert isinstance(made, OpenAIEmbedder)
        assert (made.space, made.dimension) == ("openai-some/model-v2-768", 768)
        await made.close()
    assert make_former(OFFLINE, "openai-some/model-v2-768") is None, "texts would leave this machine again"


@pytest.mark.parametrize(
    "space",
    [
        "",
        "hashing-v0-256",
        "hashing-v1-7",
        "hashing-v1-many",
        "openai-x-0",
        "openai-x",
        "local-model-384",
        "other-3",
    ],
)
def test_what_is_not_known_cannot_be_had(space: str) -> None:
    assert make_former(SERVED, space) is None
