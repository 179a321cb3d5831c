"""The address that tasks connect to, and the one that a host listens on."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from hearth.spark import address as module
from hearth.spark.address import (
    EVERY_ADDRESS,
    first_answering,
    listening_address,
    master_endpoints,
    own_address,
    silence_of,
)
from hearth.spark.spark_setting import link_host, link_listen, spark_settings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what the machine says of Spark out."""
    for variable in ("SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("master", "endpoints"),
    [
        ("spark://one:7077", [("one", 7077)]),
        ("spark://one:7077,two:7078", [("one", 7077), ("two", 7078)]),
        ("spark://[::1]:7077", [("::1", 7077)]),
        ("k8s://https://api.example:6443", [("api.example", 6443)]),
        ("k8s://api.example:443", [("api.example", 443)]),
        ("yarn", []),
        ("local[4]", []),
        ("spark://nonsense", []),
    ],
)
def test_endpoints_of_a_master_are_read_from_its_url(master: str, endpoints: list[tuple[str, int]]) -> None:
    """Only those that the URL names are known."""
    assert master_endpoints(master) == endpoints


def test_address_is_the_local_end_of_the_route_to_the_master() -> None:
    """Not that of the executor's own machine, which 127.0.0.1 would be."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.77", 7077))
        expected = probe.getsockname()[0]
    assert own_address("spark://192.0.2.77:7077", {}) == expected
    assert own_address("yarn", {}) == expected
    assert own_address("spark://127.0.0.1:7077", {}) == "127.0.0.1"


def test_sparks_environment_variables_set_the_address() -> None:
    """SPARK_LOCAL_HOSTNAME and SPARK_LOCAL_IP mean the same here as for Spark."""
    environment = {"SPARK_LOCAL_IP": "10.1.2.3"}
    assert own_address("spark://127.0.0.1:7077", environment) == "10.1.2.3"
    assert own_address("yarn", {**environment, "SPARK_LOCAL_HOSTNAME": "me.example"}) == "me.example"


def test_machine_without_a_network_uses_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing else to try."""
    monkeypatch.setattr(module, "_way_to", lambda endpoint: None)
    assert own_address("spark://one:7077", {}) == "127.0.0.1"


def test_foreign_address_listens_on_all_interfaces() -> None:
    """Behind a translated address the host listens on all it has."""
    assert listening_address("127.0.0.1") == "127.0.0.1"
    assert listening_address("192.0.2.77") == EVERY_ADDRESS
    assert listening_address("no-such-host.invalid") == EVERY_ADDRESS


@pytest.mark.parametrize(
    ("worker", "advertised", "listened"),
    [
        ({}, "127.0.0.1", "127.0.0.1"),
        ({"spark.master": "spark://127.0.0.1:7077"}, "127.0.0.1", "127.0.0.1"),
        ({"spark.master": "spark://m:7077", "spark.driver.host": "192.0.2.77"}, "192.0.2.77", EVERY_ADDRESS),
        ({"spark.master": "yarn", "spark.driver.host": "h", "spark.driver.bindAddress": "10.0.0.1"}, "h", "10.0.0.1"),
    ],
)
def test_host_and_driver_share_their_addresses(worker: dict[str, str], advertised: str, listened: str) -> None:
    """Executors that reach the one reach the other."""
    settings = spark_settings(worker)
    assert (link_host(settings), link_listen(settings)) == (advertised, listened)
    assert (settings["spark.driver.host"], settings["spark.driver.bindAddress"]) == (advertised, listened)


def test_ipv6_address_has_brackets_only_for_spark() -> None:
    """Sockets take it without."""
    assert own_address("spark://[::1]:7077", {}) == "[::1]"
    assert listening_address("[::1]") == "[::1]"
    settings = spark_settings({"spark.master": "spark://[::1]:7077"})
    assert settings["spark.driver.host"] == "[::1]"
    assert (link_host(settings), link_listen(settings)) == ("::1", "::1")


@pytest.fixture
def listener() -> Iterator[int]:
    """Provide a port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_master_that_does_not_answer_is_noticed_before_spark_gives_up(listener: int) -> None:
    """One of several masters is enough; of YARN's nothing is known."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listened on
        port = nobody.getsockname()[1]
        assert silence_of(f"spark://127.0.0.1:{port}") == f"127.0.0.1:{port}: Connection refused"
        assert silence_of(f"spark://127.0.0.1:{port},127.0.0.1:{listener}") is None
    assert silence_of("yarn") is None


def test_first_answering_master_of_a_url_is_found() -> None:
    """One of several masters may be away; a master of another kind speaks another language."""
    with socket.socket() as somebody, socket.socket() as nobody:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        nobody.bind(("127.0.0.1", 0))
        here, away = somebody.getsockname(), nobody.getsockname()
        assert first_answering(f"spark://127.0.0.1:{away[1]},127.0.0.1:{here[1]}") == here
        assert first_answering(f"spark://127.0.0.1:{away[1]}") is None
        assert first_answering(f"k8s://127.0.0.1:{here[1]}") is None
