"""The operations of the stage protocol that are about plugins of the worker."""

from __future__ import annotations

from hearth_stage import extension_call, policy_call, provider_call
from hearth_stage.call import operations

TO_STAGE = operations(
    policy_call.ConfigurePolicy,
    policy_call.JudgeOverrides,
    extension_call.LoadExtension,
    extension_call.JudgeRequest,
    extension_call.ServeRequest,
    provider_call.LoadProvider,
    provider_call.LookUp,
)
FROM_STAGE = operations(
    extension_call.AskConnectors,
    extension_call.AskHealth,
    extension_call.AskConfig,
)
