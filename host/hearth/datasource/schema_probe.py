"""Determines the schemas of a source's records: runs its first task until the first records, and discards them."""

from __future__ import annotations

import time
from contextlib import ExitStack

from hearth.staging.place import BRIEF_STAGES
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth_api import ConnectError, Schema
from hearth_stage.task_call import SourceStarted


class NoRecords(ConnectError):
    """No record arrived to determine the types of the columns."""

    code = "datasource.no_records"


def first_schemas(plan: PluginPlan, milliseconds: int) -> tuple[Schema | None, Schema | None]:
    """Return the key and value schemas of the first record that remains after the transformations.

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
        f"{plan.connector_class} returned no record within {milliseconds} ms, so the types of its columns are unknown",
        hint="give the read a .schema(...), or wait longer with hearth.probe.ms",
    )


def _refuse_acknowledging(started: SourceStarted) -> None:
    """Raise ConnectError for a task that needs notifications of commits: the records belong to the read itself."""
    if started.wants_commits or started.wants_records:
        raise ConnectError(
            "this source acknowledges upstream what was read, so it is not polled to determine its columns",
            hint="give the read a .schema(...)",
            code="datasource.acknowledging",
        )
