"""Schemas of Python types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal as Number
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict
from uuid import UUID, uuid4

import pytest

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    SchemaBuilderError,
    Struct,
    Time,
    Timestamp,
)
from hearth_api.python_type import DEFAULT_SCALE

MOMENT = dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone.utc)
Id = NewType("Id", int)


class Colour(Enum):
    """An enumeration."""

    RED = "red"


@dataclass
class Line:
    """What is ordered."""

    article: str
    price: Annotated[Number, 2]
    count: int = 1


class Address(TypedDict):
    """Where to."""

    city: str


class Contact(Address, total=False):
    """How to."""

    mail: str


@dataclass
class Order:
    """One of everything."""

    id: Id
    at: dt.datetime
    lines: list[Line]
    contact: Contact
    note: str | None = None
    first: Optional[Line] = None  # noqa: UP045
    colour: Colour = Colour.RED
    tags: dict[str, int] = field(default_factory=dict)
    key: UUID = field(default_factory=uuid4)


@dataclass
class Node:
    """One of a chain."""

    value: int
    next: Node | None = None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, INT64_SCHEMA),
        (float, FLOAT64_SCHEMA),
        (bool, BOOLEAN_SCHEMA),
        (bytes, BYTES_SCHEMA),
        (str, STRING_SCHEMA),
        (UUID, STRING_SCHEMA),
        (Colour, STRING_SCHEMA),
        (Literal["a", "b"], STRING_SCHEMA),
        (dt.datetime, Timestamp.SCHEMA),
        (dt.date, Date.SCHEMA),
        (dt.time, Time.SCHEMA),
        (Number, Decimal.schema(DEFAULT_SCALE)),
        (Annotated[Number, 2], Decimal.schema(2)),
        (Annotated[int, INT32_SCHEMA], INT32_SCHEMA),
        (Annotated[int, "a note"] | None, OPTIONAL_INT64_SCHEMA),
        (Annotated[int | None, INT32_SCHEMA], INT32_SCHEMA.replaced(optional=True)),
        (tuple[int, ...], SchemaBuilder.array(INT64_SCHEMA).build()),
        (Sequence[str | None], SchemaBuilder.array(OPTIONAL_STRING_SCHEMA).build()),
        (dict[str, list[int]], SchemaBuilder.map(STRING_SCHEMA, SchemaBuilder.array(INT64_SCHEMA).build()).build()),
    ],
)
def test_each_type_has_its_schema(kind: Any, expected: Schema) -> None:
    """Reading a type again gives an equal schema."""
    assert Schema.of(kind) == expected
    assert Schema.of(kind) is Schema.of(kind)


def test_a_dataclass_is_a_struct_of_its_name() -> None:
    """Fields are those of the class, in order; constant defaults become schema defaults."""
    line = (
        SchemaBuilder.struct().name("Line").field("article", STRING_SCHEMA).field("price", Decimal.schema(2))
        .field("count", SchemaBuilder.int64().default(1)).build()
    )  # fmt: skip
    contact = SchemaBuilder.struct().name("Contact").field("city", STRING_SCHEMA).field("mail", OPTIONAL_STRING_SCHEMA)
    tags = SchemaBuilder.map(STRING_SCHEMA, INT64_SCHEMA).default({})
    assert Schema.of(Order) == (
        SchemaBuilder.struct().name("Order")
        .field("id", INT64_SCHEMA)
        .field("at", Timestamp.SCHEMA)
        .field("lines", SchemaBuilder.array(line))
        .field("contact", contact)
        .field("note", OPTIONAL_STRING_SCHEMA)
        .field("first", line.replaced(optional=True))
        .field("colour", SchemaBuilder.string().default("red"))
        .field("tags", tags)
        .field("key", STRING_SCHEMA)
        .build()
    )  # fmt: skip


def test_an_instance_is_a_struct() -> None:
    """Its values become a struct, and its dict an equal one."""
    order = Order(Id(1), MOMENT, [Line("a", Number(2))], {"city": "Ulm"}, key=UUID(int=7))
    struct = Struct.of(Schema.of(Order), order)
    assert struct.to_dict() == {
        "id": 1, "at": MOMENT, "lines": [{"article": "a", "price": Number("2.00"), "count": 1}],
        "contact": {"city": "Ulm", "mail": None}, "note": None, "first": None, "colour": "red", "tags": {},
        "key": "00000000-0000-0000-0000-000000000007",
    }  # fmt: skip
    assert Struct.of(Schema.of(Order), struct.to_dict()) == struct


def test_the_scale_of_a_default() -> None:
    """A decimal's default determines the scale."""

    @dataclass
    class Priced:
        price: Number = Number("0.000")

    Priced.__annotations__["price"] = Number
    assert Schema.of(Priced).fields[0].schema == Decimal.builder(3).default(Number("0.000")).build()


def test_recursive_class_has_a_recursive_schema() -> None:
    """Structs can be created as deep as Python's stack allows."""
    schema = Schema.of(Node)
    assert Struct.of(schema, Node(1, Node(2))).to_dict() == {"value": 1, "next": {"value": 2, "next": None}}
    deep: dict[str, Any] = {"value": 0}
    for value in range(100_000):
        deep = {"value": value, "next": deep}
    with pytest.raises(RecursionError):
        Struct.of(schema, deep)


@pytest.mark.parametrize("kind", [list, object, Any, int | str, tuple[int, str], dict[str, object]])
def test_type_without_schema_is_refused(kind: Any) -> None:
    """The error names the type, and is a DataError."""
    with pytest.raises(SchemaBuilderError, match="which has no schema") as caught:
        Schema.of(kind)
    assert isinstance(caught.value, DataError)
    assert "Annotated" in (caught.value.hint or "")


def test_unresolvable_annotation_is_refused() -> None:
    """The error names what the class's module does not define."""

    @dataclass
    class Wrong:
        value: int

    Wrong.__annotations__["value"] = "Nowhere"
    with pytest.raises(SchemaBuilderError, match="Nowhere"):
        Schema.of(Wrong)
