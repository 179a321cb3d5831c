"""The command `hearth`: finds the subcommand and turns every error into a message and an exit code."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from hearth import __version__
from hearth.cli.exit_code import ExitCode, exit_code
from hearth.foundation.descriptor import FILES_HINT, OUT_OF_FILES
from hearth.foundation.nearest import did_you_mean
from hearth.foundation.terminal import printable
from hearth.foundation.user_file import FULL
from hearth_api import ConnectError

_CLI = "hearth.cli."
COMMANDS = {
    "quickstart": ("quickstart_command:quickstart", "Copy lines through Kafka on this machine, to try Hearth."),
    "standalone": ("standalone_command:standalone", "Run a standalone host."),
    "distributed": ("distributed_command:distributed", "Run a host of a cluster."),
    "status": ("status_command:status", "Show connectors of a running cluster."),
    "explain": ("explain_command:explain", "Explain what a connector does or waits for."),
    "logs": ("logs_command:logs", "Print what workers logged about a connector."),
    "connectors": ("connectors_command:connectors", "List, pause, resume, stop, restart or delete connectors."),
    "apply": ("apply_command:apply", "Make a cluster's connectors those of files."),
    "diff": ("apply_command:diff", "Show what apply would change."),
    "export": ("export_command:export", "Write configurations of a cluster as files."),
    "convert": ("convert_command:convert", "Write files of connectors in another form."),
    "offsets": ("offsets_command:offsets", "Show and change offsets of connectors."),
    "hosts": ("hosts_command:hosts", "Show the workers of a cluster."),
    "preview": ("preview_command:preview", "Show what becomes of records, step by step."),
    "consume": ("records_command:consume", "Print the records of a topic through converters."),
    "produce": ("records_command:produce", "Write records to a topic through converters."),
    "dlq": ("dlq_command:dlq", "Look at dead letters, and send them back."),
    "doctor": ("doctor_command:doctor", "Check a worker's file and this machine, or a running cluster."),
    "loggers": ("loggers_command:loggers", "Show and set log levels of a cluster."),
    "top": ("top_command:top", "Show how fast connectors commit."),
    "context": ("context_command:context", "Name clusters, and choose one."),
    "completion": ("completion_command:completion", "Print the completion script for a shell."),
    "run": ("run_command:run", "Run a connector from its source while it changes."),
    "plugins": ("plugin_command:plugins", "List and describe plugins."),
    "bundle": ("bundle_command:bundle", "Create, check, sign, install and remove bundles."),
    "schemas": ("schema_command:schemas", "Show which schemas a connector would register."),
    "environments": ("environment_command:environments", "List and remove environments of bundles."),
    "limits": ("limit_command:limits", "Show which limits of plugins this machine enforces."),
    "broker": ("broker_command:broker", "Run a Kafka broker on this machine."),
    "registry": ("broker_command:registry", "Run a schema registry on this machine."),
}
"""Subcommand -> "module:attribute" below hearth.cli and a short text, in the order of the help page."""


FULL_HINT = "free space in HEARTH_HOME (or ~/.cache/hearth), in TMPDIR, and where the result is written"


class LazyGroup(click.Group):
    """Imports a subcommand's module only when that subcommand is called or asked for its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the subcommand of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(_CLI + module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands with the texts of the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; the error for an unknown one offers the nearest."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a subcommand without importing any."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]


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
