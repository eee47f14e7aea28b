"""PutOntology and GetOntology: the types of a group (spec 000)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgsvc.api.checks import Check
from kgsvc.api.errors import summary
from kgsvc.api.unary import Reply, Unary
from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.ontology import Ontology
from kgsvc.ontology import MAX_BYTES, OntologyError, read, write
from kgsvc.stores.protocol import AdminStore
from kgsvc.v1 import admin_pb2


@dataclass(frozen=True, slots=True)
class Wanted:
    """The input of PutOntology."""

    group_id: str
    yaml: str


class OntologyOperations:
    """What a group's callers say about its types. `of_server` is in force where a group says nothing."""

    def __init__(self, store: AdminStore, of_server: Ontology) -> None:
        self._store = store
        self._of_server = of_server

    def operations(self) -> Mapping[str, Unary[Any]]:
        """The RPCs by method name."""
        pb = admin_pb2
        return {
            "PutOntology": Unary(pb.PutOntologyRequest, pb.PutOntologyResponse, read_put, self._put),
            "GetOntology": Unary(pb.GetOntologyRequest, pb.GetOntologyResponse, read_get, self._get),
        }

    async def _put(self, wanted: Wanted, _key: str | None) -> Reply:
        found = await asyncio.to_thread(_understood, wanted.yaml)
        await self._store.put_ontology(wanted.group_id, None if found is None else wanted.yaml)
        in_force = found or self._of_server
        output = admin_pb2.PutOntologyOutput(
            entity_types=[each.name for each in in_force.in_force],
            fact_types=[each.name for each in in_force.fact_types],
        )
        return Reply(output)

    async def _get(self, group_id: str, _key: str | None) -> Reply:
        own = await self._store.ontology(group_id)
        yaml = write(self._of_server) if own is None else own
        return Reply(admin_pb2.GetOntologyOutput(yaml=yaml, own=own is not None))


def read_put(sent: admin_pb2.PutOntologyInput, check: Check) -> Wanted:
    """The input of PutOntology; what the YAML says is looked at apart from the event loop."""
    size = len(sent.yaml.encode())
    if not sent.yaml:
        check.invalid("input.yaml", "is required; {} goes back to the types of the server")
    elif size > MAX_BYTES:
        check.over("input.yaml", f"has {size} bytes, at most {MAX_BYTES} are allowed")
    return Wanted(check.fed_group_id("input.group_id", sent.group_id), sent.yaml)


def read_get(sent: admin_pb2.GetOntologyInput, check: Check) -> str:
    """The input of GetOntology."""
    return check.group_id("input.group_id", sent.group_id)


def _understood(yaml: str) -> Ontology | None:
    try:
        return read(yaml)
    except OntologyError as error:
        violations = [Violation("yaml", str(problem)) for problem in error.problems]
        raise InvalidArgument(summary(violations), violations) from None
