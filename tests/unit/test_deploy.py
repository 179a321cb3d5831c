"""The recipes for containers, Kubernetes and systemd agree with the worker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hearth.cli.environment_file import NAMING, PLACE, keys_of
from hearth.cli.exit_code import ExitCode
from hearth.cli.worker_file import checked_worker
from hearth.cli.worker_mode import DISTRIBUTED
from tests.unit.rest.client import Client, serve

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "tools" / "deploy"
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def of_kind(kind: str) -> Any:
    """Return the specification of the one object of a kind."""
    (found,) = (each["spec"] for each in MANIFESTS if each["kind"] == kind)
    return found


def container() -> Any:
    """Return the worker's container."""
    (found,) = of_kind("Deployment")["template"]["spec"]["containers"]
    return found


def test_variables_of_the_pod_are_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    """None is unknown or without effect."""
    variables = {each["name"]: each.get("value", "10.0.0.7") for each in container()["env"]}
    worker = checked_worker(PLACE, keys_of(variables), DISTRIBUTED, NAMING)
    assert worker.rest_advertised_host_name == "10.0.0.7"
    assert caplog.text == ""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Serve the API."""
    yield from serve(tmp_path_factory.mktemp("deploy"))


@pytest.mark.parametrize("probe", ["readinessProbe", "livenessProbe"])
def test_probes_ask_paths_of_the_api(client: Client, probe: str) -> None:
    """They wait for longer than a health check takes at most."""
    found = container()[probe]
    assert client.call("GET", found["httpGet"]["path"]).status == 200
    assert found["timeoutSeconds"] > 10


def test_the_service_finds_the_pods() -> None:
    """By their labels and the port's name; the pods may stop as long as a worker drains."""
    pods = of_kind("Deployment")["template"]
    assert of_kind("Service")["selector"].items() <= pods["metadata"]["labels"].items()
    assert of_kind("PodDisruptionBudget")["selector"]["matchLabels"].items() <= pods["metadata"]["labels"].items()
    assert of_kind("Service")["ports"][0]["targetPort"] in {each["name"] for each in container()["ports"]}
    assert pods["spec"]["terminationGracePeriodSeconds"] >= 60


def test_volumes_are_the_ones_that_the_image_writes_to() -> None:
    """Everything else is read only."""
    recipe = (DEPLOY / "Containerfile").read_text()
    mounted = {each["mountPath"] for each in container()["volumeMounts"]}
    (home,) = re.findall(r"HEARTH_HOME=(\S+)", recipe)
    (plugins,) = re.findall(r"CONNECT_PLUGIN_PATH=(\S+)", recipe)
    assert mounted == {home, plugins, "/tmp"}
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_image_installs_every_package_of_the_worker() -> None:
    """Each first-party requirement of hearth-connect has its project in the recipe."""
    recipe = (DEPLOY / "Containerfile").read_text()
    required = set(re.findall(r'"hearth-([\w-]+)==', (ROOT / "pyproject.toml").read_text())) - {"api"}
    built = {each.replace("_", "-") for each in re.findall(r"\./plugins/(\w+)", recipe)}
    assert built == required
    assert "./host" in recipe


def test_a_mistake_in_the_file_is_not_tried_again() -> None:
    """The exit code of a wrong configuration is the one that systemd does not restart after."""
    unit = (DEPLOY / "hearth.service").read_text()
    assert f"RestartPreventExitStatus={int(ExitCode.BAD_INPUT)}\n" in unit
