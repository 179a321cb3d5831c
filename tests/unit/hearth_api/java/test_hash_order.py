"""Maps are in the order of Java's HashMap; `golden/hash_order.json` holds OpenJDK 17's results."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import FLOAT64_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema
from hearth_api.java import hash_order, hash_ordered, json_ordered

_GOLDEN = json.loads((Path(__file__).parent / "golden" / "hash_order.json").read_text())
_SCHEMAS = {"string": STRING_SCHEMA, "int32": INT32_SCHEMA, "int64": INT64_SCHEMA, "double": FLOAT64_SCHEMA}


@pytest.mark.parametrize("row", _GOLDEN)
def test_entries_put_one_by_one_are_in_javas_iteration_order(row: dict[str, Any]) -> None:
    """The table grows with its entries."""
    assert list(hash_ordered(dict.fromkeys(row["keys"]), _schema(row))) == row["put"]


@pytest.mark.parametrize("row", _GOLDEN)
def test_entries_put_into_a_copy_are_in_javas_iteration_order(row: dict[str, Any]) -> None:
    """The table of a copy is sized for the copied entries, and grows from there."""
    assert list(hash_ordered(dict.fromkeys(row["keys"]), _schema(row), row["copied"])) == row["after_copy"]


def test_table_with_capacity_is_the_smallest_sufficient() -> None:
    """It is a power of two, and grows like any other."""
    entries = dict.fromkeys(("ä", "zeta", "q"))
    assert list(hash_ordered(entries)) == ["zeta", "q", "ä"]
    assert list(hash_ordered(entries, capacity=3)) == ["ä", "zeta", "q"]


def test_keys_without_schema_hash_by_their_class() -> None:
    """Texts need no schema, and entries keep their values."""
    assert hash_ordered({"b": 1, "a": 2, None: 3}) == {None: 3, "a": 2, "b": 1}
    assert list(hash_ordered({"b": 1, "a": 2, None: 3})) == [None, "a", "b"]


def test_keys_equal_only_in_python_are_distinguished() -> None:
    """Java hashes numbers and booleans differently, whatever is cached."""
    for keys, expected in (((1, 2), "[1, 2]"), ((True, 2), "[2, True]"), ((1.0, 2), "[1.0, 2]")):
        for order in (keys, keys[::-1]):
            assert str(list(hash_ordered(dict.fromkeys(order)))) == expected


def _schema(row: dict[str, Any]) -> Schema:
    return _SCHEMAS[row["kind"]]


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=15),
)


def ordered(value: Any) -> Any:
    """Return a value with its objects in hash order, one by one."""
    if isinstance(value, dict):
        return hash_ordered({key: ordered(item) for key, item in value.items()}, STRING_SCHEMA)
    return [ordered(item) for item in value] if isinstance(value, list) else value


@given(st.lists(JSON, max_size=4))
def test_json_objects_are_in_javas_iteration_order(values: list[Any]) -> None:
    """At any depth, whether their order is cached or not."""
    for _ in range(2):
        expected = [repr(ordered(value)) for value in values]
        assert [repr(json_ordered(copy.deepcopy(value))) for value in values] == expected


def test_cache_of_orders_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders of many keys are not cached."""
    monkeypatch.setattr(hash_order, "_MOST_SHAPES", 2)
    hash_order._new_orders.clear()
    for count in (*range(70), *range(70)):
        value = {f"k{number}": number for number in range(count)}
        assert list(json_ordered(value)) == list(hash_ordered(value))
        assert len(hash_order._new_orders) <= 2
