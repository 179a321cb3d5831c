"""Numbers and booleans: results beyond those of Java's classes, which `test_golden` compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import (
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    DataError,
    Timestamp,
    Type,
)
from hearth_api.batch import values_to_column
from hearth_converters import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from tests.unit.plugins.two_forms import read
from tests.unit.run_order import values_in_order

PROJECT = Path(__file__).parents[4] / "plugins" / "converters" / "pyproject.toml"
KINDS = (ShortConverter, IntegerConverter, LongConverter, FloatConverter, DoubleConverter, BooleanConverter)
PREFIX = "org.apache.kafka.connect.converters."


def test_a_row_that_is_no_value_fails_alone() -> None:
    """The others of its column are read."""
    made = IntegerConverter()
    runs, failures = read(made, pa.array([b"\0\0\0\1", b"x", b"\0\0\0\2"], pa.binary()))
    assert [failure.row for failure in failures] == [1]
    assert [value for _, value in values_in_order(runs)] == [1, None, 2]


def test_a_number_without_a_size_is_written_if_it_round_trips() -> None:
    """Python numbers have no size, so without a schema the converter decides."""
    assert IntegerConverter().from_connect_data("t", None, 5) == b"\0\0\0\5"
    assert ShortConverter().from_connect_data("t", STRING_SCHEMA, 5) == b"\0\5"
    assert FloatConverter().from_connect_data("t", None, 0.5) == b"?\0\0\0"
    assert FloatConverter().from_connect_data("t", FLOAT32_SCHEMA, 0.1) == b"=\xcc\xcc\xcd"
    for made, value, name in (
        (FloatConverter(), 0.1, "float (was class java.lang.Double)"),
        (FloatConverter(), 1e300, "float (was class java.lang.Double)"),
        (ShortConverter(), 1 << 15, "short (was class java.lang.Long)"),
        (LongConverter(), 1 << 63, "long (was class java.math.BigInteger)"),
        (DoubleConverter(), 1, "double (was class java.lang.Long)"),
    ):
        with pytest.raises(DataError) as raised:
            made.from_connect_data("t", None, value)
        assert str(raised.value) == f"Failed to serialize to {name}: "


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_another_type_are_left_to_the_plain_form(kind: type[Any]) -> None:
    """Also logical types, which have their own classes in Java."""
    other = values_to_column(BYTES_SCHEMA, [b"x"])
    assert kind().from_connect_batch("t", BYTES_SCHEMA, other) is NotImplemented
    assert kind().from_connect_batch("t", None, values_to_column(None, [1])) is NotImplemented
    moments = pa.array([1], pa.int64())
    assert LongConverter().from_connect_batch("t", Timestamp.SCHEMA, moments) is NotImplemented


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_without_rows_is_converted(kind: type[Any]) -> None:
    """It stays empty."""
    made = kind()
    cells = made.from_connect_batch("t", made.schema, values_to_column(made.schema, []))
    assert cells.equals(pa.array([], pa.binary()))
    (run,) = made.to_connect_batch("t", cells)
    assert (run.schema, len(run.column)) == (made.schema, 0)


def test_not_a_number_has_one_form() -> None:
    """Java's converter of doubles gives every NaN the same bytes, in a column too."""
    odd = pa.array([0x7FF8_0000_0000_0001], pa.int64()).view(pa.float64())
    usual = b"\x7f\xf8" + bytes(6)
    made = DoubleConverter()
    assert made.from_connect_batch("t", made.schema, odd).to_pylist() == [usual]
    assert made.from_connect_data("t", None, odd[0].as_py()) == usual


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_the_kafka_class_of_its_name(kind: type[Any]) -> None:
    """Version, key and entry points are those a configuration for Kafka Connect expects."""
    assert kind().version() == "4.3.1"
    assert kind().config().names == ["converter.type"]
    line = f'"{PREFIX}{kind.__name__}" = "hearth_converters.fixed_width:{kind.__name__}"\n'
    assert PROJECT.read_text("utf-8").count(line) == 2
    kind().configure({}, is_key=True)
    with pytest.raises(ConfigError, match=r"converter\.type"):
        kind().configure({"converter.type": "x"})


def test_read_values_have_an_optional_schema() -> None:
    """A null among the bytes is a value as well."""
    assert IntegerConverter().to_connect_data("t", None) == (OPTIONAL_INT32_SCHEMA, None)
    assert IntegerConverter().from_connect_data("t", INT32_SCHEMA, None) is None
    assert {kind.schema.type for kind in KINDS} >= {Type.BOOLEAN, Type.FLOAT64}
