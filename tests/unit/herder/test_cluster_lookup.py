"""A host looks up the id of its cluster, or reports why it cannot."""

from __future__ import annotations

import pytest

from hearth.broker import KafkaBroker
from hearth.herder import cluster_lookup
from hearth.herder.cluster_lookup import TIMEOUT_KEY, BrokerUnreachable, ClusterLookup, client_config
from hearth_api import ConfigError
from tests.reservation import reserve_port


def test_the_lookup_returns_the_cluster_id(broker: KafkaBroker) -> None:
    """A second lookup returns the same."""
    found = set()
    for _ in range(2):
        lookup = ClusterLookup({"bootstrap.servers": broker.bootstrap_servers}, pytest.fail)
        lookup.start()
        found.add(lookup.wait())
    assert len(found) == 1
    assert "" not in found


def test_progress_is_reported_while_no_broker_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key that may be wrong, the reason and the remedy; the worker's own timeout applies."""
    monkeypatch.setattr(cluster_lookup, "PROGRESS_SECONDS", 0.2)
    server, messages = f"127.0.0.1:{reserve_port()}", list[str]()
    lookup = ClusterLookup({"bootstrap.servers": server, TIMEOUT_KEY: "1500"}, messages.append)
    lookup.start()
    with pytest.raises(BrokerUnreachable, match=f"no broker answered at .*'{server}' within 1.5 s: ") as caught:
        lookup.wait()
    assert "Connection refused" in str(caught.value)
    assert "hearth broker" in str(caught.value.hint)
    assert messages
    assert all(f"waiting for a broker at bootstrap.servers={server} (" in each for each in messages)


@pytest.mark.parametrize(
    "settings", [{"admin.librdkafka.no.such": "1"}, {"ssl.cipher.suites": "NONE-SUCH", "security.protocol": "SSL"}]
)
def test_invalid_client_settings_are_reported_at_once(settings: dict[str, str]) -> None:
    """An error of librdkafka is raised without a thread's traceback and without waiting."""
    lookup = ClusterLookup({"bootstrap.servers": f"127.0.0.1:{reserve_port()}", **settings}, pytest.fail)
    lookup.start()
    with pytest.raises(ConfigError, match="librdkafka refuses these client settings: ") as caught:
        lookup.wait()
    assert next(iter(settings)).removeprefix("admin.librdkafka.") in str(caught.value)


def test_the_api_timeout_is_not_passed_to_the_client() -> None:
    """librdkafka has no such key, and no warning must be logged."""
    translation = client_config({"bootstrap.servers": "a:1", TIMEOUT_KEY: "1500"})
    assert translation.config["bootstrap.servers"] == "a:1"
    assert not any(TIMEOUT_KEY in each for each in translation.warnings)
