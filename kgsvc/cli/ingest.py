"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from kgsvc.cli import options
from kgsvc.cli.client import Service, connect
from kgsvc.cli.options import Failure, ItemsParked
from kgsvc.cli.reading import BadLine, Record, buffered, read_json_lines, read_text, time_of
from kgsvc.cli.show import print_json, printable
from kgsvc.cli.upload import Outcome, Upload, follow
from kgsvc.config import Client, Settings


class Bars:
    """One bar for each phase of a command. A total of None: not known."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            console=console,
            disable=not sys.stderr.isatty(),
        )

    def phase(self, description: str, total: float | None) -> TaskID:
        """A further bar."""
        return self._progress.add_task(description, total=total)

    def advance(self, phase: TaskID, by: float) -> None:
        """Some more is done."""
        self._progress.advance(phase, by)

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


SHOWN = 20  # lines or items named in a report


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be sent where."""

    source: IO[bytes]
    records: Iterator[Record | BadLine]
    group_id: str
    item_bytes: int
    wait_s: float | None  # None: do not wait
    stamped: bool = False  # a time was given for all of it


def _time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else time_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command("ingest")
@click.argument("source", type=click.File("rb"), metavar="FILE|-")
@options.group
@click.option(
    "--format",
    "kind",
    type=click.Choice(["auto", "jsonl", "text"]),
    default="auto",
    help="JSON lines or plain text; auto decides by the first character.",
)
@click.option(
    "--time",
    callback=_time,
    help="Reference time of plain text; default: when the file was last changed, else now.",
)
@click.option("--wait", is_flag=True, help="Wait until everything is in the graph or parked.")
@click.option(
    "--wait-timeout",
    type=float,
    default=3600.0,
    metavar="SECONDS",
    help="How long --wait waits; default 3600.",
)
@options.as_json
@options.client
def command(
    source: IO[bytes],
    group: str,
    kind: str,
    time: datetime | None,
    wait: bool,
    wait_timeout: float,
    as_json: bool,
    settings: Settings,
) -> None:
    """Send the items of FILE, or of standard input for -, and wait until each is stored durably.

    A JSON line is a message (role_type, content, timestamp; optional: role, uuid, name, source_description)
    or an episode (source, body, reference_time; optional: uuid, name, source_description). In plain text,
    every paragraph is an episode. Sending a file again changes nothing, with another --time neither: items
    that are stored already are counted separately and keep their time.
    """
    records = _records(buffered(source), kind, time)
    task = Task(
        source,
        records,
        group,
        settings.limits.payload_bytes,
        wait_timeout if wait else None,
        time is not None,
    )
    options.run(_ingest(settings.client, task, as_json))


def _records(source: BufferedReader, kind: str, time: datetime | None) -> Iterator[Record | BadLine]:
    beginning = source.peek(64).lstrip(b"\xef\xbb\xbf").lstrip()
    if kind == "jsonl" or (kind == "auto" and beginning.startswith(b"{")):
        return read_json_lines(source)
    if kind == "auto" and beginning.startswith(b"["):
        raise Failure("this looks like a JSON array: put one object on each line (jq -c '.[]' does it)")
    origin = "standard input" if source.name in {"<stdin>", "-", 0} else Path(source.name).name
    return read_text(source, origin, time or _file_time(source))


def _file_time(source: IO[bytes]) -> datetime:
    about = _regular(source)
    return datetime.now(UTC) if about is None else datetime.fromtimestamp(about.st_mtime, UTC)


def _regular(source: IO[bytes]) -> os.stat_result | None:
    """What is known of a regular file; None for pipes and terminals."""
    try:
        about = os.fstat(source.fileno())
    except OSError:  # not a file of the system at all
        return None
    return about if stat.S_ISREG(about.st_mode) else None


async def _ingest(client: Client, task: Task, as_json: bool) -> None:
    with Bars() as bars:
        async with connect(client) as service:
            outcome = await _send(service, task, bars)
    _report(outcome, task, as_json)
    if outcome.refused:
        rest = "all others are stored" if outcome.acknowledged else "nothing is stored"
        raise Failure(f"{len(outcome.refused)} lines were refused; {rest}")
    if outcome.parked:
        raise ItemsParked(f"{len(outcome.parked)} items are parked (`kgsvc retry` starts them again)")


async def _send(service: Service, task: Task, bars: Bars) -> Outcome:
    about = _regular(task.source)
    stored = bars.phase("stored", about.st_size if about else None)
    upload = Upload(service, task.group_id, task.item_bytes, lambda size: bars.advance(stored, size))
    outcome = await upload.run(task.records)
    if task.wait_s is not None:
        done = bars.phase("in the graph", sum(map(len, outcome.open.values())) or 1)
        await follow(service, outcome, task.wait_s, lambda count: bars.advance(done, count))
    return outcome


def _report(outcome: Outcome, task: Task, as_json: bool) -> None:
    if as_json:
        print_json(_as_dict(outcome))
        return
    click.echo(f"{outcome.accepted} items stored, {outcome.duplicates} were there already.")
    if task.stamped and outcome.other_time:
        click.echo(f"{outcome.other_time} of them keep the time they were stored with, not that of --time.")
    for line, problem in outcome.refused[:SHOWN]:
        click.echo(f"line {line}: {printable(problem)}", err=True)
    if len(outcome.refused) > SHOWN:
        click.echo(f"... and {len(outcome.refused) - SHOWN} more lines", err=True)
    for uuid, reason in list(outcome.parked.items())[:SHOWN]:
        click.echo(f"parked {uuid}: {printable(reason)}", err=True)
    if task.wait_s is not None and outcome.acknowledged > len(outcome.parked):
        whole = not outcome.parked and not outcome.refused
        in_graph = outcome.acknowledged - len(outcome.parked)
        click.echo("All of them are in the graph." if whole else f"{in_graph} items are in the graph.")


def _as_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "accepted": outcome.accepted,
        "duplicates": outcome.duplicates,
        "other_time": outcome.other_time,
        "refused": [{"line": line, "problem": problem} for line, problem in outcome.refused],
        "parked": [{"uuid": uuid, "reason": reason} for uuid, reason in outcome.parked.items()],
        "receipts": list(outcome.open),
    }
