"""The connector and its task."""

from __future__ import annotations

import time
from collections.abc import Mapping

import greeting

from hearth_api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    Importance,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Task,
)


class GreetingSourceConnector(SourceConnector):
    """Writes ``count`` greetings to ``topic``, each with the version of the library."""

    def version(self) -> str:
        return "1.1"

    def config(self) -> ConfigDef:
        return (
            ConfigDef()
            .define("topic", ConfigType.STRING, importance=Importance.HIGH, doc="Topic of the greetings.")
            .define("count", ConfigType.INT, default=10, importance=Importance.LOW, doc="How many to write.")
        )

    def start(self, props: Mapping[str, str]) -> None:
        self._props = dict(props)

    def task_class(self) -> type[Task]:
        return GreetingSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._props, "number": str(number)} for number in range(max_tasks)]

    def stop(self) -> None:
        return


class GreetingSourceTask(SourceTask):
    """Writes the greetings of one task, each once over all restarts."""

    def version(self) -> str:
        return "1.1"

    def start(self, props: Mapping[str, str]) -> None:
        self._topic = props["topic"]
        self._count = int(props.get("count", "10"))
        self._partition = {"task": props["number"]}
        known = self.context.offset_storage_reader().offset(self._partition)
        self._next = int(known["next"]) if known else 0

    def poll(self) -> list[SourceRecord] | None:
        if self._next >= self._count:
            time.sleep(0.05)
            return None
        number, self._next = self._next, self._next + 1
        text = greeting.greet(f"record {number}")
        offset = {"next": self._next}
        return [SourceRecord(self._partition, offset, self._topic, value_schema=STRING_SCHEMA, value=text)]

    def stop(self) -> None:
        return
