"""A process of `kgsvc serve --processes N`: serves like any other, with settings that its parent hands over.

Standard input brings them, and ends when the parent does. Standard output takes one line of JSON: what runs
here, or why nothing does.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import sys

from kgsvc import app
from kgsvc.announcement import Running
from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.config import Settings


def main() -> int:
    """Serve until a signal or the parent's end; the exit code."""
    try:
        settings: Settings = pickle.load(sys.stdin.buffer)
    except EOFError:
        return 0  # the parent is gone already
    try:
        with options.failures(settings):
            app.run(settings, _tell, parent=sys.stdin.fileno())
    except Failure as failure:
        _say(json.dumps({"failed": failure.message}))
        return failure.exit_code
    return 0


def _tell(service: Running) -> None:
    _say(service.to_json())


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody hears it: the end of standard input says so too
        print(line, flush=True)
