"""All operations of the stage protocol, by who says them; ``PROTOCOL.md`` lists the same in section 7."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hearth_stage import connector_call, conversion_call, log_call, plugin_call, task_call
from hearth_stage.call import Message, Notice, Operations, operations


@dataclass(frozen=True)
class Hello(Notice, op="hello"):
    """A stage's first word: the version of the protocol it speaks."""

    protocol: int
    pid: int | None = None


class WithWorkers(Mapping[str, type[Message]]):
    """Operations, and those for plugins of the worker, loaded when one is asked for: few stages serve any."""

    def __init__(self, own: Operations, further: str) -> None:
        self._own, self._further = own, further

    def __getitem__(self, op: str) -> type[Message]:
        """Return the message of a name; raises ``KeyError``."""
        return (self._all() if is_of_worker(op) else self._own)[op]

    def __iter__(self) -> Iterator[str]:
        """Yield all names."""
        return iter(self._all())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all())

    def _all(self) -> Operations:
        from hearth_stage import worker_operation

        return {**self._own, **getattr(worker_operation, self._further)}


def is_of_worker(op: str) -> bool:
    """Return whether an operation is about plugins of the worker."""
    return op.partition(".")[0] in ("policy", "provider", "extension", "cluster")


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
