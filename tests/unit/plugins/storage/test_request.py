"""What the store is sent: by which proxy, in whose name, with which access list and encryption."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote

import pytest

from hearth_api import TopicPartition
from hearth_api.testing import SinkRun
from hearth_storage.sink.store_sink import S3SinkConnector
from tests.object_store import StoreServer
from tests.unit.plugins.storage.fault_proxy import failing
from tests.unit.plugins.storage.world import TOPIC, committed, order, s3_settings

ROLE = "arn:aws:iam::1:role/writer"
_ANSWER = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASSUMED{0}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>token{0}</SessionToken>
<Expiration>{1:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""
_REFUSAL = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not yours</Message></Error></ErrorResponse>"


class TokenService(ThreadingHTTPServer):
    """Answers AssumeRole as AWS does, with a key of the next number; other roles than `ROLE` are refused."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, list[str]]] = []
        self.signatures: list[str] = []
        self.lifetime = timedelta(hours=1)

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: TokenService

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        self.server.asked.append(asked)
        self.server.signatures.append(self.headers["authorization"])
        is_known = asked["RoleArn"] == [ROLE]
        end = datetime.now(timezone.utc) + self.server.lifetime
        text = _ANSWER.format(len(self.server.asked), end) if is_known else _REFUSAL
        self.send_response(200 if is_known else 403)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def tokens() -> Iterator[TokenService]:
    """Provide a token service."""
    with TokenService() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def role(tokens: TokenService, arn: str = ROLE) -> dict[str, str]:
    """Return the keys of the provider of roles."""
    provider = "s3.credentials.provider."
    return {
        f"{provider}class": "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider",
        f"{provider}sts.role.arn": arn, f"{provider}sts.role.session.name": "mine",
        f"{provider}sts.role.external.id": "from me", f"{provider}sts.endpoint": tokens.url,
    }  # fmt: skip


@contextmanager
def sinking(config: dict[str, str]) -> Iterator[SinkRun]:
    """Write a file of three records."""
    with SinkRun(S3SinkConnector, config, [TopicPartition(TOPIC, 0)], in_columns=True) as run:
        run.put([order(at) for at in range(3)])
        assert committed(run, 3)
        yield run


def test_an_assumed_role_signs_requests(s3: StoreServer, tokens: TokenService) -> None:
    """With its key and token, for which the connector's key asks once."""
    with failing(s3.url, 0) as proxy:
        config = s3_settings(proxy.url, topics_dir="role")
        with sinking({**config, **role(tokens)}):
            pass
        puts = [headers for method, _, headers in proxy.requests if method == "PUT"]
    assert puts
    assert {each["x-amz-security-token"] for each in puts} == {"token1"}
    assert all("Credential=ASSUMED1/" in each["authorization"] for each in puts)
    (asked,) = tokens.asked
    assert (asked["Action"], asked["RoleSessionName"], asked["ExternalId"]) == (["AssumeRole"], ["mine"], ["from me"])
    assert f"Credential={config['aws.access.key.id']}/" in tokens.signatures[0]
    assert "/us-east-1/sts/aws4_request" in tokens.signatures[0]


def test_credentials_of_a_role_are_renewed(s3: StoreServer, tokens: TokenService) -> None:
    """Before they end; nothing is written with those of before."""
    tokens.lifetime = timedelta(seconds=30)
    with failing(s3.url, 0) as proxy, sinking({**s3_settings(proxy.url, topics_dir="again"), **role(tokens)}) as run:
        time.sleep(0.2)  # for a tenth of a second new credentials count as valid
        run.put([order(at) for at in range(3, 6)])
        assert committed(run, 6)
        used = [headers["x-amz-security-token"] for method, _, headers in proxy.requests if method == "PUT"]
    assert len(used) == len(set(used)) == 2


def test_a_role_that_is_refused_is_named(s3: StoreServer, tokens: TokenService) -> None:
    """With the service's reason, when the configuration is checked."""
    config = {**s3_settings(s3.url), **role(tokens, "arn:aws:iam::1:role/other")}
    (found,) = S3SinkConnector().validate(config)["s3.bucket.name"].error_messages
    assert "cannot assume arn:aws:iam::1:role/other: not yours" in found


def test_requests_take_the_proxy(s3: StoreServer) -> None:
    """With its user; it alone knows where the store is."""
    with failing(s3.url, 0) as proxy:
        more = {"s3.proxy.url": proxy.url, "s3.proxy.user": "me@home", "s3.proxy.password": "p:w/d"}
        with sinking({**s3_settings("http://store.invalid:81", topics_dir="proxy"), **more}):
            pass
        found = [(path, headers) for method, path, headers in proxy.requests if method == "PUT"]
    (path, headers) = found[0]
    assert unquote(path) == "http://store.invalid:81/data/proxy/orders/partition=0/orders+0+0000000000.json"
    assert headers["proxy-authorization"] == "Basic " + base64.b64encode(b"me@home:p:w/d").decode()


KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ({"s3.acl.canned": "bucket-owner-full-control"}, {"x-amz-acl": "bucket-owner-full-control"}),
        ({"s3.ssea.name": "AES256"}, {"x-amz-server-side-encryption": "AES256"}),
        (
            {"s3.ssea.name": "aws:kms", "s3.sse.kms.key.id": "key-1"},
            {"x-amz-server-side-encryption": "aws:kms", "x-amz-server-side-encryption-aws-kms-key-id": "key-1"},
        ),
        (
            {"s3.sse.customer.key": KEY},
            {
                "x-amz-server-side-encryption-customer-algorithm": "AES256",
                "x-amz-server-side-encryption-customer-key": KEY,
                "x-amz-server-side-encryption-customer-key-md5": base64.b64encode(
                    hashlib.md5(bytes(range(32)), usedforsecurity=False).digest()
                ).decode(),
            },
        ),
    ],
)
def test_access_and_encryption_are_headers(s3: StoreServer, more: dict[str, str], headers: dict[str, str]) -> None:
    """Of the request that writes a file."""
    with failing(s3.url, 0) as proxy:
        with sinking({**s3_settings(proxy.url, topics_dir=".".join(more)), **more}):
            pass
        (found,) = [headers for method, _, headers in proxy.requests if method == "PUT"]
    assert {name: found.get(name) for name in headers} == headers
