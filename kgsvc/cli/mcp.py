"""`kgsvc mcp`: the memory of a group as tools of an agent."""

from __future__ import annotations

import click

from kgsvc.cli import options
from kgsvc.cli.agents.calls import Memory
from kgsvc.cli.client import connect
from kgsvc.cli.main import installed_version
from kgsvc.cli.options import Failure
from kgsvc.cli.show import printable
from kgsvc.config import Client, Settings, is_loopback, split_address

_LISTEN = "127.0.0.1:8765"


@click.command("mcp")
@options.group
@click.option(
    "--http",
    is_flag=False,
    flag_value=_LISTEN,
    metavar="[HOST:PORT]",
    help=f"Serve streamable HTTP there, by default at {_LISTEN}, instead of standard input and output.",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Let --http listen where other machines reach it, without TLS: something else protects it.",
)
@options.client
def command(group: str, http: str | None, insecure: bool, settings: Settings) -> None:
    """Give an agent the memory of a group as tools of the Model Context Protocol: recall, remember, ask,
    entity, history, correct, forget.

    Agents start it themselves and talk to it over standard input and output. With --http it serves all who
    can reach the address; a caller that sends a token of its own has the rights of that token.
    """
    options.run(_serve(settings.client, group, http, insecure))


async def _serve(client: Client, group: str, http: str | None, insecure: bool) -> None:
    """Until the agent hangs up, or a signal. Raises Failure."""
    try:
        from kgsvc.cli.agents import server, transports
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise Failure("this needs an extra that is not installed: pip install 'kgsvc[mcp]'") from error
    place = None if http is None else _place(client, http, insecure)
    encrypted = client.tls or client.tls_ca is not None
    async with connect(client) as service:
        private = encrypted or is_loopback(client.server)
        serving = server.serving(Memory(service, group), installed_version(), private)
        if place is None:
            await transports.stdio(serving)
            return
        try:
            await transports.http(
                serving, *place, lambda url: click.echo(f"memory of {printable(group)}: {url}")
            )
        except OSError as error:
            raise Failure(f"{http} cannot be listened on: {error.strerror}") from error


def _place(client: Client, address: str, insecure: bool) -> tuple[str, int, bool]:
    """Where to listen, and whether only this machine gets there. Raises Failure."""
    try:
        (host, port), local = split_address(address), is_loopback(address)
    except ValueError as error:
        raise Failure(f"--http must be {error}") from error
    if not local and not insecure:
        raise Failure(
            f"other machines reach {address}, and nothing there is encrypted: listen on 127.0.0.1 behind a"
            " proxy with TLS, or give --insecure if something else protects it"
        )
    if not local and (client.token or client.tls_cert):
        raise Failure(
            f"whoever reaches {address} would have the rights of this command's own credential: leave it out;"
            " callers send tokens of their own"
        )
    return host, port, local
