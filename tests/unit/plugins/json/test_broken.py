"""Messages that are not JSON fail in columns as alone, with the same messages, and mostly without an exception."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import DataError
from hearth_api.batch import LateErrors, PartlyFailed, frameless
from hearth_api.layout import Rewriting, rewriting
from hearth_api.schema import deep_key
from hearth_execution.failure import ErrorInfo
from hearth_json import JsonConverter
from tests.unit.plugins.two_forms import read
from tests.unit.run_order import values_in_order

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["é", "\\", '"'])
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
MARKS = [*'{}[],:"\\-+.eE0159tfnNIux \n', "nul", "é", "00", "01", "//", "'", "\x00", "\x01", "\x7f", "Infinity"]
ENCODINGS = [
    "utf-8",
    "utf-8",
    "utf-8",
    "utf-8-sig",
    "utf-16-le",
    "utf-16-be",
    "utf-32-le",
    "utf-16",
    "utf-32",
    "latin-1",
]
ENVELOPE = b'{"schema":{"type":"int32","optional":true},"payload":%s}'
is_compiled = pytest.mark.skipif(Rewriting()._rewriter is None, reason="not compiled")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw JSON that is truncated, extended or changed, in any encoding."""
    text = json.dumps(
        draw(TREES), ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([None, (",", ":")]))
    )
    at = draw(st.integers(0, len(text)))
    mark = draw(st.sampled_from(MARKS))
    way = draw(st.sampled_from(["whole", "cut", "put in", "put instead", "put before"]))
    text = {
        "whole": text,
        "cut": text[:at],
        "put in": text[:at] + mark + text[at:],
        "put instead": text[:at] + mark + text[at + 1 :],
        "put before": mark + text,
    }[way]
    data: bytes = text.encode(draw(st.sampled_from(ENCODINGS)), "replace")
    return data if draw(st.integers(0, 5)) else data[: draw(st.integers(0, len(data)))]


def converter(schemas: bool) -> JsonConverter:
    """Return a converter of values."""
    made = JsonConverter()
    made.configure({"schemas.enable": str(schemas).lower()}, is_key=False)
    return made


def assert_read_as_alone(made: JsonConverter, messages: list[bytes]) -> None:
    """Check that rows have the values and the complete errors of single messages."""
    values: dict[int, Any] = {}
    errors: dict[int, str] = {}
    for row, message in enumerate(messages):
        try:
            found = made.to_connect_data("t", message)
        except DataError as error:
            errors[row] = ErrorInfo.of(frameless(error)).trace
        else:
            values[row] = found.schema, deep_key(found.value)
    runs, failures = read(made, pa.array(messages, pa.binary()))
    assert {each.row: each.error.trace for each in failures} == errors
    assert [each.row for each in failures] == sorted(errors)
    assert {each.error.class_name for each in failures} <= {DataError.java_name}
    read_values = enumerate(values_in_order(runs))
    assert {row: (schema, deep_key(value)) for row, (schema, value) in read_values if row in values} == values


@pytest.mark.parametrize("is_compiled_here", [True, False])
@settings(deadline=None)
@given(st.lists(damaged(), min_size=1, max_size=8))
def test_a_damaged_row_fails_as_it_does_alone(is_compiled_here: bool, messages: list[bytes]) -> None:
    """Among valid rows, and in any encoding."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_compiled_here:
            patch.setattr(rewriting, "Rewriter", None)
        assert_read_as_alone(converter(schemas=False), messages)


@settings(deadline=None)
@given(st.lists(st.tuples(damaged(), st.integers(0, 3)), min_size=1, max_size=30))
def test_a_damaged_row_among_envelopes_fails_alone(rows: list[tuple[bytes, int]]) -> None:
    """Inside envelopes or instead of them; the valid rows are read."""
    messages = [ENVELOPE % (b"5" if way < 2 else data) if way else data for data, way in rows]
    assert_read_as_alone(converter(schemas=True), messages)


BROKEN = [
    b"oops", b"<a/>", b"Obj\x01\x04", b'{"a":1,"b":"cut of', b'{"a":', b"[1,", b'{"a', b"{", b'{"a":oops}', b"[1 2]",
    b'{"a" 1}', b"{a:1}", b"[1,]", b'{"a":1,}', b'{"a":12x}', b' \n["b"', "[\"ü".encode(),
]  # fmt: skip


def test_a_byte_order_mark_before_invalid_utf_8_raises_the_same_error() -> None:
    """The bytes before the invalid one are read; here they hold no value."""
    assert_read_as_alone(converter(schemas=False), [b'\xef\xbb\xbf{"\xc2', b"\xef\xbb\xbf[5]\xc2"])


@is_compiled
def test_errors_of_invalid_rows_are_created_on_demand() -> None:
    """An invalid row costs hardly more than a valid one."""
    for made in (converter(schemas=False), converter(schemas=True)):
        found = made.to_connect_batch("t", pa.array([ENVELOPE % b"1", *BROKEN, ENVELOPE % b"2"], pa.binary()))
        assert isinstance(found, PartlyFailed)
        assert isinstance(found.errors, LateErrors)
        assert (sorted(found.errors), found.errors.made) == ([*range(1, len(BROKEN) + 1)], {})


@is_compiled
def test_envelopes_are_found_among_other_messages() -> None:
    """However many other messages precede the first."""
    messages = [*BROKEN * 3, *[ENVELOPE % b"%d" % number for number in range(50)], *BROKEN]
    made = converter(schemas=True)
    asked: list[bytes] = []
    made.to_connect_batch("t", pa.array([ENVELOPE % b"0"], pa.binary()))
    reader = made._batch_reader
    assert reader is not None
    reader._plain_form = asked.append  # type: ignore[assignment]
    reader.runs(pa.array(messages, pa.binary()))
    assert asked == []
