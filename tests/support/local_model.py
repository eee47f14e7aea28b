"""The model that embeds on this machine, where there is one: it is no part of the project."""

import os
from pathlib import Path

import pytest

from tests.support.spawning import REPOSITORY


def local_model() -> Path:
    """The folder of all-MiniLM-L6-v2: shared/models beside the repository, or what KGSVC_TEST_MODEL names.
    Skips the test where there is none."""
    named = os.environ.get("KGSVC_TEST_MODEL")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "models" / "all-MiniLM-L6-v2"
    if not (folder / "model.onnx").is_file():
        pytest.skip("NOT TESTED WITH A LOCAL MODEL: KGSVC_TEST_MODEL names a folder of all-MiniLM-L6-v2")
    return folder
