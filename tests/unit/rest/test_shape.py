"""Explanations of shape mismatches; `tests/peer` has a live Kafka Connect's responses for its own API."""

from __future__ import annotations

import pytest

from hearth.rest.shape import MOST_BYTES, AnyShape, ListShape, MapShape, RecordShape, TextShape, WordShape, explain

SOURCE = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: {}]"
SHAPE = RecordShape(
    "a.R",
    {
        "list": ListShape(RecordShape("a.S", {"map": MapShape(TextShape())})),
        "any": AnyShape(),
        "state": WordShape("a.E", ("X",)),
    },
)


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        "null",
        "",
        '\ufeff{"list": [{"map": {"a": "b", "c": 1.5, "d": null, "e": true}}, {}, null], "state": "x"}',
        '{"any": [{"x": [1]}, "y"]}',
        "{" + " " * MOST_BYTES,
    ],
)
def test_a_matching_or_long_body_has_no_explanation(body: str) -> None:
    """Nulls and missing members match everywhere."""
    assert explain(body.encode(), SHAPE) is None


@pytest.mark.parametrize(
    ("body", "message", "column", "way"),
    [
        (
            '{"list":{}}',
            "Cannot deserialize value of type `java.util.ArrayList<a.S>` from Object value",
            9,
            'a.R["list"]',
        ),
        ('{"list":[{},5]}', "Cannot construct instance of `a.S` ", 13, 'a.R["list"]->java.util.ArrayList[1]'),
        (
            '{"list":[{"map":{"k":[]}}]}',
            "Cannot deserialize value of type `java.lang.String` from Array value",
            22,
            'a.R["list"]->java.util.ArrayList[0]->a.S["map"]->java.util.LinkedHashMap["k"]',
        ),
        (
            '{"list":[{"map":{"k":"',
            "Unexpected end-of-input in VALUE_STRING",
            23,
            'a.R["list"]->java.util.ArrayList[0]->a.S["map"]',
        ),
        ('{"state":"y"}', "Cannot construct instance of `a.E`, problem: No enum constant a.E.Y", 10, 'a.R["state"]'),
        (
            '{"b":1,"any":[1,2]}',
            'Unrecognized field "b" (class a.R), not marked as ignorable (3 known',
            20,
            'a.R["b"]',
        ),
        ('{"":1,"b":1}', 'Unrecognized field "" (class a.R), not marked as ignorable (3 known', 13, 'a.R[""]'),
        ('{"any":"x"', "Unexpected end-of-input: expected close marker for Object", 11, None),
        ("{} []", "Trailing token (of type START_ARRAY) found after value (bound as `a.R`)", 4, None),
    ],
)
def test_a_mismatch_has_its_position_and_path(body: str, message: str, column: int, way: str | None) -> None:
    """The path is from the outside in."""
    found = explain(body.encode(), SHAPE) or ""
    assert found.startswith(message)
    end = "\n at " + SOURCE.format(column)
    assert found.endswith(f"{end} (through reference chain: {way})" if way else end)
