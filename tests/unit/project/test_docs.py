"""README and docs/ say what is: settings, limits, errors, operations, metrics, commands, targets, links."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from kgsvc.api.errors import RULES
from kgsvc.api.server import SERVICES
from kgsvc.cli.main import COMMANDS, cli
from kgsvc.config import KEYS
from kgsvc.domain.limits import Limits
from kgsvc.observability.metrics import Metrics
from tests.support.documents import COMMANDS as COMMAND_BLOCKS
from tests.support.documents import DATA, DOCS, PAGES, REPOSITORY, blocks, steps

README_LINES = 200


def rows(page: Path, *header: str) -> list[list[str]]:
    """The cells of every table with this header on a page."""
    found: list[list[str]] = []
    head = "| " + " | ".join(header) + " |\n"
    for part in page.read_text().split(head)[1:]:
        for line in part.splitlines()[1:]:
            if not line.startswith("|"):
                break
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    assert found, f"{page.name}: no table {header}"
    return found


def test_every_setting_is_there_with_its_default() -> None:
    table = rows(DOCS / "configuration.md", "Setting", "Default", "Meaning")
    shown = {name.strip("`"): default.strip("`") for name, default, _ in table}
    assert shown == {key.name: key.shown(key.default) for key in KEYS.values()}
    assert len(shown) == len(table)
    assert all(meaning for _, _, meaning in table)


def test_every_fixed_limit_is_there_with_its_value() -> None:
    table = rows(DOCS / "configuration.md", "Limit", "Value", "Meaning")
    shown = {name.strip("`"): value.strip("`") for name, value, _ in table}
    fixed = {each.name for each in fields(Limits) if f"limits.{each.name}" not in KEYS}
    assert shown == {name: str(getattr(Limits(), name)) for name in fixed}


def test_every_error_code_is_there_as_it_is_answered() -> None:
    table = rows(DOCS / "contract.md", "Code", "Answered", "gRPC status", "Try again", "Meaning")
    assert [[cell.strip("`") for cell in row] for row in table] == [
        [code, rule.mode.value, rule.grpc_code.name, "yes" if rule.retryable else "no", rule.meaning]
        for code, rule in RULES.items()
    ]


def test_every_operation_is_there() -> None:
    table = rows(DOCS / "contract.md", "Service", "Operations")
    shown = {name.strip("`"): operations.split(", ") for name, operations in table}
    served = {service.name: [method.name for method in service.methods] for service in SERVICES}
    assert {name: sorted(named) for name, named in shown.items()} == {
        name: sorted(methods) for name, methods in served.items()
    }


def test_every_metric_is_there() -> None:
    table = rows(DOCS / "operations.md", "Metric", "Type", "Meaning")
    exported = {
        f"{family.name}_total" if family.type == "counter" else family.name: family.type
        for family in Metrics().registry.collect()
    }
    assert {name.strip("`"): kind for name, kind, _ in table} == exported


def lines_of_commands() -> Iterator[str]:
    for page in PAGES:
        for block in blocks(page):
            if block.language == "sh":
                yield from block.text.replace("\\\n", " ").splitlines()
            elif block.language == "console":
                yield from (step.command.replace("\\\n", " ") for step in steps(block))


def examples() -> list[list[str]]:
    lines = [line.split(" #")[0].split("<<")[0].split("| ")[-1] for line in lines_of_commands()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("kgsvc ")]


def test_every_command_is_shown_and_every_option_shown_exists() -> None:
    shown = {words[0] for words in examples()}
    assert shown == set(COMMANDS) - {"demo"}  # that is `make demo`
    for name, *words in examples():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        if isinstance(command, click.Group):
            command = command.commands[words[0]]
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_line_of_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts}"
            assert "\n" not in parameter.help


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for page in (*PAGES, REPOSITORY / "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", page.read_text(), re.MULTILINE))
        assert named <= targets, page.name


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere() -> None:
    for page in (*PAGES, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "clients" / "README.md"):
        for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text()):
            target = page.parent / path if path else page
            assert target.exists(), f"{page.name}: {path}"
            assert not anchor or anchor in anchors(target), f"{page.name}: {path}#{anchor}"


def files_of(row: str) -> list[Path]:
    """The files and folders that a row of the table of changes names."""
    package = REPOSITORY / "kgsvc"
    found = [package / name for name in re.findall(r"`(\w+\.py)`", row) if (package / name).exists()]
    for named in re.findall(r"`([\w/{},.]+/[\w/{},.]*)`", row):
        head, inner, tail = re.fullmatch(r"([^{]*)(?:{(.*)})?(.*)", named).groups()  # type: ignore[union-attr]
        for path in (f"{head}{part}{tail}" for part in (inner or "").split(",")):
            there = [root / path for root in (REPOSITORY, package) if (root / path).exists()]
            assert there, path
            found += there
    return found


def test_every_file_and_name_in_the_table_of_changes_exists() -> None:
    for _, row in rows(REPOSITORY / "CONTRIBUTING.md", "What", "Files, in this order"):
        texts = [path.read_text() for path in files_of(row) if path.is_file()]
        near = [each.read_text() for path in files_of(row) for each in path.parent.glob("*.py")]
        for name in re.findall(r"`((?:\w+\.)?\w+)`", row):
            if (REPOSITORY / name).exists() or name.endswith(".py"):
                continue
            word = re.compile(rf"\b{name.rpartition('.')[2]}\b")
            assert any(map(word.search, texts + near)), f"{name} is in none of the files of: {row}"


def test_every_page_is_reached_from_the_readme_which_is_short() -> None:
    text = (REPOSITORY / "README.md").read_text()
    parts = (DOCS / "design" / "README.md").read_text()
    for page in PAGES[1:]:
        if page.parent.name != "design":
            assert f"({page.relative_to(REPOSITORY)})" in text
        elif page.name != "README.md":
            assert f"({page.name})" in parts
    assert len(text.splitlines()) <= README_LINES


def test_every_block_is_run_or_says_why_not() -> None:
    found = [block for page in PAGES for block in blocks(page)]
    assert {block.language for block in found} <= COMMAND_BLOCKS | DATA
    reasons = [block.not_run for block in found if block.not_run is not None]
    assert all(block.language in COMMAND_BLOCKS for block in found if block.not_run)
    written = sum(page.read_text().count("<!-- not run") for page in PAGES)
    assert written == len(reasons), "a comment that does not stand right before its block"
