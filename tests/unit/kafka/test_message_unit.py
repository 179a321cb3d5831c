"""Arguments of librdkafka's calls for single messages."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.kafka import message_unit
from hearth.kafka.c_memory import locate
from hearth.kafka.message_unit import (
    HEADER,
    OPAQUE,
    TOPIC,
    VALUE,
    HeaderCells,
    MessageUnits,
)
from hearth_execution.raw_header import RawHeaders, raw_column

CLIENT, NAME = 0x7F0000000007, 0x7F0000000070
UNIT_WORDS = 9
Header = tuple[str, "bytes | None"]
HEADERS = st.tuples(st.sampled_from(["a", "bb", "é"]), st.none() | st.binary(max_size=3))


class Calls:
    """A function of C that takes messages as librdkafka does, and reads their units while it is called."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, bytes | None, list[Header]]] = []
        """Number, value and headers of each message."""
        types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
        self._kept = ctypes.CFUNCTYPE(*types)(self._take)
        self.function = ctypes.PYFUNCTYPE(*types)(ctypes.cast(self._kept, ctypes.c_void_p).value or 0)

    def _take(self, client: int, place: int, count: int) -> int | None:
        words = (ctypes.c_int64 * (UNIT_WORDS * count)).from_address(place)
        units = [words[start : start + 4] for start in range(0, len(words), UNIT_WORDS)]
        parts = {kind & 0xFFFFFFFF: (a, b) for kind, a, b, _ in units[:3]}
        headers = [(ctypes.string_at(name).decode(), _bytes(at, size)) for _, name, at, size in units[3:]]
        assert client == CLIENT
        assert parts[TOPIC] == (NAME, 0)
        assert {kind & 0xFFFFFFFF for kind, *_ in units[3:]} <= {HEADER}
        self.sent.append((parts[OPAQUE][0], _bytes(*parts[VALUE]), headers))
        return None if parts[OPAQUE][0] % 3 else 5


@pytest.fixture(params=dict.fromkeys([message_unit.IS_COMPILED, False]), ids=str, autouse=True)
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the calls as they are made here, and as they are where nothing could be compiled."""
    monkeypatch.setattr(message_unit, "IS_COMPILED", request.param)


def _bytes(address: int, size: int) -> bytes | None:
    return ctypes.string_at(address, size) if address else None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(HEADERS, max_size=4), min_size=1, max_size=9),
    st.integers(1, 40),
    st.booleans(),
    st.integers(0, 3),
)
def test_each_message_has_its_headers(rows: list[RawHeaders], at_once: int, is_first: bool, room: int) -> None:
    """For any number of messages and headers; refused messages are reported. The space may exceed the headers."""
    values = [None if row % 4 == 3 else b"value %d" % row for row in range(len(rows))]
    column = pa.array(values, pa.binary())
    columns = [(NAME,), locate(column), (np.arange(len(rows)),)]
    raw = raw_column(rows)
    headers = HeaderCells.of(raw)
    calls, usual = Calls(), message_unit._AT_ONCE
    try:
        message_unit._AT_ONCE = at_once
        units = MessageUnits([TOPIC, VALUE, OPAQUE], headers.most + room)
    finally:
        message_unit._AT_ONCE = usual
    if not is_first:
        units.send(calls.function, CLIENT, columns, headers)
        calls.sent.clear()
    refused = units.send(calls.function, CLIENT, columns, headers)
    assert calls.sent == [(row, value, list(own)) for row, (value, own) in enumerate(zip(values, rows))]
    assert refused.tolist() == [0 if row % 3 else 5 for row in range(len(rows))]


def test_messages_may_have_no_headers() -> None:
    """Nor need there be a place for them."""
    calls, column = Calls(), pa.array([b"x"] * 3, pa.binary())
    units = MessageUnits([TOPIC, VALUE, OPAQUE], 0)
    units.send(calls.function, CLIENT, [(NAME,), locate(column), (np.arange(7, 10),)], None)
    assert calls.sent == [(number, b"x", []) for number in (7, 8, 9)]


def test_null_and_empty_header_values_differ() -> None:
    """Which is another than one that is empty."""
    calls, column = Calls(), pa.array([b""], pa.binary())
    raw = raw_column([[("a", None), ("a", b"")]])
    columns = [(NAME,), locate(column), (np.array([1]),)]
    MessageUnits([TOPIC, VALUE, OPAQUE], 2).send(calls.function, CLIENT, columns, HeaderCells.of(raw))
    assert calls.sent[0][2] == [("a", None), ("a", b"")]
