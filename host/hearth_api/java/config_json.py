"""Keys and their values as REST shows them: Kafka Connect's `ConfigKeyInfo` and `ConfigValueInfo`."""

from __future__ import annotations

from typing import Any

from hearth_api.config.config_key import ConfigKey
from hearth_api.config.definition import ConfigDef
from hearth_api.config.kind import ConfigType
from hearth_api.config.parser import convert_to_string
from hearth_api.config.value import ConfigValue


def config_def_to_json(definition: ConfigDef) -> list[dict[str, Any]]:
    """Return the keys as `GET /connector-plugins/NAME/config` lists them, in order."""
    return [config_key_to_json(key) for key in definition.keys.values()]


def config_key_to_json(key: ConfigKey) -> dict[str, Any]:
    """Return one key with the members of Kafka Connect's `ConfigKeyInfo`, in their order.

    The default is text, or `None` if there is none; that of a PASSWORD is `[hidden]`.
    """
    return {
        "name": key.name,
        "type": str(key.type),
        "required": not key.has_default,
        "default_value": convert_to_string(key.default, key.type) if key.has_default else None,
        "importance": str(key.importance),
        "documentation": key.doc,
        "group": key.group,
        "order_in_group": key.order_in_group,
        "width": str(key.width),
        "display_name": key.display_name,
        "dependents": list(key.dependents),
    }


def config_value_to_json(value: ConfigValue, kind: ConfigType | None = None) -> dict[str, Any]:
    """Return one validated value with the members of Kafka Connect's `ConfigValueInfo`, in their order.

    `kind` is the type of the key, or `None` for a value without a defined key.
    """
    item_kind = ConfigType.STRING if kind is ConfigType.LIST else kind
    return {
        "name": value.name,
        "value": convert_to_string(value.value, kind),
        "recommended_values": [convert_to_string(item, item_kind) for item in value.recommended_values],
        "errors": list(value.error_messages),
        "visible": value.visible,
    }
