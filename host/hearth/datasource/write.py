"""Writes of DataFrames to a sink: batches, and the micro-batches of a query."""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import orjson
from pyspark import TaskContext
from pyspark.sql import types as spark
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from hearth.config.sink_key import TOPICS
from hearth.datasource.dead_letter_file import DeadLetterFile, absolute
from hearth.datasource.instruction import instructive
from hearth.datasource.kept_task import KeptTasks, is_worker_kept
from hearth.datasource.option import Options
from hearth.datasource.planning import planned
from hearth.datasource.row_form import RowForm
from hearth.datasource.written_task import Forbearance, WrittenTask
from hearth.discovery import PluginType
from hearth.spark.environment_archive import unpacked
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import ConfigError, ConnectError
from hearth_stage.form import codec_of

TOPIC = "topic"
DEFAULT_TOPIC = "hearth"
"""The topic of rows that name none, where the options name none either."""
MOST_BATCH_ID = (1 << 31) - 1
BETWEEN_PARTITIONS = 2.0
"""How many seconds a task is kept for the next partition of the same batch write."""
_FLUSHING = re.compile(r"flush|rotat|commit|linger|batch|buffer|upload", re.IGNORECASE)
"""What keys are called that say when a connector writes what it has."""
_BATCH_ID, _QUERY = "streaming.sql.batchId", "sql.streaming.queryId"
"""What Spark tells the tasks of a query, as local properties."""

_kept: KeptTasks[WrittenTask] = KeptTasks()


class NotAppended(ConfigError):
    """What a sink is given is added to what it has; nothing there can be replaced."""

    code = "datasource.mode"


@dataclass
class Written(WriterCommitMessage):  # type: ignore[misc]
    """What became of a partition: its rows, and those among them that are dead letters now."""

    rows: int
    dead_letters: int


@dataclass(frozen=True)
class WritePlan:
    """What executors are told of a write: each partition is written by one of the tasks of ``plans``.

    ``prints`` tell the plans apart. A query has the ``batch_id`` of its micro-batch from Spark, here it is ``None``.
    """

    id: str
    plans: tuple[PluginPlan, ...]
    prints: tuple[str, ...]
    schema: spark.StructType
    topic: str
    value: str
    batch_id: int | None
    dead_letters: str | None
    forbearance: Forbearance
    keep_seconds: float

    @classmethod
    def of(cls, given: Mapping[str, str], schema: spark.StructType, *, replaces: bool, is_batch: bool) -> WritePlan:
        """Plan a write on the driver; raises ConfigError for what cannot be written so."""
        if replaces:
            raise NotAppended(
                "a sink cannot replace what it has",
                hint='write with mode("append"), a query with outputMode("append")',
            )
        options = Options.parse(given)
        settings = options.settings
        topic = _topic(options.config)
        RowForm.of(schema, topic, settings.value)
        known = planned(replace(options, config={TOPICS: topic, **options.config}), PluginType.SINK)
        if not known.plans:
            raise ConnectError(f"{known.connector.class_name} has no tasks for this configuration, so nobody writes")
        keys = tuple(key for key in known.keys if _FLUSHING.search(key))
        return cls(
            id=str(uuid.uuid4()),
            plans=known.plans,
            prints=tuple(map(_print, known.plans)),
            schema=schema,
            topic=topic,
            value=settings.value,
            batch_id=_batch_id(settings.batch_id) if is_batch else None,
            dead_letters=None if settings.dead_letters is None else absolute(settings.dead_letters),
            forbearance=Forbearance(settings.retry_ms / 1000, settings.flush_ms / 1000, keys),
            keep_seconds=min(settings.keep_ms / 1000, BETWEEN_PARTITIONS) if is_batch else settings.keep_ms / 1000,
        )

    def write(self, rows: Iterator[Any]) -> Written:
        """Write the partition that Spark has this process at: all of it is durable when this returns."""
        context = TaskContext.get()
        assert context is not None, "Spark writes partitions in tasks"
        batch_id, partition = self.batch_id, context.partitionId()
        if batch_id is None:
            batch_id = int(context.getLocalProperty(_BATCH_ID) or 0)
        letters = None if self.dead_letters is None else DeadLetterFile(self.dead_letters, batch_id, partition)
        with instructive():
            try:
                count = self._write(rows, context.getLocalProperty(_QUERY) or self.id, partition, batch_id, letters)
            except BaseException:
                if letters is not None:
                    letters.discard()
                raise
        return Written(count, 0 if letters is None else letters.count)

    def _write(
        self, rows: Iterator[Any], query: str, partition: int, batch_id: int, letters: DeadLetterFile | None
    ) -> int:
        """Write rows with a task that is kept, or begun for them; where there are none no task is."""
        first = next((data for data in rows if data.num_rows), None)
        if first is None:
            if letters is not None:
                letters.commit()
            return 0
        number = partition % len(self.plans)
        form = RowForm.of(self.schema, self.topic, self.value)
        seconds = self.keep_seconds if is_worker_kept() else 0.0
        with _kept.using((query, number, self.prints[number]), lambda: self._begun(number), seconds) as task:
            return task.write(chain([first], rows), form, partition, batch_id, letters)

    def _begun(self, number: int) -> WrittenTask:
        plan = self.plans[number]
        here = {key: unpacked(environment) for key, environment in plan.environments.items()}
        return WrittenTask(
            replace(plan, environments=here), self.forbearance, has_letters=self.dead_letters is not None
        )


class HearthWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writes a DataFrame once."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[Any]) -> Written:
        """Write a partition, on an executor."""
        return self._plan.write(iterator)


class HearthStreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the micro-batches of a query."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[Any]) -> Written:
        """Write a partition of a micro-batch, on an executor."""
        return self._plan.write(iterator)


def batch_writer(given: Mapping[str, str], schema: spark.StructType, overwrite: bool) -> HearthWriter:
    """Return what writes a DataFrame with these columns as options say."""
    with instructive():
        return HearthWriter(WritePlan.of(given, schema, replaces=overwrite, is_batch=True))


def stream_writer(given: Mapping[str, str], schema: spark.StructType, overwrite: bool) -> HearthStreamWriter:
    """Return what writes the micro-batches of a query likewise."""
    with instructive():
        return HearthStreamWriter(WritePlan.of(given, schema, replaces=overwrite, is_batch=False))


def _topic(config: Mapping[str, str]) -> str:
    """Return the topic of rows that name none: by ``topic``, or by ``topics`` where that is a single one."""
    listed = [each.strip() for each in config.get(TOPICS, "").split(",") if each.strip()]
    if config.get(TOPIC, "").strip():
        return config[TOPIC].strip()
    return listed[0] if len(listed) == 1 else DEFAULT_TOPIC


def _batch_id(given: int | None) -> int:
    """Return which batch a batch write is: the one that the user says, or one of its own by the time of the write."""
    if given is None:
        return int(time.time()) & MOST_BATCH_ID
    if not 0 <= given <= MOST_BATCH_ID:
        raise ConfigError("hearth.batch.id", given, f"Value must be from 0 to {MOST_BATCH_ID}")
    return given


def _print(plan: PluginPlan) -> str:
    """Return a text that is another for another plan, and shows nothing of it."""
    return hashlib.sha256(orjson.dumps(codec_of(PluginPlan).write(plan))).hexdigest()
