"""Paths with a connector's name as a parameter, over a real socket: every name, operation and host."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from hearth.rest import named_path
from hearth.rest.app import ClusterAccess
from hearth.rest.endpoint import Endpoint, routes
from tests.unit.rest.client import CONFIG, Client, error, serve
from tests.unit.rest.sample_extension import WORD, Audit
from tests.unit.rest.test_forward import Cluster

NAMES = [
    "a/b", "a%2Fb", "..\\x", "..", ".", "/", "//", "50%", "a?b#c", "a&name=b", "a+b c", "größe €😀", "{x}", "[x]|y^",
    "a;b=c", '"<>"', "connectors/x/config", "plain",
    "status", "config", "pause", "report", "explain", "owner", "tasks",
]  # fmt: skip
OWN = "/hearth/connectors"
JAVAS = "plain-name-9"
"""A connector that is reached by Java's path."""


def at(name: str, rest: str = "") -> str:
    """Return the path of a connector or one of its resources."""
    return f"{OWN}{rest}?name={quote(name, safe='')}"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve for all names."""
    yield from serve(tmp_path_factory.mktemp("named"))


def acts(name: str, prefix: str, query: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield every request for one connector, those that need a stopped one last."""
    more = f"{query}&" if query else "?"
    for rest in ("", "/config", "/status", "/tasks", "/tasks/0/status", "/topics", "/offsets"):
        yield "GET", f"{prefix}{rest}{query}", None
        yield "HEAD", f"{prefix}{rest}{query}", None
    yield "POST", f"{prefix}/restart{more}includeTasks=true&onlyFailed=true", None
    yield "PATCH", f"{prefix}/config{query}", {"a": "b"}
    yield "PUT", f"{prefix}/config{query}", {**CONFIG, "name": name}
    for rest in ("/pause", "/resume", "/topics/reset"):
        yield "PUT", f"{prefix}{rest}{query}", None
    yield "POST", f"{prefix}/restart{query}", None
    yield "POST", f"{prefix}/tasks/0/restart{query}", None
    yield "DELETE", f"{prefix}/offsets{query}", None  # rejected unless it is stopped
    yield "PUT", f"{prefix}/stop{query}", None
    yield "PATCH", f"{prefix}/offsets{query}", {"offsets": [{"partition": {"f": 1}, "offset": {"at": 2}}]}
    yield "GET", f"{prefix}/offsets{query}", None
    yield "DELETE", f"{prefix}/offsets{query}", None
    yield "GET", f"{prefix}/tasks/7/status{query}", None
    yield "POST", f"{prefix}/tasks{query}", []
    yield "DELETE", f"{prefix}{query}", None
    yield "GET", f"{prefix}{query}", None
    yield "DELETE", f"{prefix}{query}", None


@pytest.mark.parametrize("name", NAMES)
def test_named_paths_respond_like_javas_paths(shared: Client, name: str) -> None:
    """Status and body, for every operation except the workers' internal ones."""
    for each in (name, JAVAS):
        assert shared.create(each).status == 201
    pairs = zip(acts(name, OWN, f"?name={quote(name, safe='')}"), acts(JAVAS, f"/connectors/{JAVAS}"))
    for (method, path, body), (_, javas, expected_body) in pairs:
        answer, expected = shared.call(method, path, body), shared.call(method, javas, expected_body)
        if (method, javas) == ("POST", f"/connectors/{JAVAS}/tasks"):
            assert answer.status == 405
            continue
        shown = expected.text.replace(JAVAS, json.dumps(name, ensure_ascii=False)[1:-1])
        assert (answer.status, answer.text) == (expected.status, shown), (method, path)
    assert shared.call("GET", "/connectors").json == []


@pytest.mark.parametrize("name", NAMES)
def test_a_rejected_path_names_the_alternative(shared: Client, name: str) -> None:
    """The alternative is the same resource of the same connector."""
    shared.create(name)
    for rest in ("", "/config", "/tasks/0/status"):
        answer = shared.call("GET", f"/connectors/{quote(name, safe='')}{rest}")
        if answer.status != 200:
            assert answer.status == 400
            shown = re.fullmatch(
                r"(Ambig|Susp|Illeg).*; a connector of this name answers at (/\S+)", answer.json["message"]
            )
            assert shown is not None, answer.text
            assert shown[2] == at(name, rest)
        assert shared.call("GET", at(name, rest)).status == 200
    assert shared.call("DELETE", at(name)).status == 204


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).map(str.strip).filter(bool))
def test_a_connector_with_any_name_is_created_found_and_deleted(shared: Client, name: str) -> None:
    """The Location header has its path."""
    created = shared.call("PUT", at(name, "/config"), CONFIG)
    assert created.status == 201, created.text
    path = created.headers["location"].removeprefix(f"http://127.0.0.1:{shared.ports[0]}")
    assert shared.call("GET", path).json["name"] == name
    assert shared.call("GET", "/connectors").json == [name]
    assert shared.call("DELETE", path).status == 204
    assert shared.call("GET", path).status == 404


def test_a_request_without_a_name_is_rejected(shared: Client) -> None:
    """For every method; OPTIONS lists the methods."""
    shown = "/hearth/connectors/config takes the name of a connector: ?name=NAME"
    for query in ("", "?name=", "?nam=c"):
        answer = shared.call("GET", f"{OWN}/config{query}")
        assert (answer.status, answer.text) == error(400, shown)
        assert shared.call("DELETE", f"{OWN}{query}").status == 400
    assert shared.call("OPTIONS", OWN).headers["allow"] == "HEAD,DELETE,GET,OPTIONS"
    assert shared.call("GET", f"{OWN}/nothing?name=c").status == 404
    assert shared.call("POST", at("c")).status == 405
    assert shared.call("DELETE", at("c"), headers={"Origin": "http://evil.example"}).status == 403


def test_a_follower_forwards_named_paths(tmp_path: Path) -> None:
    """With the name as sent, and a Location header with the follower's own URL."""
    cluster = Cluster()
    for place in ("leader", "follower"):
        (tmp_path / place).mkdir()
    for leader in serve(tmp_path / "leader"):
        cluster.url = f"http://127.0.0.1:{leader.ports[0]}"
        for follower in serve(tmp_path / "follower", cluster=ClusterAccess(cluster.forwarder())):
            for name in NAMES:
                created = follower.call("PUT", at(name, "/config"), CONFIG)
                assert created.status == 201, created.text
                assert created.headers["location"] == f"http://127.0.0.1:{follower.ports[0]}{at(name)}"
                assert leader.call("GET", at(name, "/status")).json["name"] == name
                assert follower.call("POST", f"{at(name, '/restart')}&includeTasks=true").json["name"] == name
                assert follower.call("PUT", at(name, "/pause")).status == 202
                assert follower.call("DELETE", at(name)).status == 204
                assert leader.call("GET", "/connectors").json == []


@given(st.text(min_size=1, max_size=20).filter(lambda name: not re.search("[\ud800-\udfff]", name)))
@settings(max_examples=200, deadline=None)
def test_extensions_see_javas_path(name: str) -> None:
    """One segment of it is the name; a plain name is not escaped."""

    found: list[Request] = []

    async def shown(request: Request) -> Response:
        """Keep what extensions see."""
        found.append(request)
        return Response()

    async def nothing(message: Message | None = None) -> Message:
        return {"type": "http.request"}

    endpoints = [Endpoint("GET", "/connectors/{connector}/tasks/{task}", shown, "x", {200: None})]
    app = Starlette(routes=[named_path.served(each) for each in routes([*endpoints, *named_path.by_name(endpoints)])])
    path, _, query = at(name, "/tasks/5").partition("?")
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    asyncio.run(app(scope, nothing, nothing))  # type: ignore[arg-type]
    path, params = found[0].scope["path"], found[0].path_params
    assert params == {"connector": name, "task": "5"}
    parts = path.split("/")
    assert (len(parts), unquote(parts[2])) == (5, name)
    assert parts[2] not in (".", "..")
    if re.fullmatch(r"[\w :;=+&?#-]+", name):
        assert path == f"/connectors/{name}/tasks/5"


def test_filters_of_extensions_apply_to_named_paths(tmp_path: Path) -> None:
    """A rule for one of Java's paths applies to the same connector here."""
    from hearth.rest.extension import Extensions
    from hearth_execution.loaded_extension import LoadedExtension

    here = f"{Audit.__module__}:{Audit.__name__}"
    load = lambda bench: Extensions([LoadedExtension(here, {"audit.word": WORD["X-Word"]}, None)])  # type: ignore[arg-type]  # noqa: E731
    for client in serve(tmp_path, extensions=load):
        assert client.call("DELETE", at("c")).headers["x-path"] == "/connectors/c"
        assert client.call("PUT", at("a/b", "/stop")).headers["x-path"] == "/connectors/a%2Fb/stop"
        assert client.call("DELETE", at("c"), headers=WORD).status == 404
