"""The converters give the answers of Kafka's own classes 4.3.1, run on Java 25 in UTC; they are kept in `golden`."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import ConnectError, DataError, HeaderConverter, Schema
from hearth_api.batch import BatchConverter, column_to_values, values_to_column
from hearth_api.java import schema_from_json, schema_to_json
from hearth_converters import ByteArrayConverter, SimpleHeaderConverter, StringConverter
from tests.unit.plugins.sample import build, cases, form, message, unsized
from tests.unit.plugins.two_forms import read, written

CLASSES = {"string": StringConverter, "bytes": ByteArrayConverter, "simple": SimpleHeaderConverter}
CASES = cases(Path(__file__).parent / "golden" / "answers.jsonl")
ROWS = 3


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and write moments as Java did where the answers were made."""
    monkeypatch.setenv("TZ", "UTC")


def converter(case: dict[str, Any]) -> Any:
    """Return the converter of a case, configured as header converter."""
    made = CLASSES[case["converter"]]()
    assert isinstance(made, HeaderConverter)
    made.configure({"converter.type": "header", **case.get("config", {})})
    return made


def schema_form(schema: Schema | None) -> Any:
    """Return a schema in JSON; Java writes a missing inner schema as null."""
    return None if schema is None else schema_to_json(schema)


def without_nulls(tree: Any) -> Any:
    """Return JSON without members that are null."""
    return (
        {name: without_nulls(item) for name, item in tree.items() if item is not None}
        if isinstance(tree, dict)
        else tree
    )


@pytest.mark.parametrize("case", [case for case in CASES if case["op"] == "write"])
def test_written_bytes_are_those_of_java(case: dict[str, Any]) -> None:
    """A value becomes the same bytes, alone and in a column, or the same error."""
    schema = None if case["schema"] is None else schema_from_json(case["schema"])
    value = build(schema, case["value"])
    if "message" in case:
        with pytest.raises(ConnectError) as raised:
            converter(case).from_connect_header("t", "h", schema, value)
        assert unsized(str(raised.value)) == unsized(case["message"])
        return
    expected = base64.b64decode(case["raw"]) if "raw" in case else case["bytes"]
    expected = expected.encode() if isinstance(expected, str) else expected
    made = converter(case)
    assert made.from_connect_header("t", "h", schema, value) == expected
    if isinstance(made, BatchConverter) and fits_column(schema, value):
        column = values_to_column(schema, [value] * ROWS)
        assert written(made, schema, column)[0].to_pylist() == [expected] * ROWS


def fits_column(schema: Schema | None, value: Any) -> bool:
    """Tell whether a column can hold a value; some do not fit their schema, which these converters ignore."""
    try:
        values_to_column(schema, [value])
    except DataError:
        return False
    return True


@pytest.mark.parametrize("case", [case for case in CASES if case["op"] == "read"])
def test_read_values_are_those_of_java(case: dict[str, Any]) -> None:
    """Bytes become the same value with the same schema, alone and in a column."""
    made = converter(case)
    data = message(case)
    schema, value = made.to_connect_header("t", "h", data)
    if "javanull" in case:
        assert (schema, value) == (None, None)
        return
    assert without_nulls(schema_form(schema)) == without_nulls(case["out_schema"])
    assert form(schema, value) == case["out"]
    if isinstance(made, BatchConverter):
        (run,), _ = read(made, pa.array([data] * ROWS, pa.binary()))
        assert run.schema == schema
        assert [form(schema, one) for one in column_to_values(schema, run.column)] == [case["out"]] * ROWS


def test_every_case_has_an_answer() -> None:
    """The file is read whole."""
    assert len(CASES) > 200
    assert {json.dumps(case["converter"]) for case in CASES} == {json.dumps(name) for name in CLASSES}
