"""Values are converted to the classes that schemas use."""

from __future__ import annotations

from collections import ChainMap
from decimal import Decimal as Number
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from hearth_api import (
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
)
from hearth_api.python_value import fitted, members, plain_of


class Colour(Enum):
    """Text members, except for one."""

    RED = "red"
    BLUE = 2


class Level(IntEnum):
    """Numbers."""

    LOW = 1


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (STRING_SCHEMA, Colour.RED, "red"),
        (STRING_SCHEMA, Colour.BLUE, "BLUE"),
        (INT64_SCHEMA, Level.LOW, 1),
        (STRING_SCHEMA, UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (FLOAT64_SCHEMA, 3, 3.0),
        (FLOAT64_SCHEMA, True, True),
        (Decimal.schema(2), Number("1.5"), Number("1.50")),
        (Decimal.schema(2), Number("1.5000"), Number("1.50")),
        (Decimal.schema(-2), Number("1500"), Number("15E+2")),
        (Decimal.schema(40), 10**60, Number(str(10**60) + "." + "0" * 40)),
        (SchemaBuilder.array(FLOAT64_SCHEMA).build(), {1}, [1.0]),
        (SchemaBuilder.map(STRING_SCHEMA, FLOAT64_SCHEMA).build(), ChainMap({"a": 1}), {"a": 1.0}),
        (STRING_SCHEMA, None, None),
        (STRING_SCHEMA, 5, 5),
    ],
)
def test_a_value_gets_the_class_of_its_schema(schema: Schema, value: Any, expected: Any) -> None:
    """A value that does not fit is unchanged."""
    made = fitted(schema, value, Struct.of)
    assert (made, type(made)) == (expected, type(expected))


def test_nothing_is_rounded() -> None:
    """A decimal with more digits than its schema is refused."""
    with pytest.raises(DataError, match=r"1\.555 has more digits than the scale 2"):
        fitted(Decimal.schema(2), Number("1.555"), Struct.of)


def test_only_mappings_and_dataclass_instances_have_members() -> None:
    """A class or a list has none."""
    assert members(MappingProxyType({"a": 1})) == {"a": 1}
    assert members([("a", 1)]) is members(int) is None


def test_plain_values_stay() -> None:
    """Only containers are copied, since those of a record must not change."""
    inner = [1]
    assert plain_of({"a": inner}) == {"a": [1]}
    assert plain_of(inner) is not inner
