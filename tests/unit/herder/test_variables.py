"""Connectors with variables in their configurations: who receives the values, and who must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hearth.config.variable import Variables
from hearth.storage import RestartRequest, State, TargetState
from hearth_api import ConfigError, ConnectError
from hearth_api.worker import ConfigData, ConfigProvider
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.fake import Bench

SECRET = "geheim"


class Vault(ConfigProvider):
    """Has one value, which a test may change, with a time to live."""

    def __init__(self) -> None:
        self.value = SECRET
        self.ttl: int | None = None
        self.is_broken = False
        self.asked = 0
        self.opens = Event()
        self.opens.set()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the value for any key."""
        self.asked += 1
        self.opens.wait()
        if self.is_broken:
            raise ConfigError("the vault is sealed")
        return ConfigData(dict.fromkeys(keys or (), self.value), self.ttl)


@dataclass
class RestartTimer:
    """A timer that a test fires."""

    seconds: float
    act: Callable[[], None]
    is_off: bool = False

    def cancel(self) -> None:
        """Call it off."""
        self.is_off = True


@pytest.fixture
def alarms() -> list[RestartTimer]:
    """Provide the timers that were set."""
    return []


@pytest.fixture
def vault() -> Vault:
    """Provide the provider of the secret."""
    return Vault()


@pytest.fixture
def bench(tmp_path: Path, vault: Vault, alarms: list[RestartTimer]) -> Iterator[Bench]:
    """Provide a herder whose connectors may use the vault."""

    def later(seconds: float, act: Callable[[], None]) -> RestartTimer:
        alarms.append(RestartTimer(seconds, act))
        return alarms[-1]

    made = Bench(tmp_path, variables=Variables({"vault": vault}), later=later)
    yield made
    made.herder.shut_down()


def shown(bench: Bench) -> str:
    """Return everything that REST shows and the store holds of the connector."""
    view, entry = bench.herder.view, bench.configs.snapshot().find("c")
    assert entry is not None
    stored = [entry.config, entry.applied, *entry.tasks]
    return json.dumps([view.info("c"), view.connector("c"), view.tasks("c"), stored])


def test_values_reach_only_connector_and_tasks(bench: Bench) -> None:
    """The connector derives its task configurations from them; stored ones have the variables."""
    bench.put("c", file="${vault:p:k}", producer_override_client_id="id-${vault:p:k}", tasks="2", tasks_max="2")
    bench.await_task("c", State.RUNNING, 1)
    plan = bench.spark.newest("c", 1).plan
    assert (plan.task_config["file"], plan.task_config["number"]) == (SECRET, "1")
    assert plan.source is not None
    assert plan.source.producer["client.id"] == f"id-{SECRET}"
    assert SECRET not in repr(plan)
    assert SECRET not in shown(bench)
    assert bench.herder.view.tasks("c")[0]["config"]["file"] == "${vault:p:k}"


def test_a_start_looks_a_variable_up_once(bench: Bench, vault: Vault) -> None:
    """The check before a restart, the instance and all tasks use the same value."""
    bench.put("c", file="${vault:p:k}", tasks="2", tasks_max="2")
    bench.await_task("c", State.RUNNING, 1)
    vault.asked = 0
    bench.herder.restart(RestartRequest("c", include_tasks=True)).result(30)
    assert eventually(lambda: len(bench.spark.runs) == 4, TIMEOUT)
    assert vault.asked == 1
    assert [run.plan.task_config["file"] for run in bench.spark.runs] == [SECRET] * 4


def test_a_restart_with_flags_is_answered_while_a_provider_hangs(bench: Bench, vault: Vault) -> None:
    """The variable is resolved when the restart is carried out, after the response."""
    bench.put("c", file="${vault:p:k}")
    bench.await_task("c", State.RUNNING)
    vault.opens.clear()
    plan = bench.herder.restart(RestartRequest("c", include_tasks=True)).result(30)
    assert plan["tasks"][0]["state"] == "RESTARTING"
    vault.opens.set()
    assert eventually(lambda: len(bench.spark.runs) == 2, TIMEOUT)


def test_a_reported_failure_hides_values(bench: Bench) -> None:
    """A plugin's message may contain them."""
    bench.put("c", file="${vault:p:k}", complain="cannot open ${vault:p:k}")
    bench.await_connector("c", State.FAILED)
    assert "cannot open ${vault:p:k}" in bench.connector("c")["connector"]["trace"]
    bench.spark.report(bench.spark.newest("c", 0), State.FAILED, f"no {SECRET} there")
    bench.await_task("c", State.FAILED)
    assert bench.connector("c")["tasks"][0]["trace"] == "no ${vault:p:k} there"
    assert SECRET not in shown(bench)


def test_the_error_of_a_failed_start_hides_values(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """In the response and in the log."""
    with pytest.raises(ConnectError, match=r"Invalid value \$\{vault:p:k\} for") as caught:
        bench.put("c", plugin_call_timeout_ms="${vault:p:k}")
    assert SECRET not in str(caught.value)
    assert "the connector is FAILED" in caplog.text
    assert SECRET not in caplog.text


def test_a_rejection_hides_values(bench: Bench) -> None:
    """Kafka Connect's messages quote invalid values."""
    with pytest.raises(ConfigError) as caught:
        bench.put("c", batch_size="${vault:p:k}")
    assert "Invalid value ${vault:p:k} for configuration batch.size: Not a number of type INT" in str(caught.value)
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": "${vault:p:k}", "file": "f"}
    answer = bench.herder.validate(config).result(30)
    values = {each["value"]["name"]: each["value"]["value"] for each in answer["configs"]}
    assert (values["topic"], values["file"], answer["error_count"]) == ("${vault:p:k}", "f", 0)


def test_every_start_looks_variables_up_again(bench: Bench, vault: Vault) -> None:
    """For a task, an instance, and one that was stopped meanwhile."""
    bench.put("c", file="${vault:p:k}")
    vault.value = "second"
    bench.herder.restart_task("c", 0).result(30)
    assert bench.spark.newest("c", 0).plan.task_config["file"] == "second"
    bench.herder.want("c", TargetState.STOPPED).result(30)
    vault.value = "third"
    bench.herder.want("c", TargetState.STARTED).result(30)
    bench.await_task("c", State.RUNNING)
    assert bench.spark.newest("c", 0).plan.task_config["file"] == "third"


def test_a_start_fails_if_a_value_is_unavailable(bench: Bench, vault: Vault) -> None:
    """The status has the reason; the start may be retried."""
    bench.put("c", file="${vault:p:k}")
    vault.is_broken = True
    with pytest.raises(ConfigError, match="the vault is sealed"):
        bench.herder.restart_connector("c").result(30)
    assert "the vault is sealed" in bench.connector("c")["connector"]["trace"]
    vault.is_broken = False
    bench.herder.restart_connector("c").result(30)
    bench.await_connector("c", State.RUNNING)


def test_a_connector_restarts_when_its_values_expire(bench: Bench, vault: Vault, alarms: list[RestartTimer]) -> None:
    """So do its tasks if the values have changed; only one timer is pending at any time."""
    vault.ttl = 5000
    bench.put("c", file="${vault:p:k}")
    bench.await_task("c", State.RUNNING)
    assert [each.seconds for each in alarms if not each.is_off] == [5]
    asked, runs = vault.asked, len(bench.spark.runs)
    alarms[-1].act()
    bench.settle("c")
    assert vault.asked > asked
    assert len(bench.spark.runs) == runs
    vault.value = "second"
    alarms[-1].act()
    assert eventually(lambda: bench.spark.newest("c", 0).plan.task_config["file"] == "second", TIMEOUT)
    bench.herder.delete("c").result(30)
    assert all(each.is_off for each in alarms)


@pytest.mark.parametrize(("action", "ttl"), [("none", 5000), ("restart", None)])
def test_a_connector_does_not_restart_without_ttl_or_reload_action(
    bench: Bench, vault: Vault, alarms: list[RestartTimer], action: str, ttl: int | None
) -> None:
    """Both the provider and the configuration must request it."""
    vault.ttl = ttl
    bench.put("c", file="${vault:p:k}", config_action_reload=action)
    assert not alarms
