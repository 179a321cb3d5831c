"""Converts configuration text to typed values and back; follows Kafka's `ConfigDef.parseType`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hearth_api.config.kind import ConfigType
from hearth_api.config.password import Password
from hearth_api.errors import ConfigError, NotFoundError
from hearth_api.text import java_text

ClassResolver = Callable[[str], Any]
"""Resolves the text of a CLASS key; raises `LookupError` or `NotFoundError`."""

# The characters that Java's String.trim() removes: U+0000 to U+0020.
_TRIMMED = "".join(map(chr, range(0x21)))
_COMMA = re.compile(r"\s*,\s*", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+")
_LONGEST = 1000
_BOOLEANS = {"true": True, "false": False}
# The texts that Java's Double.parseDouble accepts, with a type suffix or in hexadecimal, but without underscores.
_DOUBLE = re.compile(
    r"[+-]?(?:(?P<word>NaN|Infinity)|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_WHOLE_NAMES = {
    ConfigType.SHORT: "16-bit integer (short)",
    ConfigType.INT: "32-bit integer",
    ConfigType.LONG: "64-bit integer (long)",
}
_JAVA_CLASSES = {
    bool: "java.lang.Boolean",
    int: "java.lang.Integer",
    float: "java.lang.Double",
    str: "java.lang.String",
    list: "java.util.ArrayList",
    tuple: "java.util.ArrayList",
    dict: "java.util.HashMap",
}


def parse_type(name: str, value: Any, kind: ConfigType, resolver: ClassResolver | None = None) -> Any:
    """Return the value of key `name` as its type; text is trimmed first, `None` stays `None`.

    Values of the right Python type are returned unchanged. Raises `ConfigError` with Kafka's message. A pure function,
    callable from any thread.
    """
    if value is None:
        return None
    if kind in _BITS:
        return _whole(name, value, kind)
    if kind is ConfigType.CLASS:
        return _named(name, value, resolver)
    return _PARSERS[kind](name, value)


def convert_to_string(value: Any, kind: ConfigType | None) -> str | None:
    """Return a parsed value as text; secrets as `[hidden]`, lists joined by commas, `None` as `None`."""
    if value is None:
        return None
    if kind is ConfigType.LIST:
        return ",".join(java_text(item) for item in value)
    if isinstance(value, type):
        return class_text(value)
    return java_text(value)


def class_text(value: type) -> str:
    """Return the reference to a class, as `module:Name`."""
    return f"{value.__module__}:{value.__qualname__}"


def trimmed(text: str) -> str:
    """Return the text without the leading and trailing characters that Java's `trim` removes."""
    return text.strip(_TRIMMED)


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    parsed = _BOOLEANS.get(trimmed(value).lower()) if isinstance(value, str) else None
    if parsed is None:
        raise ConfigError(name, value, "Expected value to be either true or false")
    return parsed


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError(name, value, f"Expected value to be a string, but it was a {_java_class(value)}")
    return trimmed(value)


def _password(name: str, value: Any) -> Password:
    return value if isinstance(value, Password) else Password(_string(name, value))


def _whole(name: str, value: Any, kind: ConfigType) -> int:
    if isinstance(value, str):
        text = trimmed(value)
        # Text this long cannot fit, and Python refuses to parse very long integers.
        if _WHOLE.fullmatch(text) and len(text) < _LONGEST and _fits(int(text), kind):
            return int(text)
        raise ConfigError(name, value, f"Not a number of type {kind}")
    if isinstance(value, int) and not isinstance(value, bool) and _fits(value, kind):
        return value
    expected = _WHOLE_NAMES[kind]
    raise ConfigError(name, value, f"Expected value to be a {expected}, but it was a {_java_class(value)}")


def _fits(number: int, kind: ConfigType) -> bool:
    half = 1 << (_BITS[kind] - 1)
    return -half <= number < half


def _double(name: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise ConfigError(name, value, f"Expected value to be a double, but it was a {_java_class(value)}")
    text = trimmed(value)
    match = _DOUBLE.fullmatch(text)
    if match is None:
        raise ConfigError(name, value, f"Not a number of type {ConfigType.DOUBLE}")
    if match["hex"]:
        return _hexadecimal(text.rstrip("fFdD"))
    return float(text.rstrip("fFdD") if match["decimal"] else text)


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf" if text.startswith("-") else "inf")


def _list(name: str, value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    if not isinstance(value, str):
        raise ConfigError(name, value, "Expected a comma separated list.")
    text = trimmed(value)
    return _COMMA.split(text) if text else []


def _named(name: str, value: Any, resolver: ClassResolver | None) -> Any:
    if isinstance(value, type):
        return value
    if not isinstance(value, str):
        raise ConfigError(name, value, "Expected a Class instance or class name.")
    if resolver is None:
        return trimmed(value)
    try:
        return resolver(trimmed(value))
    except (LookupError, NotFoundError) as error:
        raise ConfigError(name, value, f"Class {value} could not be found.") from error


def _java_class(value: Any) -> str:
    return _JAVA_CLASSES.get(type(value), f"{type(value).__module__}.{type(value).__qualname__}")


_PARSERS: dict[ConfigType, Callable[[str, Any], Any]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: _string,
    ConfigType.PASSWORD: _password,
    ConfigType.DOUBLE: _double,
    ConfigType.LIST: _list,
}
