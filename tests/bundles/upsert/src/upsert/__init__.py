"""A sink that upserts into SQLite: one row for each topic, partition and offset, with the number of deliveries.

``dieOnce`` names a file: a task that has committed rows dies before reporting it, unless the file exists, which it
creates first. With ``resumes`` a task requests offsets after the database's last one of a partition.
"""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

from hearth_api import ConfigDef, ConfigType, Importance, SinkConnector, SinkTask

_TABLE = (
    "CREATE TABLE IF NOT EXISTS written (topic TEXT, partition INT, offset INT, value TEXT, headers TEXT, times INT, "
    "PRIMARY KEY (topic, partition, offset))"
)
_UPSERT = (
    "INSERT INTO written VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT (topic, partition, offset) "
    "DO UPDATE SET value = excluded.value, times = times + 1"
)


class UpsertSinkConnector(SinkConnector):
    """Passes its configuration to every task."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return (
            ConfigDef()
            .define("databaseFile", ConfigType.STRING, importance=Importance.HIGH, doc="The database.")
            .define("dieOnce", ConfigType.STRING, default="", importance=Importance.LOW, doc="File of a death.")
            .define("resumes", ConfigType.BOOLEAN, default=False, importance=Importance.LOW, doc="Whether it skips.")
        )

    def start(self, props) -> None:
        self._props = dict(props)

    def task_class(self):
        return UpsertSinkTask

    def task_configs(self, max_tasks: int):
        return [self._props] * max_tasks

    def stop(self) -> None:
        return


class UpsertSinkTask(SinkTask):
    """Writes rows, and commits them in flush."""

    def version(self) -> str:
        return "1.0"

    def start(self, props) -> None:
        self._die_once, self._resumes = props.get("dieOnce", ""), props.get("resumes") == "true"
        self._database = sqlite3.connect(props["databaseFile"], timeout=60, check_same_thread=False)
        self._database.execute(_TABLE)
        self._database.commit()

    def open(self, partitions) -> None:
        for each in partitions if self._resumes else ():
            query = "SELECT max(offset) FROM written WHERE topic = ? AND partition = ?"
            ((last,),) = self._database.execute(query, (each.topic, each.partition))
            if last is not None:
                self.context.offset(each, last + 1)

    def put(self, records) -> None:
        self._database.executemany(_UPSERT, [_row(each) for each in records])

    def flush(self, current_offsets) -> None:
        self._database.commit()
        if self._die_once and current_offsets and not Path(self._die_once).exists():
            Path(self._die_once).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def stop(self) -> None:
        self._database.close()


def _row(record):
    headers = ",".join(f"{header.key}={header.value}" for header in record.headers)
    return record.topic, record.kafka_partition, record.kafka_offset, str(record.value), headers
