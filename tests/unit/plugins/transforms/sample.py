"""Schemas, values and batches to try transformations on."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal as PythonDecimal
from functools import cache, lru_cache
from typing import Any

from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    ConnectRecord,
    Date,
    Decimal,
    Header,
    Schema,
    SchemaBuilder,
    SinkRecord,
    SourceRecord,
    Struct,
    Time,
    Timestamp,
    TimestampType,
    Type,
)
from hearth_api.batch import (
    Batch,
    BatchTransformation,
    batch_to_sink_records,
    batch_to_source_records,
    records_to_batches,
)
from hearth_execution.order import cut
from tests.unit.hearth_api.strategy import ALIKE
from tests.unit.plugins.two_forms import messages, transformed

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_INTEGERS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_SIMPLE = (
    INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, FLOAT32_SCHEMA, FLOAT64_SCHEMA, BOOLEAN_SCHEMA,
    STRING_SCHEMA, BYTES_SCHEMA, Decimal.schema(2), Date.SCHEMA, Time.SCHEMA, Timestamp.SCHEMA,
)  # fmt: skip
# Strategies are made once: hypothesis looks through every new one before it draws from it.
_SIMPLE_ONES = st.sampled_from(_SIMPLE)
_KINDS = st.sampled_from(["simple", "simple", "array", "map", "struct"])
_NAMES = st.sampled_from([None, "s"])
_TIMES = st.none() | st.integers(0, 10**13)
_HEADERS = st.lists(st.sampled_from("ab"), max_size=2)
_PARTITIONS = st.none() | st.integers(0, 9)


def source_record(schema: Schema | None, value: Any, **changes: Any) -> SourceRecord:
    """Return a record of a source with a value."""
    offset = {"position": 7}
    record = SourceRecord({"f": "x"}, offset, "test", value_schema=schema, value=value, timestamp=1_483_425_001_864)
    return record.new_record(**changes)


def sink_record(schema: Schema | None, value: Any, **changes: Any) -> SinkRecord:
    """Return a record read from Kafka with a value."""
    kind = TimestampType.CREATE_TIME
    return SinkRecord("test", 2, None, None, schema, value, 77, 1_483_425_001_864, kind).new_record(**changes)


def rebuilt(schema: Schema, optional: bool, default: Any) -> Schema:
    """Return the schema made optional or given a default."""
    inner = {"key_schema": schema.key_schema} if schema.type is Type.MAP else {}
    if schema.type in (Type.MAP, Type.ARRAY):
        inner["value_schema"] = schema.value_schema
    fields = schema.fields if schema.type is Type.STRUCT else ()
    return Schema(
        schema.type, optional, default, schema.name, schema.version, schema.doc, schema.parameters, fields, **inner
    )


@cache
@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    """Draw a schema of any type, perhaps optional, perhaps with a default."""
    kind = draw(_KINDS) if depth else "simple"
    if kind == "simple":
        schema = draw(_SIMPLE_ONES)
    elif kind == "array":
        schema = SchemaBuilder.array(draw(schemas(depth - 1))).build()
    elif kind == "map":
        schema = SchemaBuilder.map(STRING_SCHEMA, draw(schemas(depth - 1))).build()
    else:
        schema = draw(struct_schemas(depth))
    optional = draw(st.booleans())
    # A default struct has another schema than its field, so no form can compare it.
    has_default = schema.type is not Type.STRUCT and draw(st.integers(0, 3)) == 0
    default = draw(values(schema)) if has_default else None
    return rebuilt(schema, optional, default)


@cache
@st.composite
def struct_schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    """Draw a schema of structs whose fields are named a, b, c."""
    builder = SchemaBuilder.struct().name(draw(_NAMES))
    for name in "abc"[: draw(st.integers(0, 3))]:
        builder.field(name, draw(schemas(depth - 1)))
    return rebuilt(builder.build(), draw(st.booleans()), None)


@lru_cache(1000)
def values(schema: Schema, unsound: bool = False) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a schema; unsound ones are null where that is not allowed."""
    may_be_null = schema.optional or unsound
    present = _present(schema, unsound)
    return st.none() | present if may_be_null else present


def _present(schema: Schema, unsound: bool) -> st.SearchStrategy[Any]:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    if schema.type in _INTEGERS:
        half = 1 << (_INTEGERS[schema.type] - 1)
        return st.integers(-half, half - 1)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return st.lists(values(schema.value_schema, unsound), max_size=3)
    if schema.type is Type.MAP:
        assert schema.value_schema is not None
        return st.dictionaries(st.text(max_size=2), values(schema.value_schema, unsound), max_size=2)
    if schema.type is Type.STRUCT:
        parts = [values(field.schema, unsound) | _unset(field.schema) for field in schema.fields]
        return st.tuples(*parts).map(lambda found: Struct.unchecked(schema, found))
    return _OTHERS[schema.type]


def _unset(schema: Schema) -> st.SearchStrategy[None]:
    return st.none() if schema.default is not None else st.nothing()


_LOGICAL: dict[str | None, st.SearchStrategy[Any]] = {
    Decimal.LOGICAL_NAME: st.integers(-(10**12), 10**12).map(lambda number: PythonDecimal(number).scaleb(-2)),
    Date.LOGICAL_NAME: st.dates(),
    Time.LOGICAL_NAME: st.integers(0, 86_399_999).map(lambda ms: Time.to_logical(Time.SCHEMA, ms)),
    Timestamp.LOGICAL_NAME: st.integers(0, 10**13).map(lambda ms: _EPOCH + dt.timedelta(milliseconds=ms)),
}
_OTHERS: dict[Type, st.SearchStrategy[Any]] = {
    Type.FLOAT32: st.floats(width=32, allow_nan=False),
    Type.FLOAT64: st.floats(allow_nan=False),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: st.text(max_size=5),
    Type.BYTES: st.binary(max_size=5),
}
_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abcd@"), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def batches(draw: st.DrawFn, unsound: bool = False) -> Batch:
    """Draw a batch, of a source or of a sink, numbered and perhaps cut out of a larger one."""
    key_schema, key_values = draw(_sides(unsound))
    value_schema, value_values = draw(_sides(unsound))
    make = draw(_MAKERS)
    count = draw(st.integers(1, 5))
    records = [make(draw, row, key_schema, draw(key_values), value_schema, draw(value_values)) for row in range(count)]
    (batch,) = records_to_batches(records)
    batch = numbered(batch)
    start = draw(st.integers(0, count - 1))
    return batch.slice(start, draw(st.integers(1, count - start)))


@cache
def _sides(unsound: bool) -> st.SearchStrategy[tuple[Schema | None, st.SearchStrategy[Any]]]:
    typed = (struct_schemas() | struct_schemas() | schemas()).map(lambda schema: (schema, values(schema, unsound)))
    alike = ALIKE.map(lambda shape: (None, st.none() | shape | shape | shape | shape))
    return st.just((None, _PLAIN)) | alike | typed | typed


def _common(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "timestamp": draw(_TIMES),
        "headers": [Header(name, STRING_SCHEMA, "h") for name in draw(_HEADERS)],
    }


def _source(draw: st.DrawFn, row: int, *sides: Any) -> SourceRecord:
    partition = draw(_PARTITIONS)
    return SourceRecord({"f": "x"}, {"position": row}, "topic", partition, *sides, **_common(draw))


def _sink(draw: st.DrawFn, row: int, *sides: Any) -> SinkRecord:
    key_schema, key, value_schema, value = sides
    partition = draw(st.integers(0, 9))
    return SinkRecord("topic", partition, key_schema, key, value_schema, value, row, **_common(draw))


_MAKERS = st.sampled_from([_source, _sink])


def numbered(batch: Batch) -> Batch:
    """Return the batch with the numbers that the runtime gives to rows."""
    import pyarrow as pa

    return batch.with_columns(row=pa.array(range(batch.num_rows), pa.int32()))


def records_of(batch: Batch) -> list[ConnectRecord]:
    """Return the rows of a batch as records."""
    is_sink = batch.column("offset") is not None
    return [*batch_to_sink_records(batch)] if is_sink else [*batch_to_source_records(batch)]


def _texts(records: Mapping[int, object]) -> dict[int, str]:
    """Return the text of each record: NaN equals no other NaN."""
    return {row: repr(record) for row, record in records.items()}


def check_forms(transformation: BatchTransformation, batch: Batch) -> None:
    """Check that both forms give the same records for the same rows and refuse the same rows in the same words.

    Batches of a source are sorted by kind, so the numbers of their rows tell the order; those of a sink are in order.
    Every other column must be as it was.
    """
    rows = batch.column("row").to_pylist()
    applied = {}
    refused = {}
    for row, record in zip(rows, records_of(batch), strict=True):
        try:
            applied[row] = transformation.apply(record)
        except ConnectError as error:
            refused[row] = str(error)
    outcome = transformed(transformation, batch)
    assert messages(outcome.failures) == refused
    outcome.batches = cut(outcome.batches)
    kept = {row: record for row, record in applied.items() if record is not None}
    numbers = [row for part in outcome.batches for row in part.column("row").to_pylist()]
    made = dict(zip(numbers, (record for part in outcome.batches for record in records_of(part)), strict=True))
    assert sorted(made) == sorted(numbers)
    assert made == kept or _texts(made) == _texts(kept)
    if batch.column("offset") is not None:
        assert numbers == list(kept)
    for part in outcome.batches:
        part.data.validate(full=True)


def refusal_in_batch(transformation: BatchTransformation, batch: Batch) -> str | None:
    """Return the message of the error that a batch of one record ends with."""
    return messages(transformed(transformation, batch).failures).get(0)


def refusal(call: Callable[[Any], object], argument: Any) -> str | None:
    """Return the message of the error a call raises."""
    try:
        call(argument)
    except ConnectError as error:
        return str(error)
    return None


def struct_of(schema: Schema, tree: Any) -> Any:
    """Return the struct, with inner structs, for nested maps."""
    if tree is None or schema.type is not Type.STRUCT:
        return tree
    return Struct.unchecked(schema, [struct_of(field.schema, tree[field.name]) for field in schema.fields])


def tree_of(value: Any) -> Any:
    """Return a struct or map, with those in it, as maps."""
    if isinstance(value, Struct):
        return {field.name: tree_of(value.get(field)) for field in value.schema.fields}
    return {name: tree_of(item) for name, item in value.items()} if isinstance(value, dict) else value
