"""Clients of a host and of its tasks on Spark log in with signed tokens, which a broker checks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hearth.discovery import discover
from hearth.herder.cluster_lookup import ClusterLookup
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.token_stage import TokenProviders
from hearth.isolation.environment_store import EnvironmentStore
from hearth.kafka.token import desk
from hearth_api import ConnectError
from tests.crash.process import tree
from tests.integration.kafka.token_issuer import CLASS, PASSWORD, Issuer, Key, TokenBroker, bundle, token_broker
from tests.integration.numbered_lines import NumberedLines
from tests.peer.distributed import HearthDistributed
from tests.peer.hearth_connect import file_bundle
from tests.timeouts import TIMEOUT, eventually

KEY = Key()
STRING = "org.apache.kafka.connect.storage.StringConverter"
SECONDS = 20
"""A worker would wait for a minute."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenBroker]:
    """Run a broker that accepts tokens of one key."""
    found = token_broker(tmp_path_factory.mktemp("tokens"), {"keys": [KEY.public()]})
    with found.broker:
        yield found


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """Run an issuer that signs with that key."""
    found = Issuer(KEY)
    yield found
    found.close()


@pytest.fixture
def providers(tmp_path: Path) -> Iterator[TokenProviders]:
    """Provide this process's clients with tokens, as a host does."""
    found = discover([bundle(tmp_path)])
    providers = TokenProviders(PluginDirectory(lambda: found, EnvironmentStore(tmp_path / "environments")))
    withdraw = desk.offer(providers.token)
    yield providers
    withdraw()
    providers.close()


def look_up(settings: dict[str, str]) -> str:
    """Look up the cluster, as a host does."""
    lookup = ClusterLookup({"default.api.timeout.ms": "60000", **settings}, lambda text: None)
    lookup.start()
    return lookup.wait()


def test_a_signed_token_logs_in(brokers: TokenBroker, issuer: Issuer, providers: TokenProviders) -> None:
    """The provider of a bundle was called once for all clients."""
    assert look_up(issuer.settings(brokers.servers)) == look_up(issuer.settings(brokers.servers))
    assert len(issuer.given) == 1


def forged(issuer: Issuer) -> dict[str, str]:
    """Sign with another key."""
    issuer.key = Key()
    return {}


def over(issuer: Issuer) -> dict[str, str]:
    """Sign with a clock that is two hours slow."""
    issuer.skew = -7200
    return {}


def over_at_the_broker(issuer: Issuer) -> dict[str, str]:
    """Sign a token that has expired by the broker's clock and not by this machine's."""
    sign = issuer.key.token
    issuer.key = Key()
    issuer.key.token = lambda issued_at, ends_at: sign(issued_at - 7200, ends_at - 7200)  # type: ignore[method-assign]
    return {}


def down(issuer: Issuer) -> dict[str, str]:
    """Sign nothing."""
    issuer.is_down = True
    return {}


def stranger(issuer: Issuer) -> dict[str, str]:
    """Request a token without being known."""
    return {"sasl.jaas.config": issuer.jaas("falsch")}


def unknown_class(issuer: Issuer) -> dict[str, str]:
    """Name a class that does not exist."""
    return {"sasl.login.callback.handler.class": "org.example.IssuerTokenProvide"}


@pytest.mark.parametrize(
    ("mistake", "text", "remedy"),
    [
        (
            forged,
            rf"^sasl\.login\.callback\.handler\.class='{CLASS}': brokers refuse the token of {CLASS}: .*inv",
            "principal",
        ),
        (over_at_the_broker, r"brokers refuse the token of .*invalid_token", "clocks"),
        (over, rf"the token provider {CLASS} provides no token: the token expired \d+ s ago by the clock", "clocks"),
        (down, rf"the token provider {CLASS} provides no token: .*503", ""),
        (stranger, rf"the token provider {CLASS} provides no token: .*401", ""),
        (unknown_class, r"handler\.class: no token provider is named 'org\.example\.IssuerTokenProvide'$", CLASS),
    ],
)
def test_a_token_mistake_is_reported_within_seconds(
    brokers: TokenBroker, issuer: Issuer, providers: TokenProviders, mistake: object, text: str, remedy: str
) -> None:
    """By its key if it has one, and in the provider's words if they say more; without token and password."""
    assert callable(mistake)
    wrong = mistake(issuer)
    started = time.monotonic()
    with pytest.raises(ConnectError, match=text) as caught:
        look_up(issuer.settings(brokers.servers) | wrong)
    assert time.monotonic() - started < SECONDS
    assert remedy in str(caught.value.hint)
    for secret in (*issuer.given, PASSWORD, "falsch"):
        assert secret not in f"{caught.value} {caught.value.hint}"


class Watched(HearthDistributed):
    """A host that keeps its whole output, with the provider's bundle on its plugin.path."""

    kept_lines = 1_000_000

    def _plugin_path(self) -> str:
        return f"{file_bundle()},{bundle(self.folder)}"


def shown(host: Watched, lines: NumberedLines) -> str:
    """Return all public output of a host: its log, its responses, its command lines."""
    commands = []
    for process in tree(host.pid):
        try:
            commands.append(Path(f"/proc/{process.pid}/cmdline").read_text())
        except OSError:
            continue
    paths = [f"/connectors/{config['name']}/status" for config in lines.configs()]
    answers = [host.rest.call("GET", path).text for path in (*paths, "/connectors?expand=status", "/admin/loggers")]
    return "\n".join([host.last_words(), *commands, *answers])


@pytest.mark.slow
def test_tokens_are_renewed_while_tasks_run(brokers: TokenBroker, issuer: Issuer, tmp_path: Path) -> None:
    """By then all clients have new tokens: those of the host, of a source's transactions, of a sink, of dead letters.

    An issuer that is down or hangs for less than a token's life has no effect. One that is down for longer stops the
    flow without failing a task, and the flow resumes when it is back.
    """
    issuer.seconds = 18.0
    worker_settings = {
        **issuer.settings(brokers.servers, ("", "producer.", "consumer.", "admin.")),
        "key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "500",
        "exactly.once.source.support": "enabled", "consumer.isolation.level": "read_committed",
    }  # fmt: skip
    host = Watched(tmp_path, brokers.servers, "tokens", worker_settings)
    with ExitStack() as opened:
        opened.enter_context(host)
        lines = opened.enter_context(NumberedLines(tmp_path, "numbers"))
        letters = {
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": "numbers-dead",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }
        made = {
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
            "offsets.storage.topic": "numbers-own",
        }
        source, sink = lines.configs()
        host.run({**source, **made})
        host.run({**sink, **letters})
        assert lines.flows(), host.last_words()
        offsets = host.rest.call("GET", f"/connectors/{sink['name']}/offsets")
        assert offsets.status == 200, offsets.text
        changed = {**source, **made, "batch.size": "100"}  # which fences the running task
        assert host.rest.call("PUT", f"/connectors/{source['name']}/config", changed).status == 200
        assert lines.flows(), host.last_words()
        lines.arrivals.forget_gaps()
        given = len(issuer.given)
        assert eventually(lambda: len(issuer.given) >= given + 2, TIMEOUT), "no token was renewed"
        issuer.is_down = True
        time.sleep(2)
        issuer.is_down = False
        assert lines.flows(), host.last_words()
        issuer.free.clear()
        time.sleep(2)
        issuer.free.set()
        time.sleep(1.1 * issuer.seconds)
        assert lines.flows(), host.last_words()
        gap = lines.arrivals.longest_gap
        assert gap < issuer.seconds, f"nothing arrived for {gap:.1f} s"
        issuer.is_down = True
        time.sleep(1.3 * issuer.seconds)
        issuer.is_down = False
        assert lines.flows(), host.last_words()
        states = [host.rest.states(config["name"]) for config in lines.configs()]
        assert states == [["RUNNING", "RUNNING"]] * 2
        assert lines.is_complete(), host.last_words()
        assert lines.arrivals.faults == []
        seen = shown(host, lines)
    assert CLASS in seen, "no log line names the token provider"
    assert [token for token in issuer.given if token in seen] == []
    assert PASSWORD not in seen
