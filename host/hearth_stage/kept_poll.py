"""The records of a poll, kept until they are handed over together with those of other polls.

Converting few records to columns costs more than the records, so several polls are converted together. A task may
change its records after it has returned them, as in Kafka Connect: so copies are kept, if all their types can be
copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hearth_api import SourceRecord, Struct
from hearth_api.batch import LASTING, copies_of

FEW = 50
"""With this many records, converting to columns costs no more than copying."""


class _UnknownError(Exception):
    """A value of a type that cannot be copied."""


@dataclass(frozen=True)
class KeptPoll:
    """Copies of a poll's records, and their approximate size in bytes."""

    records: list[SourceRecord]
    memory: int

    @property
    def num_rows(self) -> int:
        """Return the number of records."""
        return len(self.records)

    @classmethod
    def of(cls, records: Sequence[SourceRecord]) -> KeptPoll | None:
        """Return copies of a poll's records, at least one; None if a value cannot be copied."""
        copying = _Copying()
        try:
            copies, size = copies_of(records, copying.copy)
        except (_UnknownError, RecursionError):
            return None
        return None if copies is None else cls(copies, size + copying.memory)


class _Copying:
    """Copies nested values and adds up their size; raises ``_UnknownError``."""

    def __init__(self) -> None:
        self.memory = 0

    def copy(self, value: Any) -> Any:
        """Return a deep copy of a value."""
        kind = type(value)
        if kind in LASTING:
            self.memory += len(value) if kind is str or kind is bytes else 0
            return value
        if kind is dict:
            return {self.copy(name): self.copy(member) for name, member in value.items()}
        if kind is Struct:
            return Struct.unchecked(value.schema, [self.copy(member) for member in value.raw_values()])
        if kind is list or kind is tuple:
            return [self.copy(member) for member in value]
        raise _UnknownError
