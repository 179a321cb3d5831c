"""Checks of `hearth doctor`: each looks at one thing a host needs, and leaves nothing behind."""

from __future__ import annotations

import resource
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaException

from hearth.cli.doctor_finding import FAIL, PASS, WARN, DoctorFinding
from hearth.cli.exit_code import ExitCode, exit_code
from hearth.cli.worker_file import plugin_path
from hearth.config import DistributedConfig, WorkerConfig
from hearth.discovery import PluginScanner
from hearth.discovery.refusal import by_reason, first_of
from hearth.discovery.trust import trust_of
from hearth.foundation.descriptor import ENOUGH, FILES_HINT
from hearth.foundation.java import find_java
from hearth.foundation.user_file import cache_directory
from hearth.herder.cluster_lookup import client_config
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.worker_choice import find_converters, find_token_providers
from hearth.isolation.environment_store import user_environments
from hearth.kafka.access_attempt import AccessAttempt
from hearth.kafka.admin import TopicAdmin, code_of
from hearth.kafka.client import access_of
from hearth.kafka.host_group import HostGroup
from hearth.rest.listener import parse_listener
from hearth_api import ConnectError

BROKER_SECONDS = 10.0
_LEAST_BYTES = 1 << 30
"""Free space below which an environment or the jars may not fit."""
_REPLICATION = "set config., offset. and status.storage.replication.factor to at most the number of brokers"
_NOWHERE = "http://doctor.invalid"
_UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PART"


def findings_of(worker: WorkerConfig) -> Iterator[DoctorFinding]:
    """Yield what the checks of a worker find; the worker's file was read before."""
    checks = (_java, _disk, _files, _listeners, _plugins, _converters, _clients, _kafka)
    for check in checks:
        name = check.__name__.strip("_")
        try:
            yield from check(worker)
        except ConnectError as error:
            yield DoctorFinding(name, FAIL, str(error), error.hint, exit_code(error))


def _java(_worker: WorkerConfig) -> Iterator[DoctorFinding]:
    java = find_java()
    yield DoctorFinding("java", PASS, f"Java {java.version} at {java.executable}")


def _disk(_worker: WorkerConfig) -> Iterator[DoctorFinding]:
    folder = next(each for each in (cache_directory(), *cache_directory().parents) if each.exists())
    free = shutil.disk_usage(folder).free
    fact = f"{free / (1 << 30):.1f} GB are free in {folder}"
    if free < _LEAST_BYTES:
        yield DoctorFinding("disk", WARN, fact, "free space: environments of bundles and jars are built there")
    else:
        yield DoctorFinding("disk", PASS, fact)


def _files(_worker: WorkerConfig) -> Iterator[DoctorFinding]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or hard >= ENOUGH:
        yield DoctorFinding("files", PASS, f"{ENOUGH} files or more may be open")
    else:
        yield DoctorFinding("files", WARN, f"only {hard} files may be open", FILES_HINT)


def _listeners(worker: WorkerConfig) -> Iterator[DoctorFinding]:
    """Bind each listener for a moment; a port that a host holds is no failure, for it may be this one."""
    for url in worker.listeners:
        address = parse_listener(url)
        try:
            family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            with socket.socket(family) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind((address.host, address.port))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            yield DoctorFinding("listeners", WARN, f"{url}: {reason}", "stop who listens there, or name another port")
        else:
            yield DoctorFinding("listeners", PASS, f"{url} is free")


def _plugins(worker: WorkerConfig) -> Iterator[DoctorFinding]:
    catalogue = _scanner(worker).look()
    for element in plugin_path(worker.plugin_path):
        if not element.exists():
            fact, remedy = f"{element} of plugin.path does not exist", "create it, or correct plugin.path"
            yield DoctorFinding("plugins", FAIL, fact, remedy, ExitCode.BAD_INPUT)
    for (reason, hint), locations in by_reason((*catalogue.rejected, *catalogue.shadowed)).items():
        yield DoctorFinding("plugins", WARN, f"{', '.join(first_of(locations))}: {reason}", hint)
    yield DoctorFinding("plugins", PASS, f"{len(catalogue.plugins)} plugins")


def _converters(worker: WorkerConfig) -> Iterator[DoctorFinding]:
    directory = PluginDirectory(_scanner(worker).look, user_environments(trust_of(worker.originals)))
    find_converters(worker, directory)
    yield DoctorFinding("converters", PASS, "the worker's converters are found")


def _clients(worker: WorkerConfig) -> Iterator[DoctorFinding]:
    directory = PluginDirectory(_scanner(worker).look, user_environments(trust_of(worker.originals)))
    find_token_providers(worker, directory)
    yield DoctorFinding("clients", PASS, "settings of Kafka clients are valid")


def _kafka(worker: WorkerConfig) -> Iterator[DoctorFinding]:
    """Connect to the brokers, then look at the internal topics of a cluster."""
    config = client_config(worker.originals).config
    attempt = AccessAttempt(access_of(config), str)
    deadline = time.monotonic() + BROKER_SECONDS
    while (cluster := attempt.ask(1.0)) is None:
        if time.monotonic() > deadline:
            servers = worker.originals["bootstrap.servers"]
            raise ConnectError(
                f"no broker answers at {servers} within {BROKER_SECONDS:g} s",
                code="environment.broker",
                hint="start Kafka, or correct bootstrap.servers",
            )
    yield DoctorFinding("kafka", PASS, f"the brokers answer, cluster {cluster}")
    if isinstance(worker, DistributedConfig):
        admin = TopicAdmin(config)
        brokers = admin.count_brokers()
        for topic, replication in (
            (worker.config_topic, worker.config_replication_factor),
            (worker.offset_topic, worker.offset_replication_factor),
            (worker.status_topic, worker.status_replication_factor),
        ):
            yield _internal_topic(admin, topic, replication, brokers)
        yield _group(worker, config)


def _group(worker: DistributedConfig, config: Mapping[str, Any]) -> DoctorFinding:
    """Look at the members of the cluster's group; nobody joins it."""
    group = HostGroup(config, config, worker.group_id, worker.config_topic, _NOWHERE, lambda _: None)
    try:
        group.look_at_members(BROKER_SECONDS)
        others = group.other_topics()
    except ConnectError as error:
        return DoctorFinding("group", FAIL, str(error), error.hint, ExitCode.BAD_INPUT)
    except KafkaException as error:
        fact = f"group.id={worker.group_id!r}: {error.args[0].str()}"
        return DoctorFinding("group", WARN, fact, "stop Java's workers of that group before this one starts")
    if others:
        fact = f"group.id={worker.group_id!r} has workers with another config.storage.topic: {', '.join(others)}"
        return DoctorFinding("group", FAIL, fact, "one of the two clusters needs another group.id", ExitCode.BAD_INPUT)
    return DoctorFinding("group", PASS, f"group.id={worker.group_id!r} has no members of another kind")


def _internal_topic(admin: TopicAdmin, topic: str, replication: int, brokers: int) -> DoctorFinding:
    try:
        policies = admin.cleanup_policies(topic)
    except KafkaException as error:
        if code_of(error) == _UNKNOWN_TOPIC and replication > brokers:
            fact = f"topic {topic!r} is missing and cannot be created: {replication} replicas, {brokers} brokers"
            return DoctorFinding("topics", FAIL, fact, _REPLICATION, ExitCode.BAD_INPUT)
        if code_of(error) == _UNKNOWN_TOPIC:
            return DoctorFinding("topics", PASS, f"topic {topic!r} will be created")
        remedy = "authorize the worker's user to describe it"
        return DoctorFinding("topics", FAIL, f"topic {topic!r}: {error.args[0].str()}", remedy, ExitCode.ENVIRONMENT)
    if policies is None:
        remedy = "authorize the worker's user to describe its configuration"
        return DoctorFinding("topics", WARN, f"topic {topic!r} may or may not be compacted", remedy)
    if policies != {"compact"}:
        found = ",".join(sorted(policies))
        remedy = f"kafka-configs --alter --topic {topic} --add-config cleanup.policy=compact"
        fact = f"topic {topic!r} has cleanup.policy={found}: its records will be lost"
        return DoctorFinding("topics", FAIL, fact, remedy, ExitCode.BAD_INPUT)
    return DoctorFinding("topics", PASS, f"topic {topic!r} is compacted")


def _scanner(worker: WorkerConfig) -> PluginScanner:
    return PluginScanner(plugin_path(worker.plugin_path), admit=trust_of(worker.originals).admit)
