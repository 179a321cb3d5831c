"""What becomes of records that a step could not process: errors.tolerance, as in a connector."""

from __future__ import annotations

from functools import partial

from hearth.staging.failure_log import FailureLog
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import Transformed
from hearth.staging.tolerance import Tolerance
from hearth_api.batch import Batch


def judged(taken: Transformed, plan: PluginPlan) -> list[Batch]:
    """Return what goes on of what was polled.

    Raises ToleranceExceeded with the first record that failed, where that is not tolerated.
    """
    if taken.failures:
        from hearth.runtime.polled_record import PolledRecord  # which names the record, and loads what writes to Kafka

        tolerance = Tolerance(plan.settings, FailureLog(plan.name, plan.settings))
        tolerance.judge(taken.failures, partial(PolledRecord, taken.origins))
    return taken.batches
