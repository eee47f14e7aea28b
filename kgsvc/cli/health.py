"""`kgsvc health`: for containers and scripts that wait for a service."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import click
import grpc.aio
from grpc_health.v1 import health_pb2

from kgsvc.cli import options
from kgsvc.cli.client import connect
from kgsvc.cli.options import Failure
from kgsvc.config import Client, Settings, split_address
from kgsvc.observability.endpoint import READY, shown

STATUS = health_pb2.HealthCheckResponse
_ANY_HOST = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "::": "::1"}


@click.command("health")
@click.option(
    "--role",
    type=click.Choice(["api", "worker", "all"]),
    help="What to check (server.role): a worker answers no calls and is asked over HTTP (/readyz).",
)
@options.client
def command(role: str | None, settings: Settings) -> None:
    """Say whether a service is ready (grpc.health.v1): exit code 0 if it is, 1 if not."""
    if (role or settings.server.role) == "worker":
        _worker_health(settings)
    else:
        options.run(_health(_of_this_machine(settings)))


def _worker_health(settings: Settings) -> None:
    """Ask where a worker shows its metrics. Raises Failure."""
    listen = settings.server.metrics_listen
    if not listen:
        raise Failure("a worker is asked at server.metrics_listen, which is empty")
    host, port = split_address(listen)
    status, said = shown(f"{_ANY_HOST.get(host, host)}:{port}", READY, settings.client.timeout_s)
    if not status:
        raise Failure(f"no worker answers at {listen}")
    if status != HTTPStatus.OK:
        raise Failure(f"the worker at {listen} is NOT_SERVING: {said.strip()}")
    click.echo(f"the worker at {listen} is SERVING")


def _of_this_machine(settings: Settings) -> Client:
    """How to reach the service. An environment that starts one with TLS and says nothing of clients, as in a
    container, means that one: it shows the certificate that is known here."""
    client, certificate = settings.client, settings.server.tls_cert
    if certificate is None or client.tls or client.tls_ca is not None:
        return client
    own = (client.tls_cert, client.tls_key)
    if settings.server.tls_client_ca is not None and own == (None, None):
        own = (certificate, settings.server.tls_key)
    return replace(
        client, tls_ca=certificate, tls_cert=own[0], tls_key=own[1], tls_name=_name_in(certificate)
    )


def _name_in(certificate: Path) -> str | None:
    """The first name that a certificate is for."""
    from cryptography import x509  # loads in 50 ms

    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return None  # the connection says what is wrong
    return next((str(name.value) for name in names), None)


async def _health(client: Client) -> None:
    async with connect(client) as service:
        check = service.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = await check(
                health_pb2.HealthCheckRequest(), timeout=client.timeout_s, metadata=service.metadata
            )
        except grpc.aio.AioRpcError as error:
            raise service.failure(error) from error
    if answer.status != STATUS.SERVING:
        raise Failure(f"{client.server} is {STATUS.ServingStatus.Name(answer.status)}")
    click.echo(f"{client.server} is SERVING")
