"""Members of maps are found, read as columns, and replaced in copies of the maps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.batch import plain_from_json, plain_to_json, values_to_column
from hearth_api.java import hash_ordered
from hearth_api.layout import MapMembers, map_members, to_texts
from tests.unit.hearth_api.layout.test_rewriting import JSON, NAMES, PIECES

is_compiled = pytest.mark.skipif(not len(MapMembers(pa.array(["{}"]), ["a"]).rows), reason="not compiled")
MAPS = st.dictionaries(NAMES, JSON, max_size=14)


def copied(maps: Any, names: list[str], over: list[list[str | None]], removes: bool = False) -> list[str | None]:
    """Return copies of the maps, with None for those that are left out."""
    members = MapMembers(maps, names)
    found: list[str | None] = [None] * len(maps)
    if len(members.rows):
        columns = [pa.array(each, pa.string()).take(pa.array(members.rows)) for each in over]
        texts, written = members.copied(np.arange(len(members.rows)), columns, removes)
        texts.validate(full=True)
        for row, text in zip(members.rows[written].tolist(), texts.to_pylist(), strict=True):
            found[row] = text
    return found


@given(
    st.lists(st.tuples(MAPS, st.none() | JSON, st.none() | JSON), max_size=6), st.lists(NAMES, min_size=2, max_size=2)
)
def test_members_are_replaced_in_copies(rows: list[tuple[Any, Any, Any]], names: list[str]) -> None:
    """Those without a new value stay, and new ones come last where a HashMap has no other order."""
    names = list(dict.fromkeys(names))
    maps = pa.array(["", *(plain_to_json(value) for value, *_ in rows)], pa.string()).slice(1)
    over = [
        [None if new is None else plain_to_json(new) for _, *new_ones in rows for new in [new_ones[number]]]
        for number in range(len(names))
    ]
    for (value, *new_ones), text in zip(rows, copied(maps, names, over)):
        wanted = {**value, **{name: new for name, new in zip(names, new_ones) if new is not None}}
        assert text is None or text == plain_to_json(hash_ordered(wanted, copied=len(value)))
    for (value, *_), text in zip(rows, copied(maps, names, [], removes=True)):
        wanted = {name: each for name, each in value.items() if name not in names}
        assert text is None or text == plain_to_json(hash_ordered(wanted, copied=len(value)))
    for (value, *_), text in zip(rows, copied(maps, names, [])):
        assert text is None or text == plain_to_json(hash_ordered(value, copied=len(value)))


@given(st.lists(MAPS, max_size=6), st.lists(NAMES, min_size=1, max_size=3, unique=True))
def test_groups_hold_the_members_of_their_names(values: list[dict[str, Any]], names: list[str]) -> None:
    """As texts, as columns, and as texts written of these."""
    members = MapMembers(values_to_column(None, values), names)
    seen = []
    for group in members.groups():
        rows = members.rows[group.places].tolist()
        seen += rows
        wanted = [{name: values[row][name] for name in names if name in values[row]} for row in rows]
        assert [plain_from_json(text) for text in group.texts().to_pylist()] == wanted
        if not group.is_nested:
            assert to_texts(group.value(), len(rows)).to_pylist() == group.texts().to_pylist()
            for name, scalars in group.value().items():
                found = [None] * len(rows) if scalars is None else scalars.column()[1].to_pylist()
                assert [(type(each), each) for each in found] == [(type(each[name]), each[name]) for each in wanted]
                words = None if scalars is None else scalars.retold(*scalars.column())
                assert (
                    words is None or to_texts(words, len(rows)).to_pylist() == to_texts(scalars, len(rows)).to_pylist()
                )
    assert sorted(seen) == members.rows.tolist()


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join), max_size=5))
def test_text_of_other_writers_is_left_out(texts: list[bytes]) -> None:
    """So is text that is no object."""
    rows = [text.decode("latin-1") for text in texts]
    for text, found in zip(rows, copied(pa.array(rows, pa.string()), ["a"], [[None] * len(rows)])):
        assert found is None or json.loads(found) == json.loads(text)


@is_compiled
def test_maps_that_are_left_out() -> None:
    """Tags, repeated names, names with escapes, other numbers, deep and large maps, nulls; unusual names find none."""
    many = plain_to_json({str(number): number for number in range(257)})
    odd = [
        None, "", "{", "[]", "1", '{"a"}', '{"a":1', '{"a":1,}', '{"a":1}}', '{"a": 1}', '{"a":1.50}', '{"a":1e5}',
        '{"@date":1}', '{"a":1,"a":2}', '{"b\\n":1}', '{"a":12345678901234567890}',
        '{"b":' + "[" * 70 + "]" * 70 + "}", many, '{"b":{"c" :1}}', '{"b":[1, 2]}', '{"b":[1}', '{"b":tru}',
        '{"b":"\\u0041"}',
    ]  # fmt: skip
    assert len(MapMembers(pa.array(odd, pa.string()), ["a"]).rows) == 0
    fine = ['{"a":1,"b":[{"c":[]},{"d":{"e":"f"}}]}', "{}", '{"é":"\\n","a":-0.5}']
    assert MapMembers(pa.array(["x", *fine]).slice(1), ["a"]).rows.tolist() == [0, 1, 2]
    for name in ("\n", '"', "\ud800", "@a"):
        assert len(MapMembers(pa.array(fine), [name]).rows) == 0
    assert len(MapMembers(pa.array(fine), list(map(str, range(17)))).rows) == 0
    assert copied(pa.array(['{"a":1,"@b":2}', '{"b":1}']), ["a"], [], removes=True) == [None, '{"b":1}']
    assert copied(pa.array(['{"b":1,"b":2}']), ["a"], []) == [None]


@is_compiled
def test_lone_halves_of_characters_are_no_column() -> None:
    """They are read one by one."""
    (group,) = MapMembers(pa.array(['{"a":"\\ud800"}', '{"a":"\\n"}']).slice(1), ["a"]).groups()
    assert group.value()["a"].column()[1].to_pylist() == ["\n"]
    assert group.value()["a"].part(np.array([True])).words().to_pylist() == ["\n"]


def test_nothing_is_found_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers fall back to another way."""
    monkeypatch.setattr(map_members, "MemberIndex", None)
    members = MapMembers(pa.array(["{}"]), ["a"])
    assert (len(members.rows), [*members.groups()]) == (0, [])
