"""The herder: takes what users want of connectors and brings it about."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hearth.config import DistributedConfig
from hearth.config.connector_key import NAME
from hearth.config.variable import has_variable
from hearth.discovery import PluginType
from hearth.foundation.log_context import about, label_of
from hearth.herder.fencing import fence_earlier_tasks
from hearth.herder.health_check import HealthCheck
from hearth.herder.leader_services import LeaderServices
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

log = logging.getLogger(__name__)

_NOT_FOUND, _UNKNOWN = "Connector {} not found", "Unknown connector: {}"
"""Java's words for a connector that is not there; the second where it is restarted: on its own, only by a cluster."""


@dataclass(frozen=True)
class Created:
    """The outcome of putting a configuration: whether the connector is new, and what REST shows of it."""

    is_new: bool
    info: dict[str, Any]


class Herder:
    """Writes what users want to the store, and answers when what runs has become that.

    Every method puts its work on the queue of its connector and returns a future; the reconciler hears of the same
    writes from the store, as it does of those of other hosts. What is to end or to replace an instance is impatient. A
    configuration is validated before it comes to that queue: one that is refused has ended nothing, and plugins that
    hang meanwhile hold up nobody. Safe to call from any thread.
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
        self._with = leader_services
        self._configs = leader_services.configs
        self._is_of_cluster = isinstance(leader_services.planner.worker, DistributedConfig)
        self._no_connector = _UNKNOWN if self._is_of_cluster else _NOT_FOUND
        self._no_task = "Unknown task: {}-{}" if self._is_of_cluster else "Task {}-{} not found"
        self._validator = validator
        self._queues = queues or Queues()
        self.reconciler = Reconciler(leader_services, self._queues)
        self.health = HealthCheck(
            self._queues,
            {
                "reading configurations": self._configs.snapshot,
                "reading statuses": lambda: leader_services.board.store.tasks(""),
                "looking at what runs": self.reconciler.running,
            },
        )

    @cached_property
    def offsets(self) -> ConnectorOffsets:
        """Return what knows the offsets of connectors; with librdkafka's table of functions, so it is loaded late."""
        from hearth.herder.connector_offset import ConnectorOffsets

        return ConnectorOffsets(self._with, self._queues, self._settle)

    @cached_property
    def worker_configurations(self) -> WorkerConfigurations:
        """Return what keeps the worker configurations that connectors may name."""
        return WorkerConfigurations(self._with.planner.worker, self._with.directory, self._configs)

    def connectors(self) -> list[str]:
        """Return the names of all connectors."""
        return self._configs.snapshot().connectors()

    def put(
        self, name: str, config: Mapping[str, str], target: TargetState | None = None, replace: bool = True
    ) -> Future[Created]:
        """Create a connector, or replace its configuration where that is allowed."""
        return self._put_valid(name, lambda: self._meant(name, config), target, replace)

    def create_at(
        self, name: str, config: Mapping[str, str], target: TargetState | None, offsets: Offsets
    ) -> Future[Created]:
        """Create a connector whose tasks begin at these offsets, whatever one of its name has left (KIP-995).

        It is stopped until they are written, and gone again where they cannot be.
        """
        created = self.put(name, config, TargetState.STOPPED, replace=False)
        written = then(created, lambda _: self._begin_at(name, offsets))
        return then(written, lambda told: self._queues.submit(name, lambda: self._begin(name, target, told)))

    def patch(self, name: str, changes: Mapping[str, str | None]) -> Future[Created]:
        """Change single keys of a configuration; None removes a key."""
        return self._put_valid(name, lambda: self._patched(name, changes), None, True)

    def delete(self, name: str) -> Future[None]:
        """Stop a connector and forget it; its offsets stay."""
        return self._queues.submit(name, lambda: self._delete(name), is_impatient=True)

    def restart_connector(self, name: str) -> Future[None]:
        """Restart the instance of a connector; its tasks go on unless their configurations change."""
        return self._queues.submit(name, lambda: self._restart_connector(name), is_impatient=True)

    def restart_task(self, name: str, task: int) -> Future[None]:
        """Restart one task."""
        return self._queues.submit(name, lambda: self._restart_task(name, task))

    def restart(self, request: RestartRequest) -> Future[dict[str, Any]]:
        """Restart what a request asks for; the answer shows that as RESTARTING, and waits for no plugin."""
        return self._queues.submit(object(), lambda: self._restart(request))

    def want(self, name: str, target: TargetState) -> Future[None]:
        """Say in which state a connector is wanted; the future is done when it was brought there.

        Raises NotFoundError at once when there is no connector of that name.
        """
        self._configs.put_target(name, target)
        return self._queues.submit(name, lambda: None, is_impatient=target is TargetState.STOPPED)

    def reset_topics(self, name: str) -> Future[None]:
        """Forget the topics of a connector until its tasks touch them again.

        Does not ask whether there is such a connector, nor wait for what is done to it meanwhile.
        """
        return self._queues.submit(object(), lambda: self._reset_topics(name))

    def validate(self, config: Mapping[str, str | None]) -> Future[dict[str, Any]]:
        """Check a configuration; the answer is a ConfigInfos."""
        return self._queues.submit(object(), lambda: self._validator.validate(config))

    def examine(self, config: Mapping[str, str | None]) -> Future[dict[str, Any]]:
        """Check a configuration; the answer is a ConfigInfos that also has `warnings`, of what is said in vain."""
        return self._queues.submit(object(), lambda: self._examined(config))

    def plugin_keys(self, name: str, version: str | None) -> Future[list[dict[str, Any]]]:
        """Return the key definitions of a plugin."""
        return self._queues.submit(("plugin", name), lambda: self._validator.plugin_keys(name, version))

    def put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> Future[None]:
        """Replace the task configurations of a connector, as another worker of the cluster has made them."""
        return self._queues.submit(name, lambda: self._put_tasks(name, configs))

    def fence(self, name: str) -> Future[None]:
        """Fence what earlier tasks of a source may have left, where that has not been done, for another worker."""
        return self._queues.submit(name, lambda: self._fence(name))

    def shut_down(self) -> None:
        """Stop all tasks, then all connectors; what was asked for and has not begun does not take place."""
        self._queues.close()
        self.reconciler.follow()
        self._with.pool.close()

    def _put_valid(
        self, name: str, config: Callable[[], Mapping[str, str]], target: TargetState | None, replace: bool
    ) -> Future[Created]:
        """Put a configuration that was found valid.

        What the same change makes another configuration of by then, because somebody else's came first, is validated
        in its turn: neither takes the other back.
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
                if not each.is_of_client:  # the start of its tasks says it
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
            # The reconciler hears of it from the store. As in Java a cluster answers when it is written,
            # with the tasks there were; what becomes of it is seen in the status.
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

    def _begin(self, name: str, target: TargetState | None, told: Mapping[str, str]) -> Created:
        """Let a connector have the state that is wanted; what becomes of it is seen in its status."""
        self._entry(name)
        if target is not TargetState.STOPPED:
            self._configs.put_target(name, target or TargetState.STARTED)
        return Created(True, {**self.view.info(name), "offsets_status": told["message"]})

    def _put_tasks(self, name: str, configs: Sequence[Mapping[str, str]]) -> None:
        self._refuse_unless_leading()
        self._entry(name)
        self._configs.put_tasks(name, configs)
        self.reconciler.reconcile(name)

    def _fence(self, name: str) -> None:
        self._refuse_unless_leading()
        entry = self._entry(name)
        config = self._with.resolve(entry).config
        if self._with.directory.connector(config).type is not PluginType.SOURCE:
            raise ConfigError(f"Connector {name} is not a source connector", code="connector.no_source")
        fence_earlier_tasks(self._configs, self._with.planner, {**config, NAME: name}, len(entry.tasks))

    def _patched(self, name: str, changes: Mapping[str, str | None]) -> Mapping[str, str]:
        merged = self._meant(name, {**self._entry(name).config, **changes})
        return {key: value for key, value in merged.items() if key not in changes or value is not None}

    def _meant(self, name: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a configuration with the passwords that whoever sends it was not shown."""
        known = self._configs.snapshot().find(name)
        return config if known is None else self._mask.meant(name, config, known.config)

    def _delete(self, name: str) -> None:
        self._entry(name)
        self._refuse_unless_leading()
        self._configs.remove_connector(name)
        log.info("the connector is deleted")
        self._mask.forget(name)
        self.reconciler.reconcile(name)

    def _restart_connector(self, name: str) -> None:
        self._entry(name, self._no_connector)
        self._refuse_unless_leading()
        log.info("the connector is restarted")
        self.reconciler.reconcile(name, Restart(instance=True))

    def _restart_task(self, name: str, task: int) -> None:
        """Launch a task anew; no other host could be asked for that in the store, as in Kafka Connect."""
        entry = self._entry(name, self._no_connector)
        if not 0 <= task < len(entry.tasks):
            raise NotFoundError(self._no_task.format(name, task), code="task.unknown")
        self._refuse_unless_leading()
        log.info("task %d is restarted", task)
        self.reconciler.reconcile(name, Restart(tasks=[task]))

    def _restart(self, request: RestartRequest) -> dict[str, Any]:
        name = request.connector
        entry = self._entry(name, _UNKNOWN)
        if self._with.board.store.connector(name) is None:
            raise NotFoundError(f"Status for connector {name} not found", code="status.unknown")
        self._refuse_unless_leading()
        wanted = self.reconciler.wanted(request)
        has_variables = any(has_variable(value) for value in entry.config.values() if value)
        if (wanted.instance or wanted.tasks) and not has_variables:  # a provider that hangs holds up nobody
            self._with.plan_or_refuse(entry)
        plan = self.view.connector(name, request)
        self._configs.put_restart(request)  # the reconciler hears of it from the store
        which = "what failed of the connector" if request.only_failed else "the connector"
        with about(label_of(name)):
            log.info("%s is restarted%s", which, ", with its tasks" if request.include_tasks else "")
        return plan

    def _reset_topics(self, name: str) -> None:
        """Forget first and tell the tasks then: what is touched in between is told once more rather than never."""
        self._with.board.store.reset_topics(name)
        self._with.link.forget_topics(name)

    def _settle(self, name: str) -> None:
        self._refuse_unless_leading()
        self.reconciler.reconcile(name)

    def _entry(self, name: str, told: str = _NOT_FOUND) -> ConfiguredConnector:
        entry = self._configs.snapshot().find(name)
        if entry is None:
            raise NotFoundError(told.format(name), code="connector.unknown")
        return entry

    def _refuse_unless_leading(self) -> None:
        if not self.reconciler.leads:
            raise NotLeading("this host does not lead")


def _refuse_unwritable(name: str, config: Mapping[str, str | None]) -> None:
    """Raise for halves of surrogate pairs: no file, topic or answer in UTF-8 could hold them."""
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
                    hint="write the whole character where half of a surrogate pair stands",
                ) from error
