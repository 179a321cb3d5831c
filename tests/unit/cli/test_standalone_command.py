"""Errors of `hearth standalone`: one message, no stack trace, the right exit code."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hearth.cli.worker_file import read_worker
from hearth.cli.worker_mode import STANDALONE
from hearth.foundation.properties import render
from hearth.storage import OffsetClaim
from hearth_api import ConfigError
from tests.spark_python import silent_spark

ENV = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
JSON = "org.apache.kafka.connect.json.JsonConverter"


class Command:
    """The command in a process of its own, with a worker file that is right but for what a test changes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before: Sequence[str] = ()  # what runs the command
        self.spark: Mapping[str, str] = {"SPARK_HOME": silent_spark(folder)}
        self.settings = {
            "bootstrap.servers": "127.0.0.1:1",
            "key.converter": JSON,
            "value.converter": JSON,
            "offset.storage.file.filename": str(folder / "offsets"),
            "listeners": "http://127.0.0.1:0",
            "default.api.timeout.ms": "300",
        }

    def run(self, *more: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
        """Run to the end with changed settings."""
        return self.run_file(self.written(**changes), *more)

    def written(self, **changes: str | None) -> Path:
        """Return the worker file with changed settings; underscores in keys replace dots, None removes a key."""
        given = {key.replace("_", "."): value for key, value in changes.items()}
        settings = {key: value for key, value in {**self.settings, **given}.items() if value is not None}
        worker = self.folder / "worker.properties"
        worker.write_text(render(settings))
        return worker

    def run_file(self, worker: Path, *more: str) -> subprocess.CompletedProcess[str]:
        """Run with a file as it is."""
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **self.spark}
        command = [*self.before, sys.executable, "-m", "hearth", "standalone", str(worker), *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ, check=False)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Make a command."""
    return Command(tmp_path)


def refused(outcome: subprocess.CompletedProcess[str], code: int, *says: str) -> None:
    """Check that the command was refused in words."""
    assert outcome.returncode == code, outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert "error: " in outcome.stderr
    for part in says:
        assert part in outcome.stderr


def test_missing_worker_file_is_named(command: Command, tmp_path: Path) -> None:
    """Exit code 2: bad input."""
    refused(command.run_file(tmp_path / "nowhere.properties"), 2, "nowhere.properties: no such file", "hint: ")


def test_bad_properties_are_named_with_their_line(command: Command, tmp_path: Path) -> None:
    """Java would say IllegalArgumentException."""
    path = tmp_path / "bad.properties"
    path.write_text("a=1\nb=\\u00zz\n")
    refused(command.run_file(path), 2, "bad.properties, line 2")


def test_a_missing_connector_file_is_named_before_anything_starts(command: Command, tmp_path: Path) -> None:
    """The broker is not even asked."""
    refused(command.run(str(tmp_path / "c.properties")), 2, "c.properties: no such file")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"key_converter": None}, 'Missing required configuration "key.converter" which has no default value.'),
        ({"bootstrap_servers": None}, 'Missing required configuration "bootstrap.servers"'),
        ({"offset_flush_interval_ms": "soon"}, "Invalid value soon for configuration offset.flush.interval.ms: Not a"),
        ({"listeners": "https://:8443"}, "ssl.keystore.location: an https listener needs a key and a certificate"),
        (
            {"value_converter": "JsonConvertr"},
            "Invalid value JsonConvertr for configuration value.converter: Class JsonConvertr could not be found.\n"
            "hint: nearest names: JsonConverter",
        ),
        (
            {"config_providers": "v", "config_providers_v_class": "EnvVarConfigProvide"},
            "Class EnvVarConfigProvide could not be found.",
        ),
        ({"producer_acks": "2"}, "worker.properties: Invalid value 2 for configuration producer.acks: "),
        (
            {"consumer_sasl_mechanism": "OAUTHBEARER", "consumer_sasl_login_callback_handler_class": "Valt"},
            "consumer.sasl.login.callback.handler.class: no token provider is named 'Valt'",
        ),
        ({"connector_client_config_override_policy": "Mine"}, "connector.client.config.override.policy='Mine'"),
        ({"offset_storage_file_filename": "/nowhere/offsets"}, "the directory '/nowhere' does not exist"),
        ({"producer_interceptor_classes": "X"}, "producer.interceptor.classes"),
    ],
)
def test_a_wrong_worker_file_is_refused(command: Command, changes: dict[str, str | None], says: str) -> None:
    """File, key and value."""
    outcome = command.run(**changes)
    if says.startswith("producer."):
        assert f"worker.properties: {says}" in outcome.stderr  # a warning is enough
    else:
        refused(outcome, 2, says)


def test_port_in_use_is_named_with_its_key(command: Command) -> None:
    """Exit code 3: the machine."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = command.run(listeners=f"http://127.0.0.1:{port}")
    refused(outcome, 3, f"port {port} of listeners=", "is taken by another program", "hint: ")


def test_unreachable_broker_is_an_error_with_the_key(command: Command) -> None:
    """As in Kafka Connect, a worker without a cluster does not start; Spark, which has been started, is ended."""
    command.spark = {}
    outcome = command.run()
    refused(outcome, 3, "no broker answered at bootstrap.servers='127.0.0.1:1' within 0.3 s", "hint: ")
    assert "refused" in outcome.stderr
    assert "default.api.timeout.ms" not in outcome.stderr


def test_unknown_keys_cause_warnings(command: Command) -> None:
    """With the key that was meant, where there is one like it; keys of clients and of Spark are no mistake."""
    outcome = command.run(
        zz="1",
        offset_flush_intervall_ms="1",
        internal_key_converter="X",
        security_protocol="PLAINTEXT",
        spark_master="local",
        admin_retries="3",
        plugin_call_timeout_ms="60000",
    )
    assert "worker.properties: unknown key 'zz' has no effect (hearth.standalone)\n" in outcome.stderr
    assert (
        "unknown key 'offset.flush.intervall.ms' has no effect, did you mean 'offset.flush.interval.ms'?"
        in outcome.stderr
    )
    assert "internal.key.converter has no effect: Kafka Connect 3.0 removed it" in outcome.stderr
    assert outcome.stderr.count("unknown key") == 2


def test_file_of_a_distributed_host_is_recognized(command: Command, caplog: pytest.LogCaptureFixture) -> None:
    """Whether it lacks what a host that works alone needs, or not."""
    keys = {"group_id": "g", "config_storage_topic": "c", "offset_storage_replication_factor": "1"}
    read_worker(command.written(**keys), STANDALONE)
    assert caplog.messages[0].endswith(
        "worker.properties: group.id, config.storage.topic, offset.storage.replication.factor: these are keys of "
        "connect-distributed and have no effect on a standalone host"
    )
    with pytest.raises(ConfigError) as caught:
        read_worker(command.written(**keys, offset_storage_file_filename=None), STANDALONE)
    assert str(caught.value.hint).startswith("this is a file for connect-distributed")


def test_misspelled_required_key_gets_a_suggestion(command: Command) -> None:
    """The required key is missing because its name is misspelled."""
    with pytest.raises(ConfigError) as caught:
        read_worker(command.written(bootstrap_servers=None, bootstrap_server="h:1"), STANDALONE)
    assert caught.value.hint == "unknown key 'bootstrap.server', did you mean 'bootstrap.servers'?"


def test_client_key_is_not_reported_as_misspelled(command: Command) -> None:
    """Valid keys below a prefix are not part of another key's error."""
    keys = {"producer_security_protocol": "SSL", "key_converter_schemas_enable": "false", "spark_master": "local[2]"}
    with pytest.raises(ConfigError) as caught:
        read_worker(command.written(**keys, task_shutdown_graceful_timeout_ms="much"), STANDALONE)
    assert "unknown key" not in str(caught.value.hint)


def test_wrong_value_of_a_variable_is_not_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It may be secret. An unresolvable variable is named, and so is one that a provider refuses."""
    monkeypatch.setenv("HEARTH_SECRET", "geheim")
    changes = {"config_providers": "e", "config_providers_e_class": ENV, "client_id": "${x:y}"}
    with pytest.raises(ConfigError, match=r"value \$\{e:HEARTH_SECRET\} for configuration offset\.flush") as caught:
        read_worker(command.written(**changes, offset_flush_interval_ms="${e:HEARTH_SECRET}"), STANDALONE)
    assert "geheim" not in str(caught.value)
    assert "client.id: ${x:y} is not resolved: no config provider is named 'x', there is 'e'" in caplog.messages
    with pytest.raises(ConfigError, match="Path is not supported for EnvVarConfigProvider, invalid value 'p'"):
        read_worker(command.written(**changes, offset_flush_interval_ms="${e:p:k}"), STANDALONE)


def test_withheld_credentials_are_logged_by_name(
    command: Command, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Users may come from a host where plugins saw them. With `plugin.environment` set, nothing is logged."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
    monkeypatch.setattr(os, "environ", {name: os.environ[name] for name in ("AWS_SECRET_ACCESS_KEY", "PATH", "HOME")})
    caplog.set_level("INFO")
    read_worker(command.written(), STANDALONE)
    read_worker(command.written(plugin_environment="PATH"), STANDALONE)
    warning = "plugins do not see the environment variables AWS_SECRET_ACCESS_KEY; plugin.environment passes them on"
    assert [each for each in caplog.messages if "do not see" in each] == [warning]
    assert "geheim" not in caplog.text


def test_keys_without_effect_are_warned_of_with_the_reason(command: Command) -> None:
    """Nothing is dropped in silence."""
    outcome = command.run(metric_reporters="org.example.Reporter", plugin_discovery="only_scan")
    assert "metric.reporters has no effect: GET /metrics has the metrics" in outcome.stderr
    assert "plugin.discovery has no effect" in outcome.stderr


def test_unusable_config_providers_cause_warnings(command: Command, caplog: pytest.LogCaptureFixture) -> None:
    """Listed without a class, as in Kafka Connect no provider, or set up and not listed."""
    read_worker(
        command.written(config_providers="e,vault", config_providers_e_class=ENV, config_providers_ee_class=ENV),
        STANDALONE,
    )
    found = [each.partition("worker.properties: ")[2] for each in caplog.messages]
    assert found == [
        "config.providers: 'vault' has no effect without config.providers.vault.class",
        "config.providers.ee.class has no effect: 'ee' is not in config.providers, did you mean 'e'?",
    ]


def test_host_does_not_import_libraries_of_tasks() -> None:
    """The REST API answers at once: Arrow and Spark load after it, the Kafka client in parallel."""
    program = (
        "import sys, hearth.cli.standalone_command\n"
        "print(sorted({'pyarrow', 'numpy', 'pyspark', 'py4j', 'confluent_kafka', 'orjson',"
        "'hearth.kafka.library'} & set(sys.modules)))"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=True)
    assert loaded.stdout.strip() == "[]"


def test_low_limit_of_open_files_is_an_error(command: Command) -> None:
    """Before Spark says that it did not start, and without a word of files; exit code 3."""
    command.before = ["bash", "-c", 'ulimit -n 128; exec "$@"', "bash"]
    refused(command.run(), 3, "the limit of open files is 128", "a host needs 512", "hint: raise the limit")


def test_offset_file_of_a_running_host_is_refused(command: Command) -> None:
    """The error of the second host names the first; exit code 3."""
    claim = OffsetClaim(command.folder / "offsets")
    try:
        outcome = command.run()
    finally:
        claim.release()
    holder = f"process {os.getpid()} on"
    refused(outcome, 3, "offset.storage.file.filename", "is in use by a running host", holder)


def test_a_damaged_offset_file_is_refused(command: Command) -> None:
    """Nested deeper than anybody writes; exit code 2."""
    (command.folder / "offsets").write_text("[" * 100_000)
    refused(command.run(), 2, "offset.storage.file.filename", "is not a Hearth offset file")
