"""The server's own ontology: the file that server.ontology_file names."""

from __future__ import annotations

from pathlib import Path

from kgsvc.config.tree import ConfigError
from kgsvc.domain.default_ontology import DEFAULT
from kgsvc.domain.ontology import Ontology
from kgsvc.ontology import OntologyError, read


def read_ontology(path: Path | None) -> Ontology:
    """The types in force for groups without an ontology of their own; without a file, or from one that says
    nothing, the default ones. Raises ConfigError naming every problem by line and field."""
    if path is None:
        return DEFAULT
    try:
        return read(path.read_text(encoding="utf-8")) or DEFAULT
    except OSError as error:
        raise ConfigError(f"server.ontology_file: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"server.ontology_file: {path} is not UTF-8") from error
    except OntologyError as error:
        raise ConfigError(f"server.ontology_file: {path}: {error}") from error
