"""Records of the status topic, as Kafka Connect writes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from hearth.storage.interface import ConnectorStatus, State, TaskStatus
from hearth.storage.json_record import from_bytes, to_bytes

CONNECTOR, TASK, TOPIC = "status-connector-", "status-task-", "status-topic-"
RUNS = "hearth-runs-"
"""Of records that Java's workers skip, with a warning."""
_OF_CONNECTOR = ":connector-"

Status = TypeVar("Status", ConnectorStatus, TaskStatus)


def connector_key(connector: str) -> str:
    """Return the key of a connector's status."""
    return f"{CONNECTOR}{connector}"


def task_key(connector: str, task: int) -> str:
    """Return the key of a task's status."""
    return f"{TASK}{connector}-{task}"


def runs_key(connector: str, task: int) -> str:
    """Return the key of what became of a task's runs."""
    return f"{RUNS}{connector}-{task}"


def topic_key(connector: str, topic: str) -> str:
    """Return the key of a record that a connector uses a topic."""
    return f"{TOPIC}{topic}{_OF_CONNECTOR}{connector}"


def status_value(status: ConnectorStatus | TaskStatus) -> bytes | None:
    """Return the value of a status; DESTROYED gives a tombstone."""
    if status.state is State.DESTROYED:
        return None
    return to_bytes(
        {
            "state": status.state.value,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version,
        }
    )


def topic_value(connector: str, task: int, topic: str, discovered_ms: int) -> bytes:
    """Return the value of a record with the time since which a connector uses a topic."""
    entry = {"name": topic, "connector": connector, "task": task, "discoverTimestamp": discovered_ms}
    return to_bytes({"topic": entry})


def parse_task(key: str, kind: str = TASK) -> tuple[str, int]:
    """Return connector and number from a key about a task; raise ValueError if there is no number."""
    connector, hyphen, number = key.removeprefix(kind).rpartition("-")
    if not hyphen:
        raise ValueError(f"{key!r} does not name a task")
    return connector, int(number)


def parse_topic(key: str) -> tuple[str, str]:
    """Return connector and topic from a topic's key; raise ValueError if one is missing."""
    topic, _, connector = key.removeprefix(TOPIC).partition(_OF_CONNECTOR)
    if not topic or not connector:
        raise ValueError(f"{key!r} does not name a topic of a connector")
    return connector, topic


def parse_status(empty: Status, value: bytes) -> Status:
    """Return the status in a record, for the connector or task of ``empty``; raise ValueError if it is invalid."""
    held = from_bytes(value)
    if not isinstance(held, dict):
        raise ValueError(f"a status must be a map, not {type(held).__name__}")
    trace, worker, generation, version = (_read(held, *member) for member in _MEMBERS)
    state = State(held.get("state"))
    return replace(empty, state=state, trace=trace, worker_id=worker or "", generation=generation, version=version)


_MEMBERS: tuple[tuple[str, type, bool], ...] = (
    ("trace", str, True),
    ("worker_id", str, True),
    ("generation", int, False),
    ("version", str, True),
)


def _read(held: dict[str, Any], name: str, kind: type, may_lack: bool) -> Any:
    value = held.get(name)
    if (value is None and may_lack) or type(value) is kind:
        return value
    raise ValueError(f"the member {name!r} of a status is {value!r}")
