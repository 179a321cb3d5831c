"""The keys of certificates and encryption, as every Kafka client has them."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, Password, Settings, ValidList, ValidString, key


class TlsConfig(Settings):
    """What a properties file may say about TLS."""

    ssl_protocol: str = key("ssl.protocol", default="TLSv1.3", doc="The TLS version to begin with.")
    ssl_provider: str | None = key(
        "ssl.provider", default=None, doc="The Java security provider; it has no meaning here."
    )
    ssl_cipher_suites: list[str] = key(
        "ssl.cipher.suites",
        default=[],
        check=ValidList(),
        importance=Importance.LOW,
        doc="The cipher suites that may be used; all the library supports unless given.",
    )
    ssl_enabled_protocols: list[str] = key(
        "ssl.enabled.protocols",
        default=["TLSv1.2", "TLSv1.3"],
        check=ValidList(),
        doc="The TLS versions that may be used.",
    )
    ssl_keystore_type: str = key(
        "ssl.keystore.type", default="JKS", doc="The format of the key store: JKS, PKCS12 or PEM."
    )
    ssl_keystore_location: str | None = key(
        "ssl.keystore.location",
        default=None,
        importance=Importance.HIGH,
        doc="The file that holds the own certificate and key.",
    )
    ssl_keystore_password: Password | None = key(
        "ssl.keystore.password",
        default=None,
        importance=Importance.HIGH,
        doc="The password of the key store.",
    )
    ssl_key_password: Password | None = key(
        "ssl.key.password", default=None, importance=Importance.HIGH, doc="The password of the own key."
    )
    ssl_keystore_key: Password | None = key(
        "ssl.keystore.key", default=None, importance=Importance.HIGH, doc="The own key itself, in PEM format."
    )
    ssl_keystore_certificate_chain: Password | None = key(
        "ssl.keystore.certificate.chain",
        default=None,
        importance=Importance.HIGH,
        doc="The own certificate and those that vouch for it, in PEM format.",
    )
    ssl_truststore_certificates: Password | None = key(
        "ssl.truststore.certificates",
        default=None,
        importance=Importance.HIGH,
        doc="The trusted certificates, in PEM format.",
    )
    ssl_truststore_type: str = key(
        "ssl.truststore.type", default="JKS", doc="The format of the trust store: JKS, PKCS12 or PEM."
    )
    ssl_truststore_location: str | None = key(
        "ssl.truststore.location",
        default=None,
        importance=Importance.HIGH,
        doc="The file that holds the trusted certificates.",
    )
    ssl_truststore_password: Password | None = key(
        "ssl.truststore.password",
        default=None,
        importance=Importance.HIGH,
        doc="The password of the trust store.",
    )
    ssl_keymanager_algorithm: str = key(
        "ssl.keymanager.algorithm",
        default="SunX509",
        importance=Importance.LOW,
        doc="Java's algorithm to choose the own key; it has no meaning here.",
    )
    ssl_trustmanager_algorithm: str = key(
        "ssl.trustmanager.algorithm",
        default="PKIX",
        importance=Importance.LOW,
        doc="Java's algorithm to decide on trust; it has no meaning here.",
    )
    ssl_endpoint_identification_algorithm: str = key(
        "ssl.endpoint.identification.algorithm",
        default="https",
        importance=Importance.LOW,
        doc="How a server's name is checked against its certificate; empty for no check.",
    )
    ssl_secure_random_implementation: str | None = key(
        "ssl.secure.random.implementation",
        default=None,
        importance=Importance.LOW,
        doc="Java's source of random numbers; it has no meaning here.",
    )
    ssl_engine_factory_class: str | None = key(
        "ssl.engine.factory.class",
        type=ConfigType.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="The Java class that makes TLS connections; it has no meaning here.",
    )


class ServerTlsConfig(TlsConfig):
    """What a properties file may say about TLS of a server."""

    ssl_client_auth: str = key(
        "ssl.client.auth",
        default="none",
        check=ValidString("required", "requested", "none"),
        importance=Importance.LOW,
        doc="Whether a client of an https listener has to show a certificate.",
    )
