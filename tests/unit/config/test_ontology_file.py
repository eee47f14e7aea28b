"""server.ontology_file: read at start, refused in one sentence."""

from pathlib import Path

import pytest

from kgsvc.app import running
from kgsvc.config import ConfigError, Server, Settings, StoreSettings, read_ontology
from kgsvc.domain.model.extraction import DEFAULT


def test_without_a_file_the_default_types_are_in_force() -> None:
    assert read_ontology(None) is DEFAULT


@pytest.mark.parametrize("text", ["", "# later\n", "graphiti:\n"])
def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "types.yaml"
    file.write_text(text)
    assert read_ontology(file) is DEFAULT


def test_a_file_replaces_the_default_types(tmp_path: Path) -> None:
    file = tmp_path / "types.yaml"
    file.write_text("entity_types:\n  - {name: Task, description: 仕事}\n", encoding="utf-8")
    assert [each.name for each in read_ontology(file).entity_types] == ["Task"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"entity_types:\n  - {name: Entity, description: x}\n", "line 2: entity_types[0].name is reserved"),
        (b"entity_types: \xff\n", "is not UTF-8"),
        (None, "cannot be read: No such file"),
    ],
)
async def test_a_bad_file_stops_the_start(tmp_path: Path, content: bytes | None, told: str) -> None:
    file = tmp_path / "types.yaml"
    if content is not None:
        file.write_bytes(content)
    settings = Settings(
        Server(listen="127.0.0.1:0", metrics_listen="", ontology_file=file),
        StoreSettings(data_dir=tmp_path / "data"),
    )
    with pytest.raises(ConfigError, match=r"^server\.ontology_file: ") as caught:
        async with running(settings):
            pytest.fail("it started")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "data").exists()
