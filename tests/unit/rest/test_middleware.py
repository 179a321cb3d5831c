"""What goes around the answers; what is expected is what Java's Kafka Connect 4.3.1 answered to the same requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.config import WorkerConfig
from hearth_api import ConfigError
from tests.unit.herder.catalogue import WORKER
from tests.unit.rest.client import Client, error, serve

ORIGIN = "http://a.example"
PREFLIGHT = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type, x-a"}
ALLOWED = {"access-control-allow-headers": "Content-Type", "access-control-max-age": "60"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve pages of two origins, with a listener for admins alone."""
    settings = {
        "listeners": "http://127.0.0.1:0,http://127.0.0.1:0",
        "admin.listeners": "http://127.0.0.1:0",
        "access.control.allow.origin": f"{ORIGIN}, http://b.example",
        "access.control.allow.methods": "PUT, GET",
        "response.http.headers.config": "add X-A: 1",
    }
    yield from serve(tmp_path_factory.mktemp("shared"), settings)


@pytest.mark.parametrize(
    ("line", "host", "status", "expected"),
    [
        ("GET http://a.example:1/connectors", "a.example:1", 200, "[]"),
        ("GET HTTPS://A.example:1/connectors?expand=info#x", "a.example:1", 200, "{}"),
        ("GET http://a.example/connectors;a=b", "a.example", 200, "[]"),
        ("GET http://a.example?expand=info", "a.example", 200, '"version"'),
        ("GET http://a.example/nowhere", "a.example", 404, "HTTP 404 Not Found"),
        ("OPTIONS http://a.example/connectors", "a.example", 200, "HEAD"),
        ("GET http://a.example/connectors", None, 200, "[]"),
        ("GET http://a.example/connectors", "b.example", 400, "Authority!=Host"),
        ("GET http://a.example/connectors", "a.example:80", 400, "Authority!=Host"),
        ("GET http:///connectors", "a.example", 400, "Authority!=Host"),
        ("GET http:/connectors", "a.example", 400, "Authority!=Host"),
        ("GET http://me:pw@a.example/connectors", "a.example", 400, "Deprecated User Info"),
        ("GET http://a.example//connectors", "a.example", 400, "Ambiguous URI empty segment"),
        ("GET //a.example/connectors", "a.example", 400, "Ambiguous URI empty segment"),
        ("GET connectors", "a.example", 400, "Bad Request"),
        ("GET *", "a.example", 400, "Bad Request"),
        ("OPTIONS *", "a.example", 404, "HTTP 404 Not Found"),
        ("GET /connectors#x", "a.example", 200, "[]"),
        ("GET /connectors", "[::1]:8083", 200, "[]"),
        ("GET /connectors", "", 400, "Blank Host"),
        ("GET /connectors", "a.example:", 400, "Bad HostPort"),
        ("GET /connectors", "a b", 400, "Bad HostPort"),
        ("GET /connectors", "a.example:99999", 400, "Bad HostPort"),
    ],
)
def test_a_target_may_be_a_whole_uri(shared: Client, line: str, host: str | None, status: int, expected: str) -> None:
    """Whatever its scheme, as long as it is for whom the `Host` header says: proxies send such."""
    head = f"{line} HTTP/1.0\r\n" if host is None else f"{line} HTTP/1.1\r\nHost: {host}\r\n"
    answer = shared.raw(f"{head}Connection: close\r\n\r\n".encode()).decode()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert expected in answer


def cors(headers: dict[str, str]) -> dict[str, str]:
    """Return what an answer says to the page that asked."""
    return {name: value for name, value in headers.items() if name.startswith("access-control-")}


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        (ORIGIN, True),
        ("http://b.example", True),
        ("http://c.example", False),
        ("http://aXexample", True),  # a pattern
        ("HTTP://A.EXAMPLE", True),
        ("null", False),
        (f"{ORIGIN}:80", False),
        (f"{ORIGIN} http://b.example", True),
        ("", False),
    ],
)
def test_pages_of_allowed_origins_may_read(shared: Client, origin: str, is_allowed: bool) -> None:
    """The headers name the origin, and tell caches that the answer depends on it."""
    answer = shared.call("GET", "/connectors", headers={"Origin": origin})
    assert (answer.status, answer.headers["vary"]) == (200, "Origin")
    assert cors(answer.headers) == ({"access-control-allow-origin": origin} if is_allowed else {})
    asked = shared.call("OPTIONS", "/connectors", headers={"Origin": origin, **PREFLIGHT})
    assert (asked.status, asked.headers["allow"], asked.text) == (
        200,
        "HEAD,POST,GET,OPTIONS",
        "HEAD, POST, GET, OPTIONS",
    )
    expected = {"access-control-allow-origin": origin, "access-control-allow-methods": "PUT,GET", **ALLOWED}
    assert cors(asked.headers) == (expected if is_allowed else {})


def test_refusals_may_be_read_as_well(shared: Client) -> None:
    """A page has to show its user what is wrong."""
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("DELETE", "/connectors", 405),
        ("POST", "/connectors", 500),
    ):
        answer = shared.call(method, path, {} if method == "POST" else None, headers={"Origin": ORIGIN})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, ORIGIN)


def test_all_origins_may_read_if_configured(tmp_path: Path) -> None:
    """With the methods that need no preflight."""
    for client in serve(tmp_path, {"access.control.allow.origin": "*"}):
        answer = client.call("OPTIONS", "/connectors/x", headers={"Origin": "http://any", **PREFLIGHT})
        expected = {
            "access-control-allow-origin": "http://any",
            "access-control-allow-methods": "GET,POST,HEAD",
            **ALLOWED,
        }
        assert cors(answer.headers) == expected


def test_an_invalid_pattern_is_refused_at_the_start() -> None:
    """With the key."""
    with pytest.raises(ConfigError, match=r"'\*\.example' is not a regular expression"):
        WorkerConfig({**WORKER, "access.control.allow.origin": "*.example"})


def test_a_listener_for_admins_serves_nothing_else(shared: Client) -> None:
    """Neither the other resources nor their headers; the other listeners do not serve `/admin`."""
    first, second, admin = shared.ports
    for path in ("/", "/connectors", "/health", "/nowhere"):
        answer = shared.call("GET", path, port=admin)
        assert (answer.status, answer.text) == error(404, "HTTP 404 Not Found")
        assert not {"vary", "x-a"} & set(answer.headers)
    for port in (first, second):
        assert shared.call("GET", "/connectors", port=port).headers["x-a"] == "1"
        assert shared.call("GET", "/admin/loggers", port=port).status == 404


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/connectors/a%2fb", "Ambiguous URI path separator; a connector of this name answers at {}?name=a%2Fb"),
        ("/connectors/a%252fb", "Ambiguous URI path encoding; a connector of this name answers at {}?name=a%252fb"),
        (
            "/connectors/%2e%2e/tasks",
            "Ambiguous URI path segment; a connector of this name answers at {}/tasks?name=..",
        ),
        ("/connectors/%2E", "Ambiguous URI path segment; a connector of this name answers at {}?name=."),
        ("/connectors/c/a%2fb", "Ambiguous URI path separator"),
        ("/connectors//tasks", "Ambiguous URI empty segment"),
        ("/plugins/a%2fb", "Ambiguous URI path separator"),
        ("/connectors/a%2fb/%5C", "Ambiguous URI path separator"),
        ("/connectors/%zz", "Bad Request"),
        ("/connectors/c%", "Bad Request"),
        ("/connectors/c%00", "Bad Request"),
        ("/connectors/c%0a", "Suspicious Path Character; a connector of this name answers at {}?name=c%0A"),
        ("/connectors/a%5Cb", "Suspicious Path Character; a connector of this name answers at {}?name=a%5Cb"),
        ("/connectors/a|b", "Illegal Path Character; a connector of this name answers at {}?name=a%7Cb"),
        ("/connectors/{x}", "Illegal Path Character; a connector of this name answers at {}?name=%7Bx%7D"),
        ("/connectors/[x]", "Illegal Path Character; a connector of this name answers at {}?name=%5Bx%5D"),
        ("/connectors/%ff", "Bad Request"),
        ("/connectors/%C3/status", "Bad Request"),
    ],
)
def test_a_path_that_somebody_may_read_otherwise_is_refused(shared: Client, path: str, reason: str) -> None:
    """In the words of Java's server, and with the path that takes a connector of such a name."""
    answer = shared.call("GET", path)
    assert (answer.status, answer.text) == error(400, reason.format("/hearth/connectors"))


def test_parameters_of_a_path_are_ignored(client: Client) -> None:
    """Java's server drops them; a semicolon that is part of a name is written `%3B`."""
    client.create("c")
    assert client.call("GET", "/connectors;a=b").text == '["c"]'
    assert client.call("GET", "/connectors/c;a=b/config;d").json["name"] == "c"
    assert client.call("GET", "/connectors/c%3Ba").json["message"] == "Connector c;a not found"
