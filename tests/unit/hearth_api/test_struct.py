"""Structs hold values that fit their schema."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal as Number
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
    Type,
)
from hearth_api.schema import deep_key
from tests.unit.hearth_api.strategy import schemas, values

SCHEMA = (
    SchemaBuilder.struct()
    .field("a", SchemaBuilder.int32().default(4))
    .field("b", OPTIONAL_STRING_SCHEMA)
    .field("c", STRING_SCHEMA)
    .build()
)


def test_only_get_applies_defaults() -> None:
    """`get` applies the default of a field, the other getters do not."""
    struct = Struct(SCHEMA)
    assert struct.get("a") == 4
    assert struct.get_without_default("a") is None
    assert struct.get_int32("a") is None


def test_put_checks_the_value() -> None:
    """A value that does not fit its field never gets in."""
    with pytest.raises(DataError) as wrong_class:
        Struct(SCHEMA).put("a", "x")
    assert str(wrong_class.value) == 'Invalid Python object for schema with type INT32: class str for field: "a"'
    with pytest.raises(DataError) as null:
        Struct(SCHEMA).put("c", None)
    assert str(null.value) == 'Invalid value: null used for required field: "c", schema type: STRING'


class Level(IntEnum):
    """An enumeration of numbers."""

    HIGH = 3


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT32_SCHEMA, Level.HIGH),
        (SchemaBuilder.int32().name("micros"), 5),
        (BYTES_SCHEMA, bytearray(b"x")),
        (Decimal.schema(1), Number("0.5")),
        (Date.SCHEMA, dt.date(2020, 2, 3)),
        (Timestamp.SCHEMA, dt.datetime(2020, 2, 3, tzinfo=dt.timezone.utc)),
    ],
)
def test_put_accepts_fitting_values(schema: Schema | SchemaBuilder, value: Any) -> None:
    """Also instances of subclasses, and named schemas."""
    struct = Struct(SchemaBuilder.struct().field("f", schema).build())
    assert struct.put("f", value).get("f") == value


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (INT32_SCHEMA, 1 << 31, "2147483648 is out of range"),
        (SchemaBuilder.int8().name("small"), -129, "-129 is out of range"),
        (Decimal.schema(1), 0.5, "class float"),
        (Date.SCHEMA, dt.datetime(2020, 2, 3, tzinfo=dt.timezone.utc), "class datetime"),
        (Timestamp.SCHEMA, dt.datetime(2020, 2, 3), "without time zone"),
    ],
)
def test_put_refuses_nearly_fitting_values(schema: Schema | SchemaBuilder, value: Any, text: str) -> None:
    """The right class alone is not sufficient."""
    with pytest.raises(DataError, match=text):
        Struct(SchemaBuilder.struct().field("f", schema).build()).put("f", value)


def test_nested_struct_is_checked_by_put() -> None:
    """It must be complete and of an equal schema, which may be another object."""
    outer = SchemaBuilder.struct().field("s", SCHEMA).build()
    with pytest.raises(DataError, match='null used for required field: "c"'):
        Struct(outer).put("s", Struct(SCHEMA))
    other = SchemaBuilder.struct().field("c", STRING_SCHEMA).build()
    with pytest.raises(DataError, match="Struct schemas do not match"):
        Struct(outer).put("s", Struct(other).put("c", "x"))
    twin = Struct(Schema(SCHEMA.type, fields=SCHEMA.fields)).put("c", "x")
    assert Struct(outer).put("s", twin).get_struct("s") is twin


def test_changed_list_is_checked_again() -> None:
    """A list or a map that fitted when put may have changed since."""
    inner = SchemaBuilder.struct().field("list", SchemaBuilder.array(INT32_SCHEMA)).build()
    numbers: list[Any] = [1]
    struct = Struct(inner).put("list", numbers)
    numbers.append("x")
    with pytest.raises(DataError, match="class str for element of array"):
        struct.validate()
    outer = SchemaBuilder.struct().field("s", inner).build()
    with pytest.raises(DataError, match="class str for element of array"):
        Struct(outer).put("s", struct)


def test_field_object_is_accepted_as_a_name() -> None:
    """Code that iterates over fields need not read their names."""
    _, _, field = SCHEMA.fields
    assert Struct(SCHEMA).put(field, "x").get(field) == "x"


@pytest.mark.parametrize("count", [1, 8, 9, 40])
def test_a_field_is_found_by_its_text(count: int) -> None:
    """For any string object, and any number of fields."""
    names = [f"field {number}" for number in range(count)]
    builder = SchemaBuilder.struct()
    for name in names:
        builder.field(name, INT64_SCHEMA)
    struct = Struct(builder.build())
    for again in range(2):
        for number, name in enumerate(reversed(names)):
            struct.put(name, number + again)
            assert struct.get_int64("".join(name)) == struct.get("".join(list(name))) == number + again
    assert struct.raw_values() == tuple(range(count, 0, -1))


def test_unknown_fields_are_refused() -> None:
    """Reading and writing a field need an existing name."""
    with pytest.raises(DataError, match="x is not a valid field name"):
        Struct(SCHEMA).put("x", 1)
    with pytest.raises(DataError, match="x is not a valid field name"):
        Struct(SCHEMA).get("x")
    with pytest.raises(DataError, match="x is not a valid field name"):
        Struct(SCHEMA).get_int32("x")


def test_typed_getters_check_the_type() -> None:
    """A typed getter raises for a field of another type."""
    with pytest.raises(DataError, match="Field 'b' is not of type INT32"):
        Struct(SCHEMA).get_int32("b")


def test_typed_getters_return_what_was_put() -> None:
    """There is a typed getter for every type."""
    builder = SchemaBuilder.struct()
    inner = SchemaBuilder.struct().build()
    samples = {
        "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float32": 0.5, "float64": 0.1, "boolean": True,
        "string": "s", "bytes": b"b", "array": [1], "map": {"k": 1}, "struct": Struct(inner),
    }  # fmt: skip
    containers: dict[str, Schema | SchemaBuilder] = {
        "array": SchemaBuilder.array(INT32_SCHEMA),
        "map": SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA),
        "struct": inner,
    }
    for name in samples:
        builder.field(name, containers.get(name) or SchemaBuilder(Type(name)))
    struct = Struct(builder.build())
    for name, value in samples.items():
        assert getattr(struct.put(name, value), f"get_{name}")(name) == value


def test_validation_requires_values_without_default() -> None:
    """A struct is complete if every field has a value, is optional or has a default."""
    with pytest.raises(DataError, match='null used for required field: "c"'):
        Struct(SCHEMA).validate()
    Struct(SCHEMA).put("c", "x").validate()


def test_text_leaves_unset_fields_out() -> None:
    """The text is Kafka Connect's, floats in Java's layout."""
    schema = SchemaBuilder.struct().field("f", FLOAT32_SCHEMA).field("s", SCHEMA).field("y", BYTES_SCHEMA).build()
    struct = Struct(schema).put("f", 1.100000023841858).put("s", Struct(SCHEMA).put("c", "x"))
    assert str(struct) == "Struct{f=1.1,s=Struct{c=x}}"


def test_structs_compare_by_schema_and_values() -> None:
    """Equal structs have equal hashes, and NaN equals itself."""
    schema = SchemaBuilder.struct().field("f", FLOAT32_SCHEMA).build()
    first, second = Struct(schema).put("f", float("nan")), Struct(schema).put("f", float("nan"))
    assert first == second
    assert hash(first) == hash(second)
    assert first != Struct(schema).put("f", 1.0)
    assert Struct(SCHEMA) != Struct(schema)


def test_struct_needs_a_struct_schema() -> None:
    """Only struct schemas have fields."""
    with pytest.raises(DataError, match="Not a struct schema"):
        Struct(INT32_SCHEMA)


@given(st.data())
def test_struct_reads_like_a_mapping(data: st.DataObject) -> None:
    """It returns what `get` returns, and copies built from its dict or raw values equal it."""
    schema = data.draw(schemas().filter(lambda schema: schema.type is Type.STRUCT))
    struct = data.draw(values(schema.replaced(optional=False, default=None)))
    model = {field.name: struct.get(field) for field in schema.fields}
    assert [*struct] == [*struct.keys()] == [*model]
    assert [*struct.values()] == [*model.values()]
    assert [*struct.items()] == [*model.items()]
    assert dict(struct) == {**struct} == model
    assert len(struct) == len(model)
    assert all(name in struct and struct[name] is model[name] for name in model)
    raw = dict(zip(struct, struct.raw_values()))
    assert Struct(struct.schema, **{name: value for name, value in raw.items() if value is not None}) == struct
    if None not in raw.values():
        assert Struct.of(struct.schema, raw) == struct
    assert Struct.of(struct.schema, struct).to_dict() == struct.to_dict()
    assert Struct.of(struct.schema, struct.to_dict()).to_dict() == struct.to_dict()
    assert "\x00" not in struct
    with pytest.raises(KeyError):
        struct["\x00"]


def test_a_struct_stays_a_value_of_its_own_kind() -> None:
    """It is not a Mapping or a dict; and it is true even without fields."""
    empty = Struct(SchemaBuilder.struct().build())
    assert not [kind for kind in (Mapping, Sequence, dict) if isinstance(empty, kind)]
    assert empty
    assert len(empty) == 0
    assert deep_key(Struct(SCHEMA, c="x")) != deep_key({"a": 4, "b": None, "c": "x"})
    assert Struct(SCHEMA, a=4, c="x") != {"a": 4, "b": None, "c": "x"}
    with pytest.raises(DataError, match="class Struct"):
        Struct(SchemaBuilder.struct().field("m", SchemaBuilder.map(STRING_SCHEMA, STRING_SCHEMA)).build(), m=empty)


def test_a_struct_is_made_of_names_and_values() -> None:
    """They are put one by one; other fields are unset, and may still be missing."""
    struct = Struct(SCHEMA, b=None, c="x")
    assert struct.raw_values() == (None, None, "x")
    assert struct["a"] == 4
    assert Struct(SCHEMA, a=1).raw_values() == (1, None, None)
    with pytest.raises(DataError, match='field: "a"'):
        Struct(SCHEMA, a="1")
    with pytest.raises(KeyError, match="the struct has no field 'd', it has 'a', 'b', 'c'"):
        Struct(SCHEMA, d=1)
    named = SchemaBuilder.struct().field("schema", INT32_SCHEMA).field("self", INT32_SCHEMA).build()
    assert dict(Struct(named, schema=1, self=2)) == {"schema": 1, "self": 2}


def test_a_struct_of_a_mapping_is_whole() -> None:
    """Nested mappings become structs; missing, unknown and invalid members raise."""
    outer = SchemaBuilder.struct().field("all", SchemaBuilder.map(STRING_SCHEMA, SchemaBuilder.array(SCHEMA))).build()
    struct = Struct.of(outer, MappingProxyType({"all": {"k": ({"c": "x"}, Struct(SCHEMA, c="y"))}}))
    assert struct == Struct(outer, all={"k": [Struct(SCHEMA, c="x"), Struct(SCHEMA, c="y")]})
    assert struct.to_dict() == {"all": {"k": [{"a": 4, "b": None, "c": "x"}, {"a": 4, "b": None, "c": "y"}]}}
    with pytest.raises(DataError, match='required field: "c"'):
        Struct.of(SCHEMA, {"a": 1})
    with pytest.raises(KeyError, match="no field 'e'"):
        Struct.of(SCHEMA, {"c": "x", "e": 1})
    with pytest.raises(DataError, match="class int"):
        Struct.of(SCHEMA, {"c": 1})
    with pytest.raises(DataError, match="not list"):
        Struct.of(SCHEMA, [("c", "x")])
    with pytest.raises(DataError, match="Not a struct schema"):
        Struct.of(INT32_SCHEMA, {})


def test_repr_of_a_struct() -> None:
    """It shows the name of the schema and the values as put, including nested structs."""
    inner = SchemaBuilder.struct().name("Inner").field("x", OPTIONAL_STRING_SCHEMA).build()
    outer = SchemaBuilder.struct().field("i", inner).field("n", INT64_SCHEMA).build()
    assert repr(Struct(outer, i=Struct(inner))) == "Struct(i=Struct(Inner, x=None), n=None)"
