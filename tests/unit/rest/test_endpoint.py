"""Rejections before the body is read."""

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
def test_a_path_lists_its_methods(client: Client, path: str, allow: str) -> None:
    """In Java's order, also in rejections."""
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
def test_an_unacceptable_media_type_is_rejected(client: Client, accept: str, is_accepted: bool) -> None:
    """Nothing of the request is carried out."""
    answer = client.call("GET", "/connectors", headers={"Accept": accept})
    assert (answer.status, answer.text) == ((200, "[]") if is_accepted else error(406, "HTTP 406 Not Acceptable"))


def test_checks_have_javas_order(client: Client) -> None:
    """Method, content type, accepted types."""
    html = {"Accept": "text/html"}
    assert client.call("DELETE", "/connectors", "x", "text/plain", html).status == 405
    assert client.call("POST", "/connectors", "x", "text/plain", html).status == 415
    assert client.call("POST", "/connectors", "x", headers=html).status == 406


def test_internal_requests_to_a_standalone_worker_are_rejected(client: Client) -> None:
    """With Kafka Connect's messages, whatever their content type."""
    refused = client.call("POST", "/connectors/c/tasks", "[]", None)
    assert (refused.status, refused.text) == error(
        500, "Kafka Connect in standalone mode does not support externally setting task configurations."
    )
    assert client.call("PUT", "/connectors/c/fence", "x", "text/plain").status == 500
