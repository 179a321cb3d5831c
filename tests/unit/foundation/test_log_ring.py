"""The ring of log lines: by connector, by level, and on from a line."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from hearth.foundation.log_context import about, label_of
from hearth.foundation.log_ring import KEPT_CONNECTORS, KEPT_LINES, LINE_CHARACTERS, LogRing

log = logging.getLogger("org.example")


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Iterator[LogRing]:
    """Provide a ring that keeps what this test logs."""
    found = LogRing()
    monkeypatch.setattr(log, "handlers", [found])
    log.setLevel(logging.DEBUG)
    yield found
    log.setLevel(logging.NOTSET)


def messages(ring: LogRing, connector: str | None, after: int = 0, level: int = 0) -> list[str]:
    """Return the texts of lines."""
    return [line["message"] for line in ring.read(connector, after, level)[0]]


def test_lines_are_kept_by_the_connector_that_they_are_about(ring: LogRing) -> None:
    """Those of its tasks and of its validation included; others are the worker's."""
    log.info("of nobody")
    for label in (label_of("a"), label_of("a", 1), label_of("a|b", scope="validate")):
        with about(label):
            log.warning("about %s", label)
    assert messages(ring, None) == ["of nobody"]
    assert messages(ring, "a") == ["about a|worker", "about a|task-1"]
    assert messages(ring, "a|b") == ["about a|b|validate"]
    (line, _), _ = ring.read("a")
    assert (line["level"], line["logger"], line["context"]) == ("WARN", "org.example", "a|worker")


def test_a_reader_goes_on_after_the_newest_line(ring: LogRing) -> None:
    """From a level on."""
    log.info("one")
    _, newest = ring.read(None)
    log.debug("two")
    log.error("three")
    assert messages(ring, None, newest) == ["two", "three"]
    assert messages(ring, None, newest, logging.WARNING) == ["three"]
    assert messages(ring, None, ring.read(None)[1]) == []


def test_what_is_kept_is_bounded(ring: LogRing) -> None:
    """Lines of each connector, connectors, and the length of a line."""
    for number in range(KEPT_LINES + 5):
        log.info("line %d", number)
    assert messages(ring, None)[0] == "line 5"
    log.info("x" * 2 * LINE_CHARACTERS)
    assert len(messages(ring, None)[-1]) <= LINE_CHARACTERS
    for number in range(KEPT_CONNECTORS):
        with about(label_of(f"c{number}")):
            log.info("mine %d", number)
    assert messages(ring, "c0") == ["mine 0"]
    assert messages(ring, None) == []  # nothing was logged about it for the longest time


def test_passwords_of_the_gateway_are_left_out(ring: LogRing) -> None:
    """As in the log itself."""
    record = logging.LogRecord("py4j.java_gateway", logging.ERROR, "java_gateway.py", 1, "secret", (), None)
    ring.handle(record)
    assert messages(ring, None) == []


def test_a_ring_is_attached_once() -> None:
    """However many hosts of a process ask for it."""
    found = LogRing()
    found.attach()
    found.attach()
    try:
        assert logging.root.handlers.count(found) == 1
    finally:
        logging.root.removeHandler(found)
