"""Unusable keys and certificates are reported by key, value and remedy, before a client is created."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hearth.kafka.client import admin_config, consumer_config, internal_config, producer_config, translate
from hearth_api import ConfigError

SECRET, WRONG = "geheim-eins", "geheim-zwei"


class Authority:
    """Keys and certificates, as OpenSSL makes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("one", "two"):
            self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")
            self._certify(name, name, days=30)
        self._openssl("req", "-new", "-key", "one.key", "-subj", "/CN=old", "-out", "old.csr")
        expired = ("-req", "-in", "old.csr", "-signkey", "one.key", "-days", "-1", "-out", "old.crt")
        self._openssl("x509", *expired)
        locked = ("-topk8", "-in", "one.key", "-out", "locked.key", "-v2", "aes-256-cbc")
        self._openssl("pkcs8", *locked, "-passout", f"pass:{SECRET}")
        store = ("-export", "-inkey", "one.key", "-in", "one.crt", "-out", "one.p12", "-passout", f"pass:{SECRET}")
        self._openssl("pkcs12", *store)

    def text(self, *names: str) -> str:
        """Return what these files hold, one after the other."""
        return "".join((self.folder / name).read_text() for name in names)

    def _certify(self, name: str, key: str, days: int) -> None:
        own = ("-key", f"{key}.key", "-subj", f"/CN={name}", "-days", str(days), "-out", f"{name}.crt")
        self._openssl("req", "-new", "-x509", *own)

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Make keys and certificates once."""
    return Authority(tmp_path_factory.mktemp("pki"))


TRUST, STORE = "ssl.truststore.location", "ssl.keystore.location"
CASES = {
    # what was made -> (settings, the key that is named, what is said, what helps)
    "truststore missing": ({TRUST: "none.pem"}, TRUST, "cannot be read: No such file or directory", "a readable file"),
    "truststore missing, named PEM": (
        {TRUST: "none.pem", "ssl.truststore.type": "PEM"}, TRUST, "cannot be read: No such file", "a readable file",
    ),
    "truststore unreadable": (
        {TRUST: ".", "ssl.truststore.type": "PEM"}, TRUST, "cannot be read: Is a directory", "a readable file",
    ),
    "truststore empty": ({TRUST: "empty"}, TRUST, "is empty", "a PEM file"),
    "truststore empty, named PEM": (
        {TRUST: "empty", "ssl.truststore.type": "PEM"}, TRUST, "is empty", "a file with content",
    ),
    "truststore of text": ({TRUST: "text"}, TRUST, "has an unknown format", "PEM"),
    "truststore of text, named PEM": (
        {TRUST: "text", "ssl.truststore.type": "PEM"}, TRUST, "holds no certificate in PEM", "BEGIN CERT",
    ),
    "truststore of a key": ({TRUST: "one.key"}, TRUST, "holds no certificate in PEM", "BEGIN CERT"),
    "truststore damaged": ({TRUST: "torn.crt"}, TRUST, "is damaged", "openssl x509"),
    "truststore expired": ({TRUST: "old.crt"}, TRUST, "only a certificate that has expired, at", "renew it"),
    "truststore as text": (
        {"ssl.truststore.certificates": "what?"}, "ssl.truststore.certificates", "holds no certificate", "BEGIN",
    ),
    "keystore missing": ({STORE: "none.p12"}, STORE, "cannot be read: No such file or directory", "a readable file"),
    "keystore missing, named PKCS12": (
        {STORE: "none.p12", "ssl.keystore.type": "PKCS12"}, STORE, "cannot be read: No such file", "a readable file",
    ),
    "keystore empty": ({STORE: "empty"}, STORE, "is empty", "PKCS12"),
    "keystore of text": ({STORE: "text"}, STORE, "has an unknown format", "PKCS12"),
    "keystore without key": ({STORE: "one.crt"}, STORE, "holds no private key", "one file that holds"),
    "keystore without certificate": ({STORE: "one.key"}, STORE, "holds no certificate", "one file that holds"),
    "key of another certificate": ({STORE: "mixed.pem"}, STORE, "a private key that does not", "belong together"),
    "own certificate expired": ({STORE: "old.pem"}, STORE, "own certificate has expired, at", "renew it"),
    "no password": ({STORE: "locked.pem"}, STORE, "an encrypted private key, and no password", "ssl.key.password"),
    "wrong password": (
        {STORE: "locked.pem", "ssl.key.password": WRONG}, "ssl.key.password", "does not open", "correct it",
    ),
    "PKCS12 without password": ({STORE: "one.p12"}, STORE, "does not open without", "openssl"),
    "PKCS12 with a wrong password": (
        {STORE: "one.p12", "ssl.keystore.password": WRONG}, STORE, "does not open with ", "openssl",
    ),
    "PKCS12 torn": ({STORE: "torn.p12", "ssl.keystore.password": SECRET}, STORE, "does not open", "openssl pkcs12"),
}  # fmt: skip
GOOD = {
    "truststore": {TRUST: "one.crt"},
    "truststore with an old one among others": {TRUST: "some.pem"},
    "keystore": {STORE: "one.pem"},
    "locked": {STORE: "locked.pem", "ssl.key.password": SECRET},
    "PKCS12": {STORE: "one.p12", "ssl.keystore.password": SECRET},
}


@pytest.fixture(scope="module")
def files(made: Authority) -> Path:
    """Provide good files and bad ones."""
    texts = {
        "empty": " \n", "text": "no store at all", "torn.crt": made.text("one.crt").replace("M", "N", 3),
        "mixed.pem": made.text("two.key", "one.crt"), "old.pem": made.text("one.key", "old.crt"),
        "locked.pem": made.text("locked.key", "one.crt"), "one.pem": made.text("one.key", "one.crt"),
        "some.pem": made.text("old.crt", "one.crt"),
    }  # fmt: skip
    for name, text in texts.items():
        (made.folder / name).write_text(text)
    whole = (made.folder / "one.p12").read_bytes()
    (made.folder / "torn.p12").write_bytes(whole[: len(whole) // 2])
    return made.folder


def settings(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return settings whose files lie in a folder."""
    own = {key: str(folder / value) if key.endswith(".location") else value for key, value in given.items()}
    return {"security.protocol": "SSL", "bootstrap.servers": "h:9093", **own}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["worker", "host", "prefix", "override"])
def test_a_mistake_is_reported_with_key_value_and_remedy(files: Path, case: str, way: str) -> None:
    """In a worker's file, with and without prefix, and in what a connector overrides; never with a password."""
    given, key, fact, remedy = CASES[case]
    own = settings(files, given)
    ways: dict[str, Callable[[], object]] = {
        "worker": lambda: admin_config(own),
        "host": lambda: internal_config("consumer", own, "host"),
        "prefix": lambda: producer_config({f"producer.{name}": value for name, value in own.items()}, {}),
        "override": lambda: consumer_config({}, {f"consumer.override.{name}": own[name] for name in own}, "c"),
    }
    with pytest.raises(ConfigError) as caught:
        ways[way]()
    prefix = {"prefix": "producer.", "override": "consumer.override."}.get(way, "")
    assert str(caught.value).startswith(f"{prefix}{key}: ")
    assert fact in str(caught.value)
    if key.endswith(".location") and "own certificate" not in case:
        assert repr(own[key]) in str(caught.value)
    assert remedy in str(caught.value.hint)
    assert all(secret not in f"{caught.value} {caught.value.hint}" for secret in (SECRET, WRONG))


@pytest.mark.parametrize("case", GOOD)
def test_what_can_be_used_is_handed_over(files: Path, case: str) -> None:
    """And librdkafka makes a client of it."""
    from confluent_kafka.admin import AdminClient

    AdminClient({**translate("admin", settings(files, GOOD[case])).config, "log_level": "0"})


@pytest.mark.parametrize("missing", ["ssl.keystore.key", "ssl.keystore.certificate.chain"])
def test_text_of_key_and_certificates_belong_together(made: Authority, missing: str) -> None:
    """On one line, as Java accepts it, or several; one without the other is an error."""
    both = {"ssl.keystore.key": made.text("one.key"), "ssl.keystore.certificate.chain": made.text("one.crt")}
    translate("admin", settings(made.folder, {key: " ".join(text.split("\n")) for key, text in both.items()}))
    with pytest.raises(ConfigError, match=f"^{missing}: is missing"):
        translate("admin", settings(made.folder, {key: text for key, text in both.items() if key != missing}))
    wrong = {**both, "ssl.keystore.key": made.text("two.key")}
    with pytest.raises(ConfigError, match=r"^ssl\.keystore\.certificate\.chain: .* does not match") as caught:
        translate("admin", settings(made.folder, wrong))
    assert "BEGIN" not in str(caught.value)


def test_a_certificate_that_is_not_valid_yet_is_reported_with_both_times(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of this machine may be what is wrong."""

    class Early(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(timezone.utc) - timedelta(days=400)

    monkeypatch.setattr("hearth.kafka.client.store_check.datetime", Early)
    with pytest.raises(ConfigError, match=r"is valid from .* on, and it is .* here") as caught:
        translate("admin", settings(files, {STORE: "one.pem"}))
    assert "clock" in str(caught.value.hint)


def test_files_of_a_client_without_tls_are_not_looked_at(files: Path) -> None:
    """They have no effect there, as in Java."""
    own = settings(files, {STORE: "none.pem", "ssl.keystore.type": "PEM"})
    assert translate("admin", {**own, "security.protocol": "PLAINTEXT"}).warnings == []
