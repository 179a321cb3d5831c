"""Plans of tasks, and records that fail, for the tests of the runtime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hearth.runtime.plan import SinkPlan, SourcePlan, TaskPlan
from hearth.staging.plugin_plan import PluginSpec, TaskSettings
from hearth_execution.failure import ErrorInfo, Failure

SETTINGS = TaskSettings(
    flush_interval=60.0,
    flush_timeout=5.0,
    graceful_timeout=5.0,
    call_timeout=300.0,
    retry_timeout_ms=0,
    retry_delay_max_ms=60_000,
    is_tolerant=False,
    logs_failures=False,
    logs_records=False,
    tracks_topics=True,
)


def plugin(
    role: str,
    name: str,
    environment: str | None = None,
    config: dict[str, str] | None = None,
    predicate: str | None = None,
    negate: bool = False,
) -> PluginSpec:
    """Return the specification of a plugin of ``tests/samples``."""
    return PluginSpec(
        role, f"sample.{name}", f"sample_plugins:{name}", "1.0", environment, config or {}, predicate, negate
    )


def sink_plan(**members: Any) -> SinkPlan:
    """Return the plan of what a sink reads: one topic by default."""
    plan = SinkPlan(
        topics=("t",),
        topics_regex=None,
        hidden_topics=(),
        metadata_age=300.0,
        group="connect-c-host",
        members=1,
        max_poll_records=None,
        consumer={},
    )
    return replace(plan, **members)


def task_plan(
    type_: str, *transformations: PluginSpec, home: str = "bundle", key: str = "Text", **settings: Any
) -> TaskPlan:
    """Return a task whose connector lives in the environment ``home``, with converters of the host."""
    converters = (
        plugin("key.converter", key),
        plugin("value.converter", "TextBatch"),
        plugin("header.converter", "TextHeader"),
    )
    return TaskPlan(
        connector="c",
        task=0,
        type=type_,
        connector_class="sample.Connector",
        plugins=(plugin("task", "Connector", home), *converters, *transformations),
        environments={},
        task_config={},
        settings=replace(SETTINGS, **settings),
        source=SourcePlan(producer={}) if type_ == "source" else None,
        sink=sink_plan() if type_ == "sink" else None,
    )


@dataclass(frozen=True)
class Record:
    """A record as a loop knows it."""

    row: int

    def text(self) -> str:
        """Describe it."""
        return f"consumed record is {{row={self.row}}}"

    def place(self, *, with_key: bool = True) -> str:
        """Say which one it is."""
        return f"topic 't', partition 0, offset {self.row}"


def failure(row: int) -> Failure:
    """Return the failure of a row."""
    return Failure(row, "VALUE_CONVERTER", "the.Converter", ErrorInfo("data", "E", f"row {row}", f"trace of {row}"))
