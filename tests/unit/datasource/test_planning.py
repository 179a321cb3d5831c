"""From options to the plans of tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.datasource import planning
from hearth.datasource.option import Options
from hearth.datasource.planning import WrongDirection, planned
from hearth.discovery import PluginType
from hearth_api import ConfigError
from tests.bundles.build import plugin_path

RECORDER = "recorder.RecorderSinkConnector"


@pytest.fixture(scope="module")
def bundles() -> Path:
    """Provide a plugin.path with the recorder."""
    return plugin_path("recorder")


def options(bundles: Path, **more: str) -> Options:
    """Return the options of a sink; dots are two underscores."""
    given = {"connector.class": RECORDER, "plugin.path": str(bundles), "journal": "j"}
    return Options.parse({**given, **{name.replace("__", "."): value for name, value in more.items()}})


def test_plan_has_the_connectors_tasks(bundles: Path) -> None:
    """With its version, its keys, and the converters of a connector that names none."""
    known = planned(options(bundles, tasks__max="3", transforms="h", transforms__h__type="Filter"), PluginType.SINK)
    assert [plan.task_config["number"] for plan in known.plans] == ["0", "1", "2"]
    assert [plan.name for plan in known.plans] == ["RecorderSinkConnector-0", "RecorderSinkConnector-1",
                                                   "RecorderSinkConnector-2"]  # fmt: skip
    assert "retry.times" in known.keys
    plan = known.plans[0]
    assert plan.plugin("value.converter").config == {"schemas.enable": "false"}
    assert [each.role for each in plan.transformations] == ["transforms.h"]
    assert plan.type == "sink"


def test_plan_is_cached_for_a_while(bundles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query asks with each micro-batch; other options are others."""
    first = planned(options(bundles), PluginType.SINK)
    assert planned(options(bundles), PluginType.SINK) is first
    assert planned(options(bundles, journal="k"), PluginType.SINK) is not first
    monkeypatch.setattr(planning, "_KNOWN_SECONDS", 0.0)
    planned(options(bundles, journal="l"), PluginType.SINK)
    again = planned(options(bundles, journal="l"), PluginType.SINK)
    assert again is not planned(options(bundles, journal="l"), PluginType.SINK)


def test_read_from_a_sink_is_an_error(bundles: Path) -> None:
    """The error says what is done with it."""
    with pytest.raises(WrongDirection, match=r"is a sink: write to it with df\.write"):
        planned(options(bundles), PluginType.SOURCE)


def test_setting_rejected_by_the_connector_is_named(bundles: Path) -> None:
    """Its own definition says so before it is started."""
    with pytest.raises(ConfigError, match=r"retry\.times"):
        planned(options(bundles, retry__times="often"), PluginType.SINK)


def test_variables_are_resolved_on_the_driver(bundles: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By providers among the options, which are no part of the connector's configuration."""
    (tmp_path / "secret").write_text("from a file")
    known = planned(
        options(
            bundles, config__providers="dir", journal=f"${{dir:{tmp_path}:secret}}",
            config__providers__dir__class="org.apache.kafka.common.config.provider.DirectoryConfigProvider",
        ),
        PluginType.SINK,
    )  # fmt: skip
    assert known.plans[0].task_config["journal"] == "from a file"
    assert not any(name.startswith("config.providers") for name in known.config)
