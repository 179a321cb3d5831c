"""Malicious requests with the expected responses, most of which a live Java worker gave."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.rest.body import MAX_BODY
from hearth.rest.json_token import TOO_DEEP
from hearth.storage import State
from tests.unit.rest.client import CONFIG, Client, error, run_apart

BODY = {"name": "x", "config": CONFIG}
WRITES = [
    ("POST", "/connectors", BODY, 201),
    ("PUT", "/connectors/x/config", CONFIG, 201),
    ("PATCH", "/connectors/x/config", {"a": "b"}, 404),
    ("PUT", "/connector-plugins/FileStreamSource/config/validate", CONFIG, 200),
]
DEEDS = [
    ("PUT", "/connectors/x/pause"),
    ("PUT", "/connectors/x/resume"),
    ("PUT", "/connectors/x/stop"),
    ("POST", "/connectors/x/restart"),
    ("POST", "/connectors/x/tasks/0/restart"),
    ("DELETE", "/connectors/x"),
    ("GET", "/connectors"),
    ("GET", "/connector-plugins"),
]


class TestContentType:
    """Any page may send what needs no preflight, so other content than JSON is rejected, as in Java."""

    @pytest.mark.parametrize(
        ("content_type", "status"),
        [
            (None, 415),
            ("text/plain", 415),
            ("application/x-www-form-urlencoded", 415),
            ("multipart/form-data; boundary=x", 415),
            ("application/merge-patch+json", 415),
            ("*/*", 415),
            ("application/*", 415),
            ("", 400),
            ("garbage", 400),
            ("application/json", 0),
            ("application/json; charset=utf-8", 0),
            ("APPLICATION/JSON", 0),
        ],
    )
    @pytest.mark.parametrize(("method", "path", "body", "good"), WRITES)
    def test_a_body_must_have_the_json_content_type(
        self, client: Client, method: str, path: str, body: Any, good: int, content_type: str | None, status: int
    ) -> None:
        """Nothing of a rejected request is carried out."""
        answer = client.call(method, path, body, content_type)
        assert answer.status == (status or good)
        if status:
            phrase = {400: "Bad Request", 415: "Unsupported Media Type"}[status]
            assert answer.text == error(status, f"HTTP {status} {phrase}")[1]
            assert client.call("GET", "/connectors").json == []

    @pytest.mark.parametrize(("method", "path"), DEEDS)
    def test_a_request_without_a_body_may_not_have_another_content_type(
        self, client: Client, method: str, path: str
    ) -> None:
        """It may have none, as with curl -X."""
        client.create("x")
        answer = client.call(method, path, "", "text/plain")
        assert (answer.status, answer.text) == error(415, "HTTP 415 Unsupported Media Type")
        assert client.call("GET", "/connectors").json == ["x"]
        assert client.call(method, path, "", None).status in (200, 202, 204)

    def test_routes_come_before_types(self, client: Client) -> None:
        """Unknown paths accept any type, as do the root and the health check."""
        assert client.call("GET", "/connectors/x/nowhere", "", "text/plain").status == 404
        assert client.call("DELETE", "/connectors", "", "text/plain").status == 405
        assert client.call("GET", "/", "", "text/plain").status == 200
        assert client.call("GET", "/health", "", "text/plain").status == 200


HEAD = b"Host: x\r\nConnection: close\r\n"
RAW = {
    "two lengths": (
        b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\nContent-Length: 44\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /connectors HTTP/1.1\r\nHost: x\r\n\r\n",
        b"400",
    ),
    "version 9.9": (b"GET /connectors HTTP/9.9\r\n" + HEAD + b"\r\n", b"505"),
    "version 1.2": (b"GET /connectors HTTP/1.2\r\n" + HEAD + b"\r\n", b"505"),
    "version 1.0": (b"GET /connectors HTTP/1.0\r\n\r\n", b"200"),
    "different lengths": (b"GET / HTTP/1.1\r\n" + HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
    "negative length": (b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Length: -5\r\n\r\n", b"400"),
    "no host": (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", b"400"),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: y\r\n" + HEAD + b"\r\n", b"400"),
    "no http": (b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", b"400"),
    "name with a space": (b"GET / HTTP/1.1\r\nX : a\r\n" + HEAD + b"\r\n", b"400"),
    "header of 7 KB": (b"GET / HTTP/1.1\r\nX: " + b"a" * 7000 + b"\r\n" + HEAD + b"\r\n", b"200"),
    "header of 9 KB": (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n" + HEAD + b"\r\n", b"431"),
    "3000 headers": (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 3000 + HEAD + b"\r\n", b"4"),
    "path of 9 KB": (b"GET /connectors/" + b"a" * 9000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n", b"414"),
    "slash in a name": (b"GET /connectors/a%2Fb HTTP/1.1\r\n" + HEAD + b"\r\n", b"400"),
    "bad chunk": (
        b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"",
    ),
    "length of 100 MB": (
        b"POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000000\r\n\r\n{",
        b"500",
    ),
}


class TestWire:
    """Requests that are invalid before they are routed."""

    @pytest.mark.parametrize("name", RAW)
    def test_an_ambiguous_request_is_rejected(self, client: Client, name: str) -> None:
        """The connection is closed after the response, and the next client is served."""
        data, status = RAW[name]
        answer = client.raw(data)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert answer.count(b"HTTP/1.1 ") == 1
        assert client.call("GET", "/connectors").json == []


class TestBodies:
    """Limits of bodies, and what is stored."""

    def test_a_body_is_not_read_beyond_its_limit(self, client: Client) -> None:
        """Even without a declared length; the status is Java's for a string that is too long."""
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        head = b"POST /connectors HTTP/1.1\r\n" + HEAD + b"Content-Type: application/json\r\n"
        answer = client.raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + piece * (MAX_BODY // 0x10000 + 1))
        assert answer.startswith(b"HTTP/1.1 500")
        assert b"Document length exceeds the maximum allowed" in answer

    def test_a_class_name_may_be_long(self, client: Client) -> None:
        """Looking for similar classes takes no time."""
        config = {**CONFIG, "connector.class": "Stream" * 200_000}
        assert client.call("POST", "/connectors", {"name": "x", "config": config}).status == 400

    @pytest.mark.parametrize("body", ["[" * 100_000, '{"zz":' + "[" * 5000 + "]" * 5000 + "}"])
    def test_a_deep_body_is_unreadable(self, client: Client, body: str) -> None:
        """As in Java, and without a traceback."""
        answer = client.call("POST", "/connectors", body)
        assert (answer.status, answer.text) == error(500, TOO_DEEP)

    @pytest.mark.parametrize("levels", [900, 997, 4000])
    def test_offsets_may_be_as_deep_as_in_java(self, client: Client, levels: int) -> None:
        """They are four levels deep, and Jackson allows 1000; the parsers of Python 3.10 and 3.11 allow fewer."""
        client.create("c")
        client.call("PUT", "/connectors/c/stop")
        text = f'{{"offsets":[{{"partition":{{"f":"x"}},"offset":{{"p":{"[" * levels + "]" * levels}}}}}]}}'
        answer = client.call("PATCH", "/connectors/c/offsets", text)
        assert answer.status == 500
        assert ("exceeds the maximum allowed" in answer.text) is (levels > 996)
        assert ("may only contain primitive types" in answer.text) is (levels <= 996)

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            (r'{"name":"\ud800","config":{"connector.class":"FileStreamSource","topic":"t"}}', "connector name '"),
            (r'{"name":"x","config":{"connector.class":"FileStreamSource","topic":"t","\ud800":"1"}}', "key '"),
            (r'{"name":"x","config":{"connector.class":"FileStreamSource","topic":"a\ud800"}}', "value 'a"),
        ],
    )
    def test_a_lone_surrogate_is_rejected_and_nothing_is_stored(self, client: Client, body: str, says: str) -> None:
        """No file or topic can hold it; Java stores the name and cannot reach the connector afterwards."""
        answer = client.call("POST", "/connectors", body)
        assert answer.status == 400
        assert f"the {says}\\ud800' cannot be written as UTF-8" in answer.json["message"]
        assert client.call("GET", "/connectors?expand=info").json == {}

    def test_a_lone_surrogate_in_bytes_is_unreadable(self, client: Client) -> None:
        """With the message of Java's reader."""
        answer = client.call("POST", "/connectors", b'{"name":"\xed\xa0\x80","config":{}}')
        assert answer.status == 500
        assert answer.json["message"].startswith("Invalid UTF-8")

    def test_a_lone_surrogate_in_a_trace_does_not_break_the_response(self, client: Client) -> None:
        """A plugin may raise any text; all statuses are still shown."""
        client.create("c")
        client.bench.spark.report(client.bench.spark.runs[0], State.FAILED, "odd \ud800")
        answer = client.call("GET", "/connectors?expand=status")
        assert answer.status == 200
        assert answer.json["c"]["status"]["tasks"][0]["trace"] == "odd \ud800"

    @pytest.mark.parametrize(
        ("task", "message"),
        [
            ("-1", "Task c--1 not found"),
            ("-7", "Task c--7 not found"),
            ("99", "Task c-99 not found"),
            ("2147483647", "Task c-2147483647 not found"),
            ("2147483648", "HTTP 404 Not Found"),
            ("--1", "HTTP 404 Not Found"),
            ("1.5", "HTTP 404 Not Found"),
            ("1" * 5000, "HTTP 404 Not Found"),
        ],
    )
    def test_an_invalid_task_number_is_not_found(self, client: Client, task: str, message: str) -> None:
        """-1 is not the last one, which would then run twice."""
        client.create("c")
        answer = client.call("POST", f"/connectors/c/tasks/{task}/restart")
        assert (answer.status, answer.text) == error(404, message)
        assert len(client.bench.spark.runs) == 1


HUGE = """
import json, resource, tempfile
from pathlib import Path
from tests.unit.rest.client import CONFIG, serve
for client in serve(Path(tempfile.mkdtemp())):
    client.call("GET", "/connectors")
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (768 << 20)
    body = json.dumps({"name": "x", "config": {**CONFIG, "connector.class": "c" * 20_000_000}}).encode()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(client.call("POST", "/connectors", body).status)
    print(client.call("GET", "/connectors").status)
"""


def test_the_longest_body_uses_bounded_memory() -> None:
    """A class name of 20 MB gets a response, and the server keeps running."""
    result = run_apart(HUGE)
    assert result.stdout.split() == ["400", "200"], result.stderr[-3000:]
