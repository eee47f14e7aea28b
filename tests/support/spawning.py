"""Processes of `kgsvc` that are copies of one that has imported what they need.

A copy (fork) runs a hundredth of a second after it was asked for; a new interpreter imports for more than a
second first, and tests start hundreds. A copy has its own memory, signals and exit code like any process, but
shares with other copies the order in which sets of strings are iterated: what must not depend on it is tested
with a new interpreter (Service starts one when it is started again).
"""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import connection
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.support.preloaded"])


class Copy:
    """A running `kgsvc ARGUMENTS`, with what tests use of subprocess.Popen. Outputs are appended to."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        out: Path,
        err: Path,
        given: Path = Path(os.devnull),
    ) -> None:
        args = (tuple(arguments), dict(environment), (given, out, err))
        self._process = _CONTEXT.Process(target=_run, args=args, daemon=True)
        self._process.start()
        self._reading = threading.Lock()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code, or minus the signal that ended it; None: it runs."""
        with self._reading:
            return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """The exit code, once it has ended. Raises subprocess.TimeoutExpired."""
        if not connection.wait([self._process.sentinel], timeout):
            raise subprocess.TimeoutExpired("kgsvc", timeout)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Signal it, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()


def _run(arguments: Sequence[str], environment: Mapping[str, str], files: Sequence[Path]) -> None:
    """In the copy: what the command would be in a session of its own, started from the repository."""
    os.setsid()
    os.chdir(REPOSITORY)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(files):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT if number else os.O_RDONLY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["kgsvc", *arguments]
    from tests.support.preloaded import kgsvc

    kgsvc()
