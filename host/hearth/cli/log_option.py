"""The log of a host, as its command line wants it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from hearth.foundation.log_format import FORMATS, begin_log
from hearth.foundation.log_level import levels
from hearth.foundation.properties import load
from hearth_api import ConfigError
from hearth_stage.level import LEVELS, ROOT

C = TypeVar("C", bound=Any)

LEVEL_OPTION, FILE_OPTION = "--log-level", "--log-config"


def log_options(command: C) -> C:
    """Let a command be told what to log, and how that looks."""
    options = (
        click.option(
            LEVEL_OPTION, "log_level", metavar="[LOGGER=]LEVEL", multiple=True,
            help="What is logged, by all or by a logger and those below it: DEBUG, hearth.kafka=WARN, ... "
            "Later ones add to earlier ones and to the file.",
        ),
        click.option(
            FILE_OPTION, "log_config", metavar="FILE", type=click.Path(path_type=Path),
            help="Levels from a file of lines LOGGER=LEVEL; root is all loggers.",
        ),
        click.option(
            "--log-format", type=click.Choice(list(FORMATS)), default="text", show_default=True,
            help="Lines of text, or of JSON objects.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def begin(log_level: Sequence[str], log_config: Path | None, log_format: str) -> None:
    """Begin the log of this process; raises ConfigError for what is no level, before anything is set."""
    wanted = [*_of_file(log_config), *_of_options(log_level)]
    begin_log(sys.stderr, log_format)
    for namespace, level in wanted:
        levels.set(namespace, level)


def _of_file(path: Path | None) -> Iterator[tuple[str, str]]:
    entries = {} if path is None else load(path)
    for name in sorted(entries, key=lambda name: (name.lower() != ROOT, len(name))):  # those above first
        yield name, _level(entries[name], f"{path}: {name}={entries[name]}")


def _of_options(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, is_named, level = text.rpartition("=")
        yield name if is_named else ROOT, _level(level, f"{LEVEL_OPTION} {text}")


def _level(text: str, where: str) -> str:
    level = text.strip().upper()
    if level not in LEVELS:
        raise ConfigError(f"{where}: {text!r} is no level", code="log.level", hint=f"one of {', '.join(LEVELS)}")
    return level
