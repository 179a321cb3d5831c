"""Recursive schemas are compared, copied, serialized and stored in columns like any others, and terminate."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest

from hearth_api import (
    INT64_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Schema,
    SchemaBuilder,
    SchemaBuilderError,
    SchemaReference,
    Struct,
    needs_records,
)
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import schema_from_text, schema_to_text


def node(name: str | None = "Node", value: Schema = INT64_SCHEMA) -> Schema:
    """Return the schema of nodes with a next node, and children in a list and a map."""
    builder = SchemaBuilder.struct().name(name)
    children = SchemaBuilder.array(builder.itself()).optional().build()
    named = SchemaBuilder.map(STRING_SCHEMA, builder.itself(optional=True)).optional().build()
    builder.field("value", value).field("next", builder.itself(optional=True))
    return builder.field("children", children).field("named", named).build()


def chain(schema: Schema, *numbers: int) -> Struct:
    """Return a chain of nodes, each the next of the previous one."""
    struct = Struct(schema).put("value", numbers[0])
    inner = schema.field("next")
    assert inner is not None
    return struct.put("next", chain(inner.schema, *numbers[1:])) if numbers[1:] else struct


def reference(schema: Schema, name: str = "next") -> Schema:
    """Return the schema of a field."""
    field = schema.field(name)
    assert field is not None
    return field.schema


NODE = node()
TREE = chain(NODE, 1, 2, 3)
TREE.put("children", [chain(reference(NODE, "children").value_schema or NODE, 4, 5)])
TREE.put("named", {"a": None, "b": chain(reference(NODE, "named").value_schema or NODE, 6)})


def test_reference_has_the_attributes_of_its_struct() -> None:
    """Except for its own optionality."""
    inner = reference(NODE)
    assert isinstance(inner, SchemaReference)
    assert (inner.name, inner.optional, inner.doc, inner.version, inner.default) == ("Node", True, None, None, None)
    assert [field.name for field in inner.fields] == ["value", "next", "children", "named"]
    assert Struct(inner).put("value", 1).get_int64("value") == 1
    assert str(TREE) == (
        "Struct{value=1,next=Struct{value=2,next=Struct{value=3}},"
        "children=[Struct{value=4,next=Struct{value=5}}],named={a=null, b=Struct{value=6}}}"
    )
    TREE.validate()
    assert needs_records(NODE)
    assert not needs_records(STRING_SCHEMA)


@pytest.mark.parametrize("name", ["Node", None])
def test_copies_of_a_recursive_schema_are_equal(name: str | None) -> None:
    """Pickled, copied, or as JSON text, which refers to earlier structs instead of recursing endlessly."""
    schema = node(name)
    for other in (node(name), pickle.loads(pickle.dumps(schema)), copy.deepcopy(schema)):
        assert other == schema
        assert hash(other) == hash(schema)
        assert schema_to_text(other) == schema_to_text(schema)
    again = schema_from_text(schema_to_text(schema))
    assert again == schema
    assert reference(again) == reference(schema)
    assert schema_from_text(schema_to_text(reference(schema))) == reference(schema)
    assert copy.deepcopy(TREE) == TREE


def test_any_difference_makes_another_schema() -> None:
    """In the struct, in the reference's own attributes, or in being a reference at all."""
    assert node() != node("Other")
    assert reference(node()) != reference(node("Other"))
    assert reference(node(value=STRING_SCHEMA)) != reference(NODE)
    assert reference(NODE) != reference(NODE).replaced(optional=False)
    assert reference(NODE) != NODE
    assert NODE.fields[0].schema != reference(NODE)


def test_a_reference_can_be_changed_like_any_schema() -> None:
    """It stays a reference if only its own attributes change."""
    inner = reference(NODE)
    assert isinstance(inner, SchemaReference)
    assert inner.replaced(optional=False).is_reference
    assert inner.with_parameters({"a": "b"}).parameters == {"a": "b"}
    assert schema_from_text(schema_to_text(inner.with_parameters({"a": "b"}))).parameters == {"a": "b"}
    named = inner.replaced(name="Other")
    assert not named.is_reference
    assert (named.name, named.optional, named.fields) == ("Other", True, NODE.fields)


def test_columns_hold_recursive_structs() -> None:
    """The outer struct as a struct, the inner ones as texts, and a reference alone as well."""
    values = [TREE, None, chain(NODE, 7)]
    column = values_to_column(NODE, values)
    assert column_to_values(NODE, column) == values
    again = schema_from_text(schema_to_text(NODE))
    assert column_to_values(again, column) == values
    inner = reference(NODE)
    assert column_to_values(inner, values_to_column(inner, [None, chain(inner, 8, 9)])) == [None, chain(inner, 8, 9)]
    with pytest.raises(DataError):
        values_to_column(inner, [TREE])


def test_a_struct_that_is_not_built_yet_has_no_fields() -> None:
    """Only a struct can refer to itself."""
    with pytest.raises(DataError, match="before it is built"):
        _ = SchemaBuilder.struct().itself().fields
    with pytest.raises(SchemaBuilderError, match="Only a struct can hold itself, not type INT8"):
        SchemaBuilder.int8().itself()
    with pytest.raises(DataError, match="refers to 3, which is not in it"):
        schema_from_text('{"type":"struct","reference":3}')


def test_mutually_recursive_structs_are_compared_quickly() -> None:
    """Each pair is compared once, however many paths lead to it."""

    def all_in_all(depth: int) -> Schema:
        builders = [SchemaBuilder.struct().name(f"N{number}") for number in range(depth)]
        inner: Schema | None = None
        for builder in reversed(builders):
            for other in builders[: builders.index(builder) + 1]:
                builder.field(f"to{builders.index(other)}", other.itself(optional=True))
            if inner is not None:
                builder.field("inner", inner)
            inner = builder.build()
        assert inner is not None
        return inner

    began = time.process_time()
    one, other = all_in_all(40), all_in_all(40)
    assert one == other
    assert schema_from_text(schema_to_text(one)) == other
    assert len(schema_to_text(one)) < 100_000
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "use",
    [Struct.validate, hash, str, repr, copy.deepcopy, pickle.dumps, lambda struct: struct == _deep()],
    ids=["validate", "hash", "str", "repr", "deepcopy", "pickle", "equality"],
)
def test_too_deep_nesting_raises_instead_of_crashing(use: Callable[[Struct], Any]) -> None:
    """Compiled code does not check the C stack, so each level must pass through a Python frame."""
    deep = _deep()
    with pytest.raises(RecursionError):
        use(deep)


def _deep(levels: int = 100_000) -> Struct:
    inner, struct = reference(NODE), None
    for _ in range(levels):
        struct = Struct.unchecked(inner, [1, struct, None, None])
    return Struct.unchecked(NODE, [1, struct, None, None])
