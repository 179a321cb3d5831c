"""Plugins of one task in a stage process that tasks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hearth.foundation.log_context import about
from hearth.isolation.environment import Environment
from hearth.isolation.shared_stage import ProcessFull, SharedStage, SharedStages
from hearth.isolation.stage import Stage, named
from hearth.isolation.stage_error import StageBroken
from hearth_api import PluginError
from hearth_execution.failure import cut
from hearth_stage.channel import ChannelClosed, Request

IDLE_SECONDS = 10.0
"""How long a process that no task shares any more waits: one that is restarted finds it there."""


class StageLost(PluginError):
    """A process that several share let one of them down, who is to begin anew: nothing says that he is to blame.

    ``is_suspect`` where it did not answer him or could not be understood, which he may have done himself.
    """

    code = "stage.lost"

    def __init__(self, error: PluginError, *, is_suspect: bool) -> None:
        super().__init__(f"{error}, which it shares with others")
        self.trace = error.trace
        self.is_suspect = is_suspect


class StageTenant(Stage):
    """A part of a stage process: what ends it ends no neighbour, and none of its calls waits for another's.

    A plugin that hangs cannot be ended without its neighbours. It is left behind, and the process, which takes no
    further tenants from then on, ends with the last of them. Whatever the process does to it is told as a
    ``StageLost``.
    """

    is_at_work = False
    """It is told of the end of the process in any case."""

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
        """Pass a request on; what cannot be understood ends this tenant and nobody else."""
        try:
            with about(self._label):
                self._on_request(request)
        except ChannelClosed:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the others' connection is not to end with it
            if request.is_call:
                request.fail(error)
            elif not self._is_closed:
                self._lose(self.broken(error))

    def on_end(self, error: PluginError, is_known: bool) -> None:
        """Hear that the process has ended."""
        self._lose(StageLost(error, is_suspect=False))

    def timed_out(self, op: str, seconds: float) -> PluginError:
        """Return the error that says that a plugin did not answer; it is not waited for any more."""
        error = super().timed_out(op, seconds)
        self._abandon()
        return StageLost(error, is_suspect=True)

    def broken(self, fault: Exception) -> PluginError:
        """Return the error that says that a plugin's words cannot be understood."""
        self._abandon()
        text = cut(str(fault), 1000)
        return StageLost(self._told(StageBroken(self.name, text, self.last_words)), is_suspect=True)

    def died(self) -> PluginError:
        """Return the error that describes why the plugins cannot be called any more."""
        return self._loss or StageLost(super().died(), is_suspect=False)

    def close(self, grace: float = 1.0) -> None:
        """Stop what still runs of the tenant, unless it hangs, and leave."""
        was_closed, self._is_closed = self._is_closed, True
        if not was_closed:
            self._shared.dismiss(self._tenant, hangs=self._hangs)

    def kill(self) -> None:
        """Wait no longer for the plugins, which have not stopped in time."""
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
    """Opens a stage as ``Stage.open`` does, in a process that all share who want one of its environment here."""

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
        """Return a new tenant's stage."""
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
    return SharedStage(environment, name, IDLE_SECONDS, has_columns=True)
