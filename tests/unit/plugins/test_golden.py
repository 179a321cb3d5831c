"""First-party plugins give the answers of Kafka Connect's own classes 4.3.1, which `golden` holds.

`question` asked for them; a test takes a whole file, since every case by itself costs more than its answer.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import DataError, Schema
from hearth_api.batch import (
    BatchConverter,
    BatchTransformation,
    column_to_values,
    records_to_batches,
    values_to_column,
)
from hearth_json import JsonConverter
from tests.unit.plugins.golden import (
    agrees,
    answer,
    configured,
    converter,
    expected_bytes,
    record_of,
    schema_form,
    schema_of,
)
from tests.unit.plugins.sample import build, cases, form, message
from tests.unit.plugins.transforms.sample import check_forms, numbered
from tests.unit.plugins.two_forms import answered, read, read_whole, written

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.jsonl*"))
BY_HAND = [path for path in GOLDEN if path.suffix != ".xz" or "fixed_width" in path.name]
ROWS = 20
"""Enough for every fast step to take part."""


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print and read moments in UTC, the zone the answers were given in."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name.partition(".")[0])
def test_answers_are_those_of_java(path: Path) -> None:
    """Bytes, schemas and values, the order of everything in them included, or the words about what is wrong."""
    answers = [(case, answer(case)) for case in cases(path)]
    assert [each for each in answers if not agrees(*each)] == []
    assert len(answers) > 10
    assert sum("unheld" in case for case, _ in answers) < 5


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.name.partition(".")[0])
def test_columns_answer_as_java_does(path: Path) -> None:
    """What a case becomes alone it becomes in a column among its like."""
    for case in cases(path):
        if "message" not in case and "unheld" not in case:
            _CHECKS[case["op"]](case)


def _check_written(case: dict[str, Any]) -> None:
    made, schema = converter(case), schema_of(case["schema"])
    value = build(schema, case["value"])
    if isinstance(made, BatchConverter) and _fits_column(schema, value):
        column = values_to_column(schema, [value] * ROWS).slice(1)
        assert written(made, schema, column)[0].to_pylist() == [expected_bytes(case)] * (ROWS - 1), case


def _fits_column(schema: Schema | None, value: Any) -> bool:
    """Tell whether a column can hold a value: decimals of another scale, null keys and the unfit cannot be kept."""
    try:
        values_to_column(schema, [value])
    except DataError:
        return False
    return True


def _check_read(case: dict[str, Any]) -> None:
    made = converter(case)
    if not isinstance(made, BatchConverter) or "out" not in case:
        return
    runs, failures = read(made, pa.array([message(case)] * ROWS, pa.binary()).slice(1))
    assert not failures, case
    for run in runs:
        assert schema_form(run.schema) == case["out_schema"], case
        forms = [form(run.schema, one) for one in column_to_values(run.schema, run.column)]
        assert forms == [case["out"]] * len(run.column), case


def _check_applied(case: dict[str, Any]) -> None:
    if "record" in case and "unwritable" not in case:
        transformation: BatchTransformation = configured(case)
        (batch,) = records_to_batches([record_of(case["record"])])
        check_forms(transformation, numbered(batch))


def _check_tested(case: dict[str, Any]) -> None:
    if "record" in case:
        (batch,) = records_to_batches([record_of(case["record"])] * 2)
        assert answered(configured(case), numbered(batch)) == ([case["out"]] * 2, []), case


_CHECKS = {"write": _check_written, "read": _check_read, "apply": _check_applied, "test": _check_tested}


def test_one_bad_message_makes_a_whole_batch_raise_the_words_of_java() -> None:
    """One row that Java refuses among valid ones; rows that fail alone are found one by one."""
    good = b'{"schema":{"type":"int32","optional":false},"payload":1}'
    refused = [case for case in cases(Path(__file__).parent / "golden" / "json_read.jsonl") if "message" in case]
    for case in (case for case in refused if "config" not in case):
        made: JsonConverter = converter(case)
        with pytest.raises(DataError) as raised:
            read_whole(made, pa.array([good] * ROWS + [message(case)] + [good] * ROWS, pa.binary()))
        assert str(raised.value) == case["message"]
    assert len(refused) > 200


def test_errors_of_sizes_name_their_cause() -> None:
    """As Java's do, whose serializers count the bytes."""
    for case in cases(Path(__file__).parent / "golden" / "fixed_width.jsonl.xz"):
        if "cause" in case:
            assert str(answer(case)["error"].__cause__) == case["cause"]
