"""Connect schemas as Avro schemas, and values in Avro's encoding, by the registry bundle's AvroData."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_registry.avro_format import AvroFormat
from hearth_registry.avro_setting import AvroSettings

_KEYS = (
    "connect.meta.data", "enhanced.avro.schema.support", "scrub.invalid.names", "allow.optional.map.keys",
    "flatten.singleton.unions", "ignore.default.for.nullables", "generalized.sum.type.support",
    "discard.type.doc.default",
)  # fmt: skip


def avro_data(settings: Mapping[str, Any]) -> AvroFormat:
    """Return AvroData with the settings of a connector; files need no registry."""
    return AvroFormat(avro_settings(settings))


def avro_settings(settings: Mapping[str, Any]) -> AvroSettings:
    """Return those settings of a connector that belong to AvroData, with the defaults of a storage connector."""
    given = {name: settings[name] for name in _KEYS if settings.get(name) is not None}
    return AvroSettings({"schema.registry.url": "mock://files", "enhanced.avro.schema.support": True, **given})
