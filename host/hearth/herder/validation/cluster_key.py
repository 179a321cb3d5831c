"""Checks that only a cluster makes on a connector's configuration, with Kafka Connect's messages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from hearth.config import DistributedConfig
from hearth.config.connector_key import NAME
from hearth.config.source_key import BOUNDARY_KEY, EXACTLY_ONCE_KEY
from hearth.discovery import Plugin, PluginType
from hearth_api import (
    ConfigValue,
    ConnectError,
    ConnectorTransactionBoundaries,
    ExactlyOnceSupport,
    TransactionBoundary,
)

log = logging.getLogger(__name__)

Support = Callable[[bool], "str | None"]
"""Asks the connector whether its tasks may define transaction boundaries (true) or whether it delivers exactly once.
"""

_GROUP = "consumer.override.group.id"
_REQUESTED, _REQUIRED = "requested", "required"


def check_cluster_keys(
    worker: DistributedConfig,
    plugin: Plugin,
    config: Mapping[str, Any],
    values: dict[str, ConfigValue],
    support: Support,
) -> None:
    """Add the cluster's errors to ``values``, as ``DistributedHerder`` does."""
    if plugin.type is PluginType.SINK:
        _check_group(worker, config, values)
        return
    exactly_once, boundary = values[EXACTLY_ONCE_KEY], values[BOUNDARY_KEY]
    if not exactly_once.error_messages and str(exactly_once.value).lower() == _REQUIRED:
        if not worker.is_exactly_once:
            exactly_once.add_error_message("This worker does not have exactly-once source support enabled.")
        _check(exactly_once, lambda: support(False), _against_support)
    if not boundary.error_messages and str(boundary.value).lower() == TransactionBoundary.CONNECTOR:
        _check(boundary, lambda: support(True), _against_boundaries)


def _check(value: ConfigValue, ask: Callable[[], str | None], against: Callable[[str | None], str | None]) -> None:
    """Add the errors of a value, including the failure of a connector to answer."""
    try:
        message = against(ask())
    except ConnectError as error:
        log.error("the connector did not answer whether %s may be %r: %s", value.name, value.value, error)
        info = getattr(error, "info", error)
        text = str(getattr(info, "message", info)).strip()
        message = "An unexpected error occurred during validation"
        message += f": {text}" if text else "; please see the worker logs for more details."
    if message is not None:
        value.add_error_message(message)


def _against_support(answer: str | None) -> str | None:
    if answer is None:
        return (
            "The connector does not implement the API required for preflight validation of exactly-once source "
            "support. Please consult the documentation for the connector to determine whether it supports "
            "exactly-once semantics, and then consider reconfiguring the connector to use the value "
            f'"{_REQUESTED}" for this property (which will disable this preflight check and allow the connector to be '
            "created)."
        )
    if answer == ExactlyOnceSupport.UNSUPPORTED.value:
        return "The connector does not support exactly-once semantics with the provided configuration."
    if answer != ExactlyOnceSupport.SUPPORTED.value:
        raise ConnectError(f"Unexpected value returned from SourceConnector::exactlyOnceSupport: {answer}")
    return None


def _against_boundaries(answer: str | None) -> str | None:
    if answer is None:
        return (
            "This connector has returned a null value from its canDefineTransactionBoundaries method, which is not "
            "permitted. The connector will be treated as if it cannot define its own transaction boundaries, and "
            f"cannot be configured with '{BOUNDARY_KEY}' set to '{TransactionBoundary.CONNECTOR}'."
        )
    if answer != ConnectorTransactionBoundaries.SUPPORTED.value:
        return (
            "The connector does not support connector-defined transaction boundaries with the given configuration. "
            "Please reconfigure it to use a different transaction boundary definition."
        )
    return None


def _check_group(worker: DistributedConfig, config: Mapping[str, Any], values: dict[str, ConfigValue]) -> None:
    """Report a sink whose consumer group is the workers' group: its consumers would be taken for workers."""
    if _GROUP in config:
        group = values.setdefault(_GROUP, ConfigValue(_GROUP, config[_GROUP]))
        if config[_GROUP] == worker.group_id:
            group.add_error_message(
                f"Consumer group {worker.group_id} conflicts with Connect worker group {worker.group_id}"
            )
    elif worker.group_id == f"connect-{values[NAME].value}":
        values[NAME].add_error_message(
            f"Consumer group for sink connector named {values[NAME].value} conflicts with Connect worker group "
            f"{worker.group_id}"
        )
