"""A host of a cluster: keeps its state in Kafka topics, and leads when the group elects it."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException

from hearth.cli.host import Host, Stores
from hearth.cli.standby import Standby, wait_until_warm
from hearth.config import DistributedConfig
from hearth.config.distributed_key import INT_MAX
from hearth.herder.key_rotation import KeyRotation
from hearth.herder.leader_services import LeaderServices
from hearth.herder.leader_watch import LeaderWatch, connect
from hearth.herder.leadership import Leadership
from hearth.kafka.client import internal_config
from hearth.kafka.host_group import HostGroup
from hearth.metric.sensor import ADMIN, CONNECT
from hearth.rest.forward import ClusterView, Forwarder
from hearth.rest.listener import Listener, advertised_url
from hearth.rest.request_signature import SignatureCheck
from hearth.rest.tls_context import client_context
from hearth.spark.driver import is_local
from hearth.spark.spark_launcher import SparkLauncher
from hearth.spark.standalone_application import Term
from hearth.storage import ConfiguredConnector
from hearth.storage.topic_store import TopicStores
from hearth_api import ConnectError

LONGEST_HEARTBEAT_MS = 500
"""Upper limit of the heartbeat interval: a host learns from heartbeat responses that the group is rebalancing."""


LEADER_SECONDS, LOOK_SECONDS = 10.0, 0.1
"""How long a starting host waits for the cluster to have a leader, and how often it checks."""


class DistributedHost(Host):
    """One host of a cluster, configured by a properties file for `connect-distributed`."""

    def __init__(self, worker: DistributedConfig, say: Callable[[str], None], free_port: bool = False) -> None:
        super().__init__(worker, say, free_port)
        self._cluster = worker
        self._is_leaving = False
        self._topics: TopicStores
        self._group: HostGroup
        self._leadership: Leadership
        self._leader_watch: LeaderWatch
        self._leader_services: LeaderServices

    def _claim(self) -> None:
        """Claim nothing: the group coordinates access to the state in Kafka."""

    def _warm(self, launcher: SparkLauncher) -> None:
        """Start a local Spark at once; on a Spark cluster only prepare it, as its cores are for the leading host."""
        self._launcher, self._application = launcher, launcher.application
        launcher.start() if is_local(self._application.settings) else self._application.prepare()

    def _open_stores(self, listeners: Sequence[Listener]) -> Stores:
        self._topics = TopicStores(
            self._cluster, on_fenced=lambda: self._leadership.on_fenced(), resolve=lambda entry: self._resolved(entry)
        )
        self._stops.append(self._topics.close)
        self._topics.start()
        self._group = self._new_group(advertised_url(self._cluster, listeners))
        return Stores(self._topics.configs, self._topics.statuses, self._topics.offsets)

    def _resolved(self, entry: ConfiguredConnector) -> tuple[Mapping[str, str], Mapping[str, str]]:
        config = self._leader_services.resolve(entry).config
        return self._leader_services.planner.worker_for(config).originals, config

    def _new_group(self, url: str) -> HostGroup:
        worker = self._cluster
        client = f"{worker.client_base}host"
        timeouts = {
            "session.timeout.ms": worker.session_timeout_ms,
            "heartbeat.interval.ms": min(worker.heartbeat_interval_ms, LONGEST_HEARTBEAT_MS),
        }
        consumer, admin = (
            dict[str, Any](internal_config(kind, worker.originals, client).config) for kind in ("consumer", "admin")
        )
        clients = self.metrics.clients
        for domain, config in ((CONNECT, consumer), (ADMIN, admin)):
            clients[domain] = used = self.metrics.client(logs_in="SASL" in config.get("security.protocol", ""))
            config |= {"stats_cb": used.take, "statistics.interval.ms": str(worker.metrics_sample_window_ms)}
        return HostGroup(
            consumer | timeouts,
            admin,
            worker.group_id,
            worker.config_topic,
            url,
            self._on_group,
        )

    def _new_forwarder(self) -> Forwarder:
        return Forwarder(
            ClusterView(
                leads=lambda: self.herder.reconciler.leads,
                leader_url=self._leader_url,
                refresh=self._refresh,
                tls=self._tls,
            )
        )

    def _new_signatures(self) -> SignatureCheck:
        configs = self._topics.configs
        return SignatureCheck(
            lambda: configs.snapshot().session_key, self._cluster.inter_worker_verification_algorithms
        )

    def _share_level(self, namespace: str, level: str) -> None:
        self._topics.configs.put_logger_level(namespace, level)

    def _begin(self, leader_services: LeaderServices) -> None:
        self._leader_services = leader_services
        reconciler, launcher, application = self.herder.reconciler, self._launcher, self._application
        rotation = KeyRotation(self._cluster.inter_worker_key_ttl_ms / 1000, self._exchange_key)
        changes = leader_services.metrics.leader_changes

        def lead(term: int) -> None:
            with changes.under_way(term):
                begin_term(term)

        def begin_term(term: int) -> None:
            # Java's workers use their group's generation, and the status with the higher generation wins.
            leader_services.board.generation = max(term, self._topics.statuses.next_generation) & INT_MAX
            if not is_local(application.settings):
                launcher.start(self._term(self._topics.followed))
            rotation.begin()
            reconciler.lead(term)

        def follow() -> None:
            with changes.under_way():
                end_term()

        def end_term() -> None:
            rotation.end()
            if not is_local(application.settings):
                application.begin_stop()  # frees its cores for the next leader, even if its master has lost it
            reconciler.follow(is_followed=self._is_followed())
            if is_local(application.settings):
                return
            if self._is_leaving:  # the next leader ends what remains, and need not wait for this JVM
                ending = threading.Thread(target=launcher.stop, name="spark-stop", daemon=True)
                ending.start()
                self._stops.insert(0, ending.join)
            else:
                launcher.stop()
                application.prepare()

        self.herder.health.begin_with("ensuring membership in the cluster", self._group.ensure_membership)
        self._leadership = Leadership(self._topics, lead, follow)
        self._leader_watch = watch = LeaderWatch(self._group)
        leader_services.metrics.leader = lambda: watch.leader
        # Run from the last to the first: tasks here end, then another host may lead, and only then this one leaves.
        self._stops += [self._group.leave, self._leader_watch.close, self._leave]
        self._leadership.start()
        self._group.look_at_members()
        self._leader_watch.start()
        if self._leader_url() is None or self._application.is_warm:
            self._group.join(self._fail)
        else:
            threading.Thread(target=self._join_when_warm, name="join", daemon=True).start()
        if application.can_stand_by:
            standby = Standby(
                lambda: self._leadership.leads,
                lambda: self._topics.configs.key_offset,
                lambda present: application.stand_by(self._term(present)),
            )
            self._stops.append(standby.close)
            standby.start()
        self._await_leader()

    def _join_when_warm(self) -> None:
        """Join the group once this host is warm enough to lead, or once no other host leads."""
        wait_until_warm(lambda: self._application.is_warm, self._is_led)
        try:
            if not self._is_leaving:
                self._group.join(self._fail)
        except ConnectError as error:
            self._fail(error)

    def _is_led(self) -> bool:
        """Return whether another host leads and is reachable, and this one is not leaving."""
        url = self._leader_url()
        if self._is_leaving or url is None:
            return False
        try:
            connect(url).close()
        except OSError:
            return False
        return True

    def _is_followed(self) -> bool:
        """Return whether another host can lead after this one; False if the group cannot be read."""
        if not self._is_leaving:
            return True
        try:
            return any(not self._group.is_own(each) for each in self._group.hosts())
        except KafkaException:
            return False

    def _term(self, followed: int) -> Term:
        return Term(f"{self.cluster_id}/{self._cluster.group_id}", followed)

    def _exchange_key(self) -> None:
        self._topics.exchange_key()

    def _leave(self) -> None:
        self._is_leaving = True
        self._leadership.leave()

    def _await_leader(self) -> None:
        """Wait briefly until a host leads, so that requests succeed once this host reports ready."""
        deadline = time.monotonic() + LEADER_SECONDS
        while time.monotonic() < deadline and not self.herder.reconciler.leads and self._leader_url() is None:
            time.sleep(LOOK_SECONDS)

    def _on_group(self, holds: bool) -> None:
        self._leadership.on_group(holds)
        self._leader_watch.look_again()

    def _leader_url(self) -> str | None:
        try:
            hosts = self._group.hosts()
        except KafkaException:
            return None
        return next((each.url for each in hosts if each.leads and not self._group.is_own(each)), None)

    def _refresh(self, timeout: float) -> None:
        self._topics.configs.refresh(timeout)
        self._topics.statuses.refresh(timeout)

    def _tls(self) -> ssl.SSLContext:
        return client_context(self._cluster.originals, "listeners.https.")
