"""Creates the registry client from the keys of a converter."""

from __future__ import annotations

import random

from hearth_api import ConfigError
from hearth_registry.cached_registry import CachedRegistry, Memory
from hearth_registry.credential import credential_of, is_header_value
from hearth_registry.http_registry import HttpRegistry
from hearth_registry.memory_registry import memory_registry
from hearth_registry.registry import Registry
from hearth_registry.registry_request import Endpoint, RegistryRequests, RetryBudget
from hearth_registry.registry_setting import CLIENT_PREFIX, HEADER_PREFIX, MOCK_SCHEME, RegistrySettings


def open_registry(settings: RegistrySettings) -> Registry:
    """Create the registry client without sending a request; raise `ConfigError` for contradictory keys."""
    if settings.is_mock:
        scopes = [url.removeprefix(MOCK_SCHEME) for url in settings.urls]
        if len(set(scopes)) > 1:
            raise ConfigError(f"Only one mock scope is permitted for 'schema.registry.url'. Got: {settings.urls}")
        return CachedRegistry(memory_registry(scopes[0]), Memory.of(settings))
    registry = HttpRegistry(requests_of(settings), settings.propagate_tags)
    return CachedRegistry(registry, Memory.of(settings))


def requests_of(settings: RegistrySettings) -> RegistryRequests:
    """Return the transport options for HTTP."""
    urls = list(settings.urls)
    if settings.randomize:
        first = random.randrange(len(urls))
        urls = urls[first:] + urls[:first]
    retry_budget = RetryBudget(settings.max_retries, settings.retries_wait_ms, settings.retries_max_wait_ms)
    return RegistryRequests(urls, _endpoint(settings), retry_budget, credential_of(settings))


def _endpoint(settings: RegistrySettings) -> Endpoint:
    tls = None
    if any(url.startswith("https:") for url in settings.urls):
        from hearth_registry.registry_tls import tls_context  # needed only with TLS

        tls = tls_context(settings.with_prefix(CLIENT_PREFIX + "ssl."))
    return Endpoint(
        settings.connect_timeout_ms / 1000,
        settings.read_timeout_ms / 1000,
        tls,
        (settings.proxy_host, settings.proxy_port) if settings.proxy_host else None,
        {name: _header(name, str(value)) for name, value in settings.with_prefix(HEADER_PREFIX).items()},
    )


def _header(name: str, value: str) -> str:
    """Return a request header's value; raise ConfigError if it is not valid in HTTP."""
    if not is_header_value(value):
        raise ConfigError(HEADER_PREFIX + name, value, "it has characters that no header may have")
    return value
