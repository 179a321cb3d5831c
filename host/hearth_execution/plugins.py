"""The loaded plugins of one environment, by role, and the code that runs one of them on many rows.

The same classes serve plugins installed with the host, inside the task runtime, and those of a bundle, inside its
stage process. ``transformation`` and ``converter`` run them on batches. Tolerance, retries and dead letters follow
Kafka Connect and are therefore per record, however many rows a plugin gets at once.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hearth_api import Converter, HeaderConverter, PluginError, needs_records
from hearth_api.batch import (
    Batch,
    BatchConverter,
    LateErrors,
    PartlyFailed,
    batch_to_sink_records,
    batch_to_source_records,
)
from hearth_api.batch import arrow as pa
from hearth_execution.failure import ErrorInfo, Failure, is_retriable
from hearth_execution.load import load_class, version_of
from hearth_execution.retry import NO_RETRY, Retry
from hearth_execution.stack import make_room

log = logging.getLogger(__name__)

T = TypeVar("T")
X = TypeVar("X")

_PHASE_OF_ROLE = {
    "key.converter": "KEY_CONVERTER",
    "value.converter": "VALUE_CONVERTER",
    "header.converter": "HEADER_CONVERTER",
}


class Plugins:
    """The plugins of one environment that one task uses."""

    def __init__(self, type_: str, retry: Retry = NO_RETRY) -> None:
        make_room()
        self._is_source = type_ == "source"
        self.retry = retry
        self._loaded: dict[str, Any] = {}
        self._class_names: dict[str, str] = {}
        self._failing: dict[str, bool] = {}
        """Roles whose batch form raised: records are used until a batch succeeds, or permanently if True."""

    def load(self, role: str, class_name: str, reference: str, config: dict[str, str]) -> str | None:
        """Create and configure the plugin of a role; returns its version."""
        plugin = load_class(reference)()
        if isinstance(plugin, Converter) and role != "header.converter":
            plugin.configure(config, role == "key.converter")
        elif isinstance(plugin, HeaderConverter) and role == "header.converter":
            plugin.configure({"converter.type": "header", **config})
        else:
            plugin.configure(config)
        self._loaded[role] = plugin
        self._class_names[role] = class_name
        return version_of(plugin)

    def __getitem__(self, role: str) -> Any:
        """Return the plugin of a role."""
        return self._loaded[role]

    @property
    def has_converters(self) -> bool:
        """Return whether it contains a converter of the connector."""
        return not self._loaded.keys().isdisjoint(_PHASE_OF_ROLE)

    def class_name(self, role: str) -> str:
        """Return the configured class name of the plugin of a role."""
        return self._class_names[role]

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Return a writer of single values for the converter of a role, None if it has none at present."""
        converter = self._loaded[role]
        if not isinstance(converter, BatchConverter) or role in self._failing or needs_records(schema):
            return None
        try:
            return converter.row_writer(topic, schema)
        except Exception:  # the column form will report the error
            return None

    def attempts(self, role: str) -> Attempts:
        """Return the runner for the plugin of a role, with Kafka Connect's name of its phase."""
        phase = _PHASE_OF_ROLE.get(role, "TRANSFORMATION")
        return Attempts(self.retry, phase, self.class_name(role), role, self._failing)

    def records(self, batch: Batch) -> list[Any]:
        """Return the rows of a batch as source or sink records, depending on the task."""
        return batch_to_source_records(batch) if self._is_source else batch_to_sink_records(batch)

    def close(self) -> None:
        """Close every plugin; an error of one does not stop the others from being closed."""
        plugins, self._loaded = list(self._loaded.values()), {}
        for plugin in plugins:
            try:
                plugin.close()
            except Exception:
                log.exception("closing %s failed", type(plugin).__name__)


class Attempts:
    """Runs one plugin on one batch and collects the rows that failed in ``failures``."""

    def __init__(
        self, retry: Retry, phase: str, class_name: str, role: str = "", failing: dict[str, bool] | None = None
    ) -> None:
        """``failing`` holds the roles that currently run record by record; this plugin's role is added and removed."""
        self._retry = retry
        self._role, self._failing = role, {} if failing is None else failing
        self._started = 0.0
        """When the latest first attempt started, if there is a retry deadline."""
        self._phase = phase
        self._class_name = class_name
        self.failures: list[Failure] = []
        self._failed_before = 0
        """Number of rows that failed in earlier runs, such as the conversion whose values are collected now."""

    def at_once(
        self,
        rows: Any,
        run: Callable[[], Any],
        accept: Callable[[Any, Mapping[int, Exception]], T],
        by_records: Callable[[], T],
    ) -> T:
        """Return the result of the batch form for all rows, else that of the record form.

        ``run`` calls the plugin, which may report rows that failed (``PartlyFailed``); the others are done. ``accept``
        gets its result and these rows' errors, and raises if they are not what the plugin must return. ``by_records``
        processes the whole batch, once, if the plugin raises or declines. After the plugin raised, the next batches
        are processed by records until one has no failure; after a result that was not accepted all of them are. If a
        reported error is retriable, or nothing is tolerated, the batch is processed by records as well.
        """
        if self._role in self._failing:
            return self._recovering(by_records)
        try:
            found = run()
        except MemoryError:
            raise
        except Exception:
            if not len(rows):
                raise
            self._failing[self._role] = False
            return self._recovering(by_records)
        if found is NotImplemented:
            return by_records()
        partly = found if isinstance(found, PartlyFailed) else PartlyFailed(found, {})
        try:
            _check_errors(partly.errors, len(rows))
            result = accept(partly.result, partly.errors)
        except MemoryError:
            raise
        except Exception as error:
            if not len(rows):
                raise
            log.error("%s gets records instead of batches from now on: %s", self._class_name, error)
            self._failing[self._role] = True
            return self._recovering(by_records)
        if partly.errors:
            if self._retry.is_strict or any(map(is_retriable, _made(partly.errors).values())):
                return by_records()
            self._note_named(rows, partly.errors)
        return result

    def _recovering(self, by_records: Callable[[], T]) -> T:
        failed = len(self.failures)
        done = by_records()
        if len(self.failures) == failed and not self._failing[self._role]:
            del self._failing[self._role]
        return done

    def in_halves(self, rows: Any, run: Callable[[int, int], T], blank: T) -> list[T]:
        """Run on all rows at once; if that raises, on halves, until each failing row is isolated.

        ``run`` gets the first row's index and the number of rows. The results are in order, with ``blank`` for each
        failed row. Only an isolated row is retried, so that no other row waits for it. If nothing is tolerated, all
        rows after a failed one fail with it.
        """
        self._failed_before = len(self.failures)
        return self._run(rows, run, blank, 0, len(rows))

    def one_by_one(self, rows: Iterable[int], run: Callable[[X], T], items: Iterable[X], blank: T) -> list[T]:
        """Run on each item; the results are in order, with ``blank`` for each failed row."""
        self._failed_before = len(self.failures)
        results: list[T] = []
        pairs, first = iter(zip(rows, items)), self.noting(run)
        for row, item in pairs:
            try:
                results.append(first(item))
            except Exception as error:
                results.append(self.again(row, run, item, blank, error))
                if self._is_over:
                    results += self._not_reached((row for row, _ in pairs), blank)
        return results

    def noting(self, run: Callable[[X], T]) -> Callable[[X], T]:
        """Return a function for first attempts, which records their start time if retries have a deadline."""
        if self._retry.timeout_ms <= 0:
            return run

        def noted(item: X) -> T:
            self._started = self._retry.clock()
            return run(item)

        return noted

    def again(self, row: int, run: Callable[[X], T], item: X, blank: T, error: Exception) -> T:
        """Retry a failed operation as the retry policy allows; returns ``blank`` if it keeps failing."""
        for attempt in itertools.count():
            if not self._retry.is_worth_another(error, attempt, self._started):
                break
            try:
                return run(item)
            except Exception as another:
                error = another
        self._note(row, error)
        return blank

    def _run(self, rows: Any, run: Callable[[int, int], T], blank: T, start: int, size: int) -> list[T]:
        if self._is_over:
            return self._not_reached(rows[start : start + size], blank)
        try:
            return [self._retry.run(lambda: run(start, size)) if size == 1 else run(start, size)]
        except Exception as error:
            if size == 0:
                raise
            if size == 1:
                self._note(rows[start], error)
                return [blank]
            if is_retriable(error):
                return self._doubling(rows, run, blank, start, size)
        half = size // 2
        return [
            *self._run(rows, run, blank, start, half),
            *self._run(rows, run, blank, start + half, size - half),
        ]

    def _doubling(self, rows: Any, run: Callable[[int, int], T], blank: T, start: int, size: int) -> list[T]:
        """Run on the first row, then double the number of rows after each success.

        A retriable error is seldom the fault of a row: a service is unavailable, and each call may take long to find
        that out. So there is one call per row while the outage lasts, and few afterwards.
        """
        results: list[T] = []
        step, end = 1, start + size
        while start < end:
            step, failed = min(step, end - start), len(self.failures)
            results += self._run(rows, run, blank, start, step)
            start += step
            step = 1 if len(self.failures) > failed else 2 * step
        return results

    @property
    def _is_over(self) -> bool:
        """Return whether a row failed in this run and is not tolerated: later rows are not reached."""
        return self._retry.is_strict and len(self.failures) > self._failed_before

    def _not_reached(self, rows: Iterable[int], blank: T) -> list[T]:
        """Fail the remaining rows with the last failure."""
        last = self.failures[-1]
        unreached = [replace(last, row=int(row)) for row in rows]
        self.failures += unreached
        return [blank] * len(unreached)

    def _note_named(self, rows: Any, errors: Mapping[int, Exception]) -> None:
        """Record the errors of rows by position; lazy errors are created on first access."""
        import numpy as np  # only if some rows of a column fail

        made, places = _made(errors), sorted(errors)
        for place, row in zip(places, np.asarray(rows)[places].tolist()):
            if (error := made.get(place)) is None:
                info = ErrorInfo.late(errors, place)
                self.failures.append(Failure(row, self._phase, self._class_name, info))
            else:
                self._note(row, error)
                error.__traceback__ = None  # its frames hold the batch, and this error

    def _note(self, row: Any, error: Exception) -> None:
        self.failures.append(Failure.of(int(row), self._phase, self._class_name, error))


def _check_errors(errors: Mapping[int, Exception], count: int) -> None:
    """Raise unless all errors are at positions of a batch of ``count`` rows."""
    for place, error in _made(errors).items():
        if not 0 <= place < count or not isinstance(error, Exception):
            raise PluginError(f"returned {error!r} as the error of row {place!r} of {count} rows")
    if errors and not 0 <= min(errors) <= max(errors) < count:
        raise PluginError(f"returned errors of rows {min(errors)!r} to {max(errors)!r} of {count} rows")


def _made(errors: Mapping[int, Exception]) -> Mapping[int, Exception]:
    """Return the errors that exist already."""
    return errors.made if isinstance(errors, LateErrors) else errors


def joined(columns: list[Any]) -> Any:
    """Return Arrow arrays concatenated; a single one, the usual case, is not copied."""
    return columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
