"""Runs a drawn pipeline on Hearth's own record path: in batches, or record by record."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.config import WorkerConfig
from hearth.discovery import CLASSPATH, Catalogue, Plugin, PluginType, discover
from hearth.herder.planner import Planner
from hearth.herder.plugin.directory import PluginDirectory
from hearth.isolation.environment_store import EnvironmentStore
from hearth.kafka.fetched import Incoming
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.dead_letter import DeadLetter
from hearth.runtime.delivery import delivered, deserializing
from hearth.runtime.pipeline import Pipeline
from hearth.runtime.plan import TaskPlan
from hearth.staging.place import LocalPlace, loading
from hearth_api import ConnectError, Header, Schema, SinkRecord, SourceRecord
from hearth_api.batch import (
    BatchConverter,
    BatchPredicate,
    BatchTransformation,
    batch_to_sink_records,
    records_by_kind,
)
from hearth_execution.failure import Failure
from hearth_execution.raw_header import raw_column, raw_rows
from hearth_execution.retry import NO_RETRY
from tests.unit.plugins.golden import schema_form, schema_of
from tests.unit.plugins.sample import build, form

Answer = dict[str, Any]
_TOPIC, _PARTITION = "topic-in", 3
_WORKER = {
    "bootstrap.servers": "127.0.0.1:1",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


class RecordPlace(LocalPlace):
    """Makes plugins' batch methods decline, so that those for records are called."""

    def do(self, call: Any) -> Any:
        answer = super().do(call)
        for plugin in self._plugins._loaded.values():
            for kind, methods in _BATCH_METHODS.items():
                if isinstance(plugin, kind):
                    vars(plugin).update({method: lambda *_: NotImplemented for method in methods})
        return answer


_BATCH_METHODS: Mapping[type, Sequence[str]] = {
    BatchTransformation: ("apply_batch",),
    BatchPredicate: ("test_batch",),
    BatchConverter: ("from_connect_batch", "to_connect_batch"),
}


@cache
def _planner() -> Planner:
    connectors = (Plugin("C", type_, "1", (), CLASSPATH, "none:C") for type_ in (PluginType.SOURCE, PluginType.SINK))
    known = Catalogue([*discover([]).plugins, *connectors])
    directory = PluginDirectory(lambda: known, EnvironmentStore(Path(tempfile.gettempdir())))
    return Planner(directory, WorkerConfig(_WORKER))


def plan(drawn: Mapping[str, Any]) -> TaskPlan:
    """Return the plan of the pipeline's task."""
    type_ = PluginType(drawn["type"])
    connector = next(each for each in _planner().directory.catalogue.known("C", type_) if each.type is type_)
    return _planner().plan(connector, "1", drawn["config"], [{}])[0]


def answers(drawn: Mapping[str, Any], *, by_batches: bool) -> list[Answer]:
    """Return each record's outcome; a single one if the pipeline itself is refused."""
    place = (LocalPlace if by_batches else RecordPlace)(drawn["type"], NO_RETRY)
    try:
        task = plan(drawn)
        place.do(loading(task, None))
    except ConnectError:
        return [{"refused": True}]
    pipeline = Pipeline(task, {None: place, **dict.fromkeys(task.environments, place)}, task.transformations)
    if drawn["type"] == "source":
        results = _source(pipeline, drawn["records"])
    else:
        results = _sink(task, pipeline, drawn["records"], drawn["has_times"])
    return _until_the_end(results, is_tolerant=task.settings.is_tolerant)


def _until_the_end(results: list[Answer], *, is_tolerant: bool) -> list[Answer]:
    """Return the answers up to the first failed record, if that ends the task."""
    ends = (number for number, answer in enumerate(results, 1) if "failed" in answer and not is_tolerant)
    return results[: next(ends, len(results))]


# Sources ----------------------------------------------------------------------------------------------------------


def _source(pipeline: Pipeline, records: Sequence[Mapping[str, Any]]) -> list[Answer]:
    prepared = pipeline.preparing(records_by_kind([_source_record(each) for each in records]))()
    results: list[Answer] = [{"dropped": True}] * len(records)
    for outgoing, rows in prepared.outgoing:
        for index, row in enumerate(rows.tolist()):
            results[row] = {"sent": _sent(outgoing, index)}
    return _with_failures(results, prepared.failures)


def _source_record(record: Mapping[str, Any]) -> SourceRecord:
    key, value = _typed(record["key"]), _typed(record["value"])
    headers = [Header(name, *_typed(each)) for name, each in record["headers"]]
    where = record["topic"], record["partition"]
    return SourceRecord({}, {}, *where, *key, *value, record["timestamp"], headers)


def _typed(results: Any) -> tuple[Schema | None, Any]:
    if results is None:
        return None, None
    schema = None if results[0] is None else _schema_of(json.dumps(results[0]))
    return schema, build(schema, results[1])


@lru_cache(maxsize=64)
def _schema_of(text: str) -> Schema | None:
    return schema_of(json.loads(text))


def _sent(outgoing: Any, row: int) -> list[Any]:
    partition = None if outgoing.partition is None or outgoing.partition[row] < 0 else int(outgoing.partition[row])
    timestamp = None if outgoing.timestamp is None or outgoing.timestamp[row] < 0 else int(outgoing.timestamp[row])
    key = None if outgoing.key is None else outgoing.key[row].as_py()
    headers = [] if outgoing.headers is None else raw_rows(outgoing.headers[row : row + 1])[0]
    data = _base64(key), _base64(outgoing.value[row].as_py()), [[name, _base64(own)] for name, own in headers]
    return [outgoing.topic, partition, timestamp, *data]


# Sinks ------------------------------------------------------------------------------------------------------------


def _sink(task: TaskPlan, pipeline: Pipeline, records: Sequence[Mapping[str, Any]], has_times: bool) -> list[Answer]:
    incoming = [_incoming(records, has_times)]
    delivery = delivered(incoming, deserializing(incoming, pipeline), pipeline)
    results: list[Answer] = [{"dropped": True}] * len(records)
    for batch in delivery.batches:
        for row, record in zip(batch.column("row").to_pylist(), batch_to_sink_records(batch)):
            results[row] = {"put": _put(record)}
    failures, read = delivery.failures, delivery.record
    return _with_failures(results, failures, lambda each: {"letter": _letter(task, each, read(each.row))})


def _letter(task: TaskPlan, failure: Failure, record: Consumed | None) -> list[Any]:
    """Return the dead letter, in the form of a source's records."""
    assert record is not None
    assert task.sink is not None
    plan = task.sink.dead_letters
    assert plan is not None
    letter = DeadLetter.of(failure, record, task if plan.has_context else None)
    headers = [[name, _base64(own)] for name, own in letter.headers]
    return [plan.topic, None, letter.timestamp, _base64(letter.key), _base64(letter.value), headers]


def _incoming(records: Sequence[Mapping[str, Any]], has_times: bool) -> Incoming:
    count = len(records)
    headers = [[(name, _bytes(data)) for name, data in each["headers"]] for each in records]
    keys, values = (pa.array([_bytes(each[side]) for each in records], pa.binary()) for side in ("key", "value"))
    return Incoming(
        _TOPIC,
        np.full(count, _PARTITION, np.int32),
        np.arange(count, dtype=np.int64),
        keys,
        values,
        np.array([each["timestamp"] for each in records], np.int64),
        int(has_times),
        raw_column(headers) if any(headers) else None,
    )


def _put(record: SinkRecord) -> list[Any]:
    typed = ((record.key_schema, record.key), (record.value_schema, record.value))
    headers = [[each.key, schema_form(each.schema), form(each.schema, each.value)] for each in record.headers]
    sides = [part for schema, value in typed for part in (schema_form(schema), form(schema, value))]
    return [record.topic, record.kafka_partition, record.kafka_offset, record.timestamp, *sides, headers]


# Both -------------------------------------------------------------------------------------------------------------


def _with_failures(
    results: list[Answer], failures: Sequence[Failure], more: Callable[[Failure], Answer] = lambda _: {}
) -> list[Answer]:
    for failure in failures:
        assert results[failure.row] == {"dropped": True}, "a record was delivered and failed, or failed twice"
        error = failure.error
        words = [failure.phase, failure.class_name, error.class_name, error.message]
        results[failure.row] = {"failed": words, **more(failure)}
    return results


def _bytes(data: str | None) -> bytes | None:
    return None if data is None else base64.b64decode(data)


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
