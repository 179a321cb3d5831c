"""REST extensions: what they see and add, in the host and in their own process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import PluginType
from hearth.herder.cluster_state import HerderClusterState
from hearth.herder.plugin.extension_stage import ExtensionStage, IsolatedExtension
from hearth.isolation.environment_store import host_environment
from hearth.rest.extension import Extension, Extensions, open_extensions
from hearth_api import ConfigError
from hearth_execution.loaded_extension import LoadedExtension
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.catalogue import WORKER, directory, plugin
from tests.unit.herder.fake import Bench
from tests.unit.rest.client import Client, error, serve
from tests.unit.rest.sample_extension import WORD

HERE = "tests.unit.rest.sample_extension:Audit"
AUDIT = plugin("com.example.Audit", PluginType.REST_EXTENSION, "Audit")
SETTINGS = {"audit.word": "friend"}


def extension(place: str, bench: Bench) -> Extension:
    """Return the sample, in this process or in its own."""
    state = HerderClusterState(bench.herder, "cluster")
    if place == "host":
        return LoadedExtension(HERE, SETTINGS, state)
    sample = AUDIT.__class__(**{**vars(AUDIT), "reference": HERE})
    return IsolatedExtension(lambda: ExtensionStage(sample, host_environment(), SETTINGS, state, 30))


@pytest.fixture(scope="module", params=["host", "beside"])
def audited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve with the sample, in either place."""

    def load(bench: Bench) -> Extensions:
        return Extensions([extension(request.param, bench)])

    for client in serve(tmp_path_factory.mktemp("audited"), extensions=load):
        client.call("POST", "/connectors", {"name": "c", "config": {
            "connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t"}}, headers=WORD)  # fmt: skip
        yield client


def test_a_filter_may_end_a_request(audited: Client) -> None:
    """With its own response; the request is not carried out."""
    answer = audited.call("DELETE", "/connectors/c")
    assert (answer.status, answer.text, answer.headers["x-path"]) == (403, "no", "/connectors/c")
    assert audited.call("GET", "/connectors", headers=WORD).text == '["c"]'
    for path in ("/", "/health", "/openapi.json", "/connector-plugins", "/audit/c"):
        assert audited.call("GET", path).status == 403
        assert audited.call("GET", path, headers=WORD).status == 200
    assert audited.call("OPTIONS", "/connectors").status == 403


def test_a_filter_sees_no_request_that_has_no_endpoint(audited: Client) -> None:
    """As in Kafka Connect, path, method and media types are checked first."""
    assert audited.call("GET", "/nowhere").text == error(404, "HTTP 404 Not Found")[1]
    assert audited.call("DELETE", "/connectors").status == 405
    assert audited.call("POST", "/connectors", "x", "text/plain").status == 415
    assert audited.call("GET", "/connectors", headers={"Accept": "text/html"}).status == 406


def test_the_body_is_available_to_filter_and_endpoint(audited: Client) -> None:
    """It is read once."""
    assert audited.call("PUT", "/connector-plugins/FileStreamSource/config/validate", "{").text == "{"
    answer = audited.call("PATCH", "/connectors/c/config", {"a": "b"}, headers=WORD)
    assert (answer.status, answer.json["config"]["a"]) == (200, "b")


def test_resources_are_served_with_all_of_a_request(audited: Client) -> None:
    """Also for another method of one of the host's paths, with the extension's parameter names."""
    answer = audited.call("POST", "/audit/a%20b/c?x=1&x=2&y=", b"\0\xff", "image/png", {**WORD, "Accept": "text/html"})
    parts = {"name": "a b", "part": "c"}
    assert answer.json == ["POST", "/audit/a b/c", {"x": ["1", "2"], "y": [""]}, parts, "00ff", None]
    assert audited.call("PATCH", "/connectors/me", headers=WORD).json[3] == {"who": "me"}
    assert audited.call("OPTIONS", "/connectors/me", headers=WORD).headers["allow"] == "HEAD,DELETE,GET,OPTIONS,PATCH"


def test_an_extension_cannot_replace_an_endpoint_of_the_host(audited: Client) -> None:
    """It is skipped with a warning."""
    assert audited.call("GET", "/connectors", headers=WORD).text == '["c"]'
    assert audited.call("GET", "/connectors/c", headers=WORD).json["name"] == "c"


def test_an_extension_sees_the_cluster_state(audited: Client) -> None:
    """Names, states and configurations; an unhandled unknown connector gives 404."""
    known = {
        "all": ["c"], "type": "source", "state": "RUNNING", "tasks": {"0": "RUNNING"}, "topic": "t",
        "cluster": "cluster",
    }  # fmt: skip
    # an earlier test has changed the connector, whose task begins anew
    eventually(lambda: audited.call("GET", "/audit/c", headers=WORD).json == known, TIMEOUT)
    assert audited.call("GET", "/audit/c", headers=WORD).json == known
    answer = audited.call("GET", "/audit/nobody", headers=WORD)
    assert (answer.status, answer.text) == error(404, "No status found for connector nobody")


@pytest.mark.parametrize(
    ("how", "status", "says"), [("config", 400, "wrong"), ("missing", 404, "gone"), ("bug", 500, "")]
)
def test_errors_of_a_resource_have_the_status_of_host_errors(
    audited: Client, how: str, status: int, says: str
) -> None:
    """In the host's format."""
    answer = audited.call("GET", f"/fail/{how}", headers=WORD)
    assert answer.status == answer.json["error_code"] == status
    assert says in answer.json["message"]


@pytest.mark.parametrize("audited", ["beside"], indirect=True)
def test_no_request_passes_a_filter_that_has_ended(audited: Client) -> None:
    """The request fails, and the next one finds a restarted extension."""
    answer = audited.call("GET", "/connectors", headers={**WORD, "X-Exit": "1"})
    assert (answer.status, "exited with 7" in answer.json["message"]) == (500, True)
    assert audited.call("GET", "/connectors", headers=WORD).text == '["c"]'
    assert audited.call("GET", "/connectors").status == 403


def opened(tmp_path: Path, names: str, **settings: str) -> Extensions:
    """Open the extensions of a worker whose only plugins are the sample."""
    bench = Bench(tmp_path)
    sample = AUDIT.__class__(**{**vars(AUDIT), "reference": HERE})
    config = WorkerConfig({**WORKER, "rest.extension.classes": names, **SETTINGS, **settings})
    try:
        return open_extensions(config, directory(tmp_path, sample), HerderClusterState(bench.herder, "x"))
    finally:
        bench.herder.shut_down()


def test_extensions_are_found_by_class_or_alias_and_loaded_in_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A second one that adds the same resource gets a warning."""
    found = opened(tmp_path, "Audit, com.example.Audit")
    with caplog.at_level(logging.WARNING, "hearth.rest.extension"):
        paths = [(each.method, each.path) for each in found.endpoints([])]
    assert paths[:2] == [("GET", "/audit/{name}"), ("POST", "/audit/{name}/{part}")]
    assert len(paths) == len(set(paths)) == 6
    assert "the resource GET /audit/{name} is already registered" in caplog.text
    found.close()


def test_an_unknown_extension_prevents_the_worker_from_starting(tmp_path: Path) -> None:
    """The error has the key, the name and the known ones; so does one that rejects the configuration."""
    with pytest.raises(ConfigError, match=r"rest\.extension\.classes: .*'Audits', only com\.example\.Audit"):
        opened(tmp_path, "Audit,Audits")
    with pytest.raises(ConfigError, match="nobody can audit this"):
        opened(tmp_path, "Audit", **{"audit.broken": "true"})
