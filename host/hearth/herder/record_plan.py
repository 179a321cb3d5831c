"""Plans for single records outside tasks: their converters alone, and JSON for people."""

from __future__ import annotations

from collections.abc import Mapping

from hearth.config import ConnectorConfig
from hearth.herder.plugin_planner import PluginPlanner
from hearth.staging.plugin_plan import PluginPlan

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_NOT_CONVERTERS = ("transforms", "predicates")
SIDES = ("key", "value")


def converting_plan(planner: PluginPlanner, config: Mapping[str, str]) -> PluginPlan:
    """Return the plan of the converters that a configuration names, else the worker's."""
    named = {"name": "records", "connector.class": "none", **config}
    kept = {key: value for key, value in named.items() if not key.startswith(_NOT_CONVERTERS)}
    return planner.plan_steps(ConnectorConfig(kept), "sink")


def json_plan(planner: PluginPlanner, is_enveloped: bool = False) -> PluginPlan:
    """Return the plan of JSON for people; with ``is_enveloped`` it has the schema next to the payload."""
    settings = {"header.converter": _BYTES}
    for side in SIDES:
        settings[f"{side}.converter"] = _JSON
        settings[f"{side}.converter.schemas.enable"] = str(is_enveloped).lower()
        settings[f"{side}.converter.decimal.format"] = "BASE64" if is_enveloped else "NUMERIC"
    return converting_plan(planner, settings)
