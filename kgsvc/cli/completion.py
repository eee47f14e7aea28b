"""`kgsvc completion`: click's own scripts."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what makes a shell complete commands and options.

    Bash: eval "$(kgsvc completion bash)" in ~/.bashrc; zsh the same in ~/.zshrc; fish: kgsvc completion fish
    >~/.config/fish/completions/kgsvc.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None  # the choice names those that there are
    click.echo(kind(click.get_current_context().find_root().command, {}, "kgsvc", "_KGSVC_COMPLETE").source())
