"""Variants: JSON values in the binary form of Parquet's variants."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import BYTES_SCHEMA, DataError, SchemaBuilder, Struct
from hearth_json.tree import read_tree
from hearth_registry.variant import variant_of, variant_text
from tests.unit.plugins.registry.test_json_schema_format import reader, writer

SCHEMA = (
    SchemaBuilder.struct()
    .name("org.apache.kafka.connect.data.Variant")
    .field("metadata", BYTES_SCHEMA)
    .field("value", BYTES_SCHEMA)
    .build()
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=70)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


def written(metadata: str, value: str) -> str:
    """Return the JSON text of a variant given in hexadecimal digits."""
    return variant_text(Struct(SCHEMA).put("metadata", bytes.fromhex(metadata)).put("value", bytes.fromhex(value)))


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_a_value_comes_back(tree: Any) -> None:
    """Members come back in the order of their names."""
    assert json.loads(variant_text(variant_of(SCHEMA, tree))) == tree


def test_a_variant_has_the_bytes_of_the_format() -> None:
    """Names are in the order of the text in the metadata, and sorted in objects."""
    variant = variant_of(SCHEMA, read_tree(b'{"b":1,"a":[true,"x",1.50,5000000000]}'))
    assert variant.get("metadata").hex() == "01020001026261"
    array = "03040001030912" + "04" + "0578" + "200296000000" + "1800f2052a01000000"
    assert variant.get("value").hex() == "020201000019" + "1e" + array + "1401000000"


def test_a_variant_of_many_parts_is_large() -> None:
    """More than 255 parts, and more than 255 bytes of them, need wider numbers."""
    tree = {f"n{index}": list(range(300)) for index in range(300)}
    assert json.loads(variant_text(variant_of(SCHEMA, tree))) == tree


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0c05", "5"), ("10feff", "-2"), ("1c0000000000000440", "2.5"), ("3800002040", "2.5"),
        ("2c00000000", '"1970-01-01"'), ("30c0d8a70000000000", '"1970-01-01T00:00:11Z"'),
        ("34c0d8a70000000000", '"1970-01-01T00:00:11"'), ("44c0d8a70000000000", '"00:00:11"'),
        ("48e803000000000000", '"1970-01-01T00:00:00.000001Z"'),
        ("4c01" + "00" * 7, '"1970-01-01T00:00:00.000000001"'),
        ("3c020000000102", '"AQI="'), ("50" + "00" * 15 + "01", '"00000000-0000-0000-0000-000000000001"'),
    ],
)  # fmt: skip
def test_variants_of_others_hold_more_kinds(value: str, expected: str) -> None:
    """Moments, days, bytes and ids become texts."""
    assert written("010000", value) == expected


@pytest.mark.parametrize("value", ["", "14", "fc", "0201", "02010000010c05", "03ff00000000", "ff" * 40])
def test_bytes_that_are_no_variant_are_refused(value: str) -> None:
    """Truncated, of an unknown kind, or with unknown names."""
    with pytest.raises(DataError, match="Invalid bytes for Variant field"):
        written("010000", value)


def test_a_variant_that_is_too_deep_or_holds_a_part_many_times_is_refused() -> None:
    """In few bytes there could be more values than anybody can print."""
    tree: Any = []
    for _ in range(250):
        tree = [tree]
    with pytest.raises(DataError, match="Invalid bytes for Variant field"):
        variant_text(variant_of(SCHEMA, tree))
    twice = "0302000004"
    with pytest.raises(DataError, match="Invalid bytes for Variant field"):
        written("010000", twice * 100 + "00")


def test_members_without_a_schema_are_kept_as_variants() -> None:
    """They are written again as they were."""
    config = {"preserve_additional_properties": "true"}
    reads = reader({"type": "object", "properties": {"a": {"type": "string"}}}, **config)
    assert reads.schema is not None
    value = reads.value(b'{"z":{"n":1},"a":"x"}')
    assert writer(reads.schema, **config).payload(value) == b'{"a":"x","z":{"n":1}}'
    with pytest.raises(DataError, match="collides with the reserved field"):
        reads.value(b'{"__connect_additional_properties__":1}')


def test_a_schema_without_words_holds_anything() -> None:
    """It is read as a variant, and its members are written as they were."""
    reads = reader({"type": "object", "properties": {"v": {}}})
    value = reads.value(b'{"v":[1,{"x":null}]}')
    assert reads.schema is not None
    assert writer(reads.schema).payload(value) == b'{"v":[1,{"x":null}]}'
