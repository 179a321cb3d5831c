"""The rule for Cast's columns: they hold what casting value by value gives, at the ends of every range as well."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hearth_api import ConnectError, Date, Schema, Time, Timestamp, Type
from hearth_api.batch import column_to_values, values_to_column
from hearth_transforms.cast_column import cast_column
from hearth_transforms.casting import OUTPUTS, cast

INTEGERS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
FLOATS = (0.0, -0.0, 0.5, -1.5, 3.4e38, 127.9, 2.0**31, -(2.0**63), math.inf, -math.inf, math.nan, 1.0000000596046448)
# By way of a 64-bit float these would be rounded twice, and wrongly, to 32 bits.
WIDE = (2**60 + 2**36 + 1, -(2**60) - 2**36 - 1, 2**62 + 2**38 + 1)
TEXTS = (
    "0",
    "-7",
    "007",
    "+5",
    "12",
    "300",
    "",
    " 4",
    "1.5",
    "\u0663",
    "-0",
    "true",
    "0x10",
    "9" * 18,
    "9" * 19,
    "9" * 5000,
    "1_0",
)

OTHERS: dict[Type, tuple[Any, ...]] = {
    Type.FLOAT64: FLOATS,
    Type.BOOLEAN: (True, False),
    Type.STRING: TEXTS,
    Type.BYTES: (b"", b"x"),
}


def samples(type_: Type) -> list[Any]:
    """Return values of a type, the extreme ones among them."""
    if type_ in INTEGERS:
        half = 1 << (INTEGERS[type_] - 1)
        return [0, 1, -1, 100, half - 1, -half, *(WIDE if type_ is Type.INT64 else ())]
    if type_ is Type.FLOAT32:
        column = values_to_column(Schema(type_), list(FLOATS))
        return column_to_values(Schema(type_), column)
    return list(OTHERS[type_])


def outcome(call: Any) -> str:
    """Return the values of a call, in a form that knows NaN and -0.0, or its error's message."""
    try:
        return repr(call())
    except ConnectError as error:
        return str(error)


@pytest.mark.parametrize("target", OUTPUTS, ids=str)
@pytest.mark.parametrize("source", [*OUTPUTS, Type.BYTES], ids=str)
def test_casting_a_column_equals_casting_each_value(source: Type, target: Type) -> None:
    """Alone, with a null, and all castable values together."""
    schema, to = Schema(source, optional=True), Schema(target, optional=True)
    sound = []
    for value in samples(source):
        for values in ([value], [value, None]):
            column = values_to_column(schema, values)
            expected = outcome(lambda values=values: [cast(each, schema, target) for each in values])
            assert outcome(lambda column=column: column_to_values(to, cast_column(column, schema, target))) == expected
        if expected.startswith("["):
            sound.append(value)
    column = values_to_column(schema, sound)
    together = column_to_values(to, cast_column(column, schema, target))
    assert repr(together) == repr([cast(each, schema, target) for each in sound])


@pytest.mark.parametrize("schema", [Date.SCHEMA, Time.SCHEMA, Timestamp.SCHEMA], ids=lambda schema: schema.name)
@pytest.mark.parametrize("target", OUTPUTS, ids=str)
def test_a_column_of_timestamps_is_cast_by_its_physical_values(schema: Schema, target: Type) -> None:
    """Their numbers are cast, or their texts made."""
    kind = {each.LOGICAL_NAME: each for each in (Date, Time, Timestamp)}[schema.name or ""]
    values = [kind.to_logical(schema, number) for number in (0, 1, 300)]
    cast_values = column_to_values(Schema(target), cast_column(values_to_column(schema, values), schema, target))
    assert repr(cast_values) == repr([cast(each, schema, target) for each in values])
