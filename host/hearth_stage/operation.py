"""All operations of the stage protocol, by sender; ``PROTOCOL.md`` lists them in section 7.

Each family is declared in its own module, which lists its messages as ``TO_STAGE`` and ``FROM_STAGE``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from hearth_stage.call import Message, Notice, Operations, operations

_FAMILIES = {
    **dict.fromkeys(
        ("ping", "stacks", "metrics", "stopping", "describe", "validate", "try", "configure", "load"), "plugin_call"
    ),
    "tenant": "plugin_call",
    "levels": "log_call",
    **dict.fromkeys(("apply", "test"), "transformation_call"),
    **dict.fromkeys(("serialize", "deserialize", "serialize_headers", "deserialize_headers"), "conversion_call"),
    **dict.fromkeys(("source", "sink"), "task_call"),
    "offsets": "offset_call",
    **dict.fromkeys(("connector", "task_reconfiguration", "raise_error"), "connector_call"),
    "policy": "policy_call",
    "provider": "provider_call",
    "token": "token_call",
    **dict.fromkeys(("extension", "cluster"), "extension_call"),
}
"""Module of each operation, by the first part of its name."""


@dataclass(frozen=True)
class Hello(Notice, op="hello"):
    """A stage's first message: its protocol version, and whether several tenants may share it."""

    protocol: int
    pid: int | None = None
    tenants: bool = False


class StageOperations(dict[str, type[Message]]):
    """The messages of one side of a stage's connection.

    Families are imported on first use: no process uses all of them, and each costs memory and start time.
    """

    def __init__(self, side: str, own: Operations) -> None:
        super().__init__(own)
        self._side = side

    def __missing__(self, op: str) -> type[Message]:
        """Import the family of an operation; raises ``KeyError`` for an unknown one."""
        self.update(self._declared(_FAMILIES[op.partition(".")[0]]))
        if (kind := self.get(op)) is None:
            raise KeyError(op)
        return kind

    def all(self) -> Operations:
        """Return all messages of all families."""
        for module in dict.fromkeys(_FAMILIES.values()):
            self.update(self._declared(module))
        return self

    def _declared(self, module: str) -> Operations:
        found: Operations = getattr(import_module(f"hearth_stage.{module}"), self._side, {})
        return found


TO_STAGE = StageOperations("TO_STAGE", {})
"""Messages from a runtime to a stage."""

FROM_STAGE = StageOperations("FROM_STAGE", operations(Hello))
"""Messages from a stage to its runtime."""
