"""The herder: accepts users' requests for connectors and carries them out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hearth.config import DistributedConfig
from hearth.config.connector_key import NAME
from hearth.config.variable import has_variable
from hearth.discovery import PluginType
from hearth.foundation.log_context import about, label_of
from hearth.herder.connector_report import ConnectorReporter
from hearth.herder.fencing import fence_earlier_tasks
from hearth.herder.health_check import HealthCheck
from hearth.herder.leader_services import LeaderServices
from hearth.herder.metric_collector import MetricCollector
from hearth.herder.password_mask import PasswordMask
from hearth.herder.queue import Queues, done, then
from hearth.herder.reconciler import Reconciler
from hearth.herder.status import StatusView
from hearth.herder.supervisor import Restart
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.result import complaint
from hearth.herder.worker_choice import WorkerConfigurations
from hearth.storage import ConfiguredConnector, NotLeading, RestartRequest, TargetState
from hearth_api import ConfigError, ConflictError, NotFoundError
from hearth_execution.failure import cut

if TYPE_CHECKING:
    from hearth.herder.connector_offset import ConnectorOffsets, Offsets
    from hearth.herder.letter_desk import LetterDesk
    from hearth.herder.preview import Previews

log = logging.getLogger(__name__)

_RESTART_SECONDS = 5.0
"""How long the answer to a restart request waits for the restart itself: as Java's waits for tasks that stop."""
_NOT_FOUND, _UNKNOWN = "Connector {} not found", "Unknown connector: {}"
"""Java's messages for an unknown connector; the second is for a restart, which only a cluster rejects with it."""


@dataclass(frozen=True)
class Created:
    """The outcome of putting a configuration: whether the connector is new, and its ConnectorInfo for REST."""

    is_new: bool
    info: dict[str, Any]


class Herder:
    """Writes users' requests to the store, and answers once they have been carried out.

    Every method queues its work on its connector's queue and returns a future. The reconciler is notified of these
    writes by the store, as it is of writes by other hosts. Requests that stop or replace an instance are impatient.
    Configurations are validated before they are queued: a rejected one stops nothing, and a plugin that hangs during
    validation blocks no other request. Thread-safe.
    """

    def __init__(
        self,
        leader_services: LeaderServices,
        validator: ConnectorValidator,
        queues: Queues | None = None,
    ) -> None:
        self._mask = PasswordMask(leader_services.planner.worker.rest_mask_passwords)
        self.view = StatusView(
            leader_services.configs, leader_services.board.store, leader_services.directory, self._mask
        )
        self._services = leader_services
        self._configs = leader_services.configs
        self._is_of_cluster = isinstance(leader_services.planner.worker, DistributedConfig)
        self._no_connector = _UNKNOWN if self._is_of_cluster else _NOT_FOUND
        self._no_task = "Unknown task: {}-{}" if self._is_of_cluster else "Task {}-{} not found"
        self._validator = validator
        self._queues = queues or Queues()
        self.reconciler = Reconciler(leader_services, self._queues)
        self.metrics = MetricCollector(leader_services, self.reconciler)
        self.reporter = ConnectorReporter(leader_services, self.reconciler, self.metrics)
        steps = {
            "reading configurations": self._configs.snapshot,
            "reading statuses": lambda: leader_services.board.store.tasks(""),
            "looking at what runs": self.reconciler.running,
        }
        self.health = HealthCheck(self._queues, steps)
        """Whether requests can be handled now."""
        self.liveness = HealthCheck(self._queues, steps, "liveness")
        """Whether the herder works at all, also while Kafka is away."""

    @cached_property
    def offsets(self) -> ConnectorOffsets:
        """Return the service for connector offsets, created on first use because it loads librdkafka."""
        from hearth.herder.connector_offset import ConnectorOffsets

        return ConnectorOffsets(self._services, self._queues, self._settle)

    @cached_property
    def previews(self) -> Previews:
        """Return the service for previews, created on first use because it loads Arrow and librdkafka."""
        from hearth.herder.preview import Previews

        return Previews(self._services.planner)

    @cached_property
    def letters(self) -> LetterDesk:
        """Return the service for dead letters, created on first use because it loads librdkafka."""
        from hearth.herder.letter_desk import LetterDesk

        return LetterDesk(self._services.planner, lambda name: self._entry(name).config)

    @cached_property
    def worker_configurations(self) -> WorkerConfigurations:
        """Return the service for the worker configurations that connectors may name."""
        return WorkerConfigurations(self._services.planner.worker, self._services.directory, self._configs)

    def connectors(self) -> list[str]:
        """Return the names of all connectors."""
        return self._configs.snapshot().connectors()

    def put(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, replace: bool = True
    ) -> Future[Created]:
        """Create a connector, or replace its configuration if ``replace`` allows that."""
        return self._put_valid(name, lambda: self._unmasked(name, config), target, replace)

    def create_at(
        self, name: str, config: Mapping[str, str], target: TargetState | None, offsets: Offsets
    ) -> Future[Created]:
        """Create a connector whose tasks start at these offsets, whatever an earlier one of its name left (KIP-995).

        It stays stopped until they are written, and is deleted again if writing fails.
        """
        created = self.put(name, config, TargetState.STOPPED, replace=False)
        written = then(created, lambda _: self._begin_at(name, offsets))
        return then(written, lambda answer: self._queues.submit(name, lambda: self._begin(name, target, answer)))

    def patch(self, name: str, changes: Mapping[str, str | None]) -> Future[Created]:
        """Change single keys of a configuration; None removes a key."""
        return self._put_valid(name, lambda: self._patched(name, changes), None, True)

    def delete(self, name: str) -> Future[None]:
        """Stop and delete a connector; its offsets remain."""
        return self._queues.submit(name, lambda: self._delete(name), is_impatient=True)

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the instance of a connector; its tasks continue unless their configurations change."""
        return self._queues.submit(name, lambda: self._restart_connector(name), is_impatient=True)

    def restart_task(self, name: str, task: int) -> Future[None]:
        """Restart one task."""
        return self._queues.submit(name, lambda: self._restart_task(name, task))

    def restart(self, request: RestartRequest) -> Future[dict[str, Any]]:
        """Carry out a restart request; the answer shows its targets as RESTARTING."""
        return self._queues.submit(object(), lambda: self._restart(request))

    def want(self, name: str, target: TargetState) -> Future[None]:
        """Request a target state; the future completes when the connector has reached it.

        Raises NotFoundError at once if the connector does not exist.
        """
        self._configs.put_target(name, target)
        return self._queues.submit(name, lambda: None, is_impatient=target is TargetState.STOPPED)

    def owners(self) -> dict[str, str]:
        """Return who manages each connector that has an owner."""
        entries = self._configs.snapshot().entries
        return {name: entry.owner for name, entry in entries.items() if entry.owner is not None}

    def set_owner(self, name: str, owner: str | None) -> Future[None]:
        """Record who manages a connector, None for nobody."""
        return self._queues.submit(name, lambda: self._set_owner(name, owner))

    def reset_topics(self, name: str) -> Future[None]:
        """Remove the topics recorded for a connector until its tasks use them again.

        Checks neither that the connector exists nor waits for its queue.
        """
        return self._queues.submit(object(), lambda: self._reset_topics(name))

    def validate(self, config: Mapping[str, str | None]) -> Future[dict[str, Any]]:
        """Check a configuration; the answer is a ConfigInfos."""
        return self._queues.submit(object(), lambda: self._validator.validate(config))

    def examine(self, config: Mapping[str, str | None]) -> Future[dict[str, Any]]:
        """Check a configuration; the answer is a ConfigInfos with `warnings` about settings that have no effect."""
        return self._queues.submit(object(), lambda: self._examined(config))

    def plugin_keys(self, name: str, version: str | None) -> Future[list[dict[str, Any]]]:
        """Return the key definitions of a plugin."""
        return self._queues.submit(("plugin", name), lambda: self._validator.plugin_keys(name, version))

    def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> Future[None]:
        """Replace the task configurations of a connector with those that another worker of the cluster computed."""
        return self._queues.submit(name, lambda: self._put_tasks(name, configs))

    def fence(self, name: str) -> Future[None]:
        """Fence the earlier tasks of a source for another worker, unless that has been done."""
        return self._queues.submit(name, lambda: self._fence(name))

    def shut_down(self) -> None:
        """Stop all tasks, then all connectors; cancel requests that have not started."""
        self._queues.close()
        self.reconciler.follow()
        self._services.pool.close()

    def _put_valid(
        self, name: str, config: Callable[[], Mapping[str, str]], target: TargetState | None, replace: bool
    ) -> Future[Created]:
        """Put a validated configuration.

        If a concurrent request has changed the stored configuration meanwhile, the merged result is validated again,
        so that neither request reverts the other.
        """

        def put(valid: Mapping[str, str]) -> Created | None:
            return self._put(name, valid, target, replace) if config() == valid else None

        checked = self._queues.submit(object(), lambda: self._validated(name, config()))
        written = then(checked, lambda valid: self._queues.submit(name, lambda: put(valid), is_impatient=replace))
        return then(written, lambda made: done(made) if made else self._put_valid(name, config, target, replace))

    def _validated(self, name: str, config: Mapping[str, str]) -> Mapping[str, str]:
        _refuse_unwritable(name, config)
        with about(label_of(name, scope="validate")):
            result, config_warnings = self._validator.examine(config)
            if message := complaint(result):
                near = [f"{each.name}: {each.message}" for each in config_warnings if each.is_help]
                raise ConfigError(message, code="connector.invalid", hint="; ".join(near) or None)
            self._mask.learn(name, result)
            for each in config_warnings:
                if not each.is_of_client:  # the tasks log this when they start
                    log.warning("%s: %s", each.name, each.message)
        return config

    def _examined(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        result, config_warnings = self._validator.examine(config)
        return {**result, "warnings": [{"name": each.name, "message": each.message} for each in config_warnings]}

    def _put(self, name: str, config: Mapping[str, str], target: TargetState | None, replace: bool) -> Created:
        is_new = self._configs.snapshot().find(name) is None
        if not is_new and not replace:
            raise ConflictError(f"Connector {name} already exists", code="connector.exists")
        self._refuse_unless_leading()
        self._configs.put_connector(name, config, target)
        log.info("the connector is %s", "created" if is_new else "configured anew")
        if self._is_of_cluster:
            # The store notifies the reconciler. As in Java, a cluster answers when the configuration is written, with
            # the tasks of that moment; the status shows the outcome.
            return Created(is_new, {**self.view.info(name), "config": self._mask.shown(name, config)})
        self.reconciler.reconcile(name)
        return Created(is_new, self.view.info(name))

    def _begin_at(self, name: str, offsets: Offsets) -> Future[dict[str, str]]:
        def undo(done: Future[Any]) -> None:
            if not done.cancelled() and done.exception() is not None:
                self.delete(name)

        written = self.offsets.replace(name, offsets)
        written.add_done_callback(undo)
        return written

    def _begin(self, name: str, target: TargetState | None, answer: Mapping[str, str]) -> Created:
        """Set the target state of a connector; the status shows the outcome."""
        self._entry(name)
        if target is not TargetState.STOPPED:
            self._configs.put_target(name, target or TargetState.STARTED)
        return Created(True, {**self.view.info(name), "offsets_status": answer["message"]})

    def _put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        self._refuse_unless_leading()
        self._entry(name)
        self._configs.put_tasks(name, configs)
        self.reconciler.reconcile(name)

    def _fence(self, name: str) -> None:
        self._refuse_unless_leading()
        entry = self._entry(name)
        config = self._services.resolve(entry).config
        if self._services.directory.connector(config).type is not PluginType.SOURCE:
            raise ConfigError(f"Connector {name} is not a source connector", code="connector.no_source")
        fence_earlier_tasks(self._configs, self._services.planner, {**config, NAME: name}, len(entry.tasks))

    def _patched(self, name: str, changes: Mapping[str, str | None]) -> Mapping[str, str]:
        merged = self._unmasked(name, {**self._entry(name).config, **changes})
        return {key: value for key, value in merged.items() if key not in changes or value is not None}

    def _unmasked(self, name: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a configuration with its masked passwords replaced by the stored ones."""
        known = self._configs.snapshot().find(name)
        return config if known is None else self._mask.unmasked(name, config, known.config)

    def _delete(self, name: str) -> None:
        self._entry(name)
        self._refuse_unless_leading()
        self._configs.remove_connector(name)
        log.info("deleted the connector")
        self._mask.forget(name)
        self.reconciler.reconcile(name)

    def _restart_connector(self, name: str) -> None:
        self._entry(name, self._no_connector)
        self._refuse_unless_leading()
        log.info("restarting the connector")
        self.reconciler.reconcile(name, Restart(instance=True))

    def _restart_task(self, name: str, task: int) -> None:
        """Relaunch a task; as in Kafka Connect, this request cannot be forwarded through the store."""
        entry = self._entry(name, self._no_connector)
        if not 0 <= task < len(entry.tasks):
            raise NotFoundError(self._no_task.format(name, task), code="task.unknown")
        self._refuse_unless_leading()
        log.info("restarting task %d", task)
        self.reconciler.reconcile(name, Restart(tasks=[task]))

    def _restart(self, request: RestartRequest) -> dict[str, Any]:
        name = request.connector
        entry = self._entry(name, _UNKNOWN)
        if self._services.board.store.connector(name) is None:
            raise NotFoundError(f"Status for connector {name} not found", code="status.unknown")
        self._refuse_unless_leading()
        wanted = self.reconciler.wanted(request)
        has_variables = any(has_variable(value) for value in entry.config.values() if value)
        # resolving variables could block on a provider that hangs
        if (wanted.instance or wanted.tasks) and not has_variables:
            self._services.plan_or_refuse(entry)
        plan = self.view.connector(name, request)
        self._configs.put_restart(request)  # the store notifies the reconciler
        which = "the failed parts of the connector" if request.only_failed else "the connector"
        with about(label_of(name)):
            log.info("restarting %s%s", which, " and its tasks" if request.include_tasks else "")
        wait([self._queues.submit(name, lambda: None)], _RESTART_SECONDS)  # so the next request finds it done
        return plan

    def _set_owner(self, name: str, owner: str | None) -> None:
        self._entry(name)
        self._refuse_unless_leading()
        self._configs.put_owner(name, owner)

    def _reset_topics(self, name: str) -> None:
        """Clear the store before notifying tasks: a topic used in between is then reported twice rather than never."""
        self._services.board.store.reset_topics(name)
        self._services.link.forget_topics(name)

    def _settle(self, name: str) -> None:
        self._refuse_unless_leading()
        self.reconciler.reconcile(name)

    def _entry(self, name: str, message: str = _NOT_FOUND) -> ConfiguredConnector:
        entry = self._configs.snapshot().find(name)
        if entry is None:
            raise NotFoundError(message.format(name), code="connector.unknown")
        return entry

    def _refuse_unless_leading(self) -> None:
        if not self.reconciler.leads:
            raise NotLeading("this host does not lead")


def _refuse_unwritable(name: str, config: Mapping[str, str | None]) -> None:
    """Raise ConfigError for lone surrogates, which no UTF-8 file, topic or response can hold."""
    texts = {"connector name": [name], "key": list(config), "value": [each for each in config.values() if each]}
    for what, given in texts.items():
        for text in given:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise ConfigError(
                    f"the {what} {cut(text, 200)!a} cannot be written as UTF-8: {error.reason} at character "
                    f"{error.start}",
                    code="config.text",
                    hint="replace the unpaired surrogate with a complete character",
                ) from error
