"""The order of a sink's records: whatever happens between fetch and put, a task is given them as they were consumed.

Converters part them by schema, routers by topic, predicates choose some, failures take some out, and a put is a part
of what was read. Batches may be interleaved all the way; the stage restores the order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.runtime.delivery import delivered, deserializing
from hearth.staging.plugin_plan import PluginSpec
from hearth_api import ConfigDef, SinkConnector, SinkTask
from hearth_api.batch import Batch, BatchSinkTask
from hearth_execution.plugins import Plugins
from hearth_execution.transformation import Step, Transformations
from hearth_stage.sink import StageSink
from hearth_stage.task_call import Put, StartSink
from tests.unit.runtime.sample import plugin
from tests.unit.runtime.test_pipeline import consumed, pipeline

SAMPLES = Path(__file__).parents[2] / "samples"
VALUES = st.sampled_from([b"a", b"7", b"long text", b"bad", b"u-long", b"no"])
KINDS = ("Upper", "UpperBatch", "UpperUnsure", "Route")
PREDICATES = (None, None, "IsLong", "IsLongBatch", "IsLongUnsure")
LINKS = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(PREDICATES), st.booleans()), max_size=3)

given_offsets: list[int] = []


class RecordTask(SinkTask):
    """Notes the offsets of the records it is given."""

    def version(self) -> str:
        """Return a version."""
        return "1"

    def start(self, props: Any) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Need nothing."""

    def put(self, records: Any) -> None:
        """Note offsets."""
        given_offsets.extend(record.original_kafka_offset for record in records)


class BatchTask(BatchSinkTask, RecordTask):
    """Notes the offsets of batches that follow each other."""

    def put_batch(self, batches: list[Batch]) -> None:
        """Note offsets."""
        for batch in batches:
            given_offsets.extend(batch.column("offset").to_pylist())


class InterleavedTask(RecordTask, BatchSinkTask):
    """Orders interleaved batches itself."""

    takes_interleaved = True

    def put_batch(self, batches: list[Batch]) -> None:
        """Note offsets in the order of the rows; batches without the column follow each other."""
        if any(batch.column("row") is None for batch in batches):
            BatchTask.put_batch(self, batches)  # type: ignore[arg-type]
            return
        columns = [(batch.column("row").to_pylist(), batch.column("offset").to_pylist()) for batch in batches]
        given_offsets.extend(offset for _, offset in sorted(pair for pairs in columns for pair in zip(*pairs)))


def connector(task: type[SinkTask]) -> type[SinkConnector]:
    """Return a connector of such a task."""

    class Connector(SinkConnector):
        """Leads to the task."""

        def version(self) -> str:
            return "1"

        def config(self) -> ConfigDef:
            return ConfigDef()

        def start(self, props: Any) -> None:
            pass

        def stop(self) -> None:
            pass

        def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
            return [{}]

        def task_class(self) -> type[SinkTask]:
            return task

    return Connector


Records, Batches, Interleaved = map(connector, (RecordTask, BatchTask, InterleavedTask))


@pytest.fixture(autouse=True)
def _samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    monkeypatch.setattr("hearth_stage.sink.MOST_SECONDS", 600.0)


def between(links: list[tuple[str, str | None, bool]]) -> list[PluginSpec]:
    """Return the transformations before the task's stage, with their predicates."""
    specs = []
    for number, (kind, predicate, negate) in enumerate(links):
        guard = None if predicate is None else f"predicates.p{number}"
        specs.append(plugin(f"transforms.{number}", kind, None, None, guard, negate))
        if guard is not None:
            specs.append(plugin(guard, predicate or ""))
    return specs


def stage(name: str, links: list[tuple[str, str | None, bool]]) -> StageSink:
    """Return a stage with steps of its own before a task."""
    plugins = Plugins("sink")
    steps = []
    for number, (kind, predicate, negate) in enumerate(links):
        plugins.load(f"s{number}", kind, f"sample_plugins:{kind}", {})
        if predicate is not None:
            plugins.load(f"p{number}", predicate, f"sample_plugins:{predicate}", {})
        steps.append(Step(f"s{number}", None if predicate is None else f"p{number}", negate))
    channel: Any = None
    sink = StageSink(channel, Transformations(plugins))
    sink.start(StartSink(f"{__name__}:{name}", {}, steps, tolerant=True))
    return sink


@pytest.mark.parametrize("name", ["Records", "Batches", "Interleaved"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(VALUES | st.none(), VALUES), max_size=40), LINKS, LINKS, st.integers(1, 40), st.booleans())
def test_a_task_gets_records_in_consumed_order(
    name: str, rows: list[tuple[Any, Any]], outside: Any, inside: Any, most: int, names_all: bool
) -> None:
    """None comes twice, and none vanishes that did not fail."""
    given_offsets.clear()
    sink, chain = stage(name, inside), pipeline("sink", *between(outside))
    incoming = [consumed(*(value for _, value in rows), keys=[key for key, _ in rows])] if rows else []
    delivery = delivered(incoming, deserializing(incoming, chain), chain)
    failed = {each.row for each in delivery.failures}
    columns = ["value", "offset"] if name != "Records" and not inside else None
    sink.put(Put([]))
    put = delivery.to_put(columns, most, are_consumed_wanted=names_all, heard=0)
    done = sink.put(put)
    failed |= {each.row for each in done.failures}
    assert done.taken == max(1, len(put.ends))
    assert given_offsets == [100 + row for row in range(len(rows)) if row not in failed]
