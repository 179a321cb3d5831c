"""Behaviour of all requests: routes, bodies, headers, timeouts."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from hearth.rest.answer import AnswerTimeout
from hearth.storage import State
from tests.unit.rest.client import Client, error, serve


class TestGeneral:
    """The server."""

    def test_the_root_shows_version_and_cluster(self, client: Client) -> None:
        """The exact bytes, and the content type without a charset."""
        answer = client.call("GET", "/")
        assert answer.text == '{"version":"4.3.1","commit":"26b251a451ce941d","kafka_cluster_id":"cluster"}'
        assert answer.headers["content-type"] == "application/json"

    def test_health_shows_whether_the_worker_has_started(self, client: Client) -> None:
        """KIP-1017."""
        assert client.call("GET", "/health").text == (
            '{"status":"healthy","message":"Worker has completed startup and is ready to handle requests."}'
        )
        client.health.ready, client.health.answer_timeout = Future(), AnswerTimeout(0.05)
        answer = client.call("GET", "/health")
        assert (answer.status, answer.text) == (503, '{"status":"starting","message":"Worker is still starting up."}')

    def test_a_worker_that_starts_is_alive(self, client: Client) -> None:
        """So is one that waits for Kafka, while readiness fails; one whose herder hangs is not."""
        client.health.ready, client.health.answer_timeout = Future(), AnswerTimeout(0.5)
        client.bench.herder.health.begin_with("waiting for Kafka", threading.Event().wait)
        answer = client.call("GET", "/health/live")
        assert (answer.status, answer.json) == (200, {"status": "healthy", "message": "Worker is alive."})
        with client.bench.herder.reconciler._lock:
            assert client.call("GET", "/health/live").status == 500

    def test_a_health_check_during_startup_waits(self, client: Client) -> None:
        """As long as in Java's worker, so that a short startup counts as healthy."""
        client.health.ready = Future()
        threading.Timer(0.05, client.health.ready.set_result, [None]).start()
        assert client.call("GET", "/health").status == 200

    def test_a_herder_that_does_not_respond_is_unhealthy(self, client: Client) -> None:
        """500 with the step it waits for; it is healthy again once it responds, and one thread waited meanwhile."""
        client.health.answer_timeout = AnswerTimeout(0.05)
        with client.bench.herder.reconciler._lock:
            answers = [client.call("GET", "/health") for _ in range(3)]
            waiting = [each.name for each in threading.enumerate() if "health" in each.name]
        assert len(waiting) == 1
        assert {(each.status, each.json["status"]) for each in answers} == {(500, "unhealthy")}
        assert re.fullmatch(
            r"Worker was unable to handle this request and may be unable to handle other requests\. "
            r"The worker is currently looking at what runs, which began at \d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z\.",
            answers[0].json["message"],
        )
        client.health.answer_timeout = AnswerTimeout(30)
        assert client.call("GET", "/health").status == 200

    @pytest.mark.parametrize(
        ("method", "path", "status", "message"),
        [
            ("GET", "/nope", 404, "HTTP 404 Not Found"),
            ("POST", "/", 405, "HTTP 405 Method Not Allowed"),
            ("DELETE", "/connectors", 405, "HTTP 405 Method Not Allowed"),
            ("GET", "/connectors/c/nowhere", 404, "HTTP 404 Not Found"),
            ("POST", "/connectors/c/tasks/zz/restart", 404, "HTTP 404 Not Found"),
        ],
    )
    def test_an_unknown_route_has_jerseys_error(
        self, client: Client, method: str, path: str, status: int, message: str
    ) -> None:
        """As clients of Kafka Connect see it."""
        answer = client.call(method, path)
        assert (answer.status, answer.text) == error(status, message)

    def test_a_trailing_slash_is_ignored(self, client: Client) -> None:
        """Without a redirect."""
        assert client.call("GET", "/connectors/").text == "[]"

    @pytest.mark.parametrize("path", ["//", "//connectors", "/connectors//", "/connectors//c"])
    def test_an_empty_path_segment_is_rejected(self, client: Client, path: str) -> None:
        """A proxy may have read a different path."""
        answer = client.call("GET", path)
        assert (answer.status, answer.text) == error(400, "Ambiguous URI empty segment")


class TestBodies:
    """Request bodies."""

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            ("{bad", "line: 1, column: 2"),
            ("", 'because "createRequest" is null'),
            ("null", 'because "createRequest" is null'),
            ("[]", "from Array value (token `JsonToken.START_ARRAY`)"),
            ('{"name":"a"}', 'because "connectorConfig" is null'),
            ('{"zz":1}', 'Unrecognized field "zz" (class org.apache.kafka.connect.runtime.rest.entities.CreateConn'),
            ('{"zz":1}', 'not marked as ignorable (3 known properties: "config", "name", "initial_state")'),
            (
                '{"name":"a","config":{"a":{"b":1}}}',
                "Cannot deserialize value of type `java.lang.String` from Object value",
            ),
            ('{"name":"a","config":{},"initial_state":"x"}', "No enum constant"),
            ('{"name":"a","config":{"a":NaN}}', "Non-standard token 'NaN'"),
            (b"\xff", "Unrecognized token '\xff'"),
        ],
    )
    def test_an_unreadable_body_is_a_server_error(self, client: Client, body: Any, says: str) -> None:
        """500 instead of 400, because Kafka Connect does not wrap the errors of its reader."""
        answer = client.call("POST", "/connectors", body)
        assert answer.status == 500
        assert says in answer.json["message"]

    def test_another_content_type_is_refused(self, client: Client) -> None:
        """Such as the default of curl -d."""
        answer = client.call("POST", "/connectors", "{}", "application/x-www-form-urlencoded")
        assert (answer.status, answer.text) == error(415, "HTTP 415 Unsupported Media Type")

    def test_numbers_and_booleans_become_text(self, client: Client) -> None:
        """In their original spelling."""
        answer = client.call(
            "POST", "/connectors", '{"name":"c","config":{"connector.class":"FileStreamSource","topic":"t",'
            '"tasks.max":1,"a":1.50,"b":true}}'
        )  # fmt: skip
        assert answer.json["config"]["a"] == "1.50"
        assert answer.json["config"]["b"] == "true"


class TestSettings:
    """Settings of the worker's configuration."""

    def test_headers_are_added_to_every_response(self, tmp_path: Path) -> None:
        """Also to errors; quotes protect commas."""
        rules = 'add X-A: 1, "set Cache-Control: no-cache, no-store", setDate Expires: 3600000'
        for client in serve(tmp_path, {"response.http.headers.config": rules}):
            headers = client.call("GET", "/nope").headers
            assert headers["x-a"] == "1"
            assert headers["cache-control"] == "no-cache, no-store"
            expires, now = (parsedate_to_datetime(headers[name]) for name in ("expires", "date"))
            assert timedelta(seconds=3595) < expires - now < timedelta(seconds=3605)

    def test_a_request_that_takes_too_long_times_out(self, tmp_path: Path) -> None:
        """The operation continues."""
        for client in serve(tmp_path, seconds=0.0):
            answer = client.create()
            assert (answer.status, answer.text) == error(500, "Request timed out")
            client.bench.await_task("c", State.RUNNING)
