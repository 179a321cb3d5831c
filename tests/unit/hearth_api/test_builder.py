"""Schema builders check their arguments."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_api import INT32_SCHEMA, STRING_SCHEMA, Schema, SchemaBuilder, SchemaBuilderError, Type


def test_builder_collects_every_part() -> None:
    """All parts of a schema can be set in one chain."""
    built = SchemaBuilder.int32().name("n").version(2).doc("d").parameter("a", "b").optional().default(3).build()
    assert built == Schema(Type.INT32, True, 3, "n", 2, "d", {"a": "b"})


def test_builders_are_accepted_as_schemas() -> None:
    """Inner schemas need no call of build()."""
    inner = SchemaBuilder.array(SchemaBuilder.map(SchemaBuilder.string(), SchemaBuilder.int32()))
    schema = SchemaBuilder.struct().field("a", inner).build()
    field = schema.field("a")
    assert field is not None
    assert field.schema == inner.build()


def test_part_is_set_once() -> None:
    """Setting a different value for a part is a mistake of the author."""
    builder = SchemaBuilder.int32().name("a").name("a")
    with pytest.raises(SchemaBuilderError, match="name has already been set"):
        builder.name("b")
    with pytest.raises(SchemaBuilderError, match="optional has already been set"):
        SchemaBuilder.int32().optional().required()


@pytest.mark.parametrize(
    ("builder", "default"),
    [
        (SchemaBuilder.int8(), 128),
        (SchemaBuilder.int32(), None),
        (SchemaBuilder.string(), 5),
        (SchemaBuilder.array(INT32_SCHEMA), ["x"]),
    ],
)
def test_default_must_fit(builder: SchemaBuilder, default: Any) -> None:
    """A default must be a value of the schema."""
    with pytest.raises(SchemaBuilderError, match="Invalid default value"):
        builder.default(default)


def test_fields_need_a_struct_and_a_unique_name() -> None:
    """Only structs have fields, with distinct names."""
    with pytest.raises(SchemaBuilderError, match="Cannot create fields on type INT32"):
        SchemaBuilder.int32().field("a", INT32_SCHEMA)
    with pytest.raises(SchemaBuilderError, match="Cannot create field because of field name duplication a"):
        SchemaBuilder.struct().field("a", INT32_SCHEMA).field("a", STRING_SCHEMA)
    with pytest.raises(SchemaBuilderError, match="fieldName cannot be null"):
        SchemaBuilder.struct().field("", INT32_SCHEMA)


def test_inner_schemas_are_required() -> None:
    """Arrays and maps need the schemas of their elements."""
    missing: Any = None
    with pytest.raises(SchemaBuilderError, match="valueSchema cannot be null"):
        SchemaBuilder.array(missing)
    with pytest.raises(SchemaBuilderError, match="keySchema cannot be null"):
        SchemaBuilder.map(missing, INT32_SCHEMA)


def test_basics_are_copied() -> None:
    """A changed schema keeps name, version, documentation and parameters, but neither type nor default."""
    source = SchemaBuilder.int32().name("n").version(1).doc("d").parameter("a", "b").default(4).build()
    assert SchemaBuilder.string().basics(source).build() == Schema(
        Type.STRING, name="n", version=1, doc="d", parameters={"a": "b"}
    )
