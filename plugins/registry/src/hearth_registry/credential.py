"""Credentials for a registry, as HTTP headers.

Like Confluent's client of 8.3, a credentials source is used only if its key is set, and an unknown source is ignored.
"""

from __future__ import annotations

import base64
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from hearth_api import ConfigError
from hearth_registry.registry import RegistryAway
from hearth_registry.registry_setting import RegistrySettings

BASIC_SOURCE = "basic.auth.credentials.source"
BEARER_SOURCE = "bearer.auth.credentials.source"
_JAAS = "sasl.jaas.config"
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_TOKEN_TIMEOUT = 60.0
_LARGEST_TOKEN = 1 << 20


class Credential(ABC):
    """Provides authentication headers."""

    @abstractmethod
    def headers(self, user_info: str | None) -> dict[str, str]:
        """Return the headers of a request; `userinfo` is the `user:password` of the address."""


class NoCredential(Credential):
    """No authentication, regardless of the address."""

    def headers(self, user_info: str | None) -> dict[str, str]:
        """Add nothing."""
        return {}


class BasicCredential(Credential):
    """Basic authentication, by default with the user and password of the address."""

    def __init__(self, user_info: str | None = None) -> None:
        """Set `user:password`."""
        self._user_info = user_info

    def headers(self, user_info: str | None) -> dict[str, str]:
        """Add user and password, if any."""
        info = user_info if self._user_info is None else self._user_info
        if info is None:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(info.encode()).decode()}


class BearerCredential(Credential):
    """Bearer authentication; `extra` are additional headers."""

    def __init__(self, token: Callable[[], str], extra: dict[str, str]) -> None:
        """Set the function that returns the current token."""
        self._token = token
        self._extra = extra

    def headers(self, user_info: str | None) -> dict[str, str]:
        """Add the token."""
        return {"Authorization": f"Bearer {self._token()}", **self._extra}


class OAuthToken:
    """A client credentials token (RFC 6749, 4.4), cached until shortly before it expires."""

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        scope: str | None,
        buffer_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Configure the source; the token is requested on first use."""
        if urlsplit(url).scheme not in ("http", "https"):
            raise ConfigError("bearer.auth.issuer.endpoint.url", url, "not an address such as https://host/token")
        self._url = url
        self._pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._scope = scope
        self._buffer_s = buffer_s
        self._clock = clock
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        """Return the token; request a new one shortly before it expires."""
        if self._clock() >= self._until:
            answer = self._ask()
            self._token = str(answer["access_token"])
            self._until = self._clock() + _seconds(answer.get("expires_in")) - self._buffer_s
        return self._token

    def _ask(self) -> dict[str, Any]:
        import urllib.request  # needed only here

        form = {"grant_type": "client_credentials"} | ({"scope": self._scope} if self._scope else {})
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
            self._url,
            data=urlencode(form).encode(),
            headers={"Authorization": "Basic " + base64.b64encode(self._pair.encode()).decode()},
        )
        try:
            with urllib.request.urlopen(request, timeout=_TOKEN_TIMEOUT) as response:  # noqa: S310
                answer = json.loads(response.read(_LARGEST_TOKEN))
        except (OSError, ValueError) as error:
            raise RegistryAway(f"the issuer of tokens at {self._url} gave none: {error}") from error
        if not isinstance(answer, dict) or "access_token" not in answer:
            raise RegistryAway(f"the issuer of tokens at {self._url} gave none: its answer has no access_token")
        return answer


def _seconds(value: Any) -> float:
    """Return the lifetime of a token; without `expires_in` it is used for one request."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


def is_header_value(text: str) -> bool:
    """Return whether a string is a valid HTTP header value."""
    return _HEADER_VALUE.fullmatch(text) is not None


def credential_of(settings: RegistrySettings) -> Credential:
    """Create the credential from the keys; raise ConfigError if they are contradictory or incomplete."""
    has_basic, has_bearer = settings.is_set(BASIC_SOURCE), settings.is_set(BEARER_SOURCE)
    if has_basic and has_bearer:
        raise ConfigError(f"Only one of '{BASIC_SOURCE}' and '{BEARER_SOURCE}' may be specified")
    if has_basic:
        return _basic(settings)
    return _bearer(settings) if has_bearer else NoCredential()


def _basic(settings: RegistrySettings) -> Credential:
    source = settings.basic_source
    if source == "URL":
        return BasicCredential()
    if source == "USER_INFO":
        info = settings.user_info.value
        if not info:
            raise ConfigError(f"UserInfo must be provided when {BASIC_SOURCE} is set to USER_INFO")
        return BasicCredential(info)
    if source == "SASL_INHERIT":
        options = _jaas_options(settings, BASIC_SOURCE, source)
        return BasicCredential(f"{options.get('username', '')}:{options.get('password', '')}")
    return NoCredential()


def _bearer(settings: RegistrySettings) -> Credential:
    source = settings.bearer_source
    headers = {"target-sr-cluster": settings.logical_cluster, "Confluent-Identity-Pool-Id": settings.identity_pool}
    extra = {name: value for name, value in headers.items() if value is not None}
    if source == "STATIC_TOKEN":
        token = settings.bearer_token.value
        if token and not is_header_value(token):
            raise ConfigError("bearer.auth.token", "[hidden]", "it has characters that no header may have")
        if not token:
            raise ConfigError(f"Token must be provided when {BEARER_SOURCE} is set to STATIC_TOKEN")
        return BearerCredential(lambda: token, extra)
    if source == "OAUTHBEARER":
        return BearerCredential(_issued(settings), extra)
    if source == "SASL_OAUTHBEARER_INHERIT":
        return BearerCredential(_inherited(settings), extra)
    if source in ("UAMI", "CUSTOM"):
        raise ConfigError(BEARER_SOURCE, source, "Java classes cannot be run; use OAUTHBEARER or STATIC_TOKEN")
    return NoCredential()


def _issued(settings: RegistrySettings) -> OAuthToken:
    secret = settings.oauth_client_secret
    given = {
        "bearer.auth.issuer.endpoint.url": settings.oauth_url,
        "bearer.auth.client.id": settings.oauth_client_id,
        "bearer.auth.client.secret": secret and secret.value,
    }
    for name, value in given.items():
        if not value:
            raise ConfigError(f"The configuration {name} is needed where {BEARER_SOURCE} is set to OAUTHBEARER")
    url, client_id, client_secret = map(str, given.values())
    return OAuthToken(url, client_id, client_secret, settings.oauth_scope, settings.oauth_expiry_buffer)


def _inherited(settings: RegistrySettings) -> OAuthToken:
    """Return the token source from the Kafka client's settings."""
    options = _jaas_options(settings, BEARER_SOURCE, "SASL_OAUTHBEARER_INHERIT")
    url = str(settings.originals.get("sasl.oauthbearer.token.endpoint.url") or "")
    if not url:
        raise ConfigError("sasl.oauthbearer.token.endpoint.url is needed to inherit a token from")
    client, secret = options.get("clientId", ""), options.get("clientSecret", "")
    return OAuthToken(url, client, secret, options.get("scope"), settings.oauth_expiry_buffer)


def _jaas_options(settings: RegistrySettings, key: str, source: str) -> dict[str, str]:
    jaas = settings.originals.get(_JAAS)
    if not jaas:
        raise ConfigError(f"{_JAAS} must be provided when {key} is set to {source}")
    return {name: quoted or single or bare for name, quoted, single, bare in _JAAS_OPTION.findall(str(jaas))}
