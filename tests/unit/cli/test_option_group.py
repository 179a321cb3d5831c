"""Options that several commands share."""

from __future__ import annotations

import click
from click.testing import CliRunner

from hearth.cli.option_group import options


def test_options_keep_their_order_and_reach_the_command() -> None:
    """The help page lists them as they were given."""

    @click.command()
    @options(click.option("--first"), click.option("--second"))
    def command(first: str, second: str) -> None:
        click.echo(f"{first} {second}")

    run = CliRunner().invoke
    assert run(command, ["--second", "b", "--first", "a"]).output == "a b\n"
    page = run(command, ["--help"]).output
    assert page.index("--first") < page.index("--second")
