"""An override policy from plugin.path, in a child process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from hearth.config.confinement_key import AS_HOST
from hearth.discovery import Plugin
from hearth.herder.plugin.stage import PluginProcess, PluginStage
from hearth.isolation.environment import Environment
from hearth_api import ConfigValue, Password, PluginError
from hearth_api.worker import ConnectorClientConfigOverridePolicy, ConnectorClientConfigRequest
from hearth_stage.policy_call import ConfigurePolicy, JudgeOverrides


class PolicyStage(PluginStage):
    """The process of one configured policy."""

    def __init__(self, plugin: Plugin, environment: Environment, config: Mapping[str, str], seconds: float) -> None:
        super().__init__(PluginProcess(environment.confined(AS_HOST), plugin.class_name))
        self._seconds = seconds
        try:
            self.call(ConfigurePolicy(plugin.reference, dict(config)), seconds)
        except PluginError:
            self.close()
            raise

    def judge(self, request: ConnectorClientConfigRequest) -> list[ConfigValue] | None:
        """Return the policy's verdict on each setting; raise PluginError if it gives none."""
        given = request.client_props
        properties = {name: each.value if isinstance(each, Password) else each for name, each in given.items()}
        call = JudgeOverrides(
            request.connector_name,
            str(request.connector_type),
            request.connector_class,
            str(request.client_type),
            properties,
        )
        values = self.call(call, self._seconds).values
        return None if values is None else [_value(each, given) for each in values]


class StagedPolicy(ConnectorClientConfigOverridePolicy):
    """Calls a policy in its own process, which is restarted after it died or hung (Invariant 6).

    Overrides on which the policy gives no verdict are rejected: the caller gets the PluginError.
    """

    def __init__(self, new_stage: Callable[[], PolicyStage]) -> None:
        self._new_stage = new_stage
        self._lock = threading.Lock()
        self._stage: PolicyStage | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Start the process with the worker's configuration; raise PluginError if the policy rejects it."""
        with self._lock:
            self._stage = self._new_stage()

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        """Call the policy, one request at a time, because its process has a single thread."""
        with self._lock:
            stage = self._stage
            if stage is None or not stage.is_alive:
                stage = self._stage = self._new_stage()
            try:
                return stage.judge(request) or []
            except PluginError:
                stage.close()
                raise

    def close(self) -> None:
        """End the process, which closes the policy."""
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()


def _value(shown: Mapping[str, Any], given: Mapping[str, Any]) -> ConfigValue:
    """Return the policy's verdict on a setting with the original value, which may be a Password."""
    name = str(shown["name"])
    return ConfigValue(
        name,
        given.get(name, shown["value"]),
        list(shown["recommended_values"]),
        [str(error) for error in shown["errors"]],
        bool(shown["visible"]),
    )
