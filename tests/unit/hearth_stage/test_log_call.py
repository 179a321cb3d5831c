"""Log records sent from one process to another."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hearth_stage.log_call import MARK, TEXT_CHARACTERS, LogLine


def record(text: object, *arguments: object) -> logging.LogRecord:
    """Return a logger's record for a call."""
    return logging.LogRecord("a.b", logging.WARNING, "", 0, text, arguments, None)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.builds(LogLine, st.just("INFO"), TEXTS, TEXTS, st.floats(allow_nan=False, allow_infinity=False)))
def test_log_line_survives_a_round_trip(line: LogLine) -> None:
    """As one line, whatever it contains."""
    written = line.written()
    assert written.startswith(MARK)
    assert written.index("\n") == len(written) - 1
    assert LogLine.read(written) == replace(line, text=line.text.rstrip("\n"))


def test_other_lines_are_not_log_lines() -> None:
    """Printed output, or a line of another form."""
    texts = ["a line", "", MARK, f"{MARK}1", f"{MARK}[]", f"{MARK}{{}}", f'{MARK}{{"level": "INFO"}}']
    assert [LogLine.read(text) for text in texts] == [None] * len(texts)


def test_record_becomes_its_text_and_its_trace() -> None:
    """Cut if it is too long."""
    try:
        raise ValueError("why")
    except ValueError:
        failed = record("it failed: %s", "so")
        failed.exc_info = sys.exc_info()
    line = LogLine.of(failed)
    assert (line.level, line.logger, line.time) == ("WARN", "a.b", failed.created)
    assert line.text.startswith("it failed: so\nTraceback (most recent call last):\n")
    assert line.text.endswith("ValueError: why")
    assert len(LogLine.of(record("x" * 1_000_000)).text) <= TEXT_CHARACTERS


def test_record_with_mismatched_arguments_is_logged() -> None:
    """Python would print a traceback of its own instead."""
    text = LogLine.of(record("%d of %d", "one")).text
    assert text.startswith("%d of %d ('one',) (TypeError: ")
