"""A REST extension with a filter and some resources."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from hearth_api import ConfigError, NotFoundError
from hearth_api.worker import RestExtension, RestExtensionContext, RestRequest, RestResponse

WORD = {"X-Word": "friend"}
"""The header that passes the filter."""


def as_json(value: Any) -> RestResponse:
    """Return a response with data."""
    return RestResponse(200, json.dumps(value).encode(), {"content-type": "application/json"})


class Audit(RestExtension):
    """Accepts requests with the worker's word, and shows the cluster state."""

    def version(self) -> str:
        """Return a version."""
        return "1.5"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Keep the word."""
        if "audit.broken" in configs:
            raise ConfigError("nobody can audit this")
        self._word = configs["audit.word"]

    def register(self, context: RestExtensionContext) -> None:
        """Add a filter and resources, two of which the host has already."""
        self._state = context.cluster_state()
        context.add_filter(self.guard)
        context.add_resource("GET", "/audit/{name}", self.audit)
        context.add_resource("post", "/audit/{name}/{part}", self.echo)
        context.add_resource("PATCH", "/connectors/{who}", self.echo)
        context.add_resource("GET", "/connectors/{who}", self.echo)
        context.add_resource("GET", "/connectors", self.echo)
        context.add_resource("GET", "/fail/{how}", self.fail)

    def guard(self, request: RestRequest) -> RestResponse | None:
        """Reject requests without the word."""
        if request.headers.get("x-exit"):
            os._exit(7)
        if request.headers.get("x-word") == self._word:
            return None
        return RestResponse(403, request.body or b"no", {"content-type": "text/plain", "x-path": request.path})

    def audit(self, request: RestRequest) -> RestResponse:
        """Return what is known of a connector."""
        name = request.path_params["name"]
        health = self._state.connector_health(name)
        return as_json({
            "all": self._state.connectors(), "type": str(health.type), "state": health.connector_state.state,
            "tasks": {number: state.state for number, state in health.tasks_state.items()},
            "topic": self._state.connector_config(name)["topic"], "cluster": self._state.kafka_cluster_id(),
        })  # fmt: skip

    def echo(self, request: RestRequest) -> RestResponse:
        """Return the request."""
        asked = [request.method, request.path, dict(request.query), dict(request.path_params), request.body.hex()]
        return as_json([*asked, request.headers.get("x-twice")])

    def fail(self, request: RestRequest) -> RestResponse:
        """Raise."""
        kinds = {"config": ConfigError("wrong"), "missing": NotFoundError("gone"), "bug": KeyError("oops")}
        raise kinds[request.path_params["how"]]
