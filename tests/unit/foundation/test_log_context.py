"""The logging context of a log line."""

from __future__ import annotations

import logging
import threading

import pytest

from hearth.foundation.log_context import about, hand_on, label_of, label_of_record
from hearth_stage.log_call import LogLine

log = logging.getLogger("context")


def test_labels_are_kafka_connects() -> None:
    """Of ``LoggingContext``: the connector, and what is done for it."""
    assert label_of("a") == "a|worker"
    assert label_of("a", 3) == "a|task-3"
    assert label_of("a", scope="validate") == "a|validate"


def test_thread_logs_with_its_context(caplog: pytest.LogCaptureFixture) -> None:
    """The inner context counts; after its end, and on other threads, there is none."""
    labels: list[str | None] = []

    def note(record: logging.LogRecord) -> bool:
        labels.append(label_of_record(record))
        return True

    caplog.handler.addFilter(note)
    other = threading.Thread(target=lambda: log.warning("other"))
    with about("a|worker"):
        log.warning("one")
        with about("a|task-1"):
            log.warning("two")
        log.warning("three")
        other.start()
        other.join()
    log.warning("four")
    caplog.handler.removeFilter(note)
    assert labels == ["a|worker", "a|task-1", "a|worker", None, None]


def test_line_of_another_process_is_logged_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    """With its own time, level and logger, and a percent sign means nothing in it."""
    with about("somebody else"):
        hand_on(LogLine("DEBUG", "its.logger", "100 % sure", 1_000.25), "a|task-1")
        hand_on(LogLine("LOUD", "its.logger", "?", 1_000.25), None)
    first, second = caplog.records
    assert (first.levelno, first.name, first.getMessage()) == (logging.DEBUG, "its.logger", "100 % sure")
    assert (first.created, first.msecs, label_of_record(first)) == (1_000.25, 250.0, "a|task-1")
    assert second.levelno == logging.WARNING
