"""A host finds out which cluster it belongs to, or says why it cannot."""

from __future__ import annotations

import pytest

from hearth.broker import KafkaBroker
from hearth.herder import cluster_lookup
from hearth.herder.cluster_lookup import TIMEOUT_KEY, BrokerUnreachable, ClusterLookup, client_config
from hearth_api import ConfigError
from tests.reservation import reserve_port


def test_cluster_that_answers_is_known_by_its_id(broker: KafkaBroker) -> None:
    """Whoever asks again hears the same."""
    found = set()
    for _ in range(2):
        lookup = ClusterLookup({"bootstrap.servers": broker.bootstrap_servers}, pytest.fail)
        lookup.start()
        found.add(lookup.wait())
    assert len(found) == 1
    assert "" not in found


def test_cluster_that_does_not_answer_is_told_of_while_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key that may be wrong, the reason, and what to do; the worker's own limit is kept."""
    monkeypatch.setattr(cluster_lookup, "PROGRESS_SECONDS", 0.2)
    server, said = f"127.0.0.1:{reserve_port()}", list[str]()
    lookup = ClusterLookup({"bootstrap.servers": server, TIMEOUT_KEY: "1500"}, said.append)
    lookup.start()
    with pytest.raises(BrokerUnreachable, match=f"no broker answered at .*'{server}' within 1.5 s: ") as caught:
        lookup.wait()
    assert "Connection refused" in str(caught.value)
    assert "hearth broker" in str(caught.value.hint)
    assert said
    assert all(f"waiting for a broker at bootstrap.servers={server} (" in each for each in said)


@pytest.mark.parametrize(
    "told", [{"admin.librdkafka.no.such": "1"}, {"ssl.cipher.suites": "NONE-SUCH", "security.protocol": "SSL"}]
)
def test_settings_that_make_no_client_are_told_at_once(told: dict[str, str]) -> None:
    """What librdkafka itself refuses is no trace of a thread, and nothing to wait for."""
    lookup = ClusterLookup({"bootstrap.servers": f"127.0.0.1:{reserve_port()}", **told}, pytest.fail)
    lookup.start()
    with pytest.raises(ConfigError, match="librdkafka refuses these client settings: ") as caught:
        lookup.wait()
    assert next(iter(told)).removeprefix("admin.librdkafka.") in str(caught.value)


def test_limit_of_the_hosts_own_call_is_not_the_clients_affair() -> None:
    """librdkafka has no such key, and nobody is to be warned of it."""
    translation = client_config({"bootstrap.servers": "a:1", TIMEOUT_KEY: "1500"})
    assert translation.config["bootstrap.servers"] == "a:1"
    assert not any(TIMEOUT_KEY in each for each in translation.warnings)
