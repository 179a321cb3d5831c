"""Structs read field by field are what they are one by one, or none of them is."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Timestamp,
    Type,
)
from hearth_api.batch import arrow_type
from hearth_api.schema import deep_key
from hearth_json.strict_reader import StrictReader
from tests.unit.plugins.transforms.sample import rebuilt

KINDS = (
    (BOOLEAN_SCHEMA, True), (FLOAT32_SCHEMA, 0.5), (FLOAT64_SCHEMA, -0.0), (INT8_SCHEMA, 7), (INT64_SCHEMA, 1 << 40),
    (STRING_SCHEMA, "it"), (Date.SCHEMA, None), (Timestamp.SCHEMA, None), (Decimal.schema(2), None),
    (Schema(Type.FLOAT64, name=Date.LOGICAL_NAME), None), (Schema(Type.STRING, name=Decimal.LOGICAL_NAME), None),
    (SchemaBuilder.array(INT64_SCHEMA).build(), None), (SchemaBuilder.map(STRING_SCHEMA, INT64_SCHEMA).build(), None),
    (SchemaBuilder.struct().field("a", FLOAT64_SCHEMA).build(), None),
)  # fmt: skip
LIKELY: dict[Type, st.SearchStrategy[Any]] = {
    Type.BOOLEAN: st.booleans(),
    Type.FLOAT32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Type.FLOAT64: st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1e-300]),
    Type.INT8: st.integers(-128, 127) | st.sampled_from([128, -129]),
    Type.INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    Type.INT64: st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from([1 << 63, -(1 << 62)]),
    Type.STRING: st.text(max_size=4) | st.sampled_from(["e-300", "-", "x" * 1000]),
    Type.BYTES: st.sampled_from(["AQ==", "", "x"]),
    Type.ARRAY: st.lists(st.integers(-3, 3), max_size=2),
    Type.MAP: st.dictionaries(st.text(max_size=2), st.integers(-3, 3), max_size=2),
    Type.STRUCT: st.fixed_dictionaries({"a": st.floats(-5, 5)}),
}
ODD: st.SearchStrategy[Any] = (
    st.none() | st.integers() | st.floats(-9, 9) | st.booleans() | st.text(max_size=2) | st.just([])
)


@settings(deadline=None)
@given(data=st.data(), replaces=st.booleans(), is_clean=st.booleans())
def test_a_column_equals_the_values_of_its_payloads(data: st.DataObject, replaces: bool, is_clean: bool) -> None:
    """Nulls, defaults, absent members, values of other types and zeros with a sign included."""
    builder = SchemaBuilder.struct()
    members = {}
    for name in "abc"[: data.draw(st.integers(1, 3))]:
        schema, default = data.draw(st.sampled_from(KINDS))
        is_optional = data.draw(st.booleans())
        default = default if data.draw(st.booleans()) else None
        builder.field(name, rebuilt(schema, is_optional, default))
        likely = LIKELY[schema.type]
        likely = st.none() | likely if is_optional or default is not None else likely
        members[name] = likely if is_clean else likely | ODD
    made = builder.build()
    trees = data.draw(st.lists(st.fixed_dictionaries({}, optional=members), max_size=6))
    trees += data.draw(st.lists(st.fixed_dictionaries(members), max_size=6))
    payloads = [json.dumps(tree).encode() for tree in data.draw(st.permutations(trees))]
    reader = StrictReader(replaces, 10)
    try:
        alone = [reader.physical(made, payload) for payload in payloads]
    except ValueError:
        alone = None
    if alone is None:
        with pytest.raises((ValueError, pa.ArrowException)):
            reader.column(made, payloads)
        return
    column = reader.column(made, payloads)
    assert deep_key(column.to_pylist()) == deep_key(pa.array(alone, arrow_type(made)).to_pylist())
    column.validate(full=True)
