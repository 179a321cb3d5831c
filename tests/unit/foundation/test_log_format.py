"""The formats of log lines."""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator

import pytest

from hearth.foundation.log_context import hand_on
from hearth.foundation.log_format import FORMATS, begin_log
from hearth_stage.log_call import LogLine

LINE = LogLine("WARN", "my.logger", "what\nwas\x1b[2J said", 1_767_272_709.1239)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this be a machine in another zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def written(format_: str, *lines: tuple[LogLine, str | None]) -> str:
    """Return what a log of this format says."""
    stream = io.StringIO()
    begin_log(stream, format_)
    for line, label in lines:
        hand_on(line, label)
    return stream.getvalue()


@pytest.mark.usefixtures("berlin", "own_log")
def test_text_is_kafka_connects_with_a_zone() -> None:
    """Control characters are escaped, and a line without context has no brackets."""
    text = written("text", (LINE, "orders|task-0"), (LogLine("INFO", "l", "x", 0), None))
    assert text == (
        "[2026-01-01 14:05:09,123+0100] WARN [orders|task-0] what (my.logger)\nwas\\x1b[2J said\n"
        "[1970-01-01 01:00:00,000+0100] INFO x (l)\n"
    )


@pytest.mark.usefixtures("berlin", "own_log")
def test_json_is_one_object_in_a_line() -> None:
    """A trace stays in it."""
    first, second = map(json.loads, written("json", (LINE, "orders|task-0"), (LINE, None)).splitlines())
    assert first == {
        "time": "2026-01-01T14:05:09.123+01:00",
        "level": "WARN",
        "logger": "my.logger",
        "context": "orders|task-0",
        "message": LINE.text,
    }
    assert first.keys() - second.keys() == {"context"}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.usefixtures("own_log")
def test_py4j_messages_are_dropped(format_: str) -> None:
    """The secret by which a host speaks with its JVM is in it, whatever level somebody sets."""
    stream = io.StringIO()
    begin_log(stream, format_)
    logging.root.setLevel(1)
    raised = logging.LogRecord("root", logging.ERROR, "/x/py4j/java_gateway.py", 1, "raised as well", None, None)
    logging.root.handle(raised)
    for name in ("py4j.clientserver", "uvicorn.error", "own"):
        logging.getLogger(name).info("from %s", name)
    assert "from own" in stream.getvalue()
    assert stream.getvalue().count("\n") == 1
    assert not logging.getLogger("py4j.clientserver").isEnabledFor(logging.INFO), "it is said in threads that are over"
