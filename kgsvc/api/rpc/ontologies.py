"""PutOntology and GetOntology: the entity and fact types of a group (spec 000)."""

from __future__ import annotations

import asyncio

from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.api.errors import summary
from kgsvc.commands.core import Core
from kgsvc.domain.errors import InvalidArgument, Violation
from kgsvc.domain.model.extraction import Ontology
from kgsvc.ontology import MAX_BYTES, OntologyError, read, write
from kgsvc.v1 import admin_pb2


class OntologyRpcs:
    """The RPCs on ontologies. `of_server` is in force for groups without one of their own."""

    def __init__(self, core: Core, of_server: Ontology) -> None:
        self._core = core
        self._of_server = of_server
        self.rpcs: Rpcs = {"PutOntology": Unary(self._put_ontology), "GetOntology": Unary(self._get_ontology)}

    def _put_ontology(self, sent: admin_pb2.PutOntologyInput, check: RequestCheck) -> Operation:
        yaml = sent.yaml
        size = len(yaml.encode())
        if not yaml:
            check.invalid("input.yaml", "is required; {} restores the types of the server")
        elif size > MAX_BYTES:
            check.over("input.yaml", f"has {size} bytes, at most {MAX_BYTES} are allowed")
        group_id = check.writable_group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            own = await asyncio.to_thread(_parsed, yaml)
            await self._core.store.put_ontology(group_id, None if own is None else yaml)
            in_force = own or self._of_server
            output = admin_pb2.PutOntologyOutput(
                entity_types=[each.name for each in in_force.in_force],
                fact_types=[each.name for each in in_force.fact_types],
            )
            return Reply(output)

        return run

    def _get_ontology(self, sent: admin_pb2.GetOntologyInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)

        async def run() -> Reply:
            own = await self._core.store.ontology(group_id)
            yaml = write(self._of_server) if own is None else own
            return Reply(admin_pb2.GetOntologyOutput(yaml=yaml, own=own is not None))

        return run


def _parsed(yaml: str) -> Ontology | None:
    """None: the types of the server."""
    try:
        return read(yaml)
    except OntologyError as error:
        violations = [Violation("yaml", str(problem)) for problem in error.problems]
        raise InvalidArgument(summary(violations), violations) from None
