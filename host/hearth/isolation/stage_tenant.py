"""The plugins of one task in a stage process that several tasks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hearth.foundation.log_context import about
from hearth.isolation.environment import Environment
from hearth.isolation.shared_stage import ProcessFull, SharedStage, SharedStages
from hearth.isolation.stage import Stage, named
from hearth.isolation.stage_connection import TASKS
from hearth.isolation.stage_error import StageBroken
from hearth_api import PluginError
from hearth_execution.failure import cut
from hearth_stage.channel import ChannelClosed, Request

IDLE_SECONDS = 10.0
"""How long a process without tasks waits: a restarted task finds it still running."""


class StageLost(PluginError):
    """A shared process failed one of its tenants, which has to restart: it may not be at fault.

    ``is_suspect`` if the tenant itself may be the cause: its call was not answered, or its message was malformed.
    """

    code = "stage.lost"

    def __init__(self, error: PluginError, *, is_suspect: bool) -> None:
        super().__init__(f"{error}, which it shares with others")
        self.trace = error.trace
        self.is_suspect = is_suspect


class StageTenant(Stage):
    """One tenant of a stage process: its failure ends no other tenant, and its calls wait for no other's.

    A hanging plugin cannot be ended alone. It stays in the process, which accepts no more tenants and ends with the
    last of them. Every failure of the process is raised as ``StageLost``.
    """

    is_at_work = False
    """It is notified of the end of the process whether it has a call open or not."""

    def __init__(
        self,
        shared: SharedStage,
        name: str,
        on_request: Callable[[Request], None],
        on_death: Callable[[Stage], None],
        limit: float | None,
        label: str,
        plugins: str = "",
    ) -> None:
        self._shared = shared
        self._on_request, self._on_death = on_request, on_death
        self._label = label
        self._hangs = self._is_closed = False
        self._loss: StageLost | None = None
        super().__init__(shared.stage.connection, name, limit, plugins, tenant=shared.admit(self))
        self.connection.labels[self._tenant] = label

    @property
    def is_alive(self) -> bool:
        """Return whether its plugins can still be called."""
        return self._loss is None and not self._is_closed and super().is_alive

    def take(self, request: Request) -> None:
        """Handle a request; a malformed one ends this tenant only."""
        try:
            with about(self._label):
                self._on_request(request)
        except ChannelClosed:
            raise
        except Exception as error:  # noqa: BLE001 - no error may end the connection of other tenants
            if request.is_call:
                request.fail(error)
            elif not self._is_closed:
                self._lose(self.broken(error))

    def on_end(self, error: PluginError, is_known: bool) -> None:
        """Handle the end of the process."""
        self._lose(StageLost(error, is_suspect=False))

    def timed_out(self, op: str, seconds: float) -> PluginError:
        """Return the error for a plugin that did not answer, and stop waiting for it."""
        error = super().timed_out(op, seconds)
        self._abandon()
        return StageLost(error, is_suspect=True)

    def broken(self, fault: Exception) -> PluginError:
        """Return the error for a malformed message of a plugin."""
        self._abandon()
        text = cut(str(fault), 1000)
        return StageLost(self._with_plugins(StageBroken(self.name, text, self.last_words)), is_suspect=True)

    def died(self) -> PluginError:
        """Return the error that says why the plugins cannot be called."""
        return self._loss or StageLost(super().died(), is_suspect=False)

    def close(self, grace: float = 1.0) -> None:
        """Stop the tenant's plugins, unless one hangs, and leave the process."""
        was_closed, self._is_closed = self._is_closed, True
        if not was_closed:
            self._shared.dismiss(self._tenant, hangs=self._hangs)

    def kill(self) -> None:
        """Stop waiting for plugins that did not stop in time."""
        self._abandon()
        self.let_go(PluginError(f"the plugins of {self.name} did not stop in time", code="stage.hangs"))

    def _abandon(self) -> None:
        self._hangs = True
        self._shared.retire()

    def _lose(self, loss: PluginError) -> None:
        assert isinstance(loss, StageLost)
        self._loss = loss
        self._on_death(self)


class TenantStages:
    """Opens stages like ``Stage.open``, in one process per environment that all tasks here share."""

    def __init__(self) -> None:
        self._stages = SharedStages(_started)

    def open(
        self,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None],
        on_death: Callable[[Stage], None],
        limit: float | None = None,
        label: str = "",
        plugins: Sequence[str] = (),
    ) -> Stage:
        """Return the stage of a new tenant."""
        while True:
            shared = self._stages.open(environment, name)
            try:
                return StageTenant(shared, name, on_request, on_death, limit, label, named(plugins, environment))
            except ProcessFull:
                continue

    def close(self) -> None:
        """End all processes."""
        self._stages.close()


def _started(environment: Environment, name: str) -> SharedStage:
    return SharedStage(environment, name, IDLE_SECONDS, TASKS)
