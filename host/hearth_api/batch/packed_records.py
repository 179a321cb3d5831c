"""Records of many kinds, few of each, that were polled together.

A column has a fixed cost, however few rows it has. So the values of such records are packed row by row, by their
schemas, into one column for all kinds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, overload

from hearth_api.batch import arrow as pa
from hearth_api.batch.batch import Batch
from hearth_api.batch.column import arrow_type, values_to_column
from hearth_api.batch.wire import strict_json
from hearth_api.errors import DataError
from hearth_api.java.offset_json import offset_to_json
from hearth_api.java.schema_json import schema_from_text, schema_to_text
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.schema import OPTIONAL_BYTES_SCHEMA, Schema, Type
from hearth_api.validation import is_logical, validate_value

try:
    from hearth_api.batch.row_pack import RowLayout, pack_rows
except ImportError:  # not compiled, see hatch_build
    pack_rows = None  # type: ignore[assignment]

_LETTER = {
    Type.INT8: "b", Type.INT16: "h", Type.INT32: "i", Type.INT64: "q", Type.FLOAT32: "d", Type.FLOAT64: "d",
    Type.BOOLEAN: "?", Type.STRING: "u", Type.BYTES: "y", Type.STRUCT: "{", Type.ARRAY: "[", Type.MAP: "(",
}  # fmt: skip
_LOGICAL: dict[tuple[str | None, Type], Any] = {
    (kind.LOGICAL_NAME, type_): kind
    for kind, type_ in ((Date, Type.INT32), (Time, Type.INT32), (Timestamp, Type.INT64), (Decimal, Type.BYTES))
}
_TYPES = {
    "kind": "int32", "value": "binary", "key": "binary", "partition": "int32", "timestamp": "int64",
    "source_offset": "string",
}  # fmt: skip
MOST_ROWS = 200
"""The number of records per kind from which columns are as cheap."""
_REMEMBERED = 4096
"""The number of cached kinds and schemas."""


class RecordKind(NamedTuple):
    """The common attributes of the records of a batch."""

    topic: str | None
    key_schema: Schema | None
    value_schema: Schema | None
    source_partition: Mapping[str, Any] | None


class PackedRecords(Sequence[Batch]):
    """Source records in the order of their poll, equivalent to the batches of `records_by_kind`.

    `data` holds their columns: `kind`, each record's index in `kinds`; `value` and `key` (optional), as packed rows;
    and a batch's `partition`, `timestamp` and `source_offset`. The batches are built on first access.
    """

    def __init__(self, kinds: Sequence[RecordKind], texts: list[bytes], data: Any) -> None:
        """Store the parts from `pack`; `texts` are the serialized kinds."""
        self.kinds = kinds
        self.texts = texts
        self.data = data

    @cached_property
    def codes(self) -> Any:
        """Return the column `kind` as a numpy array."""
        return self.column("kind").to_numpy()

    @property
    def num_rows(self) -> int:
        """Return the number of records."""
        rows: int = self.data.num_rows
        return rows

    def column(self, name: str) -> Any:
        """Return a column as a pyarrow Array, or None if it is missing, which means all null."""
        index = self.data.schema.get_field_index(name)
        return None if index < 0 else self.data.column(index)

    def by_source(self) -> Iterator[tuple[Mapping[str, Any] | None, Any, Any]]:
        """Yield each source partition, the offsets of its records as a column, and their indexes as a numpy array."""
        import numpy as np  # only if kinds alternate

        offsets = self.column("source_offset")
        offsets = pa.nulls(self.num_rows, pa.string()) if offsets is None else offsets
        sources: dict[str, list[int]] = defaultdict(list)
        for number, kind in enumerate(self.kinds):
            sources[repr(kind.source_partition)].append(number)
        if len(sources) == 1:
            yield self.kinds[0].source_partition, offsets, np.arange(self.num_rows, dtype=np.int32)
            return
        source_of = np.empty(len(self.kinds), np.int32)
        for source, own in enumerate(sources.values()):
            source_of[own] = source
        order, ends = _sorted(source_of[self.codes], len(sources))
        offsets = offsets.take(pa.array(order))
        for own, start, end in zip(sources.values(), [0, *ends], ends):
            yield self.kinds[own[0]].source_partition, offsets.slice(start, end - start), order[start:end]

    @cached_property
    def batches(self) -> list[Batch]:
        """Return the batches of these records, with row numbers across all of them."""
        order, ends = _sorted(self.codes, len(self.kinds))
        places = pa.array(order)
        data = self.data.take(places)
        columns = dict(zip(data.schema.names, data.columns)) | {"row": places}
        del columns["kind"]
        spans = zip(self.kinds, [0, *ends], ends)
        return [
            _batch(kind, {name: column.slice(start, end - start) for name, column in columns.items()})
            for kind, start, end in spans
            if end > start
        ]

    @overload
    def __getitem__(self, place: int) -> Batch: ...
    @overload
    def __getitem__(self, place: slice) -> list[Batch]: ...
    def __getitem__(self, place: int | slice) -> Batch | list[Batch]:
        """Return a batch of one kind, or some of them."""
        return self.batches[place]

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self.batches)

    @classmethod
    def join(cls, parts: Sequence[PackedRecords]) -> PackedRecords:
        """Return the concatenation of packed records."""
        known: dict[bytes, int] = {}
        kinds: list[RecordKind] = []
        tables = []
        names = [name for name in _TYPES if any(part.column(name) is not None for part in parts)]
        for part in parts:
            codes = part.column("kind")
            if part.texts != parts[0].texts or not known:
                for kind, text in zip(part.kinds, part.texts):
                    if text not in known:
                        known[text] = len(kinds)
                        kinds.append(kind)
                codes = pa.array([known[text] for text in part.texts], pa.int32()).take(codes)
            columns = {name: part.column(name) for name in names} | {"kind": codes}
            missing = {name: pa.nulls(part.num_rows, _TYPES[name]) for name in names if columns[name] is None}
            tables.append(pa.RecordBatch.from_arrays([*(columns | missing).values()], names=names))
        return cls(kinds, [*known], pa.concat_batches(tables))

    def to_batches(self) -> list[Batch]:
        """Return two batches for serialization: the kinds and the records."""
        kinds = pa.RecordBatch.from_arrays([pa.array(self.texts, pa.binary())], names=["value"])
        return [Batch(None, None, OPTIONAL_BYTES_SCHEMA, data) for data in (kinds, self.data)]

    @classmethod
    def of_batches(cls, kinds: Batch, records: Batch) -> PackedRecords:
        """Return the records of batches made by `to_batches`; raises a `ValueError` if they do not match."""
        texts, data = kinds.column("value").to_pylist(), records.data
        types = {name: str(data.schema.field(name).type) for name in data.schema.names}
        if not types.items() <= _TYPES.items() or not {"kind", "value"} <= types.keys() or not data.num_rows:
            raise ValueError(f"{data.num_rows} packed records have columns {types}")
        codes = data.column("kind")
        if codes.null_count or not 0 <= (numbers := codes.to_numpy()).min() <= numbers.max() < len(texts):
            raise ValueError(f"packed records are of other kinds than the {len(texts)} they came with")
        return cls([_kind(text) for text in texts], texts, data)


def pack(
    kinds: Sequence[RecordKind], codes: list[int], keys: list[Any], values: list[Any], others: Mapping[str, Any]
) -> PackedRecords | None:
    """Return records packed, each of the kind of its code; None if one does not plainly fit its schema."""
    columns = {"kind": pa.array(codes, pa.int32())}
    packed_values = _packed([kind.value_schema for kind in kinds], values, codes)
    if packed_values is None or any(kind.topic is None for kind in kinds):
        return None
    columns["value"] = packed_values
    if keys.count(None) < len(keys):
        columns["key"] = _packed([kind.key_schema for kind in kinds], keys, codes)
        if columns["key"] is None:
            return None
    columns |= others
    try:
        texts = [_text(*kind[:3], _partition_text(kind.source_partition)) for kind in kinds]
    except DataError:  # writing the batches reports it
        return None
    return PackedRecords(kinds, texts, pa.RecordBatch.from_arrays([*columns.values()], names=[*columns]))


def _packed(schemas: Sequence[Schema | None], values: list[Any], codes: list[int]) -> Any:
    found = PACK(values, codes, [None if schema is None else _layout(schema) for schema in schemas])
    if found is None:
        return None
    content, ends, valid = (None if part is None else pa.py_buffer(part) for part in found)
    return pa.Array.from_buffers(pa.binary(), len(values), [valid, ends, content])


def pack_nothing(values: list[Any], codes: list[int], layouts: list[Any]) -> None:
    """Pack no rows: the fallback without compiled code."""


PACK: Any = pack_nothing if pack_rows is None else pack_rows


@lru_cache(maxsize=_REMEMBERED)
def _layout(schema: Schema) -> RowLayout | None:
    """Return the packing layout of a schema; None if it has none, as its values fit no column."""
    try:
        arrow_type(schema)
        return _layout_of(schema)
    except DataError:
        return None


def _layout_of(schema: Schema | None) -> RowLayout:
    if schema is None or schema.is_reference:
        raise DataError("schemaless and recursive values cannot be packed")
    if is_logical(schema):
        if (kind := _LOGICAL.get((schema.name, schema.type))) is None:
            raise DataError(f"{schema.name} of type {schema.type}")
        return RowLayout(_LETTER[schema.type], schema, [], _physical, kind.to_logical)
    if schema.type is Type.STRUCT:
        parts: list[Schema | None] = [field.schema for field in schema.fields]
    elif schema.type is Type.MAP:
        parts = [schema.key_schema, schema.value_schema]
    else:
        parts = [schema.value_schema] if schema.type is Type.ARRAY else []
    return RowLayout(_LETTER[schema.type], schema, [_layout_of(part) for part in parts])


def _physical(schema: Schema, value: Any) -> Any:
    validate_value(schema, value)
    return _LOGICAL[schema.name, schema.type].from_logical(schema, value)


def _batch(kind: RecordKind, columns: dict[str, Any]) -> Batch:
    """Return a batch of records of a kind from packed values and keys."""
    columns["value"] = _unpacked(kind.value_schema, columns["value"])
    if (key := columns.pop("key", None)) is not None and key.null_count < len(key):
        columns["key"] = _unpacked(kind.key_schema, key)
    data = pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])
    return Batch(kind.topic, kind.key_schema, kind.value_schema, data, kind.source_partition)


def _unpacked(schema: Schema | None, column: Any) -> Any:
    """Return packed rows as a column of values; raises a `ValueError` for an invalid row."""
    layout = None if schema is None else _layout(schema)
    if layout is not None:
        return values_to_column(schema, [None if row is None else layout.unpack(row) for row in column.to_pylist()])
    if column.null_count < len(column):
        raise ValueError(f"rows of schema {schema} are not packed")
    return pa.nulls(len(column), arrow_type(schema))


def _sorted(codes: Any, count: int) -> tuple[Any, list[int]]:
    """Return the indexes of codes sorted by code, in order within each, and the end of each group."""
    import numpy as np  # only if kinds alternate

    order = np.argsort(codes, kind="stable").astype(np.int32)
    return order, np.cumsum(np.bincount(codes, minlength=count)).tolist()


def _partition_text(partition: Mapping[str, Any] | None) -> str | None:
    return None if partition is None else offset_to_json(partition)


@lru_cache(maxsize=_REMEMBERED)
def _text(topic: str | None, key_schema: Schema | None, value_schema: Schema | None, partition: str | None) -> bytes:
    schemas = (None if schema is None else schema_to_text(schema) for schema in (key_schema, value_schema))
    return json.dumps([topic, *schemas, partition]).encode()


@lru_cache(maxsize=_REMEMBERED)
def _kind(text: bytes) -> RecordKind:
    topic, key_schema, value_schema, partition = strict_json(text.decode())
    return RecordKind(
        topic,
        None if key_schema is None else schema_from_text(key_schema),
        None if value_schema is None else schema_from_text(value_schema),
        None if partition is None else strict_json(partition),
    )
