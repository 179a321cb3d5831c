"""Whole configurations are parsed and validated as Kafka 4.3.1 does it, including repeated messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    ConfigDef,
    ConfigError,
    ConfigType,
    ConfigValue,
    Importance,
    NonNull,
    Password,
    Range,
    Recommender,
    ValidList,
    ValidString,
    Width,
)

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "config.json").read_text("ascii"))
INT, STRING, LIST = ConfigType.INT, ConfigType.STRING, ConfigType.LIST


class Suggest(Recommender):
    """Suggests fixed values and a fixed visibility."""

    def __init__(self, *values: Any, visible: bool = True) -> None:
        self.values = values
        self.shown = visible

    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        return list(self.values)

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        return self.shown


def family() -> ConfigDef:
    """Return keys of which b is a dependent of two."""
    return (
        ConfigDef()
        .define("a", INT, dependents=["b", "c"], recommender=Suggest(1, 2, 3))
        .define("b", INT, recommender=Suggest(1, 2, 3))
        .define("c", INT, recommender=Suggest(4, 5))
        .define("d", INT, dependents=["b"], recommender=Suggest(4, 6, visible=False))
    )


def embedded() -> ConfigDef:
    """Return a definition that embeds another one under a prefix."""
    child = (
        ConfigDef()
        .define("regex", STRING, validator=NonNull(), importance=Importance.HIGH)
        .define("n", INT, 1, Range.at_least(0), Importance.LOW, group="deep", order_in_group=5, dependents=["o"])
        .define("o", STRING, "v", group="deep", order_in_group=1, display_name="O", recommender=Suggest("v"))
    )
    outer = ConfigDef().define("transforms", LIST, "", group="Transforms", order_in_group=1)
    outer.embed("transforms.a.", "Transforms: a", 0, child)
    return outer


DEFINITIONS: dict[str, ConfigDef] = {
    "required int with a range": ConfigDef().define("i", INT, validator=Range.at_least(1)),
    "plain": ConfigDef()
    .define("s", STRING)
    .define("t", STRING, None)
    .define("l", LIST, "a,b")
    .define("p", ConfigType.PASSWORD, "secret"),
    "lists": ConfigDef().define("l", LIST, "", ValidList()).define("m", LIST, ""),
    "family": family(),
    "undefined dependents": ConfigDef()
    .define("a", INT, dependents=["c", "d"], recommender=Suggest(1))
    .define("b", INT, 3),
    "circle": ConfigDef()
    .define("a", INT, dependents=["b"], recommender=Suggest(1))
    .define("b", INT, dependents=["a"], recommender=Suggest(1)),
    "embedded": embedded(),
}


def plain(value: Any) -> Any:
    """Return a value in the form of the golden answers."""
    return {"password": value.value} if isinstance(value, Password) else value


def view(value: ConfigValue) -> dict[str, Any]:
    """Return a validated value in the form of the golden answers."""
    return {
        "value": plain(value.value),
        "recommended": value.recommended_values,
        "errors": value.error_messages,
        "visible": value.visible,
    }


@pytest.mark.parametrize("case", GOLDEN["definitions"], ids=lambda case: f"{case['definition']}-{case['props']}")
def test_configuration_is_validated_as_kafka_validates_it(case: dict[str, Any]) -> None:
    """Values, suggestions, visibility and all messages, including repeated ones, are those of Kafka's class."""
    outcome = DEFINITIONS[case["definition"]].validate(case["props"])
    assert {value.name: view(value) for value in outcome} == case["validate"]


@pytest.mark.parametrize("case", GOLDEN["definitions"], ids=lambda case: f"{case['definition']}-{case['props']}")
def test_configuration_is_parsed_as_kafka_parses_it(case: dict[str, Any]) -> None:
    """The typed values, or the message of the first wrong key, are those of Kafka's class."""
    definition = DEFINITIONS[case["definition"]]
    if "parse_error" in case:
        with pytest.raises(ConfigError) as caught:
            definition.parse(case["props"])
        assert str(caught.value) == case["parse_error"]
    else:
        parsed = definition.parse(case["props"])
        assert {name: plain(value) for name, value in parsed.items()} == case["parse"]


def test_embedded_keys_are_prefixed_grouped_and_numbered_as_documentation_sorts_them() -> None:
    """Groups, order and dependents of embedded keys are those of Kafka's embed."""
    definition = embedded()
    keys = [(k.name, k.group, k.order_in_group, k.display_name, k.dependents) for k in definition.keys.values()]
    assert keys == [
        ("transforms", "Transforms", 1, "transforms", ()),
        ("transforms.a.regex", "Transforms: a", 0, "regex", ()),
        ("transforms.a.o", "Transforms: a: deep", 1, "O", ()),
        ("transforms.a.n", "Transforms: a: deep", 2, "n", ("transforms.a.o",)),
    ]
    assert definition.groups == ["Transforms", "Transforms: a", "Transforms: a: deep"]


def test_embedded_recommender_sees_only_its_own_short_names() -> None:
    """A plugin's recommender does not see the prefix."""
    seen: list[Any] = []

    class Spy(Recommender):
        def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
            seen.append((name, dict(parsed_config)))
            return []

    outer = ConfigDef().define("x", STRING, "1")
    outer.embed("p.", "P", 0, ConfigDef().define("x", STRING, "2", recommender=Spy()))
    outer.validate({})
    assert seen == [("x", {"x": "2"})]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"default": "x"}, "Invalid value x for configuration a: Not a number of type INT"),
        (
            {"default": 0, "validator": Range.at_least(1)},
            "Invalid value 0 for configuration a: Value must be at least 1",
        ),
        (
            {"default": None, "validator": Range.at_least(1)},
            "Invalid value null for configuration a: Value must be non-null",
        ),
    ],
)
def test_wrong_default_is_refused_when_the_key_is_defined(arguments: dict[str, Any], message: str) -> None:
    """An invalid default fails at once, not only when a user omits the key."""
    with pytest.raises(ConfigError) as caught:
        ConfigDef().define("a", INT, **arguments)
    assert str(caught.value) == message


def test_key_cannot_be_defined_twice() -> None:
    """A duplicate key is a mistake of the author."""
    with pytest.raises(ConfigError, match=r"Configuration a is defined twice\."):
        ConfigDef().define("a", INT).define("a", STRING)


def test_duplicates_dropped_from_a_valid_list_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Parsing drops duplicates with a warning, where validating refuses them."""
    definition = ConfigDef().define("l", LIST, "", ValidList())
    with caplog.at_level(logging.WARNING):
        assert definition.parse({"l": "a,b,a"}) == {"l": ["a", "b"]}
    assert "['a', 'b', 'a'] is taken as ['a', 'b']" in caplog.text


def test_second_visit_keeps_only_what_both_visits_suggest() -> None:
    """A key reached from two keys shows the intersection of the suggestions, in the order of the last."""

    class Alternating(Recommender):
        answers = iter([[1, 2, 3], [3, 4, 2]])

        def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
            return next(self.answers)

    definition = (
        ConfigDef()
        .define("a", INT, 1, dependents=["c"])
        .define("b", INT, 1, dependents=["c"])
        .define("c", INT, 1, recommender=Alternating())
    )
    assert definition.validate_all({})["c"].recommended_values == [3, 2]


def test_recommender_error_becomes_message_of_its_key() -> None:
    """A failing recommender does not end the validation."""

    class Unable(Recommender):
        def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
            raise ConfigError("the other system does not answer")

    outcome = ConfigDef().define("a", INT, 1, recommender=Unable()).validate_all({})["a"]
    assert outcome.error_messages == ["the other system does not answer"]
    assert outcome.value == 1


def test_circle_below_a_root_ends() -> None:
    """Where Kafka's walk never returns, each key of the circle is visited once."""
    definition = (
        ConfigDef()
        .define("root", INT, 1, dependents=["a"])
        .define("a", INT, dependents=["b"])
        .define("b", INT, 1, dependents=["a"])
    )
    missing = 'Missing required configuration "a" which has no default value.'
    assert definition.validate_all({})["a"].error_messages == [missing]


def test_definition_lists_names_groups_and_defaults_in_order() -> None:
    """REST shows keys in the order of definition."""
    definition = (
        ConfigDef()
        .define("z", INT, "5", group="G2", width=Width.SHORT)
        .define("a", STRING, group="G1")
        .define("m", LIST, None, group="G2")
    )
    assert definition.names == ["z", "a", "m"]
    assert definition.groups == ["G2", "G1"]
    assert definition.default_values == {"z": 5, "m": None}


def test_class_keys_are_resolved_by_the_definition() -> None:
    """A definition with a resolver returns the resolved class; an embedded one keeps its own resolver."""
    definition = ConfigDef({"int": int}.__getitem__).define("c", ConfigType.CLASS)
    definition.embed("p.", "P", 0, ConfigDef().define("c", ConfigType.CLASS))
    assert definition.parse({"c": "int", "p.c": "int"}) == {"c": int, "p.c": "int"}
    assert definition.validate_all({"c": "long", "p.c": "x"})["c"].error_messages == [
        "Invalid value long for configuration c: Class long could not be found."
    ]


@given(st.dictionaries(st.sampled_from(["i", "s", "l", "b", "other"]), st.text(max_size=5)))
def test_parse_and_validate_agree(props: dict[str, str]) -> None:
    """A configuration parses exactly if validation finds no error, and to the same values."""
    definition = (
        ConfigDef()
        .define("i", INT, 1, Range.at_least(0))
        .define("s", STRING, validator=ValidString("x", "y"))
        .define("l", LIST, "a")
        .define("b", ConfigType.BOOLEAN, False)
    )
    outcome = definition.validate(props)
    messages = [message for value in outcome for message in value.error_messages]
    if messages:
        with pytest.raises(ConfigError) as caught:
            definition.parse(props)
        assert str(caught.value) in messages
    else:
        assert {value.name: value.value for value in outcome} == definition.parse(props)


def test_unlisted_key_is_listed_only_if_used() -> None:
    """It is always parsed and checked."""
    definition = ConfigDef().define("a", ConfigType.INT, 1).define("b", ConfigType.INT, 2, unlisted=True)
    assert definition.listed().names == ["a"]
    assert definition.listed({"b": "5"}).names == ["a", "b"]
    assert definition.listed({"p.b": "5"}, "p.").names == ["a", "b"]
    assert definition.parse({"b": "5"}) == {"a": 1, "b": 5}
    with pytest.raises(ConfigError):
        definition.parse({"b": "x"})
