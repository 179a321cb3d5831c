"""The command `hearth`: finds the subcommand and turns every error into a message and an exit code."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click

from hearth import __version__
from hearth.cli.exit_code import ExitCode, exit_code
from hearth.foundation.descriptor import FILES_HINT, OUT_OF_FILES
from hearth.foundation.terminal import printable
from hearth.foundation.user_file import FULL
from hearth_api import ConnectError

COMMANDS = {
    "quickstart": "hearth.cli.quickstart_command:quickstart",
    "standalone": "hearth.cli.standalone_command:standalone",
    "distributed": "hearth.cli.distributed_command:distributed",
    "run": "hearth.cli.run_command:run",
    "plugins": "hearth.cli.plugin_command:plugins",
    "bundle": "hearth.cli.bundle_command:bundle",
    "schemas": "hearth.cli.schema_command:schemas",
    "environments": "hearth.cli.environment_command:environments",
    "limits": "hearth.cli.limit_command:limits",
    "broker": "hearth.cli.broker_command:broker",
    "registry": "hearth.cli.broker_command:registry",
}
"""Subcommand -> "module:attribute", in the order of the help page."""


FULL_HINT = "free space in HEARTH_HOME (or ~/.cache/hearth), in TMPDIR, and where the result is written"


class LazyGroup(click.Group):
    """Imports a subcommand's module only when that subcommand is called or described."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the subcommand of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hearth")
def hearth() -> None:
    """Kafka Connect in Python, on Spark."""


def describe(error: ConnectError) -> str:
    """Format an error for the user: the fact, then the remedy if there is one."""
    return printable(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; a user's mistake never shows a stack trace."""
    try:
        result = hearth.main(args=arguments, prog_name="hearth", standalone_mode=False)
    except ConnectError as error:
        click.echo(describe(error), err=True)
        return exit_code(error)
    except click.ClickException as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        if error.errno in OUT_OF_FILES:
            click.echo(f"error: {error.strerror}\nhint: {FILES_HINT}", err=True)
            return ExitCode.ENVIRONMENT
        if error.errno in FULL and error.filename is None:
            click.echo(f"error: {error.strerror}\nhint: {FULL_HINT}", err=True)
            return ExitCode.ENVIRONMENT
        if error.filename is None or error.strerror is None:
            raise
        click.echo(f"error: {error.strerror}: {os.fsdecode(error.filename)!r}", err=True)
        return ExitCode.ENVIRONMENT
    return result if isinstance(result, int) else ExitCode.OK


def _usage(error: click.ClickException) -> int:
    """Print a usage error in the same format as every other error."""
    click.echo(f"error: {error.format_message()}", err=True)
    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(f"hint: {context.command_path} --help", err=True)
    return ExitCode.BAD_INPUT


def _pipe_closed() -> int:
    """Exit quietly when the reader of our output has closed it, as in `hearth ... | head`."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.RUNTIME


def main() -> None:
    """Run the command line and exit, without a garbage collection at the end."""
    code = run()
    gc.freeze()
    sys.exit(code)
