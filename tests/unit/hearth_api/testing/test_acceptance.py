"""The standard suite accepts plugins that keep the contract, and names the rule that another one breaks."""

from __future__ import annotations

import json
import time
import unittest
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from hearth_api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    Converter,
    DataError,
    Predicate,
    SchemaAndValue,
    Settings,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Transformation,
    key,
)
from hearth_api.batch import Batch, BatchSinkTask, BatchSourceTask, batch_to_sink_records, records_to_batches
from hearth_api.testing import Sample, acceptance_tests, check_plugin


class Lines(Settings):
    """Settings of the sample connectors."""

    topic: str = key("topic", doc="Where lines go.")
    batch: int = key("batch", default=10, doc="How many at once.")


WORLD = [f"line {number}" for number in range(20)]
CONFIG = {"topic": "lines", "batch": "3"}


class LinesTask(SourceTask):
    """Reads the world."""

    def start(self, props: Any) -> None:
        """Resume from the offset."""
        self.settings = Lines(props)
        self.place = int((self.context.offset_storage_reader().offset({"world": 1}) or {"place": 0})["place"])

    def poll(self) -> Any:
        """Return a few lines."""
        begin, self.place = self.place, min(self.place + self.settings.batch, len(WORLD))
        return [
            SourceRecord({"world": 1}, {"place": n + 1}, "lines", value_schema=STRING_SCHEMA, value=WORLD[n])
            for n in range(begin, self.place)
        ]

    def stop(self) -> None:
        """Hold nothing."""


class LinesSource(SourceConnector):
    """A source that keeps every rule."""

    task: ClassVar[type] = LinesTask

    def version(self) -> str:
        """Return a version."""
        return "1.0"

    def config(self) -> ConfigDef:
        """Return the keys."""
        return Lines.definition()

    def start(self, props: Any) -> None:
        """Keep the settings."""
        self.props = dict(props)

    def task_class(self) -> type:
        """Return the task."""
        return self.task

    def task_configs(self, max_tasks: int) -> Any:
        """Let one task read everything."""
        return [self.props]

    def stop(self) -> None:
        """Hold nothing."""


class WritingTask(SinkTask):
    """Writes values to a list on flush."""

    def start(self, props: Any) -> None:
        """Start with an empty buffer."""
        self.buffer: list[Any] = []

    def put(self, records: Any) -> None:
        """Buffer them."""
        self.buffer += [each.value for each in records]

    def flush(self, current_offsets: Any) -> None:
        """Write them."""
        LinesSink.written += self.buffer
        self.buffer = []

    def stop(self) -> None:
        """Hold nothing."""


class LinesSink(SinkConnector):
    """A sink that keeps every rule."""

    written: ClassVar[list[Any]] = []
    task: ClassVar[type] = WritingTask
    version = LinesSource.version
    config = LinesSource.config
    start = LinesSource.start
    task_class = LinesSource.task_class
    task_configs = LinesSource.task_configs
    stop = LinesSource.stop


class Upper(Transformation):
    """A transformation that keeps every rule."""

    def configure(self, configs: Any) -> None:
        """Take no settings."""

    def apply(self, record: Any) -> Any:
        """Return texts in capitals, drop nulls, refuse the rest."""
        if record.value is None:
            return None
        if not isinstance(record.value, str):
            raise DataError("no text")
        return record.new_record(value=record.value.upper())


class IsText(Predicate):
    """A predicate that keeps every rule."""

    def configure(self, configs: Any) -> None:
        """Take no settings."""

    def test(self, record: Any) -> bool:
        """Return whether the value is a text."""
        return isinstance(record.value, str)


class JsonText(Converter):
    """A converter that keeps every rule."""

    def configure(self, configs: Any, is_key: bool) -> None:
        """Take no settings."""

    def from_connect_data(self, topic: str, schema: Any, value: Any, headers: Any = None) -> bytes | None:
        """Write JSON."""
        return None if value is None else json.dumps(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Any = None) -> SchemaAndValue:
        """Read JSON."""
        try:
            return SchemaAndValue(None, None if data is None else json.loads(data))
        except ValueError as error:
            raise DataError("no JSON") from error


def faults(plugin: type, **more: Any) -> dict[str, str]:
    """Return the faults of a plugin, by rule."""
    return {each.rule: each.fault for each in check_plugin(Sample(plugin, **{"config": CONFIG, **more})) if each.fault}


def read_back(_: Any) -> Iterator[Any]:
    """Yield what the sink wrote since the last call."""
    found = [*LinesSink.written]
    LinesSink.written.clear()
    return iter(found)


class LinesColumnTask(LinesTask, BatchSourceTask):
    """Reads the same lines as batches."""

    def poll_batch(self) -> Any:
        """Return the available lines as batches."""
        records = self.poll()
        return None if records is None else records_to_batches(records)


class WritingColumnTask(WritingTask, BatchSinkTask):
    """Writes batches as well."""

    def put_batch(self, batches: Any) -> Any:
        """Buffer their values."""
        self.put([each for batch in batches for each in batch_to_sink_records(batch)])


def column_source_of(**members: Any) -> type:
    """Return a source whose task supports batches, with some members replaced."""
    return broken(LinesSource, task=broken(LinesColumnTask, **members))


def column_sink_of(**members: Any) -> type:
    """Return a sink whose task supports batches, with some members replaced."""
    return broken(LinesSink, task=broken(WritingColumnTask, **members))


LinesSourceTest = acceptance_tests(LinesSource, CONFIG)
LinesSinkTest = acceptance_tests(LinesSink, lambda: CONFIG, read_back=read_back)
UpperTest = acceptance_tests(Upper, {})
IsTextTest = acceptance_tests(IsText, {})
JsonTextTest = acceptance_tests(JsonText, {}, values=[(None, "a"), (None, {"b": 1}), (None, None)])


def broken(base: type, **members: Any) -> type:
    """Return a class with some members replaced."""
    return type("Broken", (base,), members)


def source_of(**members: Any) -> type:
    """Return a source whose task has some members replaced."""
    return broken(LinesSource, task=broken(LinesTask, **members))


def sink_of(**members: Any) -> type:
    """Return a sink whose task has some members replaced."""
    return broken(LinesSink, task=broken(WritingTask, **members))


def raises(*_: Any) -> Any:
    """Raise an unexpected error."""
    raise LookupError("gone")


ColumnSourceTest = acceptance_tests(column_source_of(), CONFIG)
ColumnSinkTest = acceptance_tests(column_sink_of(), lambda: CONFIG, read_back=read_back)
DecliningSourceTest = acceptance_tests(column_source_of(poll_batch=lambda _: NotImplemented), CONFIG)
DecliningSinkTest = acceptance_tests(
    column_sink_of(put_batch=lambda *_: NotImplemented), lambda: CONFIG, read_back=read_back
)
ROWS = Batch.of_rows("t", STRING_SCHEMA, ["x", "y"], source_partition={"a": 1}, offsets=[{"b": 1}, {"b": 2}])
RECORD = SourceRecord({"a": 1}, {"b": 2}, "t", value_schema=STRING_SCHEMA, value="x")
BARE = ConfigDef().define("bare", ConfigType.STRING)


@pytest.mark.parametrize(
    ("plugin", "rule", "words"),
    [
        (broken(LinesSource, __init__=raises), "class_needs_no_arguments", "LookupError: gone"),
        (broken(LinesSource, version=lambda _: None), "version_is_a_text", "returned None"),
        (broken(LinesSource, version=lambda _: "undefined"), "version_is_a_text", "is not defined"),
        (broken(LinesSource, config=lambda _: {}), "config_returns_a_definition", "return a ConfigDef"),
        (broken(LinesSource, config=lambda _: BARE), "keys_are_documented", "without documentation: bare"),
        (broken(LinesSource, validate=raises), "missing_settings_give_error_messages", "LookupError"),
        (broken(LinesSource, validate=lambda *_: None), "wrong_types_give_error_messages", "return a Config"),
        (broken(LinesSource, task_class=lambda _: WritingTask), "task_class_is_a_source_task", "SourceTask"),
        (broken(LinesSource, task_configs=lambda *_: [{}, {}]),
         "source_task_configs_are_stable", "returned 2 configurations"),
        (broken(LinesSource, task_configs=lambda *_: [{"a": 1}]), "source_task_configs_are_stable", "are texts"),
        (source_of(poll=lambda _: ["text"]), "records_fit_their_schemas", "a list of SourceRecord"),
        (source_of(poll=lambda _: [RECORD.new_record(value=7)]), "records_fit_their_schemas", "does not fit"),
        (source_of(poll=lambda _: [RECORD.new_record(topic=None)]), "records_fit_their_schemas", "the topic None"),
        (source_of(poll=lambda _: None), "records_fit_their_schemas", "0 records came within"),
        (source_of(poll=lambda _: [RECORD.new_record(source_offset={"a": []})]), "offsets_can_be_stored", "stored"),
        (source_of(poll=lambda _: [RECORD]), "source_resumes_from_offsets", "came again"),
        (source_of(poll=lambda _: time.sleep(0.4)), "source_task_stops_promptly", "did not return within"),
        (source_of(commit_record=raises), "commit_callbacks_return", "LookupError"),
        (sink_of(put=raises), "pre_commit_returns_only_offsets_of_put_records", "LookupError"),
        (sink_of(pre_commit=lambda _, offsets: {place: each._replace(offset=99) for place, each in offsets.items()}),
         "pre_commit_returns_only_offsets_of_put_records", "beyond what put()"),
        (sink_of(flush=lambda *_: None), "committed_records_are_written", "found: []"),
        (column_source_of(poll_batch=lambda _: "rows"),
         "poll_batch_returns_the_same_records", "return a list of Batch"),
        (column_source_of(poll_batch=lambda _: [ROWS.with_columns(source_offset=None)]),
         "poll_batch_returns_the_same_records", "without the column 'source_offset'"),
        (column_source_of(poll_batch=lambda _: [ROWS]), "poll_batch_returns_the_same_records", "and poll_batch()"),
        (column_source_of(poll_batch=raises), "poll_batch_returns_the_same_records", "LookupError"),
        (column_source_of(poll_batch=lambda _: None), "poll_batch_returns_the_same_records", "0 records came within"),
        (column_sink_of(put_batch=raises), "put_batch_accepts_batches", "LookupError"),
        (column_sink_of(put_batch=lambda *_: None), "committed_batches_are_written", "found: []"),
        (broken(Upper, apply=lambda _, record: record.value), "apply_returns_records", "for a SinkRecord"),
        (broken(Upper, apply=lambda _, record: setattr(record, "value", 1)), "apply_leaves_records_unchanged",
         "changed the record"),
        (broken(Upper, apply=raises), "apply_returns_records", "raise a DataError"),
        (broken(IsText, test=lambda *_: "yes"), "predicate_returns_a_boolean", "return True or False"),
        (broken(JsonText, from_connect_data=lambda *_: b"1"), "values_round_trip", "came back as 1"),
        (broken(JsonText, to_connect_data=lambda _, topic, data: SchemaAndValue(None, data and json.loads(data))),
         "unreadable_bytes_raise_data_errors", "JSONDecodeError"),
    ],
)  # fmt: skip
def test_broken_rule_is_named(plugin: type, rule: str, words: str) -> None:
    """With the plugin's behaviour, and usually the remedy."""
    LinesSink.written.clear()
    config = CONFIG if plugin.__mro__[1] in (LinesSource, LinesSink) else {}
    found = faults(plugin, config=config, read_back=read_back, values=[(None, "a")], seconds=0.2)
    assert words in found[rule]


def test_the_suite_is_a_test_case_with_a_test_for_each_rule() -> None:
    """Rules that need settings, or access to the external system, are omitted without them."""
    assert issubclass(LinesSinkTest, unittest.TestCase)
    assert hasattr(LinesSinkTest, "test_committed_records_are_written")
    assert not hasattr(acceptance_tests(LinesSink, CONFIG), "test_committed_records_are_written")
    assert not hasattr(acceptance_tests(LinesSink), "test_put_accepts_repeated_records")
    assert hasattr(acceptance_tests(LinesSink), "test_version_is_a_text")
