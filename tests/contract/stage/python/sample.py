"""Plugins of the contract of a stage; ``java/sample`` has the same in Java."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, TypeVar

from hearth_api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    ConnectError,
    ConnectorTransactionBoundaries,
    ConnectRecord,
    DataError,
    ExactlyOnceSupport,
    Importance,
    RetriableError,
    SchemaBuilder,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Struct,
    TransactionContext,
    Transformation,
)

R = TypeVar("R", bound=ConnectRecord)


class Fickle(Transformation):
    """Drops ``drop``, fails on ``bad``, fails twice on ``later`` before it succeeds, and makes a tree of ``tree``."""

    tries = 0

    def config(self) -> ConfigDef:
        """Return one required key."""
        return ConfigDef().define("count", ConfigType.INT, importance=Importance.HIGH, doc="how many")

    def configure(self, configs: Any) -> None:
        """Need nothing."""

    def apply(self, record: R) -> R | None:
        """Judge the record by its value."""
        if record.value == "drop":
            return None
        if record.value == "bad":
            raise DataError("a bad record")
        if record.value == "later":
            self.tries += 1
            if self.tries < 3:
                raise RetriableError("not yet")
        return self._tree(record) if record.value == "tree" else record

    def _tree(self, record: R) -> R:
        tree = SchemaBuilder.struct().name("Tree").field("name", STRING_SCHEMA)
        child_schema = tree.itself()
        schema = tree.field("children", SchemaBuilder.array(child_schema).optional().build()).build()
        child = Struct(child_schema).put("name", "child")
        root = Struct(schema).put("name", "root").put("children", [child])
        return record.new_record(value_schema=schema, value=root)


class CountingSource(SourceConnector):
    """Polls three records at once, as long as there is no committed offset."""

    def version(self) -> str:
        """Return a version."""
        return "1.2"

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()

    def start(self, config: Any) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def task_class(self) -> type[SourceTask]:
        """Return the task."""
        return CountingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one task."""
        return [{"topic": "t"}]

    def exactly_once_support(self, connector_config: Any) -> ExactlyOnceSupport:
        """Return what the configuration says."""
        return ExactlyOnceSupport(connector_config["support"])

    def can_define_transaction_boundaries(self, connector_config: Any) -> ConnectorTransactionBoundaries:
        """Its tasks define none."""
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(self, connector_config: Any, offsets: Any) -> bool:
        """Refuse negative positions, and accept resets."""
        for partition, offset in offsets:
            if offset is not None and offset["position"] < 0:
                raise ConnectError(f"{partition['name']} is negative")
        return True


class CountingTask(SourceTask):
    """Fails after its records."""

    polls = 0

    def version(self) -> str:
        """Return a version."""
        return "1.2"

    def start(self, config: Any) -> None:
        """Read the committed offset."""
        found = self.context.offset_storage_reader().offset({"name": "n"})
        self.context.metrics().gauge("polls", lambda: self.polls, "Polls.", {"unit": "1"})
        self.context.metrics().gauge("rate", lambda: 1 // 0)
        self.first = 0 if found is None else found["position"]

    def poll(self) -> list[SourceRecord] | None:
        """Return records, then fail."""
        self.polls += 1
        if self.polls > 1:
            raise ValueError("no more")
        return [
            SourceRecord(
                {"name": "n"}, {"position": self.first + each}, "t", None, None, None, STRING_SCHEMA, f"v{each}"
            )
            for each in range(3)
        ]

    def stop(self) -> None:
        """Do nothing."""


class ChoosySink(SinkConnector):
    """Creates tasks that refuse some values."""

    def version(self) -> str:
        """Return a version."""
        return "3"

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()

    def start(self, config: Any) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def task_class(self) -> type[SinkTask]:
        """Return the task."""
        return ChoosyTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one task."""
        return [{}]


class ChoosyTask(SinkTask):
    """Refuses ``again`` with a retriable error, and asks for a commit on ``commit``."""

    def version(self) -> str:
        """Return a version."""
        return "3"

    def start(self, config: Any) -> None:
        """Need nothing."""

    def put(self, records: Collection[SinkRecord]) -> None:
        """Judge the records by their values."""
        for record in records:
            if record.value == "again":
                raise RetriableError("again")
            if record.value == "commit":
                self.context.request_commit()

    def stop(self) -> None:
        """Do nothing."""


class DrippingSource(SourceConnector):
    """Polls forty records, one at a time, and then none."""

    def version(self) -> str:
        """Return a version."""
        return "1"

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()

    def start(self, config: Any) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def task_class(self) -> type[SourceTask]:
        """Return the task."""
        return DrippingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one task."""
        return [{}]


class DrippingTask(SourceTask):
    """Ends with empty polls, or fails if configured to."""

    polls = 0

    def version(self) -> str:
        """Return a version."""
        return "1"

    def start(self, config: Any) -> None:
        """Keep whether to fail."""
        self.fails = "fails" in config

    def poll(self) -> list[SourceRecord] | None:
        """Return a record."""
        if self.polls >= 40:
            if self.fails:
                raise ValueError("no more")
            time.sleep(0.001)
            return None
        self.polls += 1
        value = f"v{self.polls - 1}"
        return [SourceRecord({"name": "n"}, {"position": self.polls}, "t", None, None, None, STRING_SCHEMA, value)]

    def stop(self) -> None:
        """Do nothing."""


class BoundedSource(SourceConnector):
    """Polls numbers, three at a time, and says where transactions end."""

    def version(self) -> str:
        """Return a version."""
        return "1"

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()

    def start(self, config: Any) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def task_class(self) -> type[SourceTask]:
        """Return the task."""
        return BoundedTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one task."""
        return [{}]


class BoundedTask(SourceTask):
    """Commits after the second number and after the third poll, and aborts after the fourth number."""

    number = 0

    def version(self) -> str:
        """Return a version."""
        return "1"

    def start(self, config: Any) -> None:
        """Read whether it tears a transaction."""
        self.is_torn = "torn" in config
        self.transactions = self.context.transaction_context()

    def poll(self) -> list[SourceRecord] | None:
        """Return three records until there were nine."""
        if self.number >= 9:
            time.sleep(0.001)
            return None
        records = [
            SourceRecord({"name": "n"}, {"position": each + 1}, "t", value_schema=STRING_SCHEMA, value=f"v{each}")
            for each in range(self.number, self.number + 3)
        ]
        self.number += 3
        if self.transactions is not None:
            self._end(self.transactions, records)
        return records

    def _end(self, transactions: TransactionContext, records: list[SourceRecord]) -> None:
        if self.number == 3:
            transactions.commit_transaction(records[1])
        elif self.number == 6:
            transactions.abort_transaction(records[0])
        else:
            transactions.commit_transaction()
        if self.is_torn:
            transactions.commit_transaction(records[2])
            transactions.abort_transaction(records[2])

    def stop(self) -> None:
        """Do nothing."""
