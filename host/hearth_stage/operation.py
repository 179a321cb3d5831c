"""All operations of the stage protocol, by who says them; ``PROTOCOL.md`` lists the same in section 7."""

from __future__ import annotations

from dataclasses import dataclass

from hearth_stage import (
    connector_call,
    conversion_call,
    extension_call,
    log_call,
    plugin_call,
    policy_call,
    provider_call,
    task_call,
)
from hearth_stage.call import Notice, operations


@dataclass(frozen=True)
class Hello(Notice, op="hello"):
    """A stage's first word: the version of the protocol it speaks."""

    protocol: int
    pid: int | None = None


TO_STAGE = operations(
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
    policy_call.ConfigurePolicy,
    policy_call.JudgeOverrides,
    extension_call.LoadExtension,
    extension_call.JudgeRequest,
    extension_call.ServeRequest,
    provider_call.LoadProvider,
    provider_call.LookUp,
)
"""What a runtime may say to a stage."""

FROM_STAGE = operations(
    Hello,
    task_call.ReadOffsets,
    task_call.HandOver,
    task_call.PollFailed,
    task_call.ContextRequest,
    task_call.ReportRecord,
    connector_call.RequestReconfiguration,
    connector_call.RaiseError,
    extension_call.AskConnectors,
    extension_call.AskHealth,
    extension_call.AskConfig,
)
"""What a stage may say to its runtime."""
