"""Rules for connectors and tasks: split work, respect offsets, write all records, and stop."""

from __future__ import annotations

import time
from typing import Any

from hearth_api.connector import SinkConnector, SourceConnector
from hearth_api.errors import DataError
from hearth_api.record import SinkRecord, SourceRecord, TopicPartition
from hearth_api.task import SinkTask, SourceTask
from hearth_api.testing.acceptance_rule import AcceptanceRules, Sample, Violation, require
from hearth_api.testing.plugin_rule import PLUGIN
from hearth_api.testing.task_run import SinkRun, SourceRun
from hearth_api.validation import validate_value

SOURCE, SINK = AcceptanceRules(PLUGIN), AcceptanceRules(PLUGIN)

PROMPTLY = 2.0
"""The number of seconds within which a task must stop."""
_MANY = 3
_PLAIN = (str, int, float, bool, bytes, type(None))


@SOURCE.rule()
def task_class_is_a_source_task(sample: Sample) -> None:
    """task_class() returns a SourceTask, even before start(), that can be instantiated without arguments."""
    _check_task_class(sample, SourceTask)


@SINK.rule()
def task_class_is_a_sink_task(sample: Sample) -> None:
    """task_class() returns a SinkTask, even before start(), that can be instantiated without arguments."""
    _check_task_class(sample, SinkTask)


@SOURCE.rule("config")
def source_task_configs_are_stable(sample: Sample) -> None:
    """task_configs(n) returns at most n mappings of texts, and the same ones again if nothing has changed."""
    with SourceRun(sample.plugin, sample.settings(), max_tasks=0, seconds=sample.seconds) as run:
        _check_task_configs(run)


@SINK.rule("config")
def sink_task_configs_are_stable(sample: Sample) -> None:
    """task_configs(n) returns at most n mappings of texts, and the same ones again if nothing has changed."""
    with SinkRun(sample.plugin, sample.settings(), [], max_tasks=0, seconds=sample.seconds) as run:
        _check_task_configs(run)


@SOURCE.rule("config")
def records_fit_their_schemas(sample: Sample) -> None:
    """Every record has a topic, and a key and a value that fit their schemas."""
    with _source_run(sample) as run:
        for record in run.take(sample.count):
            _check_record(record)


@SOURCE.rule("config")
def offsets_can_be_stored(sample: Sample) -> None:
    """Source partitions and offsets are mappings of texts to texts, numbers, booleans, bytes or None."""
    with _source_run(sample) as run:
        for record in run.take(sample.count):
            for what, value in (
                ("source_partition", record.source_partition),
                ("source_offset", record.source_offset),
            ):
                is_plain = isinstance(value, dict) and all(
                    isinstance(name, str) and isinstance(each, _PLAIN) for name, each in value.items()
                )
                require(is_plain, f"{what} is {value!r}: only texts, numbers, booleans, bytes and None can be stored")


@SOURCE.rule("config")
def source_resumes_from_offsets(sample: Sample) -> None:
    """A task that starts with the offset of a record never returns that record or an earlier one."""
    config = sample.settings()
    with SourceRun(sample.plugin, config, seconds=sample.seconds) as run:
        first = run.take(sample.count)
        committed = run.committed
    places = [(each.source_partition, each.source_offset) for each in first]
    with SourceRun(sample.plugin, config, committed, seconds=sample.seconds) as run:
        for record in run.poll():
            again = (record.source_partition, record.source_offset) in places
            require(not again, f"the record at {record.source_offset} came again although its offset was committed")


@SOURCE.rule("config")
def source_task_stops_promptly(sample: Sample) -> None:
    """poll() and stop() return soon, even if there is nothing left to read."""
    run = _source_run(sample)
    with run:
        run.take(1)
        run.poll()
        started = time.monotonic()
        run.poll()
        run.stop()
        _check_promptly(started)


@SOURCE.rule("config")
def commit_callbacks_return(sample: Sample) -> None:
    """commit_record() and commit() return, whether a record was written or skipped."""
    with _source_run(sample) as run:
        for record in run.take(1):
            run.tasks[0].commit_record(record, None)
        run.tasks[0].commit()


@SOURCE.rule("config")
def poll_batch_returns_the_same_records(sample: Sample) -> None:
    """poll_batch() of a BatchSourceTask returns the records of poll(), and resumes from offsets as well."""
    if not _is_in_columns(sample):
        return
    config = sample.settings()
    with SourceRun(sample.plugin, config, seconds=sample.seconds) as run:
        records = run.take(sample.count)
    with SourceRun(sample.plugin, config, seconds=sample.seconds, in_columns=True) as run:
        rows = run.take(sample.count)
        committed = run.committed
    for record, row in zip(records, rows):
        _check_record(row)
        for what in ("topic", "source_partition", "source_offset", "key_schema", "value_schema"):
            one, other = getattr(record, what), getattr(row, what)
            require(one == other, f"poll() returns a record whose {what} is {one!r}, and poll_batch() {other!r}")
    places = [(each.source_partition, each.source_offset) for each in rows]
    with SourceRun(sample.plugin, config, committed, seconds=sample.seconds, in_columns=True) as run:
        for row in run.poll():
            again = (row.source_partition, row.source_offset) in places
            require(not again, f"the row at {row.source_offset} came again although its offset was committed")


@SINK.rule("config")
def pre_commit_returns_only_offsets_of_put_records(sample: Sample) -> None:
    """put() accepts records and an empty collection; pre_commit() returns no offset beyond the records put."""
    with _sink_run(sample) as run:
        run.put([])
        run.put(_records(sample))
        run.pre_commit()


@SINK.rule("config")
def put_accepts_repeated_records(sample: Sample) -> None:
    """put() accepts records again that it has received before, as after a crash."""
    for _ in range(2):
        with _sink_run(sample) as run:
            run.put(_records(sample))
            run.pre_commit()


@SINK.rule("config")
def sink_task_stops_promptly(sample: Sample) -> None:
    """close() and stop() return soon."""
    run = _sink_run(sample)
    with run:
        run.put(_records(sample)[:1])
        started = time.monotonic()
        run.stop()
        _check_promptly(started)


@SINK.rule("config", "read_back")
def committed_records_are_written(sample: Sample) -> None:
    """The values of all records are in the external system, in order, once pre_commit() has returned."""
    _check_written(sample)


@SINK.rule("config")
def put_batch_accepts_batches(sample: Sample) -> None:
    """put_batch() of a BatchSinkTask accepts batches and an empty list; pre_commit() returns no offset beyond them."""
    if not _is_in_columns(sample):
        return
    with _sink_run(sample, in_columns=True) as run:
        run.put([])
        run.put(_records(sample))
        run.pre_commit()


@SINK.rule("config", "read_back")
def committed_batches_are_written(sample: Sample) -> None:
    """The values given to put_batch() of a BatchSinkTask are in the external system once pre_commit() has returned."""
    if _is_in_columns(sample):
        _check_written(sample, in_columns=True)


def _is_in_columns(sample: Sample) -> bool:
    """Return whether the tasks of a connector support batches."""
    from hearth_api.batch import BatchSinkTask, BatchSourceTask

    return issubclass(sample.plugin().task_class(), (BatchSourceTask, BatchSinkTask))


def _check_written(sample: Sample, in_columns: bool = False) -> None:
    config = sample.settings()
    records = _records(sample)
    with SinkRun(sample.plugin, config, _partitions(records), seconds=sample.seconds, in_columns=in_columns) as run:
        run.put(records)
        run.pre_commit()
        assert sample.read_back is not None, "the rule requires read_back"
        found = list(sample.read_back(config))
    wanted = [each.value for each in records]
    require(_is_subsequence(wanted, found), f"put: {wanted!r}; found: {found!r}")


def _source_run(sample: Sample) -> SourceRun:
    return SourceRun(sample.plugin, sample.settings(), seconds=sample.seconds)


def _sink_run(sample: Sample, in_columns: bool = False) -> SinkRun:
    places = _partitions(_records(sample))
    return SinkRun(sample.plugin, sample.settings(), places, seconds=sample.seconds, in_columns=in_columns)


def _records(sample: Sample) -> list[SinkRecord]:
    """Return the records of a sample, or a few texts."""
    given = [each for each in sample.records if isinstance(each, SinkRecord)]
    return given or [SinkRecord("acceptance", 0, None, None, None, f"record {each}", each) for each in range(3)]


def _partitions(records: list[SinkRecord]) -> set[TopicPartition]:
    return {TopicPartition(each.topic or "", each.kafka_partition or 0) for each in records}


def _check_task_class(sample: Sample, wanted: type) -> None:
    connector: SourceConnector | SinkConnector = sample.plugin()
    found: Any = connector.task_class()
    is_right = isinstance(found, type) and issubclass(found, wanted)
    require(is_right, f"task_class() returned {found!r}: return a class that derives from {wanted.__name__}")
    found()


def _check_task_configs(run: SourceRun | SinkRun) -> None:
    for most in (1, _MANY):
        found: Any = run.task_configs(most)
        require(isinstance(found, list), f"task_configs() returned {found!r}: return a list of mappings")
        require(len(found) <= most, f"task_configs({most}) returned {len(found)} configurations")
        for config in found:
            is_text = isinstance(config, dict) and all(
                isinstance(each, str) for pair in config.items() for each in pair
            )
            require(is_text, f"task_configs() returned {config!r}: keys and values are texts")
        require(found == run.task_configs(most), "task_configs() changes with each call, which restarts all tasks")


def _check_record(record: SourceRecord) -> None:
    require(isinstance(record.topic, str) and record.topic, f"a record has the topic {record.topic!r}")
    for what, schema, value in (
        ("key", record.key_schema, record.key),
        ("value", record.value_schema, record.value),
    ):
        if schema is not None:
            try:
                validate_value(schema, value, what)
            except DataError as error:
                raise Violation(f"a record does not fit its schema: {error}") from error


def _check_promptly(started: float) -> None:
    seconds = time.monotonic() - started
    require(seconds <= PROMPTLY, f"it took {seconds:.1f} s to stop; wake waiting threads in stop()")


def _is_subsequence(wanted: list[Any], found: list[Any]) -> bool:
    rest = iter(found)
    return all(any(each == other for other in rest) for each in wanted)
