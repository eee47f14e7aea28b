"""`kgsvc token`: the credentials in the access file."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kgsvc.access.audit import note_command
from kgsvc.access.authentication import AccessSettings
from kgsvc.access.file import (
    Credential,
    changing,
    new_certificate,
    new_token,
    read_access_file,
    time_ms,
    time_text,
)
from kgsvc.access.scopes import EVERY_GROUP, Right
from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json, printable
from kgsvc.domain.errors import KgError

_UNITS_S = {"m": 60, "h": 3_600, "d": 86_400}
_GROUP = "GROUP, a prefix that ends with / or :, or *"


def _access(function: Callable[..., None]) -> Callable[..., None]:
    """The options that name the access file; the command gets the settings that they make."""

    @functools.wraps(function)
    def command(config: Path | None, file: Path | None, **others: Any) -> None:
        access = options.loaded(config, access_file=file).settings.access
        if access.file is None:
            raise Failure("name the access file: --file, access.file or KGSVC_ACCESS_FILE")
        try:
            function(access=access, path=access.file, **others)
        except KgError as error:
            raise Failure(str(error)) from error

    named = click.option("--file", type=options.PEM, help="The access file (access.file).")
    return options.config(named(command))


@click.group("token")
def command() -> None:
    """Make, list and revoke the credentials that the access file holds.

    A running service takes a change over within a second (access.reload_s).
    """


@command.command("create")
@click.option("--admin", is_flag=True, help="Everything in every group: for the first administrator.")
@click.option("--read", multiple=True, metavar="GROUP", help=f"May read {_GROUP}; may be repeated.")
@click.option("--write", multiple=True, metavar="GROUP", help=f"May also write {_GROUP}.")
@click.option("--admin-of", multiple=True, metavar="GROUP", help=f"May also delete and set up {_GROUP}.")
@click.option("--name", default="", help="What to call the holder in lists and in the audit.")
@click.option("--expires", metavar="WHEN", help="Valid until then: 90d, 12h, 30m, or 2027-01-31T12:00:00Z.")
@click.option(
    "--certificate",
    metavar="NAME",
    help="No token: whoever connects with a client certificate for this DNS name, URI or address.",
)
@_access
def create(
    access: AccessSettings,
    path: Path,
    admin: bool,
    read: tuple[str, ...],
    write: tuple[str, ...],
    admin_of: tuple[str, ...],
    name: str,
    expires: str | None,
    certificate: str | None,
) -> None:
    """Make a credential. Prints the token, which is kept nowhere and is shown only now."""
    scopes: dict[str, Right] = {}
    granted = ((read, Right.READ), (write, Right.WRITE), ((*admin_of, *[EVERY_GROUP] * admin), Right.ADMIN))
    for patterns, right in granted:
        scopes |= dict.fromkeys(patterns, right)
    if not scopes or "" in scopes:
        raise click.UsageError("say what it may do: --read, --write or --admin-of GROUP, or --admin")
    now_ms = time.time_ns() // 1_000_000
    until = None if expires is None else _expiry(expires, now_ms)
    token = None
    if certificate is None:
        made, token = new_token(name, scopes, now_ms, until)
    else:
        made = new_certificate(name, scopes, now_ms, until, certificate)
    with changing(path) as credentials:
        if certificate is not None and any(each.certificate == certificate for each in credentials):
            raise Failure(f"{certificate} has a credential already; revoke that one first")
        credentials.append(made)
    note_command(access.audit, "token create", sorted(made.scopes), made.id)
    click.echo(f"{made.id}: {_granted(made)}{_until(made)}", err=True)
    if token is not None:
        click.echo(token)


@command.command("list")
@options.as_json
@_access
def list_(access: AccessSettings, path: Path, as_json: bool) -> None:
    """List the credentials, without anything that would let somebody in."""
    credentials = read_access_file(path)
    if as_json:
        print_json({"credentials": [dict(_shown(each)) for each in credentials]})
        return
    for each in credentials:
        kind = f"certificate {each.certificate}" if each.certificate else "token"
        click.echo(printable(f"{each.id}  {each.name or '-'}  {kind}: {_granted(each)}{_until(each)}"))


@command.command("revoke")
@click.argument("credential_id", metavar="ID")
@_access
def revoke(access: AccessSettings, path: Path, credential_id: str) -> None:
    """Remove a credential. Streams that it opened end, too."""
    with changing(path) as credentials:
        found = next((each for each in credentials if each.id == credential_id), None)
        if found is None:
            raise Failure(f"there is no credential {credential_id}: see `kgsvc token list`")
        credentials.remove(found)
    note_command(access.audit, "token revoke", sorted(found.scopes), found.id)
    click.echo(f"{credential_id} is revoked.")


def _expiry(text: str, now_ms: int) -> int:
    relative = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if relative is not None:
        return now_ms + int(relative[1]) * _UNITS_S[relative[2]] * 1_000
    try:
        return time_ms(text)
    except ValueError:
        raise click.UsageError("--expires is 90d, 12h, 30m, or a time such as 2027-01-31T12:00:00Z") from None


def _granted(credential: Credential) -> str:
    return ", ".join(f"{right.name.lower()} {pattern}" for pattern, right in credential.scopes.items())


def _until(credential: Credential) -> str:
    return "" if credential.expires_ms is None else f", until {time_text(credential.expires_ms)}"


def _shown(credential: Credential) -> Mapping[str, Any]:
    return {
        "id": credential.id,
        "name": credential.name,
        "certificate": credential.certificate,
        "scopes": {pattern: right.name.lower() for pattern, right in credential.scopes.items()},
        "created": time_text(credential.created_ms),
        "expires": None if credential.expires_ms is None else time_text(credential.expires_ms),
    }
