"""Checks a client's key and certificate files before OpenSSL reports them in obscure terms.

OpenSSL's errors do not name the key, and some occur on a client's thread. These name key, value and remedy, and never
a password. A client without TLS reads no such file, so its settings are not checked.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from hearth.kafka.client.rule import ClientRequest
from hearth_api import ConfigError

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_RENEW = "renew it, or check this machine's clock"
_ONE_FILE = "a PEM keystore is one file that holds the private key and its certificates"


def check_stores(request: ClientRequest) -> None:
    """Raise `ConfigError` for keys and certificates of a TLS client that cannot be used, or not now."""
    if not (request.get("security.protocol") or "").upper().endswith("SSL"):
        return
    config = request.result.config
    if (location := config.get("ssl.ca.location")) is not None:
        _check_trusted(request, "ssl.truststore.location", _read(request, "ssl.truststore.location", location))
    elif (pem := config.get("ssl.ca.pem")) is not None:
        _check_trusted(request, "ssl.truststore.certificates", pem)
    if (location := config.get("ssl.certificate.location")) is not None:
        both = _read(request, "ssl.keystore.location", location)
        _check_own(request, "ssl.keystore.location", both, both)
    elif "ssl.key.pem" in config or "ssl.certificate.pem" in config:
        for key, name in (
            ("ssl.keystore.key", "ssl.key.pem"),
            ("ssl.keystore.certificate.chain", "ssl.certificate.pem"),
        ):
            if name not in config:
                raise request.refuse(key, "is missing", "set both the private key and its certificates")
        chain, private = config["ssl.certificate.pem"], config["ssl.key.pem"]
        _check_own(request, "ssl.keystore.certificate.chain", chain, private)
    elif (location := config.get("ssl.keystore.location")) is not None:
        _read(request, "ssl.keystore.location", location)
        _open_pkcs12(request, location)


def _read(request: ClientRequest, key: str, location: str) -> str:
    try:
        text = Path(location).read_text("latin-1")
    except OSError as error:
        fact = f"{location!r} cannot be read: {error.strerror}"
        raise request.refuse(key, fact, "set it to a readable file") from error
    if not text.strip():
        raise request.refuse(key, f"{location!r} is empty", "set it to a file with content")
    return text


def _check_trusted(request: ClientRequest, key: str, text: str) -> None:
    found = _CERTIFICATE.findall(text)
    if not found:
        fact = f"{_named(request, key)}holds no certificate in PEM format"
        raise request.refuse(key, fact, "it starts with -----BEGIN CERTIFICATE-----")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata="\n".join(found))
    except (ssl.SSLError, ValueError) as error:
        raise _damaged(request, key) from error
    faults = list(map(_out_of_time, found))
    if all(faults):  # a bundle may include expired ones
        raise request.refuse(key, f"{_named(request, key)}holds only a certificate that {faults[0]}", _RENEW)


def _check_own(request: ClientRequest, key: str, chain: str, private: str) -> None:
    certificates = _CERTIFICATE.findall(chain)
    if not certificates:
        raise request.refuse(key, f"{_named(request, key)}holds no certificate in PEM format", _ONE_FILE)
    if _PRIVATE.search(private) is None:
        own = key if private is chain else "ssl.keystore.key"
        raise request.refuse(own, f"{_named(request, own)}holds no private key in PEM format", _ONE_FILE)
    _load(request, key, "\n".join(certificates), private)
    if fault := _out_of_time(certificates[0]):
        raise request.refuse(key, f"the client's own certificate {fault}", _RENEW)


def _load(request: ClientRequest, key: str, chain: str, private: str) -> None:
    """Load a key and its certificates with OpenSSL, from temporary files that only this user can read."""
    password = request.result.config.get("ssl.key.password")
    with tempfile.TemporaryDirectory(prefix="hearth-key-") as folder:
        files = Path(folder, "chain.pem"), Path(folder, "key.pem")
        for file, text in zip(files, (chain, private), strict=True):
            file.write_text(text, "latin-1")
        try:
            # never prompt for a password
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(*files, password=lambda: password or "")
        except (ssl.SSLError, ValueError) as error:
            if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
                fact = f"{_named(request, key)}holds a private key that does not match its first certificate"
                raise request.refuse(key, fact, "set the key and the certificate that belong together") from None
            if "ENCRYPTED" in private and password is None:
                fact = f"{_named(request, key)}holds an encrypted private key, and no password is given"
                raise request.refuse(key, fact, f"set {_next_to(request, key, 'ssl.key.password')}") from None
            if "ENCRYPTED" in private:
                raise request.refuse("ssl.key.password", "does not open the private key", "correct it") from None
            raise _damaged(request, key) from None


def _open_pkcs12(request: ClientRequest, location: str) -> None:
    """Open a keystore with librdkafka, as its clients do."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    names = ("ssl.keystore.location", "ssl.keystore.password")
    settings = {name: request.result.config[name] for name in names if name in request.result.config}
    try:
        AdminClient({**settings, "security.protocol": "ssl", "log_level": "0"})
    except KafkaException:
        password = f"{'with' if names[1] in settings else 'without'} {_next_to(request, *names)}"
        fact = f"{location!r} does not open {password}, or is no PKCS12 keystore"
        raise request.refuse(names[0], fact, f"look at it with `openssl pkcs12 -info -in {location}`") from None


def _next_to(request: ClientRequest, key: str, other: str) -> str:
    """Return another key with the prefix under which the user wrote this one."""
    return request.name(key).removesuffix(key) + other


def _out_of_time(pem: str) -> str | None:
    """Return why a certificate is not valid now, ``None`` if it is."""
    from cryptography import x509  # few clients need it

    found, now = x509.load_pem_x509_certificate(pem.encode("latin-1")), datetime.now(timezone.utc)
    begin, end = found.not_valid_before_utc, found.not_valid_after_utc
    if now > end:
        return f"has expired, at {end:%Y-%m-%d %H:%M:%S} UTC"
    if now < begin:
        return f"is valid from {begin:%Y-%m-%d %H:%M:%S} UTC on, and it is {now:%Y-%m-%d %H:%M:%S} here"
    return None


def _named(request: ClientRequest, key: str) -> str:
    """Return the value of a key and a space, if it is a file name and not a secret."""
    return f"{request.java[key].strip()!r} " if key.endswith(".location") else ""


def _damaged(request: ClientRequest, key: str) -> ConfigError:
    fact = f"{_named(request, key)}is damaged, OpenSSL cannot read it"
    return request.refuse(key, fact, "look at it with `openssl x509 -noout -text -in FILE`")
