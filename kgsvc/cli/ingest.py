"""`kgsvc ingest`."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kgsvc.cli import options, slack
from kgsvc.cli.chats import MAPPED, Chats, time_of
from kgsvc.cli.client import Service, connect
from kgsvc.cli.documents import DocumentRefused, DocumentSender
from kgsvc.cli.options import Failure, ItemsParked
from kgsvc.cli.reading import (
    STDIN,
    FoundFiles,
    Read,
    buffered,
    find,
    read_csv,
    read_json,
    read_json_lines,
    read_text,
)
from kgsvc.cli.show import print_json, printable
from kgsvc.cli.upload import Outcome, Upload, follow
from kgsvc.config import Settings
from kgsvc.documents.reading.formats import Unreadable
from kgsvc.documents.reading.reader import Reader
from kgsvc.v1.documents_pb2 import AddedDocument, DocumentArrival

SHOWN = 20  # lines or items named in a report


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What the command was told beside its sources."""

    group_id: str
    kind: str
    time: datetime | None
    wait_s: float | None  # None: do not wait
    item_bytes: int
    columns: Mapping[str, str] = field(default_factory=dict)  # by --map, ours -> theirs


def _time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    try:
        return None if value is None else time_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _columns(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str]:
    pairs = [each.partition("=") for each in value.split(",")] if value else []
    for ours, _, theirs in pairs:
        if ours not in MAPPED or not theirs:
            raise click.BadParameter(f"{ours!r}: must be FIELD=COLUMN with a FIELD of {', '.join(MAPPED)}")
    if pairs and "content" not in {ours for ours, _, _ in pairs}:
        raise click.BadParameter("must name the column of the text: content=COLUMN")
    return {ours: theirs for ours, _, theirs in pairs}


@click.command("ingest")
@click.argument(
    "sources",
    type=click.Path(exists=True, readable=True, allow_dash=True, path_type=Path),
    metavar="FILE|FOLDER|-",
    nargs=-1,
    required=True,
)
@options.group
@click.option(
    "--format",
    "kind",
    type=click.Choice(["auto", "jsonl", "csv", "text"]),
    default="auto",
    help="JSON lines, a table, or text of which every paragraph is an episode; auto: by name and content.",
)
@click.option(
    "--map",
    "columns",
    callback=_columns,
    metavar="FIELD=COLUMN,...",
    help="What columns of a CSV or fields of JSON objects are: content=text,role=author,timestamp=date.",
)
@click.option(
    "--time",
    callback=_time,
    help="Time of text, and of the first message that tells none; default: when the file was last changed; "
    "for a pipe: now.",
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
    sources: tuple[Path, ...],
    group: str,
    kind: str,
    columns: dict[str, str],
    time: datetime | None,
    wait: bool,
    wait_timeout: float,
    as_json: bool,
    settings: Settings,
) -> None:
    """Send the items of each FILE, of all files in each FOLDER, or of standard input for -.

    Text, Markdown, HTML, PDF, DOCX and mail (.txt, .md, .html, .pdf, .docx, .eml) are documents. In .json,
    .jsonl, .ndjson and .csv are messages (role_type, content, timestamp), chats as the OpenAI API takes them
    (role and content, or messages), exports of ChatGPT and Claude (conversations.json), or episodes (source,
    body, reference_time); with --map whatever you have. A FOLDER that Slack exported is read by its days.

    Sending something again changes nothing, with another --time neither: what is stored already is counted
    separately and keeps its time.
    """
    wanted = IngestOptions(
        group, kind, time, wait_timeout if wait else None, settings.limits.payload_bytes, columns
    )
    found = find(sources)
    if kind != "auto":  # whatever the names say
        found = replace(found, items=(*found.items, *found.documents), documents=())
    options.run(_ingest(settings, found, wanted, as_json))


async def _ingest(settings: Settings, found: FoundFiles, wanted: IngestOptions, as_json: bool) -> None:
    if not found.count:
        raise Failure(f"there is nothing to read; files of other formats: {found.passed_over}")
    total = Total()
    try:
        with Bars() as bars:
            async with connect(settings.client) as service:
                await _send_items(service, (*found.others, *found.items), wanted, total, bars)
                await _send_documents(service, Reader(settings.reading), found.documents, wanted, total, bars)
                if wanted.wait_s is not None:
                    await _follow(service, total, wanted.group_id, wanted.wait_s, bars)
    except asyncio.CancelledError:  # by Ctrl-C
        click.echo("What was stored until now stays; the same command again sends the rest.", err=True)
        raise
    _report(total, found, wanted, as_json)
    if total.unreadable:
        raise Failure(f"{len(total.unreadable)} files were refused; {total.rest}")
    if total.refused:
        raise Failure(f"{len(total.refused)} lines were refused; {total.rest}")
    if total.failed:
        raise ItemsParked(
            f"{len(total.failed)} documents have parked chunks (`kgsvc retry` starts them again)"
        )
    if total.items.parked:
        raise ItemsParked(f"{len(total.items.parked)} items are parked (`kgsvc retry` starts them again)")


async def _follow(service: Service, total: Total, group_id: str, within_s: float, bars: Bars) -> None:
    chunks = sum(each.chunks for each in total.documents)
    done = bars.phase("in the graph", sum(map(len, total.items.open.values())) + chunks or 1)
    await follow(service, total.items, within_s, lambda count: bars.advance(done, count))
    sender = DocumentSender(service, group_id)
    total.failed = await sender.follow(total.documents, within_s, lambda count: bars.advance(done, count))


@dataclass(slots=True)
class Total:
    """What became of everything."""

    items: Outcome = field(default_factory=Outcome)  # without what was refused
    refused: list[tuple[Path, int, str]] = field(default_factory=list)  # file, line and problem
    unreadable: list[Unreadable] = field(default_factory=list)
    documents: list[AddedDocument] = field(default_factory=list)  # that are stored
    failed: dict[str, str] = field(default_factory=dict)  # of those, that are not read as a whole: why

    @property
    def rest(self) -> str:
        """What became of all that was neither refused nor unreadable."""
        stored = self.items.acknowledged or self.documents
        return "all others are stored" if stored else "nothing is stored"

    @property
    def arrivals(self) -> dict[str, int]:
        """How many documents came to what."""
        counts = Counter(each.arrival for each in self.documents)
        names = {value: name.removeprefix("DOCUMENT_ARRIVAL_") for name, value in DocumentArrival.items()}
        return {names[arrival].lower(): count for arrival, count in sorted(counts.items())}

    def add(self, path: Path, outcome: Outcome) -> None:
        """Count in what became of one file."""
        self.items.accepted += outcome.accepted
        self.items.duplicates += outcome.duplicates
        self.items.other_time += outcome.other_time
        self.items.silent += outcome.silent
        self.items.parked |= outcome.parked
        self.items.open |= outcome.open
        self.refused += [(path, *line) for line in outcome.refused]


async def _send_items(
    service: Service, paths: Sequence[Path], wanted: IngestOptions, total: Total, bars: Bars
) -> None:
    """One file after the other, on one bar of bytes."""
    if not paths:
        return
    sizes = [path.stat().st_size if path.is_file() else None for path in paths]
    stored = bars.phase("stored", None if None in sizes else sum(filter(None, sizes)))
    for number, path in enumerate(paths, 1):
        bars.say(stored, number, len(paths), path)
        with click.open_file(str(path), "rb") as opened:
            source = buffered(opened)
            upload = Upload(
                service, wanted.group_id, wanted.item_bytes, lambda size: bars.advance(stored, size)
            )
            total.add(path, await upload.run(read_source(source, path, wanted)))


async def _send_documents(
    service: Service, reader: Reader, paths: Sequence[Path], wanted: IngestOptions, total: Total, bars: Bars
) -> None:
    """One after the other; one that cannot be read is passed over."""
    sender = DocumentSender(service, wanted.group_id)
    if not paths:
        return
    done = bars.phase("documents", len(paths))
    for number, path in enumerate(paths, 1):
        bars.say(done, number, len(paths), path)
        try:
            read = await reader.read_file(path, str(path))
        except Unreadable as error:
            total.unreadable.append(error)
        else:
            time = wanted.time or datetime.fromtimestamp(path.stat().st_mtime, UTC)
            try:
                added = await sender.send(path, read, time)
            except DocumentRefused as error:
                total.unreadable.append(Unreadable(str(path), str(error)))
            else:
                total.documents.append(added)
        bars.advance(done, 1)


def read_source(source: BufferedReader, path: Path, wanted: IngestOptions) -> Iterator[Read]:
    """What is in a file, touched only when the first is asked for: a pipe may keep one waiting."""
    origin = "standard input" if path == STDIN else path.name
    time = wanted.time or _file_time(source)
    chats = Chats(origin, time, wanted.columns)
    suffix = path.suffix.lower() if wanted.kind == "auto" else ""
    if suffix == ".json":
        yield from read_json(source, chats, path if slack.is_day(path) else None)
        return
    if wanted.kind == "csv" or suffix == ".csv":
        yield from read_csv(source, chats)
        return
    beginning = source.peek(64).lstrip(b"\xef\xbb\xbf").lstrip()
    if wanted.kind == "jsonl" or (wanted.kind == "auto" and beginning.startswith(b"{")):
        yield from read_json_lines(source, chats)
    elif wanted.kind == "auto" and beginning.startswith(b"["):
        yield from read_json(source, chats)
    else:
        yield from read_text(source, origin, time)


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


def _report(total: Total, found: FoundFiles, wanted: IngestOptions, as_json: bool) -> None:
    if as_json:
        print_json(_as_dict(total))
        return
    items = total.items
    click.echo("\n".join(_counted(total, found, wanted)))
    for error in total.unreadable:
        click.echo(printable(str(error)), err=True)
    for path, line, problem in total.refused[:SHOWN]:
        file = f"{path}, " if found.count > 1 else ""
        click.echo(f"{printable(file)}line {line}: {printable(problem)}", err=True)
    if len(total.refused) > SHOWN:
        click.echo(f"... and {len(total.refused) - SHOWN} more lines", err=True)
    for uuid, reason in list(items.parked.items())[:SHOWN]:
        click.echo(f"parked {uuid}: {printable(reason)}", err=True)
    for name, reason in list(total.failed.items())[:SHOWN]:
        click.echo(printable(f"parked chunks of {name}: {reason}"), err=True)
    in_graph = items.acknowledged - len(items.parked) + len(total.documents) - len(total.failed)
    if wanted.wait_s is not None and in_graph > 0:
        whole = not (items.parked or total.failed or total.refused or total.unreadable)
        click.echo("All of them are in the graph." if whole else f"{in_graph} items are in the graph.")


def _counted(total: Total, found: FoundFiles, wanted: IngestOptions) -> Iterator[str]:
    """What was sent and what was not, a line each."""
    items = total.items
    if total.documents:
        told = ", ".join(f"{count} {came_to}" for came_to, count in total.arrivals.items())
        chunks = sum(each.new_chunks for each in total.documents)
        yield f"Documents: {told}; {chunks} chunks to read."
    if not (items.acknowledged or items.silent or total.documents or total.refused or total.unreadable):
        yield "There was nothing to send."
    elif items.acknowledged or not total.documents:
        yield f"{items.accepted} items stored, {items.duplicates} were there already."
    if items.silent:
        yield f"{items.silent} not sent: instructions, output of tools, notices, empty messages."
    if wanted.time is not None and items.other_time:
        yield f"{items.other_time} of them keep the time they were stored with, not that of --time."
    if found.passed_over:
        yield f"Files of other formats that were passed over: {found.passed_over}."


def _as_dict(total: Total) -> dict[str, Any]:
    return {
        "accepted": total.items.accepted,
        "duplicates": total.items.duplicates,
        "other_time": total.items.other_time,
        "not_sent": total.items.silent,
        "refused": [
            {"file": str(path), "line": line, "problem": problem} for path, line, problem in total.refused
        ],
        "documents": total.arrivals,
        "failed": [{"document_id": name, "reason": reason} for name, reason in total.failed.items()],
        "unreadable": [{"file": error.name, "reason": error.reason} for error in total.unreadable],
        "parked": [{"uuid": uuid, "reason": reason} for uuid, reason in total.items.parked.items()],
        "receipts": list(total.items.open),
    }


class Bars:
    """One bar for each phase of a command. A total of None: not known."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[file]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not sys.stderr.isatty(),
        )

    def phase(self, description: str, total: float | None) -> TaskID:
        """A further bar."""
        return self._progress.add_task(description, total=total, file="")

    def advance(self, phase: TaskID, by: float) -> None:
        """Some more is done."""
        self._progress.advance(phase, by)

    def say(self, phase: TaskID, number: int, count: int, path: Path) -> None:
        """Which file is worked on, and of how many, where there are several."""
        if count > 1:
            self._progress.update(phase, file=escape(f"{number} of {count}: {printable(path.name)}"))

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
