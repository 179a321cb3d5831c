"""Transformations change or drop records between connector and converter; predicates select the records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hearth_api.plugin import ConnectPlugin

if TYPE_CHECKING:
    from hearth_api.record import ConnectRecord

R = TypeVar("R", bound="ConnectRecord")


class Transformation(ConnectPlugin, ABC):
    """Changes one record at a time; follows Kafka's `Transformation` (KIP-66).

    Each task has its own instance of each step of its chain. A transformation that derives from
    `hearth_api.batch.BatchTransformation` receives whole batches instead.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the settings; called once, before the first record.

        `configs` are the keys under `transforms.ALIAS.` without that prefix, as unparsed text. A `ConfigError` fails
        the task.
        """

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """Return the changed record, the same record, or `None` to drop it.

        Called once per record in the order of the records, one call at a time, in source tasks before
        and in sink tasks after conversion; the same record comes again when a later step is retried. Never change the
        given record or anything reachable from it: build a new one with `record.new_record(...)`. A dropped record
        counts as done: its offset is committed. `errors.tolerance` governs every exception; a `RetriableError` is
        retried within `errors.retry.timeout`.
        """

    def close(self) -> None:
        """Release the step's resources; called once, when its task ends, not after a kill."""


class Predicate(ConnectPlugin, ABC):
    """Selects the records to which a transformation applies; follows Kafka's `Predicate` (KIP-585).

    The host applies the `negate` setting. A predicate that derives from `hearth_api.batch.BatchPredicate` receives
    whole batches instead.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the settings under `predicates.ALIAS.`; called once, before the first record."""

    @abstractmethod
    def test(self, record: ConnectRecord) -> bool:
        """Return whether the record satisfies the predicate.

        Called once per record and per transformation that names the predicate, one call at a time, and again if that
        transformation is retried with the record; must not change the record. Exceptions are handled like those of
        `Transformation.apply`.
        """

    def close(self) -> None:
        """Release the predicate's resources; called once, when its task ends, not after a kill."""
