"""REST extensions: they add resources to the host's HTTP API and look at every request to it."""

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
    """The answer to a request; give `content-type` in the headers when there is a body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


RestHandler = Callable[[RestRequest], RestResponse]
"""Answers the requests to one resource, possibly on several threads at once."""

RestFilter = Callable[[RestRequest], "RestResponse | None"]
"""Looks at a request before any resource does: `None` lets it pass, a response ends it (such as 401)."""


class RestExtensionContext(ABC):
    """What an extension registers with, follows Kafka's `ConnectRestExtensionContext` (KIP-285).

    Provided by the host; to be used during `register` only, except the cluster state, which stays
    usable. Plain requests and responses take the place of JAX-RS, so an extension depends on no web
    framework.
    """

    @abstractmethod
    def add_resource(self, method: str, path: str, handler: RestHandler) -> None:
        """Serve a path such as `/audit/{name}`, whose parts in braces become `path_params`.

        The host's own resources win: registering one of them again is logged and ignored. A
        `ConnectError` raised by the handler becomes the host's usual error answer, any other exception
        status 500.
        """

    @abstractmethod
    def add_filter(self, request_filter: RestFilter) -> None:
        """Let a filter see every request to a resource, also to the host's own and those of other extensions.

        It comes once the path, the method and the media types were found good, as in Kafka Connect: an
        unknown path is answered with 404 and never shown. Filters run in the order they were added, possibly
        on several threads at once; requests of other workers of the cluster pass through them as well, those
        to `admin.listeners`, where there are any, do not. What a filter raises ends the request with an error.
        """

    @abstractmethod
    def cluster_state(self) -> ClusterState:
        """Return the cluster state, never `None`."""


class RestExtension(ConnectPlugin, ABC):
    """Adds to the HTTP API of a worker, follows Kafka's `ConnectRestExtension` (KIP-285).

    Named by the worker's `rest.extension.classes`; one instance per worker. One that is installed with the
    host runs in the host; one of a bundle runs in a process of its own beside it, which is begun anew, with
    `configure` and `register`, when it has ended or hung: so state belongs in files or services.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the worker's whole configuration; called once, before `register`."""

    @abstractmethod
    def register(self, context: RestExtensionContext) -> None:
        """Add resources and filters.

        Called once, after the host's own resources exist and before requests are served. An exception
        keeps the worker from starting.
        """

    def close(self) -> None:
        """Release what the extension holds; called once, when the worker stops, not after a kill."""
