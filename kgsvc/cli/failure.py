"""How a command ends when it did not do what it was asked. Wrong usage ends with 2, by click."""

from __future__ import annotations

import click


class Failure(click.ClickException):
    """One sentence on standard error, exit code 1."""

    exit_code = 1


class ItemsParked(Failure):
    """Done, but items are parked: exit code 3."""

    exit_code = 3
