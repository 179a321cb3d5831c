"""Token providers of a host: its own in its process, those of bundles in their own processes."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.discovery import Catalogue, discover
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.token_stage import TokenProviders, find_token_provider
from hearth.isolation.environment_store import EnvironmentStore
from hearth.kafka.token_source import SOURCE, TokenSource
from hearth_api import ConfigError, ConnectError
from tests.bundles import build
from tests.timeouts import TIMEOUT, eventually

VAULT = """
import os, pathlib, time
from hearth_api import ConfigError
from hearth_api.worker import OAuthBearerToken, TokenProvider

class Vault(TokenProvider):
    def configure(self, configs, options):
        if "key" not in options:
            raise ConfigError("there is no key")
        self.key, self.scope = options["key"], configs["sasl.oauthbearer.scope"]
        self.journal = pathlib.Path(options["journal"])
        self.say(f"configured {os.getpid()}")

    def token(self):
        self.say("asked")
        if self.key == "broken":
            raise RuntimeError("no vault there")
        ends = int(time.time() * 1000) + 400
        return OAuthBearerToken(f"{self.key}/{self.scope}", ends, "ann", {"scope": self.scope})

    def close(self):
        self.say("closed")

    def say(self, text):
        with self.journal.open("a") as journal:
            journal.write(text + "\\n")
"""


class Vault:
    """Providers of a bundle, and their journal."""

    def __init__(self, root: Path) -> None:
        site = root / "site"
        site.mkdir()
        build.site(site, "vault", groups={"hearth.token_providers": {"org.example.VaultTokenProvider": "vault:Vault"}})
        (site / "vault.py").write_text(VAULT)
        found = discover([site])
        self.directory = PluginDirectory(lambda: found, EnvironmentStore(root / "environments"))
        self.providers = TokenProviders(self.directory)
        self.journal = root / "journal"

    def source(self, name: str = "Vault", **options: str) -> str:
        """Return a token source."""
        return TokenSource(name, {"journal": str(self.journal), **options}, {"sasl.oauthbearer.scope": "all"}).text()

    def events(self) -> list[str]:
        """Return the first word of each line of the journal."""
        return [line.split()[0] for line in self.journal.read_text().splitlines()]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """Provide the providers of a host."""
    found = Vault(tmp_path)
    yield found
    found.providers.close()


def test_a_provider_of_a_bundle_runs_in_its_own_process(vault: Vault) -> None:
    """By its class or an alias; it is called again when its token expires, and closed with the host."""
    source = vault.source(key="k")
    token = vault.providers.token(source)
    assert (token.value, token.principal, token.extensions) == ("k/all", "ann", {"scope": "all"})
    assert f"configured {os.getpid()}" not in vault.journal.read_text()

    def is_asked_again() -> bool:
        vault.providers.token(source)
        return vault.events().count("asked") >= 3

    assert eventually(is_asked_again, TIMEOUT)
    assert vault.events().count("configured") == 1
    vault.providers.close()
    assert vault.events()[-1] == "closed"
    with pytest.raises(ConnectError, match="the host is stopping"):
        vault.providers.token(source)


def test_a_process_that_ended_is_restarted(vault: Vault) -> None:
    """Requests meanwhile fail with the reason of its end."""
    source = vault.source(key="k")
    vault.providers.token(source)
    os.kill(int(vault.journal.read_text().split()[1]), signal.SIGKILL)
    time.sleep(0.5)  # until the token has expired

    errors: list[str] = []

    def gives() -> bool:
        try:
            return vault.providers.token(source).value == "k/all"
        except ConnectError as error:
            errors.append(str(error))
            return False

    assert eventually(gives, TIMEOUT)
    assert all("killed by signal 9" in text for text in errors)
    assert vault.events().count("configured") == 2


def test_an_error_of_a_provider_is_raised(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    """With its message but without its options; other clients still get tokens."""
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(ConnectError, match=r"VaultTokenProvider provides no token: .*there is no key"):
            vault.providers.token(vault.source(other="geheim"))
        with pytest.raises(ConnectError, match="RuntimeError: no vault there"):
            vault.providers.token(vault.source(key="broken"))
        assert vault.providers.token(vault.source(key="geheim")).value == "geheim/all"
    assert "geheim" not in caplog.text


def test_an_unknown_provider_is_reported_with_the_nearest_names(vault: Vault) -> None:
    """Before any client waits for its token."""
    for ask in (vault.providers.token, lambda source: find_token_provider({SOURCE: source}, vault.directory)):
        with pytest.raises(ConfigError, match=r"^sasl\S+\.class: no token provider is named 'org\.exam") as caught:
            ask(vault.source("org.example.Valt"))
        assert "Vault" in str(caught.value.hint)
    find_token_provider({SOURCE: vault.source()}, vault.directory)
    find_token_provider({"bootstrap.servers": "h:1"}, vault.directory)
    assert not vault.journal.exists()


@pytest.mark.parametrize("name", ["IAMClientCallbackHandler", "IAMOAuthBearerLoginCallbackHandler"])
def test_amazons_handlers_are_provided_by_the_host(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """By the class names of Amazon's library, in the process of the host."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "geheim")
    found: Catalogue = discover([])
    providers = TokenProviders(PluginDirectory(lambda: found, EnvironmentStore(tmp_path)))
    source = TokenSource(f"software.amazon.msk.auth.iam.{name}", {"awsRegion": "eu-central-1"})
    with caplog.at_level(logging.DEBUG):
        token = providers.token(source.text())
    assert 800 < token.lifetime_ms / 1000 - time.time() <= 900
    assert "geheim" not in caplog.text
    assert token.value not in caplog.text
    providers.close()
