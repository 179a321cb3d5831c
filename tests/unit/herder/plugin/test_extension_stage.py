"""A REST extension in its own process; the tests of the REST API cover what it sees and adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.discovery import PluginType
from hearth.herder.cluster_state import HerderClusterState
from hearth.herder.plugin.extension_stage import ExtensionStage, IsolatedExtension
from hearth.isolation.environment_store import host_environment
from hearth_api import NotFoundError, PluginError
from hearth_api.worker import RestRequest
from tests.unit.herder.catalogue import plugin
from tests.unit.herder.fake import Bench

SAMPLE = replace(
    plugin("com.example.Audit", PluginType.REST_EXTENSION, ""), reference="tests.unit.rest.sample_extension:Audit"
)
WORD = {"x-word": "friend"}


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[ExtensionStage]]:
    """Provide a list of the started processes, which are closed at the end."""
    stages: list[ExtensionStage] = []
    yield stages
    for each in stages:
        each.close()


def isolated(tmp_path: Path, started: list[ExtensionStage], **settings: str) -> IsolatedExtension:
    """Return the sample over a herder without connectors."""
    bench = Bench(tmp_path)
    state = HerderClusterState(bench.herder, "cluster")
    bench.herder.shut_down()

    def new() -> ExtensionStage:
        stage = ExtensionStage(SAMPLE, host_environment(), {"audit.word": "friend", **settings}, state, 30)
        started.append(stage)
        return stage

    return IsolatedExtension(new)


def test_an_extension_whose_process_ended_is_restarted(tmp_path: Path, started: list[ExtensionStage]) -> None:
    """Its errors keep their kind and message; a process that ends fails only its pending request."""
    extension = isolated(tmp_path, started)
    assert extension.version == "1.5"
    assert extension.judge(RestRequest("GET", "/", headers=WORD)) is None
    with pytest.raises(NotFoundError, match=r"^No status found for connector nobody$"):
        extension.serve(0, RestRequest("GET", "/audit/nobody", headers=WORD, path_params={"name": "nobody"}))
    with pytest.raises(PluginError, match=r"com\.example\.Audit exited with 7"):
        extension.judge(RestRequest("GET", "/", headers={**WORD, "x-exit": "1"}))
    assert extension.judge(RestRequest("GET", "/", headers=WORD)) is None
    assert len(started) == 2
    extension.close()
    assert not any(each.is_alive for each in started)


def test_an_extension_that_rejects_its_configuration_leaves_no_process(
    tmp_path: Path, started: list[ExtensionStage]
) -> None:
    """The error has its message."""
    with pytest.raises(PluginError, match="nobody can audit this"):
        isolated(tmp_path, started, **{"audit.broken": "true"})
    assert started == []
