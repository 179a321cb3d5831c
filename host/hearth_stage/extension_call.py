"""The calls to a REST extension in a stage, and the extension's calls to its host."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Annotated, Any

from hearth_stage.call import Call, operations
from hearth_stage.form import Form


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError("not base64") from error


WireBody = Annotated[bytes, Form(_bytes, lambda data: base64.b64encode(data).decode("ascii"))]


@dataclass(frozen=True)
class ExtensionLoaded:
    """The registrations of an extension: methods and paths of its resources, and whether it has filters."""

    version: str | None = None
    resources: list[tuple[str, str]] = field(default_factory=list)
    has_filters: bool = False


@dataclass(frozen=True)
class LoadExtension(Call[ExtensionLoaded], op="extension.load"):
    """Creates, configures and registers the extension, which later calls use."""

    reference: str
    config: dict[str, str] = field(repr=False)
    kafka_cluster_id: str


@dataclass(frozen=True)
class ForwardedRequest:
    """A ``RestRequest``."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str] = field(repr=False)
    body: WireBody = field(repr=False)
    path_params: dict[str, str]


@dataclass(frozen=True)
class ForwardedResponse:
    """A ``RestResponse``."""

    status: int
    headers: dict[str, str]
    body: WireBody = field(repr=False)


@dataclass(frozen=True)
class Filtered:
    """The response that ends a request, or null to let it pass."""

    response: ForwardedResponse | None = None


@dataclass(frozen=True)
class JudgeRequest(Call[Filtered], op="extension.filter"):
    """Passes a request to the extension's filters."""

    request: ForwardedRequest


@dataclass(frozen=True)
class Served:
    """The response of a resource."""

    response: ForwardedResponse


@dataclass(frozen=True)
class ServeRequest(Call[Served], op="extension.serve"):
    """Passes a request to one of the extension's resources, by its index."""

    resource: int
    request: ForwardedRequest


@dataclass(frozen=True)
class ConnectorNames:
    """The names of all connectors."""

    names: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AskConnectors(Call[ConnectorNames], op="cluster.connectors"):
    """Requests the names of all connectors."""


@dataclass(frozen=True)
class ForwardedState:
    """A ``StateInfo``."""

    state: str
    worker_id: str
    trace: str | None = None


@dataclass(frozen=True)
class ForwardedHealth:
    """A ``ConnectorHealth``; its task states have the task numbers, as text, as keys."""

    type: str
    connector: ForwardedState
    tasks: dict[str, ForwardedState]


@dataclass(frozen=True)
class AskHealth(Call[ForwardedHealth], op="cluster.health"):
    """Requests the states of a connector and its tasks."""

    connector: str


@dataclass(frozen=True)
class ConnectorSettings:
    """A connector's stored configuration."""

    config: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class AskConfig(Call[ConnectorSettings], op="cluster.config"):
    """Requests the configuration of a connector."""

    connector: str


TO_STAGE = operations(LoadExtension, JudgeRequest, ServeRequest)
FROM_STAGE = operations(AskConnectors, AskHealth, AskConfig)
