"""Logging options of the commands that run a host."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from hearth.cli.option_group import options
from hearth.foundation.log_format import FORMATS, begin_log
from hearth.foundation.log_level import levels
from hearth.foundation.properties import load
from hearth_api import ConfigError
from hearth_stage.level import LEVELS, ROOT

LEVEL_OPTION, FILE_OPTION = "--log-level", "--log-config"


log_options = options(
    click.option(
        LEVEL_OPTION, "log_level", metavar="[LOGGER=]LEVEL", multiple=True,
        help="Level of all loggers, or of a logger and those below it: DEBUG, hearth.kafka=WARN, ... "
        "Later options override earlier ones and the file.",
    ),
    click.option(
        FILE_OPTION, "log_config", metavar="FILE", type=click.Path(path_type=Path),
        help="File of levels, with lines LOGGER=LEVEL; root stands for all loggers.",
    ),
    click.option(
        "--log-format", type=click.Choice(list(FORMATS)), default="text", show_default=True,
        help="Log lines as text or as JSON objects.",
    ),
)  # fmt: skip
"""Add the options for log levels and log format."""


def begin(log_level: Sequence[str], log_config: Path | None, log_format: str) -> None:
    """Set up logging for this process; raises ConfigError for an unknown level before anything is set."""
    wanted = [*_of_file(log_config), *_of_options(log_level)]
    begin_log(sys.stderr, log_format)
    for namespace, level in wanted:
        levels.set(namespace, level)


def _of_file(path: Path | None) -> Iterator[tuple[str, str]]:
    entries = {} if path is None else load(path)
    for name in sorted(entries, key=lambda name: (name.lower() != ROOT, len(name))):  # parents first
        yield name, _level(entries[name], f"{path}: {name}={entries[name]}")


def _of_options(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, is_named, level = text.rpartition("=")
        yield name if is_named else ROOT, _level(level, f"{LEVEL_OPTION} {text}")


def _level(text: str, where: str) -> str:
    level = text.strip().upper()
    if level not in LEVELS:
        raise ConfigError(
            f"{where}: {text!r} is not a log level", code="log.level", hint=f"one of {', '.join(LEVELS)}"
        )
    return level
