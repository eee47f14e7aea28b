"""The group of commands; each is imported when it is called for."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import click
from click.shell_completion import CompletionItem

from kgsvc.cli.options import Failure

# In the order of the help; the module of a command has its name, but for those of _BESIDE.
COMMANDS = {
    "serve": "Run the service.",
    "demo": "Show the service at work: start one, send it a conversation, ask questions.",
    "ingest": "Send messages, episodes and documents from files and folders.",
    "documents": "List documents and how far they are.",
    "ask": "Answer a question and name the sources.",
    "search": "Find facts.",
    "memory": "Find the facts that matter to a conversation.",
    "entity": "Show what is known of an entity.",
    "history": "Show how a fact came to be.",
    "communities": "List groups of entities that belong together.",
    "groups": "List groups, what they hold and when they last changed.",
    "ontology": "Read or set the types of a group.",
    "items": "List items and their states.",
    "retry": "Start parked items again.",
    "delete": "Delete an episode, a document, a fact or a group.",
    "model": "Get the model that embeds in the process.",
    "token": "Make, list and revoke credentials of callers.",
    "adopt": "Take over a graph that Graphiti wrote.",
    "health": "Say whether a service is ready.",
    "config": "Show every setting and where its value comes from.",
    "doctor": "Check configuration, store and models.",
    "completion": "Print what makes a shell complete commands.",
}
# Commands that stand beside another one in its module, where their objects have their names.
_BESIDE = {"memory": "search", "retry": "items", "history": "entity"}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"kgsvc.cli.{_BESIDE.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name if cmd_name in _BESIDE else "command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands by their names, without loading any."""
        named = [CompletionItem(n, help=text) for n, text in COMMANDS.items() if n.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except UnicodeEncodeError as error:  # of an argument on its way into a request
            raise Failure("an argument is not valid UTF-8") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def installed_version() -> str:
    """The version of the installed package; a checkout that is not installed has none."""
    try:
        return version("kgsvc")
    except PackageNotFoundError:
        return "0 (not installed)"


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(installed_version(), prog_name="kgsvc")
def cli() -> None:
    """A durable knowledge graph memory behind gRPC.

    Start with `kgsvc demo`. Or run `kgsvc serve`, and `kgsvc ingest` in another terminal.
    """
