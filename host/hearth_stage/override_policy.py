"""An override policy in its stage: created and configured once, then asked about each client."""

from __future__ import annotations

from hearth_api import PluginError
from hearth_api.java import config_value_to_json
from hearth_api.worker import (
    ClientType,
    ConnectorClientConfigOverridePolicy,
    ConnectorClientConfigRequest,
    ConnectorType,
)
from hearth_execution.load import load_class
from hearth_stage.policy_call import ConfigurePolicy, JudgeOverrides, PolicyAnswer


class StagePolicy:
    """Answers the ``policy.*`` calls of the protocol."""

    def __init__(self) -> None:
        self._policy: ConnectorClientConfigOverridePolicy | None = None

    def configure(self, call: ConfigurePolicy) -> None:
        """Create and configure the policy; later calls use this instance."""
        policy = load_class(call.reference)()
        if not isinstance(policy, ConnectorClientConfigOverridePolicy):
            raise PluginError(f"{call.reference} is not a {ConnectorClientConfigOverridePolicy.__name__}")
        self._policy = policy
        policy.configure(call.config)

    def judge(self, call: JudgeOverrides) -> PolicyAnswer:
        """Ask the policy."""
        assert self._policy is not None, "the protocol configures a policy before it is asked"
        kinds = ConnectorType(call.type), ClientType(call.client)
        request = ConnectorClientConfigRequest(call.connector, kinds[0], call.class_name, call.properties, kinds[1])
        values = self._policy.validate(request)
        return PolicyAnswer(None if values is None else [config_value_to_json(value) for value in values])

    def end(self) -> None:
        """Close the policy, if there is one."""
        if self._policy is not None:
            self._policy.close()
