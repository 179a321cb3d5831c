"""The places where plugins run.

Plugins installed with the host run in a ``LocalPlace``, inside this process. Plugins from plugin.path run in the stage
process of their environment, behind a ``StagePlace`` (invariant 6).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol, TypeVar

from hearth.foundation.log_context import label_of
from hearth.isolation.stage import Stage
from hearth.isolation.stage_connection import BRIEF_TASKS, TASKS
from hearth.staging.plugin_plan import PluginPlan
from hearth_execution.plugins import Plugins
from hearth_execution.retry import Retry
from hearth_stage.call import PluginCall
from hearth_stage.channel import Request
from hearth_stage.plugin_call import Configure, Load, WantedPlugin

R = TypeVar("R")

OpenStage = Callable[..., Stage]
"""Opens a stage, with the arguments of ``TenantStages.open``."""
OWN_STAGES: OpenStage = partial(Stage.open, kind=TASKS)
"""Each stage has its own process."""
BRIEF_STAGES: OpenStage = partial(Stage.open, kind=BRIEF_TASKS)


class Place(Protocol):
    """Executes calls of its plugins."""

    def do(self, call: PluginCall[R]) -> R:
        """Execute a call and return its answer."""

    def begin(self, call: PluginCall[R]) -> Callable[[], R]:
        """Start a call after those started before; the returned function waits for its answer and returns it."""

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Return a converter's writer of single values in this process, None if there is none."""

    def close(self) -> None:
        """Close the plugins."""


class LocalPlace:
    """Plugins installed with the host, inside this process: runs each call directly."""

    def __init__(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        self.close = self._plugins.close
        self.row_writer = self._plugins.row_writer

    def do(self, call: PluginCall[R]) -> R:
        """Run a call."""
        return call.run(self._plugins)

    def begin(self, call: PluginCall[R]) -> Callable[[], R]:
        """Run a call before returning: there is no other process to run it."""
        answer = call.run(self._plugins)
        return lambda: answer


class StagePlace:
    """Plugins of a bundle in the stage process of its environment: sends each call."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.close = stage.close

    def do(self, call: PluginCall[R]) -> R:
        """Send a call and wait for its answer."""
        return self.stage.call(call)

    def begin(self, call: PluginCall[R]) -> Callable[[], R]:
        """Send a call; its timeout starts when the answer is awaited."""
        return partial(self.stage.result, self.stage.begin(call), call.op)

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Return nothing: the writer would be in another process."""
        return None


class PlaceOpener:
    """Starts the stages of a task's environments and loads all of its plugins except the connector's.

    ``answer`` handles the stages' requests and notices on their reader threads; ``on_death`` is called with a stage
    whose process has ended, ``watch`` with each started stage before its hello. ``retry`` applies to errors of the
    plugins. The stack passed to ``open`` closes everything that was opened.
    """

    def __init__(
        self,
        plan: PluginPlan,
        answer: Callable[[Request], None],
        on_death: Callable[[Stage], None],
        retry: Retry,
        watch: Callable[[Stage], None] = lambda stage: None,
        open_stage: OpenStage = OWN_STAGES,
    ) -> None:
        self._plan, self._retry = plan, retry
        self._answer, self._on_death, self._watch = answer, on_death, watch
        self._open_new_stage = open_stage

    def open(self, opened: ExitStack) -> tuple[Stage, dict[str | None, Place]]:
        """Return the task's own stage and the places of all environments; the host's own has the key ``None``."""
        home = self._plan.plugin("task").environment
        assert home is not None, "a task runs in a stage process, never in the runtime (invariant 6)"
        stages, places = self._open_all(opened)
        return stages[home], places

    def open_places(self, opened: ExitStack) -> dict[str | None, Place]:
        """Return the places of all environments of a plan that has no task."""
        return self._open_all(opened)[1]

    def _open_all(self, opened: ExitStack) -> tuple[dict[str, Stage], dict[str | None, Place]]:
        plan = self._plan
        stages = {
            environment: self._open_stage(opened, environment)
            for environment in dict.fromkeys(plugin.environment for plugin in plan.plugins)
            if environment is not None
        }
        local = LocalPlace(plan.type, self._retry)
        opened.callback(local.close)
        places: dict[str | None, Place] = {None: local} | {key: StagePlace(stage) for key, stage in stages.items()}
        for environment, place in places.items():
            place.do(loading(plan, environment))
        return stages, places

    def _open_stage(self, opened: ExitStack, environment: str) -> Stage:
        plan, retry = self._plan, self._retry
        own = plan.environments[environment]
        label = label_of(plan.connector, plan.task)
        plugins = [f"{each.class_name} {each.version}" for each in plan.plugins if each.environment == environment]
        limit = plan.settings.call_timeout
        stage = self._open_new_stage(own, plan.name, self._answer, self._on_death, limit, label=label, plugins=plugins)
        opened.callback(stage.close)
        self._watch(stage)
        stage.await_hello()
        stage.call(Configure(plan.type, retry.timeout_ms, retry.delay_max_ms, retry.is_strict))
        return stage


def loading(plan: PluginPlan, environment: str | None) -> Load:
    """Return the call that loads the plugins of one environment; the task itself is started later."""
    plugins = [each for each in plan.plugins if each.environment == environment and each.role != "task"]
    return Load([WantedPlugin(each.role, each.class_name, each.reference, each.config) for each in plugins])
