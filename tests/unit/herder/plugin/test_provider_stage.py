"""Config providers of a worker: the host's own in its process, those of bundles in their own processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from hearth.discovery import discover
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.provider_stage import open_variables
from hearth.isolation.environment_store import EnvironmentStore
from hearth_api import ConfigError, PluginError
from tests.bundles import build

VAULT = """
import os, pathlib
from hearth_api import ConfigError
from hearth_api.worker import ConfigData, ConfigProvider

class Vault(ConfigProvider):
    def configure(self, configs):
        if "token" not in configs:
            raise ConfigError("there is no token")
        self.token, self.journal = configs["token"], pathlib.Path(configs["journal"])
        self.say(f"configured {os.getpid()}")

    def get(self, path, keys=None):
        if path == "sealed":
            raise ConfigError("the vault is sealed")
        if path == "broken":
            raise RuntimeError("no vault there")
        return ConfigData({key: f"{self.token}/{path}/{key}" for key in keys if key != "none"}, 3000)

    def close(self):
        self.say("closed")

    def say(self, text):
        with self.journal.open("a") as journal:
            journal.write(text + "\\n")
"""
ENV = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"


class Vault:
    """A worker's settings with a provider of a bundle, and the provider's journal."""

    def __init__(self, root: Path) -> None:
        site = root / "site"
        site.mkdir()
        build.site(site, "vault", groups={"hearth.config_providers": {"org.example.Vault": "vault:Vault"}})
        (site / "vault.py").write_text(VAULT)
        found = discover([site])
        self.directory = PluginDirectory(lambda: found, EnvironmentStore(root / "environments"))
        self.journal = root / "journal"
        self.worker = {
            "config.providers": "vault,env,ghost",
            "config.providers.vault.class": "org.example.Vault",
            "config.providers.vault.param.token": "t",
            "config.providers.vault.param.journal": str(self.journal),
            "config.providers.env.class": ENV,
        }

    def events(self) -> list[str]:
        """Return the first word of each line of the journal."""
        return [line.split()[0] for line in self.journal.read_text().splitlines()]

    def kill(self) -> None:
        """Kill the provider's process."""
        os.kill(int(self.journal.read_text().split()[-1]), signal.SIGKILL)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Provide the settings of a worker."""
    return Vault(tmp_path)


def test_a_provider_of_a_bundle_runs_in_its_own_process(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """It returns values and time to live; a name without a class is ignored."""
    monkeypatch.setenv("HEARTH_SECRET", "env's")
    variables = open_variables(vault.worker, vault.directory)
    config = {"a": "${vault:p:k}-${vault:p:none}", "b": "${env:HEARTH_SECRET}", "c": "${ghost:x}"}
    settings = variables.resolve(config)
    assert settings.config == {"a": "t/p/k-${vault:p:none}", "b": "env's", "c": "${ghost:x}"}
    assert settings.ttl == 3
    assert f"configured {os.getpid()}" not in vault.journal.read_text()
    with pytest.raises(ConfigError, match=r"^the vault is sealed$"):
        variables.resolve({"a": "${vault:sealed:k}"})
    with pytest.raises(PluginError, match="RuntimeError: no vault there"):
        variables.resolve({"a": "${vault:broken:k}"})
    vault.kill()
    with pytest.raises(PluginError, match="was killed by signal 9"):
        variables.resolve(config)
    assert variables.resolve(config).config["a"] == "t/p/k-${vault:p:none}"
    variables.close()
    assert vault.events() == ["configured", "configured", "closed"]


def test_providers_that_fail_to_start_are_reported(vault: Vault) -> None:
    """They prevent the worker from starting."""
    del vault.worker["config.providers.vault.param.token"]
    with pytest.raises(ConfigError, match=r"^config\.providers\.vault: there is no token$"):
        open_variables(vault.worker, vault.directory)
    with pytest.raises(ConfigError) as caught:
        open_variables({**vault.worker, "config.providers.vault.class": "org.example.Valt"}, vault.directory)
    assert str(caught.value) == (
        "Invalid value org.example.Valt for configuration config.providers.vault.class: "
        "Class org.example.Valt could not be found."
    )
    assert "org.example.Vault" in str(caught.value.hint)
