"""Sends requests to a registry, with retries and failover between addresses.

Like Confluent's RestService of 8.3, each address is tried `1 + max.retries` times while it is unreachable, times out
or reports that it is temporarily unavailable; then the next address is tried. The address that answers stays the first
choice.
"""

from __future__ import annotations

import http.client
import json
import logging
import random
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from hearth_api import ConfigError
from hearth_registry.credential import Credential, NoCredential
from hearth_registry.registry import UNREADABLE, RegistryAway, RegistryRefusal, RegistrySlow

log = logging.getLogger(__name__)

_WORTH_ANOTHER = (408, 429, 500, 502, 503, 504)
_OK = (200, 207)
_NO_CONTENT = 204
_NOT_FOUND = 404
LARGEST_ANSWER = 64 << 20
"""Maximum size of a response in bytes."""
_PIECE = 1 << 16
_HEADERS = {
    "Content-Type": "application/vnd.schemaregistry.v1+json",
    "Confluent-Accept-Unknown-Properties": "true",
    "Confluent-Client-Version": "hearth",
}


@dataclass(frozen=True)
class Endpoint:
    """Transport options: timeouts in seconds (0 is unlimited), TLS, a proxy as (host, port), headers."""

    connect_timeout: float = 60.0
    read_timeout: float = 60.0
    tls: ssl.SSLContext | None = None
    proxy: tuple[str, int] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RetryBudget:
    """Number of retries for an address, and the waits in milliseconds."""

    retries: int = 3
    wait_ms: int = 1000
    most_wait_ms: int = 20000

    def wait(self, attempt: int) -> float:
        """Return the wait in seconds after an attempt, counted from 0: a random part of a doubling interval."""
        span = min(self.wait_ms * 2**attempt, self.most_wait_ms)
        return random.randint(1, span) / 1000 if span > 1 else span / 1000


class RegistryRequests:
    """Sends requests to a registry with one or more addresses."""

    def __init__(
        self,
        urls: list[str],
        endpoint: Endpoint | None = None,
        retry_budget: RetryBudget | None = None,
        credential: Credential | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Configure without sending a request; raise `ConfigError` for an invalid address."""
        self._addresses = [_address(url) for url in urls]
        self._endpoint = endpoint or Endpoint()
        self._retry_budget = retry_budget or RetryBudget()
        self._credential = credential or NoCredential()
        self._sleep = sleep
        self._current = 0

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the addresses in the order of attempts, without secrets."""
        return tuple(map(_shown, self._addresses))

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON response of a request, None if it is empty.

        Raises `RegistryRefusal` for an error response, `RegistryAway` if there is no response.
        """
        data = None if body is None else _written(body)
        for number in range(len(self._addresses)):
            address = self._addresses[self._current]
            try:
                return self._send_to(address, method, path, data)
            except (RegistryRefusal, RegistryAway) as error:
                is_last = number + 1 == len(self._addresses)
                if isinstance(error, RegistryRefusal) and error.status not in _WORTH_ANOTHER:
                    raise
                self._current = (self._current + 1) % len(self._addresses)
                log.warning("schema registry: %s %s%s: %s", method, _shown(address), path, error)
                if is_last:
                    raise
        raise AssertionError("a registry has at least one address")

    def _send_to(self, address: SplitResult, method: str, path: str, data: bytes | None) -> Any:
        """Try one address with retries."""
        for attempt in range(self._retry_budget.retries + 1):
            if attempt:
                self._sleep(self._retry_budget.wait(attempt - 1))
            try:
                return self._exchange(address, method, path, data)
            except (RegistryRefusal, RegistryAway) as error:
                is_worth_another = isinstance(error, RegistryAway) or error.status in _WORTH_ANOTHER
                if not is_worth_another or attempt == self._retry_budget.retries:
                    raise
        raise AssertionError("an address is tried at least once")

    def _exchange(self, address: SplitResult, method: str, path: str, data: bytes | None) -> Any:
        headers = {**_HEADERS, **self._endpoint.headers, **self._credential.headers(_user_info(address))}
        connection = _connection(address, self._endpoint)
        target = address.path.rstrip("/") + path
        if self._endpoint.proxy and address.scheme == "http":
            target = f"http://{_host_and_port(address)}{target}"
        try:
            connection.connect()
            assert connection.sock is not None
            connection.sock.settimeout(self._endpoint.read_timeout or None)
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            content = _read(response, self._endpoint.read_timeout)
        except TimeoutError as error:
            raise RegistrySlow(f"{_shown(address)}: {_why(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            raise RegistryAway(f"{_shown(address)}: {_why(error)}") from error
        finally:
            connection.close()
        return _answer(response.status, content, address)


def _written(body: Mapping[str, Any]) -> bytes:
    """Encode a body; unpaired surrogates become question marks, as in Java."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _connection(address: SplitResult, endpoint: Endpoint) -> http.client.HTTPConnection:
    host, port = endpoint.proxy or (address.hostname or "", address.port or _default_port(address))
    timeout = endpoint.connect_timeout or None
    if address.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout)
    connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=endpoint.tls)
    if endpoint.proxy:
        connection.set_tunnel(address.hostname or "", address.port or _default_port(address))
    return connection


def _read(response: http.client.HTTPResponse, timeout: float) -> bytes:
    """Read a response; one that takes longer than the read timeout in total counts as timed out."""
    deadline = time.monotonic() + timeout if timeout else None
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise http.client.HTTPException(f"an answer of more than {LARGEST_ANSWER} bytes")
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError("the answer does not end")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _answer(status: int, content: bytes, address: SplitResult) -> Any:
    if status == _NO_CONTENT:
        return None
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = _NOTHING
    if status in _OK and answer is not _NOTHING:
        return answer
    if status in _OK:
        raise RegistryRefusal(f"an answer that is no JSON: {_beginning(content)}", status, UNREADABLE)
    message = f"HTTP {status}: {_beginning(content)}" if content else f"HTTP {status}"
    code = UNREADABLE
    if isinstance(answer, dict) and isinstance(answer.get("error_code"), int):
        message, code = str(answer.get("message")), answer["error_code"]
    is_elsewhere = status == _NOT_FOUND and code // 100 != _NOT_FOUND
    raise RegistryRefusal(message, status, code, hint=_where(address) if is_elsewhere else None)


def _where(address: SplitResult) -> str:
    """Return the hint for a 404 without a registry error code, which means that no registry is at the path."""
    url = _shown(address)
    if address.path.strip("/"):
        return f"no registry answers below {url}: see whether schema.registry.url has the right path"
    return f"schema.registry.url may lack its path: Apicurio's registry, for one, answers below {url}/apis/ccompat/v7"


_NOTHING = object()


def _beginning(content: bytes) -> str:
    return repr(content[:200].decode("utf-8", "replace"))


def _why(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__


def _address(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        is_one = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # the port is not a number
        is_one = False
    if is_one:
        return address
    raise ConfigError("schema.registry.url", url, "not an address such as http://localhost:8081")


def _default_port(address: SplitResult) -> int:
    return 443 if address.scheme == "https" else 80


def _host_and_port(address: SplitResult) -> str:
    return address.netloc.rpartition("@")[2]


def _user_info(address: SplitResult) -> str | None:
    """Return the unquoted `user:password` of an address."""
    info, found, _ = address.netloc.rpartition("@")
    return unquote(info) if found else None


def _shown(address: SplitResult) -> str:
    """Return an address without secrets."""
    return f"{address.scheme}://{_host_and_port(address)}{address.path.rstrip('/')}"
