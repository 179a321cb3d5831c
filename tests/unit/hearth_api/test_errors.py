"""Errors have facts, a stable code and a hint, which survive pickling."""

from __future__ import annotations

import pickle

import pytest

from hearth_api import ConfigError, ConnectError, DataError, SchemaBuilderError, UnknownNameError


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
    """REST clients see Kafka's message for an invalid configuration value."""
    assert str(error) == text


def test_error_survives_pickling() -> None:
    """A stage process sends its errors with facts, code and hint."""
    error = ConfigError("k", 5, "too much", code="config.range", hint="use less")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.code, copy.hint) == (str(error), "config.range", "use less")


def test_code_comes_from_the_class_unless_given() -> None:
    """Every error has a dotted code, usually that of its class."""
    assert DataError("x").code == "data.invalid"
    assert SchemaBuilderError("x").code == "data.schema"
    assert ConnectError("x", code="disk.full").code == "disk.full"


@pytest.mark.parametrize(
    ("name", "names", "text"),
    [
        ("idd", ("id", "name"), "Order has no field 'idd', did you mean 'id'?"),
        ("x", ("id", "name"), "Order has no field 'x', it has 'id', 'name'"),
        ("x", (), "Order has no field 'x', it has none"),
        (0, tuple(f"name {number:02}" for number in range(21)), "Order has no field 0, it has 'name 00', "),
    ],
)
def test_unknown_name_error_suggests_names(name: object, names: tuple[str, ...], text: str) -> None:
    """It is a KeyError and a DataError, and lists the nearest names."""
    error = pickle.loads(pickle.dumps(UnknownNameError("Order", "field", name, names)))
    assert isinstance(error, KeyError)
    assert isinstance(error, DataError)
    assert str(error) == text or (str(error).startswith(text) and str(error).endswith("'name 19', ..."))
