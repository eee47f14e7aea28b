"""`kgsvc config`."""

from __future__ import annotations

from pathlib import Path

import click

from kgsvc.cli import options
from kgsvc.cli.show import print_json, printable
from kgsvc.config import describe


@click.command("config")
@options.as_json
@options.config
def command(as_json: bool, config: Path | None) -> None:
    """Show every setting, its value and where that comes from. Of a secret only whether it is set."""
    loaded = options.loaded(config)
    rows = [(key, value, loaded.origins.get(key, "default")) for key, value in describe(loaded.settings)]
    if as_json:
        print_json({key: {"value": value, "from": origin} for key, value, origin in rows})
        return
    for key, value, origin in rows:
        click.echo(printable(f"{key} = {value}" if origin == "default" else f"{key} = {value}  ({origin})"))
