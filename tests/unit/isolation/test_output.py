"""The error output of a stage: what reaches the log and what is remembered, however much is written."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.isolation.output import BURST_BYTES, BYTES_A_SECOND, KEPT_BYTES, KEPT_LINES, LINE_BYTES, ErrorOutput


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        """Return the seconds that passed."""
        return self.now


class Endless(io.RawIOBase):
    """A line of any length that needs no memory."""

    def __init__(self, length: int, end: bytes) -> None:
        self._left = length
        self._end = end

    def readable(self) -> bool:
        """Say that it may be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Give a piece of the line, at last its end."""
        count = min(len(buffer), self._left)
        self._left -= count
        buffer[:count] = b"x" * count
        if count == 0:
            count, self._end = len(self._end), b""
            buffer[:count] = b"\n" * count
        return count


def copied(text: bytes, clock: Clock | None = None) -> tuple[list[str], ErrorOutput]:
    """Return what goes to the log, and what is remembered."""
    log: list[str] = []
    output = ErrorOutput("t-0", log.append, clock or Clock())
    output.copy(io.BytesIO(text))
    return log, output


def test_lines_are_copied_under_the_name_of_their_stage() -> None:
    """A last line without end is one as well; bytes that are no text are shown as such."""
    log, output = copied(b"one\ntw\xffo\nthree")
    assert log == ["[t-0] one\n", "[t-0] tw\ufffdo\n", "[t-0] three\n"]
    assert output.end == "one\ntw\ufffdo\nthree\n"


def test_a_line_is_cut_and_says_how_much_was_left_out() -> None:
    """What comes after it is read as if nothing had happened."""
    log, _ = copied(b"x" * (LINE_BYTES + 1000) + b"\nnext\n" + b"y" * LINE_BYTES + b"\n")
    assert log[0] == "[t-0] " + "x" * LINE_BYTES + " ... 1001 bytes left out ...\n"
    assert log[1:] == ["[t-0] next\n", "[t-0] " + "y" * LINE_BYTES + "\n"]


def test_a_line_without_end_takes_no_memory() -> None:
    """300 MB in one line, with an end and without."""
    for end in (b"\n", b""):
        log: list[str] = []
        output = ErrorOutput("t-0", log.append, Clock())
        output.copy(io.BufferedReader(Endless(300_000_000, end)))
        assert len(log) == 1
        assert len(log[0]) < LINE_BYTES + 100
        assert f" ... {300_000_000 - LINE_BYTES + len(end)} bytes left out ...\n" in output.end


def test_only_the_end_is_remembered() -> None:
    """By lines and by bytes."""
    _, output = copied(b"".join(b"%d\n" % number for number in range(1000)))
    assert output.end.split() == [str(number) for number in range(1000 - KEPT_LINES, 1000)]
    _, output = copied((b"z" * (LINE_BYTES - 1) + b"\n") * 50)
    assert 0 < len(output.end) <= KEPT_BYTES


def test_a_flood_does_not_fill_the_disk_and_is_told() -> None:
    """So much at once, a note, and more as time passes."""
    clock, log = Clock(), list[str]()
    output = ErrorOutput("t-0", log.append, clock)
    line = b"q" * 999 + b"\n"
    output.copy(io.BytesIO(line * 5000))
    assert sum(map(len, log)) < BURST_BYTES * 1.1
    assert log[-1].startswith(f"[t-0] ... {5000 - (len(log) - 1)} lines left out")
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

    def write(text: str) -> None:
        clock.now += seconds / 100
        log.append(text)

    text = b"".join(b"r" * length + b"\n" for length in lengths) * 20
    ErrorOutput("t-0", write, clock).copy(io.BytesIO(text))
    notes = [each for each in log if "lines left out" in each]
    left_out = sum(int(each.split()[2]) for each in notes)
    assert len(log) - len(notes) + left_out == len(lengths) * 20
