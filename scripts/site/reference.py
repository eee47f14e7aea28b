"""The pages of the reference: services and messages of the contract, settings, the help of every command."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor, ServiceDescriptor

from kgsvc.cli.main import COMMANDS, cli
from kgsvc.config import KEYS, SettingKey
from kgsvc.config.reading import convert
from scripts.openapi import PACKAGE, comments, descriptors

CONFIGURATION = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
WIDTH = 84  # of a block on a page
_SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
}
_WELL_KNOWN = {"google.protobuf.Timestamp": "Timestamp", "google.protobuf.Struct": "Struct"}


def pages() -> dict[str, str]:
    """Every page by the name of its file."""
    return {**contract(), "settings.md": settings(), "commands.md": commands()}


def contract() -> dict[str, str]:
    """A page for each service, and one for the messages that they share."""
    built, pool = descriptors()
    ours = [file for file in built.file if file.package == PACKAGE]
    said = comments(ours)
    services = [pool.FindServiceByName(f"{PACKAGE}.{each.name}") for file in ours for each in file.service]
    messages = [pool.FindMessageTypeByName(f"{PACKAGE}.{m.name}") for file in ours for m in file.message_type]
    enums = [pool.FindEnumTypeByName(f"{PACKAGE}.{each.name}") for file in ours for each in file.enum_type]
    own = {kind.full_name for service in services for method in service.methods for kind in _own(method)}
    shared = [each for each in messages if each.full_name not in own]
    found = {_page(each): _service(each, said) for each in services}
    parts = ["# Messages", "What requests and answers of several operations hold."]
    for kind in sorted(shared, key=lambda each: each.name):
        parts += [f"## {kind.name}", _prose(said[kind.full_name]), _fields(kind, said, "")]
    for enum in sorted(enums, key=lambda each: each.name):
        values = [f"| `{v.name}` | {_prose(said[f'{enum.full_name}.{v.name}'])} |" for v in enum.values]
        parts += [f"## {enum.name}", _prose(said[enum.full_name]), _table("Value", "Meaning", rows=values)]
    return {**found, "messages.md": _joined(parts)}


def _page(service: ServiceDescriptor) -> str:
    return f"{service.name.removesuffix('Service').lower()}.md"


def _own(method: MethodDescriptor) -> Iterator[Descriptor]:
    """The messages that are told with their operation: request, response, input and output."""
    for kind in (method.input_type, method.output_type):
        yield kind
        for name in ("input", "output"):
            inner = kind.fields_by_name.get(name)
            if inner is not None and inner.message_type and inner.message_type.name.startswith(method.name):
                yield inner.message_type


def _service(service: ServiceDescriptor, said: Mapping[str, str]) -> str:
    parts = [f"# {service.name}", _prose(said[service.full_name]), _ENVELOPE]
    for method in service.methods:
        parts += [f"## {method.name}", _prose(said[method.full_name])]
        for kind, streams, word in (
            (method.input_type, method.client_streaming, "Input"),
            (method.output_type, method.server_streaming, "Output"),
        ):
            inner = None if streams else kind.fields_by_name.get(word.lower())
            told = inner.message_type if inner is not None else kind
            assert told is not None
            label = f"{'A stream of' if streams else word}: {_linked(told, _own_names(method))}"
            parts += [f"**{label}**", _fields(told, said, "messages.md", _own_names(method))]
    return _joined(parts)


def _own_names(method: MethodDescriptor) -> frozenset[str]:
    return frozenset(kind.full_name for kind in _own(method))


_ENVELOPE = (
    "Requests hold `request_id`, `idempotency_key` and the input that is shown here, answers `request_id`,"
    " `status`, the output and `error`; [the contract](../docs/contract.md#envelope) tells what these mean."
)


def _fields(
    kind: Descriptor, said: Mapping[str, str], elsewhere: str, own: frozenset[str] = frozenset()
) -> str:
    rows = [
        f"| `{each.name}` | {_type(each, elsewhere, own)} | {_prose(said[each.full_name])} |"
        for each in kind.fields
    ]
    return _table("Field", "Type", "Meaning", rows=rows) if rows else "No fields."


def _type(field: FieldDescriptor, elsewhere: str, own: frozenset[str]) -> str:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        value = kind.fields_by_name["value"]
        return f"map of string to {_one(value, elsewhere, own)}"
    one = _one(field, elsewhere, own)
    return f"list of {one}" if field.is_repeated else one


def _one(field: FieldDescriptor, elsewhere: str, own: frozenset[str]) -> str:
    named = field.message_type or field.enum_type
    return _linked(named, own, elsewhere) if named is not None else _SCALARS[field.type]


def _linked(kind: object, own: frozenset[str], elsewhere: str = "messages.md") -> str:
    full, name = kind.full_name, kind.name  # type: ignore[attr-defined]
    if full in _WELL_KNOWN:
        return _WELL_KNOWN[full]
    return f"`{name}`" if full in own else f"[{name}]({elsewhere}#{name.lower()})"


def settings() -> str:
    """Every setting: variable, values, default, and what docs/configuration.md says of it."""
    row = re.compile(r"^\| `([\w.]+)` \| [^|]*\| (.+) \|$", re.MULTILINE)
    meanings = dict(row.findall(CONFIGURATION.read_text()))
    parts = ["# Settings", "[Configuration](../docs/configuration.md) tells where values come from."]
    for section in dict.fromkeys(key.section for key in KEYS.values()):
        parts.append(f"## {section}")
        for key in (each for each in KEYS.values() if each.section == section):
            meaning = re.sub(r"\]\((?=[a-z]+\.md)", "](../docs/", meanings[key.name])
            parts += [f"### {key.name}", f"{meaning}.", _values(key)]
    return _joined(parts)


def _values(key: SettingKey) -> str:
    default = key.shown(key.default)
    return (
        f"`{key.variable}` · {html.escape(_allowed(key), quote=False)}"
        f" · {f'default `{default}`' if default else 'not set by default'}"
    )


def _allowed(key: SettingKey) -> str:
    """In the words in which a bad value is refused."""
    try:
        found = convert(key, "?", textual=True)
    except ValueError as wanted:
        return str(wanted)
    return "a path" if isinstance(found, Path) else "text"


def commands() -> str:
    """What `--help` prints, of every command."""
    about = "What `--help` prints. [The command line](../docs/commands.md) tells how commands are used."
    parts = ["# Commands", about]
    for name, command in _walk((name, cli.get_command(click.Context(cli), name)) for name in COMMANDS):
        context = click.Context(command, info_name=f"kgsvc {name}", terminal_width=WIDTH)
        parts += [f"## kgsvc {name}", f"```text\n{command.get_help(context)}\n```"]
    return _joined(parts)


def _walk(named: Iterable[tuple[str, click.Command | None]]) -> Iterator[tuple[str, click.Command]]:
    for name, command in named:
        assert command is not None, name
        yield name, command
        if isinstance(command, click.Group):
            yield from _walk((f"{name} {inner}", each) for inner, each in command.commands.items())


def _prose(comment: str) -> str:
    """A comment as text of a cell."""
    return re.sub(r"([\\*`|\[\]])", r"\\\1", html.escape(comment, quote=False))


def _table(*head: str, rows: Iterable[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
