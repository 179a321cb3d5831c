"""Credentials of a JAAS configuration reach librdkafka."""

from __future__ import annotations

import confluent_kafka
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.kafka.client import translate
from hearth.kafka.client.sasl import parse_jaas
from hearth_api import ConfigError

SECURITY = "org.apache.kafka.common.security"
PLAIN = f'{SECURITY}.plain.PlainLoginModule required username="alice" password="it\'s \\"s3cret\\"";'
SCRAM = f"{SECURITY}.scram.ScramLoginModule required username='bob' password='pw';"
OAUTH = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required"
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


def test_kerberos_is_refused_where_librdkafka_has_none() -> None:
    """The wheels come without Kerberos; the error says how to get it."""
    with pytest.raises(ConfigError, match="built without Kerberos") as caught:
        translate("producer", {**BASE, "sasl.mechanism": "GSSAPI"})
    assert "libsasl2" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("java", "words"),
    [
        ({"sasl.mechanism": "MAGIC"}, "must be one of PLAIN"),
        ({"sasl.jaas.config": "com.example.Mine required;"}, "com.example.Mine cannot be honoured"),
        ({"sasl.jaas.config": 'Module required a="1"'}, "no login module"),
        ({"sasl.jaas.config": 'A required a="1"; B required b="1";'}, "no login module"),
        ({"sasl.jaas.config": 'A required a="1" b;'}, "not of the form name=value"),
        ({"sasl.jaas.config": 'A required a="1'}, "no login module"),
        ({"sasl.login.callback.handler.class": "com.example.H"}, "com.example.H cannot be honoured"),
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


def test_option_without_counterpart_is_named() -> None:
    """An unknown option of a known module is told, without its value."""
    jaas = PLAIN.replace("username", 'serviceKey="hidden" username')
    (warning,) = translate("producer", {"sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}).warnings
    assert "serviceKey" in warning
    assert "hidden" not in warning


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(options=st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z_.]{0,8}", fullmatch=True), TEXT, max_size=4))
def test_quoted_options_come_out_as_they_went_in(options: dict[str, str]) -> None:
    """Whatever stands in a password, quotes and escapes carry it."""
    quoted = {name: text.replace("\\", "\\\\").replace('"', '\\"') for name, text in options.items()}
    words = " ".join(f'{name}="{text}"' for name, text in quoted.items())
    found = parse_jaas(f"com.example.Module required {words} ;")
    assert (found.module, found.options) == ("com.example.Module", options)
