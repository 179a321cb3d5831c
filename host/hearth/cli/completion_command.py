"""`hearth completion`: the script that completes commands, options and names in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

VARIABLE = "_HEARTH_COMPLETE"
"""The environment variable with which the script asks this program."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell: source it in the shell's start file.

    Commands, options, contexts and the names of connectors are completed; those of a worker that does not answer
    within 0.3 s are left out.
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click has all three"
    click.echo(kind(context.find_root().command, {}, "hearth", VARIABLE).source())
