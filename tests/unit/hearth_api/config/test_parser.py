"""Text is parsed exactly as Kafka 4.3.1's ConfigDef.parseType does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import ConfigError, ConfigType, NotFoundError, Password
from hearth_api.config.parser import convert_to_string
from hearth_api.java import parse_type

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "config.json").read_text("ascii"))
WHOLE = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}


def no_such_class(text: str) -> Any:
    """Resolve no class."""
    raise LookupError(text)


def expected(value: Any, kind: ConfigType) -> Any:
    """Return the golden value as the API returns it."""
    if isinstance(value, dict):
        return Password(value["password"]) if "password" in value else float(value["double"])
    return float(value) if kind is ConfigType.DOUBLE and value is not None else value


@pytest.mark.parametrize("case", GOLDEN["parse"], ids=lambda case: f"{case['type']}-{case['text']!a}")
def test_text_is_parsed_as_kafka_parses_it(case: dict[str, Any]) -> None:
    """The value, or the message with the untrimmed text, is that of Kafka's class."""
    kind = ConfigType(case["type"])
    if "error" in case:
        with pytest.raises(ConfigError) as caught:
            parse_type("k", case["text"], kind, no_such_class)
        assert str(caught.value) == f"Invalid value {case['text']} for configuration k: {case['error']}"
    else:
        value = parse_type("k", case["text"], kind, no_such_class)
        wanted = expected(case["value"], kind)
        assert repr(value) == repr(wanted)
        assert value == wanted or value != value


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (ConfigType.BOOLEAN, 7, "Expected value to be either true or false"),
        (ConfigType.STRING, True, "Expected value to be a string, but it was a java.lang.Boolean"),
        (ConfigType.STRING, 7.5, "Expected value to be a string, but it was a java.lang.Double"),
        (ConfigType.INT, True, "Expected value to be a 32-bit integer, but it was a java.lang.Boolean"),
        (ConfigType.INT, {}, "Expected value to be a 32-bit integer, but it was a java.util.HashMap"),
        (
            ConfigType.SHORT,
            70000,
            "Expected value to be a 16-bit integer (short), but it was a java.lang.Integer",
        ),
        (ConfigType.LONG, 7.0, "Expected value to be a 64-bit integer (long), but it was a java.lang.Double"),
        (ConfigType.DOUBLE, True, "Expected value to be a double, but it was a java.lang.Boolean"),
        (ConfigType.LIST, 53, "Expected a comma separated list."),
        (ConfigType.CLASS, 7, "Expected a Class instance or class name."),
        (ConfigType.PASSWORD, 7, "Expected value to be a string, but it was a java.lang.Integer"),
    ],
)
def test_value_of_a_wrong_type_is_refused_in_kafkas_words(kind: ConfigType, value: Any, reason: str) -> None:
    """Values that are not text must already have the key's type; the message names Java's class."""
    with pytest.raises(ConfigError) as caught:
        parse_type("k", value, kind)
    assert str(caught.value).endswith(f" for configuration k: {reason}")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ConfigType.BOOLEAN, True),
        (ConfigType.INT, 7),
        (ConfigType.SHORT, -32768),
        (ConfigType.LONG, 2**63 - 1),
        (ConfigType.DOUBLE, 7.5),
        (ConfigType.LIST, ["a", "b"]),
        (ConfigType.CLASS, dict),
        (ConfigType.PASSWORD, Password("p")),
    ],
)
def test_typed_value_is_returned_unchanged(kind: ConfigType, value: Any) -> None:
    """A value that already has the key's type needs no parsing."""
    assert parse_type("k", value, kind) == value


@pytest.mark.parametrize("kind", ConfigType)
def test_none_stays_none_for_every_type(kind: ConfigType) -> None:
    """A key without a value has no value; its validator decides whether that is wrong."""
    assert parse_type("k", None, kind) is None
    assert convert_to_string(None, kind) is None


def test_class_key_without_resolver_gives_the_trimmed_text() -> None:
    """Plugins receive the text of a CLASS key; the host resolves it."""
    assert parse_type("k", " a.b.C ", ConfigType.CLASS) == "a.b.C"


def test_class_key_is_the_result_of_its_resolver() -> None:
    """The resolver receives the trimmed text, and its result is the value."""
    assert parse_type("k", " int ", ConfigType.CLASS, {"int": int}.__getitem__) is int


def test_not_found_from_a_resolver_becomes_kafkas_message() -> None:
    """NotFoundError and LookupError are handled in the same way."""

    def missing(text: str) -> Any:
        raise NotFoundError(text)

    with pytest.raises(ConfigError, match=r"Class x could not be found\."):
        parse_type("k", "x", ConfigType.CLASS, missing)


@given(st.sampled_from(sorted(WHOLE)), st.integers(-(2**65), 2**65), st.text(" \t\n\0", max_size=3))
def test_whole_number_is_accepted_exactly_within_its_bits(kind: str, number: int, blanks: str) -> None:
    """SHORT, INT and LONG hold 16, 32 and 64 bits; surrounding characters up to the blank are trimmed."""
    limit = 1 << WHOLE[ConfigType(kind)]
    text = f"{blanks}{number}{blanks}"
    if -limit <= number < limit:
        assert parse_type("k", text, ConfigType(kind)) == number
    else:
        with pytest.raises(ConfigError, match=f"Not a number of type {kind}"):
            parse_type("k", text, ConfigType(kind))


@given(st.floats(allow_nan=False))
def test_double_survives_its_own_text(number: float) -> None:
    """The text Kafka shows for a DOUBLE parses back to the same number."""
    text = convert_to_string(number, ConfigType.DOUBLE)
    assert parse_type("k", text, ConfigType.DOUBLE) == number


@given(st.lists(st.text(st.characters(codec="ascii", min_codepoint=0x21, exclude_characters=","), min_size=1)))
def test_list_survives_its_own_text(items: list[str]) -> None:
    """Items without commas and outer blanks are unchanged, in order, duplicates kept."""
    text = convert_to_string(items, ConfigType.LIST)
    assert parse_type("k", text, ConfigType.LIST) == items


@given(st.text(), st.sampled_from(ConfigType))
def test_any_text_is_parsed_or_refused_by_config_error(text: str, kind: ConfigType) -> None:
    """No text makes the parser raise anything but ConfigError, and every accepted value shows as text."""
    try:
        value = parse_type("k", text, kind)
    except ConfigError:
        return
    assert isinstance(convert_to_string(value, kind), str)


@given(st.text())
def test_password_never_shows_its_text(secret: str) -> None:
    """A secret prints as one word in every form, and equals another of the same text."""
    password = Password(secret)
    assert {str(password), f"{password}", convert_to_string(password, ConfigType.PASSWORD)} == {"[hidden]"}
    assert repr([password]) == "[Password([hidden])]"
    assert password == Password(secret)
    assert hash(password) == hash(Password(secret))
    assert password.value == secret


def test_class_shows_as_its_python_path() -> None:
    """A class used as a value is shown as configurations name it."""
    assert convert_to_string(Path, ConfigType.CLASS) == f"{Path.__module__}:Path"
