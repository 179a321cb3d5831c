"""Texts are parsed to the values of Kafka 4.3.1's Values.parseString."""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Timestamp,
    Type,
)
from hearth_api.java import convert_to_string, parse_string, parse_strings
from hearth_api.java.temporal import parse_temporal
from tests.unit.plugins.sample import cases

GOLDEN_FILES = Path(__file__).parent / "golden"
GOLDEN: list[dict[str, Any]] = json.loads((GOLDEN_FILES / "parse_string.json").read_text("ascii"))


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse timestamps in UTC, the zone of the golden values."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def short(schema: Schema | None) -> str:
    """Return a schema in the form of the golden file."""
    if schema is None:
        return "-"
    text = str(schema.type)
    if schema.name is not None:
        text += "'" + schema.name.rpartition(".")[2]
    if schema.parameters is not None:
        text += "{" + ", ".join(f"{name}={value}" for name, value in schema.parameters.items()) + "}"
    if schema.type is Type.ARRAY:
        text += f"<{short(schema.value_schema)}>"
    if schema.type is Type.MAP:
        text += f"<{short(schema.key_schema)},{short(schema.value_schema)}>"
    return text


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: ascii(case["text"]))
def test_text_is_read_as_by_kafka(case: dict[str, Any]) -> None:
    """Type and value of each text are those of the Java class, which printed the value again."""
    schema, value = parse_string(case["text"])
    assert short(schema) == case["schema"]
    assert convert_to_string(schema, value) == case["string"]


def test_texts_drawn_at_random_are_read_as_by_kafka() -> None:
    """20,000 of them; those that Python cannot hold (map keys that are maps, times past midnight) must not raise."""
    drawn = cases(GOLDEN_FILES / "texts.jsonl.xz")
    differing = []
    for case in drawn:
        schema, value = parse_string(case["text"])
        printed = convert_to_string(schema, value)
        if (short(schema), printed) != (case["schema"], case.get("string", case["text"])) and "unheld" not in case:
            differing.append((case, short(schema), printed))
    assert differing == []
    assert len(drawn) == 20_000
    assert sum("unheld" in case for case in drawn) < 100


def test_numbers_of_mixed_arrays_and_maps_keep_their_digits() -> None:
    """Without a schema for its elements, a container identifies 32-bit floats by their digits."""
    assert parse_string('[0.1,"a"]') == (Schema(Type.ARRAY), [0.1, "a"])
    assert parse_string('[[0.1],{0.2:[0.3,1]},"a"]').value == [[0.1], {0.2: [0.3, 1.0]}, "a"]
    assert parse_string('[[0.1],["a"]]').value == [[0.1], ["a"]]
    assert parse_string("[0.1]").value == [0.10000000149011612]


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("null", None, None),
        ("  true  ", BOOLEAN_SCHEMA, True),
        ("true}", STRING_SCHEMA, "true}"),
        ('[1, 2, 300, "four"]', Schema(Type.ARRAY), [1, 2, 300, "four"]),
        (
            '{1:1, 2:1, 300:300, 4:"four"}',
            Schema(Type.MAP, key_schema=INT16_SCHEMA),
            {1: 1, 2: 1, 300: 300, 4: "four"},
        ),
        ("[1, 2, 3,,,]", STRING_SCHEMA, "[1, 2, 3,,,]"),
        ("[1,]", Schema(Type.ARRAY, value_schema=INT8_SCHEMA), [1]),
        ("[1] x", Schema(Type.ARRAY, value_schema=INT8_SCHEMA), [1]),
        ("[1, null]", STRING_SCHEMA, "[1, null]"),
        ("[null, null]", Schema(Type.ARRAY), [None, None]),
        ("{}", Schema(Type.MAP), {}),
        ("1.0", INT8_SCHEMA, 1),
        ("300.0", INT16_SCHEMA, 300),
        ("66000.0008", FLOAT32_SCHEMA, 66000.0),
        ("12:34", INT8_SCHEMA, 12),
        ('"quoted"', STRING_SCHEMA, '"quoted"'),
        ("   ", STRING_SCHEMA, "   "),
        ("", STRING_SCHEMA, ""),
        (
            "2019-08-23T14\\:34\\:54.346Z",
            Timestamp.SCHEMA,
            dt.datetime(2019, 8, 23, 14, 34, 54, 346000, tzinfo=dt.timezone.utc),
        ),
    ],
)
def test_cases_other_implementations_get_wrong(text: str, schema: Schema | None, value: Any) -> None:
    """These are from Kafka's own tests."""
    assert parse_string(text) == (schema, value)


def test_moments_are_read_in_the_machines_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java treats the Z at the end as a mere letter."""
    monkeypatch.setenv("TZ", "EST+5")
    time.tzset()
    moment = dt.datetime(2019, 8, 23, 19, 34, 54, 346000, tzinfo=dt.timezone.utc)
    assert parse_string("2019-08-23T14:34:54.346Z").value == moment
    assert convert_to_string(Timestamp.SCHEMA, moment) == "2019-08-23T14:34:54.346Z"


@pytest.mark.parametrize("text", ["0000-00-00", "9999-12-99", "25:00:00.000Z", "[25:00:00.000Z]"])
def test_values_python_cannot_hold_stay_text(text: str) -> None:
    """Such a date or time is kept as written."""
    schema, value = parse_string(text)
    assert convert_to_string(schema, value) in (text, '["25:00:00.000Z"]')


def test_map_as_key_stays_text() -> None:
    """Python cannot hash a map."""
    assert parse_string("{{1:2}:3}") == (STRING_SCHEMA, "{{1:2}:3}")
    assert parse_string("{[1]:3}").value == {(1,): 3}


def test_many_texts_are_parsed_like_single_ones() -> None:
    """Including None."""
    texts = ["1", None, "", "[1]", "a", "null", "2026-01-01", "12:34:56.789Z", "[1", "1"]
    assert [*zip(*parse_strings(texts))] == [parse_string(text) for text in texts]


@pytest.mark.parametrize("text", ["", "a", "5", "[1]", '{"a": 1.5}', "2026-01-01", "true"])
def test_subclass_of_str_is_parsed_as_text(text: str) -> None:
    """Some libraries return such; a text that is nothing else stays the same object."""
    found = parse_string(_Text(text))
    assert found == parse_string(text)
    assert type(found.value) in (type(parse_string(text).value), _Text)


class _Text(str):
    pass


def test_none_has_neither_schema_nor_value() -> None:
    """None has neither schema nor value."""
    assert parse_string(None) == (None, None)


@given(st.text('[]{}:,"\\ \t019a-+.eETZtrunl\u0661é', max_size=30))
def test_every_text_is_read(text: str) -> None:
    """No text raises, and every result can be printed."""
    schema, value = parse_string(text)
    assert (convert_to_string(schema, value) is None) == (value is None)


@given(st.recursive(st.integers(-(1 << 63), (1 << 63) - 1) | st.text('ab "\\', max_size=4), st.lists, max_leaves=8))
def test_printed_arrays_of_numbers_round_trip(value: Any) -> None:
    """Arrays of one number type are unchanged."""
    if isinstance(value, list) and value and all(type(item) is int for item in value):
        assert parse_string(convert_to_string(None, value)).value == value


@given(st.datetimes(dt.datetime(1200, 1, 1), dt.datetime(9999, 12, 30)))
def test_common_dates_and_timestamps_are_parsed_like_others(moment: dt.datetime) -> None:
    """Java also accepts spaces in place of zeros."""
    for text in (f"{moment:%Y-%m-%d}", f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"):
        spaced = text.replace("-0", "- ").replace("T0", "T ").replace(":0", ": ")
        assert parse_temporal(text) == parse_temporal(spaced)
