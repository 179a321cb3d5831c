"""Loaded plugins of one environment, by role, and what runs one of them on many rows.

The same classes serve the plugins that are installed with the host, inside the task runtime, and those of a bundle,
inside its stage process. ``transformation`` and ``converter`` run them on batches. Tolerance, retries and dead letters
are Kafka Connect's and therefore per record, however many rows a plugin is given at once.
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
        """Roles whose form for batches raised, so that records are used until a batch goes well; True for good."""

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
        """Return whether one of the connector's converters is among them."""
        return not self._loaded.keys().isdisjoint(_PHASE_OF_ROLE)

    def class_name(self, role: str) -> str:
        """Return the class name under which the plugin of a role is known."""
        return self._class_names[role]

    def row_writer(self, role: str, topic: str, schema: Any) -> Any:
        """Return what writes values for the converter of a role one by one, None where nothing does for now."""
        converter = self._loaded[role]
        if not isinstance(converter, BatchConverter) or role in self._failing or needs_records(schema):
            return None
        try:
            return converter.row_writer(topic, schema)
        except Exception:  # told by what the converter makes of a column
            return None

    def attempts(self, role: str) -> Attempts:
        """Return what runs the plugin of a role on rows, whose phase is named as in Kafka Connect."""
        phase = _PHASE_OF_ROLE.get(role, "TRANSFORMATION")
        return Attempts(self.retry, phase, self.class_name(role), role, self._failing)

    def records(self, batch: Batch) -> list[Any]:
        """Return the rows of a batch as the records this task's kind of connector has."""
        return batch_to_source_records(batch) if self._is_source else batch_to_sink_records(batch)

    def close(self) -> None:
        """Close every plugin; what one of them raises does not keep the others open."""
        plugins, self._loaded = list(self._loaded.values()), {}
        for plugin in plugins:
            try:
                plugin.close()
            except Exception:
                log.exception("%s did not close as it should", type(plugin).__name__)


class Attempts:
    """Runs one plugin on one batch and collects the rows that failed in ``failures``."""

    def __init__(
        self, retry: Retry, phase: str, class_name: str, role: str = "", failing: dict[str, bool] | None = None
    ) -> None:
        """``failing`` holds the roles that are run by records for now; the plugin's own comes and goes."""
        self._retry = retry
        self._role, self._failing = role, {} if failing is None else failing
        self._started = 0.0
        """When the last first attempt began, where that matters."""
        self._phase = phase
        self._class_name = class_name
        self.failures: list[Failure] = []
        self._failed_before = 0
        """Count of rows that failed in earlier runs, such as the conversion whose values are collected."""

    def at_once(
        self,
        rows: Any,
        run: Callable[[], Any],
        accept: Callable[[Any, Mapping[int, Exception]], T],
        by_records: Callable[[], T],
    ) -> T:
        """Return what the form for batches makes of all rows, else what the form for records does.

        ``run`` calls the plugin, which may name rows that failed (``PartlyFailed``); the others are done. ``accept``
        is given its result and these rows' errors, and raises where they are not what the plugin has to return.
        ``by_records`` takes the whole batch, once, where the plugin raises or declines. After it raised, the next
        batches go by records until one has no failure; after a result that is not accepted all of them do. Where an
        error is retriable, or nothing is tolerated, named rows do not count: the batch goes by records as well.
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
            log.error("%s is given records instead of batches from now on: %s", self._class_name, error)
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
        """Run on all rows at once; where that raises, on fewer, until the rows that fail stand alone.

        ``run`` is given the first row's index and the number of rows. The results come in order, with ``blank`` where
        a row failed. Only a row that stands alone is tried again, so that nothing else waits for it. Where nothing is
        tolerated, all rows behind one that failed count as failed with it.
        """
        self._failed_before = len(self.failures)
        return self._run(rows, run, blank, 0, len(rows))

    def one_by_one(self, rows: Iterable[int], run: Callable[[X], T], items: Iterable[X], blank: T) -> list[T]:
        """Run on each item; the results come in order, with ``blank`` where a row failed."""
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
        """Return what makes a first attempt, with a note of when it began if there may be others until some time."""
        if self._retry.timeout_ms <= 0:
            return run

        def noted(item: X) -> T:
            self._started = self._retry.clock()
            return run(item)

        return noted

    def again(self, row: int, run: Callable[[X], T], item: X, blank: T, error: Exception) -> T:
        """Try what raised again while its failure asks for it; returns ``blank`` where it failed for good."""
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
                return self._ever_more(rows, run, blank, start, size)
        half = size // 2
        return [
            *self._run(rows, run, blank, start, half),
            *self._run(rows, run, blank, start + half, size - half),
        ]

    def _ever_more(self, rows: Any, run: Callable[[int, int], T], blank: T, start: int, size: int) -> list[T]:
        """Run on the first row, and on twice as many each time that goes well.

        What a plugin calls retriable mostly is no row's fault: something is away, and each call may take its time to
        find that out. So there is one call for each row as long as that lasts, and few when it is over.
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
        """Return whether a row has failed in this run that nobody tolerates: those behind it are not reached."""
        return self._retry.is_strict and len(self.failures) > self._failed_before

    def _not_reached(self, rows: Iterable[int], blank: T) -> list[T]:
        """Have rows fail with the last one that did."""
        last = self.failures[-1]
        behind = [replace(last, row=int(row)) for row in rows]
        self.failures += behind
        return [blank] * len(behind)

    def _note_named(self, rows: Any, errors: Mapping[int, Exception]) -> None:
        """Note the errors of rows by their places; those that are not made yet are made when somebody looks."""
        import numpy as np  # only where columns are, and some rows of them fail

        made, places = _made(errors), sorted(errors)
        for place, row in zip(places, np.asarray(rows)[places].tolist()):
            if (error := made.get(place)) is None:
                info = ErrorInfo.late(errors, place)
                self.failures.append(Failure(row, self._phase, self._class_name, info))
            else:
                self._note(row, error)
                error.__traceback__ = None  # its frames hold the batch, and this error among others

    def _note(self, row: Any, error: Exception) -> None:
        self.failures.append(Failure.of(int(row), self._phase, self._class_name, error))


def _check_errors(errors: Mapping[int, Exception], count: int) -> None:
    """Raise unless errors stand at places of a batch of so many rows."""
    for place, error in _made(errors).items():
        if not 0 <= place < count or not isinstance(error, Exception):
            raise PluginError(f"named {error!r} as the error of row {place!r}, of {count} rows")
    if errors and not 0 <= min(errors) <= max(errors) < count:
        raise PluginError(f"named errors of rows {min(errors)!r} to {max(errors)!r}, of {count} rows")


def _made(errors: Mapping[int, Exception]) -> Mapping[int, Exception]:
    """Return those of the errors of rows that are there already."""
    return errors.made if isinstance(errors, LateErrors) else errors


def joined(columns: list[Any]) -> Any:
    """Return Arrow arrays one behind the other; nearly always there is one, which is not copied."""
    return columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
