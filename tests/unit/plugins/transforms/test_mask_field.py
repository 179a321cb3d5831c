"""Rules of MaskField, with results of Kafka Connect 4.3.1."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal as PythonDecimal
from typing import Any

import pytest

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)
from hearth_api.batch import records_to_batches
from hearth_transforms.mask_field import MaskFieldKey, MaskFieldValue
from tests.unit.plugins.transforms.sample import check_forms, numbered, refusal, refusal_in_batch, source_record

INNER = SchemaBuilder.struct().field("x", INT32_SCHEMA).build()
DAY = dt.date(1970, 1, 2)
MOMENT = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)
DATA = "org.apache.kafka.connect.data"
NOT_A_NUMBER = "Unable to convert {} (class java.lang.String) to {}number"


def masking(fields: str = "f", replacement: str | None = None, **more: str) -> MaskFieldValue:
    """Return the transformation with its settings."""
    transformation = MaskFieldValue()
    config = {"fields": fields, **more}
    transformation.configure(config if replacement is None else {**config, "replacement": replacement})
    return transformation


def struct_of(schema: Schema, value: Any) -> Struct:
    """Return a struct with one field."""
    outer = SchemaBuilder.struct().field("f", schema).field("other", INT32_SCHEMA).build()
    return Struct.unchecked(outer, [value, 5])


def masked(schema: Schema, value: Any, replacement: str | None = None) -> Any:
    """Mask the one field of a struct in both forms, and return what it holds then."""
    struct = struct_of(schema, value)
    record = source_record(struct.schema, struct)
    (batch,) = records_to_batches([record])
    check_forms(masking(replacement=replacement), numbered(batch))
    after = masking(replacement=replacement).apply(record)
    assert after.value_schema == struct.schema
    assert after.value.get("other") == 5
    return after.value.get_without_default("f")


@pytest.mark.parametrize(
    ("schema", "value", "nothing"),
    [
        (STRING_SCHEMA, "secret", ""),
        (BOOLEAN_SCHEMA, True, False),
        (INT8_SCHEMA, 5, 0),
        (INT64_SCHEMA, 5, 0),
        (FLOAT32_SCHEMA, 5.0, 0.0),
        (FLOAT64_SCHEMA, 5.0, 0.0),
        (Date.SCHEMA, DAY, dt.date(1970, 1, 1)),
        (Time.SCHEMA, dt.time(1), dt.time(0)),
        (Timestamp.SCHEMA, MOMENT, dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)),
        (SchemaBuilder.array(INT32_SCHEMA).build(), [1], []),
        (SchemaBuilder.map(STRING_SCHEMA, STRING_SCHEMA).build(), {"a": "b"}, {}),
        (SchemaBuilder.string().optional().build(), None, None),
    ],
)
def test_a_field_becomes_the_nothing_of_its_type(schema: Schema, value: Any, nothing: Any) -> None:
    """Numbers 0, texts empty, moments the beginning of 1970; null stays null."""
    assert masked(schema, value) == nothing


def test_a_decimal_keeps_the_digits_of_its_schema() -> None:
    """Kafka leaves a plain 0 there, which no converter takes; one with the right scale can be written."""
    assert str(masked(Decimal.schema(2), PythonDecimal("1.50"))) == "0.00"
    assert str(masked(Decimal.schema(2), PythonDecimal("1.50"), "7")) == "7.00"
    after = masking(replacement="1.234").apply(_decimal_record())
    assert str(after.value.get("f")) == "1.234"
    after = masking(replacement="1e99999").apply(_decimal_record())
    assert str(after.value.get("f")) == "1E+99999"


def _decimal_record() -> Any:
    struct = struct_of(Decimal.schema(2), PythonDecimal("1.50"))
    return source_record(struct.schema, struct)


@pytest.mark.parametrize(
    ("schema", "replacement", "expected"),
    [
        (STRING_SCHEMA, "abc", "abc"),
        (INT8_SCHEMA, "123", 123),
        (INT8_SCHEMA, "300", 44),
        (INT8_SCHEMA, "1.5", 1),
        (INT8_SCHEMA, " 7 ", 7),
        (INT8_SCHEMA, "1e3", -24),
        (INT8_SCHEMA, "1e400", 0),
        (INT16_SCHEMA, "12345678901234567890", 2770),
        (INT32_SCHEMA, "12345678901234567890", -350287150),
        (INT64_SCHEMA, "12345678901234567890", -6101065172474983726),
        (INT64_SCHEMA, "+5", 5),
        (FLOAT32_SCHEMA, "1.5", 1.5),
        (FLOAT32_SCHEMA, "1e400", math.inf),
        (FLOAT64_SCHEMA, "12345678901234567890", 1.2345678901234567e19),
    ],
)
def test_a_replacement_takes_the_type_of_the_field(schema: Schema, replacement: str, expected: Any) -> None:
    """Numbers are read as Java reads them: cut to the size of the type, fractions dropped from integers."""
    assert masked(schema, "x" if schema is STRING_SCHEMA else type(expected)(5), replacement) == expected


def test_of_two_fields_that_cannot_be_masked_the_first_of_a_hash_set_is_named() -> None:
    """Kafka Connect keeps the fields in one, so the order they are configured in does not count."""
    record = source_record(None, {"\xe9": {}, "b": True})
    message = "Cannot mask value of type class java.lang.Boolean with custom replacement."
    for fields in ("\xe9,b", "b,\xe9"):
        assert refusal(masking(fields=fields, replacement="7").apply, record) == message


@pytest.mark.parametrize("replacement", ["abc", "NaN", "0x1", "1_0", "5d", "Infinity", "true"])
def test_a_replacement_that_is_no_number_is_refused(replacement: str) -> None:
    """By number fields only, and only when there is a value to replace; decimals say it a little differently."""
    for schema, value in ((INT8_SCHEMA, 5), (FLOAT64_SCHEMA, 5.0)):
        record = source_record((struct := struct_of(schema, value)).schema, struct)
        assert refusal(masking(replacement=replacement).apply, record) == NOT_A_NUMBER.format(replacement, "a ")
    assert refusal(masking(replacement=replacement).apply, _decimal_record()) == NOT_A_NUMBER.format(replacement, "")


@pytest.mark.parametrize(
    ("schema", "value", "replacement", "message"),
    [
        (BYTES_SCHEMA, b"x", None, "Cannot mask value of type: class [B"),
        (INNER, Struct(INNER).put("x", 1), None, f"Cannot mask value of type: class {DATA}.Struct"),
        (BOOLEAN_SCHEMA, True, "1", "Cannot mask value of type class java.lang.Boolean with custom replacement."),
        (Date.SCHEMA, DAY, "1", "Cannot mask value of type class java.util.Date with custom replacement."),
        (BYTES_SCHEMA, b"x", "1", "Cannot mask value of type class [B with custom replacement."),
    ],
)  # fmt: skip
def test_some_types_have_no_mask(schema: Schema, value: Any, replacement: str | None, message: str) -> None:
    """The messages are Kafka's, in both forms."""
    struct = struct_of(schema, value)
    record = source_record(struct.schema, struct)
    assert refusal(masking(replacement=replacement).apply, record) == message
    (batch,) = records_to_batches([record])
    assert refusal_in_batch(masking(replacement=replacement), numbered(batch)) == message


def test_defaults_replace_nulls_of_every_field() -> None:
    """A default is masked, too; without replacing nulls, Kafka refuses the null of a required field with a default."""
    optional, required = SchemaBuilder.string().optional().default("dd"), SchemaBuilder.string().default("rr")
    assert masked(optional.build(), None) == ""
    assert masked(required.build(), None) == ""
    without = masking(**{"replace.null.with.default": "false"})
    struct = struct_of(optional.build(), None)
    assert without.apply(source_record(struct.schema, struct)).value.get_without_default("f") is None
    struct = struct_of(required.build(), None)
    message = 'Invalid value: null used for required field: "f", schema type: STRING'
    assert refusal(without.apply, source_record(struct.schema, struct)) == message


@pytest.mark.parametrize(
    ("value", "nothing"),
    [
        (1, 0),
        (1.5, 0.0),
        ("s", ""),
        (True, False),
        ([1], []),
        ({"a": 1}, {}),
        (PythonDecimal("1.5"), PythonDecimal(0)),
        (MOMENT, dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)),
        (DAY, dt.date(1970, 1, 1)),
        (dt.time(1), dt.time(0)),
        (None, None),
    ],
)
def test_members_of_a_map_are_masked_by_their_class(value: Any, nothing: Any) -> None:
    """A member that is missing is added as null, as in Kafka."""
    after = masking("f,g").apply(source_record(None, {"f": value, "c": 1})).value
    assert after == {"f": nothing, "g": None, "c": 1}
    assert type(after["f"]) is type(value)


@pytest.mark.parametrize(
    ("value", "replacement", "expected"),
    [(1, "99999999999", 99999999999), (1, "1.5", 1), (1.5, "42", 42.0), ("s", "42", "42"), (None, "42", None)],
)
def test_members_of_a_map_are_replaced_by_their_class(value: Any, replacement: str, expected: Any) -> None:
    """Without schema an integer is Java's long, a float its double."""
    after = masking(replacement=replacement).apply(source_record(None, {"f": value})).value["f"]
    assert (after, type(after)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (None, None, "Only Map objects supported in absence of schema for [mask fields], found: null"),
        (None, "a", "Only Map objects supported in absence of schema for [mask fields], found: java.lang.String"),
        (INNER, None, "Only Struct objects supported for [mask fields], found: null"),
        (STRING_SCHEMA, "a", "Only Struct objects supported for [mask fields], found: java.lang.String"),
    ],
)
def test_a_value_without_fields_is_refused(schema: Schema | None, value: Any, message: str) -> None:
    """Kafka refuses tombstones as well."""
    assert refusal(masking().apply, source_record(schema, value)) == message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("", "Configuration 'fields' must not be empty. Valid values include: any non-empty value"),
        (" ", "Configuration 'fields' must not be empty. Valid values include: any non-empty value"),
        ("a,,b", "Configuration 'fields' values must not be empty."),
        (None, "Configuration 'fields' values must not be null."),
    ],
)
def test_wrong_lists_of_fields_are_refused(fields: str | None, message: str) -> None:
    """The messages are Kafka's; a name given twice is just one name."""
    with pytest.raises(ConfigError) as caught:
        MaskFieldValue().configure({"fields": fields})
    assert str(caught.value) == message


def test_an_empty_replacement_is_refused() -> None:
    """It would look like none."""
    with pytest.raises(ConfigError) as caught:
        masking(replacement="")
    assert str(caught.value) == "Invalid value  for configuration replacement: String must be non-empty"


def test_the_variant_for_keys_changes_the_key() -> None:
    """The value stays."""
    transformation = MaskFieldKey()
    transformation.configure({"fields": " f , g "})
    after = transformation.apply(source_record(None, "v", key={"f": 1, "g": "x"}))
    assert (after.key, after.value) == ({"f": 0, "g": ""}, "v")
