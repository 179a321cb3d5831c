"""Plugins that misbehave on request: ``misbehave.how`` says how, ``misbehave.where`` in which method.

How: ``raise``, ``exit`` (``os._exit(3)``), ``kill`` (SIGKILL to itself), ``group`` (to its process group), ``hang``,
``hog`` (allocates memory without limit), ``mismatch`` (a source that returns every third number as text), ``shapeless``
(a source that soon returns a record with an invalid schema, and then never returns). Where: the name of a method,
``poll`` by default. The first ``misbehave.after`` calls of that method succeed.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from hearth_api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    Importance,
    Lambda,
    SinkConnector,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Transformation,
)


def definition() -> ConfigDef:
    """Return the keys that control the misbehaviour."""
    low = Importance.LOW
    return (
        ConfigDef()
        .define("misbehave.how", ConfigType.STRING, default="", importance=low, doc="In which way.")
        .define("misbehave.where", ConfigType.STRING, default="poll", importance=low, doc="In which method.")
        .define("misbehave.after", ConfigType.INT, default=0, importance=low, doc="After how many calls.")
        .define("topic", ConfigType.STRING, default="misbehaving", importance=low, doc="Topic of the source.")
    )


class Misbehaviour:
    """Counts the calls of the chosen method and misbehaves in the configured one."""

    def __init__(self, props) -> None:
        self.how = props.get("misbehave.how") or ""
        self.where = props.get("misbehave.where") or "poll"
        self.after = int(props.get("misbehave.after") or 0)
        self.calls = 0

    def __call__(self, where: str) -> None:
        if where != self.where:
            return
        self.calls += 1
        if self.calls > self.after and self.how:
            getattr(self, f"do_{self.how}")()

    def do_raise(self) -> None:
        raise RuntimeError(f"raised in {self.where} as configured")

    def do_exit(self) -> None:
        os._exit(3)

    def do_kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def do_group(self) -> None:
        os.killpg(0, signal.SIGKILL)

    def do_mismatch(self) -> None:
        """Do nothing: the source does it, which has the records."""

    def do_shapeless(self) -> None:
        """Do nothing: the source does it."""

    def do_hang(self) -> None:
        threading.Event().wait()

    def do_hog(self) -> None:
        taken = []
        while True:
            taken.append(bytearray(16 << 20))


def misbehave_now(name, value) -> None:
    """Misbehave in the validation of a value."""
    Misbehaviour({"misbehave.how": value, "misbehave.where": "validate"})("validate")


class Misbehaving:
    """The common part of the source and the sink connector."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return definition()

    def start(self, props) -> None:
        self._props = dict(props)
        Misbehaviour(props)("connector.start")

    def task_configs(self, max_tasks: int):
        Misbehaviour(self._props)("task_configs")
        return [{**self._props, "number": str(number)} for number in range(max_tasks)]

    def validate(self, props):
        Misbehaviour(props)("validate")
        return super().validate(props)

    def stop(self) -> None:
        Misbehaviour(self._props)("connector.stop")


class MisbehavingSourceConnector(Misbehaving, SourceConnector):
    """Writes numbers, until it misbehaves."""

    def task_class(self):
        return MisbehavingSourceTask


class MisbehavingSourceTask(SourceTask):
    """Writes a number every few milliseconds."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        self._misbehave = Misbehaviour(props)
        self._topic = props.get("topic") or "misbehaving"
        self._partition = {"task": props.get("number", "0")}
        self._misbehave("start")
        known = self.context.offset_storage_reader().offset(self._partition)
        self._next = int(known["next"]) if known else 0
        self.context.metrics().gauge("next-number", lambda: self._next, "The number that comes next.")

    def poll(self):
        self._misbehave("poll")
        if self._misbehave.how == "shapeless":
            return self._shapeless()
        time.sleep(0.01)
        number, self._next = self._next, self._next + 1
        offset = {"next": self._next}
        value = number if self._misbehave.how == "mismatch" and number % 3 == 2 else str(number)
        return [SourceRecord(self._partition, offset, self._topic, value_schema=STRING_SCHEMA, value=value)]

    def _shapeless(self):
        number, self._next = self._next, self._next + 1
        if number > 100:
            self._misbehave.do_hang()
        schema = STRING_SCHEMA if number < 100 else "text"
        return [SourceRecord(self._partition, {"next": number}, self._topic, value_schema=schema, value=str(number))]

    def commit(self) -> None:
        self._misbehave("commit")

    def stop(self) -> None:
        self._misbehave("stop")


class MisbehavingSinkConnector(Misbehaving, SinkConnector):
    """Receives records, until it misbehaves."""

    def task_class(self):
        return MisbehavingSinkTask


class MisbehavingSinkTask(SinkTask):
    """Discards its records."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        self._misbehave = Misbehaviour({"misbehave.where": "put", **props})
        self._misbehave("start")

    def put(self, records) -> None:
        self._misbehave("put")

    def flush(self, current_offsets) -> None:
        self._misbehave("flush")

    def stop(self) -> None:
        self._misbehave("stop")


class Misbehave(Transformation):
    """Passes records through, until it misbehaves."""

    def config(self) -> ConfigDef:
        check = Lambda(misbehave_now, "nothing that the host should survive")
        return definition().define("misbehave.now", ConfigType.STRING, "", check, Importance.LOW, "In which way.")

    def configure(self, configs) -> None:
        self._misbehave = Misbehaviour({"misbehave.where": "apply", **configs})
        self._misbehave("configure")

    def apply(self, record):
        self._misbehave("apply")
        return record
