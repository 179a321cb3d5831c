"""Transformations change or drop records between connector and converter; predicates say which ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hearth_api.plugin import ConnectPlugin

if TYPE_CHECKING:
    from hearth_api.record import ConnectRecord

R = TypeVar("R", bound="ConnectRecord")


class Transformation(ConnectPlugin, ABC):
    """Changes one record at a time, follows Kafka's `Transformation` (KIP-66).

    Each task has its own instance of each step of its chain. A transformation that derives from
    `hearth_api.batch.BatchTransformation` is given whole batches instead.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the settings; called once, before the first record.

        `configs` are the keys below `transforms.ALIAS.` without that prefix, as text and not yet parsed.
        A `ConfigError` fails the task.
        """

    @abstractmethod
    def apply(self, record: R) -> R | None:
        """Return the changed record, the same record, or `None` to drop it.

        Called once per record in the order of the records, one call at a time, in source tasks before
        and in sink tasks after conversion; a record may come again when a later step is retried. Never
        change the given record or anything reachable from it: build a new one with
        `record.new_record(...)`. A dropped record counts as done: its offset is committed. Any exception
        is handled by `errors.tolerance`; `RetriableError` is repeated within `errors.retry.timeout`.
        """

    def close(self) -> None:
        """Release what the step holds; called once, when its task ends, not after a kill."""


class Predicate(ConnectPlugin, ABC):
    """Decides for which records a transformation is applied, follows Kafka's `Predicate` (KIP-585).

    A configuration's `negate` is applied by the host. A predicate that derives from
    `hearth_api.batch.BatchPredicate` is given whole batches instead.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the settings below `predicates.ALIAS.`; called once, before the first record."""

    @abstractmethod
    def test(self, record: ConnectRecord) -> bool:
        """Return whether the record satisfies the predicate.

        Called once per record and per transformation that names the predicate, one call at a time, and again
        where that transformation is tried again with the record; must not change the record. Exceptions are
        handled like those of `Transformation.apply`.
        """

    def close(self) -> None:
        """Release what the predicate holds; called once, when its task ends, not after a kill."""
