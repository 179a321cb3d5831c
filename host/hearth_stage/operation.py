"""All operations of the stage protocol, by who says them; ``PROTOCOL.md`` lists the same in section 7."""

from __future__ import annotations

from dataclasses import dataclass

from hearth_stage import connector_call, conversion_call, log_call, plugin_call, task_call
from hearth_stage.call import Message, Notice, Operations, operations


@dataclass(frozen=True)
class Hello(Notice, op="hello"):
    """A stage's first word: the version of the protocol it speaks."""

    protocol: int
    pid: int | None = None


class WithWorkers(dict[str, type[Message]]):
    """Operations, and those for plugins of the worker, loaded when one is asked for: few stages serve any."""

    def __init__(self, own: Operations, further: str) -> None:
        super().__init__(own)
        self._further = further

    def __missing__(self, op: str) -> type[Message]:
        """Return what is about plugins of the worker; raises ``KeyError`` for what nobody knows."""
        if op.partition(".")[0] not in ("policy", "provider", "extension", "cluster"):
            raise KeyError(op)
        return self.all()[op]

    def all(self) -> Operations:
        """Return the operations with those for plugins of the worker."""
        from hearth_stage import worker_operation

        further: Operations = getattr(worker_operation, self._further)
        return {**self, **further}


_TO_STAGE = operations(
    plugin_call.Ping,
    plugin_call.AskStacks,
    plugin_call.Stopping,
    log_call.SetLevels,
    plugin_call.Describe,
    plugin_call.Validate,
    plugin_call.Configure,
    plugin_call.Load,
    plugin_call.Apply,
    plugin_call.AskPredicate,
    conversion_call.Serialize,
    conversion_call.Deserialize,
    conversion_call.SerializeHeaders,
    conversion_call.DeserializeHeaders,
    task_call.StartSource,
    task_call.AddCredit,
    task_call.HoldPolling,
    task_call.ResumePolling,
    task_call.CommitSource,
    task_call.CommitRecords,
    task_call.StopSource,
    task_call.StartSink,
    task_call.OpenPartitions,
    task_call.Put,
    task_call.PreCommit,
    task_call.ClosePartitions,
    task_call.StopSink,
    connector_call.LoadConnector,
    connector_call.StartConnector,
    connector_call.AskTaskConfigs,
    connector_call.AlterOffsets,
    connector_call.StopConnector,
)
TO_STAGE = WithWorkers(_TO_STAGE, "TO_STAGE")
"""What a runtime may say to a stage."""

_FROM_STAGE = operations(
    Hello,
    task_call.ReadOffsets,
    task_call.HandOver,
    task_call.PollFailed,
    task_call.ContextRequest,
    task_call.ReportRecord,
    connector_call.RequestReconfiguration,
    connector_call.RaiseError,
)
FROM_STAGE = WithWorkers(_FROM_STAGE, "FROM_STAGE")
"""What a stage may say to its runtime."""
