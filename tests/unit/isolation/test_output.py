"""The output of a process: what is logged and what is kept, however much is written."""

from __future__ import annotations

import io
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.isolation.output import KEPT_BYTES, KEPT_LINES, LINE_BYTES, ProcessOutput
from hearth_stage.log_budget import BURST_BYTES, BYTES_A_SECOND
from hearth_stage.log_call import LogLine


class Clock:
    """A clock that the test advances."""

    now = 0.0

    def __call__(self) -> float:
        """Return the seconds that passed."""
        return self.now


class Endless(io.RawIOBase):
    """A line of any length that takes no memory."""

    def __init__(self, length: int, end: bytes) -> None:
        self._left = length
        self._end = end

    def readable(self) -> bool:
        """Report that it is readable."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Return a part of the line, finally its end."""
        count = min(len(buffer), self._left)
        self._left -= count
        buffer[:count] = b"x" * count
        if count == 0:
            count, self._end = len(self._end), b""
            buffer[:count] = b"\n" * count
        return count


def copied(text: bytes, clock: Clock | None = None) -> tuple[list[str], ProcessOutput]:
    """Return the logged texts, and the kept output."""
    log: list[LogLine] = []
    output = ProcessOutput(log.append, clock or Clock())
    output.copy(io.BytesIO(text))
    return [line.text for line in log], output


def test_lines_are_copied_as_warnings_of_the_error_output() -> None:
    """A last line without line feed is one as well; bytes that are not text are escaped."""
    log: list[LogLine] = []
    output = ProcessOutput(log.append, Clock())
    output.copy(io.BytesIO(b"one\ntw\xffo\nthree"))
    assert [line.text for line in log] == ["one", "tw\ufffdo", "three"]
    assert {(line.level, line.logger) for line in log} == {("WARN", "stderr")}
    assert output.end == "one\ntw\ufffdo\nthree\n"


def test_log_record_keeps_level_logger_and_time() -> None:
    """However long its trace; printed lines are kept as printed."""
    line = LogLine("ERROR", "my.logger", "x" * 60_000 + "\nthe end", 12.5)
    printed = LogLine("INFO", "stdout", "printed", 13.0)
    log: list[LogLine] = []
    output = ProcessOutput(log.append, Clock())
    output.copy(io.BytesIO(f"{line.written()}{printed.written()}".encode()))
    assert log == [line, printed]
    assert output.end.startswith("ERROR my.logger: xxx")
    assert output.end.endswith("the end\nprinted\n")


def test_malformed_log_line_is_an_ordinary_line() -> None:
    """A plugin may write anything."""
    texts = ["\x1e{}", "\x1enonsense", '\x1e{"level": 1, "logger": "l", "text": "t", "time": 0}', "\x1e" + "[" * 9999]
    log, _ = copied("\n".join(texts).encode())
    assert log[:3] == texts[:3]
    assert len(log) == 4


def test_raw_lines_follow_the_level_of_their_logger(caplog: pytest.LogCaptureFixture) -> None:
    """Their logger has a level like others; lines that are not logged are still kept."""
    caplog.set_level(logging.ERROR, "stderr")
    log, output = copied(b"one\n" + LogLine("INFO", "a", "two", 0).written().encode())
    assert log == ["two"]
    assert output.end == "one\nINFO a: two\n"


def test_long_line_is_cut_with_a_note() -> None:
    """The next line is read normally."""
    log, _ = copied(b"x" * (LINE_BYTES + 1000) + b"\nnext\n" + b"y" * LINE_BYTES + b"\n")
    assert log[0] == "x" * LINE_BYTES + " ... 1001 bytes left out ..."
    assert log[1:] == ["next", "y" * LINE_BYTES]


def test_endless_line_takes_no_memory() -> None:
    """300 MB in one line, with and without line feed."""
    for end in (b"\n", b""):
        log: list[LogLine] = []
        output = ProcessOutput(log.append, Clock())
        output.copy(io.BufferedReader(Endless(300_000_000, end)))
        assert len(log) == 1
        assert len(log[0].text) < LINE_BYTES + 100
        assert f" ... {300_000_000 - LINE_BYTES + len(end)} bytes left out ...\n" in output.end


def test_only_the_last_lines_are_kept() -> None:
    """By lines and by bytes."""
    _, output = copied(b"".join(b"%d\n" % number for number in range(1000)))
    assert output.end.split() == [str(number) for number in range(1000 - KEPT_LINES, 1000)]
    _, output = copied((b"z" * (LINE_BYTES - 1) + b"\n") * 50)
    assert 0 < len(output.end) <= KEPT_BYTES


def test_flood_is_limited_and_reported() -> None:
    """A burst is logged, then a note, and more as time passes."""
    clock, log = Clock(), list[str]()
    output = ProcessOutput(lambda line: log.append(line.text), clock)
    line = b"q" * 999 + b"\n"
    output.copy(io.BytesIO(line * 5000))
    assert sum(map(len, log)) < BURST_BYTES * 1.1
    assert log[-1].startswith(f"... {5000 - (len(log) - 1)} lines left out")
    assert KEPT_BYTES // 2 < len(output.end) <= KEPT_BYTES
    assert output.end.endswith(line.decode())
    log.clear()
    clock.now += 10
    output.copy(io.BytesIO(line * 5000))
    assert 9 * BYTES_A_SECOND < sum(map(len, log)) < 11 * BYTES_A_SECOND


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 3 * LINE_BYTES), min_size=1, max_size=60), st.floats(0, 5))
def test_every_line_is_logged_or_counted(lengths: list[int], seconds: float) -> None:
    """However long the lines are and however fast they come."""
    clock, log = Clock(), list[str]()

    def write(line: LogLine) -> None:
        clock.now += seconds / 100
        log.append(line.text)

    text = b"".join(b"r" * length + b"\n" for length in lengths) * 20
    ProcessOutput(write, clock).copy(io.BytesIO(text))
    notes = [each for each in log if "lines left out" in each]
    left_out = sum(int(each.split()[1]) for each in notes)
    assert len(log) - len(notes) + left_out == len(lengths) * 20
