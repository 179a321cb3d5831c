"""The table of all keys of Java's producer, consumer and admin client, with their rules.

A row is the key, the clients that have it (producer, consumer, admin), and its rule. `Same`, `Number` and `Choice` are
passed to librdkafka, under the names given if these differ. The task runtime implements `ByRuntime`. `Ignored` causes
a warning, `Refused` an error at the start. The table has all keys of Kafka clients 4.3.1; a test compares it with the
classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hearth.kafka.client.grouped import (
    assignors,
    compression_level,
    connection_setup,
    internal_topics,
    offset_reset,
    partitioner,
    servers,
)
from hearth.kafka.client.rule import (
    TRUTH,
    ByRuntime,
    Choice,
    Ignored,
    Number,
    Refused,
    Rule,
    Same,
    Together,
)
from hearth.kafka.client.sasl import login
from hearth.kafka.client.tls import cipher_suites, keystore, truststore

INT_MAX = 2_147_483_647
LONG_MAX = 9_223_372_036_854_775_807
BYTES = "org.apache.kafka.common.serialization.ByteArray"

_BACKOFF = Number(0, 3_600_000)
_RETRY = Number(1, 300_000)
_METRICS = "the clients' own metrics do not exist here"
_JVM = "it configures Java's TLS, and librdkafka uses OpenSSL"
_TOKEN = "librdkafka checks and renews tokens in its own way"  # noqa: S105  a sentence, no secret
_NO_JAVA = "Hearth's Kafka clients run no Java class"
_RENEW = "librdkafka renews at fixed times"
_SHARE = "share groups are not used by Connect"


class Key(NamedTuple):
    """One row."""

    name: str
    clients: str
    rule: Rule


ALL = "producer consumer admin"


def _words(*words: str) -> Choice:
    return Choice({word: word for word in words})


def _buffer(which: str) -> Number:
    return Number(0, 100_000_000, (f"socket.{which}.buffer.bytes",), special={-1: 0})


TABLE: tuple[Key, ...] = (
    # finding the cluster, and being found in its logs
    Key("bootstrap.servers", ALL, Together(servers)),
    Key("bootstrap.controllers", "admin", Refused("librdkafka speaks to brokers", "name bootstrap.servers")),
    Key("client.id", ALL, Same()),
    Key("client.rack", "consumer", Same()),
    Key(
        "client.dns.lookup",
        ALL,
        _words("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    ),
    Key("metadata.max.age.ms", ALL, Number(1, 3_600_000, ("topic.metadata.refresh.interval.ms",))),
    Key("metadata.max.idle.ms", "producer", Ignored("idle topics are no special case", ("300000",))),
    Key("metadata.recovery.strategy", ALL, _words("none", "rebootstrap")),
    Key("metadata.recovery.rebootstrap.trigger.ms", ALL, Number(0, INT_MAX)),
    # connections
    Key("connections.max.idle.ms", ALL, Number(0, INT_MAX, special={-1: 0})),
    Key("socket.connection.setup.timeout.ms", ALL, Together(connection_setup)),
    Key("socket.connection.setup.timeout.max.ms", ALL, Together(connection_setup)),
    Key("reconnect.backoff.ms", ALL, _BACKOFF),
    Key("reconnect.backoff.max.ms", ALL, _BACKOFF),
    Key("retry.backoff.ms", ALL, _RETRY),
    Key("retry.backoff.max.ms", ALL, _RETRY),
    Key("send.buffer.bytes", ALL, _buffer("send")),
    Key("receive.buffer.bytes", ALL, _buffer("receive")),
    Key("request.timeout.ms", "producer", Number(10, 300_000, ("request.timeout.ms", "socket.timeout.ms"))),
    Key("request.timeout.ms", "consumer admin", Number(10, 300_000, ("socket.timeout.ms",))),
    Key("default.api.timeout.ms", "consumer admin", Ignored("each call here has a separate timeout", ("60000",))),
    # sending
    Key("acks", "producer", Choice({"all": "all", "-1": "all", "0": "0", "1": "1"})),
    Key("batch.size", "producer", Number(1, INT_MAX)),
    Key("buffer.memory", "producer", Number(1, INT_MAX, ("queue.buffering.max.kbytes",), scale=1024)),
    Key("compression.type", "producer", _words("none", "gzip", "snappy", "lz4", "zstd")),
    Key("compression.gzip.level", "producer", Together(compression_level)),
    Key("compression.lz4.level", "producer", Together(compression_level)),
    Key("compression.zstd.level", "producer", Together(compression_level)),
    Key("delivery.timeout.ms", "producer", Number(1, INT_MAX, ("message.timeout.ms",))),
    Key("enable.idempotence", "producer", TRUTH),
    Key("linger.ms", "producer", Number(0, 900_000)),
    Key(
        "max.block.ms",  # bounds the wait for a topic to appear; room in the buffer is the runtime's affair
        "producer",
        # librdkafka takes up to 3,600,000 but multiplies in 32 bits: past 2,147,483 topics are unknown at once
        Number(0, 2_100_000, ("topic.metadata.propagation.max.ms",), quiet_above=LONG_MAX),
    ),
    Key("max.in.flight.requests.per.connection", "producer", Number(1, 1_000_000)),
    Key("max.request.size", "producer", Number(1000, 1_000_000_000, ("message.max.bytes",))),
    Key("partitioner.class", "producer", Together(partitioner)),
    Key("partitioner.ignore.keys", "producer", Together(partitioner)),
    Key(
        "partitioner.adaptive.partitioning.enable",
        "producer",
        Ignored("librdkafka spreads records without keys evenly", ("false", "true")),
    ),
    Key(
        "partitioner.availability.timeout.ms",
        "producer",
        Ignored("librdkafka does not avoid partitions whose broker is slow", ("0",)),
    ),
    Key("retries", "producer", Number(0, INT_MAX)),
    Key("retries", "admin", Ignored("requests are repeated until they time out", (str(INT_MAX),))),
    Key("transaction.timeout.ms", "producer", Number(1000, INT_MAX)),
    Key("transactional.id", "producer", Same()),
    Key(
        "transaction.two.phase.commit.enable",
        "producer",
        Refused("librdkafka has no prepared transactions", "leave it out", ("false",)),
    ),
    Key("key.serializer", "producer", Ignored("converters make the bytes", (BYTES + "Serializer",))),
    Key("value.serializer", "producer", Ignored("converters make the bytes", (BYTES + "Serializer",))),
    # reading
    Key("allow.auto.create.topics", "consumer", TRUTH),
    Key("auto.offset.reset", "consumer", Together(offset_reset)),
    Key(
        "enable.auto.commit",
        "consumer",
        Ignored("offsets are committed when the sink has the records, never before", ("false",)),
    ),
    Key("auto.commit.interval.ms", "consumer", Ignored("offset.flush.interval.ms decides", ("5000",))),
    Key("check.crcs", "consumer", TRUTH),
    Key("exclude.internal.topics", "consumer", Together(internal_topics)),
    Key("fetch.max.bytes", "consumer", Number(0, INT_MAX - 512)),
    Key("fetch.max.wait.ms", "consumer", Number(0, 300_000, ("fetch.wait.max.ms",))),
    Key("fetch.min.bytes", "consumer", Number(1, 100_000_000)),
    Key("max.partition.fetch.bytes", "consumer", Number(1, 1_000_000_000, ("fetch.message.max.bytes",))),
    Key("max.poll.records", "consumer", ByRuntime()),
    Key(
        "isolation.level",
        "consumer",
        _words("read_uncommitted", "read_committed"),
    ),
    Key("key.deserializer", "consumer", Ignored("converters read the bytes", (BYTES + "Deserializer",))),
    Key("value.deserializer", "consumer", Ignored("converters read the bytes", (BYTES + "Deserializer",))),
    # the consumer's group
    Key("group.id", "consumer", Same()),
    Key("group.instance.id", "consumer", Same()),
    Key("group.protocol", "consumer", _words("classic", "consumer")),
    Key("group.remote.assignor", "consumer", Same()),
    Key("heartbeat.interval.ms", "consumer", Number(1, 3_600_000)),
    Key("session.timeout.ms", "consumer", Number(1, 3_600_000)),
    Key("max.poll.interval.ms", "consumer", Number(1, 86_400_000)),
    Key("partition.assignment.strategy", "consumer", Together(assignors)),
    Key("share.acknowledgement.mode", "consumer", Ignored(_SHARE, ("implicit",))),
    Key("share.acquire.mode", "consumer", Ignored(_SHARE, ("BATCH_OPTIMIZED", "batch_optimized"))),
    Key(
        "internal.throw.on.fetch.stable.offset.unsupported",
        "consumer",
        Ignored("it is a switch inside Kafka Streams", ("false",)),
    ),
    # TLS
    Key(
        "security.protocol",
        ALL,
        _words("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    ),
    Key("ssl.keystore.type", ALL, Together(keystore)),
    Key("ssl.keystore.location", ALL, Together(keystore)),
    Key("ssl.keystore.password", ALL, Together(keystore)),
    Key("ssl.keystore.key", ALL, Together(keystore)),
    Key("ssl.keystore.certificate.chain", ALL, Together(keystore)),
    Key("ssl.key.password", ALL, Together(keystore)),
    Key("ssl.truststore.type", ALL, Together(truststore)),
    Key("ssl.truststore.location", ALL, Together(truststore)),
    Key("ssl.truststore.password", ALL, Together(truststore)),
    Key("ssl.truststore.certificates", ALL, Together(truststore)),
    Key("ssl.endpoint.identification.algorithm", ALL, Choice({"https": "https", "": "none"})),
    Key("ssl.cipher.suites", ALL, Together(cipher_suites)),
    Key(
        "ssl.enabled.protocols",
        ALL,
        Ignored("OpenSSL negotiates TLSv1.3 or TLSv1.2", ("TLSv1.2,TLSv1.3", "TLSv1.3,TLSv1.2")),
    ),
    Key("ssl.protocol", ALL, Ignored("OpenSSL negotiates TLSv1.3 or TLSv1.2", ("TLSv1.3", "TLS"))),
    Key("ssl.provider", ALL, Ignored(_JVM)),
    Key("ssl.keymanager.algorithm", ALL, Ignored(_JVM, ("SunX509", "PKIX"))),
    Key("ssl.trustmanager.algorithm", ALL, Ignored(_JVM, ("PKIX", "SunX509"))),
    Key("ssl.secure.random.implementation", ALL, Ignored(_JVM)),
    Key("ssl.engine.factory.class", ALL, Refused(_JVM, "use ssl.keystore.* and ssl.truststore.*")),
    Key("security.providers", ALL, Refused(_JVM, "leave it out, OpenSSL brings its own algorithms")),
    # SASL
    Key("sasl.mechanism", ALL, Together(login)),
    Key("sasl.jaas.config", ALL, Together(login)),
    Key("sasl.login.callback.handler.class", ALL, Together(login)),
    Key("sasl.oauthbearer.jwt.retriever.class", ALL, Together(login)),
    Key("sasl.oauthbearer.token.endpoint.url", ALL, Together(login)),
    Key("sasl.client.callback.handler.class", ALL, Together(login)),
    Key("sasl.login.class", ALL, Refused(_NO_JAVA, "put the credentials into sasl.jaas.config")),
    Key("sasl.kerberos.service.name", ALL, Same()),
    Key("sasl.kerberos.min.time.before.relogin", ALL, Number(0, 86_400_000)),
    Key(
        "sasl.kerberos.kinit.cmd",
        ALL,
        Ignored("librdkafka renews tickets with kinit from PATH", ("/usr/bin/kinit", "kinit")),
    ),
    Key("sasl.kerberos.ticket.renew.jitter", ALL, Ignored(_RENEW, ("0.05",))),
    Key("sasl.kerberos.ticket.renew.window.factor", ALL, Ignored(_RENEW, ("0.8",))),
    Key("sasl.login.refresh.window.factor", ALL, Ignored(_TOKEN, ("0.8",))),
    Key("sasl.login.refresh.window.jitter", ALL, Ignored(_TOKEN, ("0.05",))),
    Key("sasl.login.refresh.min.period.seconds", ALL, Ignored(_TOKEN, ("60",))),
    Key("sasl.login.refresh.buffer.seconds", ALL, Ignored(_TOKEN, ("300",))),
    Key("sasl.login.connect.timeout.ms", ALL, Ignored(_TOKEN)),
    Key("sasl.login.read.timeout.ms", ALL, Ignored(_TOKEN)),
    Key("sasl.login.retry.backoff.ms", ALL, Ignored(_TOKEN, ("100",))),
    Key("sasl.login.retry.backoff.max.ms", ALL, Ignored(_TOKEN, ("10000",))),
    Key("sasl.oauthbearer.client.credentials.client.id", ALL, Same(("sasl.oauthbearer.client.id",))),
    Key("sasl.oauthbearer.client.credentials.client.secret", ALL, Same(("sasl.oauthbearer.client.secret",))),
    Key("sasl.oauthbearer.scope", ALL, Same()),
    Key("sasl.oauthbearer.assertion.algorithm", ALL, Choice({"rs256": "RS256", "es256": "ES256"})),
    Key("sasl.oauthbearer.assertion.claim.aud", ALL, Same()),
    Key("sasl.oauthbearer.assertion.claim.exp.seconds", ALL, Number(1, INT_MAX)),
    Key("sasl.oauthbearer.assertion.claim.iss", ALL, Same()),
    Key("sasl.oauthbearer.assertion.claim.jti.include", ALL, TRUTH),
    Key("sasl.oauthbearer.assertion.claim.nbf.seconds", ALL, Number(0, INT_MAX)),
    Key("sasl.oauthbearer.assertion.claim.sub", ALL, Same()),
    Key("sasl.oauthbearer.assertion.file", ALL, Same()),
    Key("sasl.oauthbearer.assertion.private.key.file", ALL, Same()),
    Key("sasl.oauthbearer.assertion.private.key.passphrase", ALL, Same()),
    Key(
        "sasl.oauthbearer.assertion.template.file",
        ALL,
        Same(("sasl.oauthbearer.assertion.jwt.template.file",)),
    ),
    Key("sasl.oauthbearer.sub.claim.name", ALL, Ignored(_TOKEN, ("sub",))),
    Key("sasl.oauthbearer.scope.claim.name", ALL, Ignored(_TOKEN, ("scope",))),
    Key(
        "sasl.oauthbearer.jwt.validator.class",
        ALL,
        Ignored(_TOKEN, ("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",)),
    ),
    Key("sasl.oauthbearer.clock.skew.seconds", ALL, Ignored(_TOKEN, ("30",))),
    Key("sasl.oauthbearer.expected.audience", ALL, Ignored(_TOKEN)),
    Key("sasl.oauthbearer.expected.issuer", ALL, Ignored(_TOKEN)),
    Key("sasl.oauthbearer.header.urlencode", ALL, Ignored(_TOKEN, ("false",))),
    Key("sasl.oauthbearer.jwks.endpoint.url", ALL, Ignored(_TOKEN)),
    Key("sasl.oauthbearer.jwks.endpoint.refresh.ms", ALL, Ignored(_TOKEN, ("3600000",))),
    Key("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", ALL, Ignored(_TOKEN, ("100",))),
    Key("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", ALL, Ignored(_TOKEN, ("10000",))),
    # what Java's clients load or report
    Key("interceptor.classes", "producer consumer", Ignored(f"{_NO_JAVA}; use a transformation")),
    Key("config.providers", ALL, Ignored("variables are resolved before a client is made")),
    Key("enable.metrics.push", ALL, TRUTH),
    Key("metric.reporters", ALL, Ignored(_METRICS, ("org.apache.kafka.common.metrics.JmxReporter",))),
    Key("metrics.num.samples", ALL, Ignored(_METRICS, ("2",))),
    Key("metrics.recording.level", ALL, Ignored(_METRICS, ("INFO",))),
    Key("metrics.sample.window.ms", "producer consumer", Number(0, 86_400_000, ("statistics.interval.ms",))),
    Key("metrics.sample.window.ms", "admin", Ignored(_METRICS, ("30000",))),
)  # fmt: skip

RULES: Mapping[str, Mapping[str, Rule]] = {
    client: {row.name: row.rule for row in TABLE if client in row.clients.split()} for client in ALL.split()
}
"""Client -> key -> rule."""
