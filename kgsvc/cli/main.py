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
    "console": "Run the service and look at it in the browser.",
    "demo": "Show the service at work: start one, send it a conversation, ask questions.",
    "ingest": "Send messages, episodes and documents from files and folders.",
    "documents": "List documents and how far they are.",
    "ask": "Answer a question and name the sources.",
    "search": "Find facts.",
    "memory": "Find the facts that matter to a conversation.",
    "entity": "Show what is known of an entity.",
    "history": "Show how a fact came to be.",
    "mcp": "Give an agent the memory of a group as tools.",
    "communities": "List groups of entities that belong together.",
    "groups": "List groups, what they hold and when they last changed.",
    "ontology": "Read or set the types of a group.",
    "items": "List items and their states.",
    "retry": "Start parked items again.",
    "pause": "Let the items of a group wait.",
    "resume": "Have the items of a group worked on again.",
    "mode": "Switch the service to read-only, or models off.",
    "retract": "Say that a fact was never true.",
    "delete": "Delete an episode, a document, a fact or a group.",
    "model": "Get the model that embeds in the process.",
    "token": "Make, list and revoke credentials of callers.",
    "backup": "Copy the embedded store while a service goes on with it.",
    "restore": "Make an embedded store of a backup.",
    "export": "Write a group to a file, for another store.",
    "import": "Make a group of such a file.",
    "adopt": "Take over a graph that Graphiti wrote.",
    "migrate": "Make the schema of a store, or check it.",
    "health": "Say whether a service is ready.",
    "config": "Show every setting and where its value comes from.",
    "doctor": "Check configuration, store and models.",
    "completion": "Print what makes a shell complete commands.",
}
# Commands that stand beside another one in its module: the module and the object.
_BESIDE = {
    "memory": ("search", "memory"),
    "retry": ("items", "retry"),
    "history": ("entity", "history"),
    "import": ("export", "imported"),
    "mode": ("modes", "command"),
    "pause": ("modes", "pause"),
    "resume": ("modes", "resume"),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = _BESIDE.get(cmd_name, (cmd_name, "command"))
        command: click.Command = getattr(import_module(f"kgsvc.cli.{module}"), name)
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
