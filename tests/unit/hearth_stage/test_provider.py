"""A config provider in a stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from hearth_api import ConfigError
from hearth_api.worker import ConfigData, ConfigProvider
from hearth_stage.provider import StageProvider
from hearth_stage.provider_call import LoadProvider, LookedUp, LookUp

SAID: list[str] = []


class Sample(ConfigProvider):
    """Returns its configured value."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Accept a value, or raise."""
        if not configs:
            raise ConfigError("nothing to tell")
        self.value = configs["value"]

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the value for every key."""
        return ConfigData(dict.fromkeys(keys or (), f"{path}{self.value}"), 5)

    def close(self) -> None:
        """Record the close."""
        SAID.append("closed")


def test_loaded_provider_answers_and_is_closed() -> None:
    """Once, at the end; a stage without one has nothing to close."""
    StageProvider().end()
    stage = StageProvider()
    stage.load(LoadProvider(f"{__name__}:Sample", {"value": "v"}))
    assert stage.get(LookUp("p", ["a", "b"])) == LookedUp({"a": "pv", "b": "pv"}, 5)
    stage.end()
    assert SAID == ["closed"]


def test_error_of_configure_is_raised() -> None:
    """The host does not start a worker without it."""
    with pytest.raises(ConfigError, match="nothing to tell"):
        StageProvider().load(LoadProvider(f"{__name__}:Sample", {}))
