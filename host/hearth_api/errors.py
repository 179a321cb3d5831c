"""The errors plugins raise and the host understands; what a caller can do is told by the class."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

_NEAR = 3
_MOST = 20
"""So many names a message lists."""


class ConnectError(Exception):
    """Something went wrong and calling again will not help.

    The facts are the arguments, the wording is made in `__str__`, so an error survives pickling. `code` is
    stable and dotted; `hint` tells what to do about it. Both may be given per error.

    `java_name` is the class of Kafka Connect that an error stands for: dead letters, traces and logs call it by that
    name, as whoever reads those of Java's workers expects. A class derived from this one goes by its own name in
    Python, unless it has a `java_name` of its own, as that of a connector that has come over from Java may.
    """

    code: str = "connect"
    hint: str | None = None
    java_name: str | None = "org.apache.kafka.connect.errors.ConnectException"

    def __init__(self, *args: Any, code: str | None = None, hint: str | None = None) -> None:
        """Keep the facts; `code` and `hint` replace the defaults of the class."""
        super().__init__(*args)
        if code is not None:
            self.code = code
        if hint is not None:
            self.hint = hint


class ConfigError(ConnectError):
    """A configuration is not acceptable: `ConfigError(message)` or `ConfigError(name, value, message)`."""

    code = "config.invalid"
    java_name = "org.apache.kafka.common.config.ConfigException"

    def __str__(self) -> str:
        """Word the error as Kafka Connect's REST clients know it."""
        if len(self.args) < 2:
            return super().__str__()
        name, value, *message = self.args
        text = f"Invalid value {_config_text(value)} for configuration {name}"
        return f"{text}: {message[0]}" if message and message[0] is not None else text


class NotFoundError(ConnectError):
    """What was asked for does not exist."""

    code = "not_found"
    java_name = "org.apache.kafka.connect.errors.NotFoundException"


class ConflictError(ConnectError):
    """The call does not fit the present state; a later one may."""

    code = "conflict"


class RetriableError(ConnectError):
    """The same call may succeed when it is made again."""

    code = "retriable"
    java_name = "org.apache.kafka.connect.errors.RetriableException"


class DataError(ConnectError):
    """A record cannot be handled; the error tolerance of the connector decides what becomes of it."""

    code = "data.invalid"
    java_name = "org.apache.kafka.connect.errors.DataException"


class UnknownNameError(DataError, KeyError):
    """A struct has no such field, or a record no such header: `UnknownNameError(owner, kind, name, names)`."""

    code = "data.name"
    java_name = DataError.java_name

    def __str__(self) -> str:
        """Name what there is, nearest names first."""
        owner, kind, name, names = self.args
        near = get_close_matches(name, names, _NEAR) if isinstance(name, str) else []
        if near:
            return f"{owner} has no {kind} {name!r}, did you mean {' or '.join(map(repr, near))}?"
        known = ", ".join(map(repr, names[:_MOST])) or "none"
        return f"{owner} has no {kind} {name!r}, it has {known}{', ...' if len(names) > _MOST else ''}"


class SchemaBuilderError(DataError):
    """A schema is being put together in a way that makes no sense."""

    code = "data.schema"
    java_name = "org.apache.kafka.connect.errors.SchemaBuilderException"


class SchemaProjectorError(DataError):
    """A value of one schema cannot be carried over to another."""

    code = "data.projection"
    java_name = "org.apache.kafka.connect.errors.SchemaProjectorException"


class PluginError(ConnectError):
    """A plugin raised; `trace` holds its own traceback as text, when there is one."""

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
