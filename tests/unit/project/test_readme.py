"""The README says what is: settings, limits, errors, operations, commands, targets."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from kgsvc.api.errors import RULES
from kgsvc.api.server import SERVICES
from kgsvc.cli.main import COMMANDS, cli
from kgsvc.config import KEYS

REPOSITORY = Path(__file__).resolve().parents[3]
README = (REPOSITORY / "README.md").read_text()


def rows(*header: str) -> list[list[str]]:
    """The cells of every table with this header."""
    found: list[list[str]] = []
    head = "| " + " | ".join(header) + " |\n"
    for part in README.split(head)[1:]:
        for line in part.splitlines()[1:]:
            if not line.startswith("|"):
                break
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    assert found, f"no table {header}"
    return found


def test_every_setting_is_there_with_its_default() -> None:
    shown = {
        name.strip("`"): default.strip("`") for name, default, _ in rows("Setting", "Default", "Meaning")
    }
    assert shown == {key.name: key.shown(key.default) for key in KEYS.values()}
    assert all(meaning for _, _, meaning in rows("Setting", "Default", "Meaning"))


def test_every_error_code_is_there_as_it_is_answered() -> None:
    table = rows("Code", "Answered", "gRPC status", "Try again", "Meaning")
    assert [[cell.strip("`") for cell in row] for row in table] == [
        [code, rule.mode.value, rule.grpc_code.name, "yes" if rule.retryable else "no", rule.meaning]
        for code, rule in RULES.items()
    ]


def test_every_operation_is_there() -> None:
    shown = {name.strip("`"): operations.split(", ") for name, operations in rows("Service", "Operations")}
    served = {service.name: [method.name for method in service.methods] for service in SERVICES}
    assert {name: sorted(named) for name, named in shown.items()} == {
        name: sorted(methods) for name, methods in served.items()
    }


def examples() -> list[list[str]]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [line.split("#")[0].split("| ")[-1] for block in blocks for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("kgsvc ")]


def test_every_command_is_shown_and_every_option_shown_exists() -> None:
    shown = {words[0] for words in examples()}
    assert shown == set(COMMANDS) - {"demo"}  # that is `make demo`
    for name, *words in examples():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
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
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", (REPOSITORY / document).read_text(), re.MULTILINE))
        assert named
        assert named <= targets, document


def test_every_file_that_is_linked_exists() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "clients/README.md"):
        path = REPOSITORY / document
        for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / link).exists(), f"{document}: {link}"
