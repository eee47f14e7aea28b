"""Ontologies as YAML: read strictly, every problem named by line and field; and written."""

from kgsvc.ontology.reading import read, write
from kgsvc.ontology.tree import MAX_BYTES, OntologyError, Problem

__all__ = ["MAX_BYTES", "OntologyError", "Problem", "read", "write"]
