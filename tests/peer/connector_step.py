"""Requests about connectors, as steps of the comparisons; about connector ``c`` by default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.peer.rest_case import RestCase, Step


def create(config: Mapping[str, Any], name: str | None = "c", **more: Any) -> Step:
    """Return a step that creates a connector."""
    return Step("POST", "/connectors", {"name": name, "config": config, **more})


def refused(name: str, base: Mapping[str, Any], change: Mapping[str, Any]) -> RestCase:
    """Return a case that validates a changed configuration; None in the change removes a key."""
    config = {key: value for key, value in {**base, **change}.items() if value is not None}
    return RestCase(name, (create(config), Step("GET", "/connectors")))


def get(path: str = "", **more: Any) -> Step:
    """Return a GET request about a connector."""
    return Step("GET", f"/connectors/c{path}", **more)


def put(path: str, body: Any = None, **more: Any) -> Step:
    """Return a PUT request about a connector."""
    return Step("PUT", f"/connectors/c{path}", body, **more)


def patch(change: Any, **more: Any) -> Step:
    """Return a PATCH of single keys of a configuration."""
    return Step("PATCH", "/connectors/c/config", change, **more)


def alter(*rows: tuple[Any, Any], connector: str = "c", **more: Any) -> Step:
    """Return a request that alters offsets, one row for each partition."""
    return alter_as(*({"partition": each, "offset": offset} for each, offset in rows), connector=connector, **more)


def alter_as(*rows: Any, connector: str = "c", **more: Any) -> Step:
    """Return a request that alters offsets, with rows of any form."""
    return Step("PATCH", f"/connectors/{connector}/offsets", {"offsets": list(rows)}, **more)


def validate(plugin: str, config: Mapping[str, Any]) -> Step:
    """Return a request that validates a configuration."""
    return Step("PUT", f"/connector-plugins/{plugin}/config/validate", config, same="validation")
