"""Registry credentials from the keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearth_api import ConfigError
from hearth_registry.credential import OAuthToken, credential_of
from hearth_registry.registry import RegistryAway
from hearth_registry.registry_setting import RegistrySettings
from tests.registry_server import serving

SOURCE = "basic.auth.credentials.source"
BEARER = "bearer.auth.credentials.source"
JAAS = 'org.apache.kafka.Login required username="al" password=\'s"3\' clientId=c;'


def headers(keys: dict[str, str], user_info: str | None = "of:url") -> dict[str, str]:
    """Return the headers of a request to an address with a user in it."""
    return credential_of(RegistrySettings({"schema.registry.url": "http://a", **keys})).headers(user_info)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, None),
        ({"basic.auth.user.info": "a:b"}, None),
        ({SOURCE: "URL"}, "Basic b2Y6dXJs"),
        ({SOURCE: "USER_INFO", "basic.auth.user.info": "a:b"}, "Basic YTpi"),
        ({SOURCE: "USER_INFO", "schema.registry.basic.auth.user.info": "a:b"}, "Basic YTpi"),
        ({SOURCE: "SASL_INHERIT", "sasl.jaas.config": JAAS}, "Basic YWw6cyIz"),
        ({SOURCE: "NO_SUCH_WORD"}, None),
        ({BEARER: "STATIC_TOKEN", "bearer.auth.token": "t"}, "Bearer t"),
        ({BEARER: "NO_SUCH_WORD"}, None),
    ],
)
def test_an_unknown_source_means_no_credentials(keys: dict[str, str], expected: str | None) -> None:
    """Silently, as in Java."""
    assert headers(keys).get("Authorization") == expected


def test_headers_beside_a_token() -> None:
    """A registry with several tenants needs them."""
    keys = {
        BEARER: "STATIC_TOKEN", "bearer.auth.token": "t", "bearer.auth.logical.cluster": "lsrc-1",
        "bearer.auth.identity.pool.id": "pool-2",
    }  # fmt: skip
    extra = {"target-sr-cluster": "lsrc-1", "Confluent-Identity-Pool-Id": "pool-2"}
    assert headers(keys) == {"Authorization": "Bearer t", **extra}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({SOURCE: "URL", BEARER: "STATIC_TOKEN"}, f"Only one of '{SOURCE}' and '{BEARER}' may be specified"),
        ({SOURCE: "USER_INFO"}, f"UserInfo must be provided when {SOURCE} is set to USER_INFO"),
        ({SOURCE: "SASL_INHERIT"}, "sasl.jaas.config must be provided"),
        ({BEARER: "STATIC_TOKEN"}, "Token must be provided"),
        ({BEARER: "OAUTHBEARER", "bearer.auth.client.id": "c"}, "bearer.auth.issuer.endpoint.url is needed"),
        ({BEARER: "STATIC_TOKEN", "bearer.auth.token": "two\nlines"}, "no header may have"),
        ({BEARER: "CUSTOM"}, "Java classes cannot be run"),
    ],
)
def test_missing_and_contradictory_keys_are_named(keys: dict[str, str], message: str) -> None:
    """When the converter is configured."""
    with pytest.raises(ConfigError) as caught:
        headers(keys)
    assert message in str(caught.value)


def test_a_token_is_cached_until_shortly_before_it_expires() -> None:
    """The issuer gets client, secret and scope; any other response is not a token."""
    answers: list[Any] = [{"access_token": "one", "expires_in": 1000}, {"access_token": "two", "expires_in": 1000}]
    now = [0.0]
    with serving() as server:
        server.reads_json = False
        server.fault = lambda _method, _path: (200, json.dumps(answers.pop(0)).encode())
        token = OAuthToken(server.url + "/token", "id", "a b", "read", 300, clock=lambda: now[0])
        found = []
        for moment in (0, 699, 700):
            now[0] = moment
            found.append(token())
        assert found == ["one", "one", "two"]
        assert server.bodies == ["grant_type=client_credentials&scope=read"] * 2
        assert server.headers[0]["Authorization"] == "Basic aWQ6YSUyMGI="
        answers.append({"error": "no"})
        now[0] = 5000
        with pytest.raises(RegistryAway, match="no access_token"):
            token()
