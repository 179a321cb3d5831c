"""A worker's settings in environment variables, as images of Kafka Connect take them.

The names follow Confluent's image: ``CONNECT_`` and a key in upper case, with ``_`` for a dot, ``__`` for an
underscore and ``___`` for a dash. A variable that ends with ``_FILE`` names a file with the value, such as a mounted
secret.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from hearth_api import ConfigError

log = logging.getLogger(__name__)

PREFIX = "CONNECT_"
PLACE = "the environment"
NAMING = "a variable is CONNECT_ and the key: CONNECT_GROUP_ID sets group.id"
_FILE = "_FILE"
_ROOT_LEVEL, _LEVELS = PREFIX + "LOG4J_ROOT_LOGLEVEL", PREFIX + "LOG4J_LOGGERS"
_WITHOUT_EFFECT = {
    "KAFKA_HEAP_OPTS": "Spark's keys set the memory of its JVM",
    "KAFKA_OPTS": "Spark's keys set the options of its JVM",
    "KAFKA_JMX_PORT": "GET /metrics has the metrics",
    "KAFKA_JMX_OPTS": "GET /metrics has the metrics",
    "CUB_KAFKA_TIMEOUT": "the host waits for its brokers by itself",
    PREFIX + "CUB_KAFKA_TIMEOUT": "the host waits for its brokers by itself",
    PREFIX + "LOG4J_APPENDER_STDOUT_LAYOUT_CONVERSIONPATTERN": "--log-format sets the form of log lines",
}
"""Variables of Java's images that have no effect here, with the reason."""
_PORT, _LISTENERS = "rest.port", "listeners"


def keys_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that the variables set; raises ConfigError for a secret file that cannot be read."""
    for name, reason in _WITHOUT_EFFECT.items():
        if name in variables:
            log.warning("%s has no effect: %s", name, reason)
    ours = {
        name: value
        for name, value in variables.items()
        if name.startswith(PREFIX) and name not in (*_WITHOUT_EFFECT, _ROOT_LEVEL, _LEVELS)
    }
    keys = {}
    for name, value in ours.items():
        plain = name.removesuffix(_FILE)
        if plain == name:
            keys[key_of(name)] = value
        elif plain in ours:
            raise ConfigError(f"{name}: {plain} is set as well", hint="set one of the two", code="config.twice")
        else:
            keys[key_of(plain)] = _content(name, Path(value))
    if _PORT in keys:
        port = keys.pop(_PORT)
        keys.setdefault(_LISTENERS, f"http://:{port}")
    return keys


def log_levels_of(variables: Mapping[str, str]) -> list[str]:
    """Return the levels that the variables set for loggers, in the form of ``--log-level``."""
    root = variables.get(_ROOT_LEVEL, "")
    return list(filter(None, map(str.strip, [root, *variables.get(_LEVELS, "").split(",")])))


def key_of(name: str) -> str:
    """Return the key that a variable sets."""
    text = name.removeprefix(PREFIX).lower()
    return text.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def variable_of(key: str) -> str:
    """Return the variable that sets a key."""
    return PREFIX + key.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _content(name: str, path: Path) -> str:
    """Return the content of a file without the line end that editors add."""
    try:
        return path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{name}={path}: {reason}", hint="mount the secret at that path") from error
