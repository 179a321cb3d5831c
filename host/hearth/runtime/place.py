"""Places: where the plugins of one environment run, seen from the pipeline.

Plugins installed with the host run in a ``LocalPlace``, inside this process. Everything from plugin.path runs in the
stage process of its environment, behind a ``StagePlace`` (invariant 6).
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from hearth.isolation.stage import Stage
from hearth_execution.plugins import Plugins
from hearth_execution.retry import Retry
from hearth_stage.call import PluginCall

R = TypeVar("R")


class Place(Protocol):
    """Does what is asked of its plugins."""

    def do(self, call: PluginCall[R]) -> R:
        """Do a call, and return what it is answered with."""

    def close(self) -> None:
        """Close the plugins."""


class LocalPlace:
    """Plugins installed with the host, inside this process: a call is run."""

    def __init__(self, type_: str, retry: Retry) -> None:
        self._plugins = Plugins(type_, retry)
        self.close = self._plugins.close

    def do(self, call: PluginCall[R]) -> R:
        """Run a call."""
        return call.run(self._plugins)


class StagePlace:
    """Plugins of a bundle, in the stage process of its environment: a call is sent."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.close = stage.close

    def do(self, call: PluginCall[R]) -> R:
        """Send a call and wait for its answer."""
        return self.stage.call(call)
