"""`kgsvc health`: for containers and scripts that wait for a service."""

from __future__ import annotations

import click
import grpc.aio
from grpc_health.v1 import health_pb2

from kgsvc.cli import options
from kgsvc.cli.client import connect
from kgsvc.cli.options import Failure
from kgsvc.config import Client, Settings

STATUS = health_pb2.HealthCheckResponse


@click.command("health")
@options.client
def command(settings: Settings) -> None:
    """Say whether a service is ready (grpc.health.v1): exit code 0 if it is, 1 if not."""
    options.run(_health(settings.client))


async def _health(client: Client) -> None:
    async with connect(client) as service:
        check = service.channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = await check(health_pb2.HealthCheckRequest(), timeout=client.timeout_s)
        except grpc.aio.AioRpcError as error:
            raise service.failure(error) from error
    if answer.status != STATUS.SERVING:
        raise Failure(f"{client.server} is {STATUS.ServingStatus.Name(answer.status)}")
    click.echo(f"{client.server} is SERVING")
