"""Errors carry facts, a stable code and a hint, through pickling as well."""

from __future__ import annotations

import pickle

import pytest

from hearth_api import ConfigError, ConnectError, DataError, SchemaBuilderError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigError("no such thing"), "no such thing"),
        (ConfigError("k", "v"), "Invalid value v for configuration k"),
        (ConfigError("k", None, "must be set"), "Invalid value null for configuration k: must be set"),
        (ConfigError("k", ["a", True], "no"), "Invalid value [a, true] for configuration k: no"),
    ],
)
def test_config_errors_read_as_kafkas(error: ConfigError, text: str) -> None:
    """REST clients see Kafka's wording of a wrong configuration value."""
    assert str(error) == text


def test_error_survives_pickling() -> None:
    """A stage process hands its errors on with facts, code and hint."""
    error = ConfigError("k", 5, "too much", code="config.range", hint="use less")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.hint) == (str(error), "config.range", "use less")


def test_code_comes_from_the_class_unless_given() -> None:
    """Every error has a dotted code, most of them that of their class."""
    assert DataError("x").code == "data.invalid"
    assert SchemaBuilderError("x").code == "data.schema"
    assert ConnectError("x", code="disk.full").code == "disk.full"
