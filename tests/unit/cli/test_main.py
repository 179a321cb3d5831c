"""The command line turns every error into a fact, a hint and an exit code."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from hearth.cli.exit_code import ExitCode
from hearth.cli.main import COMMANDS, hearth, run
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError, PluginError, RetriableError


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Replace a subcommand by one that raises what the test puts into the list."""
    errors: list[BaseException] = []

    @click.command()
    def failing() -> None:
        raise errors[0]

    monkeypatch.setattr(type(hearth), "get_command", lambda *_: failing)
    return errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("name", None, "is missing"), ExitCode.BAD_INPUT),
        (NotFoundError("no plugin 'X'"), ExitCode.BAD_INPUT),
        (ConflictError("busy"), ExitCode.RUNTIME),
        (RetriableError("later"), ExitCode.RUNTIME),
        (PluginError("raised"), ExitCode.RUNTIME),
        (ConnectError("no java", code="environment.java"), ExitCode.ENVIRONMENT),
        (ConflictError("port taken", code="environment.port"), ExitCode.ENVIRONMENT),
    ],
)
def test_each_kind_of_error_has_its_exit_code(
    raising: list[BaseException], capsys: pytest.CaptureFixture[str], error: ConnectError, code: ExitCode
) -> None:
    """0 ok, 1 runtime, 2 bad input, 3 environment; the message is one line, without a stack trace."""
    error.hint = "do this instead"
    raising.append(error)
    assert run(["anything"]) == code
    assert capsys.readouterr().err == f"error: {error}\nhint: do this instead\n"


def test_error_without_hint_is_one_line(raising: list[BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a remedy there is no second line."""
    raising.append(ConnectError("it broke"))
    run(["anything"])
    assert capsys.readouterr().err == "error: it broke\n"


def test_unreadable_file_is_about_the_machine(
    raising: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    """An OSError with a path needs no trace: the path is what the user can look at."""
    raising.append(PermissionError(13, "Permission denied", "/etc/shadow"))
    assert run(["anything"]) == ExitCode.ENVIRONMENT
    assert capsys.readouterr().err == "error: Permission denied: '/etc/shadow'\n"


def test_full_disk_exits_with_3_and_a_hint(raising: list[BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    """The system does not always say which one."""
    raising.append(OSError(28, "No space left on device"))
    assert run(["anything"]) == ExitCode.ENVIRONMENT
    assert capsys.readouterr().err.startswith("error: No space left on device\nhint: free space")


def test_unexpected_error_keeps_its_traceback(raising: list[BaseException]) -> None:
    """An unforeseen error is a bug, and its trace helps to find it."""
    raising.append(ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        run(["anything"])


def test_interrupt_ends_with_its_own_code(raising: list[BaseException]) -> None:
    """Ctrl-C is no error; shells expect 130."""
    raising.append(KeyboardInterrupt())
    assert run(["anything"]) == ExitCode.INTERRUPTED


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["bundle", "pack"], ["plugins", "list", "--nosuch"], ["broker", "--port", "x"]]
)
def test_misuse_is_bad_input_and_points_to_the_help(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """A wrong command line looks like every other error."""
    assert run(arguments) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "hint: hearth" in error
    assert "--help" in error


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_a_help_page(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Every command in the table exists."""
    assert run([name, "--help"]) == ExitCode.OK
    assert f"hearth {name}" in capsys.readouterr().out


def test_command_line_imports_only_what_its_command_needs() -> None:
    """Listing plugins must not pay for the REST API, Kafka or Spark."""
    probe = (
        "import sys; from hearth.cli.main import run; run(['--version']); "
        "print([name for name in ('pyspark', 'pyarrow', 'confluent_kafka', 'starlette') if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


def test_closed_pipe_exits_quietly() -> None:
    """`hearth ... | head` ends without a word on standard error."""
    command = [sys.executable, "-m", "hearth", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
