"""Converters extend the one key that Kafka Connect defines for all."""

from __future__ import annotations

import pytest

from hearth_api import ConfigError, ConverterType, converter_config_def
from hearth_api.java import config_def_to_json


def test_converter_type_is_required_and_one_of_three() -> None:
    """The key has Kafka's name, type, importance and message."""
    definition = converter_config_def()
    with pytest.raises(ConfigError) as caught:
        definition.parse({"converter.type": "VALUE"})
    assert str(caught.value) == (
        "Invalid value VALUE for configuration converter.type: String must be one of: key, value, header"
    )
    assert definition.parse({"converter.type": "header"}) == {"converter.type": ConverterType.HEADER.value}
    [shown] = config_def_to_json(definition)
    assert (shown["required"], shown["type"], shown["importance"]) == (True, "STRING", "LOW")


def test_each_definition_is_a_new_one() -> None:
    """A converter adds its keys without affecting others."""
    assert converter_config_def() is not converter_config_def()
