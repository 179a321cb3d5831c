"""Attempts: one plugin run on many rows, so that a failure is that of the single record.

Tolerance, retries and dead letters are Kafka Connect's and therefore per record, however many rows a plugin is given
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hearth_api import arrow as pa
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.retry import Retry

T = TypeVar("T")
X = TypeVar("X")


class Attempts:
    """Runs one plugin on one batch and collects the rows that failed in ``failures``."""

    def __init__(self, retry: Retry, phase: str, class_name: str) -> None:
        self._retry = retry
        self._phase = phase
        self._class_name = class_name
        self.failures: list[Failure] = []

    def in_halves(self, rows: Any, run: Callable[[int, int], T], blank: T) -> list[T]:
        """Run on all rows at once; where that raises, on halves, until the rows that fail stand alone.

        ``run`` is given the first row's index and the number of rows. The results come in order, with ``blank`` where
        a row failed. Only a row that stands alone is tried again, so that nothing else waits for it.
        """
        return self._run(rows, run, blank, 0, len(rows))

    def one_by_one(self, rows: Iterable[int], run: Callable[[X], T], items: Iterable[X], blank: T) -> list[T]:
        """Run on each item; the results come in order, with ``blank`` where a row failed."""
        results = []
        for row, item in zip(rows, items):
            try:
                results.append(self._retry.run(lambda item=item: run(item)))  # type: ignore[misc]
            except Exception as error:
                self._note(row, error)
                results.append(blank)
        return results

    def _run(self, rows: Any, run: Callable[[int, int], T], blank: T, start: int, size: int) -> list[T]:
        try:
            return [self._retry.run(lambda: run(start, size)) if size == 1 else run(start, size)]
        except Exception as error:
            if size == 0:
                raise
            if size == 1:
                self._note(rows[start], error)
                return [blank]
        half = size // 2
        return [
            *self._run(rows, run, blank, start, half),
            *self._run(rows, run, blank, start + half, size - half),
        ]

    def _note(self, row: Any, error: Exception) -> None:
        self.failures.append(Failure(int(row), self._phase, self._class_name, ErrorInfo.of(error)))


def joined(columns: list[Any]) -> Any:
    """Return Arrow arrays one behind the other; nearly always there is one, which is not copied."""
    return columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
