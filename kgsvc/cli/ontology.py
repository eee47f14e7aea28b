"""`kgsvc ontology`: the types of a group."""

from __future__ import annotations

from typing import Any

import click

from kgsvc.cli import options
from kgsvc.cli.client import ask
from kgsvc.config import Settings
from kgsvc.v1.admin_pb2 import GetOntologyInput, GetOntologyRequest, PutOntologyInput, PutOntologyRequest


@click.group("ontology")
def command() -> None:
    """Read or set the types of a group's entities and facts."""


@command.command("get")
@options.group
@options.client
def get(group: str, settings: Settings) -> None:
    """Print the types in force for a group as YAML, in the shape that `put` takes."""
    request = GetOntologyRequest(input=GetOntologyInput(group_id=group))
    found = options.run(ask(settings.client, lambda service: service.admin.GetOntology, request)).output
    whose = "the group's own types" if found.own else "the server's types; the group has none of its own"
    click.echo(f"# {whose}", err=True)
    click.echo(found.yaml.rstrip("\n"))


@command.command("put")
@click.argument("source", type=click.File("r", encoding="utf-8"), metavar="FILE|-")
@options.group
@options.client
def put(source: Any, group: str, settings: Settings) -> None:
    """Set the types of a group from a YAML file. They count for what is extracted from then on. A file that
    holds {} alone gives the group the types of the server again."""
    try:
        yaml = source.read()
    except UnicodeDecodeError as error:
        raise options.Failure(f"{source.name} is not UTF-8") from error
    request = PutOntologyRequest(input=PutOntologyInput(group_id=group, yaml=yaml))
    made = options.run(ask(settings.client, lambda service: service.admin.PutOntology, request)).output
    click.echo(f"Entity types in force: {', '.join(made.entity_types) or 'none'}")
    click.echo(f"Fact types in force: {', '.join(made.fact_types) or 'none'}")
