"""Keystores and truststores that OpenSSL can read are handed over; the others are refused with a remedy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import confluent_kafka
import pytest

from hearth.foundation.java import find_java
from hearth.kafka.client import translate
from hearth_api import ConfigError


@pytest.fixture(scope="module")
def pkcs12(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a real PKCS12 keystore with Java's own tool."""
    return _keystore(tmp_path_factory.mktemp("tls") / "client.p12", "PKCS12")


@pytest.fixture(scope="module")
def jks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a real JKS keystore with Java's own tool."""
    return _keystore(tmp_path_factory.mktemp("tls") / "client.jks", "JKS")


@pytest.fixture(scope="module")
def certificate(pkcs12: Path) -> Path:
    """Export the certificate as PEM."""
    text = _keytool("-list", "-rfc", store=pkcs12)
    pem = pkcs12.with_suffix(".pem")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    pem.write_text(text[text.index(begin) : text.index(end) + len(end)] + "\n")
    return pem


def _keytool(*arguments: str, store: Path) -> str:
    """Run Java's keytool on a store and return what it prints."""
    tool = find_java().executable.with_name("keytool")
    command = [str(tool), *arguments, "-keystore", str(store), "-storepass", "secret"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _keystore(path: Path, kind: str) -> Path:
    _keytool("-genkeypair", "-keyalg", "EC", "-alias", "c", "-dname", "CN=c", "-storetype", kind, store=path)
    return path


@pytest.mark.parametrize("named", [{}, {"ssl.keystore.type": "PKCS12"}, {"ssl.keystore.type": "JKS"}])
def test_pkcs12_keystore_is_read_by_the_real_client(pkcs12: Path, named: dict[str, str]) -> None:
    """Java's default type opens PKCS12 files, so what the file holds decides."""
    java = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SSL",
        "ssl.keystore.location": str(pkcs12),
        "ssl.keystore.password": "secret",
        "ssl.key.password": "secret",
        **named,
    }
    result = translate("producer", java)
    assert result.warnings == []
    assert result.config["ssl.keystore.location"] == str(pkcs12)
    confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_jks_keystore_is_refused_with_the_command_that_converts_it(jks: Path) -> None:
    """Only Java reads JKS; the error and its hint name the key as the user wrote it."""
    with pytest.raises(ConfigError, match=r"^consumer.ssl.keystore.location: .*is of type JKS") as caught:
        translate(
            "consumer",
            {"ssl.keystore.location": str(jks)},
            {"ssl.keystore.location": "consumer.ssl.keystore.location"},
        )
    assert caught.value.hint is not None
    assert "keytool -importkeystore" in caught.value.hint
    assert "set that file with consumer.ssl.keystore.type=PKCS12" in caught.value.hint


def test_pem_truststore_is_read_by_the_real_client(certificate: Path) -> None:
    """PEM by name, by content, or as text on one line, as Kafka allows it."""
    by_name = {"ssl.truststore.location": str(certificate), "ssl.truststore.type": "PEM"}
    by_content = {"ssl.truststore.location": str(certificate)}
    as_text = {"ssl.truststore.certificates": " ".join(certificate.read_text().split("\n"))}
    for java in (by_name, by_content, as_text):
        config = translate("producer", {"security.protocol": "SSL", **java}).config
        assert "ssl.ca.location" in config or config["ssl.ca.pem"] == certificate.read_text()
        confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": "0", **config})


def test_other_truststores_are_refused_with_the_command_that_converts_them(pkcs12: Path, jks: Path) -> None:
    """librdkafka takes the brokers' certificates as PEM only."""
    for store, kind in ((pkcs12, "PKCS12"), (jks, "JKS")):
        with pytest.raises(ConfigError, match=f"ssl.truststore.location: .*is of type {kind}") as caught:
            translate("admin", {"ssl.truststore.location": str(store), "ssl.truststore.password": "secret"})
        assert caught.value.hint is not None
        assert "ssl.truststore.type=PEM" in caught.value.hint


def test_missing_store_is_named(tmp_path: Path) -> None:
    """A path that cannot be read is the user's mistake."""
    with pytest.raises(ConfigError, match=r"ssl.truststore.location: .*none\.pem.* cannot be read"):
        translate("admin", {"ssl.truststore.location": str(tmp_path / "none.pem")})


def test_pem_keystore_holds_key_and_certificate() -> None:
    """Kafka's PEM keystore is one file for both, librdkafka asks for each."""
    java = {"ssl.keystore.location": "/etc/k.pem", "ssl.keystore.type": "PEM", "ssl.key.password": "s"}
    assert translate("producer", java).config == {
        "ssl.certificate.location": "/etc/k.pem",
        "ssl.key.location": "/etc/k.pem",
        "ssl.key.password": "s",
    }


def test_a_second_password_of_a_pkcs12_keystore_is_reported() -> None:
    """OpenSSL opens such a file with one password."""
    java = {
        "ssl.keystore.location": "/etc/k.p12",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": "one",
        "ssl.key.password": "two",
    }
    (warning,) = translate("producer", java).warnings
    assert warning.startswith("ssl.key.password: ")
    assert "two" not in warning


def test_cipher_suites_are_openssls() -> None:
    """Java's names would be refused later without a word about the key; OpenSSL's pass."""
    openssl = {"ssl.cipher.suites": "ECDHE-RSA-AES256-GCM-SHA384, ECDHE-RSA-AES128-GCM-SHA256"}
    assert translate("producer", openssl).config == {
        "ssl.cipher.suites": "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256"
    }
    with pytest.raises(ConfigError, match="is Java's name of a cipher suite"):
        translate("producer", {"ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"})


def test_host_names_are_checked_unless_turned_off() -> None:
    """Java turns the check off with an empty value."""
    key = "ssl.endpoint.identification.algorithm"
    assert translate("producer", {key: ""}).config == {key: "none"}
    assert translate("producer", {key: "https"}).config == {key: "https"}
