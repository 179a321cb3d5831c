"""Log levels and formats from the command line and a file."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from hearth.cli import log_option
from hearth.cli.log_option import log_options
from hearth.foundation.log_level import levels
from hearth_api import ConfigError

pytestmark = pytest.mark.usefixtures("restored_levels", "own_log")


def begin(*options: str) -> None:
    """Begin the log as a command with these options does."""
    command = click.command()(log_options(lambda **log_as: log_option.begin(**log_as)))
    result = CliRunner().invoke(command, options)
    if isinstance(result.exception, ConfigError):
        raise result.exception
    assert result.exit_code == 0, result.output


def test_levels_of_the_file_precede_those_of_options(tmp_path: Path) -> None:
    """Those of the file first, of which what is above comes before what is below; then each option."""
    path = tmp_path / "log.properties"
    path.write_text("# mine\nlog.opt.a = debug\nlog.opt=ERROR\nroot=Warn\n")
    begin("--log-config", str(path), "--log-level", "log.opt.b=TRACE", "--log-level", "log.opt.a=OFF")
    wanted = {"root": "WARN", "log.opt": "ERROR", "log.opt.b": "TRACE", "log.opt.a": "OFF"}
    assert list(levels.rules.items()) == list(wanted.items())


def test_level_without_a_logger_sets_the_root() -> None:
    """It replaces an earlier level of the root."""
    begin("--log-level", "log.opt=DEBUG", "--log-level", "info")
    assert levels.rules == {"root": "INFO"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--log-level", "loud"], "--log-level loud: 'loud' is not a log level"),
        (["--log-level", "INFO", "--log-level", "log.opt=9"], "--log-level log.opt=9: '9' is not a log level"),
        (["--log-config", "FILE"], "FILE: log.opt=LOUD: 'LOUD' is not a log level"),
        (["--log-config", "/nowhere/log"], "/nowhere/log: no such file"),
    ],
)
def test_unknown_level_is_an_error(tmp_path: Path, options: list[str], says: str) -> None:
    """With the place where it stands, before any other counts."""
    path = tmp_path / "log.properties"
    path.write_text("log.opt=LOUD\n")
    with pytest.raises(ConfigError) as caught:
        begin(*(str(path) if each == "FILE" else each for each in options))
    assert str(caught.value).startswith(says.replace("FILE", str(path)))
    assert levels.rules == {}


def test_format_may_be_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is an object then."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    log_option.begin((), None, "json")
    logging.getLogger("log.opt").warning("said")
    assert json.loads(stream.getvalue())["message"] == "said"
