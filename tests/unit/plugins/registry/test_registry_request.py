"""Requests to a registry: alternating addresses, retries, waits, timeouts, and invalid answers."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hearth_api import STRING_SCHEMA, ConfigError, DataError
from hearth_registry.avro_converter import AvroConverter
from hearth_registry.credential import BasicCredential
from hearth_registry.open_registry import requests_of
from hearth_registry.registry import RegistryAway, RegistryRefusal, RegistrySlow
from hearth_registry.registry_request import LARGEST_ANSWER, Endpoint, RegistryRequests, RetryBudget
from hearth_registry.registry_setting import RegistrySettings
from tests.registry_server import RegistryServer, serving
from tests.timeouts import TIMEOUT


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    """Serve a registry that answers every request with one that says who asked."""
    with serving() as server:
        server.fault = lambda _method, _path: (200, b'{"ok":1}')
        yield server


def free_url() -> str:
    """Return an unreachable address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def answering(*pieces: bytes) -> Iterator[str]:
    """Serve one connection with these bytes, and then keep silent."""
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            try:
                for piece in pieces:
                    connection.sendall(piece)
                done.wait(TIMEOUT)
            except OSError:
                pass  # who asked has heard enough

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        done.set()
        thread.join()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_transient_failure_is_retried_before_the_next_address(server: RegistryServer, status: int) -> None:
    """Each wait is a random part of a doubling interval; the address that answered is tried first afterwards."""
    waits: list[float] = []
    with serving() as second:
        server.fault = lambda _method, _path: (status, b"{}")
        second.fault = lambda _method, _path: (200, b"2")
        requests = RegistryRequests(
            [server.url, second.url], retry_budget=RetryBudget(2, 1000, 1500), sleep=waits.append
        )
        assert [requests.send("GET", "/x") for _ in range(2)] == [2, 2]
        assert (len(server.requests), len(second.requests)) == (3, 2)
    assert len(waits) == 2
    assert 0 < waits[0] <= 1
    assert 0 < waits[1] <= 1.5


def test_another_refusal_stops_at_once(server: RegistryServer) -> None:
    """No other address and no other attempt makes it a yes."""
    server.fault = lambda _method, _path: (409, b'{"error_code":40901,"message":"incompatible"}')
    requests = RegistryRequests([server.url, free_url()], sleep=lambda _: pytest.fail("it waits"))
    with pytest.raises(RegistryRefusal, match=r"^incompatible; error code: 40901$") as caught:
        requests.send("POST", "/x", {})
    assert (caught.value.status, caught.value.error_code, len(server.requests)) == (409, 40901, 1)


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("", b"", "schema.registry.url may lack its path: .* answers below http://127.0.0.1:[0-9]+/apis/ccompat/v7"),
        ("/", b'{"detail":"RESTEASY003210","status":404}', "may lack its path"),
        ("", b'{"error_code":404,"message":"HTTP 404 Not Found"}', "may lack its path"),
        ("/apis/ccompat/v9", b"<html>", "no registry answers below http://.*/apis/ccompat/v9: see whether"),
        ("", b'{"error_code":40401,"message":"Subject not found."}', None),
    ],
)
def test_a_404_without_the_registrys_code_hints_at_the_path(
    server: RegistryServer, path: str, body: bytes, hint: str | None
) -> None:
    """The registry's own have a code of five digits; the converter shows the hint as well."""
    server.fault = lambda _method, _path: (404, body)
    with pytest.raises(RegistryRefusal) as caught:
        RegistryRequests([server.url + path]).send("POST", "/subjects/a/versions", {})
    assert (caught.value.hint is None) if hint is None else re.match(f".*{hint}", str(caught.value.hint))
    converter = AvroConverter()
    converter.configure({"schema.registry.url": server.url + path}, False)
    with pytest.raises(DataError, match="Failed to serialize Avro data from topic t:") as failed:
        converter.from_connect_data("t", STRING_SCHEMA, "x")
    assert (failed.value.hint is None) if hint is None else re.match(f".*{hint}", str(failed.value.hint))


def test_unreachable_addresses_fail_over_to_the_next(server: RegistryServer, caplog: pytest.LogCaptureFixture) -> None:
    """The log says which one, and what was asked; what is secret in an address it does not say."""
    away = free_url().replace("http://", "http://user:secret@")
    requests = RegistryRequests([away, server.url], retry_budget=RetryBudget(0))
    assert requests.send("GET", "/subjects/a-value") == {"ok": 1}
    assert f"{away.replace('user:secret@', '')}/subjects/a-value" in caplog.text
    assert "secret" not in caplog.text
    with pytest.raises(RegistryAway, match="Connection refused"):
        RegistryRequests([free_url()], retry_budget=RetryBudget(0)).send("GET", "/x")


@pytest.mark.parametrize(
    "pieces",
    [[], [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"]],
    ids=["nothing", "a beginning"],
)
def test_a_silent_registry_times_out(pieces: list[bytes]) -> None:
    """However much of an answer there was."""
    with answering(*pieces) as url, pytest.raises(RegistrySlow):
        RegistryRequests([url], Endpoint(read_timeout=0.05), RetryBudget(0)).send("GET", "/x")


def test_an_answer_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, whatever the registry sends."""
    monkeypatch.setattr("hearth_registry.registry_request.LARGEST_ANSWER", 100_000)
    assert LARGEST_ANSWER == 64 << 20
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with answering(head, chunk, chunk, chunk) as url, pytest.raises(RegistryAway, match="more than 100000 bytes"):
        RegistryRequests([url], retry_budget=RetryBudget(0)).send("GET", "/x")


def test_a_response_that_is_not_http_counts_as_unreachable() -> None:
    """As does an address that hangs up."""
    with answering(b"SSH-2.0-OpenSSH_9\r\n") as url, pytest.raises(RegistryAway):
        RegistryRequests([url], retry_budget=RetryBudget(0)).send("GET", "/x")


def test_a_truncated_answer_is_an_error(server: RegistryServer) -> None:
    """Its beginning could be valid JSON."""
    server.announced = 10
    with pytest.raises(RegistryAway, match="IncompleteRead"):
        RegistryRequests([server.url], retry_budget=RetryBudget(0)).send("GET", "/x")


def test_headers_and_credentials_go_with_every_request(server: RegistryServer) -> None:
    """Those of the configuration too; user and password of an address only where the keys say so."""
    url = server.url.replace("http://", "http://a:b%40@")
    keys = {"schema.registry.url": url + "/base/", "request.header.X-Own": "1", "max.retries": "0"}
    requests_of(RegistrySettings(keys)).send("GET", "/x")
    requests_of(RegistrySettings({**keys, "basic.auth.credentials.source": "URL"})).send("GET", "/x")
    assert server.requests == ["GET /base/x"] * 2
    assert [each.get("X-Own") for each in server.headers] == ["1", "1"]
    assert [each.get("Authorization") for each in server.headers] == [None, "Basic YTpiQA=="]


def test_an_invalid_header_is_refused_by_configure() -> None:
    """So are letters that HTTP has not."""
    for value in ("two\nlines", "\u4e2d"):
        with pytest.raises(ConfigError, match=r"request\.header\.X: it has characters that no header may have"):
            requests_of(RegistrySettings({"schema.registry.url": "http://a", "request.header.X": value}))


def test_requests_go_through_a_proxy(server: RegistryServer) -> None:
    """It is given the whole address."""
    proxy: Any = {"proxy.host": "127.0.0.1", "proxy.port": str(server.server_address[1])}
    settings = RegistrySettings({"schema.registry.url": "http://registry.invalid:8081", **proxy})
    assert requests_of(settings).send("GET", "/x") == {"ok": 1}
    assert server.requests == ["GET http://registry.invalid:8081/x"]


@pytest.mark.parametrize("url", ["localhost:8081", "ftp://a", "http://", "http://a:port", ""])
def test_an_invalid_address_is_refused_by_configure(url: str) -> None:
    """And not when the first record comes."""
    with pytest.raises(ConfigError, match=r"schema\.registry\.url: not an address"):
        RegistryRequests([url], credential=BasicCredential())


def test_beginning_with_any_address_keeps_the_others_in_turn() -> None:
    """So that many tasks do not all ask the first."""
    urls = [f"http://h{number}:1" for number in range(5)]
    keys = {"schema.registry.url": ",".join(urls), "schema.registry.url.randomize": "true"}
    found = {requests_of(RegistrySettings(keys)).addresses for _ in range(60)}
    assert 1 < len(found) <= 5
    assert all(sorted(each) == urls for each in found)
