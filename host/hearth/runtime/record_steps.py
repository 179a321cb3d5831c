"""Runs single records step by step, and tells what each step made of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from hearth.kafka.topic_range import RawRecord
from hearth.runtime.record_codec import RecordCodec
from hearth.runtime.record_view import RecordView, View, changes
from hearth.staging.chain import Chain
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import ConnectError
from hearth_api.batch import Batch
from hearth_execution.order import numbered

PASSED, CHANGED, FILTERED, FAILED = "passed", "changed", "filtered", "failed"


@dataclass(frozen=True)
class StepResult:
    """One step of one record: its outcome, the record after it, and what differs from before.

    ``predicate`` is the one that guards a transformation. ``error`` has class and message.
    """

    step: str
    outcome: str
    record: View | None = None
    changes: list[dict[str, Any]] = field(default_factory=list)
    micros: int = 0
    predicate: str | None = None
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the result as the REST API shows it."""
        return asdict(self)


class RecordSteps:
    """The converters and transformations of a plan, each called alone. Used by one thread."""

    def __init__(self, plan: PluginPlan, view: RecordView, opened: ExitStack) -> None:
        """``view`` shows records; ``opened`` closes the plugins."""
        self._codec = RecordCodec(plan, opened)
        self._chain = [(each, Chain(plan, self._codec.places, [each])) for each in plan.transformations]
        self._view = view

    def of_polled(self, batch: Batch) -> list[StepResult]:
        """Return the steps of a record that a source polled, up to its bytes."""
        results = [StepResult("poll", PASSED, self._view.of(batch))]
        last = self._transformed(batch, results)
        if last is not None:
            self._do("convert", results, lambda: self._bytes(last))
        return results

    def of_consumed(self, record: RawRecord) -> list[StepResult]:
        """Return the steps of a record of a sink's topic, up to what `put` would get."""
        raw = {
            "topic": record.topic,
            "partition": record.partition,
            "timestamp": record.timestamp,
            "key": self._view.raw(record.key),
            "value": self._view.raw(record.value),
        }
        results = [StepResult("consume", PASSED, {**raw, "offset": record.offset})]
        read: list[Batch] = []

        def convert() -> View:
            read.append(self._codec.read(record))
            return self._view.of(read[0])

        if self._do("convert", results, convert):
            self._transformed(read[0], results)
        return results

    def of_given(self, batch: Batch) -> list[StepResult]:
        """Return the steps of a record that was given, through the transformations alone."""
        results = [StepResult("given", PASSED, self._view.of(batch))]
        self._transformed(batch, results)
        return results

    def _transformed(self, batch: Batch, results: list[StepResult]) -> Batch | None:
        """Add the transformations' results; return the batch after them, None if it did not get there."""
        for plugin, chain in self._chain:
            (alone,) = numbered([batch.with_columns(row=None)])
            begun = time.perf_counter()
            outcome = chain.transform([alone])
            micros = round((time.perf_counter() - begun) * 1e6)
            facts = {"micros": micros, "predicate": plugin.predicate}
            if outcome.failures:
                error = outcome.failures[0].error
                text = self._view.shown(f"{error.class_name}: {error.message}")
                results.append(StepResult(plugin.role, FAILED, error=text, **facts))  # type: ignore[arg-type]
                return None
            left = [each for each in outcome.batches if each.num_rows]
            if not left:
                results.append(StepResult(plugin.role, FILTERED, **facts))  # type: ignore[arg-type]
                return None
            batch = left[0]
            results.append(self._compared(plugin.role, results, self._view.of(batch), facts))
        return batch

    def _do(self, step: str, results: list[StepResult], act: Callable[[], View]) -> bool:
        """Add the result of a step that makes a view; return whether it succeeded."""
        begun = time.perf_counter()
        try:
            shown = act()
        except ConnectError as error:
            results.append(StepResult(step, FAILED, error=self._view.shown(str(error))))
            return False
        micros = round((time.perf_counter() - begun) * 1e6)
        results.append(self._compared(step, results, shown, {"micros": micros}))
        return True

    def _compared(self, step: str, results: list[StepResult], shown: View, facts: dict[str, Any]) -> StepResult:
        before = results[-1].record or {}
        found = [] if step == "convert" else list(changes(before, shown))
        return StepResult(step, CHANGED if found else PASSED, shown, found, **facts)

    def _bytes(self, batch: Batch) -> View:
        written = self._codec.write(batch)
        size = sum(len(each or b"") for each in (written.key, written.value))
        shown = {"topic": batch.topic, "key": self._view.raw(written.key), "value": self._view.raw(written.value)}
        return {**shown, "headers": [[name, self._view.raw(data)] for name, data in written.headers], "bytes": size}
