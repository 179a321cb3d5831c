"""SASL: translates login modules of `sasl.jaas.config` to librdkafka's settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from hearth.kafka.client.rule import ClientRequest
from hearth.kafka.token_source import HANDLERS, SOURCE, TokenSource
from hearth_api import ConfigError

_SECURITY = "org.apache.kafka.common.security."
_OAUTH = f"{_SECURITY}oauthbearer."
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_RETRIEVERS = {
    f"{_OAUTH}DefaultJwtRetriever": None,
    f"{_OAUTH}ClientCredentialsJwtRetriever": "client_credentials",
    f"{_OAUTH}JwtBearerJwtRetriever": _JWT_BEARER,
}
_HANDLERS = (f"{_OAUTH}OAuthBearerLoginCallbackHandler", f"{_OAUTH}secured.OAuthBearerLoginCallbackHandler")
_MSK = "software.amazon.msk.auth.iam."
_IAM = "AWS_MSK_IAM"
"""Amazon's mechanism: its listeners accept the same signature as an OAUTHBEARER token."""
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", _IAM)
_LOGIN_HANDLER, _CLIENT_HANDLER = HANDLERS
_TOKEN_MODULES = (f"{_OAUTH}OAuthBearerLoginModule", f"{_MSK}IAMLoginModule")
_MODULES = {
    f"{_SECURITY}plain.PlainLoginModule": "password",
    f"{_SECURITY}scram.ScramLoginModule": "password",
    f"{_OAUTH}OAuthBearerLoginModule": "oauth",
    "com.sun.security.auth.module.Krb5LoginModule": "kerberos",
}
_TOKEN = re.compile(r"""\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s=;"']+)|([=;]))""")
_CLAIM = "unsecuredLoginStringClaim_"


@dataclass(frozen=True)
class Login:
    """A JAAS configuration: the module and its options."""

    module: str
    options: dict[str, str]


def login(request: ClientRequest, key: str) -> None:
    """Translate the mechanism and the credentials of all login keys."""
    mechanism = (request.get("sasl.mechanism") or "GSSAPI").upper()
    if mechanism not in _MECHANISMS:
        raise ConfigError(request.name("sasl.mechanism"), mechanism, f"must be one of {', '.join(_MECHANISMS)}")
    request.set("sasl.mechanism", "OAUTHBEARER" if mechanism == _IAM else mechanism)
    if mechanism == "GSSAPI" and request.java.get("security.protocol", "").upper().startswith("SASL"):
        _need_kerberos(request, key)
    jaas = request.java.get("sasl.jaas.config", "")
    found = parse_jaas(jaas, request.name("sasl.jaas.config")) if jaas.strip() else None
    if (provider := _token_provider(request, mechanism)) is not None:
        request.set(SOURCE, _source(request, provider, found))
        return
    if mechanism == "OAUTHBEARER":
        _token_endpoint(request)
    if found is not None:
        _credentials(request, found)


def _token_provider(request: ClientRequest, mechanism: str) -> str | None:
    """Return the class of the client's token provider, None if it logs in by other means."""
    if mechanism == _IAM:
        return request.get(_CLIENT_HANDLER) or request.get(_LOGIN_HANDLER) or f"{_MSK}IAMClientCallbackHandler"
    for key in (_LOGIN_HANDLER, _CLIENT_HANDLER):
        handler = request.get(key)
        if handler is None or (handler in _HANDLERS and key == _LOGIN_HANDLER):
            continue
        if mechanism != "OAUTHBEARER":
            raise request.refuse(
                key,
                f"{handler} cannot be honoured, Hearth's Kafka clients run no Java class",
                "set user and password in sasl.jaas.config; token providers are for the mechanism OAUTHBEARER",
            )
        return handler
    return None


def _source(request: ClientRequest, provider: str, found: Login | None) -> str:
    """Return the token source of a provider."""
    if found is not None and found.module not in _TOKEN_MODULES:
        raise request.refuse(
            "sasl.jaas.config",
            f"the login module {found.module} does not use tokens",
            f"use one of {', '.join(_TOKEN_MODULES)}",
        )
    given = {name: value for name, value in request.java.items() if name.startswith("sasl.") and value.strip()}
    given.pop("sasl.jaas.config", None)
    servers = {"bootstrap.servers": request.java.get("bootstrap.servers", "")}
    return TokenSource(provider, {} if found is None else found.options, servers | given).text()


def parse_jaas(text: str, name: str = "sasl.jaas.config") -> Login:
    """Read `MODULE required option="value" ...;`; errors name the key and never show the secret text."""
    hint = 'write MODULE required username="..." password="...";'
    words = _words(text)
    if words is None or len(words) < 3 or words[-1] != ("sign", ";") or words.count(("sign", ";")) != 1:
        raise ConfigError(f"{name}: is not a login module with options and one semicolon", hint=hint)
    options = words[2:-1]
    shapes = [kind for kind, _ in options]
    if len(options) % 3 or any(options[i] != ("sign", "=") for i in range(1, len(options), 3)):
        raise ConfigError(f"{name}: the options are not of the form name=value", hint=hint)
    if "sign" in shapes[0::3] + shapes[2::3]:
        raise ConfigError(f"{name}: the options are not of the form name=value", hint=hint)
    return Login(words[0][1], {options[i][1]: options[i + 2][1] for i in range(0, len(options), 3)})


def _words(text: str) -> list[tuple[str, str]] | None:
    words, position = [], 0
    text = text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            return None
        double, single, bare, sign = found.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            words.append(("word", re.sub(r"\\(.)", r"\1", quoted)))
        else:
            words.append(("sign", sign) if sign else ("word", bare))
        position = found.end()
    return words


def _credentials(request: ClientRequest, found: Login) -> None:
    if found.module == f"{_MSK}IAMLoginModule":
        raise request.refuse("sasl.jaas.config", f"{found.module} is for {_IAM}", f"set sasl.mechanism={_IAM}")
    kind = _MODULES.get(found.module)
    if kind is None:
        raise request.refuse(
            "sasl.jaas.config",
            f"the login module {found.module} cannot be honoured, Hearth's Kafka clients run no Java class",
            f"use one of {', '.join(_MODULES)}",
        )
    {"password": _password, "oauth": _oauth, "kerberos": _kerberos}[kind](request, dict(found.options))


def _password(request: ClientRequest, options: dict[str, str]) -> None:
    if options.pop("tokenauth", "false").lower() == "true":
        raise request.refuse(
            "sasl.jaas.config",
            "the option tokenauth cannot be honoured, librdkafka has no delegation tokens",
            "log in as a SCRAM user",
        )
    for option in ("username", "password"):
        if option in options:
            request.set(f"sasl.{option}", options.pop(option))
    _left_over(request, options)


def _token_endpoint(request: ClientRequest) -> None:
    """Enable librdkafka's own token requests if an endpoint is set."""
    endpoint = request.get("sasl.oauthbearer.token.endpoint.url")
    if endpoint is not None:
        request.set("sasl.oauthbearer.token.endpoint.url", endpoint)
        request.set("sasl.oauthbearer.method", "oidc")
    retriever = request.get("sasl.oauthbearer.jwt.retriever.class")
    if retriever is None:
        return
    if retriever not in _RETRIEVERS:
        raise request.refuse(
            "sasl.oauthbearer.jwt.retriever.class",
            f"{retriever} cannot be honoured, Hearth's Kafka clients run no Java class",
            f"use one of {', '.join(_RETRIEVERS)}",
        )
    grant = _RETRIEVERS[retriever]
    if grant is not None:
        request.set("sasl.oauthbearer.grant.type", grant)


def _oauth(request: ClientRequest, options: dict[str, str]) -> None:
    """Translate the client's credentials, extensions, and the unsecured tokens of test clusters."""
    for option, name in (("clientId", "client.id"), ("clientSecret", "client.secret"), ("scope", "scope")):
        if option in options:
            request.set(f"sasl.oauthbearer.{name}", options.pop(option))
    extensions = _take(options, "extension_")
    claims = _take(options, _CLAIM)
    if claims:
        request.set("enable.sasl.oauthbearer.unsecure.jwt", "true")
        parts = [f"principal={claims.pop('sub')}"] if "sub" in claims else []
        parts += [f"extension_{name}={value}" for name, value in extensions.items()]
        request.set("sasl.oauthbearer.config", " ".join(parts))
        options.update({_CLAIM + name: value for name, value in claims.items()})
    elif extensions:
        request.set("sasl.oauthbearer.extensions", ",".join(f"{name}={value}" for name, value in extensions.items()))
    if "ssl.truststore.location" in options and options.get("ssl.truststore.type", "").upper() == "PEM":
        request.set("https.ca.location", options.pop("ssl.truststore.location"))
        options.pop("ssl.truststore.type")
    _left_over(request, options)


def _kerberos(request: ClientRequest, options: dict[str, str]) -> None:
    names = {
        "keyTab": "sasl.kerberos.keytab",
        "principal": "sasl.kerberos.principal",
        "serviceName": "sasl.kerberos.service.name",
    }
    for option, name in names.items():
        if option in options:
            request.set(name, options.pop(option))
    for switch in ("useKeyTab", "storeKey", "useTicketCache", "refreshKrb5Config", "doNotPrompt"):
        options.pop(switch, None)
    _left_over(request, options)


def _take(options: dict[str, str], prefix: str) -> dict[str, str]:
    """Remove the options with a prefix, and return them without it."""
    found = [name for name in options if name.startswith(prefix)]
    return {name.removeprefix(prefix): options.pop(name) for name in found}


def _left_over(request: ClientRequest, options: dict[str, str]) -> None:
    for option in options:
        request.warn("sasl.jaas.config", f"the option {option} is not honoured, librdkafka has no such setting")


def _need_kerberos(request: ClientRequest, key: str) -> None:
    if not _has_kerberos():
        raise request.refuse(
            "sasl.mechanism" if "sasl.mechanism" in request.java else key,
            "GSSAPI cannot be honoured, this librdkafka was built without Kerberos",
            "build confluent-kafka where libsasl2 is installed (pip install --no-binary confluent-kafka "
            "confluent-kafka), or use SCRAM-SHA-512, PLAIN or OAUTHBEARER",
        )


@cache
def _has_kerberos() -> bool:
    """Return whether librdkafka has Kerberos, which its wheels lack."""
    import confluent_kafka

    try:
        confluent_kafka.Producer({"builtin.features": "sasl_gssapi", "log_level": "0"})
    except confluent_kafka.KafkaException:
        return False
    return True
