"""Credentials of a JAAS configuration reach librdkafka."""

from __future__ import annotations

import confluent_kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.kafka.client import Role, translate
from hearth.kafka.client.sasl import parse_jaas
from hearth.kafka.token_source import SOURCE, TokenSource
from hearth_api import ConfigError

AMAZON = "software.amazon.msk.auth.iam"
SECURITY = "org.apache.kafka.common.security"
PLAIN = f'{SECURITY}.plain.PlainLoginModule required username="alice" password="it\'s \\"s3cret\\"";'
SCRAM = f"{SECURITY}.scram.ScramLoginModule required username='bob' password='pw';"
OAUTH = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"
IAM = 'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="pw";'
BASE = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT"}


def test_plain_and_scram_logins_make_a_real_client() -> None:
    """User and password come out of quotes and escapes unharmed."""
    plain = translate("producer", {**BASE, "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN})
    assert (plain.config["sasl.username"], plain.config["sasl.password"]) == ("alice", 'it\'s "s3cret"')
    scram = translate("producer", {**BASE, "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM})
    assert (scram.config["sasl.username"], scram.config["sasl.password"]) == ("bob", "pw")
    for result in (plain, scram):
        assert result.warnings == []
        confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_tokens_from_an_endpoint() -> None:
    """The settings of an OAuth client, in JAAS or as keys, turn on librdkafka's own token fetching."""
    java = {
        **BASE,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
        "sasl.jaas.config": f'{OAUTH} clientId="me" clientSecret="s" scope="all" extension_tenant="t1";',
    }
    result = translate("consumer", {**java, "group.id": "g"})
    assert result.warnings == []
    wanted = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "all",
        "sasl.oauthbearer.extensions": "tenant=t1",
    }
    assert wanted.items() <= result.config.items()
    confluent_kafka.Consumer({**result.config, "log_level": "0"}).close()


def test_unsecured_tokens_of_a_test_cluster() -> None:
    """Kafka's development tokens exist in librdkafka as well."""
    jaas = f'{OAUTH} unsecuredLoginStringClaim_sub="alice";'
    result = translate("producer", {**BASE, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas})
    assert result.config["sasl.oauthbearer.config"] == "principal=alice"
    confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_kerberos_is_refused_if_librdkafka_lacks_it() -> None:
    """The wheels come without Kerberos; the error says how to get it."""
    with pytest.raises(ConfigError, match="built without Kerberos") as caught:
        translate("producer", {**BASE, "sasl.mechanism": "GSSAPI"})
    assert "libsasl2" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("java", "words"),
    [
        ({"sasl.mechanism": "MAGIC"}, "must be one of PLAIN"),
        ({"sasl.jaas.config": "com.example.Mine required;"}, "com.example.Mine cannot be honoured"),
        ({"sasl.jaas.config": 'Module required a="1"'}, "not a login module"),
        ({"sasl.jaas.config": 'A required a="1"; B required b="1";'}, "not a login module"),
        ({"sasl.jaas.config": 'A required a="1" b;'}, "not of the form name=value"),
        ({"sasl.jaas.config": 'A required a="1'}, "not a login module"),
        ({"sasl.jaas.config": IAM}, "IAMLoginModule is for AWS_MSK_IAM"),
        ({"sasl.oauthbearer.jwt.retriever.class": "com.example.R"}, "com.example.R cannot be honoured"),
        ({"sasl.jaas.config": SCRAM.replace("password", "tokenauth='true' password")}, "delegation tokens"),
    ],
)
def test_login_that_cannot_be_honoured_is_an_error(java: dict[str, str], words: str) -> None:
    """The key is named as the user wrote it, and no secret is shown."""
    (key,) = java
    with pytest.raises(ConfigError, match=words) as caught:
        translate("producer", {"sasl.mechanism": "OAUTHBEARER", **java}, {key: f"producer.{key}"})
    assert f"producer.{key}" in str(caught.value)
    assert "pw" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("key", ["sasl.login.callback.handler.class", "sasl.client.callback.handler.class"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_callback_handler_without_tokens_is_an_error(key: str, mechanism: str) -> None:
    """Users and passwords come from no class."""
    with pytest.raises(ConfigError, match=rf"^admin\.{key}: com\.example\.H cannot be honoured") as caught:
        translate("admin", {"sasl.mechanism": mechanism, key: "com.example.H"}, {key: f"admin.{key}"})
    assert "OAUTHBEARER" in (caught.value.hint or "")


MSK = {
    **BASE,
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required "
    'awsRoleArn="arn:aws:iam::123456789012:role/msk" awsRoleSessionName=hearth awsStsRegion="eu-west-1";',
    "sasl.client.callback.handler.class": f"{AMAZON}.IAMClientCallbackHandler",
}
ROLE = {
    "awsRoleArn": "arn:aws:iam::123456789012:role/msk",
    "awsRoleSessionName": "hearth",
    "awsStsRegion": "eu-west-1",
}


@pytest.mark.parametrize("role", ["producer", "consumer", "admin"])
def test_the_mechanism_of_amazon_msk_is_a_token(role: Role) -> None:
    """As Amazon's guide has it, for every client: nothing is warned of, and nothing left to librdkafka."""
    result = translate(role, MSK)
    assert result.warnings == []
    assert result.config["sasl.mechanism"] == "OAUTHBEARER"
    source = TokenSource.of(result.config[SOURCE])
    assert (source.class_name, source.options) == (f"{AMAZON}.IAMClientCallbackHandler", ROLE)
    assert source.configs["bootstrap.servers"] == "127.0.0.1:1"
    assert not any(key.startswith("sasl.oauthbearer") for key in result.config)


def test_amazon_msk_by_oauthbearer() -> None:
    """As Amazon's guide has it for that mechanism, with the credentials that are found."""
    handler = f"{AMAZON}.IAMOAuthBearerLoginCallbackHandler"
    keys = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
    java = {**BASE, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH};", **dict.fromkeys(keys, handler)}
    source = TokenSource.of(translate("producer", java).config[SOURCE])
    assert (source.class_name, source.options) == (handler, {})


@given(
    options=st.dictionaries(
        st.from_regex(r"[A-Za-z]{1,8}", fullmatch=True), st.from_regex(r"[a-z ]{1,8}", fullmatch=True), max_size=3
    ),
    key=st.sampled_from(["sasl.login.callback.handler.class", "sasl.client.callback.handler.class"]),
    handler=st.sampled_from(["com.example.Vault", "Vault", "VaultTokenProvider"]),
)
def test_a_handler_of_a_bundle_makes_tokens(options: dict[str, str], key: str, handler: str) -> None:
    """It is given the options of the login module, and the client's keys that begin with sasl."""
    words = "".join(f' {name}="{value}"' for name, value in options.items())
    java = {**BASE, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH}{words};", key: handler}
    scope = {"sasl.oauthbearer.scope": "all"}
    result = translate("producer", java | scope)
    source = TokenSource.of(result.config[SOURCE])
    assert (source.class_name, source.options) == (handler, options)
    own = {"bootstrap.servers": "127.0.0.1:1", "sasl.mechanism": "OAUTHBEARER", key: handler}
    assert source.configs == own | scope
    assert result.warnings == []


def test_option_without_counterpart_is_named() -> None:
    """The warning names an unknown option of a known module, without its value."""
    jaas = PLAIN.replace("username", 'serviceKey="hidden" username')
    (warning,) = translate("producer", {"sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}).warnings
    assert "serviceKey" in warning
    assert "hidden" not in warning


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(options=st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z_.]{0,8}", fullmatch=True), TEXT, max_size=4))
def test_quoted_options_round_trip(options: dict[str, str]) -> None:
    """Quotes and escapes preserve every character of a password."""
    quoted = {name: text.replace("\\", "\\\\").replace('"', '\\"') for name, text in options.items()}
    words = " ".join(f'{name}="{text}"' for name, text in quoted.items())
    found = parse_jaas(f"com.example.Module required {words} ;")
    assert (found.module, found.options) == ("com.example.Module", options)
