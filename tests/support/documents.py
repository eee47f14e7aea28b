"""The Markdown pages for users, and the code blocks in them.

A block of commands is run by tests/integration/test_docs_commands.py. One that no test can run says so in a
comment on the line before it: `<!-- not run: why -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PAGES = (
    REPOSITORY / "README.md",
    *(page for folder in (DOCS, DOCS / "guides", DOCS / "design") for page in sorted(folder.glob("*.md"))),
)
COMMANDS = frozenset({"sh", "console", "python"})  # languages of blocks that are run
DATA = frozenset({"", "json", "yaml", "toml"})  # languages of blocks that are only read
_FENCE = re.compile(r"^```(.*)$")
_NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
_PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: where it begins, its language, its text, and why it is not run (None: it is)."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None = None

    @property
    def place(self) -> str:
        """For people: page and line."""
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a console block and what the block says that it prints."""

    command: str
    output: str


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found is None:
            continue
        if opened is None:
            opened, language = number, found[1]
            continue
        why = _NOT_RUN.match(lines[opened - 1]) if opened else None
        text = "\n".join(lines[opened + 1 : number])
        yield Block(page, opened + 1, language, text, why[1] if why else None)
        opened = None
    assert opened is None, f"{page}: the block of line {opened} has no end"


def commands() -> list[Block]:
    """The blocks that are run, page by page."""
    found = [block for page in PAGES for block in blocks(page)]
    return [block for block in found if block.language in COMMANDS and block.not_run is None]


def steps(block: Block) -> list[Step]:
    """The commands of a console block, which begin with `$ ` and go on with `> `, and their output."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            assert found, f"{block.place}: begins without a command"
            found[-1][1].append(line)
    return [Step("\n".join(command), "\n".join(output)) for command, output in found]


def unprinted(program: str, printed: str) -> str | None:
    """The first line that a program, in a comment behind its `print`, promises in vain; None: it keeps all.

    Other lines may come between, as from a loop, whose comment tells the first.
    """
    at = 0
    for (line,) in map(re.Match.groups, _PRINTED.finditer(program)):
        found = re.compile(f"^{_pattern(line)}$", re.MULTILINE | re.DOTALL).search(printed, at)
        if found is None:
            return line
        at = found.end()
    return None


def _pattern(expected: str) -> str:
    return ".*?".join(re.escape(part) for part in expected.split("..."))


def prints(expected: str, printed: str) -> bool:
    """Whether a command printed what a page shows; `...` stands for anything, also for several lines."""
    return re.fullmatch(_pattern(expected.strip()), printed.strip(), re.DOTALL) is not None
