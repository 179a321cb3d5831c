"""Sensors of tasks: Kafka Connect's groups, and how each value follows from the counts of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hearth.metric.client_sensor import SENSORS, ClientTags
from hearth.metric.plugin_sensor import of_plugins
from hearth.metric.run_history import RunHistory
from hearth.metric.sensor import CONSUMER, OWN, PRODUCER, Measurement, Sensor, SensorKind, Tags, measured
from hearth.metric.task_metric import PAUSED, RUNNING, TaskMetrics
from hearth.runtime.plan import TaskPlan
from hearth.staging.plugin_plan import PluginSpec
from hearth_stage.plugin_call import Metric

TASK, SOURCE, SINK = "connector-task-metrics", "source-task-metrics", "sink-task-metrics"
ERROR = "task-error-metrics"
_TOTAL, _VALUE, _TEXT = SensorKind.TOTAL, SensorKind.VALUE, SensorKind.TEXT

Read = Callable[[TaskMetrics], float]


def _count(name: str) -> Read:
    return lambda metrics: metrics.count(name)


def _rate(name: str) -> Read:
    return lambda metrics: metrics.rate(name)


def _average(name: str, factor: float = 1.0) -> Read:
    return lambda metrics: metrics.average(name, factor)


def _most(name: str, factor: float = 1.0) -> Read:
    return lambda metrics: metrics.most(name, factor)


@dataclass(frozen=True)
class SensorTable:
    """Sensors of one group, and how each is read."""

    sensors: Sequence[Sensor]
    reads: Sequence[Read]

    @classmethod
    def of(cls, group: str, rows: Sequence[tuple[str, SensorKind, Read, str]]) -> SensorTable:
        """Return the table of rows: name, kind, read and meaning."""
        return cls([Sensor(group, name, doc, kind) for name, kind, _, doc in rows], [read for _, _, read, _ in rows])

    def measure(self, metrics: TaskMetrics, tags: Tags) -> Iterable[Measurement]:
        """Return the values of a task."""
        return measured(self.sensors, tags, [read(metrics) for read in self.reads])


MS = 1000.0

OF_ALL = SensorTable.of(
    TASK,
    [
        ("running-ratio", _VALUE, lambda each: each.time_share(RUNNING), "Share of the time in state RUNNING."),
        ("pause-ratio", _VALUE, lambda each: each.time_share(PAUSED), "Share of the time in state PAUSED."),
        ("offset-commit-avg-time-ms", _VALUE, _average("commit", MS), "Average time of a successful commit in ms."),
        ("offset-commit-max-time-ms", _VALUE, _most("commit", MS), "Longest time of a successful commit in ms."),
        (
            "offset-commit-success-percentage",
            _VALUE,
            lambda each: each.commit_share(is_success=True),
            "Share of commits that succeeded, 0 to 1; 1 if nothing was to be committed.",
        ),
        (
            "offset-commit-failure-percentage",
            _VALUE,
            lambda each: each.commit_share(is_success=False),
            "Share of commits that failed, 0 to 1.",
        ),
        ("batch-size-avg", _VALUE, _average("batch"), "Average number of records of a poll or put."),
        ("batch-size-max", _VALUE, _most("batch"), "Most records of a poll or put."),
    ],
)
OF_SOURCES = SensorTable.of(
    SOURCE,
    [
        ("source-record-poll-rate", _VALUE, _rate("polled"), "Records polled per second, before transformations."),
        ("source-record-poll-total", _TOTAL, _count("polled"), "Records polled by the present run."),
        ("source-record-write-rate", _VALUE, _rate("acknowledged"), "Records written per second."),
        ("source-record-write-total", _TOTAL, _count("acknowledged"), "Records written by the present run."),
        (
            "poll-batch-avg-time-ms",
            _VALUE,
            _average("poll", MS),
            "Average time in ms of a poll that returned records.",
        ),
        ("poll-batch-max-time-ms", _VALUE, _most("poll", MS), "Longest time in ms of a poll that returned records."),
        ("source-record-active-count", _VALUE, _count("active"), "Records polled and not acknowledged yet."),
        ("source-record-active-count-avg", _VALUE, _average("active"), "Average of the active count."),
        ("source-record-active-count-max", _VALUE, _most("active"), "Greatest active count."),
    ],
)
OF_TRANSACTIONS = SensorTable.of(
    SOURCE,
    [
        ("transaction-size-avg", _VALUE, _average("transaction"), "Average number of records of a transaction."),
        ("transaction-size-min", _VALUE, lambda each: each.least("transaction"), "Fewest records of a transaction."),
        ("transaction-size-max", _VALUE, _most("transaction"), "Most records of a transaction."),
    ],
)
"""Only of tasks that write exactly once."""
OF_SINKS = SensorTable.of(
    SINK,
    [
        ("sink-record-read-rate", _VALUE, _rate("read"), "Records read per second, before conversion."),
        ("sink-record-read-total", _TOTAL, _count("read"), "Records read by the present run."),
        ("sink-record-send-rate", _VALUE, _rate("accepted"), "Records per second whose put returned."),
        ("sink-record-send-total", _TOTAL, _count("accepted"), "Records whose put returned, of the present run."),
        ("put-batch-avg-time-ms", _VALUE, _average("put", MS), "Average time of a put in ms."),
        ("put-batch-max-time-ms", _VALUE, _most("put", MS), "Longest time of a put in ms."),
        ("partition-count", _VALUE, _count("partitions"), "Partitions assigned to the task."),
        ("offset-commit-seq-no", _VALUE, _count("commits_begun"), "Commits that the present run has begun."),
        ("offset-commit-completion-rate", _VALUE, _rate("commits"), "Completed commits per second."),
        ("offset-commit-completion-total", _TOTAL, _count("commits"), "Completed commits of the present run."),
        ("offset-commit-skip-rate", _VALUE, _rate("commits_passed"), "Commits per second answered too late."),
        (
            "offset-commit-skip-total",
            _TOTAL,
            _count("commits_passed"),
            "Commits that were answered after a later one was sent.",
        ),
        ("sink-record-active-count", _VALUE, _count("active"), "Records read and not committed yet."),
        ("sink-record-active-count-avg", _VALUE, _average("active"), "Average of the active count."),
        ("sink-record-active-count-max", _VALUE, _most("active"), "Greatest active count."),
    ],
)
OF_ERRORS = SensorTable.of(
    ERROR,
    [
        ("total-record-failures", _VALUE, _count("failures"), "Attempts of a step that failed."),
        ("total-record-errors", _VALUE, _count("errors"), "Records that could not be processed."),
        ("total-records-skipped", _VALUE, _count("skipped"), "Records that failed, were tolerated and left out."),
        ("total-retries", _VALUE, _count("retries"), "Attempts of a step after a retriable error."),
        ("total-errors-logged", _VALUE, _count("logged"), "Failed records in the log (errors.log.enable)."),
        ("deadletterqueue-produce-requests", _VALUE, _count("dead_letters"), "Dead letters sent."),
        ("deadletterqueue-produce-failures", _VALUE, _count("dead_letters_refused"), "Dead letters not written."),
        ("last-error-timestamp", _VALUE, _count("error_ms"), "When a record last failed, in ms since 1970; 0: never."),
    ],
)


def _own(name: str, doc: str, kind: SensorKind = SensorKind.TOTAL) -> Sensor:
    return Sensor("", name, doc, kind, OWN)


OF_RUNS = SensorTable(
    [
        _own("task-repeated-records-total", "Records that the present run sent or put again."),
        _own("task-dead-letters-total", "Dead letters of the present run that the broker has."),
        _own("stage-cpu-seconds-total", "Processor time of the stage processes of the task, JVMs included."),
        Sensor("", "stage-resident-memory-bytes", "Memory of the stage processes of the task.", domain=OWN),
    ],
    [_count("retried"), _count("dead_lettered"), _count("stage_cpu_seconds"), _count("stage_memory_bytes")],
)
_RESTARTS = _own("task-restarts-total", "Runs of the task after its first, since its configuration.")
_STEP_SECONDS = _own("step-seconds-total", "Seconds that the present run spent in a step.")
_STEP_RECORDS = _own("step-records-total", "Records that went through a step in the present run.")
_STEPS_OF = {
    "source": (("poll", "poll_seconds", "polled"), ("convert", "convert_seconds", "converted")),
    "sink": (("convert", "convert_seconds", "converted"), ("put", "put_seconds", "accepted")),
}
"""Steps with the counts of their time and records; `convert` has transformations too, but those in the stage."""
_SUCCESS = _own("task-last-success-timestamp-seconds", "When a phase last succeeded.", SensorKind.VALUE)
_FAILED = _own("failed-records-total", "Records that failed in the present run, by phase and error.")
STATUS = Sensor(TASK, "status", "State of the task in lower case.", _TEXT)
_PLUGINS = (
    ("task", "connector", "of the connector"),
    ("key.converter", "key-converter", "of the key converter"),
    ("value.converter", "value-converter", "of the value converter"),
    ("header.converter", "header-converter", "of the header converter"),
)
_CLASSES = {role: Sensor(TASK, f"{name}-class", f"Class {of}.", _TEXT) for role, name, of in _PLUGINS}
_VERSIONS = {role: Sensor(TASK, f"{name}-version", f"Version {of}.", _TEXT) for role, name, of in _PLUGINS}
_TYPE = Sensor(TASK, "connector-type", "Whether the connector is a source or a sink.", _TEXT)
_TASK_CLASS = Sensor(TASK, "task-class", "Class of the task.", _TEXT)
_TASK_VERSION = Sensor(TASK, "task-version", "Version of the task.", _TEXT)
_STEPS = {
    kind: (
        Sensor(f"connector-{kind}-metrics", f"{kind}-class", f"Class of the {what}.", _TEXT),
        Sensor(f"connector-{kind}-metrics", f"{kind}-version", f"Version of the {what}.", _TEXT),
    )
    for kind, what in (("transform", "transformation"), ("predicate", "predicate"))
}


def _client_of(plan: TaskPlan) -> ClientTags:
    """Return the tags of the task's consumer or producer."""
    if plan.sink is not None:
        name = plan.named("consumer", plan.sink.consumer)["client.id"]
    else:
        name = plan.named("producer", {} if plan.source is None else plan.source.producer)["client.id"]
    return ClientTags(name)


class MeasuredTask:
    """A task whose values are read: its metrics with the tables and texts that fit its plan."""

    def __init__(self, plan: TaskPlan, metrics: TaskMetrics, history: RunHistory | None = None) -> None:
        self.metrics, self._history = metrics, history or RunHistory()
        self._tags = Tags.of(connector=plan.connector, task=plan.task)
        tables = [OF_ALL, OF_ERRORS, OF_SINKS if plan.sink else OF_SOURCES]
        if plan.source is not None and plan.source.transaction is not None:
            tables.append(OF_TRANSACTIONS)
        self._tables = tables
        self._step_tags = [
            (self._tags.plus(step=step), seconds, records) for step, seconds, records in _STEPS_OF[plan.type]
        ]
        self._phase_tags = {phase: self._tags.plus(phase=phase) for phase, _ in metrics.times()}
        self._client = SENSORS[CONSUMER if plan.sink else PRODUCER], _client_of(plan)
        self._connector, self._number = plan.connector, plan.task
        self._of_plugins: list[Measurement] = []
        self._texts = [*self._described(plan), *self._steps(plan.plugins)]

    def take_plugins(self, metrics: Iterable[Metric]) -> None:
        """Replace what the plugins of the task measure."""
        self._of_plugins = of_plugins(self._connector, self._number, metrics)

    def measure(self, state: str) -> list[Measurement]:
        """Return all values of the task, which is in this state."""
        found: list[Measurement] = [(STATUS, self._tags, state.lower()), *self._texts, *self._of_plugins]
        for table in self._tables:
            found += table.measure(self.metrics, self._tags)
        found += self._measure_own()
        sensors, client = self._client
        found += sensors.measure(self.metrics, client)
        return found

    def _measure_own(self) -> Iterator[Measurement]:
        """Yield what Kafka Connect does not measure."""
        yield from OF_RUNS.measure(self.metrics, self._tags)
        yield _RESTARTS, self._tags, self._history.restarts
        for tags, seconds, records in self._step_tags:
            yield _STEP_SECONDS, tags, self.metrics.count(seconds)
            yield _STEP_RECORDS, tags, self.metrics.count(records)
        for phase, moment in self.metrics.times():
            yield _SUCCESS, self._phase_tags[phase], moment
        for (phase, class_name), count in self.metrics.failures().items():
            yield _FAILED, self._tags.plus(phase=phase, error=class_name), count

    def _described(self, plan: TaskPlan) -> Iterator[Measurement]:
        tags = self._tags
        for each in plan.plugins:
            if each.role in _CLASSES:
                yield _CLASSES[each.role], tags, each.class_name
                yield _VERSIONS[each.role], tags, each.version or "unknown"
        yield _TYPE, tags, plan.type
        yield _TASK_CLASS, tags, plan.task_config.get("task.class") or plan.connector_class
        yield _TASK_VERSION, tags, plan.plugin("task").version or "unknown"

    def _steps(self, plugins: Sequence[PluginSpec]) -> Iterator[Measurement]:
        for kind, (class_, version) in _STEPS.items():
            for each in plugins:
                folder, _, alias = each.role.partition(".")
                if folder == f"{kind}s":
                    tags = self._tags.plus(**{kind: alias})
                    yield class_, tags, each.class_name
                    yield version, tags, each.version or "unknown"
