"""Where plugins run, and how they come there.

Plugins installed with the host run in a ``LocalPlace``, inside this process. Everything from plugin.path runs in the
stage process of its environment, behind a ``StagePlace`` (invariant 6).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol, TypeVar

from hearth.foundation.log_context import label_of
from hearth.isolation.stage import Stage
from hearth.staging.plugin_plan import PluginPlan
from hearth_execution.plugins import Plugins
from hearth_execution.retry import Retry
from hearth_stage.call import PluginCall
from hearth_stage.channel import Request
from hearth_stage.plugin_call import Configure, Load, WantedPlugin

R = TypeVar("R")

OpenStage = Callable[..., Stage]
"""Opens a stage, with the arguments of ``TenantStages.open``."""
OWN_STAGES: OpenStage = partial(Stage.open, has_columns=True)
"""Each has a process of its own."""
BRIEF_STAGES: OpenStage = partial(Stage.open, has_columns=True, more_follow=True)
"""Likewise, for work that is over soon and followed by more: the next ones of an environment are there at once."""


class Place(Protocol):
    """Does what is asked of its plugins."""

    def do(self, call: PluginCall[R]) -> R:
        """Do a call, and return what it is answered with."""

    def begin(self, call: PluginCall[R]) -> Callable[[], R]:
        """Begin a call, behind those that were begun before; what is returned waits for the answer, and returns it."""

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Return what writes values for a converter here and now, None where nothing does."""

    def close(self) -> None:
        """Close the plugins."""


class LocalPlace:
    """Plugins installed with the host, inside this process: a call is run."""

    def __init__(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        self.close = self._plugins.close
        self.row_writer = self._plugins.row_writer

    def do(self, call: PluginCall[R]) -> R:
        """Run a call."""
        return call.run(self._plugins)

    def begin(self, call: PluginCall[R]) -> Callable[[], R]:
        """Run a call: there is nobody else to do it meanwhile."""
        answer = call.run(self._plugins)
        return lambda: answer


class StagePlace:
    """Plugins of a bundle, in the stage process of its environment: a call is sent."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.close = stage.close

    def do(self, call: PluginCall[R]) -> R:
        """Send a call and wait for its answer."""
        return self.stage.call(call)

    def begin(self, call: PluginCall[R]) -> Callable[[], R]:
        """Send a call; the time it may take is counted from when its answer is waited for."""
        return partial(self.stage.result, self.stage.begin(call), call.op)

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Return nothing: what writes there is in another process."""
        return None


class PlaceOpener:
    """Starts the stages of a task's environments and loads its plugins, the connector's own excepted.

    ``answer`` takes what the stages ask and say, on their reader threads; ``on_death`` is given a stage whose process
    has ended, ``watch`` each that was begun, before it has spoken. ``retry`` is what the plugins' errors are held
    against. Everything opened is closed by the stack given to ``open``.
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
        """Return the task's own stage, and the places of all environments; the key of the host's own is ``None``."""
        plan = self._plan
        home = plan.plugin("task").environment
        assert home is not None, "a task runs in a stage process, never in the runtime (invariant 6)"
        stages = {
            environment: self._open_stage(opened, environment)
            for environment in dict.fromkeys([home, *(plugin.environment for plugin in plan.plugins)])
            if environment is not None
        }
        local = LocalPlace(plan.type, self._retry)
        opened.callback(local.close)
        places: dict[str | None, Place] = {None: local} | {key: StagePlace(stage) for key, stage in stages.items()}
        for environment, place in places.items():
            place.do(loading(plan, environment))
        return stages[home], places

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
    """Return the call that loads what a task needs of one environment; the task itself is started later."""
    plugins = [each for each in plan.plugins if each.environment == environment and each.role != "task"]
    return Load([WantedPlugin(each.role, each.class_name, each.reference, each.config) for each in plugins])
