"""Connectors and tasks over HTTP, against what a live Kafka Connect 4.3.1 answered to the same requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hearth.storage import State
from tests.unit.rest.client import CONFIG, ID, Client, error, serve


class TestCreation:
    """Connectors come to be."""

    def test_a_created_connector_is_shown(self, client: Client) -> None:
        """Field order, Location and the name at the end of its configuration."""
        answer = client.create()
        assert (answer.status, answer.text) == (
            201,
            '{"name":"c","config":{"connector.class":"FileStreamSource","tasks.max":"1","topic":"t","name":"c"},'
            '"tasks":[{"connector":"c","task":0}],"type":"source"}',
        )
        assert answer.headers["location"].endswith("/connectors/c")

    def test_a_location_is_where_the_client_found_the_api(self, client: Client) -> None:
        """By the `Host` header, without the port that goes without saying; who forwards a request is not asked."""
        for name, host, base in (("a", "h.example:80", "http://h.example"), ("b", "[::1]:8083", "http://[::1]:8083")):
            headers = {"Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-For": "10.0.0.1"}
            answer = client.call("POST", "/connectors", {"name": name, "config": CONFIG}, headers=headers)
            assert (answer.status, answer.headers["location"]) == (201, f"{base}/connectors/{name}")

    def test_a_name_is_trimmed_and_escaped_in_the_location(self, client: Client) -> None:
        """And stays as it is in bodies."""
        answer = client.create(name=" a b ü+ ")
        assert answer.json["name"] == "a b ü+"
        assert '"name":"a b ü+"' in answer.text
        assert answer.headers["location"].endswith("/connectors/a%20b%20%C3%BC+")
        assert client.call("GET", "/connectors/a%20b%20%C3%BC+/config").status == 200

    @pytest.mark.parametrize(
        ("body", "status", "message"),
        [
            ({"name": "a", "config": {}}, 400, "Connector config {name=a} contains no connector type"),
            (
                {"name": "a", "config": {"name": "b"}}, 400,
                "Connector name configuration (b) doesn't match connector name in the URL (a)",
            ),
            (
                {"config": {"connector.class": "FileStreamSource"}}, 400,
                "Connector configuration is invalid and contains the following 2 error(s):\n"
                "Invalid value  for configuration name: String may not be empty\n"
                'Missing required configuration "topic" which has no default value.\n'
                "You can also find the above list of errors at the endpoint "
                "`/connector-plugins/{connectorType}/config/validate`",
            ),
        ],
    )  # fmt: skip
    def test_a_wrong_configuration_is_refused(self, client: Client, body: Any, status: int, message: str) -> None:
        """Kafka's sentences."""
        answer = client.call("POST", "/connectors", body)
        assert (answer.status, answer.json) == (status, {"error_code": status, "message": message})
        assert client.call("GET", "/connectors").text == "[]"

    def test_a_name_is_created_once(self, client: Client) -> None:
        """409."""
        client.create()
        answer = client.create()
        assert (answer.status, answer.text) == error(409, "Connector c already exists")

    @pytest.mark.parametrize(("state", "shown"), [("stopped", "STOPPED"), ("PAUSED", "PAUSED")])
    def test_a_connector_may_be_created_at_rest(self, client: Client, state: str, shown: str) -> None:
        """KIP-980, in any case."""
        answer = client.call("POST", "/connectors", {"name": "c", "config": CONFIG, "initial_state": state})
        assert (answer.status, answer.json["tasks"]) == (201, [])
        assert client.call("GET", "/connectors/c/status").text == (
            f'{{"name":"c","connector":{{"state":"{shown}","worker_id":"{ID}","version":"4.3.1"}},'
            '"tasks":[],"type":"source"}'
        )

    def test_put_creates_and_replaces(self, client: Client) -> None:
        """201 with a Location, then 200 without."""
        created = client.call("PUT", "/connectors/c/config", CONFIG)
        assert (created.status, created.headers["location"][-13:]) == (201, "/connectors/c")
        replaced = client.call("PUT", "/connectors/c/config", {**CONFIG, "topic": "u"})
        assert (replaced.status, replaced.json["config"]["topic"]) == (200, "u")
        assert "location" not in replaced.headers

    def test_patch_changes_single_keys(self, client: Client) -> None:
        """KIP-477."""
        client.create(x="1")
        answer = client.call("PATCH", "/connectors/c/config", {"x": None, "y": "2"})
        assert answer.status == 200
        assert answer.json["config"] == {**CONFIG, "name": "c", "y": "2"}
        answer = client.call("PATCH", "/connectors/d/config", {})
        assert (answer.status, answer.text) == error(404, "Connector d not found")


class TestReading:
    """What is asked about connectors."""

    def test_everything_about_a_connector_can_be_read(self, client: Client) -> None:
        """The bytes of Kafka's answers."""
        client.create()
        task = f'{{"id":0,"state":"RUNNING","worker_id":"{ID}","version":"4.3.1"}}'
        status = (
            f'{{"name":"c","connector":{{"state":"RUNNING","worker_id":"{ID}","version":"4.3.1"}},'
            f'"tasks":[{task}],"type":"source"}}'
        )
        config = '{"connector.class":"FileStreamSource","tasks.max":"1","topic":"t","name":"c"}'
        info = f'{{"name":"c","config":{config},"tasks":[{{"connector":"c","task":0}}],"type":"source"}}'
        expected = {
            "/connectors": '["c"]',
            "/connectors/c": info,
            "/connectors/c/config": config,
            "/connectors/c/status": status,
            "/connectors/c/tasks/0/status": task,
            "/connectors?expand=status": f'{{"c":{{"status":{status}}}}}',
            "/connectors?expand=status&expand=info": f'{{"c":{{"status":{status},"info":{info}}}}}',
            "/connectors?expand=zz": '{"c":{}}',
        }
        assert {path: client.call("GET", path).text for path in expected} == expected
        tasks = client.call("GET", "/connectors/c/tasks").json
        assert tasks[0]["id"] == {"connector": "c", "task": 0}
        assert tasks[0]["config"]["task.class"].endswith("NoTask")

    @pytest.mark.parametrize(
        ("method", "path", "message"),
        [
            ("GET", "/connectors/x", "Connector x not found"),
            ("GET", "/connectors/x/config", "Connector x not found"),
            ("GET", "/connectors/x/status", "No status found for connector x"),
            ("GET", "/connectors/x/tasks", "Connector x not found"),
            ("GET", "/connectors/x/tasks/0/status", "No status found for task x-0"),
            ("POST", "/connectors/x/tasks/0/restart", "Connector x not found"),
            ("POST", "/connectors/x/restart", "Connector x not found"),
            ("POST", "/connectors/x/restart?includeTasks=true", "Unknown connector: x"),
            ("PUT", "/connectors/x/pause", "Unknown connector x"),
            ("PUT", "/connectors/x/resume", "Unknown connector x"),
            ("PUT", "/connectors/x/stop", "Unknown connector x"),
            ("DELETE", "/connectors/x", "Connector x not found"),
        ],
    )
    def test_an_unknown_connector_is_not_found(self, client: Client, method: str, path: str, message: str) -> None:
        """Where a standalone Kafka Connect falls over with 500, this is what its distributed form says."""
        answer = client.call(method, path)
        assert (answer.status, answer.text) == error(404, message)


class TestDeeds:
    """What is done to connectors."""

    def test_pause_resume_stop_and_delete_answer_without_a_body(self, client: Client) -> None:
        """202 for what takes place later, 204 for what is done."""
        client.create()
        for method, path, status in (
            ("PUT", "/connectors/c/pause", 202),
            ("PUT", "/connectors/c/resume", 202),
            ("PUT", "/connectors/c/stop", 204),
            ("DELETE", "/connectors/c", 204),
        ):
            answer = client.call(method, path)
            assert (answer.status, answer.text) == (status, "")
            assert "content-type" not in answer.headers

    def test_restarts_of_several_parts_answer_with_a_plan(self, client: Client) -> None:
        """KIP-745; a flag that is no boolean is false."""
        client.create()
        assert client.call("POST", "/connectors/c/restart").status == 204
        assert client.call("POST", "/connectors/c/restart?onlyFailed=zz").status == 204
        assert client.call("POST", "/connectors/c/tasks/0/restart").status == 204
        client.bench.await_task("c", State.RUNNING)
        answer = client.call("POST", "/connectors/c/restart?includeTasks=true")
        assert (answer.status, answer.text) == (
            202,
            f'{{"name":"c","connector":{{"state":"RESTARTING","worker_id":"{ID}","version":"4.3.1"}},'
            f'"tasks":[{{"id":0,"state":"RESTARTING","worker_id":"{ID}","version":"4.3.1"}}],"type":"source"}}',
        )
        answer = client.call("POST", "/connectors/c/tasks/7/restart")
        assert (answer.status, answer.text) == error(404, "Task c-7 not found")

    def test_a_failed_task_shows_its_trace(self, client: Client) -> None:
        """And its version."""
        client.create()
        client.bench.spark.report(client.bench.spark.runs[0], State.FAILED, "line 1\nline 2")
        assert client.call("GET", "/connectors/c/tasks/0/status").text == (
            f'{{"id":0,"state":"FAILED","worker_id":"{ID}","version":"4.3.1","trace":"line 1\\nline 2"}}'
        )


def test_passwords_are_hidden_if_the_worker_masks_them(tmp_path: Path) -> None:
    """Wherever a configuration is shown; what was hidden may be sent back, and stays what it was."""
    key = "producer.override.ssl.key.password"
    config = {**CONFIG, key: "geheim"}
    for client in serve(tmp_path, {"rest.mask.passwords": "true"}):
        answers = [client.call("POST", "/connectors", {"name": "c", "config": config})]
        shown = client.call("GET", "/connectors/c/config").json
        assert shown[key] == "[hidden]"
        answers.append(client.call("PUT", "/connectors/c/config", {**shown, "topic": "u"}))
        answers.append(client.call("PATCH", "/connectors/c/config", {key: "[hidden]", "file": "f"}))
        paths = ("c", "c/config", "c/tasks", "c/status", "?expand=info")
        answers += [client.call("GET", f"/connectors/{path}".replace("/?", "?")) for path in paths]
        assert all(200 <= answer.status < 300 and "geheim" not in answer.text for answer in answers)
        stored = client.bench.configs.snapshot().find("c")
        assert stored is not None
        assert (stored.config[key], stored.config["topic"], stored.config["file"]) == ("geheim", "u", "f")


def test_a_connector_that_does_not_start_is_reported_once_with_its_cause(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """In the answer and in the log, where its line is about the connector."""
    answer = client.call("POST", "/connectors", {"name": "c", "config": {**CONFIG, "do.start": "raise"}})
    assert answer.status == 500
    assert answer.json["message"].startswith("Failed to transition connector c to state STARTED: ")
    assert answer.json["message"].endswith("start does not work today")
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert "start does not work today" in record.getMessage()
