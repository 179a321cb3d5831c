"""Spark's log: forwards the JVM's output to this process's log, at this process's levels."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import threading
from io import BufferedIOBase
from typing import Any, cast

from hearth.foundation.log_context import hand_on
from hearth.foundation.log_level import Rules
from hearth.isolation.output import ProcessOutput
from hearth_stage.level import LEVELS
from hearth_stage.log_call import LogLine

JAVA = ("org.", "com.", "io.", "net.", "java")
"""Prefixes of the JVM's loggers; the level of the root logger does not apply to them."""
QUIET = "org"
"""Their parent logger, which passes only errors by default: the states of tasks tell the rest."""


def read_log(jvm: subprocess.Popen[bytes]) -> threading.Thread:
    """Log the output of a JVM line by line, on a thread that ends when the output closes."""
    logger = logging.getLogger(QUIET)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.ERROR)
    output = cast(BufferedIOBase, jvm.stdout)
    reader = threading.Thread(target=ProcessOutput(_say).copy, args=(output,), name="spark-log", daemon=True)
    reader.start()
    return reader


def _say(line: LogLine) -> None:
    if logging.getLogger(line.logger).isEnabledFor(LEVELS.get(line.level, logging.WARNING)):
        hand_on(line, None)


class JvmLevels:
    """Applies this process's log levels to a JVM's loggers."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm

    def on_levels(self, rules: Rules) -> None:
        """Set them on a new thread, as the JVM may be busy or gone."""
        own = {name: level for name, level in rules.items() if name.startswith(JAVA) or name == QUIET}
        if own:
            threading.Thread(target=self._set, args=(own,), name="spark-levels", daemon=True).start()

    def _set(self, rules: Rules) -> None:
        with contextlib.suppress(Exception):  # the JVM may be exiting
            log4j = self._jvm.org.apache.logging.log4j
            for name, level in rules.items():
                log4j.core.config.Configurator.setAllLevels(name, log4j.Level.toLevel(level))
