"""Sends the events of connectors' runs to OpenLineage's client, which an extra of Hearth installs."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import hearth
from hearth.config import WorkerConfig
from hearth.config.sink_key import parse_topics
from hearth.discovery import PluginType
from hearth.herder.lineage.connector_runs import ConnectorRuns, EventKind, LineageEvent, LineageFacts
from hearth.herder.lineage.dataset import Wiring, outside, topics
from hearth.herder.plugin.directory import PluginDirectory
from hearth.storage import ConfigStore, ConnectorStatus, State, StatusStore, TargetState, TaskStatus
from hearth_api import ConfigError

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient

log = logging.getLogger(__name__)

PREFIX = "openlineage."
NAMESPACE = f"{PREFIX}namespace"
_TYPE = f"{PREFIX}transport.type"
_PRODUCER = f"urn:hearth-connect:{hearth.__version__}"
_WAITING = 1000
"""Changes that may wait while an event is being sent; further ones are left out."""
_CLOSE_SECONDS = 5.0
_MOST_DATASETS = 1000


def open_client(worker: WorkerConfig) -> OpenLineageClient:
    """Return OpenLineage's client with the worker's keys; raises ConfigError if it is missing or refuses them."""
    try:
        from openlineage.client import OpenLineageClient
    except ImportError as error:
        raise ConfigError(
            f"{_TYPE} needs OpenLineage's client", code="lineage.missing", hint="pip install hearth-connect[lineage]"
        ) from error
    if not worker.openlineage_transport_type:
        raise ConfigError(f"{_TYPE} is missing", code="lineage.invalid", hint=f"{_TYPE}=http, file or another")
    try:
        return OpenLineageClient(config=nested(worker.originals))
    except Exception as error:
        raise ConfigError(f"the {PREFIX} keys are refused: {error}", code="lineage.invalid") from error


def nested(originals: Mapping[str, str]) -> dict[str, Any]:
    """Return the client's keys as it takes them: one object for each part of a name, with numbers and booleans."""
    found: dict[str, Any] = {}
    for key, value in originals.items():
        if key.startswith(PREFIX) and key != NAMESPACE:
            *parts, last = key.removeprefix(PREFIX).split(".")
            place = found
            for part in parts:
                place = place.setdefault(part, {})
                if not isinstance(place, dict):
                    raise ConfigError(f"{key} stands below a key that has a value", code="lineage.invalid")
            place[last] = _typed(value)
    return found


class LineageEmitter:
    """Sends an event for each change of a run; never holds up who reports the change.

    An event that its receiver does not take is left out, with a warning.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        configs: ConfigStore,
        statuses: StatusStore,
        directory: PluginDirectory,
        client: OpenLineageClient,
    ) -> None:
        self._configs, self._statuses, self._directory = configs, statuses, directory
        self._servers = ",".join(worker.bootstrap_servers)
        self._namespace = worker.openlineage_namespace or worker.originals.get("group.id") or "hearth"
        self._client = client
        self._runs = ConnectorRuns(_new_id())
        self._changed: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._is_refused = False
        self._thread = threading.Thread(target=self._send, name="lineage", daemon=True)
        self._thread.start()

    def changed(self, connector: str) -> None:
        """Look at a connector soon, because its state or its topics may have changed."""
        try:
            self._changed.put_nowait(connector)
        except queue.Full:
            log.debug("changes of %s are not reported as lineage: others are still being sent", connector)

    def close(self) -> None:
        """Complete all runs and end, after a few seconds at most."""
        try:
            self._changed.put(None, timeout=_CLOSE_SECONDS)
        except queue.Full:
            return
        self._thread.join(_CLOSE_SECONDS)

    def _send(self) -> None:
        while (connector := self._changed.get()) is not None:
            try:
                facts = self._facts(connector)
            except Exception:
                log.exception("lineage of %s is left out", connector)
                continue
            self._emit(self._runs.changed(connector, facts))
        self._emit(self._runs.close())
        self._client.close(_CLOSE_SECONDS)

    def _emit(self, events: Iterable[LineageEvent]) -> None:
        for each in events:
            try:
                self._client.emit(self._event(each))
                self._is_refused = False
            except Exception as error:  # noqa: BLE001 - whatever a transport raises, connectors go on
                level = logging.DEBUG if self._is_refused else logging.WARNING
                log.log(level, "lineage of %s is not taken, and left out: %s", each.connector, error)
                self._is_refused = True

    def _facts(self, connector: str) -> LineageFacts | None:
        entry, instance = self._configs.snapshot().find(connector), self._statuses.connector(connector)
        if entry is None or instance is None:
            return None
        statuses: list[ConnectorStatus | TaskStatus] = [instance, *self._statuses.tasks(connector)]
        used = sorted({*self._statuses.topics(connector), *(parse_topics(entry.config) or ())})[:_MOST_DATASETS]
        kafka = topics(self._servers, used)
        other = outside(Wiring(entry.config, entry.tasks, used))
        is_sink = self._directory.connector_type(entry.config) == PluginType.SINK.value
        return LineageFacts(
            entry.revision,
            tuple(each.state for each in statuses),
            tuple(kafka if is_sink else other),
            tuple(other if is_sink else kafka),
            next((each.trace or "" for each in statuses if each.state is State.FAILED), ""),
            entry.target is TargetState.STOPPED,
        )

    def _event(self, of: LineageEvent) -> Any:
        from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import error_message_run, job_type_job, processing_engine_run

        engine = processing_engine_run.ProcessingEngineRunFacet(version=hearth.__version__, name="Hearth")
        facets: dict[str, Any] = {"processing_engine": engine}
        if of.kind is EventKind.FAIL:
            first, _, rest = of.facts.error.partition("\n")
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
                message=first, programmingLanguage="PYTHON", stackTrace=rest or None
            )
        kind = job_type_job.JobTypeJobFacet(processingType="STREAMING", integration="HEARTH", jobType="CONNECTOR")
        return RunEvent(
            eventTime=datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            run=Run(runId=of.run_id, facets=facets),
            job=Job(namespace=self._namespace, name=of.connector, facets={"jobType": kind}),
            eventType=RunState(of.kind.value),
            inputs=[InputDataset(namespace=each.namespace, name=each.name) for each in of.facts.inputs],
            outputs=[OutputDataset(namespace=each.namespace, name=each.name) for each in of.facts.outputs],
            producer=_PRODUCER,
        )


def _new_id() -> Callable[[], object]:
    from openlineage.client.uuid import generate_new_uuid

    return generate_new_uuid


def _typed(value: str) -> Any:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    return int(value) if value.isdecimal() else value
