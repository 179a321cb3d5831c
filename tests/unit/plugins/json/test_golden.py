"""The converter gives the answers of Kafka's own JsonConverter 4.3.1, run on Java 25; they are kept in `golden`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import ConnectError, DataError, Schema
from hearth_api.batch import column_to_values, values_to_column
from hearth_json import JsonConverter
from hearth_json.tree import read_tree
from tests.unit.plugins.sample import build, cases, form, message, unsized

GOLDEN = Path(__file__).parent / "golden"
WRITTEN = cases(GOLDEN / "write.jsonl")
READ = cases(GOLDEN / "read.jsonl")
# Enough rows for every fast step to take part.
COPIES = 20


def converter(case: dict[str, Any]) -> JsonConverter:
    """Return a converter as header converter, which takes its type from the settings."""
    made = JsonConverter()
    made.configure({"converter.type": "value", **case.get("config", {})})
    return made


def schema_of(case: dict[str, Any]) -> Schema | None:
    """Return the schema a case writes with."""
    reader = JsonConverter()
    reader.configure({}, is_key=False)
    return reader._schema_reader.schema(read_tree(json.dumps(case["schema"]).encode()))


def schema_form(schema: Schema | None) -> Any:
    """Return a schema as the golden files hold it."""
    writer = JsonConverter()
    writer.configure({}, is_key=False)
    return json.loads(writer._schemas.text(schema))


@pytest.mark.parametrize("case", WRITTEN, ids=range(len(WRITTEN)))
def test_written_bytes_are_those_of_java(case: dict[str, Any]) -> None:
    """A value becomes the same bytes, alone and in a column, or the same error."""
    made = converter(case)
    if "message" in case:
        with pytest.raises(DataError) as raised:
            made.from_connect_header("t", "h", schema_of(case), build(schema_of(case), case["value"]))
        assert unsized(str(raised.value)) == unsized(case["message"])
        return
    schema = schema_of(case)
    value = build(schema, case["value"])
    expected = None if case["bytes"] is None else case["bytes"].encode()
    assert made.from_connect_header("t", "h", schema, value) == expected
    if fits_column(schema, value):
        column = values_to_column(schema, [value] * COPIES)
        assert made.from_connect_batch("t", schema, column).to_pylist() == [expected] * COPIES


def fits_column(schema: Schema | None, value: Any) -> bool:
    """Tell whether a column can hold a value: decimals of another scale and null keys cannot be kept."""
    try:
        values_to_column(schema, [value])
    except DataError:
        return False
    return True


@pytest.mark.parametrize("case", READ, ids=range(len(READ)))
def test_read_values_are_those_of_java(case: dict[str, Any]) -> None:
    """Bytes become the same value with the same schema, alone and in a column, or the same error."""
    data = message(case)
    if "message" in case:
        with pytest.raises(ConnectError) as raised:
            converter(case).to_connect_header("t", "h", data)
        assert str(raised.value) == case["message"]
        return
    made = converter(case)
    schema, value = made.to_connect_header("t", "h", data)
    if "accepted" in case:
        return
    assert schema_form(schema) == case["out_schema"]
    assert form(schema, value) == case["out"]
    for run in made.to_connect_batch("t", pa.array([data] * COPIES, pa.binary())):
        assert run.schema == schema
        forms = [form(schema, one) for one in column_to_values(schema, run.column)]
        assert forms == [case["out"]] * len(run.column)


@pytest.mark.parametrize("case", [case for case in READ if "message" in case and "config" not in case])
def test_a_batch_with_a_row_java_refuses_raises(case: dict[str, Any]) -> None:
    """One bad row among good ones makes the whole batch raise Kafka's message."""
    good = b'{"schema":{"type":"int32","optional":false},"payload":1}'
    data = pa.array([good] * COPIES + [message(case)] + [good] * COPIES, pa.binary())
    with pytest.raises(DataError) as raised:
        converter(case).to_connect_batch("t", data)
    assert str(raised.value) == case["message"]
