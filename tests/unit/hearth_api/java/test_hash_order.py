"""Maps come in the order of Java's HashMap; `golden/hash_order.json` holds what OpenJDK 17 answers."""

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
def test_entries_put_one_by_one_come_as_java_iterates_them(row: dict[str, Any]) -> None:
    """The table grows with its entries."""
    assert list(hash_ordered(dict.fromkeys(row["keys"]), _schema(row))) == row["put"]


@pytest.mark.parametrize("row", _GOLDEN)
def test_entries_put_to_a_copy_come_as_java_iterates_them(row: dict[str, Any]) -> None:
    """The table of a copy is made for what was copied, and grows from there."""
    assert list(hash_ordered(dict.fromkeys(row["keys"]), _schema(row), row["copied"])) == row["after_copy"]


def test_a_table_made_for_a_number_of_entries_is_the_smallest_with_room_for_them() -> None:
    """It is a power of two, and grows as any other."""
    entries = dict.fromkeys(("ä", "zeta", "q"))
    assert list(hash_ordered(entries)) == ["zeta", "q", "ä"]
    assert list(hash_ordered(entries, capacity=3)) == ["ä", "zeta", "q"]


def test_keys_without_schema_are_hashed_as_what_they_are() -> None:
    """Texts need no schema, and entries keep their values."""
    assert hash_ordered({"b": 1, "a": 2, None: 3}) == {None: 3, "a": 2, "b": 1}
    assert list(hash_ordered({"b": 1, "a": 2, None: 3})) == [None, "a", "b"]


def test_keys_that_python_holds_for_equal_are_not_mistaken_for_each_other() -> None:
    """Java hashes a number and a truth each in its own way, whatever was asked before."""
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
    """Return a value whose objects are in hash order, one by one."""
    if isinstance(value, dict):
        return hash_ordered({key: ordered(item) for key, item in value.items()}, STRING_SCHEMA)
    return [ordered(item) for item in value] if isinstance(value, list) else value


@given(st.lists(JSON, max_size=4))
def test_objects_of_json_come_as_java_iterates_them(values: list[Any]) -> None:
    """At any depth, whether their order was asked before or not."""
    for _ in range(2):
        expected = [repr(ordered(value)) for value in values]
        assert [repr(json_ordered(copy.deepcopy(value))) for value in values] == expected


def test_not_all_orders_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor those of many keys."""
    monkeypatch.setattr(hash_order, "_MOST_SHAPES", 2)
    hash_order._new_orders.clear()
    for count in (*range(70), *range(70)):
        value = {f"k{number}": number for number in range(count)}
        assert list(json_ordered(value)) == list(hash_ordered(value))
        assert len(hash_order._new_orders) <= 2
