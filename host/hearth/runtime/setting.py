"""The settings of a run: what the loops read of worker and connector configuration, in seconds and typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hearth.runtime.spec import TaskSpec
from hearth.runtime.tolerance import Reporter


@dataclass(frozen=True)
class TaskSettings:
    """Times in seconds: between commits, for one commit, for a stop that drains, and for one call of a plugin."""

    flush_interval: float = 60.0
    flush_timeout: float = 5.0
    graceful_timeout: float = 5.0
    call_timeout: float = 300.0
    reporters: Sequence[Reporter] = field(default=())

    @classmethod
    def of(cls, spec: TaskSpec) -> TaskSettings:
        """Read the settings of a task."""
        worker = spec.worker
        return cls(
            _seconds(worker, "offset.flush.interval.ms", 60_000),
            _seconds(worker, "offset.flush.timeout.ms", 5_000),
            _seconds(worker, "task.shutdown.graceful.timeout.ms", 5_000),
            _seconds({**worker, **spec.config}, "plugin.call.timeout.ms", 300_000),
        )


def _seconds(properties: Mapping[str, str], key: str, default_ms: int) -> float:
    return int(properties.get(key, default_ms)) / 1000
