"""A host on a real Spark cluster: how tasks connect to it, and its messages about the cluster's faults."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from hearth.spark.gateway import installed_spark
from hearth.spark.spark_setting import spark_settings
from hearth.spark.standalone_master import NotAdmitted, seek_admission
from tests.bench.cluster import SparkCluster
from tests.bundles.build import plugin_path
from tests.crash.process import stages, tree
from tests.integration.numbered_lines import NumberedLines
from tests.java import java
from tests.peer.distributed import HearthDistributed
from tests.peer.hearth_connect import ROOT, HearthConnect
from tests.peer.worker import Worker
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow

SECRET = "what-master-workers-and-host-know"
GREETING = "org.example.greeting.GreetingSourceConnector"
STRING = "org.apache.kafka.connect.storage.StringConverter"
AUTHENTICATED = {"spark.authenticate": "true", "spark.authenticate.secret": SECRET}
ENCRYPTED = {**AUTHENTICATED, "spark.network.crypto.enabled": "true"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """Provide a master and one worker."""
    with SparkCluster(tmp_path_factory.mktemp("spark") / "cluster", workers=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def encrypted_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """Provide a master and one worker that require their secret."""
    folder = tmp_path_factory.mktemp("spark") / "encrypted"
    with SparkCluster(folder, workers=1, properties=ENCRYPTED) as cluster:
        yield cluster


def source(folder: Path, name: str) -> dict[str, str]:
    """Return a connector with one task."""
    return {"name": name, "connector.class": "FileStreamSource", "file": str(folder / f"{name}.txt"), "topic": name}


def is_logged(host: Worker, *texts: str, seconds: float = 30.0) -> bool:
    """Wait until one line of a host's log contains all texts."""
    return eventually(
        lambda: any(all(text in line for text in texts) for line in host.last_words().splitlines()), seconds
    )


def test_tasks_connect_to_their_host_and_waiting_for_slots_is_logged(
    tmp_path: Path, broker: KafkaBroker, cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key sets the host's address; the cluster has one core for two tasks, and nothing is encrypted."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.2")  # an unusual address of this machine
    settings = {**cluster.settings(), "spark.cores.max": "1", "spark.executor.cores": "1"}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        host.run(source(tmp_path, "first"))
        assert is_logged(host, "INFO [first|task-0] the task runs in process"), host.last_words()
        assert is_logged(host, f"tasks are sent to {cluster.url} unencrypted", "spark.authenticate=true")
        assert host.rest.create(source(tmp_path, "second")).status == 201
        assert is_logged(host, "no slot for second-0", cluster.url, "spark.cores.max"), host.last_words()
        assert host.rest.states("second")[1:] == ["UNASSIGNED"]
        host.delete("first")
        host.wait_for_state("second", "RUNNING")


def test_a_missing_master_is_reported_within_seconds(tmp_path: Path, broker: KafkaBroker) -> None:
    """Spark itself gives up after a minute."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{unused.getsockname()[1]}"
        with HearthConnect(tmp_path, broker.bootstrap_servers, {"spark.master": url}) as host:
            assert is_logged(host, f"spark.master={url} does not answer", "Connection refused"), host.last_words()


def test_a_python_missing_on_executors_is_reported_with_its_key(tmp_path: Path, broker: KafkaBroker) -> None:
    """The host uses it, and the task's status has the consequence before the task is FAILED."""
    settings = {"spark.pyspark.python": "/no/such/python"}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        assert host.rest.create(source(tmp_path, "any")).status == 201

        def trace() -> str:
            tasks = host.rest.status("any")["tasks"]
            return str(tasks[0].get("trace", "")) if tasks else ""

        assert eventually(lambda: "spark.pyspark.python" in trace(), TIMEOUT), host.last_words()
        assert "executors run /no/such/python" in trace()


def test_an_encrypted_cluster_runs_tasks_without_exposing_its_secret(
    tmp_path: Path, broker: KafkaBroker, encrypted_cluster: SparkCluster
) -> None:
    """Master, worker, executor and host share a secret, which is on no command line and reaches no plugin."""
    lines, taken = ["one", "two", "three"], tmp_path / "taken.txt"
    (tmp_path / "secretly.txt").write_text("\n".join(lines) + "\n")
    sink = {"name": "sink", "connector.class": "FileStreamSink", "file": str(taken), "topics": "secretly"}
    settings = {"key.converter": STRING, "value.converter": STRING, **encrypted_cluster.settings(), **ENCRYPTED}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        host.run(source(tmp_path, "secretly"))
        host.run(sink)
        assert eventually(lambda: taken.exists() and taken.read_text().split() == lines, TIMEOUT), host.last_words()
        processes = [each for root in (*encrypted_cluster.pids, host.pid) for each in tree(root)]
        executors = [each for each in processes if "CoarseGrainedExecutorBackend" in each.command]
        stages = [each for each in processes if "hearth_stage" in each.command]
        assert len(executors) == 1
        assert len(stages) >= 2
        assert "-Dspark.network.crypto.enabled=true" in executors[0].command
        assert "-Dspark.network.crypto.saslFallback=false" in executors[0].command
        assert not [each.command for each in processes if SECRET in each.command]
        assert SECRET in executors[0].environment  # where Spark puts it
        assert not [each.command for each in stages if SECRET in each.environment]
        assert "unencrypted" not in host.last_words()


@pytest.mark.long
def test_environments_are_shipped_once_to_each_executor_and_a_missing_one_is_reported(
    tmp_path: Path, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers have private disks (a mount): the host's environments reach them through Spark alone.

    When one is removed there, its task reports it, and running tasks continue.
    """
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a private mount requires root and util-linux")
    home, work = tmp_path / "home", tmp_path / "cluster"
    home.mkdir()
    monkeypatch.setenv("HEARTH_HOME", str(home))
    own_disk = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        f'mount -t tmpfs none {home} && exec "$@"',
    ]
    with SparkCluster(work, 2, through=[*own_disk, "sh"]) as cluster:
        settings = {
            **cluster.settings(),
            "spark.executor.cores": "4",
            "spark.cores.max": "8",
            "plugin.path": str(plugin_path("greeting_source")),
            "value.converter": STRING,
        }
        with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
            for name in ("first", "second"):
                host.run({"name": name, "connector.class": GREETING, "topic": name, "tasks.max": "4"})
            executors = sorted(work.glob("work-*/app-*/*"))
            assert len(executors) == 2
            for executor in executors:
                log = (executor / "stderr").read_text(errors="replace")
                assert log.count("Unpacking an archive") == 1, log
            running = [each for pid in cluster.executors() for each in stages(pid)]
            assert len(running) == 8
            (unpacked,) = {path.name for executor in executors for path in executor.iterdir() if (path / "0").is_dir()}
            assert (home / "environments" / unpacked).is_dir()
            assert not any(Path(f"/proc/{each.pid}/root{home}/environments").exists() for each in running)
            for executor in executors:
                shutil.rmtree(executor / unpacked)
            assert host.rest.call("POST", "/connectors/first/tasks/0/restart").status == 204
            assert eventually(lambda: host.rest.states("first")[1:] == ["FAILED", *["RUNNING"] * 3], TIMEOUT)
            trace = host.rest.status("first")["tasks"][0]["trace"]
            assert trace.startswith("the environment of greeting-source is not on "), trace
            assert f"{unpacked}/0' is missing" in trace
            assert host.rest.states("second")[1:] == ["RUNNING"] * 4


@pytest.mark.long
def test_executors_need_a_python_and_nothing_else(
    tmp_path: Path, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their machines have Spark, and neither Hearth nor its packages: a private mount hides this machine's."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a private mount requires root and util-linux")
    home, kept, spark = tmp_path / "home", tmp_path / "kept", installed_spark()
    home.mkdir()
    kept.mkdir()
    monkeypatch.setenv("HEARTH_HOME", str(home))
    packages = " && ".join(
        [
            f"mount --bind {spark} {kept}",
            *(f"mount -t tmpfs none {each}" for each in (home, ROOT / "host", ROOT / "plugins", spark.parent)),
            f"mkdir {spark}",
            f"mount --bind {kept} {spark}",
        ]
    )
    bare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{packages} && exec "$@"', "sh"]
    with SparkCluster(tmp_path / "cluster", 2, through=bare) as cluster:
        settings = {
            **cluster.settings(),
            "spark.executor.cores": "4",
            "key.converter": STRING,
            "value.converter": STRING,
        }
        with (
            HearthDistributed(tmp_path / "host", broker.bootstrap_servers, "bare", settings) as host,
            NumberedLines(tmp_path, "bare") as lines,
        ):
            for config in lines.configs():
                host.run(config, 180)
            assert lines.flows(), host.last_words()
            assert is_logged(host, "sending it with the packages that it needs")
            assert host.last_words().count("sending it with") == 1
            running = [each for pid in cluster.executors() for each in stages(pid)]
            assert len(running) == 2
            for each in running:
                assert not any(Path(f"/proc/{each.pid}/root{ROOT}/host").iterdir())
            assert lines.is_complete(), host.last_words()
            assert (lines.arrivals.faults, lines.arrivals.repeats) == ([], 0)


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """Provide a JVM with Spark's classes, as a host has before it starts Spark in it."""
    with java([installed_spark() / "jars" / "*"]) as jvm:
        yield jvm


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, "the cluster requires a secret; set spark.authenticate=true"),
        ({"spark.authenticate": "true"}, "spark.authenticate.secret is missing"),
        ({**ENCRYPTED, "spark.authenticate.secret": "another"}, "set spark.authenticate.secret to the cluster's"),
        ({**AUTHENTICATED, "spark.authenticate.secret": "another"}, "the cluster has another secret"),
    ],
    ids=["nothing", "no-secret", "another-secret", "another-secret-in-clear"],
)
def test_settings_that_an_encrypted_cluster_rejects_are_reported(
    jvm: Any, encrypted_cluster: SparkCluster, keys: dict[str, str], reason: str
) -> None:
    """Spark itself retries for a minute, and its log does not mention a secret."""
    assert reason in refusal_of(jvm, encrypted_cluster, keys)


def test_a_worker_with_a_secret_refuses_a_cluster_without_one(jvm: Any, cluster: SparkCluster) -> None:
    """It would send its passwords to whatever process answers there."""
    assert "the cluster does not require a secret" in refusal_of(jvm, cluster, ENCRYPTED)


def refusal_of(jvm: Any, cluster: SparkCluster, keys: Mapping[str, str]) -> str:
    """Return why the cluster rejects a host with these keys; its JVM has its settings as properties."""
    settings = spark_settings({**cluster.settings(), **keys})
    system = jvm.java.lang.System
    for key, value in settings.items():
        system.setProperty(key, value)
    try:
        with pytest.raises(NotAdmitted, match=re.escape(f"spark.master={cluster.url} refuses this host")) as caught:
            seek_admission(jvm, cluster.url)
        return str(caught.value)
    finally:
        for key in settings:
            system.clearProperty(key)


def test_an_encrypting_host_refuses_an_unencrypted_cluster(tmp_path: Path, broker: KafkaBroker) -> None:
    """Spark would silently fall back to unencrypted connections."""
    reason = "the cluster does not encrypt; set spark.network.crypto.enabled=true there"
    with (
        SparkCluster(tmp_path / "cluster", workers=0, properties=AUTHENTICATED) as master,
        HearthConnect(tmp_path / "host", broker.bootstrap_servers, {**master.settings(), **ENCRYPTED}) as host,
    ):
        assert is_logged(host, f"error: Spark did not start: spark.master={master.url}", reason), host.last_words()
        assert eventually(lambda: not host.is_running, TIMEOUT)
        assert SECRET not in host.last_words()
