"""What a poll returned, kept as it was until it is handed over together with what others return.

Columns of few records take longer to make than the records, so those of several polls are made together. A task may
change what it has returned before that, as it may in Kafka Connect: so copies are kept, of what can be copied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hearth_api import SourceRecord, Struct
from hearth_api.batch import LASTING, copies_of

FEW = 50
"""Of so many records the columns take no longer to make than copies do."""


class _UnknownError(Exception):
    """Nobody here knows how a value is copied."""


@dataclass(frozen=True)
class KeptPoll:
    """Copies of the records of a poll, and about how many bytes they hold."""

    records: list[SourceRecord]
    memory: int

    @property
    def num_rows(self) -> int:
        """Return how many records were polled."""
        return len(self.records)

    @classmethod
    def of(cls, records: Sequence[SourceRecord]) -> KeptPoll | None:
        """Return what a poll returned, one record or more; None where nobody here knows how something is copied."""
        copying = _Copying()
        try:
            copies, size = copies_of(records, copying.copy)
        except (_UnknownError, RecursionError):
            return None
        return None if copies is None else cls(copies, size + copying.memory)


class _Copying:
    """Copies what has parts that have parts, and adds up what it holds; raises ``_UnknownError``."""

    def __init__(self) -> None:
        self.memory = 0

    def copy(self, value: Any) -> Any:
        """Return a copy of a value that has parts, and of each of these."""
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
