"""The transformations give the answers of Kafka's own classes 4.3.1, kept in `golden`.

`JavaTransform.java` made them: run in UTC with Kafka Connect's class path, it reads the lines of a golden file and
writes them again with Java's answers. Lines with floats that Java 17 prints with more digits than newer ones are left
out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hearth_api import ConfigError, DataError, SchemaAndValue, SchemaBuilderError, SinkRecord
from hearth_json import JsonConverter
from tests.unit.plugins.sample import cases
from tests.unit.plugins.transforms.test_definition import plugins

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.jsonl"))
CASES = [pytest.param(case, id=f"{path.stem}-{row}") for path in GOLDEN for row, case in enumerate(cases(path), 1)]
CLASSES = dict(plugins())
UNWRITABLE = {"unwritable": True}
"""What Java's transformation answers and its converter refuses; here either may refuse it."""
ERRORS = {"ConfigException": ConfigError, "SchemaBuilderException": SchemaBuilderError, "DataException": DataError}


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write moments as Java did where the answers were made."""
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture(scope="module")
def converter() -> JsonConverter:
    """Make the converter that reads the cases."""
    made = JsonConverter()
    made.configure({"schemas.enable": "true", "replace.null.with.default": "false"}, is_key=False)
    return made


def read(converter: JsonConverter, envelope: Any) -> SchemaAndValue:
    """Return one side of a record."""
    return converter.to_connect_data("topic", None if envelope is None else json.dumps(envelope).encode())


def written(converter: JsonConverter, schema: Any, value: Any) -> Any:
    """Return one side of a record as the golden files have it."""
    text = converter.from_connect_data("topic", schema, value)
    return None if text is None else json.loads(text)


def wording(text: str) -> str:
    """Return a message without the names of the languages and of their classes in messages about values."""
    return re.sub(r"Invalid (Java|Python) object (.*): class [\w.\[]+", r"Invalid object \2", text)


def answer(converter: JsonConverter, case: dict[str, Any]) -> list[Any]:
    """Return both sides of the record of a case after its transformation."""
    key, value = (read(converter, case[side]) for side in ("key", "value"))
    record = SinkRecord("topic", 0, key.schema, key.value, value.schema, value.value, 0)
    transformation = CLASSES[case["class"]]()
    transformation.configure(case["config"])
    changed = transformation.apply(record)
    sides = (changed.key_schema, changed.key), (changed.value_schema, changed.value)
    return [written(converter, *side) for side in sides]


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_java(converter: JsonConverter, case: dict[str, Any]) -> None:
    """Schema and value, the order of everything in them included, or the same words about what is wrong."""
    expected = case["answer"]
    if "error" in expected:
        with pytest.raises(ERRORS[expected["error"]]) as raised:
            answer(converter, case)
        assert wording(str(raised.value)) == wording(expected["message"])
    elif UNWRITABLE in expected:
        with pytest.raises(DataError):
            answer(converter, case)
    else:
        assert json.dumps(answer(converter, case)) == json.dumps(expected)
