"""The listeners of the REST server."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from hearth.config import WorkerConfig
from hearth.foundation.port import PortTaken
from hearth.rest.listener import advertised_url, open_listeners, parse_listener, worker_id
from hearth_api import ConfigError
from tests.reservation import reserve_port
from tests.unit.herder.catalogue import WORKER
from tests.unit.rest.client import pem


def worker(listeners: str, **more: str) -> WorkerConfig:
    """Return a worker with these listeners."""
    return WorkerConfig({**WORKER, "listeners": listeners, **more})


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port"),
    [
        ("http://:8083", "http", "", 8083),
        ("HTTP://localhost:0", "http", "localhost", 0),
        ("https://[::1]:1", "https", "::1", 1),
    ],
)
def test_a_listener_is_a_scheme_a_host_and_a_port(url: str, scheme: str, host: str, port: int) -> None:
    """Without a host it listens on all interfaces."""
    address = parse_listener(url)
    assert (address.scheme, address.host, address.port) == (scheme, host, port)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://:8083", 'Listener protocol must be either "http" or "https".'),
        ("http://:port", "right format"),
        ("http://:99999", "right format"),
        ("http://localhost", "right format"),
        ("localhost:8083", "right format"),
    ],
)
def test_an_invalid_listener_is_rejected(url: str, says: str) -> None:
    """The error has the key, the value and the remedy."""
    with pytest.raises(ConfigError, match=says) as caught:
        parse_listener(url)
    assert "listeners" in str(caught.value)
    assert caught.value.hint


def test_a_port_in_use_is_reported_with_its_key() -> None:
    """The hint has another port."""
    port = reserve_port()
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(PortTaken, match=rf"port {port} of listeners='http://127\.0\.0\.1:{port}' is taken") as caught,
    ):
        open_listeners(worker(f"http://127.0.0.1:{port}"))
    assert caught.value.code.startswith("environment.")
    assert str(port + 1) in str(caught.value.hint)


def test_the_next_free_port_is_used_on_request() -> None:
    """For the quickstart, which prints its address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (opened,) = open_listeners(worker(f"http://127.0.0.1:{port}"), free_port=True)
    assert opened.port > port
    opened.close()


def test_a_failure_closes_what_was_opened_before() -> None:
    """No socket leaks."""
    first = reserve_port()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken):
            open_listeners(worker(f"http://127.0.0.1:{first},http://127.0.0.1:{port}"))
        socket.create_server(("127.0.0.1", first)).close()


def test_a_host_of_another_machine_is_rejected() -> None:
    """Without a stack trace."""
    with pytest.raises(ConfigError, match="cannot be listened on"):
        open_listeners(worker("http://192.0.2.1:0"))


BOTH = "http://127.0.0.1:0,https://localhost:0"


@pytest.mark.parametrize(
    ("listeners", "more", "expected"),
    [
        ("http://127.0.0.1:0", {}, "http://127.0.0.1:{0}"),
        ("http://127.0.0.1:0", {"rest.advertised.host.name": "me"}, "http://me:{0}"),
        ("http://127.0.0.1:0", {"rest.advertised.host.name": ""}, "http://127.0.0.1:{0}"),
        ("http://127.0.0.1:0", {"rest.advertised.host.name": "me", "rest.advertised.port": "7"}, "http://me:7"),
        ("http://127.0.0.1:0,http://localhost:0", {}, "http://127.0.0.1:{0}"),
        (BOTH, {}, "http://127.0.0.1:{0}"),
        (BOTH, {"rest.advertised.listener": "HTTPS"}, "https://localhost:{1}"),
        ("https://localhost:0", {}, "https://localhost:{0}"),
        ("http://127.0.0.1:0", {"rest.advertised.listener": "https"}, "https://127.0.0.1:{0}"),
    ],
)
def test_others_reach_a_worker_by_the_address_it_advertises(
    listeners: str, more: dict[str, str], expected: str, identity: Path
) -> None:
    """As Java's server determines it; its host and port are in every status."""
    config = worker(listeners, **more, **{"admin.listeners": "http://127.0.0.1:0"}, **pem(identity))
    opened = open_listeners(config)
    try:
        assert [each.is_admin for each in opened] == [False] * len(listeners.split(",")) + [True]
        url = expected.format(*(each.port for each in opened))
        assert advertised_url(config, opened) == url
        assert worker_id(config, opened) == url.partition("://")[2]
    finally:
        for each in opened:
            each.close()


def test_an_empty_host_advertises_this_machine() -> None:
    """With the address of its name, as in Java."""
    config = worker("http://:0")
    (opened,) = open_listeners(config)
    host, _, port = worker_id(config, [opened]).rpartition(":")
    assert host == socket.gethostbyname(socket.gethostname())
    assert int(port) == opened.port
    opened.close()


def test_admin_listeners_need_their_own_ports() -> None:
    """Java's second connector also finds the port in use."""
    port = reserve_port()
    url = f"http://127.0.0.1:{port}"
    with pytest.raises(PortTaken, match=rf"port {port} of admin\.listeners="):
        open_listeners(worker(url, **{"admin.listeners": url}))
