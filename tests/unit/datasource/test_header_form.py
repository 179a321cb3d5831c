"""Headers in a column of a DataFrame."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_type

from hearth.datasource.header_form import header_convert
from hearth_api import INT64_SCHEMA, OPTIONAL_BYTES_SCHEMA, STRING_SCHEMA, ConfigError, DataError, Headers
from hearth_api.batch import column_to_headers, header_text
from hearth_api.java import schema_to_text

TEXT, BYTES = spark.StringType(), spark.BinaryType()


def struct(**kinds: spark.DataType) -> spark.ArrayType:
    """Return the type of lists of structs."""
    return spark.ArrayType(spark.StructType([spark.StructField(name, kind) for name, kind in kinds.items()]))


OF_A_READ = struct(key=TEXT, schema=TEXT, value=TEXT)
OF_KAFKA = struct(key=TEXT, value=BYTES)


def converted(kind: spark.DataType, rows: list[Any], cut: int = 0) -> list[Headers | None]:
    """Return the headers of rows, from one on."""
    column = header_convert(kind)(pa.array(rows, to_arrow_type(kind)).slice(cut))
    column.validate(full=True)
    return column_to_headers(column)


def test_headers_of_sparks_kafka_sink_are_accepted() -> None:
    """Their values are bytes, as Kafka has them."""
    rows = [[{"key": "a", "value": b"1"}, {"key": "b", "value": None}], None, []]
    one = Headers().add("a", OPTIONAL_BYTES_SCHEMA, b"1").add("b", OPTIONAL_BYTES_SCHEMA, None)
    assert converted(OF_KAFKA, rows) == [one, None, None]
    assert converted(OF_KAFKA, rows, 1) == [None, None]


def test_string_headers_stay_strings() -> None:
    """In structs and in maps."""
    expected = [Headers().add("a", STRING_SCHEMA, "x")]
    assert converted(struct(key=TEXT, value=TEXT), [[{"key": "a", "value": "x"}]]) == expected
    assert converted(spark.MapType(TEXT, TEXT), [[("a", "x")]]) == expected


def test_headers_of_a_read_can_be_written() -> None:
    """Schemas as JSON text, values as a column of headers has them."""
    number = {"key": "n", "schema": schema_to_text(INT64_SCHEMA), "value": header_text(INT64_SCHEMA, 5)}
    plain = {"key": "p", "schema": None, "value": header_text(None, {"a": 1})}
    rows = [[number, plain], [number]]
    five = Headers().add("n", INT64_SCHEMA, 5)
    assert converted(OF_A_READ, rows) == [Headers([*five, *Headers().add("p", None, {"a": 1})]), five]


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        (OF_KAFKA, [None], "is null"),
        (OF_KAFKA, [{"key": None, "value": b"1"}], "has no key"),
        (OF_A_READ, [{"key": "n", "schema": schema_to_text(INT64_SCHEMA), "value": "five"}], "does not match"),
        (OF_A_READ, [{"key": "n", "schema": "int", "value": "5"}], "does not match"),
    ],
)
def test_invalid_header_is_an_error(kind: spark.DataType, row: list[Any], message: str) -> None:
    """With what is wrong, before a task sees it."""
    with pytest.raises(DataError, match=message):
        converted(kind, [row])


@pytest.mark.parametrize(
    "kind", [TEXT, struct(key=TEXT), struct(key=BYTES, value=BYTES), struct(key=TEXT, value=TEXT, more=TEXT)]
)
def test_unsuitable_type_of_headers_is_an_error(kind: spark.DataType) -> None:
    """When the query is planned."""
    with pytest.raises(ConfigError, match="the column headers is of type"):
        header_convert(kind)
