"""A REST extension in its stage: loaded once, then passed each request."""

from __future__ import annotations

from typing import TypeVar

from hearth_api import NotFoundError
from hearth_api.worker import ClusterState, ConnectorHealth, ConnectorType, RestRequest, RestResponse, StateInfo
from hearth_execution.failure import RemoteError
from hearth_execution.loaded_extension import LoadedExtension
from hearth_stage.call import Call
from hearth_stage.channel import MessageSender
from hearth_stage.extension_call import (
    AskConfig,
    AskConnectors,
    AskHealth,
    ExtensionLoaded,
    Filtered,
    ForwardedRequest,
    ForwardedResponse,
    ForwardedState,
    JudgeRequest,
    LoadExtension,
    Served,
    ServeRequest,
)

R = TypeVar("R")


class ChannelClusterState(ClusterState):
    """Asks the host on each call."""

    def __init__(self, channel: MessageSender, kafka_cluster_id: str) -> None:
        self._channel = channel
        self._kafka_cluster_id = kafka_cluster_id

    def connectors(self) -> list[str]:
        """Return the names of all connectors."""
        return self._channel.call(AskConnectors()).names

    def connector_health(self, name: str) -> ConnectorHealth:
        """Return the states of a connector and its tasks."""
        found = self._ask(AskHealth(name))
        tasks = {int(number): _state(state) for number, state in found.tasks.items()}
        return ConnectorHealth(name, _state(found.connector), tasks, ConnectorType(found.type))

    def connector_config(self, name: str) -> dict[str, str]:
        """Return the configuration of a connector."""
        return self._ask(AskConfig(name)).config

    def kafka_cluster_id(self) -> str:
        """Return the id that the host sent when it loaded the extension."""
        return self._kafka_cluster_id

    def _ask(self, call: Call[R]) -> R:
        try:
            return self._channel.call(call)
        except RemoteError as error:
            if error.info.kind == "not_found":
                raise NotFoundError(error.info.message) from error
            raise


class StageExtension:
    """Answers the ``extension.*`` calls of the protocol."""

    def __init__(self, channel: MessageSender) -> None:
        self._channel = channel
        self._extension: LoadedExtension | None = None

    def load(self, call: LoadExtension) -> ExtensionLoaded:
        """Load the extension; later calls use this instance."""
        state = ChannelClusterState(self._channel, call.kafka_cluster_id)
        loaded = self._extension = LoadedExtension(call.reference, call.config, state)
        return ExtensionLoaded(loaded.version, loaded.resources, loaded.has_filters)

    def judge(self, call: JudgeRequest) -> Filtered:
        """Pass a request to the filters."""
        found = self._loaded().judge(_request(call.request))
        return Filtered(None if found is None else _response(found))

    def serve(self, call: ServeRequest) -> Served:
        """Pass a request to a resource."""
        return Served(_response(self._loaded().serve(call.resource, _request(call.request))))

    def end(self) -> None:
        """Close the extension, if there is one."""
        if self._extension is not None:
            self._extension.close()

    def _loaded(self) -> LoadedExtension:
        assert self._extension is not None, "the protocol loads an extension before it is used"
        return self._extension


def _request(given: ForwardedRequest) -> RestRequest:
    return RestRequest(given.method, given.path, given.query, given.headers, given.body, given.path_params)


def _response(given: RestResponse) -> ForwardedResponse:
    return ForwardedResponse(given.status, dict(given.headers), given.body)


def _state(given: ForwardedState) -> StateInfo:
    return StateInfo(given.state, given.worker_id, given.trace)
