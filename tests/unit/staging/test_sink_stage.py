"""How a sink task is started in its stage."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hearth.isolation.stage import Stage
from hearth.staging.sink_stage import start_sink
from hearth_execution.transformation import Step
from hearth_stage.task_call import SinkStarted, StartSink
from tests.unit.runtime.sample import plugin, task_plan


class FakeStage:
    """Records its calls."""

    def call(self, call: StartSink) -> SinkStarted:
        """Answer."""
        self.heard = call
        return SinkStarted("1", columns=["value"])


@pytest.mark.parametrize("has_reporter", [True, False])
def test_task_is_started_with_steps_and_reporter(has_reporter: bool) -> None:
    """The caller gets what the task accepts."""
    step = plugin("transforms.a", "Upper", "bundle", predicate="predicates.p", negate=True)
    stage: Any = FakeStage()
    plan = task_plan("sink", step)
    started = start_sink(cast(Stage, stage), plan, [step], has_reporter=has_reporter, is_tolerant=not has_reporter)
    assert started.columns == ["value"]
    steps = [Step("transforms.a", "predicates.p", True)]
    assert stage.heard == StartSink("sample_plugins:Connector", {}, steps, has_reporter, not has_reporter)
