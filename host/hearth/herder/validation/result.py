"""Builds Kafka Connect's ConfigInfos, the REST format of a validation result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.config.connector_key import CONNECTOR_CLASS
from hearth.config.variable import Resolved
from hearth.herder.password_mask import HIDDEN
from hearth_api import ConfigDef, ConfigValue
from hearth_api.java import config_key_to_json, config_value_to_json


@dataclass
class Section:
    """Some keys of a configuration with their definitions, values and groups."""

    groups: list[str] = field(default_factory=list)
    configs: list[dict[str, Any]] = field(default_factory=list)
    error_count: int = 0


def merge(class_name: str, sections: Iterable[Section]) -> dict[str, Any]:
    """Return the ConfigInfos of all sections, in order."""
    parts = list(sections)
    return {
        "name": class_name,
        "error_count": sum(part.error_count for part in parts),
        "groups": list(dict.fromkeys(group for part in parts for group in part.groups)),
        "configs": [config for part in parts for config in part.configs],
    }


def connector_section(
    framework: ConfigDef,
    framework_values: Mapping[str, ConfigValue],
    own_definitions: Iterable[Mapping[str, Any]],
    own_values: Iterable[Mapping[str, Any]],
) -> Section:
    """Return the section of the framework's and the connector's keys.

    A key that both define keeps the framework's position and has the connector's definition and value. Values without
    a definition come first. Every message counts as an error.
    """
    kinds = {name: key.type for name, key in framework.keys.items()}
    values = [config_value_to_json(value, kinds.get(name)) for name, value in framework_values.items()]
    values += [dict(value) for value in own_values]
    definitions = {name: config_key_to_json(key) for name, key in framework.keys.items()}
    definitions.update({str(key["name"]): dict(key) for key in own_definitions})
    by_name = {value["name"]: value for value in values}
    undefined = [value for value in values if value["name"] not in definitions]
    configs: list[dict[str, Any]] = [{"definition": None, "value": value} for value in undefined]
    configs += [{"definition": key, "value": by_name.get(name)} for name, key in definitions.items()]
    groups = [*framework.groups, *(key["group"] for key in own_definitions if key["group"])]
    errors = sum(len(config["value"]["errors"]) for config in configs if config["value"])
    return Section(groups, configs, errors)


def prefixed_section(prefix: str, definition: ConfigDef, values: Iterable[ConfigValue]) -> Section:
    """Return the section of keys with a prefix; every key with messages counts as one error."""
    section = Section()
    for value in values:
        key = definition.keys.get(value.name)
        shown = config_value_to_json(value, key.type if key else None)
        shown["name"] = prefix + value.name
        described = None
        if key is not None:
            described = {**config_key_to_json(key), "name": prefix + key.name}
            section.groups += [key.group] if key.group is not None else []
        section.configs.append({"definition": described, "value": shown})
        section.error_count += bool(value.error_messages)
    return section


def disguise(result: dict[str, Any], settings: Resolved) -> dict[str, Any]:
    """Return a ConfigInfos that shows variables instead of their values; passwords stay hidden."""
    if not settings.has_values:
        return result
    result["name"] = settings.hidden(result["name"], CONNECTOR_CLASS)
    for value in filter(None, (config["value"] for config in result["configs"])):
        name = value["name"]
        if settings.is_hidden(name) and value["value"] not in (None, HIDDEN):
            value["value"] = settings.raw[name]
        value["errors"] = [settings.hidden(message, name) for message in value["errors"]]
    return result


def complaint(result: Mapping[str, Any]) -> str | None:
    """Return the REST message for a configuration with errors, None for a valid one."""
    if not result["error_count"]:
        return None
    messages = [message for config in result["configs"] for message in (config["value"] or {}).get("errors", ())]
    return "\n".join(
        [
            f"Connector configuration is invalid and contains the following {result['error_count']} error(s):",
            *messages,
            "You can also find the above list of errors at the endpoint "
            "`/connector-plugins/{connectorType}/config/validate`",
        ]
    )
