"""The log of a task's process."""

from __future__ import annotations

import io
import logging

import pytest

from hearth.foundation.log_context import about
from hearth.runtime.task_log import READ_BY_HOST, begin_task_log
from hearth_stage.channel import ChannelClosed
from hearth_stage.log_call import LogLine


class Link:
    """A host that records what it receives until it ends."""

    def __init__(self) -> None:
        self.is_gone = False
        self.lines: list[LogLine] = []

    def say(self, line: LogLine) -> None:
        """Note a line."""
        if self.is_gone:
            raise ChannelClosed("gone")
        self.lines.append(line)


pytestmark = pytest.mark.usefixtures("own_log")


def test_log_of_a_process_begins_once() -> None:
    """Spark's workers run one task after the other."""
    task_log = begin_task_log()
    assert begin_task_log() is task_log
    assert logging.root.handlers == [task_log]


def test_lines_that_the_host_reads_are_written_for_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In local mode an executor's error output is that of the JVM, which is read like a stage's."""
    monkeypatch.setenv(READ_BY_HOST, "true")
    begin_task_log()
    with about("c|task-0"):
        logging.getLogger("task.log").warning("said\ntwice")
    logging.getLogger("task.log").warning("of nobody")
    first, second = map(LogLine.read, io.StringIO(capfd.readouterr().err))
    assert first is not None
    assert second is not None
    assert (first.level, first.logger, first.text) == ("WARN", "task.log", "[c|task-0] said\ntwice")
    assert second.text == "of nobody"


def test_lines_go_to_the_host_while_there_is_one(capfd: pytest.CaptureFixture[str]) -> None:
    """And to the error output before, afterwards, and when it is gone."""
    task_log, link, log = begin_task_log(), Link(), logging.getLogger("task.log")
    log.info("before")
    with about("c|task-0"), task_log.through(link):  # type: ignore[arg-type]
        log.info("during")
        link.is_gone = True
        log.warning("gone")
    log.info("afterwards")
    assert [(line.level, line.logger, line.text) for line in link.lines] == [("INFO", "task.log", "during")]
    lines = capfd.readouterr().err.splitlines()
    assert [line.split("] ", 1)[1] for line in lines] == [
        "INFO before (task.log)", "WARN [c|task-0] gone (task.log)", "INFO afterwards (task.log)"
    ]  # fmt: skip
