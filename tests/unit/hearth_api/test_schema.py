"""Schemas are immutable and equal if all parts are equal."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import pytest
from hypothesis import given

from hearth_api import INT32_SCHEMA, STRING_SCHEMA, DataError, Field, Schema, SchemaBuilder, Type
from tests.unit.hearth_api.strategy import schemas


@given(schemas())
def test_copies_equal_their_original(schema: Schema) -> None:
    """Pickling and copying give the same schema, with the same hash."""
    for other in (pickle.loads(pickle.dumps(schema)), copy.deepcopy(schema)):
        assert other == schema
        assert hash(other) == hash(schema)


@pytest.mark.parametrize(
    "other",
    [
        Schema(Type.INT64),
        Schema(Type.INT32, optional=True),
        Schema(Type.INT32, default=1),
        Schema(Type.INT32, name="n"),
        Schema(Type.INT32, version=1),
        Schema(Type.INT32, doc="d"),
        Schema(Type.INT32, parameters={"a": "b"}),
    ],
)
def test_every_part_counts_for_equality(other: Schema) -> None:
    """Schemas that differ in one part are different."""
    assert other != INT32_SCHEMA
    assert Schema(Type.INT32) == INT32_SCHEMA


def test_defaults_compare_as_in_java() -> None:
    """NaN equals itself, while 1.0 and 1.00 are different decimals."""
    nan = Schema(Type.FLOAT64, default=float("nan"))
    assert nan == Schema(Type.FLOAT64, default=float("nan"))
    assert Schema(Type.BYTES, default=Decimal("1.0")) != Schema(Type.BYTES, default=Decimal("1.00"))


def test_schema_cannot_be_changed() -> None:
    """Schemas are shared between records and threads."""
    with pytest.raises(AttributeError, match="cannot be changed"):
        INT32_SCHEMA.optional = True
    with pytest.raises(AttributeError, match="cannot be changed"):
        del INT32_SCHEMA.doc


def test_parts_of_other_types_are_refused() -> None:
    """Reading a part that the type lacks raises with Kafka's message."""
    with pytest.raises(DataError, match="Cannot list fields on non-struct type"):
        _ = INT32_SCHEMA.fields
    with pytest.raises(DataError, match="Cannot look up fields on non-struct type"):
        INT32_SCHEMA.field("a")
    with pytest.raises(DataError, match="Cannot look up key schema on non-map type"):
        _ = INT32_SCHEMA.key_schema
    with pytest.raises(DataError, match="Cannot look up value schema on non-array and non-map type"):
        _ = INT32_SCHEMA.value_schema


def test_fields_are_found_by_name() -> None:
    """A struct schema knows its fields in order and by name."""
    schema = SchemaBuilder.struct().field("a", INT32_SCHEMA).field("b", STRING_SCHEMA).build()
    assert schema.fields == (Field("a", 0, INT32_SCHEMA), Field("b", 1, STRING_SCHEMA))
    assert schema.field("b") == Field("b", 1, STRING_SCHEMA)
    assert schema.field("c") is None


def test_text_names_the_schema() -> None:
    """Messages show a schema by name and type, or by type alone."""
    assert repr(INT32_SCHEMA) == "Schema{INT32}"
    assert repr(Schema(Type.STRUCT, name="person")) == "Schema{person:STRUCT}"


def test_primitive_types_have_no_parts() -> None:
    """Arrays, maps and structs are not primitive, everything else is."""
    assert {type_ for type_ in Type if not type_.is_primitive} == {Type.ARRAY, Type.MAP, Type.STRUCT}
