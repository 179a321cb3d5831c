"""REST shows keys and values with the members, the order and the texts of Kafka Connect 4.3.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hearth_api import ConfigDef, ConfigType, ConfigValue, Importance, Password, Width
from hearth_api.java import config_def_to_json, config_value_to_json

GOLDEN_FILE = Path(__file__).parents[1] / "config" / "golden" / "config.json"
GOLDEN: dict[str, Any] = json.loads(GOLDEN_FILE.read_text("ascii"))
HIGH, LOW = Importance.HIGH, Importance.LOW


def test_keys_are_shown_as_kafka_connect_shows_them() -> None:
    """Members, their order and the text of each default equal those of AbstractHerder.convertConfigKey."""
    definition = (
        ConfigDef()
        .define("l", ConfigType.LIST, "a, b", importance=LOW, doc="doc")
        .define("e", ConfigType.LIST, "", importance=LOW, doc="doc")
        .define("c", ConfigType.CLASS, "java.lang.String", doc="doc")
        .define("p", ConfigType.PASSWORD, "x", importance=HIGH, doc="doc")
        .define("z", ConfigType.STRING, None, importance=HIGH, doc="doc")
        .define("r", ConfigType.BOOLEAN, importance=HIGH, doc="doc")
        .define("d", ConfigType.DOUBLE, 1e10, importance=HIGH, doc="doc")
        .define("b", ConfigType.BOOLEAN, True, None, HIGH, "doc", "G", 3, Width.MEDIUM, "B", ["l"])
    )
    assert json.dumps(config_def_to_json(definition)) == json.dumps(GOLDEN["infos"][:8])


def test_values_are_shown_as_kafka_connect_shows_them() -> None:
    """Members, their order and all texts equal those of AbstractHerder.convertConfigValue."""
    shown = [
        config_value_to_json(ConfigValue("l", ["a", "b"], ["x", "y"], ["bad"]), ConfigType.LIST),
        config_value_to_json(ConfigValue("p", Password("s")), ConfigType.PASSWORD),
        config_value_to_json(ConfigValue("i", 5, [1, 2]), ConfigType.INT),
        config_value_to_json(ConfigValue("n"), ConfigType.INT),
        config_value_to_json(ConfigValue("u", True, [1.5])),
        config_value_to_json(ConfigValue("u", ["a", "b"])),
    ]
    assert json.dumps(shown) == json.dumps(GOLDEN["infos"][8:])
