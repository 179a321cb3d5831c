"""A stage's answers about a plugin's settings, before the plugin is configured."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from typing import Any

import pytest

from hearth_api import ConfigDef, ConfigType, PluginError, Range, Recommender, Transformation
from hearth_api.java import config_def_to_json
from hearth_stage.definition import describe, try_plugin, validate
from hearth_stage.plugin_call import Describe, TryPlugin, Validate, Validated


class Units(Recommender):
    """Recommends units that fit the other key."""

    def valid_values(self, name: str, parsed_config: Any) -> list[Any]:
        """Return what shows that short names are visible."""
        return [f"{name} of {parsed_config['size']}"]


class Cut(Transformation):
    """Has a required key, a validator and a recommender; a required password."""

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
    """Returns no definition."""

    def config(self) -> Any:
        """Return nothing."""


def asked(name: str, config: dict[str, str] | None = None, **more: Any) -> Validate:
    """Return a call."""
    return Validate(f"{__name__}:{name}", config or {}, **more)


def test_settings_are_checked_below_their_prefix() -> None:
    """Messages of the definition have the key as configured, those of the key's validator the plugin's name."""
    config = {"transforms.a.size": "0", "transforms.a.key": "secret"}
    values = validate(asked("Cut", config, prefix="transforms.a.", type="transformation")).values or []
    shown = {value["name"]: (value["value"], value["recommended_values"], value["errors"]) for value in values}
    assert shown == {
        "transforms.a.size": ("0", [], ["Invalid value 0 for configuration size: Value must be at least 1"]),
        "transforms.a.unit": ("cm", ["unit of 0"], []),
        "transforms.a.key": ("[hidden]", [], []),
    }


def test_a_missing_key_is_named_with_its_prefix() -> None:
    """Kafka's message, then that of the validator, which gets no value."""
    values = validate(asked("Cut", prefix="p.")).values or []
    errors = next(value["errors"] for value in values if value["name"] == "p.size")
    assert errors[0] == 'Missing required configuration "p.size" which has no default value.'


def test_without_a_prefix_names_are_the_plugins_own() -> None:
    """This is the case for converters."""
    reply = validate(asked("Cut", {"size": "x"}))
    assert reply.definitions == config_def_to_json(Cut().config())
    assert {value["name"] for value in reply.values or ()} == {"size", "unit", "key"}


def test_definitions_are_those_of_describe() -> None:
    """A plugin has one definition for all calls."""
    described, validated = describe(Describe(f"{__name__}:Cut")), validate(asked("Cut", prefix="a."))
    assert validated.definitions == described.config


def test_a_plugin_without_a_definition_has_no_values() -> None:
    """The host reports that, as it does for connectors."""
    assert validate(asked("Silent")) == Validated(definitions=None, values=None)


def test_a_plugin_of_another_type_is_refused() -> None:
    """The declaration of its distribution was wrong."""
    with pytest.raises(PluginError, match="Cut is declared as predicate but is not a Predicate"):
        validate(asked("Cut", type="predicate"))


class Disturbing(Cut):
    """Has side effects that a plugin must not have when only its keys are requested."""

    def __init__(self) -> None:
        self.over = threading.Event()
        over.append(self.over)
        threading.Thread(target=self.over.wait, name="disturbing", daemon=True).start()
        os.chdir("/")
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        subprocess.run(["true"], check=True)  # it has ended, so it is no side effect
        over.append(subprocess.Popen(["sleep", "60"]))
        print("here I am")


over: list[Any] = []


def test_side_effects_of_loading_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Other users of the process would be affected, and notice late."""
    place, handler = os.getcwd(), signal.getsignal(signal.SIGUSR2)
    try:
        described = describe(Describe(f"{__name__}:Disturbing"))
    finally:
        os.chdir(place)
        signal.signal(signal.SIGUSR2, handler)
        over[0].set()
        over[1].kill()
        over[1].wait()
    assert described.changes == [
        "starts a process",
        "starts a thread (disturbing)",
        "changes the working directory to '/'",
        "installs a handler of SIGUSR2",
        "prints to the standard output",
    ]
    assert capsys.readouterr().out == "here I am\n"
    assert describe(Describe(f"{__name__}:Cut")).changes == []


def test_rules_without_required_settings_are_tried() -> None:
    """Each with its fault, if any: this plugin documents no key, and names no default."""
    bare = try_plugin(TryPlugin(f"{__name__}:Cut", "transformation"))
    configured = try_plugin(TryPlugin(f"{__name__}:Cut", "transformation", {}))
    assert bare.contract == 1
    faults = {each.rule: each.fault for each in bare.outcomes if each.fault}
    assert list(faults) == ["keys_are_documented"]
    assert len(configured.outcomes) > len(bare.outcomes)
