"""What is refused before anybody looks at a request's body."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.rest.client import Client, error, serve


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve for all of these requests, which change nothing."""
    yield from serve(tmp_path_factory.mktemp("endpoint"))


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/", "HEAD,GET,OPTIONS"),
        ("/connectors", "HEAD,POST,GET,OPTIONS"),
        ("/connectors/c/config", "HEAD,GET,OPTIONS,PUT,PATCH"),
        ("/connectors/c/offsets", "HEAD,DELETE,GET,OPTIONS,PATCH"),
        ("/connectors/c/restart", "POST,OPTIONS"),
    ],
)
def test_a_path_tells_its_methods(client: Client, path: str, allow: str) -> None:
    """In Java's order; a refusal tells them, too."""
    answer = client.call("OPTIONS", path)
    assert (answer.status, answer.headers["allow"], answer.text) == (200, allow, allow.replace(",", ", "))
    refused = client.call("LINK", path)
    assert (refused.status, refused.text) == error(405, "HTTP 405 Method Not Allowed")
    assert refused.headers["allow"] == allow


@pytest.mark.parametrize(
    ("accept", "is_accepted"),
    [("*/*", True), ("application/*", True), ("text/html, application/json;q=0", True), ("", True),
     ("text/html", False), ("garbage", False), ("text/*", False)],
)  # fmt: skip
def test_what_a_client_does_not_take_is_not_made(client: Client, accept: str, is_accepted: bool) -> None:
    """Nothing of the request takes place."""
    answer = client.call("GET", "/connectors", headers={"Accept": accept})
    assert (answer.status, answer.text) == ((200, "[]") if is_accepted else error(406, "HTTP 406 Not Acceptable"))


def test_what_comes_first_is_told(client: Client) -> None:
    """The method, then what a request brings, then what it wants."""
    html = {"Accept": "text/html"}
    assert client.call("DELETE", "/connectors", "x", "text/plain", html).status == 405
    assert client.call("POST", "/connectors", "x", "text/plain", html).status == 415
    assert client.call("POST", "/connectors", "x", headers=html).status == 406


def test_workers_among_themselves_are_told_that_this_one_works_alone(client: Client) -> None:
    """In Kafka Connect's words, whatever they send."""
    told = client.call("POST", "/connectors/c/tasks", "[]", None)
    assert (told.status, told.text) == error(
        500, "Kafka Connect in standalone mode does not support externally setting task configurations."
    )
    assert client.call("PUT", "/connectors/c/fence", "x", "text/plain").status == 500
