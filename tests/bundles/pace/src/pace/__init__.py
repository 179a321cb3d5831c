"""A source, a sink and transformations in record form, as third parties write them; `tests/bench/java` has Java's.

The source returns records of a `shape` as fast as it is polled, `at.once` in a poll and `records` in all, shared among
its tasks; each of several tasks writes to the Kafka partition of its number. The sink reads every part of the shape in
each record, and writes the number of records to a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from hearth_api import (
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    DataError,
    Headers,
    Importance,
    RetriableError,
    Schema,
    SchemaBuilder,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Struct,
    Transformation,
)

TURNS = 5
TEXT = "the quick brown fox jumps over the lazy dog, " * 2
START = 1_700_000_000_000
TEXTS, NUMBERS = "abcd", "wxyz"


def _schema(kind: str = "") -> Schema:
    """Return the schema of structs; ``kind`` is part of all their names."""
    builder = SchemaBuilder.struct().name(f"pace{kind}")
    for name in TEXTS:
        builder.field(name + kind, STRING_SCHEMA)
    for name in NUMBERS:
        builder.field(name + kind, INT64_SCHEMA)
    return builder.build()


SCHEMA = _schema()
_INNER = SchemaBuilder.struct().name("inner").field("count", INT64_SCHEMA).field("text", STRING_SCHEMA).build()
NESTED = SchemaBuilder.struct().name("nested").field("id", INT64_SCHEMA).field("inner", _INNER).build()


class _Connector:
    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return ConfigDef().define("shape", ConfigType.STRING, importance=Importance.HIGH, doc="What records have.")

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def stop(self) -> None:
        pass


class PaceSource(_Connector, SourceConnector):
    def task_class(self) -> type[SourceTask]:
        return PaceSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        share = {"records": str(int(self._props["records"]) // max_tasks)}
        return [{**self._props, **share, "task": str(task), "tasks": str(max_tasks)} for task in range(max_tasks)]


class PaceSink(_Connector, SinkConnector):
    def task_class(self) -> type[SinkTask]:
        return PaceSinkTask


class PaceSourceTask(SourceTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: Mapping[str, str]) -> None:
        self._topic, self._left = props["topic"], int(props["records"])
        self._make = getattr(self, f"_{props['shape']}")
        self._at_once = int(props.get("at.once", "1000"))
        self._number = 0
        self._partition = int(props["task"]) if int(props["tasks"]) > 1 else None
        kinds = [f"_{kind}" for kind in range(int(props.get("kinds", "0")))]
        self._kinds = [
            (f"{self._topic}-{kind}", _schema(name), [field + name for field in TEXTS + NUMBERS])
            for kind, name in enumerate(kinds)
        ]

    def poll(self) -> Sequence[SourceRecord] | None:
        count = min(self._left, self._at_once)
        self._left -= count
        if not count:
            self._rest()
            return None
        first = self._number
        self._number += count
        return [self._make(number) for number in range(first, first + count)]

    def stop(self) -> None:
        pass

    def _rest(self) -> None:
        import time

        time.sleep(0.1)

    def _text(self, number: int) -> SourceRecord:
        partition, offset = {"source": "pace"}, {"position": number}
        return SourceRecord(
            partition, offset, self._topic, self._partition, value_schema=STRING_SCHEMA, value=f"{TEXT}{number:07d}"
        )

    def _keyed(self, number: int) -> SourceRecord:
        partition, offset = {"source": "pace"}, {"position": number}
        return SourceRecord(
            partition, offset, self._topic, self._partition, STRING_SCHEMA, f"key-{number % 1000}",
            STRING_SCHEMA, f"{TEXT}{number:07d}", START + number,
        )  # fmt: skip

    def _headed(self, number: int) -> SourceRecord:
        partition, offset = {"source": "pace"}, {"position": number}
        headers = Headers().add_string("trace", f"trace-{number}").add_string("origin", "pace")
        return SourceRecord(
            partition, offset, self._topic, self._partition, STRING_SCHEMA, f"key-{number % 1000}",
            STRING_SCHEMA, f"{TEXT}{number:07d}", START + number, headers,
        )  # fmt: skip

    def _turns(self, number: int) -> SourceRecord:
        topic = f"{self._topic}-{number % TURNS}"
        return SourceRecord(
            {"source": topic}, {"position": number}, topic, None, STRING_SCHEMA, f"key-{number % 1000}",
            STRING_SCHEMA, f"{TEXT}{number:07d}", START + number,
        )  # fmt: skip

    def _struct(self, number: int) -> SourceRecord:
        partition, offset = {"source": "pace"}, {"position": number}
        value = Struct(SCHEMA)
        value.put("a", "some text").put("b", f"text {number}").put("c", "more").put("d", f"{number % 100}")
        value.put("w", number).put("x", number * 1000).put("y", -number).put("z", 7)
        return SourceRecord(partition, offset, self._topic, value_schema=SCHEMA, value=value)

    def _kinds_in_turn(self, number: int) -> SourceRecord:
        topic, schema, (a, b, c, d, w, x, y, z) = self._kinds[number % len(self._kinds)]
        value = Struct(schema)
        value.put(a, "some text").put(b, f"text {number}").put(c, "more").put(d, f"{number % 100}")
        value.put(w, number).put(x, number * 1000).put(y, -number).put(z, 7)
        return SourceRecord({"source": "pace"}, {"position": number}, topic, value_schema=schema, value=value)

    def _nested(self, number: int) -> SourceRecord:
        partition, offset = {"source": "pace"}, {"position": number}
        inner = Struct(_INNER).put("count", number).put("text", f"text {number}")
        value = Struct(NESTED).put("id", number).put("inner", inner)
        return SourceRecord(partition, offset, self._topic, value_schema=NESTED, value=value)


class PaceSinkTask(SinkTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: Mapping[str, str]) -> None:
        self._look = getattr(self, f"_{props['shape']}")
        self._count = self._size = self._raised_at = 0
        self._report_every = int(props.get("report.every", "0"))
        self._raise_every = int(props.get("raise.every", "0"))
        self._file = os.open(props["file"], os.O_CREAT | os.O_WRONLY)

    def put(self, records: Sequence[SinkRecord]) -> None:
        self._raise_at_times(len(records))
        look = self._look
        for record in records:
            self._size += look(record)
        if self._report_every:
            for record in records:
                if record.kafka_offset % self._report_every == 0:
                    self._report(record)
        self._count += len(records)
        os.pwrite(self._file, f"{self._count:012d}".encode(), 0)

    def stop(self) -> None:
        os.close(self._file)

    def _report(self, record: SinkRecord) -> None:
        reporter = self.context.errant_record_reporter()
        assert reporter is not None
        reporter.report(record, DataError(f"bad {record.kafka_offset}"))

    def _raise_at_times(self, count: int) -> None:
        if self._raise_every and self._count + count - self._raised_at >= self._raise_every:
            self._raised_at = self._count + count
            self.context.timeout(1)
            raise RetriableError("not now")

    def _text(self, record: SinkRecord) -> int:
        return len(record.value)

    def _keyed(self, record: SinkRecord) -> int:
        return len(record.value) + len(record.key) + (record.timestamp or 0) % 2

    def _any(self, record: SinkRecord) -> int:
        size = len(record.value)
        for header in record.headers:
            size += len(str(header.value))
        return size

    def _headed(self, record: SinkRecord) -> int:
        size = len(record.value) + len(record.key) + (record.timestamp or 0) % 2
        for header in record.headers:
            size += len(header.value)
        return size

    def _struct(self, record: SinkRecord) -> int:
        value = record.value
        size = sum(len(value.get_string(name)) for name in ("a", "b", "c", "d"))
        for name in ("w", "x", "y", "z"):
            size += value.get_int64(name) % 2
        return size


class Label(Transformation):
    """Gives records of any kind another timestamp, and its label as key."""

    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        pass

    def apply(self, record: Any) -> Any:
        return record.new_record(timestamp=START, key_schema=STRING_SCHEMA, key="label")


class Raise(Transformation):
    """Increments a number in a nested struct."""

    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        pass

    def apply(self, record: Any) -> Any:
        value = record.value
        inner = value.get_struct("inner")
        raised = Struct(_INNER).put("count", inner.get_int64("count") + 1).put("text", inner.get_string("text"))
        return record.new_record(value=Struct(NESTED).put("id", value.get_int64("id")).put("inner", raised))


class Refuse(Transformation):
    """Refuses one in ten records."""

    def config(self) -> ConfigDef:
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._count = 0

    def apply(self, record: Any) -> Any:
        self._count += 1
        if self._count % 10 == 0:
            raise DataError(f"refused: {self._count}")
        return record
