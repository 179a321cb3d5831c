"""REST extensions add resources and request filters to the host's HTTP API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth_api.plugin import ConnectPlugin
from hearth_api.worker.cluster import ClusterState


@dataclass(frozen=True)
class RestRequest:
    """One HTTP request; header names are in lower case, the body is complete."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    path_params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RestResponse:
    """The response to a request; set `content-type` in the headers if there is a body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


RestHandler = Callable[[RestRequest], RestResponse]
"""Handles the requests to one resource, possibly on several threads at once."""

RestFilter = Callable[[RestRequest], "RestResponse | None"]
"""Sees a request before any resource does: `None` lets it pass, a response ends it (such as 401)."""


class RestExtensionContext(ABC):
    """Registers an extension's resources and filters; follows Kafka's `ConnectRestExtensionContext` (KIP-285).

    Provided by the host; use it only during `register`, except for the cluster state, which stays usable. Plain
    requests and responses replace JAX-RS, so an extension depends on no web framework.
    """

    @abstractmethod
    def add_resource(self, method: str, path: str, handler: RestHandler) -> None:
        """Serve a path such as `/audit/{name}`, whose parts in braces become `path_params`.

        The host's own resources take precedence: registering one of them again is logged and ignored. A `ConnectError`
        raised by the handler becomes the host's usual error response, any other exception status 500.
        """

    @abstractmethod
    def add_filter(self, request_filter: RestFilter) -> None:
        """Let a filter see every request to a resource, including the host's own and those of other extensions.

        It runs after the path, the method and the media types have been accepted, as in Kafka Connect: an unknown path
        returns 404 without reaching a filter. Filters run in the order they were added, possibly on several threads at
        once. Requests from other workers of the cluster pass through them as well; requests to `admin.listeners`, if
        configured, do not. An exception in a filter ends the request with an error.
        """

    @abstractmethod
    def cluster_state(self) -> ClusterState:
        """Return the cluster state, never `None`."""


class RestExtension(ConnectPlugin, ABC):
    """Extends the HTTP API of a worker; follows Kafka's `ConnectRestExtension` (KIP-285).

    The worker's `rest.extension.classes` names it; one instance per worker. An extension installed with the host runs
    in the host; one from a bundle runs in a separate process, which restarts, calling `configure` and `register`,
    after it exits or hangs: keep state in files or services.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the worker's whole configuration; called once, before `register`."""

    @abstractmethod
    def register(self, context: RestExtensionContext) -> None:
        """Add resources and filters.

        Called once, after the host's own resources exist and before requests are served. An exception prevents the
        worker from starting.
        """

    def close(self) -> None:
        """Release the extension's resources; called once, when the worker stops, not after a kill."""
