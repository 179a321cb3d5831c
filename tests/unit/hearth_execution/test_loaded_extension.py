"""A loaded REST extension: created, configured and registered in this order, called, and closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hearth_api.worker import ClusterState, RestExtension, RestExtensionContext, RestRequest, RestResponse
from hearth_execution.loaded_extension import LoadedExtension

HERE = f"{__name__}:"
heard: list[Any] = []


class NoState(ClusterState):
    """A cluster state that is not used."""

    def connectors(self) -> list[str]:
        """Return nothing."""
        return []

    connector_health = connector_config = kafka_cluster_id = connectors  # type: ignore[assignment]


class Gate(RestExtension):
    """Two filters, one of which rejects with a reason."""

    def version(self) -> str:
        """Return a version."""
        return "2"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Record the configuration."""
        heard.append(dict(configs))

    def register(self, context: RestExtensionContext) -> None:
        """Add filters."""
        heard.append(context.cluster_state())
        context.add_filter(lambda request: None)
        context.add_filter(lambda request: RestResponse(418) if request.path == "/tea" else None)
        context.add_filter(lambda request: RestResponse(500) if request.path == "/tea" else None)

    def close(self) -> None:
        """Fail."""
        raise RuntimeError("still open")


def test_extension_is_configured_registered_called_and_closed(capsys: pytest.CaptureFixture[str]) -> None:
    """The first filter with a response wins; an extension that fails to close affects no other."""
    heard.clear()
    state = NoState()
    loaded = LoadedExtension(HERE + "Gate", {"a": "1"}, state)
    assert heard == [{"a": "1"}, state]
    assert (loaded.version, loaded.resources, loaded.has_filters) == ("2", [], True)
    assert loaded.judge(RestRequest("GET", "/")) is None
    assert loaded.judge(RestRequest("GET", "/tea")) == RestResponse(418)
    loaded.close()
    assert "still open" in capsys.readouterr().err
