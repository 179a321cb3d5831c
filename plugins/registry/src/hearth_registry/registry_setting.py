"""The common keys of the three converters, each declared once, as in Confluent's serdes of 8.3.

Keys of the registry client may have the prefix `schema.registry.`, which takes precedence; TLS keys must have it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hearth_api import (
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConfigType,
    Importance,
    Lambda,
    Password,
    Range,
    Settings,
    Validator,
    ValidList,
    ValidString,
    key,
)

log = logging.getLogger(__name__)

CLIENT_PREFIX = "schema.registry."
URL = "schema.registry.url"
MOCK_SCHEME = "mock://"
HEADER_PREFIX = "request.header."
STRATEGIES = "io.confluent.kafka.serializers.subject."
SCHEMA_IDS = "io.confluent.kafka.serializers.schema.id."
_CONTEXTS = "io.confluent.kafka.serializers.context."
_JAVA_OBJECTS = "it is for Java objects, of which there are none"
_IGNORED = {
    "use.apache.http.client": "requests go by the one client there is",
    "schema.reflection": "there are no Java classes to look into",
    "schema.backup.enabled": "wrapped schemas are not read",
    "execution.environment": "rules of data contracts are not run",
    "bearer.auth.custom.provider.class": "Java classes cannot be run",
    "bearer.auth.scope.claim.name": "tokens are passed on without a look inside",
    "bearer.auth.sub.claim.name": "tokens are passed on without a look inside",
    "ignore.modern.dialects": "schemas of all dialects are read in the same way",
    "avro.use.logical.type.converters": _JAVA_OBJECTS,
    "avro.reflection.allow.null": _JAVA_OBJECTS,
    "avro.remove.java.properties": _JAVA_OBJECTS,
    "json.write.dates.iso8601": _JAVA_OBJECTS,
    "json.schema.spec.version": _JAVA_OBJECTS,
    "json.validate.before.domain.rules": _JAVA_OBJECTS,
    "json.fail.unknown.properties": _JAVA_OBJECTS,
    "json.schema.scan.packages": _JAVA_OBJECTS,
    "json.envelope.detection": _JAVA_OBJECTS,
    "json.oneof.for.nullables": _JAVA_OBJECTS,
    "json.default.property.inclusion": _JAVA_OBJECTS,
    "json.key.type": _JAVA_OBJECTS,
    "json.value.type": _JAVA_OBJECTS,
    "json.type.allowed.packages": _JAVA_OBJECTS,
    "type.property": _JAVA_OBJECTS,
    "derive.type": _JAVA_OBJECTS,
}
_TLS = [
    f"{CLIENT_PREFIX}ssl.{name}"
    for name in (
        "protocol", "provider", "cipher.suites", "enabled.protocols", "keystore.type", "keystore.location",
        "truststore.type", "truststore.location", "keymanager.algorithm", "trustmanager.algorithm",
        "endpoint.identification.algorithm", "secure.random.implementation", "engine.factory.class",
    )
]  # fmt: skip
_TLS_SECRETS = [
    f"{CLIENT_PREFIX}ssl.{name}"
    for name in (
        "keystore.password", "keystore.key", "keystore.certificate.chain", "key.password", "truststore.password",
        "truststore.certificates",
    )
]  # fmt: skip
_SASL, _SASL_SECRETS = ["sasl.oauthbearer.token.endpoint.url"], ["sasl.jaas.config"]
_IGNORED_PREFIXES = {
    "rule.": "rules of data contracts are not run",
    "validation.rules.": "rules of data contracts are not run",
    "bearer.auth.uami.endpoint.": "tokens of Azure's managed identities are not fetched",
    "specific.avro.": _JAVA_OBJECTS,
    "specific.protobuf.": _JAVA_OBJECTS,
}
"""Known keys without effect and the reason, which is logged if they are set."""


def known_class(package: str, *names: str) -> Lambda:
    """Return a validator of the supported class names of a Java package."""
    known = [package + name for name in names]

    def ensure_valid(name: str, value: Any) -> None:
        if value is not None and value not in known:
            raise ConfigError(name, value, f"Java classes cannot be run; these are known: {', '.join(known)}")

    return Lambda(ensure_valid, f"[{', '.join(known)}]")


_STRATEGY = known_class(
    STRATEGIES, "AssociatedNameStrategy", "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"
)
_ID_WRITER = known_class(SCHEMA_IDS, "PrefixSchemaIdSerializer", "HeaderSchemaIdSerializer")
_ID_READER = known_class(
    SCHEMA_IDS, "DualSchemaIdDeserializer", "PrefixSchemaIdDeserializer", "ConfigSchemaIdDeserializer"
)
_SOME = Range.at_least(0)


class RegistrySettings(Settings):
    """The common settings of the three converters."""

    urls: list[str] = key(
        URL, importance=Importance.HIGH, check=ValidList(empty_allowed=False),
        doc="Addresses of the registry, tried in order. mock://SCOPE is an in-memory registry of that name.",
    )  # fmt: skip
    randomize: bool = key(
        "schema.registry.url.randomize", default=False, importance=Importance.LOW,
        doc="Whether to start with a random address instead of the first.",
    )  # fmt: skip
    auto_register: bool = key(
        "auto.register.schemas", default=True,
        doc="Whether to register the schemas of written values; overrides every other choice of a schema.",
    )  # fmt: skip
    use_schema_id: int = key(
        "use.schema.id", default=-1, importance=Importance.LOW, doc="The id of the schema for writing and reading."
    )
    use_schema_guid: str | None = key(
        "use.schema.guid", default=None, importance=Importance.LOW,
        doc="The GUID of the schema for writing and reading.",
    )  # fmt: skip
    id_compatibility_strict: bool = key(
        "id.compatibility.strict", default=True, importance=Importance.LOW,
        doc="Whether the schema of use.schema.id must be able to read the value's own schema.",
    )  # fmt: skip
    use_latest_with_metadata: str | None = key(
        "use.latest.with.metadata", default=None, importance=Importance.LOW,
        doc="KEY=VALUE,...: use the latest version with this metadata, as with use.latest.version.",
    )  # fmt: skip
    use_latest_version: bool = key(
        "use.latest.version", default=False, importance=Importance.LOW,
        doc="Whether to write with the latest version of the subject, and to convert what is read to it.",
    )  # fmt: skip
    latest_compatibility_strict: bool = key(
        "latest.compatibility.strict", default=True, importance=Importance.LOW,
        doc="Whether the latest version must be able to read the value's own schema, when writing.",
    )  # fmt: skip
    latest_cache_size: int = key(
        "latest.cache.size", default=1000, check=_SOME, importance=Importance.LOW,
        doc="The maximum number of cached latest versions.",
    )  # fmt: skip
    latest_cache_ttl: int = key(
        "latest.cache.ttl.sec", default=-1, importance=Importance.LOW,
        doc="How many seconds a latest version is cached; -1 means forever in the converter and 60 in its client.",
    )  # fmt: skip
    normalize: bool = key("normalize.schemas", default=False, doc="Whether the registry normalizes the schemas.")
    propagate_tags: bool = key(
        "propagate.schema.tags", default=False, importance=Importance.LOW,
        doc="Whether the registry copies the tags of the previous version.",
    )  # fmt: skip
    schema_format: str | None = key(
        "schema.format", default=None, importance=Importance.LOW,
        doc="How Protobuf schemas are registered: ignore_extensions omits Confluent's own options.",
    )  # fmt: skip
    max_schemas: int = key(
        "max.schemas.per.subject", default=1000, check=Range.at_least(1), importance=Importance.LOW,
        doc="The maximum number of cached schemas of a subject.",
    )  # fmt: skip
    key_strategy: str = key(
        "key.subject.name.strategy", type=ConfigType.CLASS, default=STRATEGIES + "AssociatedNameStrategy",
        check=_STRATEGY, doc="The strategy that determines the subject of keys.",
    )  # fmt: skip
    value_strategy: str = key(
        "value.subject.name.strategy", type=ConfigType.CLASS, default=STRATEGIES + "AssociatedNameStrategy",
        check=_STRATEGY, doc="The strategy that determines the subject of values.",
    )  # fmt: skip
    association_cluster: str = key(
        "subject.name.strategy.kafka.cluster.id", default="-", importance=Importance.LOW,
        doc="The Kafka cluster whose associations of topics with subjects apply.",
    )  # fmt: skip
    association_fallback: str = key(
        "subject.name.strategy.fallback.type", default="TOPIC", importance=Importance.LOW,
        check=ValidString("TOPIC", "RECORD", "TOPIC_RECORD", "NONE"),
        doc="The strategy for topics without an associated subject.",
    )  # fmt: skip
    association_cache_size: int = key(
        "subject.name.strategy.cache.size", default=1000, check=Range.at_least(1), importance=Importance.LOW,
        doc="The maximum number of cached associations.",
    )  # fmt: skip
    association_cache_ttl: int = key(
        "subject.name.strategy.cache.expiry.secs", default=-1, importance=Importance.LOW,
        doc="How many seconds an association is cached; -1 means forever.",
    )  # fmt: skip
    key_id_writer: str = key(
        "key.schema.id.serializer", type=ConfigType.CLASS, default=SCHEMA_IDS + "PrefixSchemaIdSerializer",
        check=_ID_WRITER, importance=Importance.LOW, doc="Where to write the schema id of keys.",
    )  # fmt: skip
    value_id_writer: str = key(
        "value.schema.id.serializer", type=ConfigType.CLASS, default=SCHEMA_IDS + "PrefixSchemaIdSerializer",
        check=_ID_WRITER, importance=Importance.LOW, doc="Where to write the schema id of values.",
    )  # fmt: skip
    key_id_reader: str = key(
        "key.schema.id.deserializer", type=ConfigType.CLASS, default=SCHEMA_IDS + "DualSchemaIdDeserializer",
        check=_ID_READER, importance=Importance.LOW, doc="Where to read the schema id of keys.",
    )  # fmt: skip
    value_id_reader: str = key(
        "value.schema.id.deserializer", type=ConfigType.CLASS, default=SCHEMA_IDS + "DualSchemaIdDeserializer",
        check=_ID_READER, importance=Importance.LOW, doc="Where to read the schema id of values.",
    )  # fmt: skip
    message_indexes: list[str] = key(
        "use.message.indexes", default="", importance=Importance.LOW,
        doc="With use.schema.id and ConfigSchemaIdDeserializer: the indexes of the message in its Protobuf file.",
    )  # fmt: skip
    context_strategy: str = key(
        "context.name.strategy", type=ConfigType.CLASS, default=_CONTEXTS + "NullContextNameStrategy",
        check=known_class(_CONTEXTS, "NullContextNameStrategy"), importance=Importance.LOW,
        doc="The strategy that determines the context of a subject.",
    )  # fmt: skip
    connect_timeout_ms: int = key(
        "http.connect.timeout.ms", default=60000, check=_SOME, importance=Importance.LOW,
        doc="The connection timeout in milliseconds.",
    )  # fmt: skip
    read_timeout_ms: int = key(
        "http.read.timeout.ms", default=60000, check=_SOME, importance=Importance.LOW,
        doc="The time in milliseconds to wait for a response.",
    )  # fmt: skip
    max_retries: int = key(
        "max.retries", default=3, check=_SOME, importance=Importance.LOW,
        doc="How many times a failed request is retried at each address.",
    )  # fmt: skip
    retries_wait_ms: int = key(
        "retries.wait.ms", default=1000, check=_SOME, importance=Importance.LOW,
        doc="The maximum wait in milliseconds before the first retry; it doubles with each further retry.",
    )  # fmt: skip
    retries_max_wait_ms: int = key(
        "retries.max.wait.ms", default=20000, check=_SOME, importance=Importance.LOW,
        doc="The maximum wait in milliseconds before any retry.",
    )  # fmt: skip
    missing_cache_size: int = key(
        "missing.cache.size", default=10000, check=_SOME, importance=Importance.LOW,
        doc="The maximum number of cached lookups that found nothing.",
    )  # fmt: skip
    missing_id_ttl: int = key(
        "missing.id.cache.ttl.sec", default=0, importance=Importance.LOW,
        doc="How many seconds an unknown id is not requested again.",
    )  # fmt: skip
    missing_version_ttl: int = key(
        "missing.version.cache.ttl.sec", default=0, importance=Importance.LOW,
        doc="How many seconds an unknown version is not requested again.",
    )  # fmt: skip
    missing_schema_ttl: int = key(
        "missing.schema.cache.ttl.sec", default=0, importance=Importance.LOW,
        doc="How many seconds an unknown schema is not looked up again.",
    )  # fmt: skip
    basic_source: str = key(
        "basic.auth.credentials.source", default="URL",
        doc="Where user and password come from: USER_INFO, URL or SASL_INHERIT (sasl.jaas.config); unused unless set.",
    )  # fmt: skip
    user_info: Password = key("basic.auth.user.info", default="", doc="USER:PASSWORD, for USER_INFO.")
    bearer_source: str = key(
        "bearer.auth.credentials.source", default="STATIC_TOKEN",
        doc="Where the token comes from: STATIC_TOKEN, OAUTHBEARER or SASL_OAUTHBEARER_INHERIT; unused unless set.",
    )  # fmt: skip
    bearer_token: Password = key("bearer.auth.token", default="", doc="The token, for STATIC_TOKEN.")
    oauth_url: str | None = key(
        "bearer.auth.issuer.endpoint.url", default=None, doc="The URL that issues tokens, for OAUTHBEARER."
    )
    oauth_client_id: str | None = key("bearer.auth.client.id", default=None, doc="The client id, for OAUTHBEARER.")
    oauth_client_secret: Password | None = key(
        "bearer.auth.client.secret", default=None, doc="The client secret, for OAUTHBEARER."
    )
    oauth_scope: str | None = key(
        "bearer.auth.scope", default=None, importance=Importance.LOW, doc="The requested scope, for OAUTHBEARER."
    )
    oauth_expiry_buffer: int = key(
        "bearer.auth.cache.expiry.buffer.seconds", default=300, check=_SOME, importance=Importance.LOW,
        doc="How many seconds before its expiry a token is renewed.",
    )  # fmt: skip
    logical_cluster: str | None = key(
        "bearer.auth.logical.cluster", default=None, importance=Importance.LOW,
        doc="The value of the header target-sr-cluster of requests with a token.",
    )  # fmt: skip
    identity_pool: str | None = key(
        "bearer.auth.identity.pool.id", default=None, importance=Importance.LOW,
        doc="The value of the header Confluent-Identity-Pool-Id of requests with a token.",
    )  # fmt: skip
    proxy_host: str = key("proxy.host", default="", importance=Importance.LOW, doc="The host of the HTTP proxy.")
    proxy_port: int = key("proxy.port", default=-1, importance=Importance.LOW, doc="The port of the HTTP proxy.")

    generalized_sum_type_support: bool = key(
        "generalized.sum.type.support", default=False,
        doc="Whether enums and unions use the representation that all formats share.",
    )  # fmt: skip
    ignore_default_for_nullables: bool = key(
        "ignore.default.for.nullables", default=False, importance=Importance.LOW,
        doc="Whether a null in an optional field with a default stays null.",
    )  # fmt: skip
    schemas_cache_size: int = key(
        "schemas.cache.config", default=1000, check=Range.at_least(1), importance=Importance.LOW,
        doc="The maximum number of cached converted schemas in each direction.",
    )  # fmt: skip

    @classmethod
    def definition(cls) -> ConfigDef:
        """Return the definition of the declared keys and their accepted alternative names."""
        is_new = "_definition" not in vars(cls)
        definition = super().definition()
        if is_new:
            for each in list(_known_otherwise(definition)):
                definition.add(each)
        return definition

    def __init__(self, props: Mapping[str, Any]) -> None:
        """Parse the keys, with the client's prefix taking precedence; warn about keys without effect."""
        super().__init__(_without_prefix(props))
        for name in self.originals:
            if (why := _ignored_because(name)) is not None:
                log.warning("key %r has no effect: %s", name, why)

    @property
    def is_mock(self) -> bool:
        """Return whether the registry is in memory; raise ConfigError if only some addresses are."""
        mocks = [url.startswith(MOCK_SCHEME) for url in self.urls]
        if any(mocks) and not all(mocks):
            raise ConfigError(f"Only one mock scope is permitted for 'schema.registry.url'. Got: {self.urls}")
        return all(mocks)

    def is_set(self, name: str) -> bool:
        """Return whether a key is set; the defaults of some keys have no effect."""
        return name in self.originals


def _without_prefix(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declared keys; TLS keys require the prefix and keep it."""
    client = RegistrySettings.definition().keys
    plain, prefixed = {}, {}
    for name, value in props.items():
        short = name.removeprefix(CLIENT_PREFIX)
        if short != name and (short in client or short.startswith(HEADER_PREFIX)):
            prefixed[short] = value
        else:
            plain[name] = value
    return {**plain, **prefixed}


def _known_otherwise(definition: ConfigDef) -> Iterator[ConfigKey]:
    """Yield the additional accepted keys, which are shown only if they are set.

    They are the prefixed client keys, TLS keys, SASL keys for inherited credentials, and keys without effect. Defining
    them avoids warnings about unknown keys and hides their secrets.
    """
    for each in RegistrySettings.definition().keys.values():
        if not each.unlisted and not each.name.startswith(CLIENT_PREFIX):
            check = None if each.validator is None else _unless_none(each.validator)
            name = CLIENT_PREFIX + each.name
            yield replace(each, name=name, display_name=name, default=None, validator=check, unlisted=True)
    others = dict.fromkeys((*_TLS, *_SASL, *_IGNORED), ConfigType.STRING)
    others |= dict.fromkeys((*_TLS_SECRETS, *_SASL_SECRETS), ConfigType.PASSWORD)
    for name, type_ in others.items():
        if name not in definition.keys:
            yield ConfigKey(name, type_, None, importance=Importance.LOW, unlisted=True)


def _unless_none(validator: Validator) -> Validator:
    def ensure_valid(name: str, value: Any) -> None:
        if value is not None:
            validator.ensure_valid(name, value)

    return Lambda(ensure_valid, str(validator))


def _ignored_because(name: str) -> str | None:
    if name in _IGNORED:
        return _IGNORED[name]
    return next((why for prefix, why in _IGNORED_PREFIXES.items() if name.startswith(prefix)), None)
