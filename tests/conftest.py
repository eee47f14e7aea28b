"""Fixtures for all tests."""

from tests.support.neo4j_fixture import neo4j_servers
from tests.support.store_spec import embedded_spec, group, neo4j_spec, own_store_spec, store_spec

__all__ = ["embedded_spec", "group", "neo4j_servers", "neo4j_spec", "own_store_spec", "store_spec"]
