"""Rules of TimestampConverter that test_golden does not compare with Java."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    Date,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)
from hearth_api.batch import Batch, records_to_batches
from hearth_transforms.date_format import DateFormat, Section
from hearth_transforms.timestamp_converter import TimestampConverterValue
from tests.unit.plugins.transforms.sample import (
    check_forms,
    numbered,
    rebuilt,
    refusal,
    sink_record,
    source_record,
    values,
)

FORMAT = "yyyy-MM-dd HH:mm:ss"
TEXTS = st.integers(-(10**14), 10**14).map(DateFormat(FORMAT).print) | st.sampled_from(["", "2017-1-3 6:30:1 x"])
NUMBERS = st.integers(-(10**14), 10**14) | st.integers(-(2**63), 2**63 - 1)


def converter(**config: str) -> TimestampConverterValue:
    """Return the transformation with its settings, whose dots are underscores here."""
    transformation = TimestampConverterValue()
    transformation.configure({name.replace("_", "."): value for name, value in config.items()})
    return transformation


@st.composite
def time_batches(draw: st.DrawFn) -> Batch:
    """Draw a batch of times, as whole values or as the field `a` of structs."""
    plain = draw(st.sampled_from([Timestamp.SCHEMA, Date.SCHEMA, Time.SCHEMA, INT64_SCHEMA, STRING_SCHEMA]))
    present = {STRING_SCHEMA: TEXTS, INT64_SCHEMA: NUMBERS}.get(plain, values(plain))
    default = draw(st.none() | present)
    schema = rebuilt(plain, draw(st.booleans()), default)
    may_be_null = schema.optional or default is not None
    times = draw(st.lists(st.none() | present if may_be_null else present, min_size=1, max_size=4))
    if draw(st.booleans()):
        return numbered(records_to_batches([sink_record(schema, each) for each in times])[0])
    outer = SchemaBuilder.struct().field("a", schema).field("b", STRING_SCHEMA).build()
    structs = [Struct.unchecked(outer, (each, "x")) for each in times]
    return numbered(records_to_batches([sink_record(outer, each) for each in structs])[0])


@given(
    batch=time_batches(),
    target=st.sampled_from(["string", "unix", "Date", "Time", "Timestamp"]),
    precision=st.sampled_from(["seconds", "milliseconds", "microseconds", "nanoseconds"]),
    pattern=st.sampled_from([FORMAT, "yyyyMMdd", "h a"]),
    with_default=st.sampled_from(["true", "false"]),
)
@settings(deadline=None, max_examples=400)
def test_columns_of_times_are_converted_as_records_are(
    batch: Batch, target: str, precision: str, pattern: str, with_default: str
) -> None:
    """Whatever the kinds of time, with the same refusals, and for nulls and defaults as well."""
    is_struct = batch.value_schema is not None and batch.value_schema.type.name == "STRUCT"
    config: dict[str, Any] = {"target_type": target, "unix_precision": precision, "format": pattern}
    config["replace_null_with_default"] = with_default
    check_forms(converter(field="a" if is_struct else "", **config), batch)


PARTS = st.sampled_from("GyYMLwWDdFEuaHkKhmsSzZ").flatmap(lambda letter: st.integers(1, 5).map(letter.__mul__))
PATTERNS = st.lists(PARTS | st.sampled_from([" ", "-", ":", "''", "'of \u00fc'", "X"]), min_size=1, max_size=8).map(
    "".join
)
MOMENTS = st.integers(-62_135_596_800_000, 253_402_300_799_999)


@given(
    pattern=PATTERNS,
    moments=st.lists(MOMENTS | st.integers(-90_000_000, 90_000_000) | st.none(), min_size=1, max_size=9),
)
@settings(deadline=None)
def test_columns_are_printed_as_each_moment_is(pattern: str, moments: list[int | None]) -> None:
    """By any pattern, before 1970 and before there was a Gregorian calendar as well."""
    assume(pattern.strip())
    whole = DateFormat(pattern.strip())
    (batch,) = records_to_batches([source_record(OPTIONAL_INT64_SCHEMA, each) for each in moments])
    (made,) = converter(target_type="string", format=pattern).apply_batch(batch)
    printed = [None if each is None else whole.print(each) for each in moments]
    assert made.column("value").to_pylist() == printed


def test_a_pattern_is_printed_once_for_each_day_and_each_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many moments there are, each of its own."""
    asked: list[int] = []
    printed = Section.print

    def counted(section: Section, step: int) -> str:
        asked.append(step)
        return printed(section, step)

    monkeypatch.setattr(Section, "print", counted)
    (batch,) = records_to_batches([source_record(INT64_SCHEMA, 77_777 * row) for row in range(3000)])
    converter(target_type="string", format=FORMAT).apply_batch(batch)
    assert len(asked) == 3 + 24 + 60 + 60


def test_a_column_of_times_is_converted_without_records() -> None:
    """The batch form is not one that leaves everything to the records."""
    (batch,) = records_to_batches([source_record(INT64_SCHEMA, number) for number in (0, 86_400_000, 86_399_999)])
    for target, expected in (("Date", [0, 1, 0]), ("Time", [0, 0, 86_399_999])):
        (converted,) = converter(target_type=target).apply_batch(batch)
        assert converted.column("value").to_pylist() == expected
    (converted,) = converter(target_type="string", format=FORMAT).apply_batch(batch)
    assert converted.column("value")[1].as_py() == "1970-01-02 00:00:00"


def test_a_string_is_not_read_without_a_format() -> None:
    """Kafka fails with a null pointer there."""
    message = "a string cannot be read as a time without a `format`"
    assert refusal(converter(target_type="unix").apply, source_record(None, "2017")) == message


@pytest.mark.parametrize(
    ("target", "pattern", "message"),
    [
        ("Date", "YYYY-MM-dd", "Pattern character 'Y' is printed, but not read"),
        ("unix", "W", "Pattern character 'W' is printed, but not read"),
        ("unix", "yyyy u", "Pattern character 'u' is printed, but not read"),
        ("Date", "EEE MMM", "Pattern character 'E' is read only together with 'd' or 'D'"),
    ],
)
def test_an_unsupported_pattern_is_refused_by_configure(target: str, pattern: str, message: str) -> None:
    """What Kafka reads by it has no meaning anybody would expect."""
    with pytest.raises(ConfigError) as caught:
        converter(target_type=target, format=pattern)
    assert str(caught.value).startswith(f"Invalid value {pattern} for configuration format: {message}")


def test_a_format_that_only_prints_will_do_for_strings() -> None:
    """It is refused for the first string that it would have to read."""
    transformation = converter(target_type="string", format="yyyy u")
    assert transformation.apply(source_record(INT64_SCHEMA, 0)).value == "1970 4"
    message = "Pattern character 'u' is printed, but not read"
    assert refusal(transformation.apply, source_record(STRING_SCHEMA, "1970 4")) == message
