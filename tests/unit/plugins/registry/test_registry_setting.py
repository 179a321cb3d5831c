"""The keys that the three converters have."""

from __future__ import annotations

import pytest

from hearth_api import ConfigError, ConfigType
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.protobuf_setting import ProtobufSettings
from hearth_registry.registry_setting import RegistrySettings

URL = {"schema.registry.url": "http://one:8081, http://two:8081"}


@pytest.mark.parametrize("settings", [AvroSettings, JsonSchemaSettings, ProtobufSettings])
def test_only_the_address_is_required(settings: type[RegistrySettings]) -> None:
    """Everything else has Confluent's default."""
    found = settings(URL)
    assert found.urls == ["http://one:8081", "http://two:8081"]
    assert (found.auto_register, found.use_schema_id, found.schemas_cache_size) == (True, -1, 1000)
    with pytest.raises(ConfigError, match=r'required configuration "schema.registry.url" which has no default'):
        settings({})


def test_the_clients_keys_may_have_its_prefix_and_then_count() -> None:
    """Those of TLS are heard with it alone."""
    found = RegistrySettings(
        {
            **URL, "basic.auth.user.info": "old:x", "schema.registry.basic.auth.user.info": "new:y",
            "schema.registry.max.retries": "7", "schema.registry.ssl.truststore.type": "PEM", "ssl.key.password": "z",
            "schema.registry.url.randomize": "true",
        }
    )  # fmt: skip
    assert (found.user_info.value, found.max_retries, found.randomize) == ("new:y", 7, True)
    assert found.with_prefix("schema.registry.ssl.") == {"truststore.type": "PEM"}


@pytest.mark.parametrize("settings", [RegistrySettings, AvroSettings, ProtobufSettings])
def test_all_accepted_keys_are_defined_and_shown_if_they_are_set(settings: type[RegistrySettings]) -> None:
    """So a host calls none of it unknown, checks it, and hides what is secret."""
    definition = settings.definition()
    secret = ("schema.registry.basic.auth.user.info", "schema.registry.ssl.keystore.key", "sasl.jaas.config")
    assert {definition.keys[name].type for name in secret} == {ConfigType.PASSWORD}
    assert not {*secret, "schema.registry.max.retries"} & definition.listed().keys.keys()
    assert secret[0] in definition.listed({secret[0]: "a:b"}).keys
    (wrong,) = [
        each for each in definition.validate({**URL, "schema.registry.max.retries": "-1"}) if each.error_messages
    ]
    assert wrong.name == "schema.registry.max.retries"
    assert settings({**URL, "schema.registry.max.retries": "1"}).max_retries == 1


def test_unknown_keys_are_ignored_and_those_without_effect_named(caplog: pytest.LogCaptureFixture) -> None:
    """A key without effect is logged if it is set."""
    keys = ["rule.executors", "use.apache.http.client", "ignore.modern.dialects", "bearer.auth.sub.claim.name"]
    RegistrySettings({**URL, "no.such.key": "1", **dict.fromkeys(keys, "x")})
    named = [each.getMessage().partition(" has no effect")[0] for each in caplog.records]
    assert named == [f"key {name!r}" for name in keys]


def test_a_java_class_of_ones_own_is_refused() -> None:
    """The message has those there are."""
    with pytest.raises(ConfigError, match=r"com\.acme\.Own for .*value\.subject\.name\.strategy: .*RecordName"):
        RegistrySettings({**URL, "value.subject.name.strategy": "com.acme.Own"})


def test_all_addresses_are_in_memory_or_none() -> None:
    """As in Java."""
    assert RegistrySettings({"schema.registry.url": "mock://a"}).is_mock
    assert not RegistrySettings(URL).is_mock
    with pytest.raises(ConfigError, match="Only one mock scope"):
        _ = RegistrySettings({"schema.registry.url": "mock://a,http://b"}).is_mock
