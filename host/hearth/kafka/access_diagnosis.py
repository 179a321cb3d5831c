"""Finds out why running brokers refuse a client, if its settings are the cause.

librdkafka retries forever, and mostly reports only that brokers are down. So a listener that answers is asked for its
protocol (`listener_probe`), its certificate is checked as the client does, and a refusal is reported with the key that
is wrong.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping

from hearth.kafka.kafka_error import is_refusal
from hearth.kafka.listener_probe import BrokerListener, probe
from hearth.kafka.token_source import HANDLERS, SOURCE, TokenSource
from hearth_api import ConfigError, ConnectError

SECONDS = 3.0
MOST_SERVERS = 3
_SERVER = re.compile(r"(?:[A-Za-z_]+://)?\[?([^\[\]]+?)\]?:(\d+)")
_ALERT = re.compile(r"alert ([a-z ]+): SSL alert number")
_PLACE = re.compile(r"^\S+: | \(after \d+ms in state .*\)$")
_DISTRUST = "certificate verify failed"
_OTHER_NAME = (62, 64)
"""OpenSSL's codes for a certificate with another host name or another address."""
_TIMES = {9: "is not valid yet", 10: "has expired"}
CODE = "client.access"


class AccessMistake(ConnectError):
    """Why a client can never work with its settings: the ``key`` to change, its value if it is shown, and the fact."""

    code = CODE

    @property
    def key(self) -> str:
        """Return the key as the user wrote it."""
        return str(self.args[0])

    @property
    def reason(self) -> str:
        """Return the message without the key."""
        _, value, fact = self.args
        return str(fact) if value is None else f"{value!r}{fact}"

    def __str__(self) -> str:
        """Return the message."""
        return f"{self.key}{': ' if self.args[1] is None else '='}{self.reason}"


class WrongSetting(AccessMistake, ConfigError):
    """The value of a setting does not fit the brokers."""


def find_mistake(
    config: Mapping[str, str], errors: Iterable[tuple[int, str]], name: Callable[[str], str] = str
) -> WrongSetting | None:
    """Return what is wrong with a client's settings, ``None`` if brokers are unavailable or the cause is unknown.

    ``errors`` holds numbers and texts of the client's errors; ``name`` maps a key to the form in which the user wrote
    it.
    """
    return _Mistake(config, list(errors), name).find()


def is_answered(servers: str) -> bool:
    """Return whether a broker answers at one of the first of these addresses."""
    return any(probe(host, port, SECONDS) is not None for _, host, port in _addresses(servers))


def _addresses(servers: str) -> Iterator[tuple[str, str, int]]:
    """Yield each of the first servers as written, with its host and port."""
    for server in servers.split(",")[:MOST_SERVERS]:
        if (parts := _SERVER.fullmatch(server.strip())) is not None:
            yield server, parts[1], int(parts[2])


class _Mistake:
    """One diagnosis of a client's settings and its brokers."""

    def __init__(self, config: Mapping[str, str], errors: list[tuple[int, str]], name: Callable[[str], str]) -> None:
        self._config = config
        self._errors = errors
        self._name = name
        self._protocol = config.get("security.protocol", "PLAINTEXT").upper()

    def find(self) -> WrongSetting | None:
        for server, host, port in _addresses(self._config.get("bootstrap.servers", "")):
            if (listener := probe(host, port, SECONDS)) is None:
                continue
            found = self._of_protocol(listener, server) or self._of_certificate(listener, host, port)
            if found is not None:
                return found
        return self._of_alert() or self._of_refusal()

    def _of_protocol(self, listener: BrokerListener, server: str) -> WrongSetting | None:
        spoken = " or ".join(listener.protocols)
        if self._protocol not in listener.protocols:
            fact = f"the listener at {server.strip()} speaks {spoken}"
            return self._wrong("security.protocol", self._protocol, fact, f"set it to {spoken}, or name another port")
        mechanism = self._config.get("sasl.mechanism", "")
        if listener.mechanisms and mechanism not in listener.mechanisms:
            fact = f"the listener at {server.strip()} accepts {', '.join(listener.mechanisms)}"
            return self._wrong("sasl.mechanism", mechanism, fact, "use one of these")
        return None

    def _of_certificate(self, listener: BrokerListener, host: str, port: int) -> WrongSetting | None:
        """Check a broker's certificate as the client does."""
        if not listener.has_tls or not any(_DISTRUST in text for _, text in self._errors):
            return None
        checks_name = self._config.get("ssl.endpoint.identification.algorithm", "https") == "https"
        error = self._refused(host, port, checks_name)
        if error is None:
            return None
        if error.verify_code in _OTHER_NAME:
            remedy = "use a host name of its certificate, or set ssl.endpoint.identification.algorithm to nothing"
            fact = f"the certificate of the broker is not for {host!r}"
            return self._wrong("bootstrap.servers", self._config["bootstrap.servers"], fact, remedy)
        if error.verify_code in _TIMES:
            fact = f"the certificate of the broker {_TIMES[error.verify_code]}"
            return self._wrong("bootstrap.servers", f"{host}:{port}", fact, "check it, and this machine's clock")
        fact = f"the certificate of the broker at {host}:{port} is not signed by it: {error.verify_message}"
        if (location := self._config.get("ssl.ca.location")) is not None:
            return self._wrong(
                "ssl.truststore.location", location, fact, "use the certificate of the CA that signed it"
            )
        key = "ssl.truststore.certificates" if "ssl.ca.pem" in self._config else "ssl.truststore.location"
        fact = fact if "ssl.ca.pem" in self._config else fact.replace("by it:", "by a CA of this system:")
        return self._wrong(key, None, fact, "use the certificate of the CA that signed it")

    def _refused(self, host: str, port: int, checks_name: bool) -> ssl.SSLCertVerificationError | None:
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            location, text = self._config.get("ssl.ca.location"), self._config.get("ssl.ca.pem")
            if location or text:
                context.load_verify_locations(cafile=location, cadata=text)
            else:
                context.load_default_certs()
            context.check_hostname = checks_name
            with (
                socket.create_connection((host, port), SECONDS) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                return None
        except ssl.SSLCertVerificationError as error:
            return error
        except (OSError, ValueError):
            return None

    def _of_alert(self) -> WrongSetting | None:
        """Return which of the client's certificates a broker refused."""
        alert = next((found[1] for _, text in self._errors if (found := _ALERT.search(text))), None)
        if alert is None:
            return None
        own = self._config.get("ssl.certificate.location") or self._config.get("ssl.keystore.location")
        if own is None and "ssl.certificate.pem" not in self._config:
            fact = f"brokers require a client certificate, and none is set ({alert})"
            return self._wrong("ssl.keystore.location", None, fact, "set it to a file with a key and its certificates")
        key = "ssl.keystore.location" if own else "ssl.keystore.certificate.chain"
        return self._wrong(key, own, f"brokers refuse the client's certificate ({alert})", "use one they trust")

    def _of_refusal(self) -> WrongSetting | None:
        for number, text in self._errors:
            if "SASL" in text and is_refusal(number, text, has_worked=False):
                if (source := self._config.get(SOURCE)) is not None:
                    return self._of_token(TokenSource.of(source), text)
                user = self._config.get("sasl.username")
                who = "the client" if user is None else f"the user {user!r}"
                fact = f"brokers refuse {who}: {_PLACE.sub('', _PLACE.sub('', text))}"
                return self._wrong("sasl.jaas.config", None, fact, "correct its user and password")
        return None

    def _of_token(self, source: TokenSource, text: str) -> WrongSetting:
        key = next((each for each in HANDLERS if each in source.configs), "sasl.mechanism")
        fact = f"brokers refuse the token of {source.class_name}: {_PLACE.sub('', _PLACE.sub('', text))}"
        remedy = "check the token's principal and the brokers' rules, and compare the clocks of all machines"
        return self._wrong(key, source.configs.get(key, "").strip(), fact, remedy)

    def _wrong(self, key: str, value: str | None, fact: str, remedy: str) -> WrongSetting:
        return WrongSetting(self._name(key), value, fact if value is None else f": {fact}", hint=remedy)
