"""How deep JSON may be nested, compared with Kafka Connect 4.3.1 with Jackson 2.21.2 on Java 25."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import INT32_SCHEMA, DataError, Schema, SchemaBuilder, Struct, Type
from hearth_api.batch import PartlyFailed, column_to_values, values_to_column
from hearth_execution.stack import make_room
from hearth_json.depth import is_too_deep
from tests.unit.plugins.json.test_converter import converter

READ = "Converting byte[] to Kafka Connect data failed due to serialization error: "
WRITTEN = "Converting Kafka Connect data to byte[] failed due to serialization error: "
MOST = 1000


@pytest.fixture(autouse=True)
def room() -> Iterator[None]:
    """Use the limit of calls that a stage has."""
    limit = sys.getrecursionlimit()
    make_room()
    yield
    sys.setrecursionlimit(limit)


def array(levels: int) -> str:
    """Return nested arrays of this depth."""
    return "[" * levels + "1" + "]" * levels


def objects(levels: int) -> str:
    """Return nested objects of this depth."""
    return '{"a":' * levels + "1" + "}" * levels


def schema_of(levels: int) -> str:
    """Return the JSON of a schema of nested arrays of this depth."""
    return '{"type":"array","items":' * levels + '{"type":"int32"}' + "}" * levels


def enveloped(levels: int) -> str:
    """Return arrays in an envelope without a schema."""
    return f'{{"schema":null,"payload":{array(levels)}}}'


def described(levels: int) -> str:
    """Return arrays in an envelope with their schema."""
    return f'{{"schema":{schema_of(levels)},"payload":{array(levels)}}}'


def beside(levels: int) -> str:
    """Return a payload with an undeclared member of nested arrays of this depth."""
    schema = '{"type":"struct","fields":[{"field":"b","type":"int32"}]}'
    return f'{{"schema":{schema},"payload":{{"a":{array(levels)},"b":1}}}}'


READS = [
    ("false", array, 1000),
    ("false", objects, 1000),
    ("true", enveloped, 999),
    ("true", described, 998),
    ("true", beside, 998),
]
"""Whether schemas are enabled, what is read, and the most levels for which Java reads it."""


def message_and_cause(error: BaseException) -> tuple[str, str]:
    """Return the messages of an error and its cause."""
    return str(error), str(error.__cause__)


def too_deep(says: str) -> tuple[str, str]:
    """Return Java's message for JSON that is nested too deep."""
    act = "Read" if says == READ else "Write"
    return says, (
        "Document nesting depth (1001) exceeds the maximum allowed "
        f"(1000, from `Stream{act}Constraints.getMaxNestingDepth()`)"
    )


@pytest.mark.parametrize(("enable", "text", "most"), READS, ids=lambda each: getattr(each, "__name__", None))
@pytest.mark.parametrize("rows", [1, 3])
def test_as_many_levels_are_read_as_by_java(enable: str, text: Callable[[int], str], most: int, rows: int) -> None:
    """In both forms; any deeper level is an error with Java's message."""
    made = converter(schemas_enable=enable)
    levels = (1, 63, 64, 254, 255, 700, most, most + 1, most + 2, most + 30, 5000)
    messages = [text(each).encode() for each in levels for _ in range(rows)]
    batch = made.to_connect_batch("t", pa.array(messages, pa.binary()))
    assert isinstance(batch, PartlyFailed)
    read: dict[int, Any] = {}
    for run in batch.result:
        numbers = range(len(messages)) if run.rows is None else run.rows.tolist()
        read |= dict(zip(numbers, [(run.schema, value) for value in column_to_values(run.schema, run.column)]))
    for row, message in enumerate(messages):
        if levels[row // rows] <= most:
            found = made.to_connect_data("t", message)
            assert read[row] == (found.schema, found.value)
            continue
        with pytest.raises(DataError) as error:
            made.to_connect_data("t", message)
        assert message_and_cause(error.value) == message_and_cause(batch.errors[row]) == too_deep(READ)


def lists(levels: int) -> tuple[Schema | None, Any]:
    """Return nested lists without a schema."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return None, value


def maps(levels: int) -> tuple[Schema | None, Any]:
    """Return nested maps without a schema."""
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return None, value


def arrays(levels: int) -> tuple[Schema | None, Any]:
    """Return nested lists with their schema."""
    schema = INT32_SCHEMA
    for _ in range(levels):
        schema = SchemaBuilder.array(schema).build()
    return schema, lists(levels)[1]


def structs(levels: int) -> tuple[Schema | None, Any]:
    """Return nested structs."""
    schema: Schema = INT32_SCHEMA
    value: Any = 1
    for _ in range(levels):
        schema = SchemaBuilder.struct().field("a", schema).build()
        value = Struct.unchecked(schema, [value])
    return schema, value


WRITES = [
    ("false", lists, 1000),
    ("false", maps, 1000),
    ("false", arrays, 1000),
    ("false", structs, 1000),
    ("true", lists, 999),
    ("true", arrays, 998),
    ("true", structs, 499),
]
"""Whether schemas are enabled, what is written, and the most levels for which Java writes it."""


@pytest.mark.parametrize(("enable", "made", "most"), WRITES, ids=lambda each: getattr(each, "__name__", None))
def test_as_many_levels_are_written_as_by_java(
    enable: str, made: Callable[[int], tuple[Schema | None, Any]], most: int
) -> None:
    """In both forms, if the schema has both: schemas of this depth have only the record form."""
    writer = converter(schemas_enable=enable)
    for levels in (1, 64, 254, most):
        schema, value = made(levels)
        written = writer.from_connect_data("t", schema, value)
        found = writer.to_connect_data("t", written)
        assert found.value == (value.to_dict() if found.schema is None and isinstance(value, Struct) else value)
        if schema is None:
            column = values_to_column(None, [value, 1])
            assert writer.from_connect_batch("t", None, column)[0].as_py() == written
    schema, value = made(most + 1)
    with pytest.raises(DataError) as error:
        writer.from_connect_data("t", schema, value)
    assert message_and_cause(error.value) == too_deep(WRITTEN)
    if schema is None:
        with pytest.raises(DataError) as error:
            writer.from_connect_batch("t", None, values_to_column(None, [1, value]))
        assert message_and_cause(error.value) == too_deep(WRITTEN)


def test_a_list_without_schema_in_a_struct_is_checked_as_well() -> None:
    """Its schema does not determine its depth."""
    schema = SchemaBuilder.struct().field("a", Schema(Type.ARRAY)).build()
    writer = converter(schemas_enable="false")
    struct = Struct.unchecked(schema, [lists(999)[1]])
    written = writer.from_connect_data("t", schema, struct)
    assert writer.from_connect_batch("t", schema, values_to_column(schema, [struct])).to_pylist() == [written]
    struct = Struct.unchecked(schema, [lists(1000)[1]])
    for write in (
        partial(writer.from_connect_data, "t", schema, struct),
        partial(writer.from_connect_batch, "t", schema, values_to_column(schema, [struct])),
    ):
        with pytest.raises(DataError) as error:
            write()
        assert message_and_cause(error.value) == too_deep(WRITTEN)


PIECES = st.sampled_from(["[" * 400, "]" * 300, "[", "]", "{", "}", '"[[{"', r'"\"["', '"\\\\"', "1,", ",", ":"])


@given(st.lists(PIECES, max_size=30), st.integers(0, 3))
def test_levels_are_counted_as_by_walking_through_the_text(pieces: list[str], start: int) -> None:
    """Brackets in texts do not count, and text after the first value is ignored."""
    text = " " * start + "[" + "".join(pieces)
    level, is_quoted, is_escaped, wanted = 0, False, False, False
    for character in text[start:]:
        if is_quoted:
            is_quoted = is_escaped or character != '"'
            is_escaped = not is_escaped and character == "\\"
        elif character == '"':
            is_quoted = True
        elif character in "[{":
            level += 1
            wanted = wanted or level > MOST
        elif character in "]}":
            level -= 1
            if level == 0:
                break
        if wanted:
            break
    assert is_too_deep(text, start) is wanted
