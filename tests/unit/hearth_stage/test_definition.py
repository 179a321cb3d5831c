"""What a stage answers about the settings of a plugin, before any is configured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hearth_api import (
    ConfigDef,
    ConfigType,
    PluginError,
    Range,
    Recommender,
    Transformation,
    config_def_to_json,
)
from hearth_stage.definition import answer_describe, answer_validate


class Units(Recommender):
    """Suggests units that fit the other key."""

    def valid_values(self, name: str, parsed_config: Any) -> list[Any]:
        """Return what shows that short names are seen."""
        return [f"{name} of {parsed_config['size']}"]


class Cut(Transformation):
    """Has a required key, a check and suggestions; a required text in a secret place."""

    def config(self) -> ConfigDef:
        """Return the keys."""
        definition = ConfigDef().define("size", ConfigType.INT, validator=Range.at_least(1))
        definition.define("unit", ConfigType.STRING, "cm", recommender=Units(), group="Measure")
        return definition.define("key", ConfigType.PASSWORD, None)

    def configure(self, configs: Any) -> None:
        """Must not be called."""
        raise AssertionError("a plugin was configured")

    def apply(self, record: Any) -> Any:
        """Return the record."""
        return record


class Silent(Cut):
    """Says nothing of its keys."""

    def config(self) -> Any:
        """Return nothing."""


def asked(name: str, config: dict[str, str] | None = None, **more: Any) -> Any:
    """Return a request."""
    return SimpleNamespace(args={"reference": f"{__name__}:{name}", "config": config or {}, **more})


def test_settings_are_checked_below_their_prefix() -> None:
    """The definition's messages name the key as users wrote it, a key's own check names it as the plugin does."""
    config = {"transforms.a.size": "0", "transforms.a.key": "secret"}
    values = answer_validate(asked("Cut", config, prefix="transforms.a.", type="transformation")).args["values"]
    shown = {value["name"]: (value["value"], value["recommended_values"], value["errors"]) for value in values}
    assert shown == {
        "transforms.a.size": ("0", [], ["Invalid value 0 for configuration size: Value must be at least 1"]),
        "transforms.a.unit": ("cm", ["unit of 0"], []),
        "transforms.a.key": ("[hidden]", [], []),
    }


def test_a_missing_key_is_named_with_its_prefix() -> None:
    """Kafka's words, then those of the check, which sees nothing."""
    values = answer_validate(asked("Cut", prefix="p.")).args["values"]
    errors = next(value["errors"] for value in values if value["name"] == "p.size")
    assert errors[0] == 'Missing required configuration "p.size" which has no default value.'


def test_without_a_prefix_names_are_the_plugins_own() -> None:
    """So it is with converters."""
    reply = answer_validate(asked("Cut", {"size": "x"})).args
    assert reply["definitions"] == config_def_to_json(Cut().config())
    assert {value["name"] for value in reply["values"]} == {"size", "unit", "key"}


def test_definitions_are_those_of_describe() -> None:
    """One plugin has one definition, whoever asks."""
    described, validated = answer_describe(asked("Cut")), answer_validate(asked("Cut", prefix="a."))
    assert validated.args["definitions"] == described.args["config"]


def test_a_plugin_without_a_definition_has_no_values() -> None:
    """The host says what is wrong with that, as it does for connectors."""
    assert answer_validate(asked("Silent")).args == {"definitions": None, "values": None}


def test_a_plugin_of_another_type_is_refused() -> None:
    """The declaration of its distribution was wrong."""
    with pytest.raises(PluginError, match="Cut is declared as predicate and is no Predicate"):
        answer_validate(asked("Cut", type="predicate"))
