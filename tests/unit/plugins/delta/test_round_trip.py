"""Any records with a struct of Delta's types as value are rows of equal values."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import hearth_api as api
from hearth_api import Date, Decimal, Schema, SchemaBuilder, SinkRecord, Struct, Timestamp
from tests.unit.plugins.delta.lake import TOPIC, Lake

_PRICE = Decimal.builder(2).parameter("connect.decimal.precision", "12").optional().build()
_DAY = Date.builder().optional().build()
_MOMENT = Timestamp.builder().optional().build()
_MILLIS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.timezone.utc)
)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_FIELDS: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (api.OPTIONAL_INT8_SCHEMA, st.integers(-128, 127)),
    (api.OPTIONAL_INT64_SCHEMA, st.integers(-(2**63), 2**63 - 1)),
    (api.OPTIONAL_FLOAT64_SCHEMA, st.floats(allow_nan=False)),
    (api.OPTIONAL_BOOLEAN_SCHEMA, st.booleans()),
    (api.OPTIONAL_STRING_SCHEMA, _TEXT),
    (api.OPTIONAL_BYTES_SCHEMA, st.binary(max_size=5)),
    (_PRICE, st.decimals(-(10**6), 10**6, places=2)),
    (_DAY, st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1))),
    (_MOMENT, _MILLIS),
    (SchemaBuilder.array(api.INT32_SCHEMA).optional().build(), st.lists(st.integers(-5, 5), max_size=3)),
    (
        SchemaBuilder.map(api.STRING_SCHEMA, api.OPTIONAL_INT32_SCHEMA).optional().build(),
        st.dictionaries(_TEXT, st.integers(-5, 5) | st.none(), max_size=3),
    ),
]


@st.composite
def drawn_records(draw: st.DrawFn) -> list[SinkRecord]:
    """Return records of one schema or two, of which the second has more fields."""
    chosen = draw(st.lists(st.sampled_from(_FIELDS), min_size=1, max_size=4))
    schemas = [_struct(chosen[:count]) for count in sorted({draw(st.integers(1, len(chosen))), len(chosen)})]
    records = []
    for offset in range(draw(st.integers(1, 6))):
        schema = draw(st.sampled_from(schemas))
        values = {
            field.name: draw(values | st.none()) for field, (_, values) in zip(schema.fields, chosen)
        }  # fmt: skip
        records.append(SinkRecord(TOPIC, 0, None, None, schema, Struct.of(schema, values), offset))
    return records


def _struct(chosen: list[tuple[Schema, Any]]) -> Schema:
    builder = SchemaBuilder.struct()
    for place, (schema, _) in enumerate(chosen):
        builder.field(f"c{place}", schema)
    return builder.build()


@settings(max_examples=25, deadline=None)
@given(drawn_records())
def test_records_are_rows_of_equal_values(records: list[SinkRecord]) -> None:
    """Fields that a schema lacks are null."""
    folder = Path(tempfile.mkdtemp())
    try:
        lake = Lake(folder)
        with lake.sink(auto_evolve="true") as run:
            run.put(records)
            run.pre_commit()
            assert run.reporter.reported == []
        names = lake.arrow().schema.names
        expected = [{name: _plain(record.value, name) for name in names} for record in records]
        assert lake.rows() == sorted(expected, key=str)
    finally:
        shutil.rmtree(folder)


def _plain(value: Struct, name: str) -> Any:
    if value.schema.field(name) is None:
        return None
    found = value[name]
    return list(found.items()) if isinstance(found, dict) else found
