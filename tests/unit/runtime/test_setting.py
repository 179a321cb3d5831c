"""Settings of a run, read from worker and connector configuration."""

from __future__ import annotations

from dataclasses import replace

from hearth.runtime.setting import TaskSettings
from hearth.runtime.spec import TaskSpec
from tests.unit.runtime.sample import task_spec


def spec(worker: dict[str, str] | None = None, config: dict[str, str] | None = None) -> TaskSpec:
    """Return a specification with these configurations."""
    return replace(task_spec("source"), worker=worker or {}, config=config or {})


def test_defaults_are_kafka_connects() -> None:
    """What a configuration leaves out is as in Kafka Connect; times are in seconds."""
    settings = TaskSettings.of(spec())
    assert (settings.flush_interval, settings.flush_timeout, settings.graceful_timeout) == (60.0, 5.0, 5.0)
    assert settings.call_timeout == 300.0
    assert list(settings.reporters) == []
    assert settings == TaskSettings(reporters=settings.reporters)


def test_worker_sets_the_times() -> None:
    """Milliseconds of the worker's configuration become seconds."""
    worker = {
        "offset.flush.interval.ms": "250",
        "offset.flush.timeout.ms": "1500",
        "task.shutdown.graceful.timeout.ms": "2000",
        "plugin.call.timeout.ms": "10",
    }
    settings = TaskSettings.of(spec(worker))
    assert (settings.flush_interval, settings.flush_timeout, settings.graceful_timeout) == (0.25, 1.5, 2.0)
    assert settings.call_timeout == 0.01


def test_connector_may_set_its_own_call_timeout() -> None:
    """How long a plugin may take is best known for the one connector."""
    settings = TaskSettings.of(spec({"plugin.call.timeout.ms": "10"}, {"plugin.call.timeout.ms": "20"}))
    assert settings.call_timeout == 0.02
