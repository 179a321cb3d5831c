"""Where the REST server listens."""

from __future__ import annotations

import socket

import pytest

from hearth.config import WorkerConfig
from hearth.foundation.port import PortTaken
from hearth.rest.listener import open_listeners, parse_listener, worker_id
from hearth_api import ConfigError
from tests.unit.herder.catalogue import WORKER


def worker(listeners: str, **more: str) -> WorkerConfig:
    """Return a worker with these listeners."""
    return WorkerConfig({**WORKER, "listeners": listeners, **more})


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [("http://:8083", "", 8083), ("http://localhost", "localhost", 8083), ("http://[::1]:1", "::1", 1)],
)
def test_a_listener_is_a_host_and_a_port(url: str, host: str, port: int) -> None:
    """No host is every interface."""
    address = parse_listener(url)
    assert (address.host, address.port) == (host, port)


@pytest.mark.parametrize(
    ("url", "says"),
    [("https://:8083", "asks for https"), ("http://:port", "is no URL"), ("http://:99999", "is no URL")],
)
def test_what_cannot_be_served_is_refused(url: str, says: str) -> None:
    """The key, the value and what to do."""
    with pytest.raises(ConfigError, match=says) as caught:
        parse_listener(url)
    assert "listeners" in str(caught.value)
    assert caught.value.hint


def test_a_taken_port_is_named_with_its_key() -> None:
    """The hint has another port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            PortTaken, match=rf"port {port} of listeners='http://127\.0\.0\.1:{port}' is taken"
        ) as caught:
            open_listeners(worker(f"http://127.0.0.1:{port}"))
    assert caught.value.code.startswith("environment.")
    assert str(port + 1) in str(caught.value.hint)


def test_the_next_free_port_is_taken_on_request() -> None:
    """For the quickstart, which says where it listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (opened,) = open_listeners(worker(f"http://127.0.0.1:{port}"), free_port=True)
    with opened:
        assert opened.getsockname()[1] > port


def test_a_failure_closes_what_was_opened_before() -> None:
    """No socket leaks."""
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        port, first = taken.getsockname()[1], free.getsockname()[1]
        free.close()
        with pytest.raises(PortTaken):
            open_listeners(worker(f"http://127.0.0.1:{first},http://127.0.0.1:{port}"))
        socket.create_server(("127.0.0.1", first)).close()


def test_a_host_of_another_machine_is_refused() -> None:
    """Not a stack trace."""
    with pytest.raises(ConfigError, match="cannot be listened on"):
        open_listeners(worker("http://192.0.2.1:0"))


@pytest.mark.parametrize(
    ("listeners", "more", "expected"),
    [
        ("http://127.0.0.1:0", {}, "127.0.0.1:{port}"),
        ("http://127.0.0.1:0", {"rest.advertised.host.name": "me"}, "me:{port}"),
        ("http://127.0.0.1:0", {"rest.advertised.host.name": "me", "rest.advertised.port": "7"}, "me:7"),
    ],
)
def test_a_worker_is_known_by_where_it_is_reached(listeners: str, more: dict[str, str], expected: str) -> None:
    """It stands in every status."""
    config = worker(listeners, **more)
    sockets = open_listeners(config)
    assert worker_id(config, sockets) == expected.format(port=sockets[0].getsockname()[1])
    sockets[0].close()
