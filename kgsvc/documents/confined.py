"""Processes of their own for what long or hostile documents may not do to the service."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import IO

# What a Python needs of its environment to start; no credential of this process goes with it.
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "SYSTEMROOT")


async def start(
    module: str, *arguments: str, stdin: int | IO[bytes], stderr: int, line_bytes: int = 64 * 1024
) -> asyncio.subprocess.Process:
    """Run a module of ours as a program that is confined; of its answer, lines may be so long."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # nothing in the working directory is imported in the place of a library
        "-m",
        module,
        *arguments,
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        limit=line_bytes,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )


def confine(memory_bytes: int, cpu_s: int | None = None) -> None:
    """From here on this process can take neither more memory nor more time, nor write a file."""
    if sys.platform == "win32":  # there, the deadline of the parent is the only limit
        return
    import resource

    if cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "darwin":  # which refuses this limit
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
