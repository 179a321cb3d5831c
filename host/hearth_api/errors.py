"""Errors that plugins raise and the host handles; the class tells the caller what to do."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

_NEAR = 3
_MOST = 20
"""The most names that a message lists."""


class ConnectError(Exception):
    """Something went wrong, and calling again will not help.

    The arguments are the facts; `__str__` composes the message, so an error survives pickling. `code` is a stable
    dotted name; `hint` tells how to fix it. Both may be given per error.

    `java_name` is the Kafka Connect class that an error stands for: dead letters, tracebacks and logs show that name,
    as Java workers do. A derived class shows its Python name unless it sets a `java_name` itself, for example when its
    connector was ported from Java.
    """

    code: str = "connect"
    hint: str | None = None
    java_name: str | None = "org.apache.kafka.connect.errors.ConnectException"

    def __init__(self, *args: Any, code: str | None = None, hint: str | None = None) -> None:
        """Store the facts; `code` and `hint` override the defaults of the class."""
        super().__init__(*args)
        if code is not None:
            self.code = code
        if hint is not None:
            self.hint = hint


class ConfigError(ConnectError):
    """A configuration is invalid: `ConfigError(message)` or `ConfigError(name, value, message)`."""

    code = "config.invalid"
    java_name = "org.apache.kafka.common.config.ConfigException"

    def __str__(self) -> str:
        """Return the message as Kafka Connect's REST API shows it."""
        if len(self.args) < 2:
            return super().__str__()
        name, value, *message = self.args
        text = f"Invalid value {_config_text(value)} for configuration {name}"
        return f"{text}: {message[0]}" if message and message[0] is not None else text


class NotFoundError(ConnectError):
    """The requested object does not exist."""

    code = "not_found"
    java_name = "org.apache.kafka.connect.errors.NotFoundException"


class ConflictError(ConnectError):
    """The call conflicts with the present state; a later call may succeed."""

    code = "conflict"


class RetriableError(ConnectError):
    """The same call may succeed if repeated."""

    code = "retriable"
    java_name = "org.apache.kafka.connect.errors.RetriableException"


class DataError(ConnectError):
    """A record cannot be handled; the connector's error tolerance decides what happens to it."""

    code = "data.invalid"
    java_name = "org.apache.kafka.connect.errors.DataException"


class UnknownNameError(DataError, KeyError):
    """A struct lacks the field or a record lacks the header: `UnknownNameError(owner, kind, name, names)`."""

    code = "data.name"
    java_name = DataError.java_name

    def __str__(self) -> str:
        """List the existing names, closest match first."""
        owner, kind, name, names = self.args
        near = get_close_matches(name, names, _NEAR) if isinstance(name, str) else []
        if near:
            return f"{owner} has no {kind} {name!r}, did you mean {' or '.join(map(repr, near))}?"
        known = ", ".join(map(repr, names[:_MOST])) or "none"
        return f"{owner} has no {kind} {name!r}, it has {known}{', ...' if len(names) > _MOST else ''}"


class SchemaBuilderError(DataError):
    """A schema is built in an invalid way."""

    code = "data.schema"
    java_name = "org.apache.kafka.connect.errors.SchemaBuilderException"


class SchemaProjectorError(DataError):
    """A value cannot be projected from its schema onto another."""

    code = "data.projection"
    java_name = "org.apache.kafka.connect.errors.SchemaProjectorException"


class PluginError(ConnectError):
    """A plugin raised an exception; `trace` holds its traceback as text, if there is one."""

    code = "plugin"
    trace: str | None = None


def _config_text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_config_text(item) for item in value)}]"
    return str(value)
