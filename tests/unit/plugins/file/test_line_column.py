"""Rules for cutting lines: the two forms agree with each other and with Kafka's own cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_file.line import decode, take_lines
from hearth_file.line_column import LineColumnReader, line_parts, offset_column
from hearth_file.stream import Stream
from hearth_file.window import CHUNK, LEAST, Window

Lines = list[tuple[str, "int | None"]]
Form = Callable[[Window, int, int], Lines]


class Parts(Stream):
    """Returns the parts one by one, each followed by an empty read, like a growing file."""

    def __init__(self, parts: Iterable[bytes], position: int | None = 0) -> None:
        """Keep the parts."""
        self.position = position
        self._parts = list(parts)

    def read_into(self, buffer: memoryview) -> int:
        """Give what fits of the present part; an exhausted part gives nothing once."""
        if not self._parts:
            return 0
        part = self._parts[0][: len(buffer)]
        buffer[: len(part)] = part
        self._parts[0] = self._parts[0][len(part) :]
        if not part:
            del self._parts[0]
        return len(part)

    def successor(self) -> None:
        """Never end."""

    def close(self) -> None:
        """Hold nothing."""


def plain(window: Window, limit: int, polls: int) -> Lines:
    """Take lines one by one."""
    taken = [take_lines(window, limit) for _ in range(polls)]
    return [(decode(line), position) for lines in taken for line, position in lines]


def fast(window: Window, limit: int, polls: int) -> Lines:
    """Take lines as columns."""
    reader = LineColumnReader(window)
    result: Lines = []
    for _ in range(polls):
        columns = reader.take(limit)
        if columns is not None:
            count = len(columns.texts)
            positions = [None] * count if columns.positions is None else columns.positions.tolist()
            result += zip(columns.texts.to_pylist(), positions, strict=True)
    return result


FORMS = pytest.mark.parametrize("form", [plain, fast])


def lines_of(text: bytes) -> Lines:
    """Split lines in the slow and obvious way, byte by byte."""
    lines: Lines = []
    start = place = 0
    while place < len(text):
        end = place
        if text[place : place + 1] == b"\r":
            if place + 1 == len(text):
                break
            place += text[place + 1 : place + 2] == b"\n"
        elif text[place : place + 1] != b"\n":
            place += 1
            continue
        place += 1
        lines.append((text[start:end].decode("utf-8", "replace"), place))
        start = place
    return lines


pieces = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", "é".encode(), b"\xff"]), max_size=30)


@settings(deadline=None)
@given(st.lists(pieces.map(b"".join), max_size=5), st.integers(1, 4), st.sampled_from([2, 3, 8, 64]))
def test_both_forms_split_the_same_lines(parts: list[bytes], limit: int, chunk: int) -> None:
    """However the bytes arrive and however small the window, lines and positions are those of the text."""
    polls = sum(map(len, parts)) + 2 * len(parts) + 2
    expected = lines_of(b"".join(parts))
    assert plain(Window(Parts(parts), chunk), limit, polls) == expected
    assert fast(Window(Parts(parts), chunk), limit, polls) == expected


@FORMS
def test_lines_end_with_line_feed_carriage_return_or_both(form: Form) -> None:
    """Kafka's own case: positions 28, 35, 41, 47; a carriage return ends a line once more text comes."""
    stream = Parts([b"partial line", b" finished\n", b"line1\rline2\r\nline3\nline4\n\r", b"subsequent text"])
    window = Window(stream)
    assert form(window, 100, 1) == []
    assert form(window, 100, 3) == [("partial line finished", 22)]
    rest = form(window, 100, 6)
    assert rest == [("line1", 28), ("line2", 35), ("line3", 41), ("line4", 47), ("", 48)]


@FORMS
def test_at_most_the_limit_is_taken_and_the_rest_follows_at_once(form: Form) -> None:
    """A limit cuts the lines of one read into several portions without waiting for new bytes."""
    window = Window(Parts([b"a\nb\nc\nd\ne\n"]))
    assert form(window, 2, 1) == [("a", 2), ("b", 4)]
    assert form(window, 2, 2) == [("c", 6), ("d", 8), ("e", 10)]


@FORMS
def test_a_line_longer_than_the_window_is_one_line(form: Form) -> None:
    """The window grows for a long line and shrinks after it."""
    window = Window(Parts([b"x" * 1000, b"x" * 1000 + b"\nshort\n"]), chunk=16)
    lines = form(window, 10, 200)
    assert [(len(line), position) for line, position in lines] == [(2000, 2001), (5, 2007)]
    window.refill()
    assert len(window.data) == 16


def test_a_stream_that_is_quiet_keeps_little_memory() -> None:
    """A hundred idle files would hold a hundred megabytes; a busy file is read in large chunks.

    The first of them is small: its lines are on their way while memory is made for more.
    """
    window = Window(Parts([b"short\n", b"y" * 200_000]))
    sizes = []
    for _ in range(5):
        window.refill()
        sizes.append((window.end, len(window.data)))
        window.at = window.end
    assert sizes == [(6, LEAST), (0, LEAST), (65_536, 65_536), (134_464, CHUNK), (0, LEAST)]


@FORMS
def test_positions_count_bytes(form: Form) -> None:
    """A character of two bytes moves the position by two, so that a restart finds the next line."""
    assert form(Window(Parts(["é\nü\n".encode()])), 10, 1) == [("é", 3), ("ü", 6)]


@FORMS
def test_positions_continue_from_the_position_of_the_stream(form: Form) -> None:
    """After a restart in the middle of a file positions are those of the whole file; a pipe has none."""
    assert form(Window(Parts([b"a\nb\n"], position=50)), 10, 1) == [("a", 52), ("b", 54)]
    assert form(Window(Parts([b"a\n"], position=None)), 10, 1) == [("a", None)]


@FORMS
def test_bytes_that_are_no_text_become_replacement_characters(form: Form) -> None:
    """One bad line spoils neither its neighbours nor the positions."""
    taken = form(Window(Parts([b"caf\xe9\nok\n\xed\xa0\x80!\n"])), 10, 1)
    assert taken == [("caf�", 5), ("ok", 8), ("�!", 13)]


@given(st.lists(st.integers(0, 2**62), min_size=1).map(sorted))
def test_offsets_are_compact_json(positions: list[int]) -> None:
    """The text of an offset is Kafka's, whatever the number of digits in one batch."""
    column = offset_column(np.array(positions, np.int64))
    assert column.to_pylist() == [f'{{"position":{position}}}' for position in positions]
    column.validate(full=True)


@given(
    st.lists(st.none() | st.sampled_from(["", "a", "é", "b" * 20_000, "c" * 100_000]), max_size=6),
    st.integers(0, 3),
    st.sampled_from([1, 200]),
)
def test_lines_are_the_texts_with_their_ends(texts: list[str | None], start: int, times: int) -> None:
    """Long ones and short ones, in a part of a column as well."""
    column = pa.array(texts * times, pa.string()).slice(start)
    wanted = "".join(f"{'null' if text is None else text}\n" for text in column.to_pylist())
    assert b"".join(line_parts(column)).decode() == (wanted or "\n")
