"""The store on a Neo4j server: for production."""

from kgsvc.stores.neo4j.store import Neo4jStore

__all__ = ["Neo4jStore"]
