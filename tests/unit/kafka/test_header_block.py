"""Blocks of headers as Kafka's format 2 has them are read for all rows at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hearth.kafka.c_memory import locate
from hearth.kafka.header_block import headers_in
from hearth_execution.raw_header import RawHeaders, raw_rows

RAW = st.lists(st.tuples(st.text(max_size=3) | st.just("n" * 70), st.none() | st.binary(max_size=70)), max_size=3)


def number(value: int) -> bytes:
    """Return a number as Kafka writes it."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    found = b""
    while rest > 0x7F:
        found += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return found + bytes([rest])


def block(raw: RawHeaders) -> bytes:
    """Return the block of a message's headers."""
    parts = [number(len(raw))]
    for key, value in raw:
        name = key.encode()
        parts += [number(len(name)), name, number(-1) if value is None else number(len(value)), value or b""]
    return b"".join(parts)


def read(blocks: list[bytes]) -> list[RawHeaders] | None:
    """Return what is read of blocks that lie somewhere in memory."""
    column = pa.array(blocks, pa.binary())
    found = headers_in(*locate(column))
    return None if found is None else raw_rows(found)


@given(st.lists(RAW, min_size=1, max_size=4))
def test_headers_are_those_that_were_written(rows: list[RawHeaders]) -> None:
    """However many each row has: names and values of any length, empty ones and none."""
    assert read([block(raw) for raw in rows]) == rows


def test_rows_with_equal_header_names_are_read_without_a_loop() -> None:
    """The usual case: the same names, other values."""
    rows: list[RawHeaders] = [[("id", str(row).encode()), ("source", b"x" * 200)] for row in range(1000)]
    assert read([block(raw) for raw in rows]) == rows


@given(RAW, st.lists(st.lists(st.none() | st.binary(max_size=70), min_size=3, max_size=3), max_size=4), st.data())
def test_rows_are_compared_with_the_first_and_read_as_if_they_were_not(
    first: RawHeaders, others: list[list[bytes | None]], data: st.DataObject
) -> None:
    """Where all have its names, and where a byte of one is another one, be it of a name, a length or a value."""
    blocks = [block(first), *(block([(key, own) for (key, _), own in zip(first, values)]) for values in others)]
    changed = bytearray(b"".join(blocks))
    place = data.draw(st.integers(-1, len(changed) - 1))
    if place >= 0:
        changed[place] = data.draw(st.integers(0, 255))
    ends = np.cumsum([len(each) for each in blocks]).tolist()
    blocks = [bytes(changed[end - len(each) : end]) for each, end in zip(blocks, ends)]
    alone = [read([each]) for each in blocks]
    together = read(blocks)
    assert together == (None if None in alone else [row for rows in alone for row in rows or ()])


def test_rows_without_a_block_have_no_headers() -> None:
    """An old message does not even have the count."""
    assert read([b"", block([("a", b"1")]), number(0)]) == [[], [("a", b"1")], []]


def test_invalid_utf8_in_a_name_is_replaced() -> None:
    """As in names read by the library."""
    assert read([number(1) + number(2) + b"a\xff" + number(0)]) == [[("a\ufffd", b"")]]


@given(st.binary(min_size=1, max_size=12), RAW)
def test_malformed_blocks_are_left_to_the_library(junk: bytes, raw: RawHeaders) -> None:
    """Nothing outside a block is read: the result matches the bytes or is None."""
    whole = block(raw)
    found = read([whole, junk, whole])
    if found is not None:
        assert found[0] == found[2] == raw
        assert len(block(found[1])) <= len(junk) or any("\ufffd" in key for key, _ in found[1])
    assert read([whole + b"x"]) is None
    assert read([whole[:-1]]) is None or len(whole) == 1
    assert np.all(locate(pa.array([whole], pa.binary()))[1] == len(whole))
