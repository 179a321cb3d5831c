"""Tokens for Amazon MSK, signed by Amazon's signer with invented keys."""

from __future__ import annotations

import base64
import builtins
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import pytest

from hearth_api import ConfigError
from hearth_api.worker import OAuthBearerToken
from hearth_providers.msk_iam import MskIamTokenProvider

SERVERS = "b-1.demo.abc.c2.kafka.eu-west-3.amazonaws.com:9098,b-2.demo.abc.c2.kafka.eu-west-3.amazonaws.com:9098"
ROLE = "arn:aws:iam::123456789012:role/msk"
KEYS = ("AKIDEXAMPLE", "geheim")


class Sts:
    """A service that returns credentials of a role, and records its requests."""

    def __init__(self, answer: str) -> None:
        sts = self
        self.body = self.authorization = ""

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sts.body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                sts.authorization = self.headers["Authorization"]
                self.send_response(200)
                self.send_header("Content-Type", "text/xml")
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Sts:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the process keys that were made up, and no other settings of AWS; returns its file of profiles."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    profiles = tmp_path / "credentials"
    profiles.write_text("[other]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = anders\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profiles))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS[1])
    return profiles


def token(options: Mapping[str, str], servers: str = SERVERS) -> OAuthBearerToken:
    """Return the token of a provider with these options."""
    provider = MskIamTokenProvider()
    provider.configure({"bootstrap.servers": servers}, options)
    return provider.token()


def signed(given: OAuthBearerToken) -> dict[str, str]:
    """Return what a token asks for, and its host."""
    text = base64.urlsafe_b64decode(given.value + "=" * (-len(given.value) % 4)).decode()
    url = urlparse(text)
    return {"host": url.netloc} | {key: value for key, (value,) in parse_qs(url.query).items()}


def signature(query: Mapping[str, str], access: str, secret: str, session: str | None = None) -> str:
    """Recompute the signature as AWS does, at the time in the token."""
    request = botocore.awsrequest.AWSRequest("GET", f"https://{query['host']}/", params={"Action": query["Action"]})
    credentials = botocore.credentials.Credentials(access, secret, session)
    region = query["X-Amz-Credential"].split("/")[2]
    signer = botocore.auth.SigV4QueryAuth(credentials, "kafka-cluster", region, expires=900)
    moment = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment.replace(tzinfo=None))
        signer.add_auth(request)
    (made,) = parse_qs(urlparse(str(request.url)).query)["X-Amz-Signature"]
    return made


def test_a_token_is_signed_with_the_credentials_that_are_found() -> None:
    """For the region of the brokers, and fifteen minutes."""
    given = token({})
    query = signed(given)
    assert query["host"] == "kafka.eu-west-3.amazonaws.com"
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Credential"].startswith(f"{KEYS[0]}/")
    assert query["X-Amz-Signature"] == signature(query, *KEYS)
    assert 800 < given.lifetime_ms / 1000 - time.time() <= 900


def test_a_profile_is_used_that_is_named() -> None:
    """Before what the environment says, as in Java."""
    query = signed(token({"awsProfileName": "other"}))
    assert query["X-Amz-Credential"].startswith("AKIDOTHER/")
    assert query["X-Amz-Signature"] == signature(query, "AKIDOTHER", "anders")


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        ("boot-ab.c1.kafka-serverless.us-east-2.amazonaws.com:9098", "us-east-2"),
        ("b-1.x.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
        ("b-1.x.vpce.kafka.us-gov-west-1.amazonaws.com:14001", "us-gov-west-1"),
        ("proxy.example.com:9098", "ap-south-1"),
    ],
)
def test_the_region_is_that_of_the_brokers(servers: str, region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or, where their names say none, that of AWS's settings; one that is named goes before both."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    assert signed(token({}, servers))["host"] == f"kafka.{region}.amazonaws.com"
    assert signed(token({"awsRegion": "sa-east-1"}, servers))["host"] == "kafka.sa-east-1.amazonaws.com"


def test_a_role_is_taken_on(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """By a request that is signed with what is found, under the name and the number that the options have."""
    answer = (
        '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
        "<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>rollengeheimnis</SecretAccessKey>"
        "<SessionToken>sitzung</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
        "</Credentials></AssumeRoleResult></AssumeRoleResponse>"
    )
    with Sts(answer) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        options = {"awsRoleArn": ROLE, "awsRoleSessionName": "hearth", "awsStsRegion": "eu-west-1"}
        with caplog.at_level(logging.DEBUG):
            given = token({**options, "awsRoleExternalId": "17"})
    asked = {key: value for key, (value,) in parse_qs(sts.body).items()}
    assert asked["RoleArn"] == ROLE
    assert (asked["RoleSessionName"], asked["ExternalId"]) == ("hearth", "17")
    assert "/eu-west-1/sts/" in sts.authorization
    query = signed(given)
    assert query["X-Amz-Security-Token"] == "sitzung"
    assert query["X-Amz-Signature"] == signature(query, "ASIAROLE", "rollengeheimnis", "sitzung")
    for word in ("geheim", "rollengeheimnis", "sitzung", query["X-Amz-Signature"], given.value):
        assert word not in caplog.text


@pytest.mark.parametrize(
    ("options", "text", "remedy"),
    [
        ({"awsProfilName": "x"}, "unknown option awsProfilName of IAMLoginModule", "awsProfileName"),
        ({"awsStsRegion": "x"}, "awsStsRegion requires a role", "awsRoleArn"),
    ],
)
def test_a_wrong_option_is_reported(options: dict[str, str], text: str, remedy: str) -> None:
    """Before the first token."""
    with pytest.raises(ConfigError, match=text) as caught:
        MskIamTokenProvider().configure({}, options)
    assert remedy in str(caught.value.hint)


def test_a_missing_setting_or_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A region, credentials, the package itself."""
    with pytest.raises(ConfigError, match="the region of the brokers at 'h:1' is not known"):
        token({}, "h:1")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ConfigError, match="no AWS credentials found"):
        token({})
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("aws_msk"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *arguments)

    for name in [each for each in sys.modules if each.startswith("aws_msk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="No module named") as caught:
        token({})
    assert "hearth-connect[msk]" in str(caught.value.hint)
