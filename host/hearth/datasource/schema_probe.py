"""Finding out what a source's records look like: its first task runs until its first records, and nothing is kept."""

from __future__ import annotations

import time
from contextlib import ExitStack

from hearth.staging.place import BRIEF_STAGES
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth_api import ConnectError, Schema
from hearth_stage.task_call import SourceStarted


class NoRecords(ConnectError):
    """There were no records by which the columns could be typed."""

    code = "datasource.no_records"


def first_schemas(plan: PluginPlan, milliseconds: int) -> tuple[Schema | None, Schema | None]:
    """Return the schemas of key and value of the first record that is not dropped, as the transformations left it.

    A key that is null in every record of the first batch has no schema.
    """
    task = PolledTask(
        plan, lambda partitions: [None] * len(partitions),
        ahead=1, admit=_refuse_acknowledging, open_stage=BRIEF_STAGES,
    )  # fmt: skip
    until = time.monotonic() + milliseconds / 1000
    with ExitStack() as opened:
        task.open(opened)
        while (left := until - time.monotonic()) > 0:
            taken = task.take(left)
            if not isinstance(taken, Transformed):
                continue
            for failure in taken.failures if not plan.settings.is_tolerant else ():
                raise failure.error.to_error()
            for batch in taken.batches:
                if batch.num_rows:
                    return batch.key_schema, batch.value_schema
    raise NoRecords(
        f"{plan.connector_class} has had no record for {milliseconds} ms, so nobody knows what its columns are",
        hint="give the read a .schema(...), or wait longer with hearth.probe.ms",
    )


def _refuse_acknowledging(started: SourceStarted) -> None:
    """Raise for a task that wants to hear what it may let go of: what it gives belongs to the read itself."""
    if started.wants_commits or started.wants_records:
        raise ConnectError(
            "this source acknowledges upstream what was read, so it is not polled to find out its columns",
            hint="give the read a .schema(...)",
            code="datasource.acknowledging",
        )
