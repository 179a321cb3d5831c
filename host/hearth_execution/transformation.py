"""Runs transformations and predicates on batches whose rows are numbered across them.

Each is called in batch form if it has one that accepts the batch, record by record otherwise. Consecutive steps
without a batch form pass on the records themselves, in the order of their numbers. The numbers ascend within each
batch that a step returns; rows of different batches may interleave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Any

from hearth_api import PluginError, Predicate, Transformation
from hearth_api.batch import Batch, BatchPredicate, BatchTransformation, batch_to_sink_records, records_by_kind
from hearth_api.batch import arrow as pa
from hearth_execution.failure import Failure
from hearth_execution.order import are_in, are_interleaved, is_numbered, rows_of
from hearth_execution.plugins import Attempts, Plugins


@dataclass(frozen=True)
class Step:
    """One step of the transformation chain: a transformation and its predicate."""

    role: str
    predicate: str | None = None
    negate: bool = False


@dataclass
class Outcome:
    """The result of a chain: the remaining batches and the failed rows; other rows were dropped."""

    batches: list[Batch] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


Link = Callable[[list[Batch]], Outcome]
"""Processes all batches."""


def chain(batches: Sequence[Batch], links: Iterable[Link]) -> Outcome:
    """Run batches through links, each of which gets the result of the one before."""
    outcome = Outcome(list(batches))
    for link in links:
        if not outcome.batches:
            break
        after = link(outcome.batches)
        outcome.batches = [each for each in after.batches if each.num_rows]
        outcome.failures += after.failures
    return outcome


@dataclass(frozen=True)
class Guard:
    """The predicate of a transformation, wherever the two run."""

    test: Callable[[Batch], tuple[Any, list[Failure]]]
    negate: bool
    class_name: str
    """Class of the transformation, which Kafka Connect also names for a failure of its predicate."""

    def apply(self, batches: Sequence[Batch], transform: Link) -> Outcome:
        """Transform only the rows that the predicate selects; the others stay unchanged."""
        chosen: list[Batch] = []
        others: list[Batch] = []
        failed: list[Failure] = []
        for batch in batches:
            mask, failures = self.test(batch)
            if self.negate:
                mask = pa.compute.invert(mask)
            if failures:
                kept = without(batch, failures)
                batch, mask = batch.filter(kept), mask.filter(kept)
                failed += [replace(failure, class_name=self.class_name) for failure in failures]
            for part, side in zip(_split(batch, mask), (chosen, others)):
                if part.num_rows:
                    side.append(part)
        outcome = transform(chosen) if chosen else Outcome()
        return Outcome([*outcome.batches, *others], failed + outcome.failures)


class Transformations:
    """Runs the transformations and predicates among loaded plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins

    def apply(
        self,
        steps: Sequence[Step],
        batches: Sequence[Batch],
        records: Sequence[Any] | None = None,
        *,
        drops_positions: bool = False,
    ) -> Outcome:
        """Run batches through consecutive steps.

        ``records`` are the rows as records, numbered from 0, if they exist already. With ``drops_positions`` the
        records of the last steps need not carry their source positions.
        """
        links: list[Link] = []
        left = len(steps)
        for take_records, alike in groupby(steps, self._takes_records):
            group = list(alike)
            left -= len(group)
            if take_records:
                drops = drops_positions and left == 0
                links.append(partial(self._apply_to_records, group, records=records, drops_positions=drops))
            else:
                links += [partial(self._apply_step, step) for step in group]
            records = None
        return chain(batches, links)

    def take_records(self, steps: Sequence[Step]) -> bool:
        """Return whether the first step takes records, which then need not be converted to batches."""
        return bool(steps) and self._takes_records(steps[0])

    def to_records(
        self, steps: Sequence[Step], batches: Sequence[Batch], consumed: Any
    ) -> tuple[list[Any], list[Failure]]:
        """Run a sink's batches through steps; returns the remaining records and the failed rows.

        Each record refers to the row it was read from (``consumed``), even if a step created it.
        """
        count = len(list(takewhile(self._takes_records, reversed(steps))))
        first, last = steps[: len(steps) - count], steps[len(steps) - count :]
        outcome = self.apply(first, batches)
        parts = [each.replace(consumed=consumed) for each in outcome.batches]
        if not last:
            return records_in_turn(parts), outcome.failures
        numbers, records = self._run_records(last, parts, None, outcome.failures)
        for number, record in zip(numbers, records):
            record.consumed = None if consumed is None else (consumed, number)
        return records, outcome.failures

    def test(self, role: str, batch: Batch) -> tuple[Any, list[Failure]]:
        """Evaluate a predicate for every row: a boolean array, and the rows it failed on (``False`` there)."""
        attempts = self.plugins.attempts(role)
        predicate: Predicate = self.plugins[role]
        if isinstance(predicate, BatchPredicate):
            mask = self._test_batch(predicate, attempts, batch)
        else:
            mask = self._test_records(predicate, attempts, batch)
        return mask, attempts.failures

    def _takes_records(self, step: Step) -> bool:
        """Return whether neither a step nor its predicate has a batch form."""
        guards = [] if step.predicate is None else [self.plugins[step.predicate]]
        plugins = [self.plugins[step.role], *guards]
        return not any(isinstance(each, (BatchTransformation, BatchPredicate)) for each in plugins)

    def _apply_to_records(
        self, steps: Sequence[Step], batches: Sequence[Batch], records: Sequence[Any] | None, drops_positions: bool
    ) -> Outcome:
        outcome = Outcome()
        numbers, left = self._run_records(steps, batches, records, outcome.failures)
        attempts = self.plugins.attempts(steps[-1].role)
        outcome.batches = _collected(attempts, numbers, left, drops_positions)
        outcome.failures += attempts.failures
        return outcome

    def _run_records(
        self, steps: Sequence[Step], batches: Sequence[Batch], records: Sequence[Any] | None, failures: list[Failure]
    ) -> tuple[list[int], list[Any]]:
        """Run the rows of batches through steps as records; returns the remaining ones with their numbers."""
        if records is None:
            attempts = self.plugins.attempts(steps[0].role)
            numbers, records = self._records(attempts, batches)
            failures += attempts.failures
        else:
            numbers = list(range(len(records)))
        links = [(self._link(step), self.plugins.attempts(step.role)) for step in steps]
        left = _through(links, numbers, records)
        for _, attempts in links:
            failures += attempts.failures
        return left

    def _link(self, step: Step) -> Callable[[Any], Any]:
        """Return the function of a step for one record; a retry evaluates its predicate again, as in Java."""
        apply = self.plugins[step.role].apply
        if step.predicate is None:
            return apply  # type: ignore[no-any-return]
        test, negate = self.plugins[step.predicate].test, step.negate
        return lambda record: record if bool(test(record)) is negate else apply(record)

    def _apply_step(self, step: Step, batches: Sequence[Batch]) -> Outcome:
        transform = partial(self._transform, step.role)
        if step.predicate is None:
            return transform(batches)
        guard = Guard(partial(self.test, step.predicate), step.negate, self.plugins.class_name(step.role))
        return guard.apply(batches, transform)

    def _transform(self, role: str, batches: Sequence[Batch]) -> Outcome:
        attempts = self.plugins.attempts(role)
        transformation: Transformation = self.plugins[role]
        if isinstance(transformation, BatchTransformation):
            made = _flat([self._transform_batch(transformation, attempts, batch) for batch in batches])
        else:
            made = self._transform_records(transformation, attempts, batches)
        return Outcome(made, attempts.failures)

    def _transform_batch(self, transformation: BatchTransformation, attempts: Attempts, batch: Batch) -> list[Batch]:
        rows = rows_of(batch)

        def run() -> Any:
            return NotImplemented if batch.needs_records else transformation.apply_batch(batch)

        def accept(batches: list[Batch], errors: Mapping[int, Exception]) -> list[Batch]:
            if not all(map(is_numbered, batches)):
                raise PluginError("apply_batch returned a batch without the column 'row' it was given")
            failed = rows[list(errors)]
            if len(failed) and any(are_in(rows_of(each), failed).any() for each in batches):
                raise PluginError("apply_batch returned a row that it reported as failed")
            return batches

        def by_records() -> list[Batch]:
            return self._transform_records(transformation, attempts, [batch])

        return attempts.at_once(rows, run, accept, by_records)

    def _transform_records(
        self, transformation: Transformation, attempts: Attempts, batches: Sequence[Batch]
    ) -> list[Batch]:
        rows, records = self._records(attempts, batches)
        return _collected(attempts, *_through([(transformation.apply, attempts)], rows, records))

    def _test_batch(self, predicate: BatchPredicate, attempts: Attempts, batch: Batch) -> Any:
        def run() -> Any:
            return NotImplemented if batch.needs_records else predicate.test_batch(batch)

        def accept(mask: Any, _: Any) -> Any:
            count, nulls, wanted = len(mask), mask.null_count, batch.num_rows
            if count != wanted or nulls:
                raise PluginError(f"test_batch returned {count} answers, {nulls} null, for {wanted} rows")
            return mask

        def by_records() -> Any:
            return self._test_records(predicate, attempts, batch)

        return attempts.at_once(rows_of(batch), run, accept, by_records)

    def _test_records(self, predicate: Predicate, attempts: Attempts, batch: Batch) -> Any:
        rows, records = self._records(attempts, [batch])
        answers = dict(zip(rows, attempts.one_by_one(rows, predicate.test, records, False)))
        return pa.array([bool(answers.get(row, False)) for row in rows_of(batch).tolist()], pa.bool_())

    def _records(self, attempts: Attempts, batches: Sequence[Batch]) -> tuple[list[int], list[Any]]:
        """Return rows as records in the order of their numbers; a row whose values Python cannot hold fails."""
        return _in_turn([part for batch in batches for part in self._read(attempts, batch)])

    def _read(self, attempts: Attempts, batch: Batch) -> list[tuple[list[int], list[Any]]]:
        numbers = rows_of(batch)

        def read(start: int, size: int) -> tuple[list[int], list[Any]]:
            return numbers[start : start + size].tolist(), self.plugins.records(batch.slice(start, size))

        blank: tuple[list[int], list[Any]] = ([], [])
        return attempts.in_halves(numbers, read, blank)


def records_in_turn(batches: Sequence[Batch]) -> list[Any]:
    """Return the rows of a sink's batches as records, ordered by number, or by batch if they have no numbers."""
    if not are_interleaved(batches):
        return [record for batch in batches for record in batch_to_sink_records(batch)]
    _, records = _in_turn([(rows_of(batch).tolist(), batch_to_sink_records(batch)) for batch in batches])
    return records


def _in_turn(parts: Sequence[tuple[list[int], list[Any]]]) -> tuple[list[int], list[Any]]:
    """Merge the numbers and records of several parts in the order of the numbers."""
    if len(parts) == 1:
        return parts[0]
    pairs = [pair for numbers, records in parts for pair in zip(numbers, records)]
    pairs.sort(key=itemgetter(0))
    return [number for number, _ in pairs], [record for _, record in pairs]


def _through(
    links: Sequence[tuple[Callable[[Any], Any], Attempts]], numbers: Iterable[int], records: Iterable[Any]
) -> tuple[list[int], list[Any]]:
    """Run one record after the other through all links; returns the remaining ones with their numbers.

    If a retry of a failed link succeeds, its record passes to the next link; otherwise the record is dropped.
    """
    rows: list[int] = []
    left: list[Any] = []
    calls = [attempts.noting(link) for link, attempts in links]
    for number, record in zip(numbers, records):
        call = None
        try:
            for call in calls:
                record = call(record)
                if record is None:
                    break
            else:
                rows.append(number)
                left.append(record)
        except Exception as error:
            place = next(place for place, each in enumerate(calls) if each is call)
            link, attempts = links[place]
            record = attempts.again(number, link, record, None, error)
            if record is not None:
                numbers_behind, records_behind = _through(links[place + 1 :], [number], [record])
                rows += numbers_behind
                left += records_behind
    return rows, left


def _collected(
    attempts: Attempts, numbers: list[int], records: list[Any], drops_positions: bool = False
) -> list[Batch]:
    """Return records as numbered batches; a record that does not match its schemas is a failure."""

    def collect(start: int, size: int) -> list[Batch]:
        batches = records_by_kind(records[start : start + size], drops_positions=drops_positions)
        return _renumbered(batches, numbers[start : start + size])

    return _flat(attempts.in_halves(numbers, collect, []))


def without(batch: Batch, failures: list[Failure]) -> Any:
    """Return a mask of the rows that did not fail."""
    return pa.array(~are_in(rows_of(batch), [failure.row for failure in failures]))


def _split(batch: Batch, mask: Any) -> tuple[Batch, Batch]:
    """Return the rows that a mask selects, and the others; if one part has all rows, its cached groupings stay."""
    chosen = batch.filter(mask)
    if chosen.num_rows == batch.num_rows:
        return batch, chosen.slice(0, 0)
    return (chosen, batch.filter(pa.compute.invert(mask))) if chosen.num_rows else (chosen, batch)


def _renumbered(batches: list[Batch], numbers: list[int]) -> list[Batch]:
    """Return batches whose rows are indices, or all rows, with the numbers at these indices."""
    column = pa.array(numbers, pa.int32())
    places = [batch.column("row") for batch in batches]
    own = (column if place is None else column.take(place) for place in places)
    return [batch.with_columns(row=rows) for batch, rows in zip(batches, own)]


def _flat(parts: list[list[Any]]) -> list[Any]:
    return [each for part in parts for each in part]
