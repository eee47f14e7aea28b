"""`kgsvc console`: the service with its page, opened in the browser."""

from __future__ import annotations

import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgsvc.cli import options
from kgsvc.cli.serve import announce, serve

if TYPE_CHECKING:
    from kgsvc.announcement import Running
    from kgsvc.config import Settings


@click.command("console")
@options.store
@options.data
@options.config
def command(store: str | None, data: Path | None, config: Path | None) -> None:
    """Run the service and open its page in the browser, until Ctrl-C.

    The page is served where server.http_listen says, else on a free port of 127.0.0.1.
    """
    settings = options.loaded(config, store_kind=store, store_data_dir=data).settings
    if not settings.server.http_listen:
        settings = replace(settings, server=replace(settings.server, http_listen="127.0.0.1:0"))
    serve(settings, _open)


def _open(service: Running, settings: Settings) -> None:
    announce(service, settings)
    if service.http_address is None:  # by its role it answers nobody
        return
    click.echo(f"The page: {service.http_address}/")
    # Some browsers are found only after a while, and what serves must not wait for them.
    threading.Thread(target=webbrowser.open, args=(f"{service.http_address}/",), daemon=True).start()
