"""Lines of values without schema are those that Java prints, whatever the values have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import java_text
from hearth_api.layout import rewriting
from hearth_file.plain_line import PlainLines
from tests.unit.hearth_api.strategy import ALIKE, SCHEMALESS


@pytest.fixture(params=["compiled", "by Python"], autouse=True, scope="module")
def _ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use the compiled loops, and the code without them."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by Python":
            patch.setattr(rewriting, "write_lines", None)
        yield


def printed(column: Any) -> list[str]:
    """Return the lines of the values of a column, made one by one."""
    return [java_text(each).encode("utf-8", "replace").decode() for each in column_to_values(None, column)]


@settings(deadline=None)
@given(st.data(), ALIKE)
def test_lines_are_those_of_the_values(data: st.DataObject, alike: Any) -> None:
    """Of values with the same layout and with others, nulls included, in any slice of a column."""
    values = data.draw(st.lists(st.none() | alike | SCHEMALESS, max_size=6))
    column = values_to_column(None, values).slice(data.draw(st.integers(0, len(values))))
    lines = PlainLines().of(column)
    lines.validate(full=True)
    assert lines.to_pylist() == printed(column)


NAMES = st.text(max_size=3).filter(lambda name: not name.startswith("@"))
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
)


@settings(deadline=None)
@given(st.lists(st.tuples(JSON, st.sampled_from([(",", ":"), (", ", ": ")]), st.booleans()), max_size=6))
def test_lines_do_not_depend_on_how_the_json_is_written(rows: list[tuple[Any, Any, bool]]) -> None:
    """With spaces or without them, and with escapes of any character."""
    texts = [json.dumps(value, separators=marks, ensure_ascii=is_escaped) for value, marks, is_escaped in rows]
    column = pa.array([text.encode("utf-8", "replace") for text in texts], pa.binary()).cast(pa.string())
    assert PlainLines().of(column).to_pylist() == printed(column)


@pytest.mark.parametrize(
    "text",
    ["1.50", "-0", "0.000", "1e5", "1E5", "1.5e-3", "-0.0", "12345678.5", "1234567.5", "0.001", "0.0001", "0.00",
     "123456789.125", "-0.0005", "1e999", "1e22", "12E-1", "5e-324", "100000000.0", "9999999.999999999",
     "1.7976931348623157e308", "0.30000000000000004", "0.1000000000000000055", "123456.1234567890", "-9.5", "1.0",
     "100", "1" * 40, "true",
     '":"', '","', '"a,"', '"[1,2]"', r'"\\"', r'"\""', r'"\\\","', r'"\ud83d\ude00"', r'"\ud83d"', '"1.50"',
     "[]", "{}", "[\n1]", '["\\n",\n1]', "[[1,2],[]]", '{"a":{"b":[1,"x",2]},"c,":":"}', '{"@timestamp":5}',
     '{"a":{"@float":"NaN"}}', '{"@a":1,"b":2}'],
)  # fmt: skip
def test_a_text_is_printed_as_its_value(text: str) -> None:
    """Alone, between others, as a member and in a list."""
    for texts in ([text], ["7", text, text, '"x"'], [f'{{"a":{text},"b":"c"}}', f"[{text},1]", f'["a",{text}]']):
        column = pa.array(texts)
        assert PlainLines().of(column).to_pylist() == printed(column)
