"""A REST extension from plugin.path, in a child process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from hearth.config.confinement_key import AS_HOST
from hearth.discovery import Plugin
from hearth.herder.plugin.stage import PluginProcess, PluginStage
from hearth.isolation.environment import Environment
from hearth_api import ConfigError, ConnectError, NotFoundError, PluginError
from hearth_api.worker import ClusterState, ConnectorHealth, RestRequest, RestResponse, StateInfo
from hearth_execution.failure import RemoteError
from hearth_stage.call import Message
from hearth_stage.extension_call import (
    AskConfig,
    AskConnectors,
    AskHealth,
    ConnectorNames,
    ConnectorSettings,
    ForwardedHealth,
    ForwardedRequest,
    ForwardedResponse,
    ForwardedState,
    JudgeRequest,
    LoadExtension,
    ServeRequest,
)

T = TypeVar("T")

KINDS: dict[str, type[ConnectError]] = {"config": ConfigError, "not_found": NotFoundError}
"""Errors of an extension that have their own REST status."""


class ExtensionStage(PluginStage):
    """The process of one extension."""

    def __init__(
        self, plugin: Plugin, environment: Environment, config: Mapping[str, str], state: ClusterState, seconds: float
    ) -> None:
        self._state = state
        self._seconds = seconds
        super().__init__(PluginProcess(environment.confined(AS_HOST), plugin.class_name), self._answer)
        try:
            call = LoadExtension(plugin.reference, dict(config), state.kafka_cluster_id())
            self.loaded = self.call(call, seconds)
        except PluginError:
            self.close()
            raise

    def judge(self, request: RestRequest) -> RestResponse | None:
        """Pass a request through the filters; return the response of one that answers it."""
        found = self.call(JudgeRequest(_forwarded(request)), self._seconds).response
        return None if found is None else _response(found)

    def serve(self, resource: int, request: RestRequest) -> RestResponse:
        """Have a resource answer a request; its errors map to REST statuses as they would in the host."""
        try:
            return _response(self.call(ServeRequest(resource, _forwarded(request)), self._seconds).response)
        except RemoteError as error:
            raise KINDS.get(error.info.kind, ConnectError)(error.info.message or error.info.class_name) from error

    def _answer(self, message: Message) -> ConnectorNames | ConnectorSettings | ForwardedHealth:
        if isinstance(message, AskConnectors):
            return ConnectorNames(self._state.connectors())
        if isinstance(message, AskConfig):
            return ConnectorSettings(self._state.connector_config(message.connector))
        if isinstance(message, AskHealth):
            return _health(self._state.connector_health(message.connector))
        raise LookupError(f"an extension has no request {message.op!r}")


class IsolatedExtension:
    """An extension whose process is restarted after it died or hung (Invariant 6).

    A request that it does not answer fails: none passes a filter that has not seen it.
    """

    def __init__(self, new_stage: Callable[[], ExtensionStage]) -> None:
        self._new_stage = new_stage
        self._lock = threading.Lock()
        self._stage = new_stage()
        self.version = self._stage.loaded.version
        self.resources = self._stage.loaded.resources
        self.has_filters = self._stage.loaded.has_filters

    def judge(self, request: RestRequest) -> RestResponse | None:
        """Pass a request through the filters; return the response of one that answers it."""
        return self._alive().judge(request)

    def serve(self, resource: int, request: RestRequest) -> RestResponse:
        """Have a resource answer a request."""
        return self._alive().serve(resource, request)

    def close(self) -> None:
        """End the process, which closes the extension."""
        self._stage.close()

    def _alive(self) -> ExtensionStage:
        with self._lock:
            if not self._stage.is_alive:
                self._stage.close()
                self._stage = self._new_stage()
            return self._stage


def _forwarded(request: RestRequest) -> ForwardedRequest:
    return ForwardedRequest(
        request.method,
        request.path,
        {name: list(values) for name, values in request.query.items()},
        dict(request.headers),
        request.body,
        dict(request.path_params),
    )


def _response(given: ForwardedResponse) -> RestResponse:
    return RestResponse(given.status, given.body, given.headers)


def _health(given: ConnectorHealth) -> ForwardedHealth:
    tasks = {str(number): _state(state) for number, state in given.tasks_state.items()}
    return ForwardedHealth(str(given.type), _state(given.connector_state), tasks)


def _state(given: StateInfo) -> ForwardedState:
    return ForwardedState(given.state, given.worker_id, given.trace)
