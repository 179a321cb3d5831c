"""Rows of Python values as a column."""

from __future__ import annotations

from dataclasses import make_dataclass
from decimal import Decimal as Number
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Type,
)
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.batch.row_column import rows_to_column
from tests.unit.hearth_api.strategy import schemas, values

ROW = SchemaBuilder.struct().name("Row").field("id", INT64_SCHEMA).field("note", OPTIONAL_STRING_SCHEMA).build()
PRICED = (
    SchemaBuilder.struct()
    .field("price", Decimal.schema(2))
    .field("weight", SchemaBuilder.float64().default(1.0))
    .field("key", STRING_SCHEMA)
    .field("row", ROW.replaced(optional=True))
    .field("rows", SchemaBuilder.array(ROW).optional())
    .build()
)
Instance = make_dataclass("Instance", ["id", "note"])


def are_same(one: Any, other: Any) -> bool:
    """Return whether columns are equal, including NaN."""
    return bool(one.type == other.type) and repr(one.to_pylist()) == repr(other.to_pylist())


@given(st.data())
def test_rows_are_the_column_of_their_structs(data: st.DataObject) -> None:
    """In any form: tuples, mappings, structs, mixed."""
    schema = data.draw(schemas().filter(lambda schema: schema.type is Type.STRUCT)).replaced(optional=True)
    structs = data.draw(st.lists(values(schema), max_size=5))
    expected = values_to_column(schema, structs)
    ways = (lambda row: row.raw_values(), lambda row: dict(zip(row, row.raw_values())), lambda row: row)
    for way in ways:
        assert are_same(rows_to_column(schema, [row and way(row) for row in structs]), expected)
    mixed = [row and data.draw(st.sampled_from(ways))(row) for row in structs]
    assert are_same(rows_to_column(schema, iter(mixed)), expected)


@given(st.data())
def test_values_become_the_same_column(data: st.DataObject) -> None:
    """For any schema except a struct's."""
    schema = data.draw(schemas().filter(lambda schema: schema.type is not Type.STRUCT))
    found = data.draw(st.lists(values(schema), max_size=5))
    assert are_same(rows_to_column(schema, found), values_to_column(schema, found))


def test_members_get_the_class_of_their_schema() -> None:
    """As `Struct.of` converts them, at any depth."""
    rows: list[Any] = [
        (Number("1.5"), 3, UUID(int=1), {"id": 1}, [(1, "a")]),
        (Number(2), None, "x", None, None),
    ]
    with pytest.raises(DataError):
        rows_to_column(PRICED, rows)  # a list of tuples is not a list of structs
    rows[0] = (*rows[0][:4], [Instance(1, "a"), {"id": 2}])
    expected = [
        Struct.of(PRICED, {name: part for name, part in zip(PRICED_NAMES, row) if part is not None}) for row in rows
    ]
    assert column_to_values(PRICED, rows_to_column(PRICED, rows)) == expected


PRICED_NAMES = [field.name for field in PRICED.fields]


@pytest.mark.parametrize("rows", [[(1, "a"), (2, None), None], [{"id": 1, "note": "a"}, {"id": 2}, None]])
def test_null_rows_are_null(rows: list[Any]) -> None:
    """Even if every other row is plain."""
    assert rows_to_column(ROW, rows).to_pylist() == [{"id": 1, "note": "a"}, {"id": 2, "note": None}, None]
    assert rows_to_column(ROW, [None]).to_pylist() == [None]
    assert len(rows_to_column(ROW, [])) == 0


@pytest.mark.parametrize(
    ("schema", "rows", "text"),
    [
        (ROW, [(1, "a"), (1,)], "row 1 has 1 values, where the schema has 2 fields"),
        (ROW, [(1, "a"), {"ix": 1}], "Row has no field 'ix'"),
        (ROW, [{"id": 1}, {"ix": 1}], "Row has no field 'ix'"),
        (ROW, [{"note": "a"}], 'null used for required field: "id"'),
        (ROW, [(None, "a")], 'null used for required field: "id"'),
        (ROW, [("1", "a")], "class str"),
        (ROW, [1], "not int"),
        (FLOAT64_SCHEMA, ["1"], "class str"),
        (PRICED, [(Number("1.555"), 1.0, "", None, None)], "more digits than the scale 2"),
    ],
)
def test_rows_that_do_not_fit_are_refused(schema: Schema, rows: list[Any], text: str) -> None:
    """The message names the row, field or class."""
    with pytest.raises(DataError, match=text):
        rows_to_column(schema, rows)
