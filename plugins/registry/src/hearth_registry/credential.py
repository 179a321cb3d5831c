"""Who asks a registry: the headers by which a request says so.

Follows Confluent's client of 8.3: a source of credentials counts only where it was written down, and of a word that is
no source nothing comes.
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
    """Says who asks."""

    @abstractmethod
    def headers(self, user_info: str | None) -> dict[str, str]:
        """Return the headers of one request, to an address that has this `user:password` in it."""


class NoCredential(Credential):
    """Asks as nobody, whatever an address has in it."""

    def headers(self, user_info: str | None) -> dict[str, str]:
        """Add nothing."""
        return {}


class BasicCredential(Credential):
    """Asks as a user with a password; without one given, as the address says."""

    def __init__(self, user_info: str | None = None) -> None:
        """Take `user:password`."""
        self._user_info = user_info

    def headers(self, user_info: str | None) -> dict[str, str]:
        """Add user and password, where there are any."""
        info = user_info if self._user_info is None else self._user_info
        if info is None:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(info.encode()).decode()}


class BearerCredential(Credential):
    """Asks with a token; `extra` are headers that go with it."""

    def __init__(self, token: Callable[[], str], extra: dict[str, str]) -> None:
        """Take what returns the token of a moment."""
        self._token = token
        self._extra = extra

    def headers(self, user_info: str | None) -> dict[str, str]:
        """Add the token."""
        return {"Authorization": f"Bearer {self._token()}", **self._extra}


class OAuthToken:
    """A token that an issuer gives a client for its secret, kept until shortly before its end (RFC 6749, 4.4)."""

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        scope: str | None,
        buffer_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare; the issuer is asked when the token is needed."""
        if urlsplit(url).scheme not in ("http", "https"):
            raise ConfigError("bearer.auth.issuer.endpoint.url", url, "it is no address such as https://host/token")
        self._url = url
        self._pair = f"{quote(client_id, safe='')}:{quote(client_secret, safe='')}"
        self._scope = scope
        self._buffer_s = buffer_s
        self._clock = clock
        self._token = ""
        self._until = 0.0

    def __call__(self) -> str:
        """Return the token; another one when its time is nearly over."""
        if self._clock() >= self._until:
            answer = self._ask()
            self._token = str(answer["access_token"])
            self._until = self._clock() + _seconds(answer.get("expires_in")) - self._buffer_s
        return self._token

    def _ask(self) -> dict[str, Any]:
        import urllib.request  # which nobody else needs

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


def _seconds(told: Any) -> float:
    """Return for how long a token is good; one that does not say so is good for one request."""
    try:
        return float(told)
    except (TypeError, ValueError):
        return 0.0


def is_header_value(text: str) -> bool:
    """Tell whether a text may be the value of a header: one line of letters that HTTP has."""
    return _HEADER_VALUE.fullmatch(text) is not None


def credential_of(settings: RegistrySettings) -> Credential:
    """Return who asks, as the keys say; a ConfigError where they say too much or too little."""
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
    """Return the token of the Kafka client's own settings."""
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
