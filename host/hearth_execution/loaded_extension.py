"""A loaded REST extension and its registrations, in a host or in a stage."""

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
    """Collects the registrations of an extension."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self.resources: list[tuple[str, str]] = []
        self.handlers: list[RestHandler] = []
        self.filters: list[RestFilter] = []

    def add_resource(self, method: str, path: str, handler: RestHandler) -> None:
        """Register a resource."""
        self.resources.append((method.upper(), path))
        self.handlers.append(handler)

    def add_filter(self, request_filter: RestFilter) -> None:
        """Register a filter."""
        self.filters.append(request_filter)

    def cluster_state(self) -> ClusterState:
        """Return the cluster state."""
        return self._state


class LoadedExtension:
    """An extension, created, configured and registered; the constructor raises what the extension raises.

    `resources` holds the method and path of each resource, in registration order.
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
        """Return whether it filters every request."""
        return bool(self._filters)

    def judge(self, request: RestRequest) -> RestResponse | None:
        """Pass a request to the filters; returns the first response, or `None` to let the request pass."""
        return next((found for each in self._filters if (found := each(request)) is not None), None)

    def serve(self, resource: int, request: RestRequest) -> RestResponse:
        """Answer a request to one of the resources, by its index."""
        return self._handlers[resource](request)

    def close(self) -> None:
        """Close the extension; prints what it raises."""
        try:
            self._extension.close()
        except Exception:
            traceback.print_exc()
