"""Sends requests to the workers of a context."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import ssl
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from hearth.client.client_context import ClientContext
from hearth_api import ConfigError, ConnectError, NotFoundError

TIMEOUT = 100.0
"""Seconds; slightly longer than the 90 s after which a worker gives up on a request."""
BUSY_SECONDS = 30.0
"""How long a request is repeated while the cluster elects a leader or rebalances."""
PASSWORD_VARIABLE = "HEARTH_PASSWORD"  # noqa: S105  the name of a variable
_PAUSE = 0.3
_BUSY = re.compile(r"momentarily|rebalance", re.IGNORECASE)
"""The words of Kafka Connect's 409 for a request that the cluster cannot handle now, but soon."""
_LONGEST = 300


class Unreachable(ConnectError):
    """No worker of the context answers."""

    code = "environment.unreachable"
    hint = "start the worker, or name another one: --url, --context, HEARTH_URL"


class RequestRefused(ConfigError):
    """A worker refuses a request: it is invalid, not allowed or conflicts with what is there."""

    code = "client.refused"


class RestClient:
    """Keeps a connection to the first worker of a context that answers.

    A request fails with NotFoundError (404), RequestRefused (other 4xx), Unreachable, or ConnectError (5xx); the
    message is the worker's.
    """

    def __init__(
        self,
        context: ClientContext,
        timeout: float = TIMEOUT,
        busy_seconds: float = BUSY_SECONDS,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet; ``timeout`` is that of each wait for a worker's answer, in seconds."""
        self._context = context
        self._timeout = timeout
        self._busy_seconds = busy_seconds
        self._wait = wait
        self._url: str | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._tls: ssl.SSLContext | None = None
        self._headers: dict[str, str] | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Return the addresses of the context."""
        return self._context.urls

    def at(self, url: str) -> RestClient:
        """Return a client of a single worker, with the same user and files."""
        return RestClient(replace(self._context, urls=(url,)), self._timeout, self._busy_seconds, self._wait)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, Any] | None = None,
        accepts: Collection[int] = (),
    ) -> Any:
        """Return the JSON of the response, None if it is empty; repeats a request while the cluster is busy.

        Responses with a status of ``accepts`` count as successful, like those below 300.
        """
        target = path if not query else f"{path}{'&' if '?' in path else '?'}{urlencode(query, doseq=True)}"
        deadline = time.monotonic() + self._busy_seconds
        while True:
            status, data = self._send(method, target, body)
            is_busy = status == http.client.CONFLICT and _BUSY.search(data.decode(errors="replace"))
            if not is_busy or time.monotonic() > deadline:
                return _parsed(f"{method} {self._url}{target}", status, data, accepts)
            self._wait(_PAUSE)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _send(self, method: str, target: str, body: object) -> tuple[int, bytes]:
        """Send a request to the worker that answered last, else to the first that accepts a connection."""
        data = None if body is None else json.dumps(body).encode()
        # A kept connection may have ended unnoticed; what must not happen twice gets a new one.
        if self._connection is not None and method != "POST":
            with suppress(OSError, http.client.HTTPException):
                return self._exchange(method, target, data)
        self.close()
        failures = []
        for url in dict.fromkeys((*([self._url] if self._url else []), *self.urls)):
            try:
                self._connect(url)
                break
            except OSError as error:
                failures.append(f"{url}: {_reason(error)}")
                self.close()
                if isinstance(error, ssl.SSLError):
                    raise _tls_error(url, error) from error
        else:
            raise Unreachable(f"no worker answers at {'; '.join(failures)}")
        try:
            return self._exchange(method, target, data)
        except ssl.SSLError as error:
            raise _tls_error(str(self._url), error) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            reason = f"no answer within {self._timeout:g} s" if isinstance(error, TimeoutError) else _reason(error)
            raise Unreachable(f"{method} {self._url}{target}: {reason}") from error

    def _connect(self, url: str) -> None:
        parts = urlsplit(url)
        host, port = str(parts.hostname), parts.port
        if parts.scheme == "https":
            self._tls = self._tls or _tls_context(self._context)
            self._connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        else:
            self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        self._url = url
        self._connection.connect()

    def _exchange(self, method: str, target: str, data: bytes | None) -> tuple[int, bytes]:
        assert self._connection is not None, "_connect comes first"
        if self._headers is None:
            self._headers = {"Accept": "application/json", **self._context.headers, **self._authorization()}
        given = {} if data is None else {"Content-Type": "application/json"}
        path = urlsplit(str(self._url)).path + target
        self._connection.request(method, path, data, {**self._headers, **given})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _authorization(self) -> dict[str, str]:
        if self._context.user is None:
            return {}
        password = _password(self._context, str(urlsplit(str(self._url)).hostname))
        token = base64.b64encode(f"{self._context.user}:{password}".encode()).decode()
        return {"Authorization": f"Basic {token}"}


def _parsed(asked: str, status: int, data: bytes, accepts: Collection[int]) -> Any:
    text = data.decode(errors="replace")
    try:
        content = json.loads(text) if text.strip() else None
        is_json = True
    except ValueError:
        content, is_json = None, False
    if is_json and (status < http.client.MULTIPLE_CHOICES or status in accepts):
        return content
    message = content.get("message") if isinstance(content, dict) else None
    raise _error(asked, status, message or text.strip()[:_LONGEST])


def _error(asked: str, status: int, message: str) -> ConnectError:
    """Return the error for a response that is none of success."""
    if status == http.client.NOT_FOUND:
        return NotFoundError(message or f"{asked}: not found", code="client.not_found")
    if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        hint = "check the user and password of the context: `hearth context set NAME --user USER`"
        return RequestRefused(f"{asked}: {message or 'not allowed'}", code="client.forbidden", hint=hint)
    if http.client.BAD_REQUEST <= status < http.client.INTERNAL_SERVER_ERROR:
        return RequestRefused(message or f"{asked}: HTTP {status}")
    if status < http.client.BAD_REQUEST:
        hint = "check that the address is a Kafka Connect worker's"
        return ConnectError(f"{asked}: HTTP {status} without JSON: {message}", code="client.answer", hint=hint)
    return ConnectError(f"{asked}: HTTP {status}: {message}", code="client.failed")


def _password(context: ClientContext, host: str) -> str:
    """Return the password of the context's user; raises ConfigError if there is none."""
    if context.password_command is not None:
        import subprocess  # imported late: most contexts have no user

        try:
            done = subprocess.run(context.password_command, shell=True, capture_output=True, check=True)  # noqa: S602
        except subprocess.CalledProcessError as error:
            raise ConfigError(
                f"the password command of user {context.user!r} exited with code {error.returncode}",
                code="context.password",
                hint=f"run it: {context.password_command}",
            ) from error
        return done.stdout.decode().rstrip("\r\n")
    if PASSWORD_VARIABLE in os.environ:
        return os.environ[PASSWORD_VARIABLE]
    import netrc

    with suppress(OSError, netrc.NetrcParseError):
        found = netrc.netrc().authenticators(host)
        if found is not None and found[0] == context.user and found[2] is not None:
            return found[2]
    raise ConfigError(
        f"no password for user {context.user!r} at {host}",
        code="context.password",
        hint=f"set {PASSWORD_VARIABLE}, add it to ~/.netrc, or give the context a --password-command",
    )


def _tls_context(context: ClientContext) -> ssl.SSLContext:
    try:
        tls = ssl.create_default_context(cafile=context.ca)
        if context.certificate is not None:
            tls.load_cert_chain(context.certificate, context.key)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(each for each in (context.ca, context.certificate, context.key) if each)
        raise ConfigError(
            f"TLS files {named}: {_reason(error)}", code="context.tls", hint="name readable PEM files"
        ) from error
    return tls


def _tls_error(url: str, error: ssl.SSLError) -> ConnectError:
    reason = getattr(error, "verify_message", "") or _reason(error)
    hint = "name the authority's certificate with --ca, and your own with --certificate and --key, in a context"
    return ConnectError(f"{url}: TLS: {reason}", code="environment.tls", hint=hint)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
