"""Progress bars on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from kgsvc.cli.show import printable


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
