"""Starts a sink task in its stage."""

from __future__ import annotations

from collections.abc import Sequence

from hearth.isolation.stage import Stage
from hearth.staging.chain import step_of
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth_stage.task_call import SinkStarted, StartSink


def start_sink(
    stage: Stage, plan: PluginPlan, inside: Sequence[PluginSpec], *, has_reporter: bool, is_tolerant: bool
) -> SinkStarted:
    """Start the task in its stage; returns what it accepts.

    ``inside`` are the transformations that run there; with a reporter the task may report records that it rejects.
    """
    steps = [step_of(plugin) for plugin in inside]
    task = plan.plugin("task")
    return stage.call(StartSink(task.reference, dict(plan.task_config), steps, has_reporter, is_tolerant))
