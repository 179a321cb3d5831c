"""A source of numbers: in each of its partitions they increase by one, across restarts.

``ledger.partitions`` is the number of source partitions, which the tasks share; each writes to the Kafka partition of
the same number. While the file ``ledger.unwell`` exists, some polls are refused.
"""

from __future__ import annotations

import os
import random
import time

from hearth_api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigType,
    Importance,
    RetriableError,
    SourceConnector,
    SourceRecord,
    SourceTask,
)
from ledger.book import Book

REFUSED = 0.05
PAUSE_SECONDS = 0.02


class LedgerSourceConnector(SourceConnector):
    """Distributes the partitions among the tasks."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        low, high = Importance.LOW, Importance.HIGH
        return (
            ConfigDef()
            .define("topic", ConfigType.STRING, importance=high, doc="Topic the numbers are written to.")
            .define("ledger.folder", ConfigType.STRING, importance=high, doc="Folder of the books.")
            .define("ledger.unwell", ConfigType.STRING, importance=high, doc="While this file exists, polls may fail.")
            .define("ledger.seed", ConfigType.LONG, default=0, importance=low, doc="Seed of all random choices.")
            .define("ledger.partitions", ConfigType.INT, default=4, importance=low, doc="How many source partitions.")
            .define("ledger.most", ConfigType.INT, default=16, importance=low, doc="Most records of one at a poll.")
        )

    def start(self, props) -> None:
        self._props = dict(props)

    def task_class(self):
        return LedgerSourceTask

    def task_configs(self, max_tasks: int):
        partitions = [str(number) for number in range(int(self._props.get("ledger.partitions", 4)))]
        count = min(max_tasks, len(partitions))
        shares = [",".join(partitions[number::count]) for number in range(count)]
        return [
            {**self._props, "ledger.task": str(number), "ledger.share": share} for number, share in enumerate(shares)
        ]

    def stop(self) -> None:
        return


class LedgerSourceTask(SourceTask):
    """Continues the numbers of its partitions."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        self._book = Book(props["ledger.folder"], props["name"], props["ledger.task"])
        self._chance = random.Random(f"{props.get('ledger.seed', 0)} {props['ledger.task']}")
        self._topic, self._unwell = props["topic"], props["ledger.unwell"]
        self._most = int(props.get("ledger.most", 16))
        share = [int(each) for each in props["ledger.share"].split(",")]
        stored = self.context.offset_storage_reader().offsets([{"ledger": each} for each in share])
        self._next = {number: int(each["next"]) if each else 0 for number, each in zip(share, stored, strict=True)}
        self._book.note("begin", *(f"{number}:{following}" for number, following in self._next.items()))

    def poll(self):
        time.sleep(PAUSE_SECONDS)
        if os.path.exists(self._unwell) and self._chance.random() < REFUSED:
            raise RetriableError("unwell")
        return [
            self._record(number) for number in self._next for _ in range(self._chance.randint(0, self._most))
        ]

    def stop(self) -> None:
        self._book.close()

    def _record(self, partition: int) -> SourceRecord:
        number = self._next[partition]
        self._next[partition] = number + 1
        return SourceRecord(
            {"ledger": partition},
            {"next": number + 1},
            self._topic,
            kafka_partition=partition,
            value_schema=STRING_SCHEMA,
            value=f"{number} {self._book.run}",
        )
