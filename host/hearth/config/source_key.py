"""The additional keys of source connectors."""

from __future__ import annotations

from typing import Any

from hearth.config.connector_key import ConnectorConfig, unique_aliases
from hearth_api import (
    CaseInsensitiveValidString,
    Composite,
    ConfigType,
    Importance,
    Lambda,
    NonEmptyString,
    NonNull,
    Range,
    Width,
    key,
)

TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"
EXACTLY_ONCE_KEY = "exactly.once.support"
BOUNDARY_KEY = "transaction.boundary"
OFFSETS_TOPIC_KEY = "offsets.storage.topic"
OFFSETS_TOPIC = "offsets.topic"


def _absent_or_positive(name: str, value: Any) -> None:
    if value is not None:
        Range.at_least(0).ensure_valid(name, value)


class SourceConnectorConfig(ConnectorConfig):
    """The keys of a source connector."""

    topic_creation_groups: list[str] = key(
        "topic.creation.groups",
        default=[],
        check=Composite(NonNull(), Lambda(unique_aliases, "unique topic creation groups")),
        importance=Importance.LOW,
        doc="Aliases of the topic creation groups; the settings of each have the prefix topic.creation.NAME.",
        group=TOPIC_CREATION,
        order_in_group=1,
        width=Width.LONG,
        display_name="Topic Creation Groups",
    )
    exactly_once_support: str = key(
        EXACTLY_ONCE_KEY,
        default="requested",
        check=CaseInsensitiveValidString("requested", "required"),
        importance=Importance.MEDIUM,
        doc="'requested' runs the connector whether or not it supports exactly once; 'required' accepts it only if "
        "it declares support and the worker supports it.",
        group=EXACTLY_ONCE,
        order_in_group=2,
        width=Width.SHORT,
        display_name="Exactly once support",
    )
    transaction_boundary: str = key(
        BOUNDARY_KEY,
        default="poll",
        check=CaseInsensitiveValidString("poll", "interval", "connector"),
        importance=Importance.MEDIUM,
        doc="Where a producer transaction ends under exactly once: after each batch a task returns "
        "('poll'), after some "
        "time ('interval') or where the connector says ('connector').",
        group=EXACTLY_ONCE,
        order_in_group=3,
        width=Width.SHORT,
        display_name="Transaction Boundary",
    )
    transaction_boundary_interval_ms: int | None = key(
        "transaction.boundary.interval.ms",
        type=ConfigType.LONG,
        default=None,
        check=Lambda(_absent_or_positive, "[0,...]"),
        importance=Importance.LOW,
        doc="The length of a transaction in milliseconds where transaction.boundary is 'interval'; "
        "offset.flush.interval.ms of the worker unless given.",
        group=EXACTLY_ONCE,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Transaction boundary interval",
    )
    offsets_storage_topic: str | None = key(
        OFFSETS_TOPIC_KEY,
        default=None,
        check=NonEmptyString(),
        importance=Importance.LOW,
        doc="A separate topic for this connector's source offsets, in addition to the cluster's; ignored by a "
        "standalone host.",
        group=OFFSETS_TOPIC,
        order_in_group=1,
        width=Width.LONG,
        display_name="Offsets topic",
    )
