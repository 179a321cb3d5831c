"""Records of the config topic, as Kafka Connect writes them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from hearth.storage.interface import RestartRequest, SessionKey, TargetState
from hearth.storage.json_record import to_bytes
from hearth_api.java import hash_ordered

TARGET, CONNECTOR, TASK, COMMIT = "target-state-", "connector-", "task-", "commit-"
RESTART, TASK_COUNT, SESSION_KEY, LOGGER = "restart-connector-", "tasks-fencing-", "session-key", "logger-cluster-"
OWNER = "hearth-owner-"
"""Hearth's own records; Java's workers log that they discard them."""
_PAUSED_TO_OLD = {TargetState.STOPPED: TargetState.PAUSED}
"""The target state written for workers older than Kafka 3.5, which do not know STOPPED."""


def config_value(config: Mapping[str, str]) -> bytes:
    """Return the value of a connector's record."""
    return to_bytes({"properties": dict(config)})


def task_value(config: Mapping[str, str]) -> bytes:
    """Return the value of a task's record; Java copies its members to a HashMap before writing."""
    return to_bytes({"properties": hash_ordered(config, copied=len(config))})


def commit_value(tasks: int) -> bytes:
    """Return the value of a commit record for a number of tasks."""
    return to_bytes({"tasks": tasks})


def target_value(target: TargetState) -> bytes:
    """Return the value of a target's record."""
    return to_bytes({"state": _PAUSED_TO_OLD.get(target, target).value, "state.v2": target.value})


def restart_value(request: RestartRequest) -> bytes:
    """Return the value of a restart's record."""
    return to_bytes({"include-tasks": request.include_tasks, "only-failed": request.only_failed})


def task_count_value(count: int) -> bytes:
    """Return the value of a fencing record with the number of tasks."""
    return to_bytes({"task-count": count})


def session_key_value(key: SessionKey) -> bytes:
    """Return the value of the session key's record."""
    text = base64.b64encode(key.key).decode()
    return to_bytes({"key": text, "algorithm": key.algorithm, "creation-timestamp": key.created_ms})


def level_value(level: str) -> bytes:
    """Return the value of a log level's record."""
    return to_bytes({"level": level})


def owner_value(owner: str) -> bytes:
    """Return the value of a record that says who manages a connector."""
    return to_bytes({"owner": owner})


def parse_properties(value: Any) -> dict[str, str]:
    """Return the configuration of a connector or a task, in the order of the HashMap in which Java reads it.

    Like all parsers here, raises ValueError for an invalid value.
    """
    properties = _member(value, "properties", dict)
    if not all(text is None or isinstance(text, str) for text in properties.values()):
        raise ValueError("'properties' field should hold texts")
    return hash_ordered(properties)


def parse_target(value: Any) -> TargetState:
    """Return a target state; the newer field takes precedence over the older one."""
    if not isinstance(value, dict):
        raise ValueError(f"a map is expected, not {type(value).__name__}")
    newer = value.get("state.v2")
    return TargetState(newer if isinstance(newer, str) else _member(value, "state", str))


def parse_count(value: Any, member: str) -> int:
    """Return the number of tasks in a commit (``tasks``) or in a fencing record (``task-count``)."""
    count: int = _member(value, member, int)
    if count < 0:
        raise ValueError(f"'{member}' field should not be {count}")
    return count


def parse_restart(connector: str, value: Any) -> RestartRequest:
    """Return a restart request; a value that is not a boolean counts as false, as in Kafka Connect."""
    if not isinstance(value, dict):
        raise ValueError(f"a map is expected, not {type(value).__name__}")
    return RestartRequest(connector, value.get("only-failed") is True, value.get("include-tasks") is True)


def parse_session_key(value: Any) -> SessionKey:
    """Return the session key."""
    try:
        key = base64.b64decode(_member(value, "key", str), validate=True)
    except binascii.Error as error:
        raise ValueError("'key' field is not base64") from error
    return SessionKey(key, _member(value, "algorithm", str), _member(value, "creation-timestamp", int))


def parse_level(value: Any) -> str:
    """Return a log level."""
    level: str = _member(value, "level", str)
    return level


def parse_owner(value: Any) -> str:
    """Return who manages a connector."""
    owner: str = _member(value, "owner", str)
    return owner


def parse_task(name: str) -> tuple[str, int]:
    """Return connector and task number from a key without its prefix; raise ValueError if there is no number."""
    connector, hyphen, number = name.rpartition("-")
    if not hyphen:
        raise ValueError("it does not name a task")
    return connector, int(number)


def _member(value: Any, name: str, kind: type) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"a map is expected, not {type(value).__name__}")
    if type(value.get(name)) is not kind:
        raise ValueError(f"'{name}' field should be {kind.__name__}, but is {value.get(name)!r}")
    return value[name]
