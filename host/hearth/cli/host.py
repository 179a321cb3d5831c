"""A host: builds, starts and stops all its parts in order; and the standalone host."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import hearth
from hearth.cli.worker_file import plugin_path
from hearth.config import StandaloneConfig, WorkerConfig
from hearth.discovery import Catalogue, PluginScanner
from hearth.discovery.refusal import by_reason, first_of
from hearth.discovery.trust import trust_of
from hearth.foundation.certificate import new_identity
from hearth.foundation.descriptor import raise_limit
from hearth.foundation.future import fulfil
from hearth.foundation.java import find_java
from hearth.foundation.log_level import levels
from hearth.foundation.terminal import printable
from hearth.herder.cluster_lookup import ClusterLookup, of_other_clients
from hearth.herder.herder import Herder
from hearth.herder.leader_services import LeaderServices
from hearth.herder.planner import Planner
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.plugin.token_stage import TokenProviders
from hearth.herder.plugin.watch import PluginWatch
from hearth.herder.status import StatusBoard
from hearth.herder.task_link import TaskLinkServer
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.override import new_policy
from hearth.herder.worker_choice import GovernedVariables, find_converters, find_token_providers
from hearth.isolation.environment_store import user_environments
from hearth.kafka.token import desk
from hearth.metric.sample_window import SampleWindows
from hearth.metric.worker_metric import WorkerMetrics
from hearth.rest.app import ClusterAccess, Health, ServerInfo, new_admin_app, new_app
from hearth.rest.listener import Listener, open_listeners, worker_id
from hearth.rest.server import RestServer
from hearth.spark.spark_launcher import SparkLauncher
from hearth.spark.spark_setting import link_host, link_listen
from hearth.storage import (
    ConfigStore,
    FileOffsetStore,
    MemoryConfigStore,
    MemoryStatusStore,
    OffsetClaim,
    OffsetStore,
    StatusStore,
)
from hearth_api import ConnectError

if TYPE_CHECKING:
    from hearth.rest.extension import Extensions
    from hearth.rest.forward import Forwarder
    from hearth.rest.request_signature import SignatureCheck

log = logging.getLogger(__name__)

T = TypeVar("T")

HEAR_SECONDS = 1.0
"""Interval of the main thread's wait: bounds the delay of a signal that arrives just before the wait starts, or on
another thread."""

KAFKA_VERSION, KAFKA_COMMIT = "4.3.1", "26b251a451ce941d"
"""What the REST API's root returns: the Kafka Connect version whose API this is, for clients that check it."""


class SparkFailed(ConnectError):
    """Spark did not start, so no task can run."""

    code = "environment.spark"


@dataclass(frozen=True)
class Stores:
    """The stores of a host; they depend on its mode."""

    configs: ConfigStore
    statuses: StatusStore
    offsets: OffsetStore


class Host(ABC):
    """One host; its mode decides where it keeps its state and when it leads.

    Slow steps start early and run in parallel: reading plugins, looking up the cluster's id, and starting Spark as
    soon as the likeliest errors are ruled out: the ports are bound and the plugins exist.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        say: Callable[[str], None],
        free_port: bool = False,
        launcher: SparkLauncher | None = None,
    ) -> None:
        """Use ``launcher`` if given: it may be preparing Spark already, and its creator has to stop it in any case."""
        self._worker = worker
        self._say = say
        self._free_port = free_port
        self._failed = threading.Event()
        self._failure: ConnectError | None = None
        self._preparing = launcher
        self._stops: list[Callable[[], None]] = []
        self.health = Health()
        self.metrics = WorkerMetrics(SampleWindows.of(worker.metrics_num_samples, worker.metrics_sample_window_ms))
        self.cluster_id: str
        self.herder: Herder

    def start(self) -> None:
        """Start everything; when this returns the REST API answers, while Spark may still be warming up."""
        worker = self._worker
        raise_limit()
        trust = trust_of(worker.originals)
        scanner = PluginScanner(plugin_path(worker.plugin_path), admit=trust.admit, rules=lambda: trust.stamp)
        directory = PluginDirectory(scanner.look, user_environments(trust))
        tokens = TokenProviders(directory)
        self._stops += [tokens.close, desk.offer(tokens.token)]
        cluster = ClusterLookup(worker.originals, self._say)
        cluster.start()
        catalogue = _in_background(scanner.look)
        identity = _in_background(new_identity)
        self._claim()
        listeners = open_listeners(worker, self._free_port)
        self._stops += [each.close for each in listeners]
        find_converters(worker, directory)
        find_token_providers(worker, directory)
        variables = GovernedVariables(worker, directory)
        self._stops.append(variables.close)
        policy = new_policy(worker, directory)
        self._stops.append(policy.close)
        find_java()
        launcher = self._preparing or SparkLauncher(worker.originals, capacity=worker.capacity)
        launcher.application.on_error = self._fail_without_spark
        self._stops.append(launcher.stop)
        self._warm(launcher)
        self.cluster_id = cluster_id = cluster.wait()
        self._warn_of_rejected(catalogue.result())
        _in_background(self._warn_of_clients)
        stores = self._open_stores(listeners)
        link = TaskLinkServer(
            lambda event: self.herder.reconciler.on_event(event),
            stores.offsets,
            identity.result(),
            link_host(launcher.application.settings),
            link_listen(launcher.application.settings),
            worker.task_link_port,
            tokens.token,
        )
        link.is_watched = self.metrics.is_watched
        pool = StagePool()
        leader_services = LeaderServices(
            directory=directory,
            planner=Planner(directory, worker, policy, variables),
            pool=pool,
            configs=stores.configs,
            offsets=stores.offsets,
            board=self._new_board(stores, directory, worker_id(worker, listeners)),
            launcher=launcher,
            link=link,
            graceful_seconds=worker.task_shutdown_graceful_timeout_ms / 1000,
            variables=variables,
            metrics=self.metrics,
        )
        self.herder = Herder(leader_services, ConnectorValidator(directory, worker, pool, policy, variables))
        launcher.attend(self.herder.reconciler.move, link.executor_usage)
        self.herder.worker_configurations.check_all()
        directory.subscribe(self.herder.reconciler.on_plugins)
        watch = PluginWatch(directory.look)
        info = ServerInfo(KAFKA_VERSION, KAFKA_COMMIT, cluster_id)
        extensions = self._open_extensions(directory, cluster_id)
        access = ClusterAccess(self._new_forwarder(), self._share_level, self._new_signatures())
        app = new_app(worker, self.herder, directory, info, self.health, extensions=extensions, cluster=access)
        server = RestServer(app, listeners, new_admin_app(worker, self._share_level))
        link.start()
        # Spark stops before the links to its tasks; where the host failed before this line, it stops last.
        self._stops += [link.close, launcher.stop, self.herder.shut_down, watch.close, server.stop]
        self._begin(leader_services)
        server.start()
        watch.start()
        addresses = ", ".join(each.url for each in listeners if not each.is_admin)
        self._say(f"Hearth {hearth.__version__} serves {addresses}, Kafka cluster {cluster_id}")

    @abstractmethod
    def _claim(self) -> None:
        """Ensure that no other host uses the same local state; raises ConnectError."""

    def _warm(self, launcher: SparkLauncher) -> None:
        """Start Spark now, or leave it until this host leads."""
        launcher.start()

    @abstractmethod
    def _open_stores(self, listeners: Sequence[Listener]) -> Stores:
        """Return the stores, read to the end."""

    @abstractmethod
    def _new_forwarder(self) -> Forwarder | None:
        """Return the forwarder of requests to other hosts, or None in standalone mode."""

    def _new_signatures(self) -> SignatureCheck | None:
        """Return the check of signed requests from other workers, or None in standalone mode."""
        return None

    def _share_level(self, namespace: str, level: str) -> None:
        """Set the level of a logger on all hosts of the cluster."""
        levels.set(namespace, level)

    @abstractmethod
    def _begin(self, leader_services: LeaderServices) -> None:
        """Lead now, or once this host is elected; everything but the REST server has started."""

    def wait(self) -> None:
        """Wait until a signal interrupts; raises ConnectError when the host has failed."""
        while not self._failed.wait(HEAR_SECONDS):
            pass
        assert self._failure is not None, "_fail sets it first"
        raise self._failure

    def stop(self) -> None:
        """Stop everything that was started, in reverse order: no request is accepted while tasks drain."""
        if self._stops:
            log.info("stopping the host")
        while self._stops:
            stop = self._stops.pop()
            try:
                stop()
            except Exception:
                log.exception("a part of the host did not stop cleanly")

    def _new_board(self, stores: Stores, directory: PluginDirectory, worker: str) -> StatusBoard:
        """Return the writer of statuses, which tells OpenLineage of changes if the worker has keys for that."""
        if not any(name.startswith("openlineage.") for name in self._worker.originals):
            return StatusBoard(stores.statuses, worker)
        from hearth.herder.lineage.emitter import LineageEmitter, open_client

        client = open_client(self._worker)
        lineage = LineageEmitter(self._worker, stores.configs, stores.statuses, directory, client)
        self._stops.append(lineage.close)
        return StatusBoard(stores.statuses, worker, lineage.changed)

    def _open_extensions(self, directory: PluginDirectory, cluster_id: str) -> Extensions | None:
        """Load the REST extensions, and the modules for them only if the worker has any."""
        if not self._worker.rest_extension_classes:
            return None
        from hearth.herder.cluster_state import HerderClusterState
        from hearth.rest.extension import open_extensions

        extensions = open_extensions(self._worker, directory, HerderClusterState(self.herder, cluster_id))
        self._stops.append(extensions.close)
        return extensions

    def _fail(self, error: ConnectError) -> None:
        self._failure = error
        self._failed.set()

    def _fail_without_spark(self, reason: str) -> None:
        self._fail(SparkFailed(reason, hint="see the lines above; check Java and the spark.* keys"))

    def _warn_of_clients(self) -> None:
        for text in of_other_clients(self._worker.originals):
            log.warning("%s", text)

    def _warn_of_rejected(self, catalogue: Catalogue) -> None:
        for (reason, hint), locations in by_reason((*catalogue.rejected, *catalogue.shadowed)).items():
            verb = "is" if len(locations) == 1 else "are"
            text = f"plugin.path: {', '.join(first_of(locations))} {verb} left out: {reason} ({hint})"
            log.warning("%s", printable(text, keep=""))


class StandaloneHost(Host):
    """A host that works alone with its own offset file, and leads from the start."""

    def __init__(
        self,
        worker: StandaloneConfig,
        say: Callable[[str], None],
        free_port: bool = False,
        launcher: SparkLauncher | None = None,
    ) -> None:
        super().__init__(worker, say, free_port, launcher)
        self._offset_file = worker.offset_file

    def _claim(self) -> None:
        self._stops.append(OffsetClaim(self._offset_file).release)
        self._offsets = FileOffsetStore(self._offset_file)

    def _open_stores(self, listeners: Sequence[Listener]) -> Stores:
        return Stores(MemoryConfigStore(), MemoryStatusStore(), self._offsets)

    def _new_forwarder(self) -> None:
        return None

    def _begin(self, leader_services: LeaderServices) -> None:
        self.herder.reconciler.lead(self._offsets.begin_term())


def _in_background(job: Callable[[], T]) -> Future[T]:
    """Run a job on a new thread; a pool would wait for the job even when a signal interrupts the start."""
    future: Future[T] = Future()
    threading.Thread(target=fulfil, args=[future, job], name="start").start()
    return future
