"""A sink that writes every call as one line of JSON to ``journal``, a predicate on values, a transformation,
a client config override policy that allows every key but `zz`, and a REST extension that rejects marked requests and
reports how many tasks of a connector run.

``retry.at`` and ``retry.times``: put raises RetriableError that often when the records contain that offset.
``rewind.at``: when the records contain that offset for the first time, the task rewinds to the first offset.
``hold.below``: pre_commit agrees to no offset beyond this one.
"""

from __future__ import annotations

import json
import os

from hearth_api import (
    INT32_SCHEMA,
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    ConfigValue,
    ConnectError,
    DataError,
    Header,
    Importance,
    OffsetAndMetadata,
    Predicate,
    Range,
    RetriableError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TimestampType,
    TopicPartition,
    Transformation,
)
from hearth_api.worker import ConnectorClientConfigOverridePolicy, RestExtension, RestResponse

LOW = Importance.LOW


class RecorderSinkConnector(SinkConnector):
    """Passes its configuration to every task."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return (
            ConfigDef()
            .define("journal", ConfigType.STRING, importance=Importance.HIGH, doc="File to which the calls are written.")
            .define("retry.at", ConfigType.LONG, default=-1, importance=LOW, doc="Offset at which put is refused.")
            .define("retry.times", ConfigType.INT, default=0, importance=LOW, doc="How often put is refused.")
            .define("rewind.at", ConfigType.LONG, default=-1, importance=LOW, doc="Offset at which to go back.")
            .define("hold.below", ConfigType.LONG, default=-1, importance=LOW, doc="Largest offset agreed to.")
        )

    def start(self, props) -> None:
        self._props = dict(props)

    def task_class(self):
        return RecorderSinkTask

    def task_configs(self, max_tasks: int):
        return [{**self._props, "number": str(number)} for number in range(max_tasks)]

    def stop(self) -> None:
        return


class RecorderSinkTask(SinkTask):
    """Writes each call to the journal."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        self._number = int(props["number"])
        self._journal = os.open(props["journal"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._retry_at, self._retries = int(props.get("retry.at", -1)), int(props.get("retry.times", 0))
        self._rewind_at, self._hold = int(props.get("rewind.at", -1)), int(props.get("hold.below", -1))
        self._note("start")

    def open(self, partitions) -> None:
        self._note("open", partitions=sorted(partitions))

    def put(self, records) -> None:
        offsets = [record.kafka_offset for record in records]
        outcome = "taken"
        if self._retry_at in offsets and self._retries > 0:
            outcome, self._retries = "refused", self._retries - 1
        if records:
            rows = [[each.topic, each.kafka_partition, each.kafka_offset, each.value] for each in records]
            self._note("put", records=rows, outcome=outcome)
        if outcome == "refused":
            raise RetriableError("not now")
        if self._rewind_at in offsets:
            self._rewind_at = -1
            self.context.offset({TopicPartition(each.topic, each.kafka_partition): 0 for each in records})

    def pre_commit(self, current_offsets):
        self.flush(current_offsets)
        if self._hold < 0:
            return current_offsets
        return {place: OffsetAndMetadata(min(each.offset, self._hold)) for place, each in current_offsets.items()}

    def flush(self, current_offsets) -> None:
        self._note("flush", offsets=sorted([*place, each.offset] for place, each in current_offsets.items()))

    def close(self, partitions) -> None:
        self._note("close", partitions=sorted(partitions))

    def stop(self) -> None:
        self._note("stop")
        os.close(self._journal)

    def _note(self, call: str, **more) -> None:
        text = json.dumps({"task": self._number, "call": call, **more}, default=str)
        os.write(self._journal, (text + "\n").encode())


class ReportingSinkConnector(SinkConnector):
    """Lets its task report every record, in the way that the record's value names."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return ConfigDef()

    def start(self, props) -> None:
        self._props = dict(props)

    def task_class(self):
        return ReportingSinkTask

    def task_configs(self, max_tasks: int):
        return [self._props]

    def stop(self) -> None:
        return


class ReportingSinkTask(SinkTask):
    """Reports every record as bad."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        return

    def put(self, records) -> None:
        report = self.context.errant_record_reporter().report
        for record in records:
            report(*_errant(record))

    def stop(self) -> None:
        return


def _errant(record):
    """Return the record to report, and the error."""
    if record.value == "data":
        return record, DataError("bad data")
    if record.value == "cause":
        error = ConnectError("outer")
        error.__cause__ = DataError("inner")
        return record, error
    if record.value == "null":
        return record, DataError()
    if record.value == "retriable":
        return record, RetriableError("again")
    if record.value == "copy":
        return record.new_record(topic="elsewhere", kafka_partition=7, value="v2"), DataError("copied")
    headers = [Header("h", INT32_SCHEMA, 5)]
    made = SinkRecord(
        "made", 3, STRING_SCHEMA, "mk", STRING_SCHEMA, "mv", 77, 123, TimestampType.CREATE_TIME, headers
    )
    return made, DataError("made up")


class EndsWith(Predicate):
    """Matches records whose value ends with a text."""

    def config(self) -> ConfigDef:
        return ConfigDef().define("text", ConfigType.STRING, importance=LOW, doc="The text to end with.")

    def configure(self, configs) -> None:
        self._text = configs["text"]

    def test(self, record) -> bool:
        return str(record.value).endswith(self._text)

    def close(self) -> None:
        return


class Append(Transformation):
    """Appends a text to the value, repeatedly."""

    def config(self) -> ConfigDef:
        return (
            ConfigDef()
            .define("text", ConfigType.STRING, importance=Importance.HIGH, doc="The text to append.")
            .define("times", ConfigType.INT, 1, Range.at_least(1), LOW, "How many times.", "Repetition", 0)
        )

    def configure(self, configs) -> None:
        self._text = configs["text"] * int(configs.get("times", 1))

    def apply(self, record):
        return record.new_record(value_schema=STRING_SCHEMA, value=f"{record.value}{self._text}")

    def close(self) -> None:
        return


class NoZz(ConnectorClientConfigOverridePolicy):
    """Forbids one key that no client has."""

    def configure(self, configs) -> None:
        return

    def validate(self, request):
        return [
            ConfigValue(name, value, error_messages=["zz is not for you"] if name == "zz" else [])
            for name, value in request.client_props.items()
        ]


class Doorman(RestExtension):
    """Rejects requests with the header `Doorman: no`."""

    def configure(self, configs) -> None:
        return

    def register(self, context) -> None:
        self._state = context.cluster_state()
        context.add_filter(self.look)
        context.add_resource("GET", "/doorman/{connector}", self.tell)

    def look(self, request):
        return RestResponse(403, b"not today") if request.headers.get("doorman") == "no" else None

    def tell(self, request):
        tasks = self._state.connector_health(request.path_params["connector"]).tasks_state.values()
        shown = {"running": sum(task.state == "RUNNING" for task in tasks), "pid": os.getpid()}
        return RestResponse(body=json.dumps(shown).encode())
