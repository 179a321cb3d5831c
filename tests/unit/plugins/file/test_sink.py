"""Rules of the file sink; its texts are compared with those of Kafka's task."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    Schema,
    SchemaBuilder,
    SinkRecord,
    Struct,
    Timestamp,
    TopicPartition,
)
from hearth_api.batch import batch_to_sink_records, records_by_kind, records_to_batches
from hearth_api.java import config_def_to_json
from hearth_file.sink import FileStreamSinkConnector
from hearth_file.sink_task import FileStreamSinkTask

Values = Sequence[tuple["Schema | None", Any]]
Write = Callable[[FileStreamSinkTask, "list[SinkRecord]"], None]


def put_records(task: FileStreamSinkTask, records: list[SinkRecord]) -> None:
    """Write in the form of records."""
    task.put(records)


def put_columns(task: FileStreamSinkTask, records: list[SinkRecord]) -> None:
    """Write in the form of batches, if it accepts them."""
    batches = records_to_batches(records)
    if task.put_batch(batches) is NotImplemented:
        task.put([record for batch in batches for record in batch_to_sink_records(batch)])


def put_interleaved(task: FileStreamSinkTask, records: list[SinkRecord]) -> None:
    """Write one batch for each schema, with the rows interleaved."""
    batches = records_by_kind(records)
    if task.put_batch(batches) is NotImplemented:
        task.put(records)


FORMS = pytest.mark.parametrize("write", [put_records, put_columns, put_interleaved])


def records_of(values: Values) -> list[SinkRecord]:
    """Return records of these values."""
    return [SinkRecord("t", 0, None, None, schema, value, offset) for offset, (schema, value) in enumerate(values)]


def written(path: Path, write: Write, values: Values) -> str:
    """Write values with a separate task and return the content of the file."""
    task = FileStreamSinkTask()
    task.start({"file": str(path)})
    write(task, records_of(values))
    task.flush({})
    text = path.read_bytes().decode()
    task.stop()
    return text


INNER = SchemaBuilder.struct().field("x", OPTIONAL_INT32_SCHEMA).field("y", OPTIONAL_INT32_SCHEMA).build()
OUTER = (
    SchemaBuilder.struct().name("n").field("a", STRING_SCHEMA).field("in", INNER)
    .field("l", SchemaBuilder.array(INT64_SCHEMA)).field("d", Timestamp.builder().optional()).build()
)  # fmt: skip
OUTER_VALUE = Struct(OUTER).put("a", "q").put("in", Struct(INNER).put("x", 3)).put("l", [1, 2])


@FORMS
@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, None, "null"),
        (OPTIONAL_STRING_SCHEMA, None, "null"),
        (STRING_SCHEMA, "", ""),
        (STRING_SCHEMA, "a\nb", "a\nb"),
        (STRING_SCHEMA, "é😀", "é😀"),
        (None, "text", "text"),
        (None, True, "true"),
        (BOOLEAN_SCHEMA, False, "false"),
        (INT64_SCHEMA, -(2**63), "-9223372036854775808"),
        (OPTIONAL_INT32_SCHEMA, None, "null"),
        (None, 1e7, "1.0E7"),
        (FLOAT32_SCHEMA, 0.1, "0.1"),
        (None, Decimal("1.50"), "1.50"),
        (
            None,
            {"a": 1, "b": None, "c": [1.0, "x"], "d": {"k": True}},
            "{a=1, b=null, c=[1.0, x], d={k=true}}",
        ),
        (None, [1, None, "x", []], "[1, null, x, []]"),
        (None, b"\x01\x02", "AQI="),
        (OUTER, OUTER_VALUE, "Struct{a=q,in=Struct{x=3},l=[1, 2]}"),
    ],
)
def test_a_line_is_the_text_java_prints(
    write: Write, tmp_path: Path, schema: Schema | None, value: Any, text: str
) -> None:
    """`println` of the value and a line feed."""
    assert written(tmp_path / "out", write, [(schema, value)]) == f"{text}\n"


@FORMS
def test_moments_are_printed_in_the_zone_of_the_machine(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java prints a timestamp with the default time zone's name."""
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    moment = dt.datetime(2019, 8, 26, 22, 14, 54, 346000, tzinfo=dt.timezone.utc)
    text = written(tmp_path / "out", write, [(Timestamp.SCHEMA, moment)])
    assert text == "Mon Aug 26 22:14:54 UTC 2019\n"


values = st.one_of(
    st.tuples(st.just(OPTIONAL_STRING_SCHEMA), st.none() | st.text()),
    st.tuples(st.just(OPTIONAL_INT32_SCHEMA), st.none() | st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(BOOLEAN_SCHEMA), st.booleans()),
    st.tuples(st.none(), st.none() | st.text() | st.integers() | st.lists(st.floats() | st.text())),
)


@settings(deadline=None)
@given(st.lists(values))
def test_both_forms_write_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, given_values: Values) -> None:
    """Records and batches of any mixture of schemas give one file."""
    folder = tmp_path_factory.mktemp("sink")
    by_record = written(folder / "records", put_records, given_values)
    assert written(folder / "columns", put_columns, given_values) == by_record
    assert len(by_record) >= len(given_values)


@FORMS
def test_half_a_surrogate_pair_becomes_a_question_mark(write: Write, tmp_path: Path) -> None:
    """Java's encoder writes it so; Arrow holds no such text, so it only comes without schema."""
    assert written(tmp_path / "out", put_records, [(STRING_SCHEMA, "a\ud800b")]) == "a?b\n"


@FORMS
def test_a_file_is_appended_to(write: Write, tmp_path: Path) -> None:
    """Its content stays, and a second task writes after the first."""
    path = tmp_path / "out"
    path.write_text("before\n")
    written(path, write, [(STRING_SCHEMA, "one")])
    assert written(path, write, [(STRING_SCHEMA, "two"), (None, None)]) == "before\none\ntwo\nnull\n"


@FORMS
def test_nothing_to_put_writes_nothing(write: Write, tmp_path: Path) -> None:
    """An empty put makes the file and leaves it empty."""
    assert written(tmp_path / "out", write, []) == ""


@FORMS
def test_the_standard_output_is_written_without_a_file(write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    """It stays open for other writers."""
    for props in ({}, {"file": ""}):
        task = FileStreamSinkTask()
        task.start(props)
        write(task, records_of([(STRING_SCHEMA, "shown")]))
        task.stop()
    assert capfd.readouterr().out == "shown\nshown\n"


def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """The message is Kafka's with the cause after it, and a hint has the remedy."""
    for path, cause in (
        (tmp_path / "missing" / "out", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        with pytest.raises(ConnectError) as caught:
            FileStreamSinkTask().start({"file": str(path)})
        assert str(caught.value) == f"Couldn't find or create file '{path}' for FileStreamSinkTask: {cause}"
        assert caught.value.hint


@FORMS
def test_a_write_that_fails_fails_the_task(write: Write) -> None:
    """No line is lost silently."""
    task = FileStreamSinkTask()
    task.start({"file": "/dev/full"})
    with pytest.raises(ConnectError, match="cannot write to file '/dev/full': No space left on device"):
        write(task, records_of([(STRING_SCHEMA, "x")]))
    task.stop()


def test_the_connector_behaves_as_kafkas() -> None:
    """One key, the requested number of tasks, and offsets that may be changed freely."""
    connector = FileStreamSinkConnector()
    (only,) = config_def_to_json(connector.config())
    assert (only["name"], only["type"], only["default_value"], only["importance"]) == (
        "file",
        "STRING",
        None,
        "HIGH",
    )
    connector.start({"file": "x"})
    assert connector.task_configs(3) == [{"file": "x"}] * 3
    assert connector.task_class() is FileStreamSinkTask
    assert connector.alter_offsets({}, {TopicPartition("t", 0): None})
    assert connector.version() == FileStreamSinkTask().version() == "4.3.1"
    connector.stop()
