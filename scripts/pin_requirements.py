"""Writes the requirements pinned by hash (`make requirements`), with the oldest Python that is supported.

Each pin stands in one file: the file of an extra includes the one below it by `-r` and holds what it adds.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
RUNTIME, LOCAL, DOCUMENTS, MCP, DEV, DEPLOY, BUILD = (
    f"requirements{name}.txt" for name in ("", "-local", "-documents", "-mcp", "-dev", "-deploy", "-build")
)
OPTIONS = (
    "--quiet",
    "--generate-hashes",
    "--allow-unsafe",
    "--strip-extras",
    "--no-emit-index-url",  # no pin may name a place
    "--no-emit-find-links",
    "--no-emit-trusted-host",
    "--no-emit-options",
)


def compile_pins(target: str, *options: str) -> None:
    """Let pip-compile write `target` whole."""
    command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *options]
    environment = os.environ | {"CUSTOM_COMPILE_COMMAND": "make requirements"}
    subprocess.run([*command, "-o", target, "pyproject.toml"], check=True, env=environment)


def keep_additions(target: str, *bases: str) -> None:
    """Drop from `target` the pins that `bases` and what they include hold, and include `bases` instead."""
    known = set[str]().union(*map(pinned, bases))
    head, *blocks = re.split(r"^(?=[A-Za-z0-9])", Path(target).read_text(), flags=re.MULTILINE)
    additions = [block for block in blocks if block.partition("==")[0] not in known]
    Path(target).write_text("".join([head, *(f"-r {base}\n" for base in bases), *additions]))


def pinned(path: str) -> set[str]:
    """The names that a file pins, also by what it includes."""
    text = Path(path).read_text()
    names = set(re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE))
    return names.union(*(pinned(base) for base in re.findall(r"^-r (\S+)$", text, re.MULTILINE)))


def main(options: list[str]) -> None:
    """Pin everything again; `--upgrade` takes the newest allowed versions."""
    if sys.version_info[:2] != OLDEST:
        sys.exit(f"pin with Python {'.'.join(map(str, OLDEST))}, the oldest supported")
    compile_pins(RUNTIME, *options)
    compile_pins(LOCAL, *options, "--extra", "local", "-c", RUNTIME)
    compile_pins(DOCUMENTS, *options, "--extra", "documents", "-c", RUNTIME)
    compile_pins(MCP, *options, "--extra", "mcp", "-c", RUNTIME)
    compile_pins(DEV, *options, "--extra", "dev", "-c", LOCAL, "-c", DOCUMENTS, "-c", MCP)
    compile_pins(DEPLOY, *options, "--extra", "deploy", "-c", DEV)
    compile_pins(BUILD, *options, "--all-build-deps", "--only-build-deps")
    keep_additions(LOCAL, RUNTIME)
    keep_additions(DOCUMENTS, RUNTIME)
    keep_additions(MCP, RUNTIME)
    keep_additions(DEV, LOCAL, DOCUMENTS, MCP)
    keep_additions(DEPLOY, DEV)


if __name__ == "__main__":
    main(sys.argv[1:])
