"""Limiting repeated log lines."""

from __future__ import annotations

import logging
import sys

import pytest

from hearth.foundation.log_context import about
from hearth.foundation.log_repeat import _KEPT, MOST, MOST_OF_CLIENT, SECONDS, Repeats


class Log:
    """What passes, with a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.repeats = Repeats(lambda: self.now)

    def say(self, text: str, *arguments: object, logger: str = "l", level: int = logging.INFO) -> str | None:
        """Log a message; return the line that is logged, if any."""
        raised = sys.exc_info() if sys.exc_info()[0] else None
        record = logging.LogRecord(logger, level, "", 0, text, arguments, raised)
        return logging.Formatter().format(record) if self.repeats.filter(record) else None


@pytest.fixture
def log() -> Log:
    """Provide a log."""
    return Log()


def test_repeated_line_is_limited_and_counted(log: Log) -> None:
    """A worker with a wrong broker logged the same line 2,282 times a minute."""
    lines = [log.say("no %s", "broker") for _ in range(2_282)]
    assert lines[: MOST - 1] == ["no broker"] * (MOST - 1)
    assert lines[MOST - 1] == f"no broker ({MOST} times within 60 s, further ones are only counted)"
    assert set(lines[MOST:]) == {None}
    log.now += SECONDS
    assert log.say("no broker") == f"no broker ({2_282 - MOST} more times since it was last logged)"
    assert log.say("no broker") == "no broker"


def test_different_lines_are_logged(log: Log) -> None:
    """In its text, its logger, its level, or in whom it is about."""
    for _ in range(MOST):
        log.say("one 1")
    assert log.say("one 1") is None
    assert log.say("one 2") == log.say("one 2", logger="m") == log.say("one 2", level=30) == "one 2"
    with about("c|task-0"):
        assert log.say("one 1") == "one 1"


def test_client_lines_that_differ_in_numbers_are_repeats(log: Log) -> None:
    """Such as the milliseconds that passed and the number of suppressed lines."""
    lines = [log.say(f"connect refused (after {each}ms)", logger="librdkafka.producer") for each in range(100)]
    assert [each for each in lines if each is not None] == [
        "connect refused (after 0ms)",
        "connect refused (after 1ms)",
        "connect refused (after 2ms) (3 times within 60 s, further ones are only counted)",
    ]
    assert MOST_OF_CLIENT == 3


def test_note_precedes_the_trace(log: Log) -> None:
    """The trace is logged once and unchanged."""
    lines: list[str | None] = []
    for _ in range(MOST):
        try:
            raise ValueError("why")
        except ValueError:
            lines.append(log.say("failed"))
    assert lines[0] is not None
    assert lines[-1] is not None
    first, _, trace = lines[0].partition("\n")
    assert lines[-1] == f"{first} ({MOST} times within 60 s, further ones are only counted)\n{trace}"


def test_number_of_remembered_lines_is_limited(log: Log) -> None:
    """A plugin may say something else every time."""
    for number in range(3 * _KEPT):
        assert log.say(f"{number}") == f"{number}"
    assert len(log.repeats._seen) == _KEPT
