"""A REST extension that is loaded: what it registered, in the process of a host as well as in a stage."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from hearth_api.worker import (
    ClusterState,
    RestExtensionContext,
    RestFilter,
    RestHandler,
    RestRequest,
    RestResponse,
)
from hearth_execution.load import load_class, version_of


class _ExtensionContext(RestExtensionContext):
    """Notes what an extension adds."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.resources: list[tuple[str, str]] = []
        self.handlers: list[RestHandler] = []
        self.filters: list[RestFilter] = []

    def add_resource(self, method: str, path: str, handler: RestHandler) -> None:
        """Note a resource."""
        self.resources.append((method.upper(), path))
        self.handlers.append(handler)

    def add_filter(self, request_filter: RestFilter) -> None:
        """Note a filter."""
        self.filters.append(request_filter)

    def cluster_state(self) -> ClusterState:
        """Return the cluster state."""
        return self._state


class LoadedExtension:
    """An extension that was made, configured and registered; what it raises meanwhile is raised here.

    `resources` are the method and path of each, in the order in which they were added.
    """

    def __init__(self, reference: str, config: Mapping[str, str], state: ClusterState) -> None:
        self._extension = load_class(reference)()
        self.version: str | None = version_of(self._extension)
        self._extension.configure(dict(config))
        context = _ExtensionContext(state)
        self._extension.register(context)
        self.resources = context.resources
        self._handlers = context.handlers
        self._filters = context.filters

    @property
    def has_filters(self) -> bool:
        """Return whether it wants to see every request."""
        return bool(self._filters)

    def judge(self, request: RestRequest) -> RestResponse | None:
        """Show a request to the filters; the first response ends it, `None` lets it pass."""
        return next((found for each in self._filters if (found := each(request)) is not None), None)

    def serve(self, resource: int, request: RestRequest) -> RestResponse:
        """Answer a request to one of the resources, by its number."""
        return self._handlers[resource](request)

    def close(self) -> None:
        """Close the extension; what it raises is printed and keeps nothing else open."""
        try:
            self._extension.close()
        except Exception:
            traceback.print_exc()
