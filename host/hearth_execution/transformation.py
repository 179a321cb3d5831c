"""Transformations and predicates, run on batches whose rows are numbered.

Each is called in its batch form where it has one that takes the batch, and record by record otherwise. Steps that have
no form for batches and follow each other hand the records over themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, takewhile
from typing import Any

from hearth_api import PluginError, Predicate, Transformation
from hearth_api.batch import Batch, BatchPredicate, BatchTransformation, records_to_batches
from hearth_api.batch import arrow as pa
from hearth_execution.failure import Failure
from hearth_execution.order import in_order, rows_of
from hearth_execution.plugins import Attempts, Plugins, joined


@dataclass(frozen=True)
class Step:
    """One link of the transformation chain: a transformation and the predicate that guards it."""

    role: str
    predicate: str | None = None
    negate: bool = False


@dataclass
class Outcome:
    """What a chain made of a batch: the batches that go on and the rows that failed; other rows were dropped."""

    batches: list[Batch] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


def chain(batch: Batch, steps: Iterable[Callable[[Batch], Outcome]]) -> Outcome:
    """Run a batch through steps, each of which is given what the one before it left."""
    outcome = Outcome([batch])
    for step in steps:
        arrived, outcome.batches = outcome.batches, []
        for part in arrived:
            after = step(part)
            outcome.batches += [each for each in after.batches if each.num_rows]
            outcome.failures += after.failures
    return outcome


@dataclass(frozen=True)
class Guard:
    """A predicate before a transformation, wherever the two run."""

    test: Callable[[Batch], tuple[Any, list[Failure]]]
    negate: bool
    class_name: str
    """Class of the transformation: Kafka Connect names it for a failure of its predicate, too."""

    def apply(self, batch: Batch, transform: Callable[[Batch], Outcome]) -> Outcome:
        """Transform only the rows that the predicate chooses, and put the others back between them."""
        mask, failures = self.test(batch)
        if self.negate:
            mask = pa.compute.invert(mask)
        if failures:
            kept = without(batch, failures)
            batch, mask = batch.filter(kept), mask.filter(kept)
        outcome = _transform_chosen(batch, mask, transform)
        failed = [replace(failure, class_name=self.class_name) for failure in failures]
        return Outcome(outcome.batches, failed + outcome.failures)


class Transformations:
    """Runs the transformations and predicates among loaded plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins

    def apply(self, steps: Sequence[Step], batch: Batch, records: Sequence[Any] | None = None) -> Outcome:
        """Run a batch through consecutive steps; ``records`` are those it was made of, where somebody has them."""
        links: list[Callable[[Batch], Outcome]] = []
        for take_records, group in groupby(steps, self._takes_records):
            if take_records:
                links.append(partial(self._apply_to_records, list(group), records=records))
            else:
                links += [partial(self._apply_step, step) for step in group]
            records = None
        return chain(batch, links)

    def to_records(self, steps: Sequence[Step], batch: Batch) -> tuple[list[Any], list[Failure]]:
        """Run a sink's batch through steps and return the records that are left, and the rows that failed.

        Each record knows what it was read from (``consumed``), also one that a step made anew.
        """
        count = len(list(takewhile(self._takes_records, reversed(steps))))
        first, last = steps[: len(steps) - count], steps[len(steps) - count :]
        outcome = self.apply(first, batch)
        parts = [each.replace(consumed=batch.consumed) for each in outcome.batches]
        if not last:
            return [record for part in parts for record in self.plugins.records(part)], outcome.failures
        done: list[Any] = []
        for part in parts:
            numbers, records = self._run_records(last, part, None, outcome.failures)
            for number, record in zip(numbers, records):
                record.consumed = None if batch.consumed is None else (batch.consumed, number)
            done += records
        return done, outcome.failures

    def test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        """Ask a predicate about every row: a boolean array, and the rows it failed on (``False`` there)."""
        attempts = self.plugins.attempts(role)
        predicate: Predicate = self.plugins[role]
        if isinstance(predicate, BatchPredicate):
            mask = self._test_batch(predicate, attempts, batch)
        else:
            mask = self._test_records(predicate, attempts, batch)
        return mask, attempts.failures

    def _takes_records(self, step: Step) -> bool:
        """Tell whether a step has no part that is called with batches."""
        guards = [] if step.predicate is None else [self.plugins[step.predicate]]
        plugins = [self.plugins[step.role], *guards]
        return not any(isinstance(each, (BatchTransformation, BatchPredicate)) for each in plugins)

    def _apply_to_records(self, steps: Sequence[Step], batch: Batch, records: Sequence[Any] | None) -> Outcome:
        outcome = Outcome()
        numbers, left = self._run_records(steps, batch, records, outcome.failures)
        attempts = self.plugins.attempts(steps[-1].role)
        outcome.batches = _collected(attempts, numbers, left)
        outcome.failures += attempts.failures
        return outcome

    def _run_records(
        self, steps: Sequence[Step], batch: Batch, records: Sequence[Any] | None, failures: list[Failure]
    ) -> tuple[list[int], list[Any]]:
        """Take the rows of a batch through steps as records; returns those that are left, with their numbers."""
        if records is None:
            attempts = self.plugins.attempts(steps[0].role)
            numbers, records = self._records(attempts, batch)
            failures += attempts.failures
        else:
            numbers = rows_of(batch).tolist()
        links = [(self._link(step), self.plugins.attempts(step.role)) for step in steps]
        left = _through(links, numbers, records)
        for _, attempts in links:
            failures += attempts.failures
        return left

    def _link(self, step: Step) -> Callable[[Any], Any]:
        """Return what a step does to one record; its predicate is asked again when it is tried again, as in Java."""
        apply = self.plugins[step.role].apply
        if step.predicate is None:
            return apply  # type: ignore[no-any-return]
        test, negate = self.plugins[step.predicate].test, step.negate
        return lambda record: record if bool(test(record)) is negate else apply(record)

    def _apply_step(self, step: Step, batch: Batch) -> Outcome:
        transform = partial(self._transform, step.role)
        if step.predicate is None:
            return transform(batch)
        guard = Guard(partial(self.test, step.predicate), step.negate, self.plugins.class_name(step.role))
        return guard.apply(batch, transform)

    def _transform(self, role: str, batch: Batch) -> Outcome:
        attempts = self.plugins.attempts(role)
        transformation: Transformation = self.plugins[role]
        if isinstance(transformation, BatchTransformation):
            batches = self._transform_batch(transformation, attempts, batch)
        else:
            batches = self._transform_records(transformation, attempts, batch)
        return Outcome(batches, attempts.failures)

    def _transform_batch(self, transformation: BatchTransformation, attempts: Attempts, batch: Batch) -> list[Batch]:
        def run(start: int, size: int) -> list[Batch]:
            part = batch.slice(start, size)
            batches = transformation.apply_batch(part)
            if batches is NotImplemented:
                return self._transform_records(transformation, attempts, part)
            if any(each.column("row") is None for each in batches):
                raise PluginError("apply_batch returned a batch without the column 'row' it was given")
            return batches

        return _flat(attempts.in_halves(rows_of(batch), run, []))

    def _transform_records(self, transformation: Transformation, attempts: Attempts, batch: Batch) -> list[Batch]:
        rows, records = self._records(attempts, batch)
        return _collected(attempts, *_through([(transformation.apply, attempts)], rows, records))

    def _test_batch(self, predicate: BatchPredicate, attempts: Attempts, batch: Batch) -> Any:
        def run(start: int, size: int) -> Any:
            part = batch.slice(start, size)
            mask = predicate.test_batch(part)
            if mask is NotImplemented:
                return self._test_records(predicate, attempts, part)
            if len(mask) != size or mask.null_count:
                raise PluginError(f"test_batch returned {len(mask)} answers, {mask.null_count} null, for {size} rows")
            return mask

        return joined(attempts.in_halves(rows_of(batch), run, pa.array([False], pa.bool_())))

    def _test_records(self, predicate: Predicate, attempts: Attempts, batch: Batch) -> Any:
        rows, records = self._records(attempts, batch)
        answers = dict(zip(rows, attempts.one_by_one(rows, predicate.test, records, False)))
        return pa.array([bool(answers.get(row, False)) for row in rows_of(batch).tolist()], pa.bool_())

    def _records(self, attempts: Attempts, batch: Batch) -> tuple[list[int], list[Any]]:
        """Return rows as records, with their numbers; a row whose values Python cannot hold is a failure."""
        numbers = rows_of(batch)

        def read(start: int, size: int) -> tuple[list[int], list[Any]]:
            return numbers[start : start + size].tolist(), self.plugins.records(batch.slice(start, size))

        blank: tuple[list[int], list[Any]] = ([], [])
        parts = attempts.in_halves(numbers, read, blank)
        return parts[0] if len(parts) == 1 else (_flat([rows for rows, _ in parts]), _flat([own for _, own in parts]))


def _through(
    links: Sequence[tuple[Callable[[Any], Any], Attempts]], numbers: Iterable[int], records: Iterable[Any]
) -> tuple[list[int], list[Any]]:
    """Take one record after the other through all links; returns those that are left, with their numbers.

    A link that raised and did well when it was tried again hands its record to the next one; else the record is out.
    """
    rows: list[int] = []
    left: list[Any] = []
    for number, record in zip(numbers, records):
        rest = iter(links)
        while record is not None:
            try:
                for link, attempts in rest:
                    started = attempts.clock() if attempts.is_timed else 0.0
                    record = link(record)
                    if record is None:
                        break
            except Exception as error:
                record = attempts.again(number, link, record, None, error, started)
            else:
                break
        if record is not None:
            rows.append(number)
            left.append(record)
    return rows, left


def _collected(attempts: Attempts, numbers: list[int], records: list[Any]) -> list[Batch]:
    """Return records as numbered batches; one that is not what its schemas say is a failure."""

    def collect(start: int, size: int) -> list[Batch]:
        return _numbered(records_to_batches(records[start : start + size]), numbers[start : start + size])

    return _flat(attempts.in_halves(numbers, collect, []))


def without(batch: Batch, failures: list[Failure]) -> Any:
    """Return a mask of the rows that did not fail."""
    failed = {failure.row for failure in failures}
    return pa.array([row not in failed for row in rows_of(batch).tolist()], pa.bool_())


def _transform_chosen(batch: Batch, mask: Any, transform: Callable[[Batch], Outcome]) -> Outcome:
    chosen = batch.filter(mask)
    if chosen.num_rows == batch.num_rows:
        return transform(batch)
    if chosen.num_rows == 0:
        return Outcome([batch])
    outcome = transform(chosen)
    return Outcome(in_order([*outcome.batches, batch.filter(pa.compute.invert(mask))]), outcome.failures)


def _numbered(batches: list[Batch], rows: list[int]) -> list[Batch]:
    """Return consecutive batches with the numbers of their rows."""
    numbers = pa.array(rows, pa.int32())
    numbered, start = [], 0
    for batch in batches:
        numbered.append(batch.with_columns(row=numbers.slice(start, batch.num_rows)))
        start += batch.num_rows
    return numbered


def _flat(parts: list[list[Any]]) -> list[Any]:
    return [each for part in parts for each in part]
