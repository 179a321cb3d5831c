"""A batch read: polls a source once, without stored offsets, until it is empty."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from hearth.datasource.data_source_error import instructive
from hearth.datasource.option import Options
from hearth.datasource.spark_socket import SentFirst
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.source_stage import Idle
from hearth_api import ConfigError, ConnectError
from hearth_stage.task_call import PollsEmpty, SourceStarted

WAIT_SECONDS = 60.0
AHEAD_BYTES = 1 << 25


class Acknowledging(ConfigError):
    """The source acknowledges records to its system, which a batch read cannot support: Spark may repeat the read."""

    code = "datasource.acknowledging"


@dataclass
class TaskPartition(InputPartition):  # type: ignore[misc]
    """One task of the connector, run by one Spark task."""

    plan: PluginPlan
    form: str
    most: int | None
    idle: Idle


class HearthReader(SentFirst, DataSourceReader):  # type: ignore[misc]
    """The reader of a batch read: plans on the driver, and its copies run the tasks on executors."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self._given: dict[str, str] = dict(given)
        self._schema = schema

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy on an executor, without the options."""
        return {"_given": {}, "_schema": self._schema}

    def partitions(self) -> list[InputPartition]:
        """Return the tasks of the connector."""
        from hearth.datasource.planning import planned
        from hearth.datasource.polled_rows import read_options
        from hearth.discovery import PluginType

        with instructive():
            options = Options.parse(self._given)
            settings = options.settings
            plans = planned(read_options(options), PluginType.SOURCE).plans
            if not plans:
                raise ConnectError(
                    f"{options.config['connector.class']} has no tasks for this configuration: nothing can be read"
                )
            idle = Idle.given(settings.idle_ms)
            return [TaskPartition(plan, settings.value, settings.max_records, idle) for plan in plans]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield the batches of a task until its source is empty or the maximum is reached."""
        from hearth.datasource.spark_batch import SparkBatches

        assert isinstance(partition, TaskPartition)
        with instructive():
            yield from rows_of(partition, SparkBatches(self._schema))


def rows_of(partition: TaskPartition, columns: Any) -> Iterator[Any]:
    """Yield the batches of one task for Spark; empty polls mark the end."""
    from hearth.datasource.polled_rows import PolledRows
    from hearth.datasource.read_ahead import ReadAhead
    from hearth.spark.environment_archive import here
    from hearth.staging.place import BRIEF_STAGES
    from hearth.staging.polled_task import PolledTask, Transformed

    plan = partition.plan
    task = PolledTask(
        here(plan), _nothing_stored,
        idle=partition.idle, admit=refuse_acknowledging, open_stage=BRIEF_STAGES,
    )  # fmt: skip
    rows = PolledRows(plan, task, columns, partition.form)
    over = threading.Event()

    def polled() -> Generator[Any, None, None]:
        left = partition.most
        with ExitStack() as opened:
            task.open(opened)
            while not over.is_set():
                taken = task.take(WAIT_SECONDS)
                if isinstance(taken, PollsEmpty):
                    return
                if not isinstance(taken, Transformed):
                    continue
                for count, batch in rows.of(taken):
                    if count:
                        yield batch if left is None else batch.slice(0, left)
                    left = None if left is None else max(0, left - count)
                    if left == 0:
                        return

    def stop() -> None:
        over.set()
        task.wake()

    yield from ReadAhead(polled(), lambda batch: batch.nbytes, AHEAD_BYTES, stop)


def refuse_acknowledging(started: SourceStarted) -> None:
    """Raise Acknowledging for a task that needs notifications of commits: a batch read never commits."""
    if started.wants_commits or started.wants_records:
        raise Acknowledging(
            "this source acknowledges upstream what was read, and a batch read is repeated by every action and retry",
            hint="use spark.readStream with a hearth.spool and .trigger(availableNow=True)",
        )


def _nothing_stored(partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    return [None] * len(partitions)
