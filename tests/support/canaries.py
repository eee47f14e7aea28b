"""Looking for texts in everything that a store keeps: files byte by byte, rows by every property."""

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, LiteralString

import apsw
from neo4j import AsyncGraphDatabase

from kgsvc.domain.text import tokens
from kgsvc.stores.embedded.connection import FILE_NAME
from tests.support.client import Client
from tests.support.store_spec import StoreSpec

ERASED_S = 60.0
_LOOK_S = 0.05
_VECTORS = {"fact_vectors": "facts", "entity_vectors": "entities", "community_vectors": "communities"}


def forms(texts: Iterable[str]) -> set[str]:
    """The texts as they are, folded, and as the words that searches know them by."""
    return {form for text in texts for form in (text, text.casefold(), *tokens(text)) if len(form) > 5}


async def found(spec: StoreSpec, texts: Iterable[str]) -> set[str]:
    """Which forms of the texts the store still keeps, wherever."""
    wanted = forms(texts)
    kept = await _rows(spec) if spec.data_dir is None else await asyncio.to_thread(_files, spec.data_dir)
    return {form for form in wanted if any(form.encode() in each for each in kept)}


def _files(directory: Path) -> list[bytes]:
    contents = []
    for path in directory.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # files of search indexes come and go
            contents += [path.read_bytes()] if path.is_file() else []
    return [*contents, *(content.lower() for content in contents)]


async def _rows(spec: StoreSpec) -> list[bytes]:
    address = spec.neo4j
    assert address is not None
    async with AsyncGraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver:
        nodes: Any = await driver.execute_query("MATCH (n) RETURN properties(n) AS row")
        relations: Any = await driver.execute_query("MATCH ()-[r]->() RETURN properties(r) AS row")
    said = [repr(record["row"]).encode() for record in (*nodes.records, *relations.records)]
    return [*said, *(each.lower() for each in said)]


def stray_vectors(directory: Path) -> dict[str, int]:
    """Rows of vectors in the embedded store of what is not there any more."""
    db = apsw.Connection(str(directory / FILE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {
            table: db.execute(f"SELECT count(*) FROM {table} WHERE id NOT IN (SELECT id FROM {of})").get
            for table, of in _VECTORS.items()
        }
    finally:
        db.close()


async def index_words(spec: StoreSpec, group_id: str) -> set[str]:
    """The words by which the full-text index of a Neo4j finds a group's facts; of other stores none."""
    rows = await _asked(spec, "MATCH ()-[r:RELATES_TO {group_id: $asked}]->() RETURN r.terms", group_id)
    return {word for (terms,) in rows for word in (terms or "").split()}


async def indexed(spec: StoreSpec, words: Iterable[str]) -> int:
    """How many entries the full-text index of a Neo4j has under these words."""
    query = (
        "CALL db.index.fulltext.queryRelationships('kgsvc_fact_terms', $asked) YIELD relationship"
        " RETURN count(relationship)"
    )
    asked = " ".join(sorted(words))
    return sum([count for (count,) in await _asked(spec, query, asked)]) if asked else 0


async def _asked(spec: StoreSpec, query: LiteralString, asked: str) -> list[list[Any]]:
    address = spec.neo4j
    if address is None:
        return []
    async with AsyncGraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver:
        return [record.values() for record in (await driver.execute_query(query, asked=asked)).records]


async def erased(client: Client, erasure_id: str) -> Any:
    """The receipt of an erasure, once it is completed."""
    async with asyncio.timeout(ERASED_S):
        while True:
            receipt = (await client.ask("GetErasure", erasure_id=erasure_id)).erasure
            if receipt.HasField("completed_at"):
                return receipt
            await asyncio.sleep(_LOOK_S)
