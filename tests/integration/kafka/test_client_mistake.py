"""A worker's mistakes in its client settings are reported within seconds, by key, value and remedy: real brokers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

import hearth.broker.broker as module
from hearth.broker import KafkaBroker
from hearth.broker.server_properties import broker_settings
from hearth.cli.exit_code import exit_code
from hearth.config import WorkerConfig
from hearth.discovery import discover
from hearth.foundation.properties import render
from hearth.herder.cluster_lookup import ClusterLookup, of_other_clients
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.validation.config_warning import ConfigWarning, ConfigWarnings
from hearth_api import ConfigError, ConnectError
from tests.bundles.build import environments
from tests.peer.hearth_connect import file_bundle
from tests.reservation import reserve_port
from tests.spark_python import silent_spark

WORKER = {"bootstrap.servers": "127.0.0.1:1", "key.converter": "JsonConverter", "value.converter": "JsonConverter"}

KINDS = {
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "MUTUAL": "SSL",
    "ELSEWHERE": "PLAINTEXT",
    "EARLY": "SSL",
    "LATE": "SSL",
}
"""Listeners: one of each protocol, one that requires client certificates, one that advertises an unreachable address,
and two whose certificates are not valid yet or have expired."""
NAMES = tuple(KINDS)
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
TIMES = ("EARLY", "LATE")
USER = f'{_LOGIN} username="ann" password="right";'
SECONDS = 20
"""A worker would wait for a minute."""


@dataclass(frozen=True)
class Brokers:
    """A broker with listeners of all kinds, a certificate for localhost, and files for its clients."""

    folder: Path
    ports: Mapping[str, int]

    def settings(self, listener: str, client_settings: Mapping[str, str]) -> dict[str, str]:
        """Return a worker's settings for a listener; ``host`` replaces localhost in its address."""
        found = {
            key: str(self.folder / value) if key.endswith(".location") else value
            for key, value in client_settings.items()
        }
        host = found.pop("host", "localhost")
        return {"bootstrap.servers": f"{host}:{self.ports[listener]}", **found}


def openssl(folder: Path, *arguments: str) -> None:
    """Make a key or a certificate."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Run a broker with certificates that a new authority has signed."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        own = ("-nodes", "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", *own)
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "b.key", "-out", "b.csr", "-subj", "/CN=b")
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    signer = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "9", "-extfile", "names")
    openssl(folder, "x509", "-req", "-in", "b.csr", "-out", "b.crt", *signer)
    for name, parts in {"broker.pem": ("b.key", "b.crt"), "other.pem": ("other.key", "other.crt")}.items():
        (folder / name).write_text("".join((folder / each).read_text() for each in parts))
    for name, days in {"EARLY": (1, 9), "LATE": (-9, -1)}.items():
        (folder / f"{name}.pem").write_bytes(out_of_time(folder, *days))
    ports = {"PLAINTEXT": reserve_port(), "NOWHERE": reserve_port(), **{name: reserve_port() for name in NAMES}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "broker_settings", lambda *given: listeners(broker_settings(*given), folder, ports))
        broker = KafkaBroker(folder / "broker", ports["PLAINTEXT"], retention_bytes=64 << 20)
        with broker:
            yield Brokers(folder, ports)


def out_of_time(folder: Path, first: int, last: int) -> bytes:
    """Return a key and a certificate for localhost, valid from day ``first`` to day ``last``, counted from now."""
    issuer = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    signer = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(signer, rsa.RSAPrivateKey)
    key, now = rsa.generate_private_key(65537, 2048), datetime.now(timezone.utc)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "b")])
    made = (
        x509.CertificateBuilder(issuer.subject, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now + timedelta(days=first))
        .not_valid_after(now + timedelta(days=last))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(signer, SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + made.public_bytes(pem)


def listeners(settings: Mapping[str, str], folder: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """Return a broker's settings with a listener of each kind."""
    more = "".join(f",{name}://localhost:{ports[name]}" for name in NAMES)
    sent = more.replace(str(ports["ELSEWHERE"]), str(ports["NOWHERE"]))
    kinds = {"CONTROLLER": "PLAINTEXT", "PLAINTEXT": "PLAINTEXT", **KINDS}
    return {
        **settings,
        "listeners": settings["listeners"] + more,
        "advertised.listeners": settings["advertised.listeners"] + sent,
        **{f"listener.name.{name.lower()}.ssl.keystore.location": str(folder / f"{name}.pem") for name in TIMES},
        **{f"listener.name.{name.lower()}.ssl.keystore.type": "PEM" for name in TIMES},
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in kinds.items()),
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "ca.crt"),
        "sasl.enabled.mechanisms": "PLAIN",
        **{
            f"listener.name.{name}.plain.sasl.jaas.config": f'{_LOGIN} user_ann="right";'
            for name in ("sasl_ssl", "sasl_plaintext")
        },
    }


CA = {"ssl.truststore.location": "ca.crt"}
TLS = {"security.protocol": "SSL", **CA}
LOGIN = {"sasl.mechanism": "PLAIN", "sasl.jaas.config": USER}
SASL = {"security.protocol": "SASL_SSL", **CA, **LOGIN}
CASES = {
    # listener, settings, start of the message, remedy
    "plain to TLS": ("SSL", {}, r"security\.protocol='PLAINTEXT': the listener at \S+ speaks SSL$", "set it to SSL"),
    "plain to SASL_SSL": ("SASL_SSL", {}, r"security\.protocol='PLAINTEXT': .* speaks SASL_SSL$", "SASL_SSL"),
    "plain to SASL": ("SASL_PLAINTEXT", {}, r"security\.protocol='PLAINTEXT': .* speaks SASL_PLAINTEXT$", "set it"),
    "TLS to plain": ("PLAINTEXT", TLS, r"security\.protocol='SSL': .* speaks PLAINTEXT$", "set it to PLAINTEXT"),
    "TLS to SASL_SSL": ("SASL_SSL", TLS, r"security\.protocol='SSL': .* speaks SASL_SSL$", "set it to SASL_SSL"),
    "login without TLS": (
        "SASL_SSL", {**SASL, "security.protocol": "SASL_PLAINTEXT"},
        r"security\.protocol='SASL_PLAINTEXT': .* speaks SASL_SSL$", "set it to SASL_SSL",
    ),
    "login without SASL": ("SSL", SASL, r"security\.protocol='SASL_SSL': .* speaks SSL$", "set it to SSL"),
    "login to a plaintext port": (
        "PLAINTEXT", {**LOGIN, "security.protocol": "SASL_PLAINTEXT"},
        r"security\.protocol='SASL_PLAINTEXT': .* speaks PLAINTEXT$", "set it to PLAINTEXT",
    ),
    "another mechanism": (
        "SASL_SSL", {**SASL, "sasl.mechanism": "SCRAM-SHA-512"},
        r"sasl\.mechanism='SCRAM-SHA-512': .* accepts PLAIN$", "use one",
    ),
    "wrong password": (
        "SASL_SSL", {**SASL, "sasl.jaas.config": USER.replace("right", "geheim")},
        r"sasl\.jaas\.config: brokers refuse the user 'ann': .*Invalid username or password$", "correct its user",
    ),
    "another authority": (
        "SSL", {**TLS, "ssl.truststore.location": "other.crt"},
        r"ssl\.truststore\.location='\S+other\.crt': the certificate of the broker at \S+ is not signed", "signed",
    ),
    "no truststore": (
        "SSL", {"security.protocol": "SSL"}, r"ssl\.truststore\.location: the certificate of the broker at", "signed",
    ),
    "another name": (
        "SSL", {**TLS, "host": "127.0.0.1"},
        r"bootstrap\.servers='\S+': the certificate .* is not for '127\.0\.0\.1'$", "use a host name",
    ),
    "a certificate not valid yet": (
        "EARLY", TLS, r"bootstrap\.servers='localhost:\d+': the certificate of the broker is not valid yet$", "clock",
    ),
    "an expired certificate": (
        "LATE", TLS, r"bootstrap\.servers='localhost:\d+': the certificate of the broker has expired$", "clock",
    ),
    "no certificate of its own": ("MUTUAL", TLS, r"ssl\.keystore\.location: brokers require", "set it to a"),
    "a certificate of its own that nobody knows": (
        "MUTUAL", {**TLS, "ssl.keystore.location": "other.pem"},
        r"ssl\.keystore\.location='\S+other\.pem': brokers refuse the client's certificate", "they trust",
    ),
}  # fmt: skip
GOOD = {
    "plain": ("PLAINTEXT", {}),
    "TLS": ("SSL", TLS),
    "SASL_SSL": ("SASL_SSL", SASL),
    "SASL": ("SASL_PLAINTEXT", {**LOGIN, "security.protocol": "SASL_PLAINTEXT"}),
    "mutual TLS": ("MUTUAL", {**TLS, "ssl.keystore.location": "broker.pem"}),
}


def look_up(settings: Mapping[str, str]) -> str:
    """Look up the cluster, as a host does."""
    lookup = ClusterLookup(settings, lambda text: None)
    lookup.start()
    return lookup.wait()


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_reported_within_seconds(brokers: Brokers, case: str) -> None:
    """The message has the wrong key, its value and the remedy, and never a password."""
    listener, client_settings, text, remedy = CASES[case]
    started = time.monotonic()
    with pytest.raises(ConfigError, match=f"^{text}") as caught:
        look_up(brokers.settings(listener, client_settings))
    assert time.monotonic() - started < SECONDS
    assert remedy in str(caught.value.hint)
    assert "right" not in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_an_unreachable_advertised_address_is_reported_within_seconds(brokers: Brokers) -> None:
    """The brokers respond, but advertise an unreachable address: their operator has to correct it."""
    started = time.monotonic()
    nowhere = brokers.ports["NOWHERE"]
    text = rf"^bootstrap\.servers='localhost:\d+' answers, but its brokers advertise localhost:{nowhere}, which "
    with pytest.raises(ConnectError, match=text) as caught:
        look_up(brokers.settings("ELSEWHERE", {}))
    assert time.monotonic() - started < SECONDS
    assert "advertised.listeners" in str(caught.value.hint)
    assert exit_code(caught.value) == 3


OVERRIDDEN = {case: client_settings for case, client_settings in CASES.items() if client_settings[0] != "PLAINTEXT"}


def validated(settings: Mapping[str, str], prefix: str = "producer.override.") -> list[ConfigWarning]:
    """Return the validation messages of a connector with producer overrides, on a host with correct settings."""
    found = discover([file_bundle()])
    known = PluginDirectory(lambda: found, environments())
    own = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "tasks.max": "1"}
    config = {**own, **{f"{prefix}{key}": value for key, value in settings.items()}}
    plugin = known.connector(config)
    return ConfigWarnings(plugin, known, WorkerConfig(WORKER), config, {"configs": []}).of_clients()


@pytest.mark.parametrize("case", OVERRIDDEN)
def test_validation_reports_a_mistake_in_overrides(brokers: Brokers, case: str) -> None:
    """With the connector's key, the message of the worker's file, and the remedy."""
    listener, client_settings, text, remedy = OVERRIDDEN[case]
    started = time.monotonic()
    (config_warning,) = validated(brokers.settings(listener, client_settings))
    assert time.monotonic() - started < SECONDS
    key = config_warning.name.removeprefix("producer.override.")
    reported = key + ("=" if config_warning.message.startswith("'") else ": ") + config_warning.message
    fact, _, hint = reported.rpartition(" (")
    assert not config_warning.is_of_client, "no start of a task says it, so the log does when the connector is made"
    assert config_warning.name != key
    assert re.match(text, fact), reported
    assert remedy in hint
    assert "right" not in reported
    assert "geheim" not in reported


def test_validation_reports_an_unreachable_address_of_overrides(brokers: Brokers) -> None:
    """By the key that has the brokers' addresses."""
    (config_warning,) = validated(brokers.settings("ELSEWHERE", {}))
    assert config_warning.name == "producer.override.bootstrap.servers"
    assert "its brokers advertise localhost:" in config_warning.message


@pytest.mark.parametrize("case", GOOD)
def test_correct_overrides_are_not_reported(brokers: Brokers, case: str) -> None:
    """Neither are unreachable brokers."""
    assert validated(brokers.settings(*GOOD[case])) == []
    assert validated({"bootstrap.servers": f"127.0.0.1:{reserve_port()}"}) == []


def test_wrong_producer_and_consumer_settings_of_a_worker_are_reported(brokers: Brokers) -> None:
    """Correct settings of a worker's own clients do not apply to its producers and consumers."""
    settings = brokers.settings("SASL_SSL", SASL)
    reported = list(of_other_clients(settings))
    assert [each.partition("=")[0] for each in reported] == [
        "producer.security.protocol",
        "consumer.security.protocol",
    ]
    assert all("speaks SASL_SSL: set it to SASL_SSL" in each for each in reported)
    for prefix in ("producer.", "consumer."):
        settings |= {f"{prefix}{key}": value for key, value in brokers.settings("SASL_SSL", SASL).items()}
    assert list(of_other_clients(settings)) == []
    assert list(of_other_clients(brokers.settings("PLAINTEXT", {}))) == []


@pytest.mark.parametrize("case", GOOD)
def test_correct_settings_connect(brokers: Brokers, case: str) -> None:
    """Each listener accepts a client with its settings."""
    assert look_up(brokers.settings(*GOOD[case]))


def test_the_command_ends_with_exit_code_2(brokers: Brokers, tmp_path: Path) -> None:
    """With the key as the file has it, and without a thread's traceback."""
    worker = tmp_path / "worker.properties"
    own = {"key.converter": "JsonConverter", "value.converter": "JsonConverter", "listeners": "http://127.0.0.1:0"}
    files = {"offset.storage.file.filename": str(tmp_path / "offsets"), "plugin.path": str(tmp_path)}
    client_settings = {"admin.security.protocol": "PLAINTEXT", "security.protocol": "SASL_SSL", **own, **files}
    worker.write_text(render({**brokers.settings("SSL", {}), **client_settings}))
    command = [sys.executable, "-m", "hearth", "standalone", str(worker)]
    environ = {**os.environ, "SPARK_HOME": silent_spark(tmp_path)}
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environ, check=False)
    assert "admin.security.protocol='PLAINTEXT': the listener at" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert outcome.returncode == 2
