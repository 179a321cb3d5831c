"""The keys of certificates and encryption, as in every Kafka client."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, Password, Settings, ValidList, ValidString, key


class TlsConfig(Settings):
    """The TLS keys of a client."""

    ssl_protocol: str = key("ssl.protocol", default="TLSv1.3", doc="The preferred TLS version.")
    ssl_provider: str | None = key("ssl.provider", default=None, doc="The Java security provider; ignored.")
    ssl_cipher_suites: list[str] = key(
        "ssl.cipher.suites",
        default=[],
        check=ValidList(),
        importance=Importance.LOW,
        doc="The enabled cipher suites; all that the library supports by default.",
    )
    ssl_enabled_protocols: list[str] = key(
        "ssl.enabled.protocols",
        default=["TLSv1.2", "TLSv1.3"],
        check=ValidList(),
        doc="The enabled TLS versions.",
    )
    ssl_keystore_type: str = key(
        "ssl.keystore.type", default="JKS", doc="The format of the key store: JKS, PKCS12 or PEM."
    )
    ssl_keystore_location: str | None = key(
        "ssl.keystore.location",
        default=None,
        importance=Importance.HIGH,
        doc="The file with the own certificate and key.",
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
        doc="The own certificate and its chain, in PEM format.",
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
        doc="The file with the trusted certificates.",
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
        doc="Java's algorithm for key managers; ignored.",
    )
    ssl_trustmanager_algorithm: str = key(
        "ssl.trustmanager.algorithm",
        default="PKIX",
        importance=Importance.LOW,
        doc="Java's algorithm for trust managers; ignored.",
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
        doc="Java's source of random numbers; ignored.",
    )
    ssl_engine_factory_class: str | None = key(
        "ssl.engine.factory.class",
        type=ConfigType.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="The Java class that creates TLS engines; ignored.",
    )


class ServerTlsConfig(TlsConfig):
    """The TLS keys of a server."""

    ssl_client_auth: str = key(
        "ssl.client.auth",
        default="none",
        check=ValidString("required", "requested", "none"),
        importance=Importance.LOW,
        doc="Whether clients of an https listener must present a certificate.",
    )
