"""Spark's log, read from a process that writes as its JVM does."""

from __future__ import annotations

import subprocess
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.foundation.log_level import levels
from hearth.spark.spark_log import JvmLevels, read_log
from tests.timeouts import TIMEOUT

pytestmark = pytest.mark.usefixtures("restored_levels")

OUTPUT = (
    r'printf "\036{\"time\":12.5,\"level\":\"WARN\",\"logger\":\"org.apache.spark.A\",\"text\":\"hidden\"}\n'
    r"\036{\"time\":12.5,\"level\":\"ERROR\",\"logger\":\"org.apache.spark.A\",\"text\":\"what\\\\nwhere\\\\n\"}\n"
    r'raw\n"'
)


def forward_output() -> None:
    """Read all that a process writes."""
    with subprocess.Popen(["bash", "-c", OUTPUT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        read_log(process).join(TIMEOUT)


def test_lines_of_the_jvm_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Only errors by default; a line without a logger is logged as any process's output."""
    forward_output()
    assert [(each.levelname, each.name, each.getMessage()) for each in caplog.records] == [
        ("ERROR", "org.apache.spark.A", "what\nwhere"),
        ("WARNING", "stderr", "raw"),
    ]
    levels.set("org.apache.spark", "WARN")
    forward_output()
    assert caplog.messages[2:] == ["hidden", "what\nwhere", "raw"]


def test_levels_of_java_loggers_are_set_in_the_jvm() -> None:
    """Not those of ours, nor that of all loggers: Spark's debug log is not what somebody means with that."""
    done = threading.Event()
    changes: list[Any] = []

    def set_all(name: str, level: str) -> None:
        changes.append((name, level))
        if len(changes) == 2:
            done.set()

    log4j = SimpleNamespace(
        core=SimpleNamespace(config=SimpleNamespace(Configurator=SimpleNamespace(setAllLevels=set_all))),
        Level=SimpleNamespace(toLevel=lambda level: level),
    )
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(logging=SimpleNamespace(log4j=log4j))))
    rules = {"root": "DEBUG", "org.apache.spark": "INFO", "hearth": "DEBUG", "io.netty": "TRACE"}
    JvmLevels(jvm).on_levels(rules)
    assert done.wait(TIMEOUT)
    assert changes == [("org.apache.spark", "INFO"), ("io.netty", "TRACE")]
